package chaos

// scenarios is every fault test, in the order in which a full run makes them:
// those that share a healthy cluster first.
var scenarios = []scenario{
	{id: "A1", statement: "one node, kill -9 at random moments under load: every acknowledged verdict is in the log once", shape: alone, fresh: true, run: killAlone},
}

var (
	alone = shape{nodes: 1}
	three = shape{nodes: 3, wired: true}
	five  = shape{nodes: 5, wired: true}
)

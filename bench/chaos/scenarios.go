package chaos

// scenarios is every fault test, in the order in which a full run makes them:
// those that share a healthy cluster first.
var scenarios = []scenario{
	{id: "A1", statement: "one node, kill -9 at random moments under load: every acknowledged verdict is in the log once", shape: alone, fresh: true, run: killAlone},
	{id: "N1", statement: "a limit of 1,000, 300 calls of 10 at once, the leader killed in the middle: exactly 100 PROCEED", shape: three, run: overspend},
	{id: "A3", statement: "every fault under constant load: nothing lost, doubled or overspent", shape: three, run: faultsUnderLoad},
	{id: "C03", statement: "kill -9 the leader under load: verdicts back, no acknowledged screen lost, no double debit, counters equal", shape: three, run: failover},
	{id: "C04", statement: "overspend is impossible over the change of the UTC date", shape: three, fresh: true, run: overspendAtMidnight},
}

var (
	alone = shape{nodes: 1}
	three = shape{nodes: 3, wired: true}
	five  = shape{nodes: 5, wired: true}
)

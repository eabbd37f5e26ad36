package chaos

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/note"
	"railguard/engine"
)

// inspection has everything that was seen of a cluster: the answers that callers got and, after
// the last fault was mended, the content of every node. Its checks are the ten invariants.
type inspection struct {
	operations []*operation
	groups     []*group
	exports    []*exported // One for each node.
	heads      []head      // All checkpoints that were ever seen.
	digests    []digest
	budgets    []budget
	records    []shownRecord
	proofs     []shownProof
	highest    uint64 // Highest index that any node ever reported as applied or committed.
	ends       []end  // One for each node.
	deaths     []string
	cries      []string  // Lines of the nodes' logs that must never be there.
	start      time.Time // Wall time at which the history began.
	advances   []advance
	slack      time.Duration // How far log time may be from the true time.
	porcupine  time.Duration
	undecided  int // Partitions for which Porcupine found no result in its time.
}

// head is a signed checkpoint that a node served.
type head struct {
	node string
	note.Checkpoint
}

// digest is the digest of its state that a node reported for an index.
type digest struct {
	node  string
	index uint64
	hash  string
}

// budget is the answer of one node to GET /v1/agents/{id}/limits.
type budget struct {
	node, agent, fleet string
	date               string
	spent, fleetSpent  engine.USD
}

// shownRecord is the answer of one node to GET /v1/audit/{txnId}, after all faults were mended.
type shownRecord struct {
	node, txn, verdict, disposition string
	status                          int
}

// violations runs every check. A run is good if it had something to check and no check found a
// violation.
func (in *inspection) violations() []string {
	var f findings
	f.join(in.deaths)
	f.join(in.cries)
	f.join(in.checkNodes())
	f.join(in.checkHeads())
	f.join(in.checkConsistency())
	f.join(in.checkReached())
	f.join(in.checkDigests())
	if len(in.exports) == 0 || len(in.exports[0].leaves) == 0 {
		f.add("no audit log to check")
		return f.all()
	}
	leaves := in.exports[0].leaves
	b := readBook(leaves)
	f.join(b.wrong.all())
	f.join(in.checkBudgets(b))
	f.join(in.checkRecords(b))
	f.join(in.checkAnswers())
	f.join(in.checkRevocations())
	f.join(in.checkReads())
	f.join(in.checkIndices())
	f.join(in.checkProofs())
	f.join(in.checkClock())
	budget := in.porcupine
	if len(f.list) > 0 {
		budget = min(budget, blameBudget) // The history is known to be wrong already, and Porcupine takes longest for a wrong history.
	}
	wrong, undecided := linearizable(in.operations, in.groups, budget)
	f.join(wrong)
	in.undecided = undecided
	return f.all()
}

// checkNodes checks invariants 2 and 8: all nodes have the same log, and the root that each node
// signs is that of its own leaves.
func (in *inspection) checkNodes() []string {
	var f findings
	for _, x := range in.exports {
		if x.checkpoint.Size != uint64(len(x.leaves)) {
			f.add("node %s: its checkpoint speaks of %d leaves and its export has %d", x.node, x.checkpoint.Size, len(x.leaves))
			continue
		}
		if root := rootsOf(x.leaves, []uint64{x.checkpoint.Size})[0]; root != x.checkpoint.Root {
			f.add("node %s: the root of its %d leaves is not the one it signed", x.node, len(x.leaves))
		}
		first := in.exports[0]
		if len(x.leaves) != len(first.leaves) {
			f.add("nodes %s and %s have %d and %d leaves after healing", first.node, x.node, len(first.leaves), len(x.leaves))
		}
		for i := range min(len(x.leaves), len(first.leaves)) {
			if !bytes.Equal(x.leaves[i].raw, first.leaves[i].raw) {
				f.add("nodes %s and %s differ in leaf %d", first.node, x.node, i)
				break
			}
		}
	}
	return f.all()
}

var ranges = compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// rootsOf computes the root of each tree size. The sizes must be ascending.
func rootsOf(leaves []leaf, sizes []uint64) [][sha256.Size]byte {
	frontier := ranges.NewEmptyRange(0)
	roots := make([][sha256.Size]byte, 0, len(sizes))
	at := 0
	for _, size := range sizes {
		for ; uint64(at) < size; at++ {
			_ = frontier.Append(leaves[at].hash[:], nil) // It fails only for a hash of a wrong size.
		}
		root, err := frontier.GetRootHash(nil)
		if err != nil || len(root) == 0 {
			root = rfc6962.DefaultHasher.EmptyRoot()
		}
		roots = append(roots, [sha256.Size]byte(root))
	}
	return roots
}

// checkHeads checks invariant 7: every checkpoint that was ever seen describes a beginning of the
// present log. The root is computed again from the leaves' bytes.
func (in *inspection) checkHeads() []string {
	if len(in.exports) == 0 {
		return nil
	}
	var f findings
	leaves := in.exports[0].leaves
	heads := slices.Clone(in.heads)
	slices.SortStableFunc(heads, func(a, b head) int { return int(a.Size) - int(b.Size) })
	var sizes []uint64
	for _, h := range heads {
		if h.Size > uint64(len(leaves)) {
			f.add("node %s signed a checkpoint of %d leaves; there are %d now: acknowledged records are gone", h.node, h.Size, len(leaves))
			continue
		}
		sizes = append(sizes, h.Size)
	}
	for i, root := range rootsOf(leaves, sizes) {
		if root != heads[i].Root {
			f.add("node %s signed a checkpoint of %d leaves with another root than these leaves have: history was changed", heads[i].node, heads[i].Size)
		}
	}
	return f.all()
}

// checkDigests checks invariant 8: at the same index all nodes have the same state, also after
// restarts.
func (in *inspection) checkDigests() []string {
	var f findings
	known := make(map[uint64]digest)
	for _, d := range in.digests {
		first, seen := known[d.index]
		if !seen {
			known[d.index] = d
		} else if first.hash != d.hash {
			f.add("nodes %s and %s had different states at index %d: %s and %s", first.node, d.node, d.index, first.hash, d.hash)
		}
	}
	return f.all()
}

// checkBudgets checks that every node's counters agree with the log.
func (in *inspection) checkBudgets(b *book) []string {
	var f findings
	for _, g := range in.budgets {
		date, err := time.Parse("2006-01-02", g.date)
		a := b.accounts[g.agent]
		if err != nil || a == nil {
			f.add("node %s: limits of agent %s on %q, which the log does not know", g.node, g.agent, g.date)
			continue
		}
		day := date.Unix() / 86400
		if want := a.spentOn(day); g.spent != want {
			f.add("node %s: agent %s counts %s on %s; the log says %s", g.node, g.agent, usd(g.spent), g.date, usd(want))
		}
		if p := b.fleets[g.fleet]; p != nil && g.fleetSpent != p.spentOn(day) {
			f.add("node %s: fleet %s counts %s on %s; the log says %s", g.node, g.fleet, usd(g.fleetSpent), g.date, usd(p.spentOn(day)))
		}
	}
	return f.all()
}

// checkRecords checks that every node shows the records and dispositions of the log.
func (in *inspection) checkRecords(b *book) []string {
	var f findings
	byTxn := make(map[string]*leaf)
	for i := range in.exports[0].leaves {
		if l := &in.exports[0].leaves[i]; l.Kind == "screen" {
			byTxn[l.TxnID] = l
		}
	}
	for _, r := range in.records {
		l := byTxn[r.txn]
		switch {
		case l == nil:
			f.add("%s is not in the log", r.txn)
		case r.status != 200:
			f.add("node %s answers %d for %s, which is leaf %d", r.node, r.status, r.txn, l.Leaf)
		case r.verdict != l.Verdict || r.disposition != b.disposed[l.Leaf]:
			f.add("node %s shows %s as %s %q; the log has %s %q", r.node, r.txn, r.verdict, r.disposition, l.Verdict, b.disposed[l.Leaf])
		}
	}
	return f.all()
}

// checkRevocations checks invariant 5: no call that began after an acknowledged revocation gets
// PROCEED for the agent or for one of its delegates, at any node.
func (in *inspection) checkRevocations() []string {
	var f findings
	type name struct{ group, account int }
	gone := make(map[name]time.Duration)
	for _, o := range in.operations {
		if o.kind != opRevoke || !o.done() {
			continue
		}
		at, known := gone[name{o.group, o.account}]
		if !known || o.back < at {
			gone[name{o.group, o.account}] = o.back
		}
	}
	plans := make(map[int]*group)
	for _, g := range in.groups {
		plans[g.index] = g
	}
	for _, o := range in.operations {
		if o.kind != opScreen || !o.done() || o.verdict != "PROCEED" || plans[o.group] == nil {
			continue
		}
		for index := o.account; index >= 0; index = plans[o.group].plan(index).parent {
			if at, known := gone[name{o.group, index}]; known && o.invoke > at {
				f.add("agent %d of group %d was revoked at %v, and later: %s", index, o.group, at, o)
			}
		}
	}
	return f.all()
}

// advance is one move of log time by the test clock. It happened between two
// instants of the history.
type advance struct{ begin, end, by time.Duration }

const (
	clockSlack  = time.Second            // How far log time may be from the true time (invariant 9).
	clockJitter = 250 * time.Millisecond // Clocks are compared over a network, here between busy processes.
)

// checkClock checks that the log time in an answer lies between the call and its return.
func (in *inspection) checkClock() []string {
	var f findings
	for _, o := range in.operations {
		if !o.done() || o.at.IsZero() || o.kind == opRead || o.unchanged || o.back == never {
			continue
		}
		early, late := in.start.Add(o.invoke-in.slack), in.start.Add(o.back+in.slack)
		for _, a := range in.advances {
			if a.end < o.invoke {
				early = early.Add(a.by)
			}
			if a.begin < o.back {
				late = late.Add(a.by)
			}
		}
		if o.at.Before(early) || o.at.After(late) {
			f.add("log time is wrong: the record says %v, it was between %v and %v: %s", o.at, early.UTC(), late.UTC(), o)
		}
	}
	return f.all()
}

// cries are words that must not occur in a node's log. A node that stops on purpose logs FATAL; a
// scenario that makes it stop allows that word.
var cries = []string{"BUG:", "panic:", "fatal error:", "DATA RACE", "diverged", "FATAL", "goroutine 1 ["}

// criesIn returns the lines of a log that have one of these words, except lines with a word that
// the scenario allows.
func criesIn(node string, log []byte, allowed ...string) []string {
	var f findings
	for line := range bytes.Lines(log) {
		for _, cry := range cries {
			expected := func(words string) bool { return bytes.Contains(line, []byte(words)) }
			if bytes.Contains(line, []byte(cry)) && !slices.ContainsFunc(allowed, expected) {
				f.add("log of %s: %s", node, strings.TrimSpace(fmt.Sprintf("%.300s", line)))
				break
			}
		}
	}
	return f.all()
}

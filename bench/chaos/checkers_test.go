package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

func TestCleanHistoryPasses(t *testing.T) {
	f, _ := cleanForge(t)
	in := f.inspection()
	require.Empty(t, in.violations())
	require.Zero(t, in.undecided)
}

// control spoils one thing in a clean history; found is the text that a check must then report.
type control struct {
	name, found string
	spoil       func(f *forge, named map[string]*entry)
	after       func(in *inspection)
}

// without takes an entry's record out of the log.
func without(name string) func(*forge, map[string]*entry) {
	return func(_ *forge, named map[string]*entry) { named[name].record = nil }
}

// lie changes what the caller was told.
func lie(name string, change func(*operation)) func(*forge, map[string]*entry) {
	return func(_ *forge, named map[string]*entry) { change(named[name].op) }
}

// rewrite changes what the record says.
func rewrite(name, member string, value any) func(*forge, map[string]*entry) {
	return func(_ *forge, named map[string]*entry) { named[name].record[member] = value }
}

func controls() []control {
	return slices.Concat(answerControls(), ruleControls(), nodeControls(), timeControls(), readControls(), proofControls())
}

func answerControls() []control {
	return []control{
		{name: "an acknowledged verdict is lost", found: "LOST", spoil: without("first")},
		{name: "an acknowledged disposition is lost", found: "LOST", spoil: without("review")},
		{name: "another verdict was answered", found: "is not what was answered", spoil: lie("delegate", func(o *operation) { o.verdict = "REVIEW" })},
		{name: "another amount is in the log", found: "is not what was answered", spoil: func(_ *forge, named map[string]*entry) {
			named["last"].record["evidence"].(map[string]any)["amount"] = 2 * engine.Dollar
		}},
		{name: "another index was answered", found: "is not what was answered", spoil: lie("last", func(o *operation) { o.index++ })},
		{name: "one call counted twice", found: "DOUBLE", spoil: func(f *forge, named map[string]*entry) {
			twin := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
			twin.op, twin.record["idempotencyKeyHash"] = nil, named["last"].record["idempotencyKeyHash"]
		}},
		{name: "one call without a key counted twice", found: "DOUBLE", spoil: func(f *forge, named map[string]*entry) {
			twin := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT").bare()
			twin.op, twin.record["requestId"] = nil, named["bare"].op.key
		}},
		{name: "an acknowledged call without a key is lost", found: "LOST", spoil: without("bare")},
		{name: "one transaction is two leaves", found: "is 2 leaves", spoil: func(f *forge, named map[string]*entry) {
			twin := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
			twin.record["txnId"], twin.op.txn = named["last"].op.txn, named["last"].op.txn
		}},
		{name: "nothing happened, said the service", found: "said that nothing happened", spoil: lie("first", func(o *operation) {
			o.outcome, o.status, o.verdict = nothing, 503, ""
		})},
		{name: "an error was answered and it happened", found: "an error was answered", spoil: lie("last", func(o *operation) {
			o.status, o.code = 422, "invalid_field"
		})},
		{name: "an answer that cannot be", found: "unexpected answer", spoil: func(f *forge, _ map[string]*entry) {
			e := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
			e.record, e.op.status, e.op.code = nil, 404, "not_found"
		}},
		{name: "a record that nobody asked for", found: "a call that nobody made", spoil: func(f *forge, _ map[string]*entry) {
			f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT").op = nil
		}},
		{name: "a second disposition is accepted", found: "has APPROVED already", spoil: func(f *forge, named map[string]*entry) {
			f.review(named["over"], "REJECTED")
		}},
		{name: "a second disposition is acknowledged but not written", found: "review of txn_", spoil: func(f *forge, named map[string]*entry) {
			f.review(named["over"], "REJECTED").record = nil
		}},
		{name: "404 for a record that was answered", found: "cannot be read", spoil: lie("read", func(o *operation) { o.status, o.verdict = 404, "" })},
		{name: "a read shows another verdict", found: "shows another verdict", spoil: lie("read", func(o *operation) { o.verdict = "PROCEED" })},
		{name: "a read hides a disposition it must know", found: "does not show the disposition", spoil: lie("read again", func(o *operation) { o.shown = "" })},
		{name: "a read shows a disposition that is none", found: "a read shows the disposition", spoil: lie("read", func(o *operation) { o.shown = "REJECTED" })},
	}
}

func readControls() []control {
	return []control{
		{name: "a read is answered from an older index than asked for", found: "was answered from", spoil: lie("read again", func(o *operation) { o.floor = o.seen + 1 })},
		{name: "a disposition goes away again", found: "go away again", spoil: func(f *forge, named map[string]*entry) {
			f.read(named["over"], "").op.floor = named["read again"].op.seen
		}},
		{name: "a disposition that the client made itself is not there", found: "go away again", spoil: func(f *forge, named map[string]*entry) {
			named["read again"].op.shown, named["read again"].op.floor = "", named["review"].op.seen
		}},
		{name: "an answer names an older index than its record's", found: "and its record is at", spoil: lie("last", func(o *operation) { o.seen = o.index - 1 })},
		{name: "an answer that was lost has two records", found: "DOUBLE", spoil: func(f *forge, named map[string]*entry) {
			twin := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
			twin.op, twin.record["idempotencyKeyHash"] = nil, named["last"].record["idempotencyKeyHash"]
			named["last"].op.outcome, named["last"].op.reply = pending, reply{}
		}},
	}
}

func proofControls() []control {
	return []control{
		{name: "two checkpoints are not consistent", found: "are not consistent", after: func(in *inspection) { in.heads[3].Root[0] ^= 1 }},
		{name: "two roots for one size", found: "has forked", after: func(in *inspection) {
			fork := in.heads[0]
			fork.Root[5] ^= 1
			in.heads = append(in.heads, fork)
		}},
		{name: "a record is not proven", found: "does not prove txn_4", after: func(in *inspection) { in.proofs[0].wrong = "404" }},
		{name: "another record is proven", found: "proves another record", after: func(in *inspection) { in.proofs[0].leafHash[0] ^= 1 }},
		{name: "a node has less than it once said was committed", found: "was told before: a status", after: func(in *inspection) { in.highest = in.ends[1].applied + 1 }},
		{name: "a node has less than a caller was told", found: "was told before: screen", after: func(in *inspection) { in.highest, in.ends[0].applied = 0, 20 }},
	}
}

func ruleControls() []control {
	return []control{
		{name: "overspend of an agent", found: "OVERSPEND", spoil: func(f *forge, _ map[string]*entry) { f.screen(0, 1, "PROCEED", "") }},
		{name: "a PROCEED above the limit of one payment", found: "demands REVIEW R10", spoil: func(f *forge, _ map[string]*entry) {
			f.screen(0, 51, "PROCEED", "")
		}},
		{name: "overspend through a delegate", found: "the log before it demands REVIEW R11", spoil: func(f *forge, named map[string]*entry) {
			named["over"].op.verdict, named["over"].op.rule = "PROCEED", ""
			named["over"].record["verdict"], named["over"].record["rule"] = "PROCEED", nil
		}},
		{name: "a PROCEED that no record but Porcupine knows of", found: "no order that explains", spoil: func(f *forge, _ map[string]*entry) {
			f.screen(0, 1, "PROCEED", "").record = nil
		}},
		{name: "an approval that is not counted", found: "agent agt_0 counts 100", after: func(in *inspection) { in.budgets[0].spent = 100 * engine.Dollar }},
		{name: "the wrong rule decides", found: "demands REVIEW R11", spoil: func(_ *forge, named map[string]*entry) {
			named["last"].op.rule, named["last"].record["rule"] = "R12_FLEET_DAILY_LIMIT", "R12_FLEET_DAILY_LIMIT"
		}},
		{name: "PROCEED after an acknowledged revocation", found: "was revoked at", spoil: func(f *forge, named map[string]*entry) {
			named["after"].op.verdict, named["after"].op.rule = "PROCEED", ""
		}},
		{name: "PROCEED of a revoked agent in the log", found: "demands BLOCK R2", spoil: func(_ *forge, named map[string]*entry) {
			named["after"].record["verdict"], named["after"].record["rule"] = "PROCEED", nil
		}},
		{name: "a revoked agent comes back", found: "of an agent that was REVOKED", spoil: func(f *forge, _ map[string]*entry) {
			f.status(opReinstate, 1, "REVOKED", "ACTIVE")
		}},
		{name: "judged with an older list", found: "list version 1 while 2 was active", spoil: func(f *forge, _ map[string]*entry) {
			f.entries = append(f.entries, &entry{record: map[string]any{"kind": "list.activated", "listVersion": 2, "time": f.birth.Add(time.Minute)}})
			e := f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
			e.record["screenedAt"] = f.birth.Add(2 * time.Minute)
			e.op.at = f.birth.Add(2 * time.Minute)
		}},
		{name: "PROCEED by a rule", found: "PROCEED by rule", spoil: rewrite("exact", "rule", "R21_POSSIBLE_NAME_MATCH")},
		{name: "a delegate of a revoked parent", found: "which was not active", spoil: func(f *forge, _ map[string]*entry) {
			f.register(account{parent: 1, fleet: true, daily: 10 * engine.Dollar, single: 10 * engine.Dollar})
		}},
	}
}

func nodeControls() []control {
	return []control{
		{name: "nodes differ in a leaf", found: "differ in leaf", after: func(in *inspection) {
			x := *in.exports[1]
			x.leaves = slices.Clone(x.leaves)
			x.leaves[2].raw = append(slices.Clone(x.leaves[2].raw), ' ')
			in.exports[1] = &x
		}},
		{name: "a node lacks the last leaf", found: "leaves after healing", after: func(in *inspection) {
			x := *in.exports[1]
			x.leaves = x.leaves[:len(x.leaves)-1]
			x.checkpoint = headOf(x.leaves, len(x.leaves))
			in.exports[1] = &x
		}},
		{name: "a node signs another root", found: "is not the one it signed", after: func(in *inspection) { in.exports[1].checkpoint.Root[0] ^= 1 }},
		{name: "an old checkpoint does not fit", found: "history was changed", after: func(in *inspection) { in.heads[1].Root[31] ^= 1 }},
		{name: "an old checkpoint is longer than the log", found: "acknowledged records are gone", after: func(in *inspection) { in.heads[0].Size += 1000 }},
		{name: "states differ at an index", found: "different states at index 15", after: func(in *inspection) { in.digests[3].hash = "cc" }},
		{name: "a counter is wrong", found: "agent agt_0 counts 119", after: func(in *inspection) { in.budgets[1].spent -= engine.Dollar }},
		{name: "a fleet's counter is wrong", found: "fleet flt_1 counts 121", after: func(in *inspection) { in.budgets[0].fleetSpent += engine.Dollar }},
		{name: "a node does not show a record", found: "answers 404", after: func(in *inspection) {
			in.records = append(in.records, shownRecord{node: "n2", txn: "txn_4", status: 404})
		}},
		{name: "a node shows no disposition", found: "shows txn_6 as REVIEW", after: func(in *inspection) {
			in.records = append(in.records, shownRecord{node: "n2", txn: "txn_6", verdict: "REVIEW", status: 200})
		}},
		{name: "a process ended by itself", found: "ended by itself", after: func(in *inspection) { in.deaths = []string{"n1 ended by itself (exit status 2)"} }},
		{name: "a log cries", found: "log of n1: panic:", after: func(in *inspection) { in.cries = criesIn("n1", []byte("ok\npanic: oh\n")) }},
		{name: "no log at all", found: "no audit log", after: func(in *inspection) { in.exports = nil }},
		{name: "no leaves", found: "no audit log", after: func(in *inspection) {
			in.exports = []*exported{{node: "n1", checkpoint: headOf(nil, 0)}}
			in.heads = nil
		}},
		{name: "the export has a hole", found: "stands at place", after: func(in *inspection) {
			for _, x := range in.exports {
				x.leaves = slices.Delete(slices.Clone(x.leaves), 5, 6)
			}
		}},
	}
}

func timeControls() []control {
	return []control{
		{name: "the log contradicts real time", found: "was answered before the call", spoil: func(f *forge, named map[string]*entry) {
			a, b := slices.Index(f.entries, named["after"]), slices.Index(f.entries, named["last"])
			f.entries[a], f.entries[b] = f.entries[b], f.entries[a]
		}},
		{name: "log time goes back", found: "log time goes back", spoil: func(f *forge, named map[string]*entry) {
			named["last"].record["screenedAt"] = f.birth
		}},
		{name: "log time is wrong", found: "log time is wrong", spoil: func(f *forge, named map[string]*entry) {
			e := named["last"]
			e.op.at = e.op.at.Add(5 * time.Second)
			e.record["screenedAt"] = e.op.at
		}},
		{name: "a stale PROCEED, allowed only by an older state", found: "no order that explains", spoil: lie("last", func(o *operation) {
			o.verdict, o.rule = "PROCEED", ""
		})},
	}
}

// The applied index of a process never goes back, but the next process of the node may begin at a
// lower one.
func TestReachNeverGoesBack(t *testing.T) {
	for _, c := range []struct {
		name string
		next reach
		bad  bool
	}{
		{"on", reach{7, 101, 102}, false},
		{"the same", reach{7, 100, 100}, false},
		{"applied back", reach{7, 99, 100}, true},
		{"committed back", reach{7, 100, 99}, true},
		{"another process", reach{8, 3, 3}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &observer{reached: map[string]reach{}}
			o.sawReach("n1", reach{7, 100, 100})
			o.sawReach("n1", c.next)
			require.Equal(t, c.bad, len(o.wrong.list) > 0)
			require.Equal(t, max(100, c.next.commit), o.highest)
		})
	}
}

// If another node reported a higher index, endOf gives the asked node time to reach it. If the
// node does not reach it, endOf returns the index that the node has.
func TestEndIsAwaited(t *testing.T) {
	asked := uint64(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"index":{"applied":%d}}`, min(4+asked, 7))
	}))
	defer server.Close()
	c, n := newCaller("k"), &node{id: "n1", api: server.URL}
	e, err := c.endOf(t.Context(), n, 7)
	require.NoError(t, err)
	require.Equal(t, end{"n1", 7}, e)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	e, _ = c.endOf(ctx, n, 8)
	require.Less(t, e.applied, uint64(8))
}

// TestControls: every checker must find the fault that it is made for.
func TestControls(t *testing.T) {
	for _, c := range controls() {
		t.Run(c.name, func(t *testing.T) {
			f, named := cleanForge(t)
			if c.spoil != nil {
				c.spoil(f, named)
			}
			in := f.inspection()
			if c.after != nil {
				c.after(in)
			}
			found := in.violations()
			require.True(t, slices.ContainsFunc(found, func(v string) bool { return strings.Contains(v, c.found) }),
				"want a violation with %q, have:\n%s", c.found, strings.Join(found, "\n"))
		})
	}
}

package chaos

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/engine"
)

// forge makes histories by hand: operations, the records they wrote, and what the nodes show
// afterwards. A clean history must pass every check. Each negative control spoils one thing, and
// a check must find it.
type forge struct {
	t       *testing.T
	group   *group
	entries []*entry
	clock   time.Duration
	birth   time.Time
}

// entry is one operation and its record; either may be missing.
type entry struct {
	op     *operation
	record map[string]any
	about  *entry // The screening to which a disposition belongs.
}

const forgedKey = "key_forged"

func newForge(t *testing.T) *forge {
	g := &group{index: 0, limit: 120 * engine.Dollar, fleet: "flt_1"}
	return &forge{t: t, group: g, birth: time.Date(2026, 3, 22, 3, 33, 0, 0, time.UTC)}
}

// add appends an operation that is answered before the next begins.
func (f *forge) add(o operation, kindOfLeaf string, record map[string]any) *entry {
	f.clock += 10 * time.Millisecond
	number := len(f.entries)
	o.client, o.attempts, o.outcome = 1, 1, answered
	o.invoke, o.back = f.clock, f.clock+5*time.Millisecond
	if o.status == 0 {
		o.status = 200
	}
	at := f.birth.Add(f.clock + 2*time.Millisecond)
	o.at, o.seen = at, uint64(10+number)
	o.key = fmt.Sprintf("key-%d", number)
	e := &entry{op: &o}
	if record != nil {
		e.record = map[string]any{
			"kind": kindOfLeaf, "index": 10 + number, "eventId": fmt.Sprintf("evt_%d", number), "time": at,
			"actorKeyId": forgedKey, "idempotencyKeyHash": keyHash(o.path, o.key), "agentId": o.subject,
		}
		for name, value := range record {
			e.record[name] = value
		}
		o := e.op
		o.event, o.index = fmt.Sprintf("evt_%d", number), uint64(10+number)
	}
	f.entries = append(f.entries, e)
	return e
}

func (f *forge) fleet() {
	o := operation{kind: opFleet, path: "/v1/fleets/create", reply: reply{id: f.group.fleet}}
	f.add(o, "fleet.created", map[string]any{"fleetId": f.group.fleet, "dailyLimitUSDC": 120})
}

func (f *forge) register(plan account) {
	plan, _ = f.group.reserve(plan)
	plan.id = fmt.Sprintf("agt_%d", plan.index)
	f.group.enter(plan)
	record := map[string]any{
		"agentId": plan.id, "agentType": "supervised", "listVersion": 1,
		"spendPolicy": map[string]any{"dailyLimitUSDC": usd(plan.daily), "maxSingleTxUSDC": usd(plan.single)},
	}
	o, name := operation{kind: opRegister, account: plan.index, path: "/v1/agents/register", reply: reply{id: plan.id}}, "agent.registered"
	if plan.parent >= 0 {
		o.kind, name, record["parentAgentId"] = opDelegate, "delegate.created", fmt.Sprintf("agt_%d", plan.parent)
	}
	if plan.fleet {
		record["fleetId"] = f.group.fleet
	}
	f.add(o, name, record)
}

// screen adds a verdict as given, right or wrong.
func (f *forge) screen(index int, dollars int64, verdict, rule string) *entry {
	number := len(f.entries)
	amount := engine.USD(dollars) * engine.Dollar
	o := operation{
		kind: opScreen, account: index, subject: fmt.Sprintf("agt_%d", index), amount: amount, path: "/v1/screen",
		reply: reply{verdict: verdict, rule: rule, txn: fmt.Sprintf("txn_%d", number), list: 1},
	}
	e := f.add(o, "screen", map[string]any{
		"txnId": o.txn, "verdict": verdict, "rule": nil, "listVersion": 1, "fleetId": f.group.fleet, "_request": map[string]any{"amount": dollars},
	})
	if rule != "" {
		e.record["rule"] = rule
	}
	e.record["screenedAt"] = e.op.at
	e.record["evidence"] = map[string]any{"now": e.op.at.UnixNano(), "amount": amount}
	return e
}

// bare removes the Idempotency-Key from the screening.
func (e *entry) bare() *entry {
	e.op.bare = true
	delete(e.record, "idempotencyKeyHash")
	e.record["requestId"] = e.op.key
	return e
}

func (f *forge) status(k kind, index int, before, after string) *entry {
	o := operation{
		kind: k, account: index, subject: fmt.Sprintf("agt_%d", index), path: "/v1/agents/x/" + statusWords[k],
		reply: reply{credentialStatus: after},
	}
	name := map[kind]string{opSuspend: "agent.suspended", opReinstate: "agent.reinstated", opRevoke: "agent.revoked"}[k]
	e := f.add(o, name, map[string]any{"previousStatus": before, "credentialStatus": after})
	e.record["changedAt"] = e.op.at
	return e
}

func (f *forge) review(about *entry, disposition string) *entry {
	o := operation{
		kind: opReview, account: about.op.account, subject: about.op.txn, amount: about.op.amount, disposition: disposition,
		path: "/v1/reviews/" + about.op.txn,
	}
	e := f.add(o, "review.dispositioned", map[string]any{"txnId": about.op.txn, "disposition": disposition, "agentId": nil})
	e.about, e.record["reviewedAt"] = about, e.op.at
	return e
}

func (f *forge) read(about *entry, shown string) *entry {
	o := operation{
		kind: opRead, account: about.op.account, subject: about.op.txn, path: "/v1/audit/" + about.op.txn,
		reply: reply{verdict: about.op.verdict, txn: about.op.txn, shown: shown},
	}
	e := f.add(o, "", nil)
	e.op.key, e.op.at = "", about.op.at
	return e
}

// cleanForge is a history in which everything is as it must be.
func cleanForge(t *testing.T) (f *forge, named map[string]*entry) {
	const d = engine.Dollar
	f, named = newForge(t), map[string]*entry{}
	f.entries = append(f.entries, &entry{record: map[string]any{"kind": "list.activated", "listVersion": 1, "time": f.birth}})
	f.fleet()
	f.register(account{parent: -1, fleet: true, daily: 100 * d, single: 50 * d})
	f.register(account{parent: 0, fleet: true, daily: 60 * d, single: 50 * d})
	named["first"] = f.screen(0, 40, "PROCEED", "")
	named["delegate"] = f.screen(1, 50, "PROCEED", "")
	named["over"] = f.screen(0, 20, "REVIEW", "R11_DAILY_LIMIT")
	named["read"] = f.read(named["over"], "")
	f.screen(0, 51, "REVIEW", "R10_SINGLE_TX_LIMIT")
	named["exact"] = f.screen(1, 10, "PROCEED", "")
	named["review"] = f.review(named["over"], "APPROVED")
	named["read again"] = f.read(named["over"], "APPROVED")
	f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
	f.status(opSuspend, 0, "ACTIVE", "SUSPENDED")
	f.screen(1, 1, "BLOCK", "R2_CREDENTIAL_STATUS")
	f.status(opReinstate, 0, "SUSPENDED", "ACTIVE")
	named["revoke"] = f.status(opRevoke, 1, "ACTIVE", "REVOKED")
	named["after"] = f.screen(1, 1, "BLOCK", "R2_CREDENTIAL_STATUS")
	named["bare"] = f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT").bare()
	named["last"] = f.screen(0, 1, "REVIEW", "R11_DAILY_LIMIT")
	return f, named
}

// inspection builds the input of the checks, in which two nodes show the same.
func (f *forge) inspection() *inspection {
	in := &inspection{groups: []*group{f.group}, start: f.birth, slack: clockSlack, porcupine: 5 * time.Second}
	var leaves []leaf
	places := map[*entry]int{}
	for _, e := range f.entries {
		if e.op != nil {
			in.operations = append(in.operations, e.op)
		}
		if e.record == nil {
			continue
		}
		e.record["leaf"] = len(leaves)
		if e.about != nil {
			e.record["reviewedLeaf"] = places[e.about]
		}
		places[e] = len(leaves)
		raw, err := json.Marshal(e.record)
		require.NoError(f.t, err)
		l, err := readLeaf(raw)
		require.NoError(f.t, err)
		leaves = append(leaves, l)
	}
	for _, name := range []string{"n1", "n2"} {
		in.exports = append(in.exports, &exported{node: name, leaves: leaves, checkpoint: headOf(leaves, len(leaves))})
		in.heads = append(in.heads, head{name, headOf(leaves, len(leaves)/2)}, head{name, headOf(leaves, 3)})
		in.digests = append(in.digests, digest{name, 12, "aa"}, digest{name, 15, "bb"})
		in.budgets = append(in.budgets, budget{node: name, agent: "agt_0", fleet: "flt_1", date: "2026-03-22", spent: 120 * engine.Dollar, fleetSpent: 120 * engine.Dollar})
	}
	last := leaves[len(leaves)-1]
	in.highest = last.Index
	for i := range leaves {
		if l := &leaves[i]; l.TxnID == "txn_4" && l.Kind == "screen" {
			in.proofs = append(in.proofs, shownProof{node: "n1", txn: l.TxnID, checkpoint: headOf(leaves, len(leaves)), leafHash: l.hash})
		}
	}
	in.ends = []end{{"n1", last.Index}, {"n2", last.Index + 1}}
	return in
}

func headOf(leaves []leaf, size int) note.Checkpoint {
	return note.Checkpoint{Size: uint64(size), Root: rootsOf(leaves, []uint64{uint64(size)})[0]}
}

package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"railguard/engine"
)

// account is one agent as the clients know it. The members that are set when it is made never
// change.
type account struct {
	group      *group
	index      int
	parent     int // Index of the parent in the group; -1 for a root.
	fleet      bool
	autonomous bool
	daily      engine.USD // Own limits; engine.NoLimit for none.
	single     engine.USD

	id, token string
}

// group is a fleet with its agents and their delegates. Limits couple all of them, so a group is
// one partition of the history.
type group struct {
	index int
	limit engine.USD // The fleet's daily limit; engine.NoLimit if there is no fleet.
	fleet string

	mu       sync.Mutex
	accounts []*account
	reserved int       // How many indices were handed out, including those of agents that are still being registered.
	reviews  []pick    // Transactions with the verdict REVIEW, newest last.
	recent   []pick    // Transactions with any verdict, to be read again.
	born     []account // For each index handed out: the plan of its agent.
}

// pick is a transaction that a client may review or read.
type pick struct {
	txn     string
	verdict string
	account int
	amount  engine.USD
}

// reserve hands out the next index for an agent of the given plan.
func (g *group) reserve(plan account) (account, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reserved == accountsMax {
		return account{}, false
	}
	plan.group, plan.index = g, g.reserved
	g.reserved++
	g.born = append(g.born, plan)
	return plan, true
}

// plan returns the plan for which an index was reserved.
func (g *group) plan(index int) account {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.born[index]
}

// enter makes an agent known to all clients.
func (g *group) enter(a account) *account {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accounts = append(g.accounts, &a)
	return &a
}

func (g *group) known() []*account {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.accounts[:len(g.accounts):len(g.accounts)]
}

// note keeps a transaction for later reviews and reads.
func (g *group) note(p pick) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recent = keepLast(append(g.recent, p), reviewsKept)
	if p.verdict == "REVIEW" {
		g.reviews = keepLast(append(g.reviews, p), reviewsKept)
	}
}

func keepLast(picks []pick, count int) []pick {
	if len(picks) > count {
		return append(picks[:0:0], picks[len(picks)-count:]...)
	}
	return picks
}

// pick chooses one of the kept transactions.
func (g *group) pick(review bool, random int) (pick, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	from := g.recent
	if review {
		from = g.reviews
	}
	if len(from) == 0 {
		return pick{}, false
	}
	return from[random%len(from)], true
}

const operatorName = "Orchard Pavement Testing LLC"

// createFleet creates the group's fleet.
func (c *client) createFleet(ctx context.Context, g *group) error {
	o := &operation{kind: opFleet, group: g.index, path: "/v1/fleets/create", body: body(map[string]any{
		"fleetName": fmt.Sprintf("Fleet %d", g.index), "operatorLegalName": operatorName, "dailyLimitUSDC": usd(g.limit),
	})}
	c.call(ctx, o)
	if !o.done() {
		return fmt.Errorf("fleet not created: %d %s", o.status, o.code)
	}
	g.fleet = o.id
	return nil
}

// register registers a root agent or, if the plan has a parent, creates a delegate. The agent is
// nil if the operation did not succeed.
func (c *client) register(ctx context.Context, g *group, plan account) (*account, *operation) {
	plan, ok := g.reserve(plan)
	if !ok {
		return nil, nil
	}
	policy := map[string]any{}
	if plan.daily != engine.NoLimit {
		policy["dailyLimitUSDC"] = usd(plan.daily)
	}
	if plan.single != engine.NoLimit {
		policy["maxSingleTxUSDC"] = usd(plan.single)
	}
	members := map[string]any{
		"agentName": fmt.Sprintf("Agent %d of group %d", plan.index, g.index), "spendPolicy": policy, "purpose": "fault test",
	}
	o := &operation{kind: opRegister, path: "/v1/agents/register", group: g.index, account: plan.index}
	if plan.parent < 0 {
		members["agentType"], members["operatorLegalName"] = "supervised", operatorName
		if plan.autonomous {
			members["agentType"] = "autonomous"
		}
		if plan.fleet {
			members["fleetId"] = g.fleet
		}
	} else {
		o.kind, o.path = opDelegate, "/v1/delegates/create"
		members["parentAgentId"] = g.find(plan.parent).id
	}
	o.body = body(members)
	c.call(ctx, o)
	if !o.done() {
		return nil, o
	}
	plan.id, plan.token = o.id, o.token
	return g.enter(plan), o
}

// find returns the known agent with an index, nil when it is not known (yet).
func (g *group) find(index int) *account {
	for _, a := range g.known() {
		if a.index == index {
			return a
		}
	}
	return nil
}

// screen asks for a verdict.
func (c *client) screen(ctx context.Context, a *account, amount engine.USD, extra ...string) *operation {
	o := screening(a, amount, extra...)
	c.pay(ctx, a, o)
	return o
}

// screenBare asks for a verdict once, without an Idempotency-Key.
func (c *client) screenBare(ctx context.Context, a *account, amount engine.USD) {
	o := screening(a, amount)
	o.bare = true
	c.pay(ctx, a, o)
}

func (c *client) pay(ctx context.Context, a *account, o *operation) {
	c.call(ctx, o)
	if o.done() {
		a.group.note(pick{txn: o.txn, verdict: o.verdict, account: a.index, amount: o.amount})
	}
}

func screening(a *account, amount engine.USD, extra ...string) *operation {
	members := map[string]any{"token": a.token, "amount": usd(amount)}
	for i := 0; i+1 < len(extra); i += 2 {
		members[extra[i]] = extra[i+1]
	}
	return &operation{
		kind: opScreen, group: a.group.index, account: a.index, subject: a.id, amount: amount,
		path: "/v1/screen", body: body(members), listed: len(extra) > 0,
	}
}

var statusWords = map[kind]string{opSuspend: "suspend", opReinstate: "reinstate", opRevoke: "revoke"}

// changeStatus suspends, reinstates or revokes.
func (c *client) changeStatus(ctx context.Context, k kind, a *account) *operation {
	o := &operation{
		kind: k, group: a.group.index, account: a.index, subject: a.id,
		path: "/v1/agents/" + a.id + "/" + statusWords[k], body: body(map[string]any{"reason": "fault test", "actor": "chaos"}),
	}
	c.call(ctx, o)
	return o
}

func (c *client) attest(ctx context.Context, a *account) *operation {
	o := &operation{
		kind: opAttest, group: a.group.index, account: a.index, subject: a.id,
		path: "/v1/agents/" + a.id + "/attest", body: body(map[string]any{"attestedBy": "officer@chaos.invalid"}),
	}
	c.call(ctx, o)
	return o
}

func (c *client) review(ctx context.Context, g *group, p pick, disposition string) *operation {
	o := &operation{
		kind: opReview, group: g.index, account: p.account, subject: p.txn, amount: p.amount, disposition: disposition,
		path: "/v1/reviews/" + p.txn, body: body(map[string]any{"disposition": disposition, "reviewedBy": fmt.Sprintf("officer %d", c.id)}),
	}
	c.call(ctx, o)
	return o
}

// read fetches the audit record of a transaction that was answered before. Every second time it
// demands an answer that is not older than the highest index that the client knows.
func (c *client) read(ctx context.Context, g *group, p pick) *operation {
	o := &operation{kind: opRead, group: g.index, account: p.account, subject: p.txn, path: "/v1/audit/" + p.txn}
	if c.random.IntN(2) == 0 {
		o.floor = c.known
	}
	c.call(ctx, o)
	return o
}

// standardGroup is the group that storms use. It has a fleet with a low limit, root agents in the
// fleet and outside of it, two generations of delegates, and an autonomous agent.
func standardGroup(index int) *group {
	return &group{index: index, limit: 4000 * engine.Dollar}
}

func standardAccounts() []account {
	const d = engine.Dollar
	return []account{
		{parent: -1, fleet: true, daily: 3000 * d, single: 100 * d},
		{parent: 0, fleet: true, daily: 900 * d, single: 100 * d},
		{parent: 1, fleet: true, daily: 300 * d, single: 50 * d},
		{parent: -1, autonomous: true, daily: engine.NoLimit, single: engine.NoLimit},
		{parent: -1, fleet: true, daily: engine.NoLimit, single: 100 * d},
	}
}

// found creates the groups with their agents, before any fault is made.
func (c *client) found(ctx context.Context, groups ...*group) error {
	patience := c.patient
	c.patient = settlePatience
	defer func() { c.patient = patience }()
	for _, g := range groups {
		if g.limit != engine.NoLimit {
			if err := c.createFleet(ctx, g); err != nil {
				return err
			}
		}
		for _, plan := range standardAccounts() {
			if a, o := c.register(ctx, g, plan); a == nil {
				return fmt.Errorf("agent not registered: %d %s", o.status, o.code)
			}
		}
	}
	return nil
}

// widen raises the institution's limit of velocity. A storm has an unusual velocity on purpose,
// and otherwise rule R16 would hide the rules that are tested here. One key forces lists while others
// are made and revoked, so it takes the demand for two persons away before there is another key.
func (c *cluster) widen(ctx context.Context, by *caller) error {
	raw := body(map[string]any{"policy": map[string]any{"velocity": map[string]any{"maxPerMinute": 1_000_000}, "twoPersons": []string{}}, "reason": "fault test"})
	a, err := by.do(ctx, request{method: "PUT", url: c.nodes[0].api + "/v1/policy", body: raw, patience: 10 * time.Second})
	if err != nil {
		return err
	}
	if !a.ok() {
		return fmt.Errorf("policy not set: %d %.200q", a.status, a.body)
	}
	return nil
}

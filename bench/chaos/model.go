package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"railguard/engine"
)

// This file is the sequential specification: it says how calls for one group of agents must be
// answered if they come one after another. It was written for this checker from the decisions
// alone, without the server's code.

// standing is an agent's status.
type standing uint8

const (
	active standing = iota
	suspended
	revoked
)

var standingNames = [...]string{active: "ACTIVE", suspended: "SUSPENDED", revoked: "REVOKED"}

// accountState is the mutable part of an account.
type accountState struct {
	exists   bool
	status   standing
	attested int64 // Log time of the last attestation in Unix nanoseconds; 0: there was none.
	spent    engine.USD
}

// groupState is the state of one group. It is a comparable value: the checker
// copies it at every step.
type groupState struct {
	day      int64
	fleet    engine.USD
	accounts [accountsMax]accountState
}

// level has what the rules need of one agent of a chain. The first level of a chain is the agent
// itself.
type level struct {
	accountState
	daily, single engine.USD
}

// envelope has what the rules need of a fleet.
type envelope struct{ limit, spent engine.USD }

const attestationAbove = 10_000 * engine.Dollar

// decide applies those of the rules that these tests can reach, in their order.
func decide(chain []level, fleet *envelope, autonomous bool, amount engine.USD, now int64) (verdict, rule string) {
	over := func(spent, limit engine.USD) bool { return spent.Plus(amount).Exceeds(limit) }
	any := func(holds func(level) bool) bool { return slices.ContainsFunc(chain, holds) }
	own := chain[0]
	stale := own.attested == 0 || now-own.attested >= int64(24*time.Hour)
	switch {
	case any(func(l level) bool { return l.status != active }):
		return "BLOCK", "R2_CREDENTIAL_STATUS"
	case any(func(l level) bool { return amount.Exceeds(l.single) }):
		return "REVIEW", "R10_SINGLE_TX_LIMIT"
	case any(func(l level) bool { return over(l.spent, l.daily) }):
		return "REVIEW", "R11_DAILY_LIMIT"
	case fleet != nil && over(fleet.spent, fleet.limit):
		return "REVIEW", "R12_FLEET_DAILY_LIMIT"
	case autonomous && amount > attestationAbove && stale:
		return "REVIEW", "R22_ATTESTATION"
	}
	return "PROCEED", ""
}

// specification returns the model of one group for Porcupine. Its inputs are of type *operation.
func specification(g *group) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return groupState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(groupState)
			ok := s.step(g, input.(*operation))
			return ok, s
		},
		DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
	}
}

func (o *operation) String() string {
	text := fmt.Sprintf("%s g%d/a%d", o.kind, o.group, o.account)
	if o.kind == opScreen || o.kind == opReview {
		text += " " + string(usd(o.amount))
	}
	answer := o.verdict + " " + o.rule
	if o.kind != opScreen || !o.done() {
		answer = fmt.Sprintf("%d %s %s", o.status, o.code, o.disposition)
	}
	return fmt.Sprintf("%s %s -> %s (client %d, %v to %v, node %s, %d attempts)",
		text, o.subject, answer, o.client, o.invoke.Round(time.Microsecond), o.back.Round(time.Microsecond), o.node, o.attempts)
}

// step applies one operation with its answer. It returns false if the answer is impossible in
// this state.
func (s *groupState) step(g *group, o *operation) bool {
	plan := g.plan(o.account)
	own := &s.accounts[o.account]
	switch o.kind {
	case opRegister:
		return o.done() && s.create(own)
	case opDelegate:
		parents := s.chain(g, plan.parent)
		alive := !slices.ContainsFunc(parents, func(l level) bool { return l.status != active })
		if o.done() {
			return alive && s.create(own)
		}
		return o.code == "parent_not_active" && !alive
	case opScreen:
		return s.screen(g, o)
	case opSuspend, opReinstate, opRevoke:
		return own.exists && own.change(o)
	case opAttest:
		return own.exists && s.attest(g, own, o)
	case opReview:
		if o.done() && o.disposition == "APPROVED" {
			return s.approve(g, o)
		}
		return true
	}
	return false
}

func (s *groupState) create(own *accountState) bool {
	if own.exists {
		return false
	}
	own.exists = true
	return true
}

// chain returns an agent and its ancestors, the agent first.
func (s *groupState) chain(g *group, index int) []level {
	var chain []level
	for index >= 0 {
		plan := g.plan(index)
		chain = append(chain, level{s.accounts[index], plan.daily, plan.single})
		index = plan.parent
	}
	return chain
}

// fleetOf returns the group's fleet if the agent's root is in it.
func (s *groupState) fleetOf(g *group, index int) *envelope {
	if !g.plan(index).fleet {
		return nil
	}
	return &envelope{g.limit, s.fleet}
}

// turn begins the UTC date of an answer's log time. It returns false if log time would go back.
func (s *groupState) turn(at time.Time) bool {
	day := at.Unix() / 86400
	if day < s.day {
		return false
	}
	if day > s.day {
		s.day, s.fleet = day, 0
		for i := range s.accounts {
			s.accounts[i].spent = 0
		}
	}
	return true
}

func (s *groupState) screen(g *group, o *operation) bool {
	if !o.done() || !s.accounts[o.account].exists || !s.turn(o.at) {
		return false
	}
	plan := g.plan(o.account)
	verdict, rule := decide(s.chain(g, o.account), s.fleetOf(g, o.account), plan.autonomous, o.amount, o.at.UnixNano())
	if o.listed && strings.HasPrefix(o.rule, "R6_") && !strings.HasPrefix(rule, "R2_") {
		return o.verdict == "BLOCK" // The model does not know the list.
	}
	if verdict != o.verdict || rule != o.rule {
		return false
	}
	if verdict == "PROCEED" {
		s.spend(g, o)
	}
	return true
}

// spend books an amount on the agent, its ancestors and the fleet.
func (s *groupState) spend(g *group, o *operation) {
	for index := o.account; index >= 0; index = g.plan(index).parent {
		s.accounts[index].spent = s.accounts[index].spent.Plus(o.amount)
	}
	if g.plan(o.account).fleet {
		s.fleet = s.fleet.Plus(o.amount)
	}
}

func (s *groupState) approve(g *group, o *operation) bool {
	if !s.turn(o.at) {
		return false
	}
	s.spend(g, o)
	return true
}

func (s *groupState) attest(g *group, own *accountState, o *operation) bool {
	dead := slices.ContainsFunc(s.chain(g, o.account), func(l level) bool { return l.status == revoked })
	if !o.done() {
		return o.code == "invalid_transition" && dead
	}
	own.attested = o.at.UnixNano()
	return !dead
}

var targets = map[kind]standing{opSuspend: suspended, opReinstate: active, opRevoke: revoked}

// change applies the table of decision 35.
func (a *accountState) change(o *operation) bool {
	to := targets[o.kind]
	if !o.done() {
		return o.code == "invalid_transition" && a.status == revoked && to != revoked &&
			(o.credentialStatus == "" || o.credentialStatus == standingNames[a.status])
	}
	if o.unchanged {
		return a.status == to
	}
	if a.status == to || a.status == revoked {
		return false
	}
	a.status = to
	return true
}

// reviewing is the model of one transaction's disposition, which can be set only once.
var reviewing = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		o := input.(*operation)
		if o.done() {
			return state == "", o.disposition
		}
		return state != "", state
	},
	DescribeOperation: func(input, _ any) string { return input.(*operation).String() },
}

// linearizable looks, for every group and every reviewed transaction, for an order of its
// operations that explains all answers.
func linearizable(operations []*operation, groups []*group, budget time.Duration) (violations []string, undecided int) {
	byGroup := make(map[int][]porcupine.Operation)
	byTxn := make(map[string][]porcupine.Operation)
	for _, o := range operations {
		if o.outcome != answered || o.status >= 500 {
			continue
		}
		entry := porcupine.Operation{ClientId: o.client, Input: o, Call: int64(o.invoke), Return: int64(o.back)}
		switch o.kind {
		case opRead, opFleet:
		case opReview:
			byTxn[o.subject] = append(byTxn[o.subject], entry)
			byGroup[o.group] = append(byGroup[o.group], entry)
		default:
			byGroup[o.group] = append(byGroup[o.group], entry)
		}
	}
	deadline := time.Now().Add(budget)
	check := func(name string, model porcupine.Model, entries []porcupine.Operation) {
		switch porcupine.CheckOperationsTimeout(model, entries, max(time.Until(deadline), time.Millisecond)) {
		case porcupine.Illegal:
			violations = append(violations, fmt.Sprintf("%s: %d operations have no order that explains their answers: %s",
				name, len(entries), blame(model, entries)))
		case porcupine.Unknown:
			undecided++
		}
	}
	for _, g := range groups {
		check(fmt.Sprintf("group %d", g.index), specification(g), byGroup[g.index])
	}
	for _, txn := range sortedKeys(byTxn) {
		check("review of "+txn, reviewing, byTxn[txn])
	}
	return violations, undecided
}

// blame names the operation that a person should look at first. It takes the longest order that
// explains its answers, and among the operations which that order lacks the one that returned
// first.
func blame(model porcupine.Model, entries []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(model, entries, blameBudget)
	explained := make(map[*operation]bool)
	longest := 0
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) <= longest {
				continue
			}
			longest = len(order)
			clear(explained)
			for _, entry := range order {
				explained[entry.Input.(*operation)] = true
			}
		}
	}
	var first *operation
	for _, entry := range entries {
		if o := entry.Input.(*operation); !explained[o] && (first == nil || o.back < first.back) {
			first = o
		}
	}
	if first == nil {
		return "no operation stands out"
	}
	return fmt.Sprintf("%d can be explained, not %s", longest, first)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

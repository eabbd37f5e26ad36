package retrace

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"railguard/edge/recorded"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

const (
	examplesMax   = 100     // How many examples are shown.
	examplesAlike = 10      // How many of the examples may have the same pair of outcomes.
	agentsMax     = 262_144 // How many agents are counted separately.
	inexactShown  = 100
	daysMax       = 128 // More than the 90 days of retention.
)

// Tally counts the results of judging calls again. One goroutine counts; any goroutine may
// call Write and Judged.
type Tally struct {
	mu sync.Mutex // Guards the fields below.

	Records     uint64 // Calls judged.
	Differing   uint64 // Of these calls, those with another verdict, rule, reason or set of rules that fired.
	Changed     uint64 // Of these calls, those with another verdict.
	Credentials uint64 // Calls that were UNKNOWN and stay so, because tokens are not stored.
	Unreadable  uint64 // Leaves that could not be read.
	ListGone    uint64 // Calls whose list nobody holds any more.
	ListAges    uint64 // Calls whose records do not say whether the list would have been too old.
	Officers    uint64 // Calls that would wait for an officer who never decided them.
	Truncated   bool   // More payments diverged than can be remembered: counters are not exact.
	First, Last engine.Time

	matrix   [engine.Unknown + 1][engine.Unknown + 1]matrixCell
	rules    [engine.RuleBits]ruleTally
	assumed  [engine.RuleBits]uint64
	days     map[engine.Day]*[2]uint64 // By day: the number of REVIEWs that were recorded, and the number under the tried terms.
	agents   map[engine.AgentSlot]bool // Whether the agent's counters are exact.
	inexact  []string                  // Ids of the first agents whose counters are not exact.
	doubtful uint64                    // How many agents have counters that are not exact.
	more     bool                      // There were more agents than agentsMax; the others are not counted.
	examples []example
	alike    map[[2]decisionKind]int
	saved    savedReviews
}

type matrixCell struct {
	count  uint64
	amount engine.USD
}

type ruleTally struct{ recorded, now, gained, lost uint64 }

// decisionKind is a verdict with the rule and the sub-reason that decided it.
type decisionKind struct {
	verdict engine.Verdict
	rule    engine.RuleID
	sub     engine.Sub
	idle    uint32 // See engine.Decision. It is told, and makes no difference.
	list    string // The list beside OFAC's that the reason names; "": it names none.
}

// kindsOf returns what was recorded of a case, and what was decided again.
func kindsOf(c *Case, d *engine.Decision) (was, now decisionKind) {
	was = decisionKind{c.Recorded.Verdict, c.Recorded.Rule, c.Recorded.Sub, c.Recorded.Idle, ""}
	if list := c.Record.Edge.Get(leaf.TagListName); len(list) > 0 && c.Rules != nil && c.Rules.NamesList(was.rule, was.sub) {
		was.list = string(list)
	}
	now = decisionKind{d.Verdict, d.Rule, d.Sub, d.Idle, strings.Clone(c.Facts.NamedList(d.Rule, d.Sub))} // An example must not keep a list in memory.
	if c.Facts.List == nil && now.rule == was.rule {
		now.list = was.list // Taken from the record, as the rule was.
	}
	return was, now
}

// decidesAs reports whether two decisions are the same, whatever rules were not in force.
func (s decisionKind) decidesAs(other decisionKind) bool {
	s.idle, other.idle = 0, 0
	return s == other
}

type example struct {
	txn, agent string
	at         engine.Time
	amount     engine.USD
	was, now   decisionKind
	rules      *engine.RuleSet
}

func newTally() *Tally {
	return &Tally{days: map[engine.Day]*[2]uint64{}, agents: map[engine.AgentSlot]bool{}, alike: map[[2]decisionKind]int{}}
}

// Judged returns how many calls were judged, and how many of them got another verdict.
func (t *Tally) Judged() (records, changed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Records, t.Changed
}

// countUp adds one to a counter of facts that the records do not hold.
func (t *Tally) countUp(counter *uint64) {
	t.mu.Lock()
	*counter++
	t.mu.Unlock()
}

// noteCase counts one call. truncated means that its counters are not exact.
func (t *Tally) noteCase(c *Case, out *Outcome, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Truncated = t.Truncated || truncated
	if !c.Known {
		t.Credentials++
	}
	was, now := &c.Recorded, &out.Decision
	at, amount := c.Record.At, c.Facts.Request.Amount
	if t.Records == 0 {
		t.First = at
	}
	t.Records, t.Last = t.Records+1, at
	place := &t.matrix[was.Verdict][now.Verdict]
	place.count, place.amount = place.count+1, place.amount.Plus(amount)
	t.rules[was.Rule].recorded++
	t.rules[now.Rule].now++
	if was.Rule != now.Rule {
		t.rules[was.Rule].lost++
		t.rules[now.Rule].gained++
	}
	t.countReview(at.Day(), was.Verdict == engine.Review, now.Verdict == engine.Review)
	for _, id := range out.Assumed {
		t.assumed[id]++
	}
	gone := slices.Contains(out.Assumed, recorded.ListRules[0])
	if gone {
		t.ListGone++
	}
	if was.Verdict != now.Verdict {
		t.Changed++
	}
	recorded, decided := kindsOf(c, now)
	if *was != *now || recorded.list != decided.list {
		t.Differing++
	}
	officer := was.Verdict != engine.Review && now.Verdict == engine.Review
	if officer {
		t.Officers++
	}
	if c.Known {
		t.noteAgent(c, officer || gone || t.Truncated)
	}
	t.noteSaved(c, recorded, decided)
	if !recorded.decidesAs(decided) {
		t.keepExample(c, recorded, decided)
	}
}

func (t *Tally) countReview(day engine.Day, was, now bool) {
	counts := t.days[day]
	if counts == nil {
		if len(t.days) >= daysMax {
			return
		}
		counts = new([2]uint64)
		t.days[day] = counts
	}
	if was {
		counts[0]++
	}
	if now {
		counts[1]++
	}
}

// noteAgent notes the agents of a case. If doubtful is set, it notes that their counters are
// not exact from now on.
func (t *Tally) noteAgent(c *Case, doubtful bool) {
	for i := range c.Facts.ChainSize {
		slot := c.Facts.Chain[i].Slot
		exact, known := t.agents[slot]
		switch {
		case !known && len(t.agents) >= agentsMax:
			t.more = true
			continue
		case !known:
			t.agents[slot], exact = true, true
		}
		if doubtful && exact {
			t.agents[slot] = false
			t.doubtful++
			if len(t.inexact) < inexactShown {
				t.inexact = append(t.inexact, c.Record.Agent.AgentIDs[i])
			}
		}
	}
}

// keepExample keeps a call as an example if it is among the first of its kind.
func (t *Tally) keepExample(c *Case, was, now decisionKind) {
	kind := [2]decisionKind{was, now}
	if len(t.examples) >= examplesMax || t.alike[kind] >= examplesAlike {
		return
	}
	t.alike[kind]++
	t.examples = append(t.examples, exampleOf(c, was, now))
}

func exampleOf(c *Case, was, now decisionKind) example {
	return example{txn: c.Record.TxnID(), agent: c.Record.AgentID(), at: c.Record.At, amount: c.Facts.Request.Amount, was: was, now: now, rules: c.Rules}
}

// Write adds the tally. It contains ids and amounts, but no names.
func (t *Tally) Write(m *strictjson.Members) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Uint("records", t.Records)
	m.Uint("changed", t.Changed)
	m.Uint("differing", t.Differing)
	m.List("matrix", t.writeMatrix())
	m.List("rules", t.writeRules())
	t.writeReviews(m)
	var saved strictjson.Members
	t.saved.write(&saved)
	m.Object("saved", saved)
	t.writeAgents(m)
	t.writeAssumed(m)
	items := make([]strictjson.Members, len(t.examples))
	for i := range t.examples {
		t.examples[i].writeMembers(&items[i])
	}
	m.List("examples", items)
}

func (t *Tally) writeMatrix() []strictjson.Members {
	items := []strictjson.Members{}
	for was := range t.matrix {
		for now := range t.matrix[was] {
			if place := &t.matrix[was][now]; place.count > 0 {
				var m strictjson.Members
				m.Text("recorded", engine.Verdict(was).String())
				m.Text("candidate", engine.Verdict(now).String())
				m.Uint("count", place.count)
				m.USD("amountUSDC", place.amount)
				items = append(items, m)
			}
		}
	}
	return items
}

func (t *Tally) writeRules() []strictjson.Members {
	items := []strictjson.Members{}
	add := func(id engine.RuleID) {
		if rule := &t.rules[id]; *rule != (ruleTally{}) {
			var m strictjson.Members
			m.TextOrNull("rule", id.Code())
			m.Uint("recorded", rule.recorded)
			m.Uint("candidate", rule.now)
			m.Uint("gained", rule.gained)
			m.Uint("lost", rule.lost)
			items = append(items, m)
		}
	}
	add(0) // The key 0 stands for calls that no rule decided: all clear.
	for i := range engine.Rules {
		add(engine.Rules[i].ID)
	}
	return items
}

// writeReviews writes how many reviews the tried terms cause, in total and per day.
func (t *Tally) writeReviews(m *strictjson.Members) {
	days := make([]engine.Day, 0, len(t.days))
	for day := range t.days {
		days = append(days, day)
	}
	slices.SortFunc(days, func(a, b engine.Day) int { return cmp.Compare(a, b) })
	var sum [2]uint64
	items := []strictjson.Members{}
	for _, day := range days {
		counts := t.days[day]
		sum[0], sum[1] = sum[0]+counts[0], sum[1]+counts[1]
		var item strictjson.Members
		item.Text("day", string(day.AppendDate(nil)))
		item.Uint("recorded", counts[0])
		item.Uint("candidate", counts[1])
		items = append(items, item)
	}
	spans := max((t.Last-t.First+engine.DayLength-1)/engine.DayLength, 1)
	var perDay, reviews strictjson.Members
	for i, name := range [...]string{"recorded", "candidate"} {
		perDay.USD(name, engine.USD(sum[i])*engine.Dollar/engine.USD(spans)) // The mean is written as a decimal number, like an amount.
	}
	reviews.Uint("recorded", sum[0])
	reviews.Uint("candidate", sum[1])
	reviews.Object("perDay", perDay)
	reviews.List("days", items)
	m.Object("reviews", reviews)
}

func (t *Tally) writeAgents(m *strictjson.Members) {
	var agents strictjson.Members
	agents.Int("judged", int64(len(t.agents)))
	agents.Uint("exact", uint64(len(t.agents))-t.doubtful)
	agents.Uint("inexact", t.doubtful)
	agents.Texts("inexactIds", append([]string{}, t.inexact...))
	agents.Bool("truncated", t.more || t.Truncated)
	m.Object("agents", agents)
}

// writeAssumed writes which facts the records do not hold, and how often that mattered.
func (t *Tally) writeAssumed(m *strictjson.Members) {
	var held strictjson.Members
	rules := []strictjson.Members{}
	for i := range engine.Rules {
		if id := engine.Rules[i].ID; t.assumed[id] > 0 {
			var item strictjson.Members
			item.Text("rule", id.Code())
			item.Uint("records", t.assumed[id])
			rules = append(rules, item)
		}
	}
	held.List("rules", rules)
	held.Uint("credentials", t.Credentials)
	held.Uint("listGone", t.ListGone)
	held.Uint("listAgeUnknown", t.ListAges)
	held.Uint("officerDecisions", t.Officers)
	held.Uint("unreadable", t.Unreadable)
	m.Object("notHeld", held)
}

func (e *example) writeMembers(m *strictjson.Members) {
	m.Text("txnId", e.txn)
	m.Optional("agentId", e.agent)
	m.Time("screenedAt", e.at)
	m.USD("amount", e.amount)
	m.Object("recorded", e.was.toMembers(e.rules))
	m.Object("candidate", e.now.toMembers(e.rules))
}

func (s decisionKind) toMembers(rules *engine.RuleSet) (m strictjson.Members) {
	m.Text("verdict", s.verdict.String())
	m.TextOrNull("rule", s.rule.Code())
	m.Text("reason", engine.NameList(rules.FullReason(s.rule, s.sub, s.idle, 0), s.list))
	return m
}

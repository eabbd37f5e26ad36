package edge

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// Explain and replay (decision 49). Both work from the record alone: its
// inputs, its evidence and the list whose digest it names.

// rebuilt is a record's decision, laid out anew.
type rebuilt struct {
	ladder
	recorded engine.Decision
	static   uint32   // Static hits as recorded.
	assumed  []uint32 // Rule numbers taken from the record, not judged again.
	user     engine.UserProfile
	fleet    engine.FleetProfile
	stored   engine.Policy
	rows     [engine.DepthMax + 1]engine.AgentRow
	chain    [engine.DepthMax + 1]engine.AgentProfile
	request  engine.Request
	list     *ofac.Index
	matcher  uint16 // Version of the matcher it was judged with.
	listGone string // Why the list cannot be asked again as it was; empty: it can.
}

// Explain writes the ladder of a screening record as it was judged.
func (j *Judge) Explain(l *Leaf, m *strictjson.Members) error {
	x, err := j.rebuild(l)
	if err != nil {
		return err
	}
	x.decision, x.mask = x.recorded, x.static|x.recorded.Triggered|x.recorded.Shadow
	l.CopyTo(m, "txnId", "verdict", "rule", "reason", "screenedAt", "ruleSet", "policyVersion", "listVersion", "credentialStatus", "matches")
	j.shared.Parties(l, m)
	x.write(m)
	return nil
}

// Replay judges a screening record again from what it holds, and writes whether the
// same came of it.
func (j *Judge) Replay(l *Leaf, m *strictjson.Members) error {
	x, err := j.rebuild(l)
	if err != nil {
		return err
	}
	x.judge(l)
	m.Text("txnId", l.Text("txnId"))
	var diff []strictjson.Members
	note := func(field, recorded, replayed string) {
		if recorded != replayed {
			var item strictjson.Members
			item.Text("field", field)
			item.Text("recorded", recorded)
			item.Text("replayed", replayed)
			diff = append(diff, item)
		}
	}
	note("verdict", l.Text("verdict"), x.decision.Verdict.String())
	note("rule", l.Text("rule"), x.decision.Code())
	note("reason", l.Text("reason"), x.decision.Reason())
	note("triggered", codeList(x.recorded.Triggered), codeList(x.decision.Triggered))
	note("shadow", codeList(x.recorded.Shadow), codeList(x.decision.Shadow))
	m.Bool("match", len(diff) == 0)
	m.Object("recorded", decisionMembers(l.Text("verdict"), l.Text("rule"), l.Text("reason"), &x.recorded))
	m.Object("replayed", decisionMembers(x.decision.Verdict.String(), x.decision.Code(), x.decision.Reason(), &x.decision))
	m.List("diff", diff)
	assumed := []string{}
	for _, id := range x.assumed {
		assumed = append(assumed, engine.RuleID(id).Code())
	}
	m.Texts("assumed", assumed)
	m.Text("listDigest", l.Text("listDigest"))
	m.Uint("matcherVersion", uint64(x.matcher))
	m.TextOrNull("listUnavailable", x.listGone)
	return nil
}

func codeList(mask uint32) string {
	text := ""
	for _, code := range ruleCodes(mask) {
		text += code + " "
	}
	return text
}

func decisionMembers(verdict, rule, reason string, d *engine.Decision) strictjson.Members {
	var m strictjson.Members
	m.Text("verdict", verdict)
	m.TextOrNull("rule", rule)
	m.Text("reason", reason)
	m.Texts("triggered", ruleCodes(d.Triggered))
	m.Texts("shadow", ruleCodes(d.Shadow))
	return m
}

// rebuild reads a record's decision and, as far as it holds them, its inputs.
func (j *Judge) rebuild(l *Leaf) (*rebuilt, error) {
	whole, err := j.openLeaf(l.Index, l.Data, true)
	if err != nil {
		return nil, err
	}
	*l = whole
	x := &rebuilt{request: requestOfRecord(l), static: uint32(l.Number("evidence", "staticMask")), matcher: uint16(l.Number("matcherVersion"))}
	x.recorded = recordedDecision(l)
	x.facts = &engine.Facts{Request: &x.request, Now: engine.Time(l.Value.GetInt64("evidence", "now"))}
	if !l.Has("inputs", "policy") || !l.Has("evidence") {
		return x, nil // Nothing but credentials was judged, and tokens are not kept.
	}
	if err := x.readInputs(l); err != nil {
		return nil, err
	}
	x.openList(j, l)
	x.readEvidence(l)
	x.known = true
	return x, nil
}

// openList finds the list that the record names, with the tables of the matcher that it
// was judged with: with other ones the same name may be answered otherwise, and a
// replay would differ though nothing was wrong.
func (x *rebuilt) openList(j *Judge, l *Leaf) {
	digest, err := hex.DecodeString(l.Text("listDigest"))
	if err != nil || len(digest) != 32 {
		x.listGone = "the record names no list"
		return
	}
	list, err := j.shared.deps.Published.ListAs([32]byte(digest), x.matcher)
	switch {
	case errors.Is(err, ofac.ErrMatcherVersion):
		x.listGone = fmt.Sprintf("judged with matcher version %d, which this binary does not carry", x.matcher)
	case err != nil || list == nil:
		x.listGone = "no node that answers holds the list any more"
	default:
		x.list = list
	}
}

// recordedDecision reads the outcome back; the sub-reason is found by its text.
func recordedDecision(l *Leaf) engine.Decision {
	d := engine.Decision{Triggered: maskOf(l, "triggered"), Shadow: maskOf(l, "shadow")}
	for v := engine.Proceed; v <= engine.Unknown; v++ {
		if v.String() == l.Text("verdict") {
			d.Verdict = v
		}
	}
	d.Rule, _ = engine.RuleByCode(l.Text("rule"))
	d.Sub = subOf(d.Rule, l.Text("reason"))
	return d
}

func maskOf(l *Leaf, name string) uint32 {
	mask := uint32(0)
	for _, v := range l.Value.GetArray(name) {
		if id, ok := engine.RuleByCode(string(v.GetStringBytes())); ok {
			mask |= 1 << id
		}
	}
	return mask
}

func subOf(id engine.RuleID, reason string) engine.Sub {
	if rule := engine.RuleByID(id); rule != nil {
		return engine.Sub(slices.Index(rule.Reasons, reason) + 1)
	}
	return 0
}

// readInputs decodes the profiles and the policy of the judgement.
func (x *rebuilt) readInputs(l *Leaf) error {
	f := x.facts
	for i, v := range l.Value.GetArray("inputs", "levels") {
		if i == len(x.chain) {
			break
		}
		if err := decodeInputs(string(v.GetStringBytes()), &x.chain[i]); err != nil {
			return err
		}
		f.Chain[i] = &x.chain[i]
		f.ChainSize++
	}
	if err := decodeInputs(l.Text("inputs", "policy"), &x.stored); err != nil {
		return err
	}
	x.policy, f.Policy = &x.stored, &x.stored
	if text := l.Text("inputs", "fleet"); text != "" {
		if err := decodeInputs(text, &x.fleet); err != nil {
			return err
		}
		f.Fleet = &x.fleet
	}
	if text := l.Text("inputs", "user"); text != "" {
		if err := decodeInputs(text, &x.user); err != nil {
			return err
		}
		f.User = &x.user
	}
	f.ChainBad = l.Flag("inputs", "chainBad")
	f.UserOnly = f.User != nil && f.ChainSize == 0
	f.OperatorCleared = uids(l, "operatorCleared")
	f.UserCleared = uids(l, "userCleared")
	f.PartyCleared = uids(l, "partyCleared")
	return nil
}

func uids(l *Leaf, name string) (list []uint32) {
	for _, v := range l.Value.GetArray("inputs", name) {
		list = append(list, uint32(v.GetUint()))
	}
	return list
}

// readEvidence lays out the moment as Apply saw it.
func (x *rebuilt) readEvidence(l *Leaf) {
	integer := func(path ...string) int64 { return l.Value.GetInt64(append([]string{"evidence"}, path...)...) }
	o := &engine.Moment{
		Now: x.facts.Now, Amount: x.request.Amount, Policy: x.policy,
		Version: uint16(integer("tokenVersion")), Expires: engine.Time(integer("tokenExpires")),
		Minute: uint32(integer("minute")), PerHour: uint32(integer("hour")), DayMeanX100: uint32(integer("dayMeanX100")),
		Structuring: uint8(integer("structuring")), Duplicate: l.Has("evidence", "referenceUsedBy"), ListStale: l.Flag("ofacStale"),
		Operator:   &engine.OperatorRow{Suspended: l.Flag("evidence", "operatorSuspended")},
		KeyRevoked: integer("tokenVersion") == 0, // What an edge sends for a token of a revoked key.
	}
	day := o.Now.Day()
	for i, v := range l.Value.GetArray("evidence", "levels") {
		if i == x.facts.ChainSize {
			break
		}
		row := &x.rows[i]
		row.Status = engine.Status(v.GetInt64("status"))
		row.MinVersion = uint16(v.GetInt64("minVersion"))
		row.OverlapUntil = engine.Time(v.GetInt64("overlapUntil"))
		row.OwnershipFrom = engine.Time(v.GetInt64("ownershipFrom"))
		row.AttestedAt = engine.Time(v.GetInt64("attestedAt"))
		row.Spend = engine.Spend{Day: day, Spent: engine.USD(v.GetInt64("spent")), Held: engine.USD(v.GetInt64("held"))}
		o.Levels[i] = engine.Level{Row: row, Profile: x.facts.Chain[i], KeyRevoked: v.GetBool("keyRevoked")}
		o.LevelCount++
	}
	if l.Has("evidence", "fleet") {
		o.Fleet = &engine.FleetRow{Spend: engine.Spend{Day: day, Spent: engine.USD(integer("fleet", "spent")), Held: engine.USD(integer("fleet", "held"))}}
		o.FleetLimit = engine.USD(integer("fleet", "limit"))
		o.FleetHours, o.FleetPace = x.fleet.Hours, x.fleet.Velocity
	}
	if l.Has("evidence", "user") {
		o.User = &engine.UserRow{
			Status: engine.Status(integer("user", "status")), MinVersion: uint16(integer("user", "minVersion")),
			OverlapUntil: engine.Time(integer("user", "overlapUntil")),
		}
		o.UserCurrent, o.UserVersion = uint16(integer("user", "version")), uint16(integer("user", "tokenVersion"))
		o.UserExpires = engine.Time(integer("user", "tokenExpires"))
	}
	x.moment = o
}

// listRules are the rules that ask the list.
var listRules = []engine.RuleID{4, 5, 6, 7, 21}

// judge runs the rules again. What the record does not hold the means to judge
// is taken from it, by name.
func (x *rebuilt) judge(l *Leaf) {
	if !x.known {
		x.decision = x.recorded
		x.assume(&engine.Hits{}, x.recorded.Rule)
		return
	}
	static := x.judgeStatic()
	if l.Flag("inputs", "whitelist") {
		x.assume(&static, 13)
	}
	live := engine.JudgeLive(x.moment)
	static.Merge(&live)
	x.decision, x.mask = engine.Decide(&static, x.policy), static.Mask
}

func (x *rebuilt) judgeStatic() engine.Hits {
	f := x.facts
	if x.list != nil {
		looker := lookers.Get().(*engine.Looker)
		defer lookers.Put(looker)
		f.List = x.list
		looker.Look(f)
		return engine.JudgeStatic(f)
	}
	hits := engine.JudgeStatic(f)
	for _, id := range listRules {
		x.assume(&hits, id)
	}
	return hits
}

// assume takes one rule's hit from the record.
func (x *rebuilt) assume(hits *engine.Hits, id engine.RuleID) {
	x.assumed = append(x.assumed, uint32(id))
	hits.Mask &^= 1 << id
	hits.Subs[id] = 0
	if x.static&(1<<id) == 0 {
		return
	}
	sub := engine.Sub(1)
	if x.recorded.Rule == id {
		sub = x.recorded.Sub
	}
	hits.Add(id, sub)
}

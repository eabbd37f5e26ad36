package recorded

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/ofac"
)

// Case is one recorded call as its judges saw it: the request, the profiles and the evidence of
// the record. One Case serves many records, one after another. Its pointers lead into the
// record and into the Case itself.
type Case struct {
	Record   *leafjson.Screen
	Rules    *engine.RuleSet // The rule set of the record. If this binary does not know it, it is nil and nothing is judged again.
	Recorded engine.Decision
	Policy   *engine.Policy // The policy that the call was judged with; nil if it is not known.
	Facts    engine.Facts
	Moment   engine.Moment
	Known    bool // Facts, Moment and Policy are set; otherwise the record holds its outcome alone.

	request  engine.Request
	rows     [engine.DepthMax + 1]engine.AgentRow
	operator engine.OperatorRow
	fleet    engine.FleetRow
	user     engine.UserRow
}

// Outcome is the result of judging a case.
type Outcome struct {
	Decision engine.Decision
	Mask     uint32          // Rules that fired, before modes apply.
	Assumed  []engine.RuleID // Rules whose result was taken from the record, because it does not hold their inputs.
}

// Open fills the case from a record. A record of a call without a usable credential is not
// Known, because tokens are not stored.
func (c *Case) Open(x *leafjson.Screen) {
	*c = Case{Record: x, Rules: x.RuleSet(), Recorded: engine.Decision{Verdict: x.Verdict, Rule: x.Rule, Sub: x.Sub, Triggered: x.Triggered, Shadow: x.Shadow, Idle: x.Idle}}
	c.readRequest()
	c.Facts = engine.Facts{Request: &c.request}
	if !x.Judged || c.Rules == nil {
		return
	}
	c.Facts.Now = x.At
	switch {
	case x.Party != nil:
		c.Policy = x.Party.Policy
	case x.Agent != nil:
		c.Policy = x.Agent.Policy
	default:
		return
	}
	c.Known = true
	c.readProfiles()
	c.readEvidence()
}

// readRequest reads the members of the call that the record holds, each as it was sent.
func (c *Case) readRequest() {
	x := c.Record
	text := func(t leaf.Tag) string { return ReadText(x.Edge.Get(t)) }
	c.request = engine.Request{
		AmountText: string(x.Edge.Get(leaf.TagAmount)), Chain: text(leaf.TagChain), Rail: text(leaf.TagRail), Wallet: text(leaf.TagWallet),
		Name: text(leaf.TagName), Type: text(leaf.TagPartyType), Protocol: text(leaf.TagProtocol), Model: text(leaf.TagModel),
		TravelRule: text(leaf.TagTravelRule),
	}
	c.request.Payer = text(leaf.TagPayer)
	c.request.Country, c.request.Region, c.request.Address = text(leaf.TagCountry), text(leaf.TagRegion), text(leaf.TagAddress)
	c.request.Origin, c.request.Memo = text(leaf.TagOrigin), text(leaf.TagMemo)
	if raw := x.Edge.Get(leaf.TagWallets); raw != nil {
		_ = c.request.ReadWallets(raw) // It was read before the record was written.
	}
	if raw := x.Edge.Get(leaf.TagIdentifiers); raw != nil {
		_ = c.request.ReadIdentifiers(raw)
	}
	c.request.Elsewhere, c.request.ElsewhereMore = strings.CutSuffix(string(x.Edge.Get(leaf.TagElsewhere)), "+")
	if c.request.Model == "" {
		c.request.Model = text(leaf.TagModelAlias)
	}
	if x.Judged {
		c.request.Amount = x.Amount
	} else if amount, err := engine.ParseUSD(c.request.AmountText); err == nil {
		c.request.Amount = amount
	}
}

// OtherTold returns everything else for which the list is asked: wallets besides cpWallet, identifiers
// and the memo.
func (c *Case) OtherTold() string {
	edge := &c.Record.Edge
	return string(edge.Get(leaf.TagPayer)) + string(edge.Get(leaf.TagWallets)) + string(edge.Get(leaf.TagElsewhere)) +
		string(edge.Get(leaf.TagIdentifiers)) + string(edge.Get(leaf.TagMemo))
}

// Told returns what the call says of its counterparty besides the name.
func (c *Case) Told() engine.Told { return c.Facts.ToldOf(ReadText(c.Record.Edge.Get(leaf.TagBirth))) }

// ReadText returns the text of a JSON string, and "" for any other value. A call is read in the
// same way.
func ReadText(raw []byte) (text string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	for _, b := range raw[1 : len(raw)-1] {
		if b == '\\' {
			if json.Unmarshal(raw, &text) != nil {
				return ""
			}
			return text
		}
	}
	return string(raw[1 : len(raw)-1])
}

// readProfiles fills in the parties of the call. The profiles belong to the record's leaf.
func (c *Case) readProfiles() {
	f, x := &c.Facts, c.Record
	if x.Agent != nil {
		for i := range x.Agent.Agents {
			f.Chain[i] = &x.Agent.Agents[i]
		}
		f.ChainSize = len(x.Agent.Agents)
		f.Fleet, f.Operator, f.OperatorID = x.Agent.Fleet, x.Agent.Operator, x.Agent.OperatorID
	}
	if x.Party != nil {
		f.User = x.Party.User
	}
	f.Policy = c.Policy
	f.Proven = x.Proof().Good() || x.Paid != nil && x.Paid.Redeem // Whoever redeems has the permit, and need not be the agent.
	f.UserOnly = f.User != nil && f.ChainSize == 0
	f.ChainBad = c.hasFlag(leafjson.FlagChainBad)
	f.RecordedWhitelist = c.hasFlag(leafjson.FlagWhitelist)
	f.OperatorCleared = c.readCleared(leaf.TagOperatorOK)
	f.UserCleared = c.readCleared(leaf.TagUserOK)
	f.PartyCleared = c.readCleared(leaf.TagPartyOK)
}

func (c *Case) hasFlag(bit byte) bool {
	flags := c.Record.Edge.Get(leaf.TagFlags)
	return len(flags) == 1 && flags[0]&bit != 0
}

func (c *Case) readCleared(t leaf.Tag) (uids []uint32) {
	data := c.Record.Edge.Get(t)
	for i := 0; i+4 <= len(data); i += 4 {
		uids = append(uids, binary.LittleEndian.Uint32(data[i:]))
	}
	return uids
}

// readEvidence fills in the moment as Apply saw it.
func (c *Case) readEvidence() {
	x, o := c.Record, &c.Moment
	version, expires := x.Token()
	c.operator.Suspended = x.OperatorSuspended
	*o = engine.Moment{
		Now: x.At, Amount: x.Amount, Counted: x.Paid != nil, Policy: c.Policy, Version: version, Expires: expires,
		Minute: x.Minute, PerHour: x.Hour, DayMeanX100: x.DayMeanX100, Structuring: x.Structuring,
		AgentNear: x.AgentNear, OperatorNear: x.OperatorNear,
		Duplicate: x.Used, ListStale: x.ListStale, ListOld: x.ListOld, Operator: &c.operator,
		KeyRevoked: version == 0, // An edge sends version 0 for a token of a revoked key.
	}
	if x.WithRoot {
		o.Root = &x.Root
	}
	day := x.At.Day()
	for i := range min(int(x.LevelCount), c.Facts.ChainSize) {
		seen, row := &x.Levels[i], &c.rows[i]
		row.Status, row.MinVersion, row.OverlapUntil = seen.Status, seen.MinVersion, seen.OverlapUntil
		row.OwnershipFrom, row.AttestedAt = seen.OwnershipFrom, seen.AttestedAt
		row.Spend = engine.Spend{Day: day, Spent: seen.Spent, Held: seen.Held}
		o.Levels[i] = engine.Level{Row: row, Profile: c.Facts.Chain[i], KeyRevoked: seen.KeyRevoked}
		o.LevelCount++
	}
	if x.InFleet {
		c.fleet.Spend = engine.Spend{Day: day, Spent: x.FleetSpent, Held: x.FleetHeld}
		o.Fleet = &c.fleet
		if fleet := c.Facts.Fleet; fleet != nil {
			o.FleetLimit, o.FleetHours, o.FleetPace = fleet.DailyLimit, fleet.Hours, fleet.Velocity
		}
	}
	if x.InOperator {
		c.operator.Spend = engine.Spend{Day: day, Spent: x.OperatorSpent, Held: x.OperatorHeld}
		if o.Owner = &c.operator.Spend; c.Facts.Operator != nil {
			o.OwnerLimit = c.Facts.Operator.DailyLimit
		}
	}
	if x.WithUser {
		c.user = engine.UserRow{Status: x.UserSeen.Status, MinVersion: x.UserSeen.MinVersion, OverlapUntil: x.UserSeen.OverlapUntil}
		o.User, o.UserVersion, o.UserExpires = &c.user, x.UserSeen.Version, x.UserSeen.Expires
		if c.Facts.User != nil {
			o.UserCurrent = c.Facts.User.CredentialVersion
		}
	}
}

// ListRules are the rules that ask the list.
var ListRules = [...]engine.RuleID{engine.RuleOperatorWallet, engine.RuleOperatorName, engine.RulePartyWallet, engine.RulePartyName, engine.RulePossibleName}

// Judge runs the rules under a policy and a list. If list is nil, because nobody has it any
// more, the rules that ask it are taken from the record. The same goes for a rule whose inputs
// the record does not hold. Outcome.Assumed names all of these rules.
func (c *Case) Judge(looker *engine.Looker, list *ofac.Index, policy *engine.Policy) Outcome {
	if !c.Known {
		return Outcome{Decision: c.Recorded, Assumed: []engine.RuleID{c.Recorded.Rule}}
	}
	var out Outcome
	f := &c.Facts
	f.Policy, f.List, c.Moment.Policy = policy, list, policy
	if list != nil {
		f.OperatorListed, f.PartyListed, f.OtherListed = false, false, 0
		looker.Look(f)
	}
	f.DemandProof() // The credential was good, but another policy may require a proof.
	hits := c.Rules.JudgeStatic(f)
	f.Token = engine.TokenGood
	if list == nil {
		for _, id := range ListRules {
			c.assumeRule(&out, &hits, id)
		}
	}
	if f.RecordedWhitelist {
		c.assumeRule(&out, &hits, engine.RuleWhitelist) // Profiles in the log omit whitelists.
	}
	live := c.Rules.JudgeLive(&c.Moment)
	hits.Merge(&live)
	left := c.leftOut()
	hits.Leave(left)
	out.Decision, out.Mask = c.Rules.Decide(&hits, policy), hits.Mask
	out.Decision.LeaveOut(left)
	return out
}

// assumeRule takes from the record whether a rule fired.
func (c *Case) assumeRule(out *Outcome, hits *engine.Hits, id engine.RuleID) {
	out.Assumed = append(out.Assumed, id)
	hits.Mask &^= 1 << id
	hits.Subs[id] = 0
	if c.Record.StaticMask&(1<<id) == 0 {
		return
	}
	sub := engine.Sub(1)
	if c.Recorded.Rule == id {
		sub = c.Recorded.Sub
	}
	hits.Add(id, sub)
}

package leafjson

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// Screen is a screening record with the profiles it was judged with. A missing profile is
// nil, and its members are left out.
type Screen struct {
	leaf.Screen
	Agent *leaf.Profile // The profile that Profile refers to.
	Party *leaf.Profile // The profile that User refers to.
	Edge  leaf.Fragment

	Full    bool   // The reader may see what is behind the tipping-off wall, so the reason names the rules that were not in force.
	Paid    *Paid  // Set where the record is the judgement in the leaf of a payment that was confirmed or redeemed.
	HoldNow string // The state of the hold that AppendHold shows; "": that of the record.
}

// Open reads a screening record's bytes; the profiles are the caller's to add.
func (x *Screen) Open(data []byte) error {
	x.Agent, x.Party, x.HoldNow, x.Paid = nil, nil, "", nil
	if err := leaf.DecodeScreen(data, &x.Screen); err != nil {
		return err
	}
	return x.Edge.Read(x.Screen.Edge)
}

// Stored returns the bytes of the leaf that the record stands in.
func (x *Screen) Stored() []byte {
	if x.Paid != nil {
		return x.Paid.Stored
	}
	return leaf.AppendScreen(nil, &x.Screen)
}

// TxnID returns the record's transaction id.
func (x *Screen) TxnID() string { return "txn_" + string(x.Txn[:]) }

// AgentID returns the agent's id; "" if the credential named none.
func (x *Screen) AgentID() string {
	if x.Judged && x.Agent != nil {
		return x.Agent.AgentIDs[0]
	}
	return string(x.Edge.Get(leaf.TagAgent))
}

// ProofSeen is what a record keeps of the key of its credential and of the call's proof.
type ProofSeen struct {
	Thumbprint string `json:"jkt"`     // RFC 7638; "": the credential names no key.
	Form       string `json:"form"`    // Of a good proof.
	Digest     string `json:"sha256"`  // Of the proof, in hexadecimal.
	Refused    string `json:"refused"` // Why the proof is not good.
}

// Good reports whether the call proved that it has the key.
func (p ProofSeen) Good() bool { return p.Form != "" && p.Refused == "" }

// Proof returns what the record keeps of the proof; the zero value: nothing.
func (x *Screen) Proof() (seen ProofSeen) {
	if raw := x.Edge.Get(leaf.TagProof); raw != nil {
		_ = json.Unmarshal(raw, &seen) // It was written by an edge.
	}
	return seen
}

// Source returns where the list came from: kv:live, kv:sample or "".
func (x *Screen) Source() string {
	switch source := x.Edge.Get(leaf.TagSource); {
	case len(source) == 1 && source[0] == 1:
		return "kv:live"
	case len(source) == 1 && source[0] == 2:
		return "kv:sample"
	}
	return ""
}

// AppendHold adds the hold of the payment, if there was one: in its state at the time of the
// record, or in the one that the caller has put into HoldNow.
func (x *Screen) AppendHold(m *strictjson.Members) {
	if x.HoldUntil == 0 {
		return
	}
	m.BeginObject("hold")
	m.Text("state", cmp.Or(x.HoldNow, "held"))
	m.USD("amount", x.Amount)
	m.Time("expiresAt", x.HoldUntil)
	m.EndObject()
}

// operatorTotal writes what all agents of the operator had spent, in micro-dollars.
func (x *Screen) operatorTotal(m *strictjson.Members) {
	m.BeginObject("operator")
	if x.Agent != nil && x.Agent.Policy != nil {
		var own *engine.USD
		if x.Agent.Operator != nil {
			own = x.Agent.Operator.DailyLimit
		}
		if limit := x.Agent.Policy.LimitOf(own); limit != engine.NoLimit {
			m.Int("limit", int64(limit))
		}
	}
	m.Int("spent", int64(x.OperatorSpent))
	if x.OperatorHeld != 0 {
		m.Int("held", int64(x.OperatorHeld))
	}
	m.EndObject()
}

// evidence adds what the live rules saw: micro-dollars, nanoseconds of log time, counts.
func (x *Screen) evidence(m *strictjson.Members) {
	if !x.Judged {
		return
	}
	m.BeginObject("evidence")
	m.Int("now", int64(x.At))
	m.Int("amount", int64(x.Amount))
	m.Uint("staticMask", uint64(x.StaticMask))
	x.levels(m)
	if x.InFleet {
		m.BeginObject("fleet")
		if x.Agent != nil && x.Agent.Fleet != nil {
			m.Int("limit", int64(x.Agent.Fleet.DailyLimit))
		}
		m.Int("spent", int64(x.FleetSpent))
		if x.FleetHeld != 0 {
			m.Int("held", int64(x.FleetHeld))
		}
		m.EndObject()
	}
	if x.InOperator {
		x.operatorTotal(m)
	}
	m.Bool("operatorSuspended", x.OperatorSuspended)
	version, expires := x.Token()
	m.Uint("tokenVersion", uint64(version))
	m.Int("tokenExpires", int64(expires))
	if x.WithUser {
		m.BeginObject("user")
		m.Int("status", int64(x.UserSeen.Status))
		if x.Party != nil {
			m.Uint("version", uint64(x.Party.User.CredentialVersion))
		}
		m.Uint("minVersion", uint64(x.UserSeen.MinVersion))
		m.Int("overlapUntil", int64(x.UserSeen.OverlapUntil))
		m.Uint("tokenVersion", uint64(x.UserSeen.Version))
		m.Int("tokenExpires", int64(x.UserSeen.Expires))
		m.EndObject()
	}
	m.Uint("minute", uint64(x.Minute))
	m.Uint("hour", uint64(x.Hour))
	m.Uint("dayMeanX100", uint64(x.DayMeanX100))
	m.Uint("structuring", uint64(x.Structuring))
	if x.WithRoot {
		m.BeginObject("root")
		m.Uint("minute", uint64(x.Root.Minute))
		m.Uint("hour", uint64(x.Root.PerHour))
		m.Uint("dayMeanX100", uint64(x.Root.DayMeanX100))
		m.EndObject()
	}
	if x.AgentNear.Count > 0 {
		m.BeginObject("near")
		m.Int("agentSum", int64(x.AgentNear.Sum))
		m.Uint("agentCount", uint64(x.AgentNear.Count))
		m.Int("operatorSum", int64(x.OperatorNear.Sum))
		m.Uint("operatorCount", uint64(x.OperatorNear.Count))
		m.EndObject()
	}
	if x.Used {
		m.Uint("referenceUsedBy", x.UsedBy)
	}
	m.EndObject()
}

// Token returns the credential version and expiry that the token claimed.
func (x *Screen) Token() (uint16, engine.Time) {
	if x.SameToken && x.Agent != nil {
		return x.Agent.Agents[0].CredentialVersion, x.Agent.Agents[0].ExpiresAt
	}
	return x.TokenVersion, x.TokenExpires
}

func (x *Screen) levels(m *strictjson.Members) {
	m.Name("levels")
	*m = append(*m, '[')
	for i := range x.LevelCount {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = append(*m, '{')
		x.level(int(i), m)
		m.EndObject()
	}
	*m = append(*m, ']')
}

func (x *Screen) level(i int, m *strictjson.Members) {
	seen := &x.Levels[i]
	var profile *engine.AgentProfile
	if x.Agent != nil && i < len(x.Agent.Agents) {
		profile = &x.Agent.Agents[i]
		m.Text("agentId", x.Agent.AgentIDs[i])
		m.Uint("rev", uint64(profile.Rev))
	}
	m.Int("status", int64(seen.Status))
	if profile != nil {
		m.Uint("version", uint64(profile.CredentialVersion))
	}
	m.Uint("minVersion", uint64(seen.MinVersion))
	m.Int("overlapUntil", int64(seen.OverlapUntil))
	if profile != nil {
		m.Int("expires", int64(profile.ExpiresAt))
	}
	if seen.KeyRevoked {
		m.Bool("keyRevoked", true)
	}
	m.Int("ownershipFrom", int64(seen.OwnershipFrom))
	m.Int("attestedAt", int64(seen.AttestedAt))
	if profile != nil {
		m.Int("limit", int64(profile.Policy.DailyLimit))
	}
	m.Int("spent", int64(seen.Spent))
	if seen.Held != 0 {
		m.Int("held", int64(seen.Held))
	}
}

// reference names a profile leaf.
func (x *Screen) reference(m *strictjson.Members, name string, of *leaf.Ref) {
	if !x.Judged || of.Hash == [32]byte{} {
		return
	}
	m.BeginObject(name)
	m.Uint("leaf", of.Leaf)
	m.Name("leafHash")
	*m = append(base64.StdEncoding.AppendEncode(append(*m, '"'), of.Hash[:]), '"')
	m.EndObject()
}

// own returns the profile of the judged agent; nil without one.
func (x *Screen) own() *engine.AgentProfile {
	if !x.Judged || x.Agent == nil {
		return nil
	}
	return &x.Agent.Agents[0]
}

// delegation adds the chain of agents from the root down, if there is more than one.
func (x *Screen) delegation(m *strictjson.Members) {
	if x.own() == nil || len(x.Agent.AgentIDs) < 2 {
		return
	}
	m.Name("chain")
	*m = append(*m, '[')
	for i := len(x.Agent.AgentIDs) - 1; i >= 0; i-- {
		*m = strictjson.AppendQuoted(*m, x.Agent.AgentIDs[i])
		if i > 0 {
			*m = append(*m, ',')
		}
	}
	*m = append(*m, ']')
}

func (x *Screen) hex(m *strictjson.Members, name string, t leaf.Tag) {
	if x.Edge.Has(t) {
		m.Hex(name, x.Edge.Get(t))
	}
}

// Warnings returns a JSON array of what was judged as absent in the call; nil without
// warnings.
func (x *Screen) Warnings() []byte { return x.Edge.Get(leaf.TagWarnings) }

// The members of _request: the first are always shown (specification 2.3), the
// others when they were sent.
var (
	requestMembers = [...]requestMember{
		{"amount", leaf.TagAmount}, {"chain", leaf.TagChain}, {"cpWallet", leaf.TagWallet}, {"cpName", leaf.TagName}, {"rail", leaf.TagRail},
	}
	requestExtras = [...]requestMember{
		{"cpType", leaf.TagPartyType}, {"protocol", leaf.TagProtocol}, {"underlyingModel", leaf.TagModel}, {"model", leaf.TagModelAlias},
		{"travelRuleRef", leaf.TagTravelRule}, {"cpCountry", leaf.TagCountry}, {"cpDateOfBirth", leaf.TagBirth}, {"cpAddress", leaf.TagAddress},
		{"paymentRef", leaf.TagPayment}, {"hold", leaf.TagHold}, {"payerWallet", leaf.TagPayer}, {"wallets", leaf.TagWallets},
		{"cpRegion", leaf.TagRegion}, {"originCountry", leaf.TagOrigin}, {"memo", leaf.TagMemo}, {"cpIdentifiers", leaf.TagIdentifiers},
		{"permit", leaf.TagPermitAsked},
	}
)

type requestMember struct {
	name string
	tag  leaf.Tag
}

// RequestTag returns the tag of a member of a screening request that the record keeps.
func RequestTag(name string) (leaf.Tag, bool) {
	for _, list := range [...][]requestMember{requestMembers[:], requestExtras[:]} {
		for _, member := range list {
			if member.name == name {
				return member.tag, true
			}
		}
	}
	return 0, false
}

// RequestMembers returns the names of all of them, in the order shown.
func RequestMembers() (names []string) {
	for _, list := range [...][]requestMember{requestMembers[:], requestExtras[:]} {
		for _, member := range list {
			names = append(names, member.name)
		}
	}
	return names
}

// shown has a bit for each tag with a name.
var shown = func() (tags uint64) {
	for t := leaf.TagSource; t < leaf.TagAmount; t++ {
		tags |= 1 << t
	}
	for t := leaf.TagAmount; t <= leaf.TagPermitAsked; t++ {
		tags |= 1 << t
	}
	return tags
}()

// newer shows the members of a newer release by number, in base64. They are part of the
// hashed bytes and must not be left out.
func (x *Screen) newer(m *strictjson.Members) {
	for t := leaf.Tag(1); t <= leaf.TagLast; t++ {
		if shown&(1<<t) == 0 && x.Edge.Has(t) {
			m.Text("member"+strconv.Itoa(int(t)), base64.StdEncoding.EncodeToString(x.Edge.Get(t)))
		}
	}
}

func (x *Screen) text(m *strictjson.Members, name string, t leaf.Tag) {
	if x.Edge.Has(t) {
		m.Text(name, string(x.Edge.Get(t)))
	}
}

// AppendCodes writes the codes of a mask's rules, in the precedence of the record's rule set.
func (x *Screen) AppendCodes(m *strictjson.Members, name string, mask uint32) {
	set := x.RuleSet()
	if set == nil {
		return
	}
	m.Name(name)
	*m = append(*m, '[')
	first := true
	for i := range set.Rules {
		if mask&(1<<set.Rules[i].ID) == 0 {
			continue
		}
		if !first {
			*m = append(*m, ',')
		}
		first = false
		*m = strictjson.AppendQuoted(*m, set.Rules[i].Code)
	}
	*m = append(*m, ']')
}

func (x *Screen) rule(m *strictjson.Members) {
	if x.RuleSet() != nil {
		m.TextOrNull("rule", x.Rule.Code())
	}
}

// LeftOut returns the rules that were not judged again: of a payment that was confirmed or redeemed.
func (x *Screen) LeftOut() uint32 {
	if x.Paid == nil {
		return 0
	}
	return x.Paid.Said.LeftOut
}

// Reason returns the text of the decision; "" if the rule set is unknown.
func (x *Screen) Reason() string {
	if set := x.RuleSet(); set != nil {
		if x.Full {
			return engine.NameList(set.FullReason(x.Rule, x.Sub, x.Idle, x.LeftOut()), string(x.Edge.Get(leaf.TagListName)))
		}
		return engine.NameList(set.Reason(x.Rule, x.Sub, x.Idle), string(x.Edge.Get(leaf.TagListName)))
	}
	return ""
}

// RuleSetName returns the name of the record's rule set; "" if it is unknown.
func (x *Screen) RuleSetName() string {
	if set := x.RuleSet(); set != nil {
		return set.Name
	}
	return ""
}

// Profile adds a profile leaf's members to m: its position, and the agent or user under the
// member names of the API.
func Profile(m *strictjson.Members, p *leaf.Profile) {
	m.Raw("kind", []byte(`"profile"`))
	m.Time("time", p.At)
	m.Uint("index", p.Index)
	m.Uint("leaf", p.Leaf)
	m.Text("salt", hex.EncodeToString(p.Salt[:]))
	m.Uint("policyVersion", p.Policy.Version)
	if len(p.Agents) > 0 {
		own := &p.Agents[0]
		m.Text("agentId", p.AgentIDs[0])
		m.Text("agentName", own.AgentName)
		m.Text("agentType", own.Type.String())
		m.Text("operatorLegalName", own.OperatorLegalName)
		m.Optional("operatorId", p.OperatorID)
		m.Optional("fleetId", p.FleetID)
	}
	if p.User != nil {
		m.Text("userId", p.UserID)
		m.Optional("operatorLegalName", p.User.OperatorLegalName)
		m.Optional("operatorId", p.OperatorID)
	}
	inputs(m, p)
}

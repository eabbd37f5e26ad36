package leafjson

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// Screen is a screening record beside the profiles it was judged with. A profile
// that is not at hand is nil: what only it knows is then left out.
type Screen struct {
	leaf.Screen
	Agent *leaf.Profile // Named by Profile.
	Party *leaf.Profile // Named by User.
	Edge  leaf.Fragment
}

// Open reads a screening record's bytes; the profiles are the caller's to add.
func (x *Screen) Open(data []byte) error {
	x.Agent, x.Party = nil, nil
	if err := leaf.DecodeScreen(data, &x.Screen); err != nil {
		return err
	}
	return x.Edge.Read(x.Screen.Edge)
}

// TxnID returns the record's transaction id.
func (x *Screen) TxnID() string { return "txn_" + string(x.Txn[:]) }

// AgentID names the agent; "" when the credential named none.
func (x *Screen) AgentID() string {
	if x.Judged && x.Agent != nil {
		return x.Agent.AgentIDs[0]
	}
	return string(x.Edge.Get(leaf.TagAgent))
}

// Source says where the list came from: kv:live or kv:sample.
func (x *Screen) Source() string {
	switch source := x.Edge.Get(leaf.TagSource); {
	case len(source) == 1 && source[0] == 1:
		return "kv:live"
	case len(source) == 1 && source[0] == 2:
		return "kv:sample"
	}
	return ""
}

// Append adds the record's members to m.
func (x *Screen) Append(m *strictjson.Members) {
	m.Raw("kind", []byte(`"screen"`))
	m.Text("txnId", x.TxnID())
	m.Text("verdict", x.Verdict.String())
	m.TextOrNull("rule", x.Rule.Code())
	m.Text("reason", engine.Reason(x.Rule, x.Sub))
	m.Time("screenedAt", x.At)
	m.Uint("index", x.Index)
	m.Uint("leaf", x.Leaf)
	m.Hex("salt", x.Salt[:])
	if x.Judged && (x.LevelCount > 0 || x.WithUser) && x.Profile.Hash != [32]byte{} {
		m.Text("credentialStatus", x.Status.String())
	}
	Codes(m, "triggered", x.Triggered)
	Codes(m, "shadow", x.Shadow)
	x.AppendHold(m)
	if x.ListStale {
		m.Bool("ofacStale", true)
	}
	m.Uint("policyVersion", x.PolicyVersion)
	m.Uint("listVersion", x.ListVersion)
	m.Uint("matcherVersion", uint64(x.Matcher))
	m.Text("ruleSet", engine.RuleSet)
	if x.Judged {
		x.evidence(m)
		x.references(m)
	}
	x.parties(m)
	x.origin(m)
	x.list(m)
	x.request(m)
	x.newer(m)
}

// AppendHold adds what the record says of the payment's hold, where there is one: its
// state then, not what has become of it.
func (x *Screen) AppendHold(m *strictjson.Members) {
	if x.HoldUntil == 0 {
		return
	}
	var hold strictjson.Members
	hold.Text("state", "held")
	hold.USD("amount", x.Amount)
	hold.Time("expiresAt", x.HoldUntil)
	m.Object("hold", hold)
}

// What most records need, so that they are written without moving.
const (
	evidenceRoom = 896
	levelRoom    = 384
)

// evidence is what the live rules saw: micro-dollars, nanoseconds of log time, counts.
func (x *Screen) evidence(m *strictjson.Members) {
	e := make(strictjson.Members, 0, evidenceRoom)
	e.Int("now", int64(x.At))
	e.Int("amount", int64(x.Amount))
	e.Uint("staticMask", uint64(x.StaticMask))
	items := make([]strictjson.Members, x.LevelCount)
	for i := range x.LevelCount {
		items[i] = make(strictjson.Members, 0, levelRoom)
		x.level(int(i), &items[i])
	}
	e.List("levels", items)
	if x.InFleet {
		var fleet strictjson.Members
		if x.Agent != nil && x.Agent.Fleet != nil {
			fleet.Int("limit", int64(x.Agent.Fleet.DailyLimit))
		}
		fleet.Int("spent", int64(x.FleetSpent))
		if x.FleetHeld != 0 {
			fleet.Int("held", int64(x.FleetHeld))
		}
		e.Object("fleet", fleet)
	}
	e.Bool("operatorSuspended", x.OperatorSuspended)
	version, expires := x.Token()
	e.Uint("tokenVersion", uint64(version))
	e.Int("tokenExpires", int64(expires))
	if x.WithUser {
		var user strictjson.Members
		user.Int("status", int64(x.UserSeen.Status))
		if x.Party != nil {
			user.Uint("version", uint64(x.Party.User.CredentialVersion))
		}
		user.Uint("minVersion", uint64(x.UserSeen.MinVersion))
		user.Int("overlapUntil", int64(x.UserSeen.OverlapUntil))
		user.Uint("tokenVersion", uint64(x.UserSeen.Version))
		user.Int("tokenExpires", int64(x.UserSeen.Expires))
		e.Object("user", user)
	}
	e.Uint("minute", uint64(x.Minute))
	e.Uint("hour", uint64(x.Hour))
	e.Uint("dayMeanX100", uint64(x.DayMeanX100))
	e.Uint("structuring", uint64(x.Structuring))
	if x.Used {
		e.Uint("referenceUsedBy", x.UsedBy)
	}
	m.Object("evidence", e)
}

// Token returns the credential version and expiry that the token claimed.
func (x *Screen) Token() (uint16, engine.Time) {
	if x.SameToken && x.Agent != nil {
		return x.Agent.Agents[0].CredentialVersion, x.Agent.Agents[0].ExpiresAt
	}
	return x.TokenVersion, x.TokenExpires
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

// references name the profile leaves and the record's place among its agent's.
func (x *Screen) references(m *strictjson.Members) {
	for _, ref := range [...]struct {
		name string
		of   *leaf.Ref
	}{{"profile", &x.Profile}, {"userProfile", &x.User}} {
		if ref.of.Hash == [32]byte{} {
			continue
		}
		var inner strictjson.Members
		inner.Uint("leaf", ref.of.Leaf)
		inner.Text("leafHash", base64.StdEncoding.EncodeToString(ref.of.Hash[:]))
		m.Object(ref.name, inner)
	}
	if x.Sequence > 0 {
		m.Uint("agentSequence", x.Sequence)
	}
	if x.Sequence > 1 {
		m.Uint("agentPrevious", x.Previous)
	}
}

// parties name agent, operator, chain, fleet and user.
func (x *Screen) parties(m *strictjson.Members) {
	if x.Judged && x.Agent != nil {
		own := &x.Agent.Agents[0]
		m.Text("agentId", x.Agent.AgentIDs[0])
		m.Text("agentName", own.AgentName)
		m.Text("agentType", own.Type.String())
		m.Text("operatorLegalName", own.OperatorLegalName)
		if count := len(x.Agent.AgentIDs); count > 1 {
			chain := make([]string, count)
			for i, id := range x.Agent.AgentIDs {
				chain[count-1-i] = id
			}
			m.Texts("chain", chain)
		}
		m.Optional("fleetId", x.Agent.FleetID)
	}
	x.text(m, "agentId", leaf.TagAgent)
	if x.Party != nil {
		m.Text("userId", x.Party.UserID)
	} else {
		x.text(m, "userId", leaf.TagUser)
	}
}

// origin says by whom, where and with what the call was made and judged.
func (x *Screen) origin(m *strictjson.Members) {
	m.Optional("ofacSource", x.Source())
	m.Hex("listDigest", x.ListDigest[:])
	x.text(m, "mixerVersion", leaf.TagMixers)
	x.text(m, "tzVersion", leaf.TagZones)
	x.text(m, "version", leaf.TagVersion)
	x.text(m, "jti", leaf.TagCredential)
	x.text(m, "userJti", leaf.TagUserCred)
	x.text(m, "keyId", leaf.TagKey)
	x.text(m, "node", leaf.TagNode)
	x.text(m, "requestId", leaf.TagRequestID)
	for _, t := range [...]struct {
		name string
		tag  leaf.Tag
	}{{"requestHash", leaf.TagRequestHash}, {"idempotencyKeyHash", leaf.TagIdempotency}, {"traceId", leaf.TagTrace}} {
		if x.Edge.Has(t.tag) {
			m.Hex(t.name, x.Edge.Get(t.tag))
		}
	}
}

// list is the evidence of the sanctions list.
func (x *Screen) list(m *strictjson.Members) {
	if x.Edge.Has(leaf.TagMatches) {
		m.Raw("matches", x.Edge.Get(leaf.TagMatches))
	}
	if x.Edge.Has(leaf.TagTruncated) {
		m.Bool("matchesTruncated", true)
	}
	if warnings := x.Warnings(); warnings != nil {
		m.Raw("warnings", warnings)
	}
}

// Warnings is a JSON array of what was judged as absent in the call; nil when there is
// nothing to warn of.
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
		{"paymentRef", leaf.TagPayment}, {"hold", leaf.TagHold},
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

func (x *Screen) request(m *strictjson.Members) {
	var inner strictjson.Members
	for _, member := range requestMembers {
		inner.Raw(member.name, x.Edge.Get(member.tag))
	}
	for _, member := range requestExtras {
		if x.Edge.Has(member.tag) {
			inner.Raw(member.name, x.Edge.Get(member.tag))
		}
	}
	m.Object("_request", inner)
}

// shown are the tags that have a name here.
var shown = func() (tags uint64) {
	for t := leaf.TagSource; t <= leaf.TagWarnings; t++ {
		tags |= 1 << t
	}
	for t := leaf.TagAmount; t <= leaf.TagHold; t++ {
		tags |= 1 << t
	}
	return tags
}()

// newer shows members of a release after this one by number, in base64: they
// are part of what was hashed and must not be passed over in silence.
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

// Codes writes the rules of a mask in order of precedence.
func Codes(m *strictjson.Members, name string, mask uint32) {
	list := []string{}
	for i := range engine.Rules {
		if mask&(1<<engine.Rules[i].ID) != 0 {
			list = append(list, engine.Rules[i].Code)
		}
	}
	m.Texts(name, list)
}

// Profile adds a profile leaf's members to m: its place and, under the names of
// the calls that made them, who it speaks of.
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
		m.Optional("fleetId", p.FleetID)
	}
	if p.User != nil {
		m.Text("userId", p.UserID)
		m.Optional("operatorLegalName", p.User.OperatorLegalName)
	}
	inputs(m, p)
}

package leafjson

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// The JSON of a record never changes between releases: texts and the order of rules come from
// the record's own rule set, and a new member in the table below needs a new rule set
// (decision 80).

// member is one member of a screening record's JSON: its name, and the function or tag that
// writes it if the record has it. All callers use the same writers.
type member struct {
	name  string
	write func(x *Screen, m *strictjson.Members)
	text  leaf.Tag // Instead of write: a text of the fragment.
	json  leaf.Tag // Instead of write: JSON of the fragment.
}

// members lists a record's members in the order of its full JSON. _request and a newer
// release's members follow.
var members = [...]member{
	{name: "kind", write: func(_ *Screen, m *strictjson.Members) { m.Raw("kind", []byte(`"screen"`)) }},
	{name: "txnId", write: func(x *Screen, m *strictjson.Members) {
		m.Name("txnId")
		*m = append(append(append(*m, `"txn_`...), x.Txn[:]...), '"')
	}},
	{name: "verdict", write: func(x *Screen, m *strictjson.Members) { m.Text("verdict", x.Verdict.String()) }},
	{name: "rule", write: (*Screen).rule},
	{name: "reason", write: func(x *Screen, m *strictjson.Members) { m.Optional("reason", x.Reason()) }},
	{name: "screenedAt", write: func(x *Screen, m *strictjson.Members) { m.Time("screenedAt", x.At) }},
	{name: "index", write: func(x *Screen, m *strictjson.Members) { m.Uint("index", x.Index) }},
	{name: "leaf", write: func(x *Screen, m *strictjson.Members) { m.Uint("leaf", x.Leaf) }},
	{name: "salt", write: func(x *Screen, m *strictjson.Members) { m.Hex("salt", x.Salt[:]) }},
	{name: "credentialStatus", write: func(x *Screen, m *strictjson.Members) {
		if x.Judged && (x.LevelCount > 0 || x.WithUser) && x.Profile.Hash != [32]byte{} {
			m.Text("credentialStatus", x.Status.String())
		}
	}},
	{name: "triggered", write: func(x *Screen, m *strictjson.Members) { x.AppendCodes(m, "triggered", x.Triggered) }},
	{name: "shadow", write: func(x *Screen, m *strictjson.Members) { x.AppendCodes(m, "shadow", x.Shadow) }},
	{name: "hold", write: (*Screen).AppendHold},
	{name: "permitTerms", json: leaf.TagPermit},
	{name: "proof", json: leaf.TagProof},
	{name: "permitSeconds", write: func(x *Screen, m *strictjson.Members) {
		if x.PermitSeconds != 0 {
			m.Uint("permitSeconds", uint64(x.PermitSeconds))
			m.Int("listAgeSeconds", int64(x.ListAge/engine.Second))
		}
	}},
	{name: "ofacStale", write: func(x *Screen, m *strictjson.Members) {
		if x.ListStale {
			m.Bool("ofacStale", true)
		}
	}},
	{name: "policyVersion", write: func(x *Screen, m *strictjson.Members) { m.Uint("policyVersion", x.PolicyVersion) }},
	{name: "listVersion", write: func(x *Screen, m *strictjson.Members) { m.Uint("listVersion", x.ListVersion) }},
	{name: "matcherVersion", write: func(x *Screen, m *strictjson.Members) { m.Uint("matcherVersion", uint64(x.Matcher)) }},
	{name: "ruleSet", write: func(x *Screen, m *strictjson.Members) { m.Optional("ruleSet", x.RuleSetName()) }},
	{name: "evidence", write: (*Screen).evidence},
	{name: "profile", write: func(x *Screen, m *strictjson.Members) { x.reference(m, "profile", &x.Profile) }},
	{name: "userProfile", write: func(x *Screen, m *strictjson.Members) { x.reference(m, "userProfile", &x.User) }},
	{name: "agentSequence", write: func(x *Screen, m *strictjson.Members) {
		if x.Judged && x.Sequence > 0 {
			m.Uint("agentSequence", x.Sequence)
		}
	}},
	{name: "agentPrevious", write: func(x *Screen, m *strictjson.Members) {
		if x.Judged && x.Sequence > 1 {
			m.Uint("agentPrevious", x.Previous)
		}
	}},
	{name: "agentId", write: func(x *Screen, m *strictjson.Members) {
		if x.own() != nil {
			m.Text("agentId", x.Agent.AgentIDs[0])
		}
	}},
	{name: "agentName", write: func(x *Screen, m *strictjson.Members) {
		if own := x.own(); own != nil {
			m.Text("agentName", own.AgentName)
		}
	}},
	{name: "agentType", write: func(x *Screen, m *strictjson.Members) {
		if own := x.own(); own != nil {
			m.Text("agentType", own.Type.String())
		}
	}},
	{name: "operatorLegalName", write: func(x *Screen, m *strictjson.Members) {
		if own := x.own(); own != nil {
			m.Text("operatorLegalName", own.OperatorLegalName)
		}
	}},
	{name: "operatorId", write: func(x *Screen, m *strictjson.Members) {
		if x.own() != nil {
			m.Optional("operatorId", x.Agent.OperatorID)
		}
	}},
	{name: "chain", write: (*Screen).delegation},
	{name: "fleetId", write: func(x *Screen, m *strictjson.Members) {
		if x.own() != nil {
			m.Optional("fleetId", x.Agent.FleetID)
		}
	}},
	{name: "agentId", text: leaf.TagAgent}, // The agent of a credential that was refused.
	{name: "userId", write: func(x *Screen, m *strictjson.Members) {
		if x.Party != nil {
			m.Text("userId", x.Party.UserID)
		} else {
			x.text(m, "userId", leaf.TagUser)
		}
	}},
	{name: "ofacSource", write: func(x *Screen, m *strictjson.Members) { m.Optional("ofacSource", x.Source()) }},
	{name: "listDigest", write: func(x *Screen, m *strictjson.Members) { m.Hex("listDigest", x.ListDigest[:]) }},
	{name: "mixerVersion", text: leaf.TagMixers},
	{name: "tzVersion", text: leaf.TagZones},
	{name: "version", text: leaf.TagVersion},
	{name: "jti", text: leaf.TagCredential},
	{name: "userJti", text: leaf.TagUserCred},
	{name: "keyId", text: leaf.TagKey},
	{name: "node", text: leaf.TagNode},
	{name: "requestId", text: leaf.TagRequestID},
	{name: "requestHash", write: func(x *Screen, m *strictjson.Members) { x.hex(m, "requestHash", leaf.TagRequestHash) }},
	{name: "idempotencyKeyHash", write: func(x *Screen, m *strictjson.Members) { x.hex(m, "idempotencyKeyHash", leaf.TagIdempotency) }},
	{name: "traceId", write: func(x *Screen, m *strictjson.Members) { x.hex(m, "traceId", leaf.TagTrace) }},
	{name: "matches", json: leaf.TagMatches},
	{name: "matchesTruncated", write: func(x *Screen, m *strictjson.Members) {
		if x.Edge.Has(leaf.TagTruncated) {
			m.Bool("matchesTruncated", true)
		}
	}},
	{name: "warnings", json: leaf.TagWarnings},
	{name: "walletsElsewhere", text: leaf.TagElsewhere},
	{name: "places", json: leaf.TagPlaces},
	{name: "placesVersion", text: leaf.TagPlacesVersion},
	{name: "listName", text: leaf.TagListName},
}

// Append adds all of the record's members to m, with JSON from the edge unchanged and the full
// reason.
func (x *Screen) Append(m *strictjson.Members) {
	full := x.Full
	x.Full = true
	defer func() { x.Full = full }()
	for i := range members {
		switch of := &members[i]; {
		case of.text != 0:
			x.text(m, of.name, of.text)
		case of.json == 0:
			of.write(x, m)
		case x.Edge.Has(of.json):
			m.Raw(of.name, x.Edge.Get(of.json))
		}
	}
	m.BeginObject("_request")
	for _, of := range requestMembers {
		m.Raw(of.name, x.Edge.Get(of.tag))
	}
	for _, of := range requestExtras {
		if x.Edge.Has(of.tag) {
			m.Raw(of.name, x.Edge.Get(of.tag))
		}
	}
	m.EndObject()
	x.newer(m)
}

// Selection is some of a record's members, in any order.
type Selection []*member

// Select returns the members with the given names. It panics for an unknown name.
func Select(names ...string) (s Selection) {
	for _, name := range names {
		before := len(s)
		for i := range members {
			if members[i].name == name {
				s = append(s, &members[i])
			}
		}
		if len(s) == before {
			panic("BUG: no member of a screening record: " + name)
		}
	}
	return s
}

// Append adds the selected members that the record has; of two with the same name it adds the
// first. It writes JSON as strictjson.AppendValue does. The error is strictjson.ErrSyntax if
// the edge's text is not JSON.
func (s Selection) Append(x *Screen, m *strictjson.Members) (err error) {
	last, start := "", 0
	for _, of := range s {
		if of.name == last && len(*m) > start {
			continue
		}
		last, start = of.name, len(*m)
		switch {
		case of.text != 0:
			x.text(m, of.name, of.text)
		case of.json == 0:
			of.write(x, m)
		case x.Edge.Has(of.json):
			if err = compact(m, of.name, x.Edge.Get(of.json)); err != nil {
				return err
			}
		}
	}
	return nil
}

// AppendRequest adds the member _request for a reader who may not see all of it. hide gets a
// member's name and returns the text to show instead, or "" to show the member.
func (x *Screen) AppendRequest(m *strictjson.Members, hide func(name string) string) error {
	m.BeginObject("_request")
	show := func(of requestMember) error {
		literal := x.Edge.Get(of.tag)
		if instead := hide(of.name); instead != "" && len(literal) > 0 && string(literal) != "null" {
			m.Text(of.name, instead)
			return nil
		}
		return compact(m, of.name, literal)
	}
	for _, of := range requestMembers {
		if err := show(of); err != nil {
			return err
		}
	}
	for _, of := range requestExtras {
		if x.Edge.Has(of.tag) {
			if err := show(of); err != nil {
				return err
			}
		}
	}
	m.EndObject()
	return nil
}

// compact adds JSON of the fragment, or null if it is absent.
func compact(m *strictjson.Members, name string, text []byte) (err error) {
	if len(text) == 0 {
		m.Null(name)
		return nil
	}
	m.Name(name)
	*m, err = strictjson.AppendCompact(*m, text)
	return err
}

// RequestText returns a member of the request if it is a string, and otherwise "".
func (x *Screen) RequestText(t leaf.Tag) string { return strictjson.ReadText(x.Edge.Get(t)) }

// Wallets returns all wallets that members for wallets of the call named, each as it was sent.
func (x *Screen) Wallets() []string {
	var named engine.Request
	if raw := x.Edge.Get(leaf.TagWallets); raw != nil {
		_ = named.ReadWallets(raw) // It was read before the record was written.
	}
	wallets := []string{x.RequestText(leaf.TagWallet), x.RequestText(leaf.TagPayer)}
	for i := range named.Wallets[:named.WalletCount] {
		wallets = append(wallets, named.Wallets[i].Address)
	}
	return wallets
}

// Identifiers returns the identifiers that the request told of the counterparty, each as its type and
// its value.
func (x *Screen) Identifiers() (told []string) {
	var named engine.Request
	if raw := x.Edge.Get(leaf.TagIdentifiers); raw != nil {
		_ = named.ReadIdentifiers(raw) // It was read before the record was written.
	}
	for i := range named.Identifiers[:named.IdentifierCount] {
		told = append(told, named.Identifiers[i].Class.String()+":"+named.Identifiers[i].Value)
	}
	return told
}

// UserID names the user; "" without one.
func (x *Screen) UserID() string {
	if x.Party != nil {
		return x.Party.UserID
	}
	return string(x.Edge.Get(leaf.TagUser))
}

// OperatorID is the id of the operator of the agent that was judged; "" without one.
func (x *Screen) OperatorID() string {
	if x.own() != nil {
		return x.Agent.OperatorID
	}
	return ""
}

// KeyID names the API key that asked.
func (x *Screen) KeyID() string { return string(x.Edge.Get(leaf.TagKey)) }

package httpapi

import (
	"net/http"
	"strings"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
)

// registration is a body of POST /v1/agents/register, of a delegate or of a
// re-issue, on its way to a profile.
type registration struct {
	profile  engine.AgentProfile
	ein      string // As sent; sealed before it goes anywhere.
	fleet    string // fleetId as sent.
	warnings []strictjson.Members
}

// registerAgent is POST /v1/agents/register (specification 4.1, decisions 5.4).
func registerAgent(c *call) error {
	f := c.fields()
	var in registration
	in.profile.AgentName = f.RequiredName("agentName")
	in.agentType(&f, true)
	in.profile.OperatorLegalName = f.RequiredName("operatorLegalName")
	in.operator(&f)
	in.profile.Purpose = f.RequiredText("purpose", engine.TextMax)
	in.common(&f, c.api.deps.Published.LogTime())
	in.fleet = f.Text("fleetId", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	if !c.key.covers(in.profile.OperatorLegalName) {
		return outOfScope()
	}
	if in.fleet != "" {
		fleet, err := c.knownFleet(in.fleet)
		if err != nil {
			return err
		}
		in.profile.Fleet = fleet.Slot
	}
	if err := in.seal(c); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindRegister, refused: c.fleetFull(in.profile.Fleet), record: func() (any, error) {
		return in.register(c)
	}}, nil)
}

// agentType reads agentType.
func (in *registration) agentType(f *strictjson.Fields, required bool) {
	read := f.OneOf
	if required {
		read = f.RequiredOneOf
	}
	in.profile.Type, _ = engine.ParseAgentType(read("agentType", "autonomous", "supervised"))
}

// operator reads what names and identifies the operator besides its legal name.
func (in *registration) operator(f *strictjson.Fields) {
	if name := in.profile.OperatorLegalName; name != "" && operatorKey(name) == "" {
		f.Invalid("operatorLegalName", "must have letters or digits")
	}
	if f.Get("operatorWallet") != nil {
		in.profile.OperatorWallet = f.Text("operatorWallet", engine.FieldMax)
		if !validWallet(in.profile.OperatorWallet) {
			f.Invalid("operatorWallet", "must be 0x and 40 hexadecimal digits, or 25 to 90 base58 or bech32 characters")
		}
	}
	if f.Get("operatorEIN") != nil {
		in.ein = f.Text("operatorEIN", engine.FieldMax)
		if !validEIN(in.ein) {
			f.Invalid("operatorEIN", "must be nine digits, with or without a dash behind the second")
		}
	}
}

// validWallet is engine.ValidWallet, but for a text that begins like an EVM
// address and is none: by its letters it could be bech32 with the prefix "0x",
// which nobody uses, and is far more likely a mistyped address.
func validWallet(text string) bool {
	if strings.HasPrefix(strings.ToLower(text), "0x") && len(text) != len("0x")+40 {
		return false
	}
	return engine.ValidWallet(text)
}

// common reads what every kind of registration may carry.
func (in *registration) common(f *strictjson.Fields, now engine.Time) {
	in.profile.AgentFramework = f.Text("agentFramework", engine.FieldMax)
	in.profile.Model = f.Text("underlyingModel", engine.FieldMax)
	in.profile.PolicyJSON, in.profile.Policy = readSpendPolicy(f, "spendPolicy")
	in.profile.Metadata = readMetadata(f)
	in.profile.Settings = readSettings(f, engine.AgentSettings{}, now)
}

// validEIN is the shape of an employer identification number: NN-NNNNNNN.
func validEIN(text string) bool {
	digits := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] >= '0' && text[i] <= '9':
			digits++
		case text[i] != '-' || i != 2:
			return false
		}
	}
	return digits == 9 && (len(text) == 9 || text[2] == '-')
}

// seal encrypts the EIN: nothing but the last four digits stays readable.
func (in *registration) seal(c *call) error {
	if in.ein == "" {
		return nil
	}
	digits := strings.ReplaceAll(in.ein, "-", "")
	sealed, err := c.api.deps.Secrets.Seal(seal.LabelEIN, []byte(digits))
	if err != nil {
		return err
	}
	in.profile.EINSealed, in.profile.EINMasked = sealed, "**-***"+digits[len(digits)-4:]
	return nil
}

// register judges and builds the record of a new agent or delegate.
func (in *registration) register(c *call) (any, error) {
	p := in.profile
	if err := c.canSign(c.trialCredential(&p)); err != nil {
		return nil, err
	}
	found, err := c.screenParty("operator", p.OperatorWallet, p.OperatorLegalName, ofac.PartyUnknown)
	if err != nil {
		return nil, err
	}
	if err := found.refusedBy(c.edge.settings.Policy); err != nil {
		if unwritten := c.refusedOperator(&p, &found); unwritten != nil {
			return nil, proposalError(unwritten)
		}
		return nil, err
	}
	p.WalletMatched, p.NameMatched = found.walletMatched, found.nameMatched
	record := &wire.Register{Profile: p, OperatorKey: operatorKey(p.OperatorLegalName), Basis: c.basis()}
	var m strictjson.Members
	writeProfile(&m, &p)
	found.write(&m, c.edge.settings.ListVersion)
	m.List("warnings", append(found.warnings(), in.advice(c, &p)...))
	record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, record.OperatorKey))
	return record, err
}

// trialCredential is the credential a profile will have, as far as its size goes.
func (c *call) trialCredential(p *engine.AgentProfile) *credential.Credential {
	s := c.newCredential(credential.KindAgent)
	s.Name, s.AgentType, s.OperatorLegalName, s.SpendPolicy = p.AgentName, p.Type.String(), p.OperatorLegalName, p.PolicyJSON
	if p.Parent != 0 {
		s.Kind = credential.KindDelegate
	}
	return s
}

// refusedOperator records a registration that the institution's policy refused:
// the attempt is evidence. The error is the log's, when it could not be written.
func (c *call) refusedOperator(p *engine.AgentProfile, found *issuance) error {
	registrationsRefused.Inc()
	var m strictjson.Members
	writeProfile(&m, p)
	found.write(&m, c.edge.settings.ListVersion)
	c.actor(&m)
	note := wire.Note{Event: "agent.refused", Common: wire.Common{
		Fragment: m, Filters: []uint64{engine.FilterKey(engine.FilterOperator, operatorKey(p.OperatorLegalName))},
	}}
	_, err := c.api.deps.Proposer.Propose(c.ctx, wire.KindNote, wire.Encode(&note))
	return err
}

// advice is what the caller should know besides the list's findings.
func (in *registration) advice(c *call, p *engine.AgentProfile) []strictjson.Members {
	var items []strictjson.Members
	if p.Parent == 0 && p.OperatorWallet == "" {
		items = append(items, warning("operator_wallet_missing", "operatorWallet is needed for crypto flows", ""))
	}
	if p.Parent == 0 && len(p.EINSealed) == 0 {
		items = append(items, warning("operator_ein_missing", "operatorEIN is needed for bank and ACH flows", ""))
	}
	policy := c.edge.settings.Policy
	if p.Type == engine.Autonomous && !policy.IssuanceAttests {
		above := string(engine.AppendUSD(nil, policy.AttestationAbove))
		items = append(items, warning("attestation_required", "attest this agent before payments above "+above+" USD", "R22_ATTESTATION_STALE"))
	}
	return items
}

// writeProfile writes what was registered, as the leaf keeps it: the whole of
// what the answer and the credential are rendered from.
func writeProfile(m *strictjson.Members, p *engine.AgentProfile) {
	m.Text("agentName", p.AgentName)
	m.Text("agentType", p.Type.String())
	m.Optional("agentFramework", p.AgentFramework)
	m.Optional("underlyingModel", p.Model)
	m.Text("operatorLegalName", p.OperatorLegalName)
	m.Optional("operatorWallet", p.OperatorWallet)
	m.Optional("operatorEIN", p.EINMasked)
	m.Optional("purpose", p.Purpose)
	if len(p.PolicyJSON) > 0 {
		m.Raw("spendPolicy", p.PolicyJSON)
	}
	if len(p.Metadata) > 0 {
		m.Raw("metadata", p.Metadata)
	}
	writeSettings(m, &p.Settings)
}

// fleetFull tells a full fleet (409) from a full table of agents (503), and
// names a fleet that is not there.
func (c *call) fleetFull(fleet engine.FleetSlot) func(wire.Result) error {
	return func(r wire.Result) error {
		if r.Refusal != wire.RefusedFull || fleet == 0 {
			return nil
		}
		view, err := c.freshView()
		if err != nil {
			return err
		}
		if row, _, known := view.Fleet(fleet); known && row.Agents >= engine.FleetAgentsMax {
			return conflict("limit_reached", "the fleet has as many agents as a fleet may have", nil)
		}
		return nil
	}
}

// renderAgent answers a registration, a delegate's creation or a re-issue.
func renderAgent(c *call, l *leaf, m *strictjson.Members) error {
	c.status = http.StatusCreated
	c.header("Location", "/v1/agents/"+l.text("agentId"))
	if !c.replayed && l.text("ofacAtIssuance") == clearOrMatch(true) {
		registeredWithMatch.Inc()
	}
	m.Text("agentId", l.text("agentId"))
	if err := c.writeCredential(m, c.agentCredential(l), l.text("kid")); err != nil {
		return err
	}
	m.Raw("fleetId", l.raw("fleetId"))
	l.copyTo(m, "credentialVersion", "operatorEIN", "parentAgentId", "rootAgentId", "depth", "effectivePolicy",
		"previousStatus", "superseded", "overlapUntil")
	m.Raw("warnings", l.raw("warnings"))
	m.Text("eventId", l.text("eventId"))
	return nil
}

package edge

import (
	"strings"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// Registration is the body of POST /v1/agents/register, of a new delegate or of a re-issue,
// while a profile is made of it.
type Registration struct {
	Profile    engine.AgentProfile
	operatorID string // As it was sent.
	ein        string // The EIN as it was sent. It is sealed before it is stored.
	fleet      string // The fleetId as it was sent.

	operator wire.OperatorRef
}

// Read reads the body of a new agent, within the caller's scope.
func (in *Registration) Read(j *Judge, f *strictjson.Fields) error {
	in.Profile.AgentName = f.RequiredName("agentName")
	in.readAgentType(f, true)
	in.Profile.OperatorLegalName = f.RequiredName("operatorLegalName")
	in.readOperator(f)
	in.Profile.Purpose = f.RequiredText("purpose", engine.TextMax)
	in.readCommon(f, j.shared.deps.Published.LogTime())
	in.fleet = f.Text("fleetId", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	var err error
	if in.operator, err = j.NamedOperator(in.operatorID, in.Profile.OperatorLegalName, true); err != nil {
		return err
	}
	if in.fleet != "" {
		fleet, err := j.KnownFleet(in.fleet)
		if err != nil {
			return err
		}
		in.Profile.Fleet = fleet.Slot
	}
	return in.sealEIN(j)
}

// readAgentType reads agentType.
func (in *Registration) readAgentType(f *strictjson.Fields, required bool) {
	read := f.OneOf
	if required {
		read = f.RequiredOneOf
	}
	in.Profile.Type, _ = engine.ParseAgentType(read("agentType", "autonomous", "supervised"))
}

// readOperator reads the operator's wallet and EIN, and checks its legal name.
func (in *Registration) readOperator(f *strictjson.Fields) {
	in.operatorID = f.Text("operatorId", engine.FieldMax)
	if name := in.Profile.OperatorLegalName; name != "" && FoldName(name) == "" {
		f.Invalid("operatorLegalName", "must have letters or digits")
	}
	if f.Get("operatorWallet") != nil {
		in.Profile.OperatorWallet = f.Text("operatorWallet", engine.FieldMax)
		if !validWallet(in.Profile.OperatorWallet) {
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

// validWallet is engine.ValidWallet, except that it refuses a text that begins with 0x without
// being an EVM address. By its letters such a text could be bech32 with the prefix "0x", but
// nobody uses that prefix. It is far more likely a mistyped address.
func validWallet(text string) bool {
	if strings.HasPrefix(strings.ToLower(text), "0x") && len(text) != len("0x")+40 {
		return false
	}
	return engine.ValidWallet(text)
}

// readCommon reads the members that every kind of registration may have.
func (in *Registration) readCommon(f *strictjson.Fields, now engine.Time) {
	in.Profile.AgentFramework = f.Text("agentFramework", engine.FieldMax)
	in.Profile.Model = f.Text("underlyingModel", engine.FieldMax)
	in.Profile.PolicyJSON, in.Profile.Policy = readSpendPolicy(f, "spendPolicy")
	in.Profile.PublicKey = readPublicKey(f)
	in.Profile.Metadata = readMetadata(f)
	in.Profile.Settings = ReadSettings(f, engine.AgentSettings{}, now)
}

// validEIN reports whether text is an employer identification number: nine digits, with or
// without a dash behind the second.
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

// sealEIN encrypts the EIN. Only its last four digits stay readable.
func (in *Registration) sealEIN(j *Judge) error {
	if in.ein == "" {
		return nil
	}
	digits := strings.ReplaceAll(in.ein, "-", "")
	sealed, err := j.shared.deps.Secrets.Seal(seal.LabelEIN, []byte(digits))
	if err != nil {
		return err
	}
	in.Profile.EINSealed, in.Profile.EINMasked = sealed, "**-***"+digits[len(digits)-4:]
	return nil
}

// Register judges a new agent or delegate and builds its record.
func (in *Registration) Register(j *Judge) (any, error) {
	p := in.Profile
	if err := j.checkCaps(&p.Policy, j.Terms.Policy()); err != nil {
		return nil, err
	}
	if err := j.canSign(j.Terms.trialCredential(&p)); err != nil {
		return nil, err
	}
	if err := j.walletFits(&in.operator, p.OperatorWallet); err != nil {
		return nil, err
	}
	found, err := j.screenOperator(&p)
	if err != nil {
		return nil, err
	}
	if refused := found.refusedBy(j.Terms.Policy()); refused != nil {
		refused.Note = j.attemptNote(&p, &in.operator, &found)
		return nil, refused
	}
	p.WalletMatched, p.NameMatched, p.TaxMatched = found.walletMatched, found.NameMatched, found.taxMatched
	record := &wire.Register{Profile: p, Operator: in.operator, Basis: j.Terms.basis()}
	var m strictjson.Members
	writeProfile(&m, &p)
	found.writeFindings(&m, j.Terms.Settings.ListVersion)
	above, err := VelocityAbove(j, &p)
	if err != nil {
		return nil, err
	}
	wanted, err := j.possessionOf(&p, j.operatorMeant(&in.operator))
	if err != nil {
		return nil, err
	}
	advice := append(in.giveAdvice(j.Terms.Policy(), &p), WriteEffectiveVelocity(&m, p.Settings.Velocity, above...)...)
	advice = append(advice, keyAdvice(p.PublicKey, wanted)...)
	m.List("warnings", append(found.Warnings(), advice...))
	j.WriteSimilar(&m, &in.operator)
	record.Common, err = j.Recorded(m)
	return record, err
}

// trialCredential returns a credential of the size that the profile's credential will have.
func (t *Terms) trialCredential(p *engine.AgentProfile) *credential.Credential {
	s := t.newCredential(credential.KindAgent)
	s.Name, s.AgentType, s.OperatorLegalName, s.SpendPolicy = p.AgentName, p.Type.String(), p.OperatorLegalName, p.PolicyJSON
	s.Key = keyOf(p.PublicKey)
	if p.Parent != 0 {
		s.Kind = credential.KindDelegate
	}
	return s
}

// attemptNote records a registration that the institution's policy refused.
func (j *Judge) attemptNote(p *engine.AgentProfile, operator *wire.OperatorRef, found *issuance) *wire.Note {
	var m strictjson.Members
	writeProfile(&m, p)
	found.writeFindings(&m, j.Terms.Settings.ListVersion)
	j.Actor(&m)
	var filters []uint64
	if slot := j.operatorMeant(operator); slot != 0 {
		filters = append(filters, j.OperatorFilter(slot))
	}
	return &wire.Note{Event: "agent.refused", Common: wire.Common{Key: j.keyOf(), Fragment: m, Filters: filters}}
}

// giveAdvice returns the warnings besides those of the list.
func (in *Registration) giveAdvice(policy *engine.Policy, p *engine.AgentProfile) []strictjson.Members {
	var items []strictjson.Members
	if p.Parent == 0 && p.OperatorWallet == "" {
		items = append(items, makeWarning("operator_wallet_missing", "operatorWallet is needed for crypto flows", ""))
	}
	if p.Parent == 0 && len(p.EINSealed) == 0 {
		items = append(items, makeWarning("operator_ein_missing", "operatorEIN is needed for bank and ACH flows", ""))
	}
	if p.Type == engine.Autonomous && !policy.IssuanceAttests {
		above := string(engine.AppendUSD(nil, policy.AttestationAbove))
		items = append(items, makeWarning("attestation_required", "attest this agent before payments above "+above+" USD", "R22_ATTESTATION"))
	}
	return items
}

// writeProfile writes the registered profile for the leaf: everything that the answer and the
// credential are made from.
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
	WritePublicKey(m, p.PublicKey)
	WriteSettings(m, &p.Settings)
}

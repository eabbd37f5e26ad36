package edge

import (
	"cmp"
	"errors"
	"strconv"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/strictjson"
)

// This file reads the settings of agents and fleets from request bodies. Package engine compiles
// them.

// readSpendPolicy reads a spendPolicy. It returns the compact document, which answers echo
// value by value, and the compiled form. A null member counts as absent and is left out.
func readSpendPolicy(f *strictjson.Fields, name string) ([]byte, engine.SpendPolicy) {
	inner, ok := f.Nested(name)
	if !ok {
		return nil, engine.NoSpendPolicy()
	}
	document := inner.WithoutNulls()
	policy, wrong := engine.ParseSpendPolicy(document)
	f.Report(wrong)
	return document, policy
}

// ReadHours reads operatingHours.
func ReadHours(f *strictjson.Fields, now engine.Time) *engine.Hours {
	document := f.Compact("operatingHours")
	if document == nil {
		return nil
	}
	hours, wrong := engine.CompileHours(document, now)
	f.Report(wrong)
	return hours
}

// ReadVelocity reads velocity.
func ReadVelocity(f *strictjson.Fields) *engine.Velocity {
	document := f.Compact("velocity")
	if document == nil {
		return nil
	}
	velocity, wrong := engine.ParseVelocity(document)
	f.Report(wrong)
	return velocity
}

// readPartyTypes reads allowedCounterpartyTypes into a mask; 0 when absent.
func readPartyTypes(f *strictjson.Fields) uint8 {
	document := f.Compact("allowedCounterpartyTypes")
	if document == nil {
		return 0
	}
	mask, wrong := engine.ParsePartyTypes(document)
	f.Report(wrong)
	return mask
}

// readPublicKey reads the agent's own key; nil when absent. Nothing of a key that is refused is said: a
// private one may have been sent.
func readPublicKey(f *strictjson.Fields) []byte {
	document := f.Compact("publicKey")
	if document == nil {
		return nil
	}
	key, err := possession.ReadJWK(document)
	var wrong *possession.KeyError
	switch {
	case errors.As(err, &wrong):
		f.Invalid("publicKey", "is no public key of an agent (an Ed25519 or P-256 JWK): "+wrong.Said)
		return nil
	case err != nil:
		f.Invalid("publicKey", "is no public key of an agent")
		return nil
	}
	return key.AppendForm(nil)
}

// keyOf opens the key of a profile; nil: it has none.
func keyOf(form []byte) *possession.Key {
	if len(form) == 0 {
		return nil
	}
	key, err := possession.OpenKey(form)
	if err != nil {
		panic("BUG: the key of a profile: " + err.Error())
	}
	return key
}

// possessionOf returns what is wanted of an agent's calls by this node's published state. operator is that of
// the agent, 0 one that is new.
func (j *Judge) possessionOf(p *engine.AgentProfile, operator engine.OperatorSlot) (engine.Possession, error) {
	chain, err := j.chainOf(p)
	if err != nil {
		return 0, err
	}
	return j.Terms.Policy().EffectivePossession(j.OperatorID(operator), chain), nil
}

// keyAdvice returns a warning for an agent without a key whose calls cannot prove one, as they should.
func keyAdvice(key []byte, wanted engine.Possession) []strictjson.Members {
	switch {
	case len(key) > 0 || wanted == engine.PossessionOff:
		return nil
	case wanted == engine.PossessionRequired:
		return []strictjson.Members{makeWarning("public_key_missing", "calls must prove a key, and this agent has none: every payment will be UNKNOWN until it is re-issued with publicKey", "R1_NO_CREDENTIAL")}
	}
	return []strictjson.Members{makeWarning("public_key_missing", "calls should prove a key, and this agent has none: every payment will be reviewed until it is re-issued with publicKey", "R22_ATTESTATION")}
}

// KeyAdviceFor returns the warnings about the key of an agent whose settings change.
func KeyAdviceFor(j *Judge, p *engine.AgentProfile) ([]strictjson.Members, error) {
	wanted, err := j.possessionOf(p, p.Operator)
	return keyAdvice(p.PublicKey, wanted), err
}

// WritePublicKey adds the agent's key and its thumbprint (RFC 7638), if it has one.
func WritePublicKey(m *strictjson.Members, form []byte) {
	if key := keyOf(form); key != nil {
		m.Raw("publicKey", key.AppendJWK(nil))
		m.Text("publicKeyThumbprint", key.Thumbprint())
	}
}

// readMetadata reads the caller's own object, which is stored and returned unchanged.
func readMetadata(f *strictjson.Fields) []byte {
	if _, ok := f.Nested("metadata"); !ok {
		return nil
	}
	document := f.Compact("metadata")
	if len(document) > engine.TextMax {
		f.Invalid("metadata", "must have at most "+strconv.Itoa(engine.TextMax)+" bytes")
		return nil
	}
	return document
}

// ReadSettings reads the settings of an agent that are not signed. An absent member keeps the
// value of old; null removes it (RFC 7396).
func ReadSettings(f *strictjson.Fields, old engine.AgentSettings, now engine.Time) engine.AgentSettings {
	next := old
	if f.Has("operatingHours") {
		next.Hours = ReadHours(f, now)
	}
	if f.Has("velocity") {
		next.Velocity = ReadVelocity(f)
	}
	if f.Has("allowedCounterpartyTypes") {
		next.PartyTypes = readPartyTypes(f)
	}
	if f.Has("possession") {
		next.Possession, _ = engine.ParsePossession(cmp.Or(f.OneOf("possession", "off", "review", "required"), "off"))
	}
	if f.Has("whitelist") {
		next.Whitelist = ReadWhitelist(f, "whitelist", old.Whitelist)
	}
	return next
}

// WriteSettings adds the settings that are set. It writes only the mode and the size of a
// whitelist, because the entries have their own endpoint.
func WriteSettings(m *strictjson.Members, s *engine.AgentSettings) {
	WritePace(m, s.Hours, s.Velocity)
	if s.PartyTypes != 0 {
		m.Texts("allowedCounterpartyTypes", partyTypeNames(s.PartyTypes))
	}
	if s.Possession != engine.PossessionOff {
		m.Text("possession", s.Possession.String())
	}
	if s.Whitelist != nil {
		m.Object("whitelist", WhitelistSummary(s.Whitelist))
	}
}

// WritePace adds hours and velocity if they are set.
func WritePace(m *strictjson.Members, hours *engine.Hours, velocity *engine.Velocity) {
	if hours != nil {
		m.Raw("operatingHours", hours.Source)
	}
	if velocity != nil {
		m.Object("velocity", velocityMembers(velocity))
	}
}

func velocityMembers(v *engine.Velocity) strictjson.Members {
	var m strictjson.Members
	for _, part := range []struct {
		name  string
		value uint32
	}{{"maxPerMinute", v.MaxPerMinute}, {"maxPerHour", v.MaxPerHour}, {"burstFactor", v.BurstFactor}} {
		if part.value != 0 {
			m.Uint(part.name, uint64(part.value))
		}
	}
	return m
}

// partyTypeNames returns the names in a mask of counterparty types.
func partyTypeNames(mask uint8) []string {
	names := []string{}
	for _, name := range []string{"individual", "business", "exchange"} {
		if party, known := engine.ParsePartyTypeExact(name); known && mask&(1<<party) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// SettingsWiden reports whether new settings let through what old ones stopped. Such a change
// needs the role policy (decision 33).
func SettingsWiden(old, new *engine.AgentSettings) bool {
	return PaceWidens(old.Hours, new.Hours, old.Velocity, new.Velocity) ||
		old.PartyTypes != 0 && (new.PartyTypes == 0 || new.PartyTypes&^old.PartyTypes != 0) ||
		new.Possession < old.Possession || engine.WhitelistWidens(old.Whitelist, new.Whitelist)
}

// PaceWidens is SettingsWiden for hours and velocity, which fleets have too.
func PaceWidens(oldHours, newHours *engine.Hours, old, new *engine.Velocity) bool {
	if oldHours != nil && (newHours == nil || !newHours.Within(oldHours)) {
		return true
	}
	if old == nil {
		return false
	}
	if new == nil {
		return *old != engine.Velocity{}
	}
	return boundWidens(old.MaxPerMinute, new.MaxPerMinute) || boundWidens(old.MaxPerHour, new.MaxPerHour) ||
		boundWidens(old.BurstFactor, new.BurstFactor)
}

// boundWidens compares two bounds; 0 means "not set".
func boundWidens(old, new uint32) bool { return old != 0 && (new == 0 || new > old) }

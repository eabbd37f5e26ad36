package httpapi

import (
	"strconv"

	"github.com/valyala/fastjson"

	"railguard/engine"
)

// Settings of agents and fleets as bodies carry them: the compilers are the
// engine's, here is only which member goes where.

// report adds what a compiler of the engine found.
func (f *fields) report(wrong []engine.FieldError) {
	for _, e := range wrong {
		if len(f.findings.invalid) < fieldErrorsMax {
			f.findings.invalid = append(f.findings.invalid, Detail{Param: f.path + e.Param, Message: e.Message})
		}
	}
}

// compact returns a member's JSON without white space, nil when absent or null:
// the one form in which documents are kept, so that what is rendered from a leaf
// and from a profile is the same bytes.
func (f *fields) compact(name string) []byte {
	v := f.get(name)
	if v == nil {
		return nil
	}
	return appendValue(nil, v)
}

// spendPolicy reads a spendPolicy: its compact document, to echo value by value,
// and its compiled form. A null inside it counts as absent and is left out.
func (f *fields) spendPolicy(name string) ([]byte, engine.SpendPolicy) {
	inner, ok := f.nested(name)
	if !ok {
		return nil, engine.NoSpendPolicy()
	}
	document := []byte{'{'}
	inner.object.Visit(func(key []byte, v *fastjson.Value) {
		if v.Type() == fastjson.TypeNull {
			return
		}
		if len(document) > 1 {
			document = append(document, ',')
		}
		document = append(appendQuoted(document, string(key)), ':')
		document = appendValue(document, v)
	})
	document = append(document, '}')
	policy, wrong := engine.ParseSpendPolicy(document)
	f.report(wrong)
	return document, policy
}

// hours reads operatingHours.
func (f *fields) hours(now engine.Time) *engine.Hours {
	document := f.compact("operatingHours")
	if document == nil {
		return nil
	}
	hours, wrong := engine.CompileHours(document, now)
	f.report(wrong)
	return hours
}

// velocity reads velocity.
func (f *fields) velocity() *engine.Velocity {
	document := f.compact("velocity")
	if document == nil {
		return nil
	}
	velocity, wrong := engine.ParseVelocity(document)
	f.report(wrong)
	return velocity
}

// partyTypes reads allowedCounterpartyTypes into a mask; 0 when absent.
func (f *fields) partyTypes() uint8 {
	document := f.compact("allowedCounterpartyTypes")
	if document == nil {
		return 0
	}
	mask, wrong := engine.ParsePartyTypes(document)
	f.report(wrong)
	return mask
}

// metadata reads a caller's own object, kept and returned as it is.
func (f *fields) metadata() []byte {
	if _, ok := f.nested("metadata"); !ok {
		return nil
	}
	document := f.compact("metadata")
	if len(document) > engine.TextMax {
		f.invalid("metadata", "must have at most "+strconv.Itoa(engine.TextMax)+" bytes")
		return nil
	}
	return document
}

// settings reads the registry side of an agent: what is absent
// keeps the value of old and null takes it away (RFC 7396).
func (f *fields) settings(old engine.AgentSettings, now engine.Time) engine.AgentSettings {
	next := old
	if f.has("operatingHours") {
		next.Hours = f.hours(now)
	}
	if f.has("velocity") {
		next.Velocity = f.velocity()
	}
	if f.has("allowedCounterpartyTypes") {
		next.PartyTypes = f.partyTypes()
	}
	if f.has("whitelist") {
		next.Whitelist = f.whitelist("whitelist", old.Whitelist)
	}
	return next
}

// writeSettings adds the settings that are set. Whitelists are told by mode and
// size: their entries have an endpoint of their own.
func writeSettings(m *members, s *engine.AgentSettings) {
	writePace(m, s.Hours, s.Velocity)
	if s.PartyTypes != 0 {
		m.texts("allowedCounterpartyTypes", partyTypeNames(s.PartyTypes))
	}
	if s.Whitelist != nil {
		m.object("whitelist", whitelistSummary(s.Whitelist))
	}
}

// writePace adds hours and velocity when they are set.
func writePace(m *members, hours *engine.Hours, velocity *engine.Velocity) {
	if hours != nil {
		m.raw("operatingHours", hours.Source)
	}
	if velocity != nil {
		m.object("velocity", velocityMembers(velocity))
	}
}

func velocityMembers(v *engine.Velocity) members {
	var m members
	for _, part := range []struct {
		name  string
		value uint32
	}{{"maxPerMinute", v.MaxPerMinute}, {"maxPerHour", v.MaxPerHour}, {"burstFactor", v.BurstFactor}} {
		if part.value != 0 {
			m.uint(part.name, uint64(part.value))
		}
	}
	return m
}

// partyTypeNames are the words of a mask of counterparty types.
func partyTypeNames(mask uint8) []string {
	names := []string{}
	for _, name := range []string{"individual", "business", "exchange"} {
		if party, known := engine.ParsePartyTypeExact(name); known && mask&(1<<party) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// settingsWiden tells whether new settings let through what old ones stopped:
// such a change is for the role policy (decisions 5.3).
func settingsWiden(old, new *engine.AgentSettings) bool {
	return paceWidens(old.Hours, new.Hours, old.Velocity, new.Velocity) ||
		old.PartyTypes != 0 && (new.PartyTypes == 0 || new.PartyTypes&^old.PartyTypes != 0) ||
		engine.WhitelistWidens(old.Whitelist, new.Whitelist)
}

func paceWidens(oldHours, newHours *engine.Hours, old, new *engine.Velocity) bool {
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

// boundWidens compares bounds of which 0 is "not set".
func boundWidens(old, new uint32) bool { return old != 0 && (new == 0 || new > old) }

// appendObject writes a parsed object as compact JSON.
func appendObject(dst []byte, object *fastjson.Object) []byte {
	dst = append(dst, '{')
	first := true
	object.Visit(func(key []byte, v *fastjson.Value) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendQuoted(dst, string(key)), ':')
		dst = appendValue(dst, v)
	})
	return append(dst, '}')
}

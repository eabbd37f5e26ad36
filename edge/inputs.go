package edge

import (
	"encoding/base64"
	"fmt"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// A record carries, besides the evidence vector that Apply writes, the inputs of
// its static judgement: the profiles and the policy it was judged with, reduced
// to what rules read, each as base64 of its deterministic CBOR (the encoding of
// the log). With them, the request and the list of that digest the decision can
// be replayed without any state of today (decision 49). Whitelists are the
// exception: they can be large, so only whether one was in force is recorded,
// and a replay takes R13 from the record, saying so.

// reduceAgent leaves what rules read of a profile. Hours are added per call.
func reduceAgent(p *engine.AgentProfile) engine.AgentProfile {
	reduced := engine.AgentProfile{
		Slot: p.Slot, Rev: p.Rev, Operator: p.Operator, Fleet: p.Fleet, Parent: p.Parent, Root: p.Root,
		Depth: p.Depth, Type: p.Type, Model: p.Model, OperatorLegalName: p.OperatorLegalName,
		OperatorWallet: p.OperatorWallet, Policy: p.Policy, CredentialVersion: p.CredentialVersion,
		IssuedAt: p.IssuedAt, ExpiresAt: p.ExpiresAt, KeyID: p.KeyID,
		WalletMatched: p.WalletMatched, NameMatched: p.NameMatched,
	}
	reduced.Settings.Velocity = p.Settings.Velocity
	reduced.Settings.PartyTypes = p.Settings.PartyTypes
	reduced.Settings.CurrentModel = p.Settings.CurrentModel
	return reduced
}

func reduceFleet(p *engine.FleetProfile, now engine.Time) engine.FleetProfile {
	return engine.FleetProfile{
		Slot: p.Slot, Rev: p.Rev, Operator: p.Operator, DailyLimit: p.DailyLimit,
		Velocity: p.Velocity, Hours: reduceHours(p.Hours, now),
	}
}

func reduceUser(p *engine.UserProfile) engine.UserProfile {
	reduced := *p
	reduced.Email = ""
	return reduced
}

func reducePolicy(p *engine.Policy, now engine.Time) engine.Policy {
	reduced := *p
	reduced.Document, reduced.Whitelist = nil, nil
	reduced.Hours = reduceHours(p.Hours, now)
	return reduced
}

// reduceHours keeps the two transitions around now and the holidays near it:
// enough to judge every instant within a day of now.
func reduceHours(h *engine.Hours, now engine.Time) *engine.Hours {
	if h == nil {
		return nil
	}
	reduced := &engine.Hours{Timezone: h.Timezone, Windows: h.Windows, TZVersion: h.TZVersion}
	first := 0
	for first+1 < len(h.Transitions) && h.Transitions[first+1].At <= now-engine.DayLength {
		first++
	}
	reduced.Transitions = h.Transitions[first:min(first+3, len(h.Transitions))]
	for _, day := range h.Holidays {
		if day+3 >= now.Day() && day <= now.Day()+3 {
			reduced.Holidays = append(reduced.Holidays, day)
		}
	}
	return reduced
}

// policyCard is the encoded policy of all calls that are judged under it.
type policyCard struct {
	policy *engine.Policy
	inputs string
}

// writeInputs adds the inputs to the fragment.
func (j *Judge) writeInputs(m *strictjson.Members) {
	f := &j.screen.facts
	if f.Token != engine.TokenGood {
		return
	}
	m.Name("inputs")
	*m = append(*m, `{"levels":[`...)
	whitelist := f.Policy.Whitelist != nil && f.Policy.Whitelist.Enforce
	for i := range f.ChainSize {
		if i > 0 {
			*m = append(*m, ',')
		}
		profile := f.Chain[i]
		text := j.Terms.card(j.shared.cards, profile).inputs
		if hours := profile.Settings.Hours; hours != nil {
			reduced := reduceAgent(profile)
			reduced.Settings.Hours = reduceHours(hours, f.Now)
			text = encodeInputs(reduced)
		}
		*m = strictjson.AppendQuoted(*m, text)
		whitelist = whitelist || profile.Settings.Whitelist != nil && profile.Settings.Whitelist.Enforce
	}
	*m = append(*m, ']')
	if f.Fleet != nil {
		m.Text("fleet", encodeInputs(reduceFleet(f.Fleet, f.Now)))
		whitelist = whitelist || f.Fleet.Whitelist != nil && f.Fleet.Whitelist.Enforce
	}
	if f.User != nil {
		m.Text("user", encodeInputs(reduceUser(f.User)))
	}
	m.Text("policy", j.shared.policyInputs(f.Policy, f.Now))
	if whitelist {
		m.Bool("whitelist", true)
	}
	if f.ChainBad {
		m.Bool("chainBad", true)
	}
	j.writeCleared(m)
	*m = append(*m, '}')
}

// policyInputs is cached: one policy serves millions of calls. A policy with
// hours is encoded anew, since what is kept of hours depends on the time.
func (js *Judges) policyInputs(p *engine.Policy, now engine.Time) string {
	if p.Hours != nil {
		return encodeInputs(reducePolicy(p, now))
	}
	if card := js.policy.Load(); card != nil && card.policy == p {
		return card.inputs
	}
	card := &policyCard{policy: p, inputs: encodeInputs(reducePolicy(p, now))}
	js.policy.Store(card)
	return card.inputs
}

// writeCleared records the cleared pairs that kept R21 quiet.
func (j *Judge) writeCleared(m *strictjson.Members) {
	f := &j.screen.facts
	for _, party := range []struct {
		name string
		uids []uint32
	}{{"operatorCleared", f.OperatorCleared}, {"userCleared", f.UserCleared}, {"partyCleared", f.PartyCleared}} {
		if len(party.uids) == 0 {
			continue
		}
		m.Name(party.name)
		*m = append(*m, '[')
		for i, uid := range party.uids {
			if i > 0 {
				*m = append(*m, ',')
			}
			*m = engine.AppendUSD(*m, engine.USD(uid)*engine.Dollar)
		}
		*m = append(*m, ']')
	}
}

// decodeInputs reads one encoded input back.
func decodeInputs(text string, v any) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return wire.DecodeBody(data, v)
}

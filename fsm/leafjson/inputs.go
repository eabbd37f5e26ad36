package leafjson

import (
	"encoding/base64"
	"encoding/binary"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Bits of leaf.TagFlags.
const (
	FlagWhitelist byte = 1 << iota // A whitelist was in force: R13 is taken from the record.
	FlagChainBad                   // The delegation chain was broken (R23).
)

// AppendInputs adds the inputs of the static judgement: the profiles and the
// policy, each as base64 of its deterministic CBOR, and what the edge found. With
// them, the request and the list of that digest the decision can be made again.
func (x *Screen) AppendInputs(m *strictjson.Members) {
	if x.Agent != nil || x.Party != nil {
		Inputs(m, x.Agent, x.Party, &x.Edge)
	}
}

// Inputs writes the member inputs from an agent's profile, a user's, or both.
func Inputs(m *strictjson.Members, agent, user *leaf.Profile, edge *leaf.Fragment) {
	var inner strictjson.Members
	levels := []string{}
	policy := (*engine.Policy)(nil)
	if agent != nil {
		for i := range agent.Agents {
			levels = append(levels, encoded(&agent.Agents[i]))
		}
		policy = agent.Policy
		if agent.User != nil {
			user = agent
		}
	}
	inner.Texts("levels", levels)
	if agent != nil && agent.Fleet != nil {
		inner.Text("fleet", encoded(agent.Fleet))
	}
	if user != nil {
		inner.Text("user", encoded(user.User))
		policy = user.Policy
	}
	if policy != nil {
		inner.Text("policy", encoded(policy))
	}
	if edge != nil {
		found(&inner, edge)
	}
	m.Object("inputs", inner)
}

// found adds what the edge alone knew.
func found(m *strictjson.Members, edge *leaf.Fragment) {
	if flags := edge.Get(leaf.TagFlags); len(flags) == 1 {
		if flags[0]&FlagWhitelist != 0 {
			m.Bool("whitelist", true)
		}
		if flags[0]&FlagChainBad != 0 {
			m.Bool("chainBad", true)
		}
	}
	for _, cleared := range [...]struct {
		name string
		tag  leaf.Tag
	}{{"operatorCleared", leaf.TagOperatorOK}, {"userCleared", leaf.TagUserOK}, {"partyCleared", leaf.TagPartyOK}} {
		data := edge.Get(cleared.tag)
		if len(data) == 0 {
			continue
		}
		m.Name(cleared.name)
		*m = append(*m, '[')
		for i := 0; i+4 <= len(data); i += 4 {
			if i > 0 {
				*m = append(*m, ',')
			}
			*m = engine.AppendUSD(*m, engine.USD(binary.LittleEndian.Uint32(data[i:]))*engine.Dollar)
		}
		*m = append(*m, ']')
	}
}

func encoded(v any) string { return base64.StdEncoding.EncodeToString(wire.Encode(v)) }

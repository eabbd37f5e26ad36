package leafjson

import (
	"encoding/base64"

	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Bits of leaf.TagFlags.
const (
	FlagWhitelist byte = 1 << iota // A whitelist was in force: a replay takes R13 from the record.
	FlagChainBad                   // The delegation chain was broken (R23).
)

// inputs writes the member inputs of a profile leaf: the profiles and the policy, each
// as base64 of its deterministic CBOR. With them, a record's request and the list of
// its digest the decision can be made again.
func inputs(m *strictjson.Members, p *leaf.Profile) {
	var inner strictjson.Members
	levels := []string{}
	for i := range p.Agents {
		levels = append(levels, encoded(&p.Agents[i]))
	}
	inner.Texts("levels", levels)
	if p.Fleet != nil {
		inner.Text("fleet", encoded(p.Fleet))
	}
	if p.Operator != nil {
		inner.Text("operator", encoded(p.Operator))
	}
	if p.User != nil {
		inner.Text("user", encoded(p.User))
	}
	inner.Text("policy", encoded(p.Policy))
	m.Object("inputs", inner)
}

func encoded(v any) string { return base64.StdEncoding.EncodeToString(wire.Encode(v)) }

package fsm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Poison: records that no edge would make. Every node gets the same bytes, also at each
// restart, so all nodes must refuse them alike.

func key32(b byte) [][]byte { return [][]byte{bytes.Repeat([]byte{b}, 32)} }

func TestGenesisIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*wire.Genesis){
		"no cluster id":         func(g *wire.Genesis) { g.ClusterID = "" },
		"long cluster id":       func(g *wire.Genesis) { g.ClusterID = strings.Repeat("x", engine.FieldMax+1) },
		"short public key":      func(g *wire.Genesis) { g.SigningKey.Public = make([]byte, 63) },
		"kid that needs escape": func(g *wire.Genesis) { g.SigningKey.KID = `cc"v1` },
		"API key, no secret":    func(g *wire.Genesis) { g.APIKey = &wire.APIKey{ID: "k"} },
		"API key, no id":        func(g *wire.Genesis) { g.APIKey = &wire.APIKey{Hashes: key32(1)} },
		"API key, short hash":   func(g *wire.Genesis) { g.APIKey = &wire.APIKey{ID: "k", Hashes: [][]byte{{1}}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, m: New(), term: 2, now: start}
			genesis := testGenesis()
			spoil(genesis)
			require.Equal(t, wire.RefusedMalformed, w.do(wire.KindGenesis, genesis).Refusal)
			require.Nil(t, w.m.settings.Genesis)
		})
	}
}

// TestLeafFitsItsBound: history takes no leaf above engine.LeafMax, and a node stops if
// history refuses a leaf. So Apply must refuse the record first.
func TestLeafFitsItsBound(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	long := []byte(`"pad":"` + strings.Repeat("x", engine.LimitsOf(engine.Format1).FragmentBytes-8) + `"`)
	require.Len(t, long, engine.LimitsOf(engine.Format1).FragmentBytes)
	bodies := func(common wire.Common) map[wire.Kind]any {
		screen := w.screening(slot, engine.Dollar)
		screen.Fragment, screen.Filters = nil, common.Filters
		if len(common.Fragment) > 0 {
			screen.Fragment = withName(string(common.Fragment[:len(common.Fragment)-4])) // Tag and length are four bytes.
		}
		return map[wire.Kind]any{
			wire.KindScreen:      screen,
			wire.KindAttest:      &wire.Attest{Common: common, Agent: slot, AttestedBy: "a"},
			wire.KindPolicy:      &wire.PolicyPut{Common: common, Policy: *engine.DefaultPolicy()},
			wire.KindNote:        &wire.Note{Common: common, Event: "agent.refused"},
			wire.KindFormat:      &wire.FormatRaise{Common: common, To: engine.Format1},
			wire.KindMatcher:     &wire.Matcher{Common: common, To: 1},
			wire.KindListChunk:   &wire.ListChunk{Common: common, Total: 1, Data: []byte{1}},
			wire.KindDisposition: &wire.Disposition{Common: common, Leaf: 0, Disposition: wire.Rejected},
		}
	}
	for kind, body := range bodies(wire.Common{Fragment: append(long, ' ')}) {
		require.Equal(t, wire.RefusedMalformed, w.do(kind, body).Refusal, "kind %d", kind)
	}
	for kind, body := range bodies(wire.Common{Filters: make([]uint64, engine.LimitsOf(engine.Format1).FilterKeys+1)}) {
		require.Equal(t, wire.RefusedMalformed, w.do(kind, body).Refusal, "kind %d", kind)
	}
	for kind, body := range bodies(wire.Common{Fragment: long, Filters: make([]uint64, engine.LimitsOf(engine.Format1).FilterKeys)}) {
		w.do(kind, body)
		for _, leaf := range w.out.Leaves {
			require.LessOrEqual(t, len(leaf.Data), engine.LeafMax, "kind %d", kind)
			require.LessOrEqual(t, len(leaf.Filters), 32, "history takes no more keys a leaf")
		}
	}
}

func TestLongestHeadFits(t *testing.T) {
	w := newWorld(t)
	w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{OperatorLegalName: "Acme Inc"}, Operator: named("acme inc")})
	var slots []engine.AgentSlot
	for range engine.PageMax {
		slot, _ := w.register("a")
		slots = append(slots, slot)
	}
	common := wire.Common{Fragment: []byte(`"pad":"` + strings.Repeat("x", engine.LimitsOf(engine.Format1).FragmentBytes-8) + `"`)}
	r := w.do(wire.KindAssign, &wire.Assign{Common: common, Fleet: 1, Agents: slots})
	require.Equal(t, wire.Applied, r.Code)
	require.LessOrEqual(t, len(r.Data), engine.LeafMax)
}

func TestBodyAboveTheLargestRecordIsRefused(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	note := strings.Repeat("x", engine.PolicyRecordMax)
	r := w.do(wire.KindAttest, &wire.Attest{Agent: slot, AttestedBy: "a", Note: note})
	require.Equal(t, wire.RefusedMalformed, r.Refusal, "a row of the snapshot is one block at most")
}

func TestScreenWithoutFragmentIsJSON(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	s := w.screening(slot, engine.Dollar)
	s.Fragment = nil
	r := w.do(wire.KindScreen, s)
	require.Equal(t, wire.Applied, r.Code)
	require.True(t, json.Valid(shown(r.Data)), string(shown(r.Data)))
}

func TestKeyIDsNeedNoEscape(t *testing.T) {
	w := newWorld(t)
	for _, kid := range []string{"", `cc"v2`, "cc v2", strings.Repeat("k", 65)} {
		body := &wire.SigningKeyPut{Op: wire.SigningAdd, Now: true, Key: wire.SigningKey{KID: kid, Public: make([]byte, 64)}}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindSigningKey, body).Refusal, kid)
	}
	for _, id := range []string{"", strings.Repeat("k", engine.FieldMax+1)} {
		body := &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: id, Hashes: key32(1)}}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAPIKey, body).Refusal, id)
	}
}

func TestProfilesAreChecked(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	require.Equal(t, wire.Applied, w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{OperatorLegalName: "Acme Inc"}, Operator: named("acme inc")}).Code)
	long := &engine.Whitelist{Entries: make([]engine.WhitelistEntry, engine.WhitelistMax+1)}
	windows := &engine.Hours{Windows: make([]engine.HoursWindow, engine.WindowsMax+1)}
	holidays := &engine.Hours{Holidays: make([]engine.Day, engine.HolidaysMax+1)}
	for name, settings := range map[string]engine.AgentSettings{
		"whitelist": {Whitelist: long}, "windows": {Hours: windows}, "holidays": {Hours: holidays},
	} {
		profile := **w.m.registry.profiles.At(uint64(slot))
		body := &wire.Settings{Agent: slot, BaseRev: profile.Rev, Settings: settings, Event: "agent.settings"}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindSettings, body).Refusal, name)
		profile.Settings = settings
		reissue := &wire.Reissue{Agent: slot, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindReissue, reissue).Refusal, name)
		_, r := w.register("b", func(p *engine.AgentProfile) { p.Settings = settings })
		require.Equal(t, wire.RefusedMalformed, r.Refusal, name)
		fleet := &wire.FleetUpdate{Fleet: 1, BaseRev: 1, Event: "fleet.updated", Profile: engine.FleetProfile{Whitelist: settings.Whitelist, Hours: settings.Hours}}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindFleetUpdate, fleet).Refusal, name)
		policy := *engine.DefaultPolicy()
		policy.Hours, policy.Whitelist = settings.Hours, settings.Whitelist
		if settings.Hours != nil {
			require.Equal(t, wire.RefusedMalformed, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Refusal, name)
		} else {
			require.Equal(t, wire.RefusedMalformed, w.do(wire.KindWhitelist, &wire.WhitelistPut{Whitelist: settings.Whitelist}).Refusal, name)
		}
	}
}

func TestReissueIsChecked(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for name, spoil := range map[string]func(*wire.Reissue){
		"no operator":    func(b *wire.Reissue) { b.Operator = wire.OperatorRef{} },
		"no agent type":  func(b *wire.Reissue) { b.Profile.Type = 0 },
		"unknown type":   func(b *wire.Reissue) { b.Profile.Type = 3 },
		"negative limit": func(b *wire.Reissue) { b.Profile.Policy.DailyLimit = -2 },
	} {
		profile := **w.m.registry.profiles.At(uint64(slot))
		body := &wire.Reissue{Agent: slot, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion}
		spoil(body)
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindReissue, body).Refusal, name)
	}
	require.Equal(t, 1, w.m.registry.operators.Len())
}

func TestEventsKeepToTheirKind(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for _, event := range []string{"", "screen", "fleet.updated", "agent.Settings", `agent."`} {
		body := &wire.Settings{Agent: slot, BaseRev: 1, Event: event}
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindSettings, body).Refusal, event)
	}
	for _, event := range []string{"screen", "cluster.created", "cluster.recovered2", "list.activated"} {
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindNote, &wire.Note{Event: event}).Refusal, event)
	}
	require.Equal(t, wire.Applied, w.do(wire.KindNote, &wire.Note{Event: wire.EventRecovered}).Code)
}

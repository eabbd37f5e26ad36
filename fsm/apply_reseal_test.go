package fsm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// sealedIn is every sealed value of the state.
func sealedIn(v *View) (all [][]byte) {
	v.Settings().Sealed(func(s Sealed) { all = append(all, s.Data) })
	for slot := 1; slot <= v.AgentSlots(); slot++ {
		if _, profile, _ := v.Agent(engine.AgentSlot(slot)); len(profile.EINSealed) > 0 {
			all = append(all, profile.EINSealed)
		}
	}
	return all
}

// TestReseal: every sealed value of the state is replaced by its new form, nothing else
// changes, and the snapshot holds none of the old values.
func TestReseal(t *testing.T) {
	w := newWorld(t)
	sealed := func(text string) []byte { return []byte("sealed before: " + text) }
	genesis := *w.m.settings.Genesis // The tests' genesis seals nothing.
	genesis.SecretCheck, genesis.LogSeed, genesis.SigningKey.Sealed = sealed("check"), sealed("first seed"), sealed("cc-v1")
	first := *w.m.settings.SigningKeys[0]
	first.Sealed = sealed("cc-v1")
	w.m.editSettings().Genesis, w.m.editSettings().SigningKeys = &genesis, []*wire.SigningKey{&first}
	w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningAdd, Now: true, Key: wire.SigningKey{KID: "cc-v2", Public: bytes.Repeat([]byte{7}, 64), Sealed: sealed("cc-v2")}})
	w.do(wire.KindLogKey, &wire.LogKeyPut{Seed: sealed("second seed")})
	w.do(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: "abc"}) // This stores the same seed a second time.
	w.do(wire.KindWebhook, &wire.WebhookPut{Op: wire.WebhookCreate, Webhook: wire.Webhook{URL: "https://hooks.example.org", Secrets: [][]byte{sealed("hook")}}})
	w.do(wire.KindWebhook, &wire.WebhookPut{Op: wire.WebhookRotate, BaseRev: 1, Overlap: engine.Hour, Webhook: wire.Webhook{ID: 1, Secrets: [][]byte{sealed("hook, rotated")}}})
	with := func(p *engine.AgentProfile) { p.EINSealed, p.EINMasked = sealed("12-3456789"), "**-***6789" }
	root, _ := w.register("one", with)
	other, _ := w.register("two", with)
	bare, _ := w.register("three")
	all := sealedIn(w.m.Freeze())
	require.Len(t, all, 11)

	hook, before := *w.m.settings.Webhooks[0], *w.m.settings
	record := &wire.Reseal{Common: wire.Common{Fragment: []byte(`"reason":"exchanged"`)}}
	for _, old := range all[:9] {
		record.Values = append(record.Values, wire.Resealed{Old: old, New: bytes.Replace(old, []byte("before"), []byte("anew!!"), 1)})
	}
	anew := bytes.Replace(all[9], []byte("before"), []byte("anew!!"), 1)
	record.Values = append(
		record.Values, wire.Resealed{Agent: root, Old: all[9], New: anew},
		wire.Resealed{Agent: bare, Old: all[9], New: anew},  // This agent has no EIN.
		wire.Resealed{Agent: 99, Old: all[9], New: anew},    // This agent does not exist.
		wire.Resealed{Agent: other, Old: anew, New: all[9]}, // The EIN of this agent differs.
	)
	result := w.do(wire.KindReseal, record)
	require.Equal(t, wire.Applied, result.Code)
	require.EqualValues(t, 10, result.Value)
	require.Contains(t, string(result.Data), `"kind":"`+leaf.KindResealed+`"`)
	require.Contains(t, string(result.Data), `"values":10`)
	require.Contains(t, string(result.Data), `"reason":"exchanged"`)
	require.Len(t, w.out.Agents, 1, "edges learn of the profile")
	require.NotNil(t, w.out.Settings)
	now := sealedIn(w.m.Freeze())
	for i := range all {
		require.Equal(t, i != 10, bytes.Contains(now[i], []byte("anew!!")), "%s", now[i])
		require.Equal(t, all[i], bytes.Replace(now[i], []byte("anew!!"), []byte("before"), 1))
	}
	require.EqualValues(t, 2, (*w.m.registry.profiles.At(uint64(root))).Rev, "a call under way that would bring the old bytes back is stale")
	require.EqualValues(t, 1, (*w.m.registry.profiles.At(uint64(other))).Rev)
	require.Equal(t, sealed("check"), before.Genesis.SecretCheck, "what was published is not written to")
	require.Equal(t, sealed("hook"), hook.Secrets[1])

	// A re-issue that was prepared with the old bytes does not bring them back.
	stale := *(*w.m.registry.profiles.At(uint64(root)))
	stale.EINSealed = all[9]
	require.Equal(t, wire.Stale, w.do(wire.KindReissue, &wire.Reissue{Agent: root, Profile: stale, BaseRev: 1, Operator: named("acme inc"), List: w.m.settings.ListVersion}).Code)

	require.Equal(t, wire.Unchanged, w.do(wire.KindReseal, record).Code, "the same once more finds nothing")
	last := &wire.Reseal{Values: []wire.Resealed{{Agent: other, Old: all[10], New: anew}}}
	require.Equal(t, wire.Applied, w.do(wire.KindReseal, last).Code)
	var snapshot bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&snapshot)
	require.NoError(t, err)
	require.NotContains(t, snapshot.String(), "sealed before")
	require.Equal(t, sealedIn(w.m.Freeze()), sealedIn(restoredFrom(t, w.m).Freeze()))
}

func TestResealIsBounded(t *testing.T) {
	w := newWorld(t)
	old, anew := []byte{9}, []byte{8}
	for name, values := range map[string][]wire.Resealed{
		"nothing":        {},
		"too many":       make([]wire.Resealed, w.m.limits.RecordTargets+1),
		"empty":          {{Old: nil, New: nil}},
		"longer":         {{Old: old, New: append(anew, 1)}},
		"shorter":        {{Old: old}},
		"one of two bad": {{Old: old, New: anew}, {Agent: 1, Old: old}},
		"too long":       {{Old: make([]byte, w.m.limits.SealedBytes+1), New: make([]byte, w.m.limits.SealedBytes+1)}},
	} {
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindReseal, &wire.Reseal{Values: values}).Refusal, name)
	}
	require.Equal(t, old, w.m.settings.SigningKeys[0].Sealed)
	require.Equal(t, wire.Applied, w.do(wire.KindReseal, &wire.Reseal{Values: []wire.Resealed{{Old: old, New: anew}}}).Code)
	require.Equal(t, anew, w.m.settings.SigningKeys[0].Sealed)
	require.Equal(t, anew, w.m.settings.Genesis.SigningKey.Sealed)
}

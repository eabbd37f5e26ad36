package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func passkeyPut(id string) wire.Passkey {
	return wire.Passkey{ID: []byte(id), Key: append([]byte{2}, make([]byte, 32)...), Site: "guard.example", Name: id}
}

// signs returns a caller who signed with a passkey.
func (w *world) signs(key uint32, id string, number uint64, digest byte, many bool) wire.Common {
	common := w.by(key)
	common.Signed = &wire.Signed{Passkey: PasskeyHash([]byte(id)), Number: number, Digest: [32]byte{digest}, Many: many}
	return common
}

func (w *world) addPasskey(common wire.Common, id string) wire.Result {
	return w.do(wire.KindPasskey, &wire.PasskeyPut{Common: common, Op: wire.PasskeyAdd, Passkey: passkeyPut(id)})
}

// TestPasskeysSign: an act that the policy names counts only with its person's passkey, a day old,
// over a statement of the next number; nothing signed counts twice.
func TestPasskeysSign(t *testing.T) {
	w := bank(t)
	require.Equal(t, wire.RefusedNoPerson, w.addPasskey(wire.Common{}, "machine's").Refusal)
	require.Contains(t, string(w.addPasskey(w.by(policyPia), "pia").Data), `"kind":"passkey.added"`)
	require.Equal(t, wire.RefusedExists, w.addPasskey(w.by(policyPaul), "pia").Refusal)
	require.Contains(t, string(w.addPasskey(w.by(policyPaul), "paul").Data), `"subject":"person:paul"`)
	next := func(person string) uint64 { return NextStatement(w.m.settings.Passkeys, "person:"+person) }
	policy := bankPolicy()
	policy.Passkeys = engine.ActPolicy | engine.ActSecond
	put := func(common wire.Common, policy engine.Policy) wire.Result {
		return w.do(wire.KindPolicy, &wire.PolicyPut{Common: common, Base: w.m.settings.Policy.Version, Policy: policy, Acts: engine.ActsOf(w.m.settings.Policy, &policy)})
	}
	require.Equal(t, wire.RefusedUnsigned, put(w.by(policyPia), policy).Refusal, "who demands passkeys has one")
	require.Equal(t, wire.RefusedUnsigned, put(w.signs(policyPia, "pia", next("pia"), 1, false), policy).Refusal, "it is new")
	w.now += engine.DayLength
	require.Equal(t, wire.RefusedUnsigned, put(w.signs(policyPia, "paul", next("paul"), 1, false), policy).Refusal, "another's")
	require.Equal(t, wire.RefusedUnsigned, put(w.signs(policyPia, "pia", next("pia")+1, 1, false), policy).Refusal, "another number")
	number := next("pia")
	require.Contains(t, string(put(w.signs(policyPia, "pia", number, 1, false), policy).Data), `"kind":"policy.activated"`)
	policy.ReviewNotes = true
	require.Equal(t, wire.RefusedUnsigned, put(w.signs(policyPia, "pia", number, 1, false), policy).Refusal, "it was used")
	require.Equal(t, wire.RefusedUnsigned, put(w.by(policyPia), policy).Refusal)

	off := bankPolicy()
	proposal := w.proposed(put(w.signs(policyPia, "pia", next("pia"), 2, false), off))
	require.Equal(t, wire.RefusedUnsigned, w.confirm(policyPaul, proposal).Refusal, "the second signs too")
	confirmed := w.do(wire.KindConfirm, &wire.Confirm{Common: w.signs(policyPaul, "paul", next("paul"), 3, false), Proposal: proposal})
	require.Contains(t, string(confirmed.Data), `"persons":["person:pia","person:paul"]`, "switching off needs two")
	require.Zero(t, w.m.settings.Policy.Passkeys)
}

// TestOneSignatureForMany: the records of one call share a signature; a later call has another.
func TestOneSignatureForMany(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit})
	w.makeKey(nil, "rosa", wire.RoleReviewer|wire.RolePolicy)
	const rosa = 5
	w.addPasskey(w.by(rosa), "rosa")
	w.now += engine.DayLength
	policy := *w.m.settings.Policy
	policy.Passkeys = engine.ActDisposition
	next := func() uint64 { return NextStatement(w.m.settings.Passkeys, "person:rosa") }
	require.Contains(t, string(w.do(wire.KindPolicy, &wire.PolicyPut{Common: w.signs(rosa, "rosa", next(), 1, false), Policy: policy}).Data), `"policy.activated"`)
	decide := func(common wire.Common) wire.Result {
		b := review(20)
		return w.do(wire.KindDisposition, &wire.Disposition{Common: common, Leaf: b.Leaf, Disposition: wire.Rejected, Agent: b.Agent, Amount: b.Recorded})
	}
	require.Equal(t, wire.RefusedUnsigned, decide(w.by(rosa)).Refusal)
	number := next()
	for range 3 {
		require.Contains(t, string(decide(w.signs(rosa, "rosa", number, 7, true)).Data), `"review.dispositioned"`)
	}
	require.Equal(t, wire.RefusedUnsigned, decide(w.signs(rosa, "rosa", number, 8, true)).Refusal, "another list")
	require.Equal(t, wire.RefusedUnsigned, decide(w.signs(rosa, "rosa", number, 7, false)).Refusal)
	number = next()
	require.Contains(t, string(decide(w.signs(rosa, "rosa", number, 9, false)).Data), `"review.dispositioned"`)
	require.Equal(t, wire.RefusedUnsigned, decide(w.signs(rosa, "rosa", number, 9, false)).Refusal, "one is for one")
}

// TestACopyIsBehind: what an authenticator counts never goes back, so a copy of it signs nothing.
func TestACopyIsBehind(t *testing.T) {
	w := bank(t)
	w.addPasskey(w.by(policyPia), "pia")
	w.now += engine.DayLength
	put := func(count uint32) wire.Refusal {
		policy := bankPolicy()
		policy.Passkeys, policy.ReviewNotes = engine.ActPolicy, true
		policy.ReviewSLA = engine.Time(count+1) * engine.Minute
		common := w.signs(policyPia, "pia", NextStatement(w.m.settings.Passkeys, "person:pia"), byte(count+1), false)
		common.Signed.Count = count
		return w.do(wire.KindPolicy, &wire.PolicyPut{Common: common, Base: w.m.settings.Policy.Version, Policy: policy}).Refusal
	}
	require.Zero(t, put(0), "it does not count")
	require.Zero(t, put(7))
	for _, count := range []uint32{0, 6, 7} {
		require.Equal(t, wire.RefusedUnsigned, put(count), count)
	}
	require.Zero(t, put(8))
}

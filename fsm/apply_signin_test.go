package fsm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// signsIn lets a person in whom the provider names.
func (w *world) signsIn(subject string, roles uint16, secret byte) wire.Result {
	return w.do(wire.KindSignIn, &wire.SignIn{Key: wire.APIKey{
		ID: "key_" + string(rune('a'+secret%26)) + subject, Name: subject, Prefix: "rg", Hashes: key32(secret), Roles: roles, ExpiresAt: w.now + 12*engine.Hour,
		Person: subject, PersonKey: subject + "#1234", Alias: subject, SignedIn: "https://idp.example#" + subject,
	}})
}

// row returns the row of a person's sign-ins.
func (w *world) row(subject string) (uint32, *wire.APIKey) {
	for i, key := range w.m.settings.Keys {
		if key.SignedIn == "https://idp.example#"+subject {
			return uint32(i + 1), key
		}
	}
	w.t.Fatalf("%s has no row", subject)
	return 0, nil
}

// TestAPersonHasOneRow: every sign-in renews it; another browser's session goes on until its own
// end; signing out ends both.
func TestAPersonHasOneRow(t *testing.T) {
	w := newWorld(t)
	first := w.signsIn("olga", wire.RoleReviewer, 1)
	require.Contains(t, string(first.Data), `"kind":"key.signed_in"`)
	require.Contains(t, string(first.Data), `"subject":"person:olga#1234","widened":true`)
	at, key := w.row("olga")
	id, born := key.ID, key.ChangedAt
	w.now += engine.Hour
	require.NotContains(t, string(w.signsIn("olga", wire.RoleReviewer, 2).Data), "widened")
	_, key = w.row("olga")
	require.Equal(t, id, key.ID)
	require.Equal(t, born, key.ChangedAt, "she is as old as before")
	require.Equal(t, [][]byte{key32(2)[0], key32(1)[0]}, key.Hashes)
	require.Equal(t, born+12*engine.Hour, key.OldUntil, "the first session ends when it would have")
	require.Equal(t, w.now+12*engine.Hour, key.ExpiresAt)
	require.Len(t, w.m.settings.Keys, int(at))
	w.now += engine.Hour
	require.Contains(t, string(w.signsIn("olga", wire.RoleReviewer|wire.RolePolicy, 3).Data), `"widened":true`)
	_, key = w.row("olga")
	require.Equal(t, w.now, key.ChangedAt, "a new role makes her young")
	require.NotContains(t, string(w.signsIn("olga", wire.RolePolicy, 4).Data), "widened")
	require.Contains(t, string(w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: w.by(at), Op: wire.KeySignOut, Key: wire.APIKey{ID: id}}).Data), `"key.sessions_ended"`)
	_, key = w.row("olga")
	require.Empty(t, key.Hashes)
	require.Equal(t, uint32(1), key.Sessions)
	w.restored()
}

// TestASignInThatNobodyMayMake: a sign-in comes from the node alone, names a person and roles, and
// ends; nobody gives a key the row of a person, or renews its secret.
func TestASignInThatNobodyMayMake(t *testing.T) {
	w := newWorld(t)
	w.makeKey(nil, "ada", wire.RoleAdmin)
	good := func() *wire.SignIn {
		return &wire.SignIn{Key: wire.APIKey{ID: "k", Prefix: "rg", Hashes: key32(9), Roles: wire.RoleReviewer, ExpiresAt: w.now + engine.Hour, Person: "o", PersonKey: "o#1", Alias: "o", SignedIn: "i#o"}}
	}
	for name, change := range map[string]func(*wire.SignIn){
		"a caller":   func(b *wire.SignIn) { b.Common = w.by(1) },
		"no roles":   func(b *wire.SignIn) { b.Key.Roles = 0 },
		"no person":  func(b *wire.SignIn) { b.Key.PersonKey = "" },
		"nobody":     func(b *wire.SignIn) { b.Key.SignedIn = "" },
		"no end":     func(b *wire.SignIn) { b.Key.ExpiresAt = 0 },
		"too long":   func(b *wire.SignIn) { b.Key.ExpiresAt = w.now + 25*engine.Hour },
		"an owner":   func(b *wire.SignIn) { b.Key.Owner = "cal_1" },
		"no secret":  func(b *wire.SignIn) { b.Key.Hashes = nil },
		"old secret": func(b *wire.SignIn) { b.Key.OldUntil = w.now },
	} {
		b := good()
		change(b)
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindSignIn, b).Refusal, name)
	}
	require.Equal(t, wire.Applied, w.do(wire.KindSignIn, good()).Code)
	require.Equal(t, wire.RefusedExists, w.do(wire.KindSignIn, good()).Refusal, "the secret is known")
	rotate := &wire.APIKeyPut{Common: w.by(1), Op: wire.KeyRotate, Key: wire.APIKey{ID: "k", Prefix: "x", Hashes: key32(10)}}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAPIKey, rotate).Refusal, "an admin gets no secret of a person")
	forged := &wire.APIKeyPut{Common: w.by(1), Op: wire.KeyCreate, Key: wire.APIKey{ID: "f", Prefix: "x", Hashes: key32(11), Roles: wire.RoleReviewer, SignedIn: "i#p"}}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAPIKey, forged).Refusal)
}

// TestWhoWasEndedDoesNotSignIn until somebody reinstates the person, under two persons where a new
// key is; then the person is young.
func TestWhoWasEndedDoesNotSignIn(t *testing.T) {
	w := bank(t)
	w.signsIn("olga", wire.RoleReviewer, 1)
	_, key := w.row("olga")
	end := func(op uint8, by uint32) wire.Result {
		return w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: w.by(by), Op: op, Key: wire.APIKey{ID: key.ID}})
	}
	require.Equal(t, wire.RefusedTransition, end(wire.KeyReinstate, adminAda).Refusal, "she was not ended")
	require.Contains(t, string(end(wire.KeyRevoke, adminAda).Data), `"key.revoked"`)
	require.Equal(t, wire.RefusedTransition, w.signsIn("olga", wire.RoleReviewer, 2).Refusal)
	w.now += 10 * engine.DayLength
	require.Equal(t, wire.RefusedTransition, w.signsIn("olga", wire.RoleReviewer, 3).Refusal, "however long she waits")
	proposal := w.proposed(end(wire.KeyReinstate, adminAda))
	require.Equal(t, wire.RefusedTransition, w.signsIn("olga", wire.RoleReviewer, 4).Refusal)
	require.Contains(t, string(w.confirm(adminAlan, proposal).Data), `"kind":"key.reinstated"`)
	_, key = w.row("olga")
	require.Empty(t, key.Hashes)
	require.Equal(t, w.now, key.ChangedAt)
	require.Contains(t, string(w.signsIn("olga", wire.RoleReviewer, 5).Data), `"key.signed_in"`)
	w.restored()
}

// TestSignInsAreNoSecondPerson: whom the provider calls as a key names its person is that person;
// somebody new is young; and who went home is still there for the rule of two.
func TestSignInsAreNoSecondPerson(t *testing.T) {
	w := bank(t)
	w.signsIn("pia", wire.RolePolicy, 1)
	w.signsIn("zoe", wire.RolePolicy, 2)
	pia, _ := w.row("pia")
	zoe, _ := w.row("zoe")
	policy := bankPolicy()
	policy.Modes[21] = engine.ModeOff
	proposal := w.proposed(w.putPolicy(policyPia, policy))
	require.Equal(t, wire.RefusedSamePerson, w.confirm(pia, proposal).Refusal)
	require.Equal(t, wire.RefusedYoung, w.confirm(zoe, proposal).Refusal)
	w.now += engine.DayLength - engine.Second
	w.signsIn("zoe", wire.RolePolicy, 3)
	require.Equal(t, wire.RefusedYoung, w.confirm(zoe, proposal).Refusal, "a second before her day is over")

	for _, key := range []uint32{policyPia, policyPaul, adminAda, adminAlan} { // Only the two who sign in hold the role.
		w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: w.m.settings.Keys[key-1].ID}})
	}
	w.now += 3 * engine.DayLength
	w.signsIn("pia", wire.RolePolicy, 4)
	proposal = w.proposed(w.putPolicy(pia, policy))
	w.now += 13 * engine.Hour
	require.Contains(t, string(w.signsIn("zoe", wire.RolePolicy, 5).Data), `"key.signed_in"`)
	require.Contains(t, string(w.confirm(zoe, proposal).Data), `"persons":["person:pia#1234","person:zoe#1234"]`, "her session is over, and what she proposed stands")
	w.now += personKept + 2*engine.DayLength
	w.signsIn("pia", wire.RolePolicy, 6)
	require.Contains(t, string(w.putPolicy(pia, *engine.DefaultPolicy()).Data), `"alone":true`, "nobody else was here for three months")
}

// restored demands that the state comes back from a snapshot as it is.
func (w *world) restored() {
	w.t.Helper()
	var data bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&data)
	require.NoError(w.t, err)
	back, err := Restore(&data)
	require.NoError(w.t, err)
	require.Equal(w.t, w.m.settings.Keys, back.settings.Keys)
}

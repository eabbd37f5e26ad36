package keys_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

func TestAPIKeysAreRead(t *testing.T) {
	w := edgetest.New(t)
	networks := strings.Repeat(`"10.0.0.1",`, 33)
	for _, c := range []struct{ body, code, param string }{
		{`{}`, "missing_field", "name"},
		{`{"name":"k","roles":["king"]}`, "invalid_field", "roles"},
		{`{"name":"k","roles":"` + strings.Repeat("ops,", 16) + `ops"}`, "invalid_field", "roles"},
		{`{"name":"k"}`, "missing_field", "roles"},
		{`{"name":"k","roles":[]}`, "invalid_field", "roles"},
		{`{"name":"k","roles":"screener,admin","operator":"Acme"}`, "role_not_allowed", "roles"},
		{`{"name":"k","roles":"reviewer","operator":"Acme"}`, "role_not_allowed", "roles"},
		{`{"name":"k","roles":"operator,screener,settler,viewer","operator":"Acme"}`, "", ""},
		{`{"name":"k","roles":"auditor","caller":"new"}`, "role_not_allowed", "roles"},
		{`{"name":"k","roles":"screener,settler,viewer,gateway","caller":"new"}`, "", ""},
		{`{"name":"k","roles":"screener","caller":"cal_aaaaaaaaaaaa"}`, "invalid_field", "caller"},
		{`{"name":"k","roles":"screener","caller":"Shop"}`, "invalid_field", "caller"},
		{`{"name":"k","roles":"screener","caller":"new","operator":"Acme"}`, "invalid_field", "caller"},
		{`{"name":"k","roles":"ops","expires":"ever"}`, "invalid_field", "expires"},
		{`{"name":"k","roles":"ops","operator":"…"}`, "invalid_field", "operator"},
		{`{"name":"k","roles":"ops","networks":["home"]}`, "invalid_field", "networks"},
		{`{"name":"k","roles":"ops","ips":[` + networks[:len(networks)-1] + `]}`, "invalid_field", "ips"},
		{`{"name":"k","roles":"ops","expiresAt":"2020-01-01T00:00:00Z"}`, "invalid_field", "expiresAt"},
		{`{"name":"k","roles":"ops","expires":"3651d"}`, "invalid_field", "expires"},
		{`{"name":"k","roles":"ops","expires":"0d"}`, "invalid_field", "expires"},
		{`{"name":"k","roles":"ops","rate":-1}`, "invalid_field", "rate"},
		{`{"name":"k","roles":"ops","rate":"10000001/s"}`, "invalid_field", "rate"},
		{`{"name":"k","rate":"10000000/s","expires":"3650d","roles":"ops, auditor","networks":"10.0.0.0/8,::1","strict":true}`, "", ""},
	} {
		t.Run(c.body[:min(len(c.body), 60)], func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			_, err := keys.ReadAPIKey(j, f)
			edgetest.RequireCode(t, err, c.code, c.param)
		})
	}
}

func TestAPIKeysAreKeptAsHashes(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct {
		body, roles, rate string
	}{
		{`{"name":"k","roles":"admin"}`, `["admin"]`, `10000`},
		{`{"name":"k","roles":["viewer"],"rate":0}`, `["viewer"]`, `0`},
		{`{"name":"k","roles":"ops, screener","rate":"2000/s","strict":true,"expires":"1d"}`, `["screener","ops"]`, `2000`},
	} {
		j, f := w.Begin(edgetest.Admin(), c.body)
		change, err := keys.ReadAPIKey(j, f)
		require.NoError(t, err)
		record, err := change.Record(j)
		require.NoError(t, err)
		require.NotContains(t, string(wire.Encode(record)), change.Secret)
		require.Equal(t, [][]byte{seal.HashAPISecret(change.Secret)}, record.Key.Hashes)
		l, err := w.Settle(j, wire.KindAPIKey, func() (any, error) { return change.Record(j) })
		require.NoError(t, err)
		require.Equal(t, []string{c.roles, c.rate}, []string{string(l.Raw("roles")), string(l.Raw("rate"))})
	}
	key := w.Settings().Keys[0]
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	rotate := func(body string) *wire.APIKey {
		j, f := w.Begin(edgetest.Admin(), body)
		rotation, err := keys.ReadRotation(j, f, key.ID)
		require.NoError(t, err)
		_, err = w.Settle(j, wire.KindAPIKey, func() (any, error) { return rotation.Record(j) })
		require.NoError(t, err)
		return w.Settings().Keys[0]
	}
	require.Len(t, rotate(`{}`).Hashes, 1, "the secret before ends at once")
	overlapping := rotate(`{"overlap":"7d"}`)
	require.Len(t, overlapping.Hashes, 2)
	require.Equal(t, w.LogTime()+7*engine.DayLength, overlapping.OldUntil)
	require.EqualValues(t, 2, overlapping.Sessions, "either ends the key's sessions")
	for _, overlap := range []string{"8d", "x", "-1h"} {
		j, f := w.Begin(edgetest.Admin(), `{"overlap":"`+overlap+`"}`)
		_, err := keys.ReadRotation(j, f, key.ID)
		edgetest.RequireCode(t, err, "invalid_field", "overlap")
	}
	for body, want := range map[string]engine.Time{
		`"roles":"admin"`: 90 * engine.DayLength, `"roles":"ops,screener"`: 365 * engine.DayLength, `"roles":"admin","expires":"never"`: 0, `"roles":"ops","expires":"9d"`: 9 * engine.DayLength,
	} {
		j, f := w.Begin(edgetest.Admin(), `{"name":"k",`+body+`}`)
		change, err := keys.ReadAPIKey(j, f)
		require.NoError(t, err)
		record, err := change.Record(j)
		require.NoError(t, err)
		if want != 0 {
			want += w.LogTime()
		}
		require.Equal(t, want, record.Key.ExpiresAt, body)
	}
	signOut := keys.EndSessions(key.ID)
	out, err := w.Settle(j, wire.KindAPIKey, func() (any, error) { return signOut.Record(j) })
	require.NoError(t, err)
	require.Equal(t, "key.sessions_ended", out.Kind())
	require.Len(t, w.Settings().Keys[0].Hashes, 2, "the key goes on")
	require.EqualValues(t, 3, w.Settings().Keys[0].Sessions)
	revocation := keys.RevokeAPIKey(key.ID)
	require.Empty(t, revocation.Secret)
	l, err := w.Settle(j, wire.KindAPIKey, func() (any, error) { return revocation.Record(j) })
	require.NoError(t, err)
	require.Equal(t, "key.revoked", l.Kind())
}

func TestSigningKeysFollowEachOther(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	first := j.Terms.Settings.SigningKeys[0].KID
	_, err := keys.CheckRevocable(j, first)
	edgetest.RequireCode(t, err, "invalid_transition", "")
	key, err := keys.NewSigningKey(j, wire.ForCredentials)
	require.NoError(t, err)
	require.Equal(t, "cc-v2", key.KID)
	l, err := w.Settle(j, wire.KindSigningKey, func() (any, error) { return keys.AddSigningKey(j, key, true, "stolen") })
	require.NoError(t, err)
	require.Equal(t, []string{"cc-v2", "stolen"}, []string{l.Text("kid"), l.Text("reason")})
	j.Renew()
	done, err := keys.CheckRevocable(j, first)
	require.NoError(t, err)
	require.False(t, done)
	_, err = w.Settle(j, wire.KindSigningKey, func() (any, error) { return keys.RevokeSigningKey(j, first, "stolen") })
	require.NoError(t, err)
	j.Renew()
	done, err = keys.CheckRevocable(j, first)
	require.NoError(t, err)
	require.True(t, done, "it is revoked already")
	require.NotNil(t, keys.FindSigningKey(j, first))
	require.Nil(t, keys.FindSigningKey(j, "cc-v9"))
	again, err := keys.NewSigningKey(j, wire.ForCredentials)
	require.NoError(t, err)
	require.Equal(t, "cc-v3", again.KID, "a kid names one key for ever")
}

// TestKeysForPermitsAreTheirOwn: they have their own numbers, and the last of either kind stays.
func TestKeysForPermitsAreTheirOwn(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	require.Equal(t, "pm-v1", j.Terms.Settings.ActiveKeyFor(wire.ForPermits, j.LogTime()).KID)
	_, err := keys.CheckRevocable(j, "pm-v1")
	edgetest.RequireCode(t, err, "invalid_transition", "")
	key, err := keys.NewSigningKey(j, wire.ForPermits)
	require.NoError(t, err)
	require.Equal(t, "pm-v2", key.KID)
	policy := j.Terms.Policy().Version
	_, err = w.Settle(j, wire.KindSigningKey, func() (any, error) { return keys.AddSigningKey(j, key, true, "stolen") })
	require.NoError(t, err)
	j.Renew()
	require.Equal(t, "pm-v2", j.Terms.Settings.ActiveKeyFor(wire.ForPermits, j.LogTime()).KID)
	require.Equal(t, "cc-v1", j.Terms.Settings.ActiveKey(j.LogTime()).KID, "credentials are signed as before")
	_, err = w.Settle(j, wire.KindSigningKey, func() (any, error) { return keys.RevokeSigningKey(j, "pm-v1", "stolen") })
	require.NoError(t, err)
	j.Renew()
	require.Equal(t, policy, j.Terms.Policy().Version, "no judgement rests on a key for permits")
	require.Contains(t, string(j.Terms.Signing.JWKS), `"kid":"pm-v2"`)
	require.NotContains(t, string(j.Terms.Signing.JWKS), `"kid":"pm-v1"`)
	require.Nil(t, j.Terms.Signing.Verify.Keys().Find("pm-v2"), "no credential verifies by it")
	require.Nil(t, j.Terms.Signing.Permits.Find("cc-v1"), "no permit verifies by a key for credentials")
}

func TestTheLogsKeyIsChangedForAReason(t *testing.T) {
	w := edgetest.New(t)
	j, f := w.Begin(edgetest.Admin(), `{"reason":"  "}`)
	_, err := keys.ReadLogKey(j, f)
	edgetest.RequireCode(t, err, "missing_field", "reason")
	j, f = w.Begin(edgetest.Admin(), `{"reason":"yearly"}`)
	key, err := keys.ReadLogKey(j, f)
	require.NoError(t, err)
	l, err := w.Settle(j, wire.KindLogKey, func() (any, error) { return key.Record(j) })
	require.NoError(t, err)
	require.Equal(t, "yearly", l.Text("reason"))
}

func checkURL(url string) error {
	if !strings.HasPrefix(url, "https://") {
		return errors.New("must be https")
	}
	return nil
}

func TestWebhooksLiveAndEnd(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct{ body, code, param string }{
		{`{}`, "missing_field", "url"},
		{`{"url":"http://x.example"}`, "invalid_field", "url"},
		{`{"url":"https://x.example/` + strings.Repeat("u", 2048) + `"}`, "invalid_field", "url"},
		{`{"url":"https://x.example","types":["moon.full"]}`, "invalid_field", "types"},
		{`{"url":"https://x.example","types":["sar.*"]}`, "invalid_field", "types"},
		{`{"url":"https://x.example","secret":"short"}`, "invalid_field", "secret"},
	} {
		j, f := w.Begin(edgetest.Admin(), c.body)
		_, err := keys.ReadNewWebhook(j, f, checkURL)
		edgetest.RequireCode(t, err, c.code, c.param)
	}
	key := w.Caller("key_hooks", wire.RoleAdmin, "")
	j, f := w.Begin(key, `{"url":"https://x.example/path?secret=1","name":"desk","types":["sar.*"],"sarAllowed":true}`)
	hook, err := keys.ReadNewWebhook(j, f, checkURL)
	require.NoError(t, err)
	record, err := hook.Record(j)
	require.NoError(t, err)
	require.Contains(t, string(record.Fragment), `"host":"x.example"`)
	require.NotContains(t, string(record.Fragment), "path", "a URL may hold a secret")
	_, err = w.Settle(j, wire.KindWebhook, func() (any, error) { return hook.Record(j) })
	require.NoError(t, err)
	made := w.Settings().Webhooks[0]

	j, f = w.Begin(key, `{"sarAllowed":false}`)
	_, err = keys.ChangeWebhook(j, f, made, checkURL, "")
	edgetest.RequireCode(t, err, "invalid_field", "types")
	j, f = w.Begin(key, `{"off":true}`)
	_, err = w.Settle(j, wire.KindWebhook, func() (any, error) { return keys.ChangeWebhook(j, f, made, checkURL, "quiet days") })
	require.NoError(t, err)
	changed := w.Settings().Webhooks[0]
	require.Equal(t, []any{true, made.URL, made.Secrets}, []any{changed.Off, changed.URL, changed.Secrets}, "what is absent stays, and so does the secret")

	for body, param := range map[string]string{`{"overlapSeconds":-1}`: "overlapSeconds", `{"overlapSeconds":` + strconv.FormatInt(int64(engine.OverlapMax/engine.Second)+1, 10) + `}`: "overlapSeconds"} {
		j, f = w.Begin(key, body)
		_, err = keys.ReadSecretRotation(j, f)
		edgetest.RequireCode(t, err, "invalid_field", param)
	}
	j, f = w.Begin(key, `{"overlapSeconds":60}`)
	rotation, err := keys.ReadSecretRotation(j, f)
	require.NoError(t, err)
	_, err = w.Settle(j, wire.KindWebhook, func() (any, error) { return rotation.Record(j, changed) })
	require.NoError(t, err)
	require.Len(t, w.Settings().Webhooks[0].Secrets, 2)

	event, err := keys.RedeliverEvent(j, changed, 7, 1)
	require.NoError(t, err)
	require.Equal(t, []any{wire.DeliveryRevived, changed.ID, uint64(7), uint8(1)}, []any{event.Op, event.Webhook, event.Seq, event.N})
	all, err := keys.RedeliverAll(j, changed)
	require.NoError(t, err)
	require.Equal(t, wire.DeliveryAll, all.Op)
	_, err = w.Settle(j, wire.KindWebhook, func() (any, error) { return keys.DeleteWebhook(j, w.Settings().Webhooks[0], "gone") })
	require.NoError(t, err)
	require.Empty(t, w.Settings().Webhooks)
}

func TestResealingGoesStepByStep(t *testing.T) {
	w := edgetest.New(t)
	for i := range keys.ResealStep + 3 {
		w.Registered(`,"operatorEIN":"12-` + strconv.Itoa(3000000+i) + `"`)
	}
	step := func(body string) (keys.ResealingStep, *wire.Reseal) {
		j, f := w.Begin(edgetest.Admin(), body)
		s, err := keys.ReadResealingStep(f)
		require.NoError(t, err)
		record, err := s.Record(j)
		require.NoError(t, err)
		return s, record
	}
	s, record := step(`{"reason":"r"}`)
	require.Nil(t, record, "no older secret had sealed anything")
	require.Equal(t, keys.ResealEnd, s.Next)

	w.Secrets = seal.NewSecrets([]byte("another cluster secret of tests"), []byte("a cluster secret of the tests"))
	w.Judges = w.NewJudges()
	first, record := step(`{"reason":"r"}`)
	require.Len(t, record.Values, keys.ResealStep)
	require.Equal(t, keys.ResealStep+3, first.Agents)
	require.Positive(t, first.Next)
	w.Must(wire.KindReseal, record)
	second, record := step(`{"reason":"r","from":` + strconv.FormatInt(first.Next, 10) + `}`)
	require.NotEmpty(t, record.Values)
	require.Equal(t, keys.ResealEnd, second.Next)
	w.Must(wire.KindReseal, record)
	_, record = step(`{"reason":"r"}`)
	require.Nil(t, record, "all is sealed anew")

	_, f := w.Begin(edgetest.Admin(), `{"from":-1,"reason":"r"}`)
	_, err := keys.ReadResealingStep(f)
	edgetest.RequireCode(t, err, "invalid_field", "from")
	_, f = w.Begin(edgetest.Admin(), `{}`)
	_, err = keys.ReadResealingStep(f)
	edgetest.RequireCode(t, err, "missing_field", "reason")
}

package keys_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/engine/passkey"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// registration is the body of a call that registers a passkey. It is signed over name, on a page of origin.
func registration(t *testing.T, name, origin string) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	id := []byte("credential one")
	challenge := passkey.Challenge(keys.RegistrationStatement(id, name))
	client := `{"type":"webauthn.get","challenge":"` + passkey.Encode(challenge[:]) + `","origin":"` + origin + `","crossOrigin":false}`
	site := sha256.Sum256([]byte(passkey.SiteOf(origin)))
	data := append(site[:], 0x05, 0, 0, 0, 1) // Somebody was there, and was verified.
	clientHash := sha256.Sum256([]byte(client))
	digest := sha256.Sum256(append(append([]byte(nil), data...), clientHash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, private, digest[:])
	require.NoError(t, err)
	var m, proof strictjson.Members
	m.Text("name", "my laptop")
	m.Text("passkeyId", passkey.Encode(id))
	m.Text("publicKey", passkey.Encode(public))
	proof.Text("credentialId", passkey.Encode(id))
	proof.Text("clientDataJSON", passkey.Encode([]byte(client)))
	proof.Text("authenticatorData", passkey.Encode(data))
	proof.Text("signature", passkey.Encode(signature))
	m.Object("proof", proof)
	return "{" + string(m) + "}"
}

func TestPasskeysProveThemselves(t *testing.T) {
	w := edgetest.New(t)
	good := registration(t, "my laptop", "http://localhost:8402")
	replaced := func(old, with string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, with, 1)
	}
	for _, c := range []struct{ name, body, code, param string }{
		{"nothing", `{}`, "missing_field", "name"},
		{"no proof", good[:strings.Index(good, `,"proof"`)] + "}", "missing_field", "proof"},
		{"no id", replaced(`"passkeyId":"`, `"passkeyId":"!`), "invalid_field", "passkeyId"},
		{"no key", replaced(`"publicKey":"`, `"publicKey":"AAAA`), "invalid_field", "publicKey"},
		{"a long name", replaced(`my laptop`, strings.Repeat("n", engine.FieldMax+1)), "invalid_field", "name"},
		{"signed over another name", registration(t, "yours", "http://localhost:8402"), "invalid_field", "proof"},
		{"signed on another page", registration(t, "my laptop", "https://elsewhere.example"), "invalid_field", "proof"},
		{"good", good, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			read, err := keys.ReadRegistration(f)
			var record *wire.PasskeyPut
			if err == nil {
				record, err = read.Record(j)
			}
			edgetest.RequireCode(t, err, c.code, c.param)
			if err == nil {
				require.Equal(t, []any{wire.PasskeyAdd, "localhost", "my laptop"}, []any{record.Op, record.Passkey.Site, record.Passkey.Name})
				require.Contains(t, string(record.Common.Fragment), `"proof":{`, "who reads the log can check it again")
			}
		})
	}
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	record, err := keys.RemovePasskey(j, []byte("credential one"))
	require.NoError(t, err)
	require.Equal(t, []any{wire.PasskeyRemove, "credential one"}, []any{record.Op, string(record.Passkey.ID)})
}

func TestSignInsNameOnePerson(t *testing.T) {
	olga := keys.Signed{Issuer: "https://login.example", Subject: "0017", Name: "Olga Officer", Roles: wire.RoleReviewer, Flow: [32]byte{1}, Until: 5 * engine.Hour}
	first, secret, err := keys.SignIn(&olga, "n1")
	require.NoError(t, err)
	again, other, err := keys.SignIn(&olga, "n2")
	require.NoError(t, err)
	require.NotEqual(t, secret, other, "each session has a secret of its own")
	require.Equal(t, first.Common.Idem, again.Common.Idem, "a sign-in is good once, whichever node it comes back to")
	require.Equal(t, first.Key.PersonKey, again.Key.PersonKey)
	namesake := olga
	namesake.Subject = "0018"
	second, _, err := keys.SignIn(&namesake, "n1")
	require.NoError(t, err)
	require.NotEqual(t, first.Key.PersonKey, second.Key.PersonKey, "two persons with one name are two")
	require.Equal(t, first.Key.Alias, second.Key.Alias)
	for _, change := range []func(*keys.Signed){
		func(s *keys.Signed) { s.Issuer = "" }, func(s *keys.Signed) { s.Subject = "" }, func(s *keys.Signed) { s.Name = " " },
		func(s *keys.Signed) { s.Name = strings.Repeat("n", engine.FieldMax+1) }, func(s *keys.Signed) { s.Subject = strings.Repeat("s", 2*engine.FieldMax) },
	} {
		bad := olga
		change(&bad)
		_, _, err := keys.SignIn(&bad, "n1")
		require.Error(t, err)
	}
	revoke, back := keys.RevokeAPIKey("key_olga"), keys.Reinstate("key_olga")
	require.True(t, revoke.Revokes())
	require.False(t, back.Revokes())
}

package passkey

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine/possession"
)

const said = `{"act":"review.dispositioned","subject":"person:olga","number":7,"txnId":"txn_1","disposition":"APPROVED","notes":""}`

// authenticator signs as one does.
type authenticator struct {
	Passkey
	sign func([]byte) []byte
}

func newAuthenticator(t *testing.T, edwards bool) *authenticator {
	a := &authenticator{Passkey: Passkey{ID: []byte("credential one"), Site: "guard.example"}}
	var public any
	if edwards {
		pub, private, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		public, a.sign = pub, func(data []byte) []byte { return ed25519.Sign(private, data) }
	} else {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		public, a.sign = &private.PublicKey, func(data []byte) []byte {
			digest := sha256.Sum256(data)
			signature, err := ecdsa.SignASN1(rand.Reader, private, digest[:])
			require.NoError(t, err)
			return signature
		}
	}
	key, err := possession.KeyFrom(public)
	require.NoError(t, err)
	a.Key = key.AppendForm(nil)
	return a
}

// assert makes an assertion; change alters what the browser and the authenticator say before it is signed.
func (a *authenticator) assert(statement string, change func(client *string, data []byte)) *Assertion {
	challenge := Challenge([]byte(statement))
	client := `{"type":"webauthn.get","challenge":"` + Encode(challenge[:]) + `","origin":"https://guard.example","crossOrigin":false}`
	site := sha256.Sum256([]byte("guard.example"))
	data := append(append([]byte(nil), site[:]...), flagPresent|flagVerified, 0, 0, 0, 9)
	if change != nil {
		change(&client, data)
	}
	digest := sha256.Sum256([]byte(client))
	return &Assertion{ID: a.ID, ClientData: []byte(client), AuthenticatorData: data, Signature: a.sign(append(append([]byte(nil), data...), digest[:]...))}
}

func TestAssertion(t *testing.T) {
	for _, edwards := range []bool{false, true} {
		a := newAuthenticator(t, edwards)
		require.NoError(t, a.Check(a.assert(said, nil), []byte(said)))
		replace := func(old, new string) func(*string, []byte) {
			return func(client *string, _ []byte) { *client = strings.Replace(*client, old, new, 1) }
		}
		for name, c := range map[string]struct {
			change func(*string, []byte)
			want   error
		}{
			"a registration":      {replace("webauthn.get", "webauthn.create"), ErrForm},
			"another site":        {replace("https://guard.example", "https://evil.example"), ErrSite},
			"a part of the site":  {replace("https://guard.example", "https://x.guard.example"), ErrSite},
			"plain text":          {replace("https://", "http://"), ErrSite},
			"within another page": {replace(`"crossOrigin":false`, `"crossOrigin":true`), ErrSite},
			"top of another":      {replace(`"crossOrigin":false`, `"topOrigin":"https://evil.example"`), ErrSite},
			"two challenges":      {replace(`"type"`, `"challenge":"x","type"`), ErrForm},
			"site's hash":         {func(_ *string, data []byte) { data[0]++ }, ErrSite},
			"not present":         {func(_ *string, data []byte) { data[32] &^= flagPresent }, ErrPerson},
			"not verified":        {func(_ *string, data []byte) { data[32] &^= flagVerified }, ErrPerson},
		} {
			require.ErrorIs(t, a.Check(a.assert(said, c.change), []byte(said)), c.want, name)
		}
		require.ErrorIs(t, a.Check(a.assert(strings.Replace(said, "APPROVED", "REJECTED", 1), nil), []byte(said)), ErrChallenge)
		good := a.assert(said, nil)
		good.Signature[len(good.Signature)-1]++
		require.ErrorIs(t, a.Check(good, []byte(said)), ErrSignature)
		require.ErrorIs(t, newAuthenticator(t, edwards).Check(a.assert(said, nil), []byte(said)), ErrSignature, "another's key")
		other := *a
		other.ID = []byte("credential two")
		require.ErrorIs(t, other.Check(a.assert(said, nil), []byte(said)), ErrOther)
		short := a.assert(said, nil)
		short.AuthenticatorData = short.AuthenticatorData[:36]
		require.ErrorIs(t, a.Check(short, []byte(said)), ErrForm)
		require.ErrorIs(t, (&Passkey{ID: a.ID, Site: a.Site, Key: []byte{1, 2}}).Check(a.assert(said, nil), []byte(said)), ErrKey)
	}
}

func TestSites(t *testing.T) {
	for origin, want := range map[string]string{
		"https://guard.example": "guard.example", "https://guard.example:8443": "guard.example", "http://localhost:8080": "localhost",
		"http://guard.example": "", "https://guard.example/": "", "https://a@guard.example": "", "guard.example": "", "": "",
	} {
		require.Equal(t, want, SiteOf(origin), origin)
	}
	_, err := Decode("AB", 1)
	require.Error(t, err, "one way of writing alone")
}

// An assertion says where it was made, and what the authenticator counts.
func TestAssertionTellsOriginAndCount(t *testing.T) {
	a := newAuthenticator(t, true)
	made := a.assert(said, nil)
	require.Equal(t, "https://guard.example", made.Origin())
	require.EqualValues(t, 9, made.Count())
}

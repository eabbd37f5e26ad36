package examine

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine/passkey"
)

// signer is an authenticator of the site guard.example.
type signer struct {
	id      []byte
	private ed25519.PrivateKey
}

// member returns the member of a leaf with what was signed.
func (s *signer) member(statement string) string {
	challenge := passkey.Challenge([]byte(statement))
	client := `{"type":"webauthn.get","challenge":"` + passkey.Encode(challenge[:]) + `","origin":"https://guard.example"}`
	site := sha256.Sum256([]byte("guard.example"))
	data := append(append([]byte(nil), site[:]...), 5, 0, 0, 0, 0)
	digest := sha256.Sum256([]byte(client))
	text, _ := json.Marshal(statement)
	return fmt.Sprintf(`{"credentialId":%q,"clientDataJSON":%q,"authenticatorData":%q,"signature":%q,"statement":%s}`, passkey.Encode(s.id), passkey.Encode([]byte(client)), passkey.Encode(data),
		passkey.Encode(ed25519.Sign(s.private, append(append([]byte(nil), data...), digest[:]...))), text)
}

func (s *signer) registration(subject string) string {
	statement := `{"act":"passkey.added","passkeyId":"` + passkey.Encode(s.id) + `","name":"own"}`
	key := append([]byte{2}, s.private.Public().(ed25519.PublicKey)...)
	return `{"kind":"passkey.added","subject":"` + subject + `","passkeyId":"` + passkey.Encode(s.id) + `","name":"own","publicKey":"` + passkey.Encode(key) + `","site":"guard.example","proof":` + s.member(statement) + `}`
}

func newSigner(t *testing.T, id string) *signer {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return &signer{[]byte(id), private}
}

// TestWhatPersonsSigned: what a leaf says of a signature is held against the leaf, and against the
// registration of the passkey, and nothing else is asked.
func TestWhatPersonsSigned(t *testing.T) {
	olga, eve := newSigner(t, "olga's passkey"), newSigner(t, "eve's passkey")
	statement := `{"act":"review.dispositioned","subject":"person:olga","number":3,"txnId":"txn_1","disposition":"APPROVED","notes":"known"}`
	decided := func(txn, disposition, notes, signed string) string {
		return `{"kind":"review.dispositioned","txnId":"` + txn + `","disposition":"` + disposition + `","notes":"` + notes + `","passkey":` + signed + `}`
	}
	check := func(leaves ...string) (Signed, error) {
		x := new(examiner)
		for i, data := range leaves {
			if err := x.checkPasskeys(&Record{Index: uint64(i), stored: []byte(data)}); err != nil {
				return x.Signed, err
			}
		}
		return x.Signed, nil
	}
	good := decided("txn_1", "APPROVED", "known", olga.member(statement))
	got, err := check(olga.registration("person:olga"), good)
	require.NoError(t, err)
	require.Equal(t, Signed{Proven: 1, Passkeys: 1}, got)
	got, err = check(good)
	require.NoError(t, err)
	require.Equal(t, Signed{NotShown: 1}, got)

	together := strings.Replace(statement, `"txnId":"txn_1"`, `"txnIds":["txn_1","txn_2"]`, 1)
	many := olga.member(together)
	got, err = check(olga.registration("person:olga"), decided("txn_1", "APPROVED", "known", many), decided("txn_2", "APPROVED", "known", many))
	require.NoError(t, err)
	require.Equal(t, 2, got.Proven)

	broken := strings.Replace(good, `"signature":"`, `"signature":"AAAA`, 1)
	for name, leaves := range map[string][]string{
		"another record":                         {decided("txn_2", "APPROVED", "known", olga.member(statement))},
		"another decision":                       {decided("txn_1", "REJECTED", "known", olga.member(statement))},
		"other words":                            {decided("txn_1", "APPROVED", "unknown", olga.member(statement))},
		"not of the list":                        {decided("txn_3", "APPROVED", "known", many)},
		"another statement":                      {strings.Replace(good, `known\"`, `knows\"`, 1)},
		"a broken signature":                     {olga.registration("person:olga"), broken},
		"another's passkey":                      {olga.registration("person:eve"), good},
		"a foreign signature":                    {olga.registration("person:olga"), decided("txn_1", "APPROVED", "known", strings.Replace(eve.member(statement), passkey.Encode(eve.id), passkey.Encode(olga.id), 1))},
		"a statement of naught":                  {decided("txn_1", "APPROVED", "known", olga.member(`{"act":"review.dispositioned","number":3}`))},
		"another act":                            {decided("txn_1", "APPROVED", "known", olga.member(strings.Replace(statement, "review.dispositioned", "policy.activated", 1)))},
		"a registration that another key signed": {strings.Replace(olga.registration("person:olga"), `"publicKey":"`, `"publicKey":"A`, 1)},
		"another name of it":                     {strings.Replace(olga.registration("person:olga"), `"name":"own"`, `"name":"foreign"`, 1)},
	} {
		_, err := check(leaves...)
		require.ErrorIs(t, err, ErrProof, name)
	}

	digest := sha256.Sum256([]byte(`{"twoPersons":"bank"}`))
	policy := fmt.Sprintf(`{"act":"policy.activated","subject":"person:olga","number":4,"policySha256":"%x","reason":null}`, digest)
	_, err = check(`{"kind":"policy.activated","policy":{"twoPersons":"bank"},"reason":null,"passkey":` + olga.member(policy) + `}`)
	require.NoError(t, err)
	_, err = check(`{"kind":"policy.activated","policy":{"twoPersons":[]},"reason":null,"passkey":` + olga.member(policy) + `}`)
	require.ErrorIs(t, err, ErrProof)
}

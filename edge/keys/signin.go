package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// Signed is a person whom an identity provider named.
type Signed struct {
	Issuer  string
	Subject string // The provider's own name for the person.
	Name    string // What the provider calls the person.
	Roles   uint16
	Flow    [32]byte // Names the sign-in: it is good once.
	Until   engine.Time
}

// errSigned is a person whom no key can name.
var errSigned = errors.New("the provider's name for the person is too long or empty")

// SignIn builds the record that lets a person in, and draws the secret of the session.
func SignIn(s *Signed, node string) (record *wire.SignIn, secret string, err error) {
	identity := s.Issuer + "#" + s.Subject
	alias := engine.PersonKey(s.Name)
	if s.Issuer == "" || s.Subject == "" || alias == "" || len(identity) > 2*engine.FieldMax || len(s.Name) > engine.FieldMax || len(alias)+1+subjectDigits > engine.FieldMax {
		return nil, "", errSigned
	}
	secret = seal.NewAPISecret()
	digest := sha256.Sum256([]byte(identity))
	key := wire.APIKey{
		ID: seal.NewKeyID(), Name: s.Name, Prefix: seal.KeyPrefix(secret), Hashes: [][]byte{seal.HashAPISecret(secret)}, Roles: s.Roles, ExpiresAt: s.Until,
		Person: s.Name, PersonKey: alias + "#" + hex.EncodeToString(digest[:subjectDigits/2]), SignedIn: identity, Alias: alias,
	}
	var m strictjson.Members
	m.Text("person", s.Name)
	m.Texts("roles", edge.RoleList(s.Roles))
	m.Text("issuer", s.Issuer)
	m.Text("providerSubject", s.Subject)
	m.Text("node", node)
	flow := sha256.Sum256(append([]byte("sign-in "), s.Flow[:]...))
	return &wire.SignIn{
		Common: wire.Common{Fragment: m, Idem: &wire.Idem{Key: [16]byte(flow[:16]), Body: [16]byte(flow[16:]), Looked: wire.NeverUsed}},
		Key:    key,
	}, secret, nil
}

// subjectDigits is how many hexadecimal digits of the hash of a provider's name for a person stand
// behind what it calls the person: people read the name, and no two persons have the same digits.
const subjectDigits = 16

// Reinstate lets a person sign in again whom somebody ended.
func Reinstate(id string) APIKeyChange {
	return APIKeyChange{op: wire.KeyReinstate, key: wire.APIKey{ID: id}}
}

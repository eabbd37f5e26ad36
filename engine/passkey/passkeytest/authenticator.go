package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
)

// Authenticator has one passkey. Its person is there and verified.
type Authenticator struct {
	ID     []byte
	Origin string // Of the page that asks it: a scheme and a host.
	Site   string // The host to which the passkey belongs.
	Count  uint32 // How often it signed.

	private *ecdsa.PrivateKey
}

// Said is what the browser and the authenticator say. A test changes it before it is signed.
type Said struct {
	ID     []byte
	Client map[string]any // The client data.
	Site   string
	Flags  byte
	Count  uint32
}

// The flags of a person who is there, and who is verified.
const (
	Present  = 0x01
	Verified = 0x04
)

// New makes an authenticator whose passkey belongs to a site and is asked for by its pages.
func New(origin, site string) *Authenticator {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	a := &Authenticator{ID: make([]byte, 20), Origin: origin, Site: site, private: private}
	_, _ = rand.Read(a.ID) // Never fails (crypto/rand).
	return a
}

// Name is the passkey's id as the service names it.
func (a *Authenticator) Name() string { return encode(a.ID) }

// Sign signs a challenge, and returns the header of the call. change, which may be nil, makes it lie.
func (a *Authenticator) Sign(challenge string, change func(*Said)) string {
	return encode(a.assert(challenge, change))
}

// assert returns an assertion in JSON.
func (a *Authenticator) assert(challenge string, change func(*Said)) []byte {
	a.Count++
	said := &Said{
		ID: a.ID, Client: map[string]any{"type": "webauthn.get", "challenge": challenge, "origin": a.Origin, "crossOrigin": false},
		Site: a.Site, Flags: Present | Verified, Count: a.Count,
	}
	if change != nil {
		change(said)
	}
	client := marshal(said.Client)
	site := sha256.Sum256([]byte(said.Site))
	data := binary.BigEndian.AppendUint32(append(site[:], said.Flags), said.Count)
	ofClient := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte(nil), data...), ofClient[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.private, digest[:])
	if err != nil {
		panic(err)
	}
	return marshal(map[string]string{"credentialId": encode(said.ID), "clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature)})
}

// Register returns the body that registers the passkey under a name. change makes its proof lie.
func (a *Authenticator) Register(name string, change func(*Said)) string {
	key, err := x509.MarshalPKIXPublicKey(&a.private.PublicKey)
	if err != nil {
		panic(err)
	}
	statement := `{"act":"passkey.added","passkeyId":` + string(marshal(a.Name())) + `,"name":` + string(marshal(name)) + `}`
	challenge := sha256.Sum256([]byte("railguard passkey statement 1\n" + statement))
	proof := json.RawMessage(a.assert(encode(challenge[:]), change))
	return string(marshal(map[string]any{"name": name, "passkeyId": a.Name(), "publicKey": encode(key), "proof": proof}))
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func marshal(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

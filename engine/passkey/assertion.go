package passkey

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/url"

	"railguard/engine/jws"
	"railguard/engine/possession"
)

// Bounds of what an authenticator and a browser send, in bytes.
const (
	IDMax         = 256
	ClientDataMax = 2048
	DataMax       = 1024
	SignatureMax  = 128 // An ECDSA signature of P-256 in DER has 72 at most.
	SiteMax       = 253
)

// Passkey is a registered passkey.
type Passkey struct {
	ID   []byte // Its credential id.
	Key  []byte // Its public key as possession.OpenKey reads it.
	Site string // The host whose pages may ask for it: the relying party's id.
}

// Assertion is what an authenticator signed.
type Assertion struct {
	ID                []byte
	ClientData        []byte // JSON, as the browser made it.
	AuthenticatorData []byte
	Signature         []byte
}

// Bits of the flags in authenticator data (WebAuthn 3, section 6.1), and the lengths of its parts.
const (
	flagPresent  = 0x01
	flagVerified = 0x04

	siteHashSize = sha256.Size
	dataMin      = siteHashSize + 1 + 4
)

// The faults of an assertion.
var (
	ErrForm      = errors.New("passkey: no assertion")
	ErrOther     = errors.New("passkey: of another passkey")
	ErrChallenge = errors.New("passkey: something else was signed")
	ErrSite      = errors.New("passkey: signed on another site")
	ErrPerson    = errors.New("passkey: the person was not verified")
	ErrSignature = errors.New("passkey: the signature is not this passkey's")
	ErrKey       = errors.New("passkey: no public key of a passkey")
)

// mark stands before a statement, so that what is signed here is no other protocol's.
const mark = "railguard passkey statement 1\n"

// Challenge returns what a passkey signs for a statement.
func Challenge(statement []byte) [32]byte {
	return sha256.Sum256(append([]byte(mark), statement...))
}

// Encode writes bytes as browsers do: base64url without padding.
func Encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// Decode reads base64url without padding, in one way alone, of at most so many bytes.
func Decode(text string, most int) ([]byte, error) {
	if len(text) == 0 || len(text) > base64.RawURLEncoding.EncodedLen(most) {
		return nil, ErrForm
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, ErrForm
	}
	return data, nil
}

// Check tells whether an assertion is the passkey's over a statement. nil: it is.
func (p *Passkey) Check(a *Assertion, statement []byte) error {
	key, err := possession.OpenKey(p.Key)
	switch {
	case err != nil || p.Site == "" || len(p.Site) > SiteMax:
		return ErrKey
	case len(a.ID) == 0 || len(a.ID) > IDMax || len(a.ClientData) > ClientDataMax || len(a.AuthenticatorData) < dataMin || len(a.AuthenticatorData) > DataMax || len(a.Signature) > SignatureMax:
		return ErrForm
	case !bytes.Equal(a.ID, p.ID):
		return ErrOther
	}
	if err := p.checkClientData(a.ClientData, statement); err != nil {
		return err
	}
	site := sha256.Sum256([]byte(p.Site))
	flags := a.AuthenticatorData[siteHashSize]
	switch {
	case !bytes.Equal(a.AuthenticatorData[:siteHashSize], site[:]):
		return ErrSite
	case flags&flagPresent == 0 || flags&flagVerified == 0:
		return ErrPerson
	}
	digest := sha256.Sum256(a.ClientData)
	signed := append(append([]byte(nil), a.AuthenticatorData...), digest[:]...)
	if !key.SignedASN1(signed, a.Signature) {
		return ErrSignature
	}
	return nil
}

// checkClientData judges what the browser says: that its page asked for an assertion over this
// challenge, on this site, and not from within a page of another.
func (p *Passkey) checkClientData(data, statement []byte) error {
	said, err := jws.ReadObject(data)
	if err != nil || said.TextOf("type") != "webauthn.get" {
		return ErrForm
	}
	challenge := Challenge(statement)
	if said.TextOf("challenge") != Encode(challenge[:]) {
		return ErrChallenge
	}
	if cross := said.Member("crossOrigin"); cross != nil && cross.Kind != 'f' || said.Member("topOrigin") != nil {
		return ErrSite
	}
	if SiteOf(said.TextOf("origin")) != p.Site {
		return ErrSite
	}
	return nil
}

// Count returns how often the authenticator says that it signed; 0: it does not count. It is not judged.
func (a *Assertion) Count() uint32 {
	if len(a.AuthenticatorData) < dataMin {
		return 0
	}
	return binary.BigEndian.Uint32(a.AuthenticatorData[siteHashSize+1 : dataMin])
}

// Origin returns the origin that an assertion names, "" if none can be read. It is not judged.
func (a *Assertion) Origin() string {
	if len(a.ClientData) > ClientDataMax {
		return ""
	}
	said, err := jws.ReadObject(a.ClientData)
	if err != nil {
		return ""
	}
	return said.TextOf("origin")
}

// SiteOf returns the host of an origin whose pages a browser lets use passkeys, else "".
func SiteOf(origin string) string {
	address, err := url.Parse(origin)
	if err != nil || address.Host == "" || address.User != nil || origin != address.Scheme+"://"+address.Host {
		return ""
	}
	host := address.Hostname()
	if address.Scheme == "https" || address.Scheme == "http" && host == "localhost" {
		return host
	}
	return ""
}

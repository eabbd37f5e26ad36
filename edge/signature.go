package edge

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/engine/passkey"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// What a person signs with a passkey is a statement: one JSON object that says the act by the kind of
// its leaf, who signs it, its number, and what is decided, by the names and with the values that the
// leaf has. So whoever holds the leaf compares it with what was signed, without this service.

// Statement is what is decided, as a person signs it.
type Statement struct {
	Act  string             // The kind of the act's leaf.
	Said strictjson.Members // Members that the leaf has too; of one named xSha256 the leaf has x.
	Many bool               // It is about several records, of which each leaf has one.
}

// Offer is a statement that a caller may sign.
type Offer struct {
	Statement []byte
	Passkeys  []string // The ids of the caller's passkeys that count.
	Waits     bool     // The caller has passkeys that do not count yet.
}

// Names of the members of leaves that hold what was signed: by whoever did or proposed the act, and by
// the second person.
const (
	SignedMember   = "passkey"
	SecondMember   = "secondPasskey"
	assertionMax   = 8 * engine.KiB
	assertionTexts = 8 // JSON values of an assertion.
)

// Sign puts what the caller signed into a fragment, as the member of a name. It returns nil if the
// caller signed nothing: whether that is enough, the log decides.
func (j *Judge) Sign(fragment *strictjson.Members, member string, s Statement) (*wire.Signed, error) {
	settings := j.Terms.Settings
	subject := j.Subject()
	offer := &Offer{Statement: s.text(subject, fsm.NextStatement(settings.Passkeys, subject))}
	for _, p := range settings.Passkeys {
		if p.Subject == subject && j.LogTime() >= p.CountsFrom {
			offer.Passkeys = append(offer.Passkeys, passkey.Encode(p.ID))
		}
		offer.Waits = offer.Waits || p.Subject == subject && j.LogTime() < p.CountsFrom
	}
	j.call.Offered = offer
	if j.call.Passkey == "" {
		return nil, nil
	}
	a, err := readAssertion(j.call.Passkey)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(settings.Passkeys, func(p *wire.Passkey) bool { return p.Subject == subject && string(p.ID) == string(a.ID) })
	if at < 0 {
		return nil, notSigned("the passkey is none of yours")
	}
	p := settings.Passkeys[at]
	statement, known := offer.Statement, passkey.Passkey{ID: p.ID, Key: p.Key, Site: p.Site}
	err = known.Check(a, statement)
	if before := s.text(subject, p.Number); errors.Is(err, passkey.ErrChallenge) && p.Last == passkey.Challenge(before) { // The same call again.
		statement, err = before, known.Check(a, before)
	}
	if err != nil {
		return nil, notSigned(strings.TrimPrefix(err.Error(), "passkey: "))
	}
	if !j.KnowsOrigin(a.Origin()) {
		return nil, notSigned("signed on a page that is not this service's")
	}
	fragment.Object(member, AssertionMembers(a, statement))
	number := p.Number
	if string(statement) == string(offer.Statement) {
		number = fsm.NextStatement(settings.Passkeys, subject)
	}
	return &wire.Signed{Passkey: fsm.PasskeyHash(p.ID), Number: number, Digest: passkey.Challenge(statement), Many: s.Many, Count: a.Count()}, nil
}

// notSigned refuses what a person signed. Another state may see it otherwise.
func notSigned(why string) *Refusal {
	return &Refusal{Code: "passkey_refused", Message: "what was signed does not count: " + why, Changeable: true}
}

// text returns the statement as it is signed.
func (s *Statement) text(subject string, number uint64) []byte {
	var m strictjson.Members
	m.Text("act", s.Act)
	m.Text("subject", subject)
	m.Uint("number", number)
	m.Join(s.Said)
	return append(append([]byte{'{'}, m...), '}')
}

// Subject returns whom the caller's key acts for.
func (j *Judge) Subject() string {
	row := j.call.Caller.Key.Row
	if keys := j.Terms.Settings.Keys; row > 0 && int(row) <= len(keys) {
		return keys[row-1].Subject().String()
	}
	return wire.Subject{}.String()
}

// readAssertion reads an assertion as a caller sends it: base64url of a JSON object.
func readAssertion(text string) (*passkey.Assertion, error) {
	data, err := passkey.Decode(text, assertionMax)
	if err != nil {
		return nil, notSigned("it cannot be read")
	}
	var document strictjson.Document
	if err := document.Read(data, assertionTexts); err != nil {
		return nil, notSigned("it cannot be read")
	}
	f := document.Fields()
	return ReadAssertion(&f)
}

// ReadAssertion reads the members of an assertion.
func ReadAssertion(f *strictjson.Fields) (*passkey.Assertion, error) {
	a := new(passkey.Assertion)
	for _, member := range []struct {
		name string
		into *[]byte
		most int
	}{
		{"credentialId", &a.ID, passkey.IDMax}, {"clientDataJSON", &a.ClientData, passkey.ClientDataMax},
		{"authenticatorData", &a.AuthenticatorData, passkey.DataMax}, {"signature", &a.Signature, passkey.SignatureMax},
	} {
		var err error
		if *member.into, err = passkey.Decode(f.RequiredText(member.name, 2*member.most), member.most); err != nil {
			return nil, notSigned(member.name + " is not base64url")
		}
	}
	return a, nil
}

// AssertionMembers writes an assertion with what it is over, as leaves have it.
func AssertionMembers(a *passkey.Assertion, statement []byte) (m strictjson.Members) {
	m.Text("credentialId", passkey.Encode(a.ID))
	m.Text("clientDataJSON", passkey.Encode(a.ClientData))
	m.Text("authenticatorData", passkey.Encode(a.AuthenticatorData))
	m.Text("signature", passkey.Encode(a.Signature))
	m.Text("statement", string(statement))
	return m
}

// KnowsOrigin tells whether an origin is one of this service's: the public address, another name of
// it, or, in development, any port of this machine.
func (j *Judge) KnowsOrigin(origin string) bool {
	signing := j.Terms.Signing
	if signing == nil {
		return false
	}
	if signing.genesis.Dev && passkey.SiteOf(origin) == "localhost" {
		return true
	}
	scheme, host, found := strings.Cut(origin, "://")
	return found && scheme == signing.scheme && slices.Contains(signing.known, host)
}

// Hashed writes a member of a statement that is the hash of what the leaf has.
func Hashed(m *strictjson.Members, name string, raw []byte) {
	digest := sha256.Sum256(raw)
	m.Hex(name+"Sha256", digest[:])
}

// RecordedSigned is Recorded for an act that the caller may sign.
func (j *Judge) RecordedSigned(fragment strictjson.Members, s Statement, filters ...uint64) (wire.Common, error) {
	signed, err := j.Sign(&fragment, SignedMember, s)
	if err != nil {
		return wire.Common{}, err
	}
	common, err := j.Recorded(fragment, filters...)
	common.Signed = signed
	return common, err
}

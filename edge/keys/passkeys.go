package keys

import (
	"crypto/x509"
	"net/url"

	"railguard/edge"
	"railguard/engine"
	"railguard/engine/passkey"
	"railguard/engine/possession"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Registration is a passkey that its owner registers. The authenticator proves that it has the private
// key by signing the registration itself, so an attestation is not asked for.
type Registration struct {
	passkey wire.Passkey
	proof   *passkey.Assertion
}

// spkiMax is the longest public key that is read, in bytes.
const spkiMax = 512

// ReadRegistration reads a new passkey as a browser gives it: its id, its public key
// (SubjectPublicKeyInfo), and what it signed over the registration.
func ReadRegistration(f *strictjson.Fields) (Registration, error) {
	r := Registration{passkey: wire.Passkey{Name: f.RequiredName("name")}}
	if len(r.passkey.Name) > engine.FieldMax {
		f.Invalid("name", "must have at most 256 bytes")
	}
	id, err := passkey.Decode(f.RequiredText("passkeyId", 2*passkey.IDMax), passkey.IDMax)
	if err != nil {
		f.Invalid("passkeyId", "must be base64url")
	}
	r.passkey.ID = id
	spki, err := passkey.Decode(f.RequiredText("publicKey", 2*spkiMax), spkiMax)
	if err == nil {
		var public any
		if public, err = x509.ParsePKIXPublicKey(spki); err == nil {
			var key *possession.Key
			if key, err = possession.KeyFrom(public); err == nil {
				r.passkey.Key = key.AppendForm(nil)
			}
		}
	}
	if err != nil {
		f.Invalid("publicKey", "must be a public key of P-256 or Ed25519 (SubjectPublicKeyInfo, base64url)")
	}
	inner, given := f.Nested("proof")
	if !given {
		f.Missing("proof")
		return r, f.Err()
	}
	if err := f.Err(); err != nil {
		return r, err
	}
	r.proof, err = edge.ReadAssertion(&inner)
	return r, err
}

// RegistrationStatement is what a new passkey signs about itself.
func RegistrationStatement(id []byte, name string) []byte {
	var m strictjson.Members
	m.Text("act", leaf.KindPasskeyAdded)
	m.Text("passkeyId", passkey.Encode(id))
	m.Text("name", name)
	return append(append([]byte{'{'}, m...), '}')
}

// Record builds the record. A passkey that counts already may vouch for the new one, which counts at
// once then.
func (r *Registration) Record(j *edge.Judge) (*wire.PasskeyPut, error) {
	p := r.passkey
	p.Count = r.proof.Count()
	if origin, err := url.Parse(r.proof.Origin()); err == nil {
		p.Site = origin.Hostname()
	}
	statement := RegistrationStatement(p.ID, p.Name)
	known := passkey.Passkey{ID: p.ID, Key: p.Key, Site: p.Site}
	if err := known.Check(r.proof, statement); err != nil {
		return nil, edge.InvalidField("proof", "does not prove the passkey: "+err.Error())
	}
	if !j.KnowsOrigin(r.proof.Origin()) {
		return nil, edge.InvalidField("proof", "was made on a page that is not this service's")
	}
	var m, said strictjson.Members
	m.Text("passkeyId", passkey.Encode(p.ID))
	m.Text("name", p.Name)
	said.Join(m)
	m.Text("publicKey", passkey.Encode(p.Key))
	m.Text("site", p.Site)
	m.Object("proof", edge.AssertionMembers(r.proof, statement))
	common, err := j.RecordedSigned(m, edge.Statement{Act: leaf.KindPasskeyAdded, Said: said})
	return &wire.PasskeyPut{Common: common, Op: wire.PasskeyAdd, Passkey: p}, err
}

// RemovePasskey builds the record that removes a passkey.
func RemovePasskey(j *edge.Judge, id []byte) (*wire.PasskeyPut, error) {
	var m strictjson.Members
	m.Text("passkeyId", passkey.Encode(id))
	common, err := j.Recorded(m)
	return &wire.PasskeyPut{Common: common, Op: wire.PasskeyRemove, Passkey: wire.Passkey{ID: id}}, err
}

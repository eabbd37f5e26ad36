package keys

import (
	"slices"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// PersonEnd ends the person whom a key names: keys, sign-ins, sessions, passkeys, claims and proposals.
type PersonEnd struct {
	keyID  string
	reason string
}

// ReadPersonEnd reads why a person is ended. keyID is one of the person's keys.
func ReadPersonEnd(f *strictjson.Fields, keyID string) (PersonEnd, error) {
	return PersonEnd{keyID, f.Text("reason", engine.TextMax)}, f.Err()
}

// Record builds the record.
func (p *PersonEnd) Record(j *edge.Judge) (*wire.PersonEnd, error) {
	all := j.Terms.Settings.Keys
	at := slices.IndexFunc(all, func(key *wire.APIKey) bool { return key.ID == p.keyID })
	if at < 0 {
		return nil, edge.NotFound("no such key")
	}
	var m strictjson.Members
	m.Text("ofKey", p.keyID)
	m.TextOrNull("person", all[at].Person)
	m.TextOrNull("reason", p.reason)
	common, err := j.RecordedSigned(m, edge.Statement{Act: leaf.KindPersonEnded, Said: slices.Clone(m)})
	return &wire.PersonEnd{Common: common, KeyID: p.keyID}, err
}

package leaf

import (
	"encoding/json"

	"railguard/engine"
)

// SignedIn is a person whom the identity provider named, and who was let in.
type SignedIn struct {
	Key
	Subject string      `leaf:"subject" event:"4" doc:"whom the key acts for"`
	Widened bool        `leaf:"widened,omitempty" event:"6" doc:"the person is new here, or has a role that the last sign-in did not give"`
	Until   engine.Time `leaf:"until" event:"5" doc:"when the session ends at the latest"`

	Person   string   `leaf:"person,edge" event:"3" doc:"what the provider calls the person"`
	Roles    []string `leaf:"roles,edge" event:"7"`
	Issuer   string   `leaf:"issuer,edge" event:"8" doc:"the provider"`
	Provided string   `leaf:"providerSubject,edge" event:"9" doc:"the provider's own name for the person"`
}

// PasskeyAdded is a passkey that a person registered. Its proof says that the authenticator has the
// private key: it signed the registration itself.
type PasskeyAdded struct {
	Subject    string      `leaf:"subject" event:"1" doc:"whose it is"`
	CountsFrom engine.Time `leaf:"countsFrom" event:"2" doc:"before, nothing that it signs counts"`

	PasskeyID string `leaf:"passkeyId,edge" event:"3" doc:"its credential id, base64url"`
	Name      string `leaf:"name,edge" event:"4"`
	PublicKey string `leaf:"publicKey,edge" doc:"base64url: a byte for the kind (1 P-256, 2 Ed25519), then the point"`
	Site      string `leaf:"site,edge" doc:"the host on whose pages it signs"`
}

// PasskeyRemoved is a passkey that signs nothing any more.
type PasskeyRemoved struct {
	Subject string `leaf:"subject" event:"1" doc:"whose it was"`

	PasskeyID string `leaf:"passkeyId,edge" event:"2"`
}

// PersonEnded is a person who acts here no more: with one act ended the keys, sessions and passkeys,
// and what the person had claimed or proposed was free again.
type PersonEnded struct {
	Subject   string   `leaf:"subject" event:"1" doc:"whom"`
	KeyIDs    []string `leaf:"keyIds" event:"2" doc:"keys and sign-ins that ended with it; the first 100"`
	Keys      uint32   `leaf:"keys" event:"3" doc:"how many these are"`
	Passkeys  uint32   `leaf:"passkeys" event:"4" doc:"how many sign nothing any more"`
	Claims    uint32   `leaf:"claims" event:"5" doc:"how many claims were given back"`
	Proposals uint32   `leaf:"proposals" event:"6" doc:"how many of the person's proposals lapsed"`
	Persons

	OfKey  string `leaf:"ofKey,edge" event:"7" doc:"the key by which the person was named"`
	Person string `leaf:"person,edge" event:"8" doc:"whom that key names"`
	Reason string `leaf:"reason,edge"`
}

// KeyChanged is a key that was made, rotated or revoked.
type KeyChanged struct {
	Key
	Owner string `leaf:"owner,omitempty" event:"9" doc:"an operator or a caller; else the institution"`
	Persons

	ExpiresAt json.RawMessage `leaf:"expiresAt,edge" event:"3"`
}

// Looked says that somebody looked at something, or asked, on one node within one hour.
type Looked struct {
	Look         string      `leaf:"look" event:"1" doc:"suspicion, records, export, names, match, sign_in, admin_token, dry_run or probe"`
	KeyID        string      `leaf:"keyId,omitempty" event:"2" doc:"but of the admin token"`
	Subject      string      `leaf:"subject,omitempty" event:"9" doc:"whom the key acts for: its person, or the key"`
	Node         string      `leaf:"node" event:"3"`
	Hour         engine.Time `leaf:"hour" event:"4" doc:"when it began"`
	Count        uint32      `leaf:"count" event:"5" doc:"several leaves of an hour add up"`
	FirstAddress string      `leaf:"firstAddress,omitempty" event:"6"`
	LastAddress  string      `leaf:"lastAddress,omitempty" event:"7"`
	UID          uint32      `leaf:"uid,omitempty" event:"8" doc:"of a probe: the listed party that the names come near"`
	Reason       string      `leaf:"reason,omitempty" event:"10" doc:"of an export: why, as the caller said"`
}

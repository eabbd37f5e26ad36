package examine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railguard/engine/passkey"
	"railguard/fsm/leaf"
)

// Signed counts what persons signed with passkeys (decision 151).
type Signed struct {
	Proven   int `json:"proven"`     // Signed by a passkey whose registration the file shows.
	NotShown int `json:"notShown"`   // Signed by a passkey whose registration the file does not show: what was signed is compared, the signature is not.
	Passkeys int `json:"registered"` // Registrations in the file.
	Demanded int `json:"demanded"`   // Acts that the policy then in force wanted signed.
	Lacking  int `json:"lacking"`    // Those of them that are not signed; a file with one is refused.
	Open     int `json:"unknown"`    // Acts without a signature of which the file does not show whether one was demanded.
}

// registered is a passkey as its registration tells of it.
type registered struct {
	passkey.Passkey
	subject string
}

// assertion is what a leaf holds of a signature.
type assertion struct {
	CredentialID, ClientDataJSON, AuthenticatorData, Signature, Statement string
}

// checkPasskeys checks what the leaf of a record says that persons signed: that each signature is over
// the statement that stands beside it, that the statement says what the leaf says, and, if the
// registration of the passkey is in the file before, that this passkey made it. It needs nothing but
// the leaves.
func (x *examiner) checkPasskeys(r *Record) error {
	if leaf.FormOf(r.stored) != leaf.FormEvent || !bytes.Contains(r.stored, []byte(`"statement":`)) {
		return nil
	}
	var l map[string]json.RawMessage
	if err := json.Unmarshal(r.stored, &l); err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrFormat, r.Index, err)
	}
	if textOf(l["kind"]) == leaf.KindPasskeyAdded {
		if err := x.register(r, l); err != nil {
			return err
		}
	}
	for _, member := range []string{signedMember, secondMember} {
		raw, given := l[member]
		if !given {
			continue
		}
		if err := x.checkSigned(l, member, raw); err != nil {
			return fmt.Errorf("%w: record %d: %s: %w", ErrProof, r.Index, member, err)
		}
	}
	return nil
}

// register takes a passkey over from its registration, which it signed itself.
func (x *examiner) register(r *Record, l map[string]json.RawMessage) error {
	id, idErr := passkey.Decode(textOf(l["passkeyId"]), passkey.IDMax)
	key, keyErr := passkey.Decode(textOf(l["publicKey"]), passkey.IDMax)
	known := registered{passkey.Passkey{ID: id, Key: key, Site: textOf(l["site"])}, textOf(l["subject"])}
	a, statement, err := readAssertion(l["proof"])
	switch {
	case idErr != nil || keyErr != nil:
		err = passkey.ErrKey
	case err == nil:
		if err = known.Check(a, statement); err == nil {
			err = compareStatement(l, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: record %d: the registered passkey: %w", ErrProof, r.Index, err)
	}
	if x.passkeys == nil {
		x.passkeys = map[string]registered{}
	}
	x.passkeys[string(id)] = known
	x.Signed.Passkeys++
	return nil
}

func (x *examiner) checkSigned(l map[string]json.RawMessage, member string, raw json.RawMessage) error {
	a, statement, err := readAssertion(raw)
	if err != nil {
		return err
	}
	if err := compareStatement(l, statement); err != nil {
		return err
	}
	if err := signedByActor(l, member, statement); err != nil {
		return err
	}
	known, shown := x.passkeys[string(a.ID)]
	if !shown {
		challenge := passkey.Challenge(statement)
		if !bytes.Contains(a.ClientData, []byte(`"challenge":"`+passkey.Encode(challenge[:])+`"`)) {
			return passkey.ErrChallenge
		}
		x.Signed.NotShown++
		return nil
	}
	var said struct{ Subject string }
	if err := json.Unmarshal(statement, &said); err != nil || said.Subject != known.subject {
		return fmt.Errorf("%w: the statement is %s's", passkey.ErrOther, said.Subject)
	}
	if err := known.Check(a, statement); err != nil {
		return err
	}
	x.Signed.Proven++
	return nil
}

func readAssertion(raw json.RawMessage) (*passkey.Assertion, []byte, error) {
	var said assertion
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, nil, passkey.ErrForm
	}
	a := new(passkey.Assertion)
	for _, part := range []struct {
		text string
		into *[]byte
		most int
	}{
		{said.CredentialID, &a.ID, passkey.IDMax}, {said.ClientDataJSON, &a.ClientData, passkey.ClientDataMax},
		{said.AuthenticatorData, &a.AuthenticatorData, passkey.DataMax}, {said.Signature, &a.Signature, passkey.SignatureMax},
	} {
		var err error
		if *part.into, err = passkey.Decode(part.text, part.most); err != nil {
			return nil, nil, err
		}
	}
	return a, []byte(said.Statement), nil
}

// hashSuffix ends the name of a member of a statement that has the SHA-256 of the leaf's member.
const hashSuffix = "Sha256"

// compareStatement holds what was signed against what the leaf says, member by member.
func compareStatement(l map[string]json.RawMessage, statement []byte) error {
	var said map[string]json.RawMessage
	if err := json.Unmarshal(statement, &said); err != nil {
		return passkey.ErrForm
	}
	if !isActOf(l, textOf(said["act"])) {
		return fmt.Errorf("%w: the act %s", passkey.ErrChallenge, said["act"])
	}
	compared := 0
	for name, value := range said {
		var same bool
		switch of, hashed := strings.CutSuffix(name, hashSuffix); {
		case name == "act", name == "number", name == "subject":
			continue
		case name == "txnIds":
			var ids []string
			same = json.Unmarshal(value, &ids) == nil && slices.Contains(ids, textOf(l["txnId"]))
		case hashed:
			digest := sha256.Sum256(l[of])
			same = l[of] != nil && textOf(value) == hex.EncodeToString(digest[:])
		default:
			same = bytes.Equal(value, l[name])
		}
		if !same {
			return fmt.Errorf("%w: %s", passkey.ErrChallenge, name)
		}
		compared++
	}
	if compared == 0 {
		return fmt.Errorf("%w: it says nothing", passkey.ErrChallenge)
	}
	return nil
}

// isActOf tells whether a statement's act is what the leaf tells of, or proposes.
func isActOf(l map[string]json.RawMessage, act string) bool {
	switch kind := textOf(l["kind"]); kind {
	case leaf.KindProposed:
		return act == leaf.KindDispositioned
	case leaf.KindActProposed:
		return act == textOf(l["act"])
	default:
		return act == kind || act == "confirm" && l["proposedLeaf"] != nil
	}
}

func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

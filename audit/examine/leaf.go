package examine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// Record is the part of a leaf that people read. Members that its kind lacks are empty.
type Record struct {
	Index       uint64          `json:"index"` // Index among the log's leaves.
	Kind        string          `json:"kind"`
	Time        string          `json:"time"`
	TxnID       string          `json:"txnId,omitempty"`
	Verdict     string          `json:"verdict,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	AgentID     string          `json:"agentId,omitempty"`
	AgentName   string          `json:"agentName,omitempty"`
	Amount      string          `json:"amount,omitempty"` // As it was written in the request.
	Disposition string          `json:"disposition,omitempty"`
	By          string          `json:"by,omitempty"` // The person who decided or commented.
	Comment     string          `json:"comment,omitempty"`
	Hash        note.Hash       `json:"-"`
	Raw         json.RawMessage `json:"-"` // The leaf as JSON.

	stored   []byte
	unread   bool          // This program does not know the leaf's rule set.
	profiles leafjson.Load // For a screening record: loads the profiles that it names.
	payment  []byte        // For a payment that was confirmed or redeemed: its own record; nil if it was not in the file.
	sequence uint64        // Its number among the records about its agent; 0: none.
	previous uint64        // The leaf of the record about the agent before it.
	about    *uint64       // The screening record that it is about; nil: none.
	before   *uint64       // The leaf about that record before it.
}

// Screen decodes a screening record, or the judgement of a payment that was confirmed or redeemed,
// with the profiles it names. It returns nil for any other record. Call it only during Visit: the
// profiles are forgotten later.
func (r *Record) Screen() (*leafjson.Screen, error) {
	if isPaid(r.Kind) {
		return r.paid()
	}
	if leaf.FormOf(r.stored) != leaf.FormScreen {
		return nil, nil
	}
	x := new(leafjson.Screen)
	if err := x.Open(r.stored); err != nil {
		return nil, err
	}
	return x, x.Load(r.profiles)
}

// Stored returns the bytes of the leaf, for a reader that knows their form. They are the file's:
// keep a copy, not them.
func (r *Record) Stored() []byte { return r.stored }

// hashLeaf returns the leaf hash of a leaf's bytes.
func hashLeaf(data []byte) note.Hash { return proof.LeafHash(data) }

// leafBytes returns the bytes of a leaf from a file: an event is its text, any other form is
// in base64.
func leafBytes(text string) ([]byte, error) {
	if strings.HasPrefix(text, string(rune(leaf.FormEvent))) {
		return []byte(text), nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(data) != text || leaf.FormOf(data) == leaf.FormEvent {
		return nil, errors.New("its bytes are neither an event nor in base64")
	}
	return data, nil
}

// shownAs returns an error unless the readable record in a file follows from the leaf's bytes
// by the rule set that they name. If this program does not know that rule set, it checks only
// the members that do not depend on it.
func shownAs(said json.RawMessage, record *Record) error {
	compare := SameValue
	if record.unread {
		compare = holdsValues
	}
	if !compare(said, record.Raw) {
		return errors.New("the readable record is not what its bytes say")
	}
	return nil
}

// readLeaf decodes the bytes of a leaf with the profiles it names. Only readLeaf, leafBytes
// and hashLeaf depend on the form of the bytes.
func readLeaf(stored []byte, profiles leafjson.Load) (*Record, error) {
	data, err := leafjson.Render(stored, profiles)
	unread := errors.Is(err, leaf.ErrRuleSet)
	if err != nil && !unread {
		return nil, fmt.Errorf("%w: its bytes are of no form that this program can read", ErrRelease)
	}
	var l struct {
		Leaf                                     *uint64
		Kind, Time, ScreenedAt, TxnID            string
		Verdict, AgentID, AgentName, Disposition string
		Rule                                     *string
		ReviewedBy, By, Comment                  string
		ReviewedLeaf, ScreenedLeaf               *uint64
		RecordPrevious                           *uint64
		AgentSequence, AgentPrevious             uint64
		Request                                  struct{ Amount json.RawMessage } `json:"_request"`
	}
	if err := json.Unmarshal(data, &l); err != nil || l.Leaf == nil || l.Kind == "" {
		return nil, fmt.Errorf("%w: its bytes are not a record", ErrFormat)
	}
	if leaf.FormOf(stored) == leaf.FormEvent {
		if _, _, err := leaf.Read(stored); err != nil { // Checks that every member has the type that its kind demands.
			return nil, fmt.Errorf("%w: its bytes are of no form that this program can read: %w", ErrRelease, err)
		}
	}
	r := &Record{
		Index: *l.Leaf, Kind: l.Kind, Time: l.Time, TxnID: l.TxnID, Verdict: l.Verdict, AgentID: l.AgentID,
		AgentName: l.AgentName, Amount: string(l.Request.Amount), Disposition: l.Disposition, By: l.ReviewedBy,
		Comment: l.Comment, Raw: data, stored: stored, unread: unread, profiles: profiles, about: l.ReviewedLeaf, before: l.RecordPrevious,
		sequence: l.AgentSequence, previous: l.AgentPrevious,
	}
	if l.Kind == leaf.KindScreen {
		r.Time = l.ScreenedAt
	}
	if r.about == nil {
		r.about = l.ScreenedLeaf
	}
	if l.Rule != nil {
		r.Rule = *l.Rule
	}
	if r.By == "" {
		r.By = l.By
	}
	if r.Time == "" {
		return nil, fmt.Errorf("%w: its bytes are not a record", ErrFormat)
	}
	return r, nil
}

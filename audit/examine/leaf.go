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

// Record is what a person reads of a leaf. Members that its kind has not are
// empty.
type Record struct {
	Index       uint64          `json:"index"` // Among the log's leaves.
	Kind        string          `json:"kind"`
	Time        string          `json:"time"`
	TxnID       string          `json:"txnId,omitempty"`
	Verdict     string          `json:"verdict,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	AgentID     string          `json:"agentId,omitempty"`
	AgentName   string          `json:"agentName,omitempty"`
	Amount      string          `json:"amount,omitempty"` // The literal of the request.
	Disposition string          `json:"disposition,omitempty"`
	By          string          `json:"by,omitempty"` // Who dispositioned or commented.
	Comment     string          `json:"comment,omitempty"`
	Hash        note.Hash       `json:"-"`
	Raw         json.RawMessage `json:"-"` // The leaf as JSON.

	stored   []byte
	unread   bool          // Of a rule set that this program does not know.
	profiles leafjson.Load // Of a screening record: those it names.
	sequence uint64        // Of an agent's decision: its number among the agent's, 0: none;
	previous uint64        // and the leaf of the one before.
	reviewed *uint64       // Of a review's events: the index of the record they speak of.
}

// Screen opens a screening record with the profiles it names; nil for any other record.
// It is for Visit: what was proven for it is forgotten behind it.
func (r *Record) Screen() (*leafjson.Screen, error) {
	if leaf.FormOf(r.stored) != leaf.FormScreen {
		return nil, nil
	}
	x := new(leafjson.Screen)
	if err := x.Open(r.stored); err != nil {
		return nil, err
	}
	return x, x.Load(r.profiles)
}

// hashLeaf is the leaf hash of a leaf's bytes.
func hashLeaf(data []byte) note.Hash { return proof.LeafHash(data) }

// leafBytes are the bytes of a leaf as a file holds them: an event's text as it
// is, those of any other form in base64.
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

// shownAs demands that the readable record beside a leaf's bytes is what they say, by the
// rule set that they name. Where this program does not know that rule set, it demands what
// does not rest on it.
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

// readLeaf reads the bytes of a leaf, with the profiles it names. This, leafBytes
// and hashLeaf are all that knows what they are.
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
		ReviewedLeaf                             *uint64
		AgentSequence, AgentPrevious             uint64
		Request                                  struct{ Amount json.RawMessage } `json:"_request"`
	}
	if err := json.Unmarshal(data, &l); err != nil || l.Leaf == nil || l.Kind == "" {
		return nil, fmt.Errorf("%w: its bytes are not a record", ErrFormat)
	}
	if leaf.FormOf(stored) == leaf.FormEvent {
		if _, _, err := leaf.Read(stored); err != nil { // Every member of its kind is of its type.
			return nil, fmt.Errorf("%w: its bytes are of no form that this program can read: %w", ErrRelease, err)
		}
	}
	r := &Record{
		Index: *l.Leaf, Kind: l.Kind, Time: l.Time, TxnID: l.TxnID, Verdict: l.Verdict, AgentID: l.AgentID,
		AgentName: l.AgentName, Amount: string(l.Request.Amount), Disposition: l.Disposition, By: l.ReviewedBy,
		Comment: l.Comment, Raw: data, stored: stored, unread: unread, profiles: profiles, reviewed: l.ReviewedLeaf,
		sequence: l.AgentSequence, previous: l.AgentPrevious,
	}
	if l.Kind == leaf.KindScreen {
		r.Time = l.ScreenedAt
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

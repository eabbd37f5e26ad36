package examine

import (
	"encoding/json"
	"errors"

	"railguard/audit/note"
	"railguard/audit/proof"
)

// Kinds of leaves that a proof carries; an export may hold any.
const (
	kindScreen      = "screen"
	kindDisposition = "review.dispositioned"
	kindComment     = "review.commented"
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

	reviewed *uint64 // Of a review's events: the index of the record they speak of.
}

// hashLeaf is the leaf hash of a leaf's bytes.
func hashLeaf(data []byte) note.Hash { return proof.LeafHash(data) }

// readLeaf reads the bytes of a leaf. This and hashLeaf are all that knows what
// they are: JSON.
func readLeaf(data []byte) (*Record, error) {
	var l struct {
		Leaf                                     *uint64
		Kind, Time, ScreenedAt, TxnID            string
		Verdict, AgentID, AgentName, Disposition string
		Rule                                     *string
		ReviewedBy, By, Comment                  string
		ReviewedLeaf                             *uint64
		Request                                  struct{ Amount json.RawMessage } `json:"_request"`
	}
	if err := json.Unmarshal(data, &l); err != nil || l.Leaf == nil || l.Kind == "" {
		return nil, errors.New("its bytes are not a record")
	}
	r := &Record{
		Index: *l.Leaf, Kind: l.Kind, Time: l.Time, TxnID: l.TxnID, Verdict: l.Verdict, AgentID: l.AgentID,
		AgentName: l.AgentName, Amount: string(l.Request.Amount), Disposition: l.Disposition, By: l.ReviewedBy,
		Comment: l.Comment, Raw: data, reviewed: l.ReviewedLeaf,
	}
	if l.Kind == kindScreen {
		r.Time = l.ScreenedAt
	}
	if l.Rule != nil {
		r.Rule = *l.Rule
	}
	if r.By == "" {
		r.By = l.By
	}
	if r.Time == "" {
		return nil, errors.New("its bytes are not a record")
	}
	return r, nil
}

package examine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"railguard/audit/note"
)

// What is known of a file without an error.
const (
	Proven     = "PROVEN"
	Consistent = "CONSISTENT, WHOSE LOG IS NOT SHOWN" // By no keys but those in the file.
)

// Verdict returns Proven or Consistent.
func (r *Report) Verdict() string {
	if r.KeysGiven {
		return Proven
	}
	return Consistent
}

// Headline says in one line what the file is and whether it is proven.
func (r *Report) Headline() string {
	what := "proof of " + r.TxnID
	if r.Kind == "export" {
		what = fmt.Sprintf("export, complete from %s to %s", r.From, r.To)
	}
	if r.Selection() {
		who := fmt.Sprintf("operator %q", r.Operator)
		if r.Agent != "" {
			who = "agent " + r.Agent
		}
		what = fmt.Sprintf("SELECTION of %s from %s to %s", who, r.From, r.To)
	}
	return fmt.Sprintf("%s: %s: %d record(s), %d screening call(s); later: not shown", r.Verdict(), what, r.Leaves, r.Screens)
}

// Shown says, one sentence each, what the file proves.
func (r *Report) Shown() []string {
	said := []string{fmt.Sprintf("%d record(s), %d of them screening calls, stand unaltered in the log %s of %d leaves",
		r.Leaves, r.Screens, r.Checkpoint.Origin, r.Checkpoint.Size)}
	if at := r.signedAt(); at != "" {
		said = append(said, "the log's tree head is signed (Ed25519 and ML-DSA-44), as of "+at)
	}
	if r.Checkpoint.Quorum != "" {
		said = append(said, "the quorum of witnesses that you demand signed that tree head: "+r.Checkpoint.Quorum)
	}
	if len(r.Checkpoint.Witnesses) > 0 {
		said = append(said, "the witnesses that you demand signed that tree head: "+strings.Join(r.Checkpoint.Witnesses, ", "))
	}
	if list, named := r.Checkpoint.InForce(); named {
		said = append(said, fmt.Sprintf("version %d of the sanctions list was in force at the end of that log: sha256 %x", list.Version, list.Digest))
	}
	if r.Head != nil {
		said = append(said, fmt.Sprintf("that tree and the head that you gave, of %d leaves, continue one another", r.Head.Size))
	}
	if r.Rotations > 0 {
		said = append(said, fmt.Sprintf("the keys that signed it were endorsed by those given, over %d rotation(s)", r.Rotations))
	}
	switch {
	case r.Kind == "proof" && r.Later > 0:
		said = append(said, fmt.Sprintf("what was written about it since, %d record(s), stands here without a gap up to the last one: each names the one before it", r.Later))
	case r.Kind == "export" && r.Selection():
		said = append(said, fmt.Sprintf("the cluster signed that these are all records of %s from %s to %s (leaves %s)", r.describeSelection(), r.From, r.To, nameSpan(r.First, r.End)))
	case r.Kind == "export":
		said = append(said,
			r.describeRange(),
			fmt.Sprintf("the cluster signed that these are all records from %s to %s", r.From, r.To))
	}
	if r.Acts.Two+r.Acts.Alone > 0 {
		said = append(said, fmt.Sprintf("%d act(s) that one person must not do alone were done by two, and %d by one who says that nobody else held the role", r.Acts.Two, r.Acts.Alone))
	}
	if s := r.Signed; s.Proven+s.NotShown+s.Demanded > 0 {
		said = append(said, fmt.Sprintf("%d signature(s) that persons made with passkeys were checked against what their leaves say and against the registration of the passkey; the policy in force demanded a signature of %d act(s), and none of them lacks it", s.Proven, s.Demanded))
	}
	if r.Agent != "" {
		said = append(said, r.Chain.listShown(r.Agent)...)
	}
	return said
}

// NotShown says, one sentence each, what the file does not prove although a reader might
// believe it.
func (r *Report) NotShown() []string {
	var open []string
	switch {
	case !r.KeysGiven && r.RecordOnly:
		open = append(open, "that anybody signed the tree head: no key stands in the file, and none was given")
	case !r.KeysGiven:
		open = append(open, "whose log this is: the keys came from the file itself; compare the fingerprint with one that you got another way")
	}
	if r.KeysGiven && len(r.Checkpoint.Witnesses) == 0 && r.Checkpoint.Quorum == "" {
		open = append(open, "that any witness saw that tree head: none was demanded (--policy, or a witness's key among --keys)")
	}
	if r.Unwitnessed && r.Checkpoint.Quorum == "" {
		open = append(open, "that the log's own quorum of witnesses saw that tree head: the log says that it had not signed it")
	}
	if r.Head == nil && note.IsReplaced(r.Keys, &r.Checkpoint) {
		open = append(open, "that the log went on from this tree: its keys were replaced since, and whoever has the former ones can sign another tree of that size; give --head with a newer one")
	}
	switch {
	case r.Kind == "proof":
		if !r.Disposition {
			open = append(open, "that the record has no disposition: this file carries none")
		}
		open = append(open, "that nothing was written about it behind the last record here: an export of the agent shows that")
	case r.Agent != "":
		open = append(open, r.Chain.notShown()...)
	case r.Selection():
		open = append(open, "by the tree itself, that nothing was left out: a selection has gaps; for that there is the cluster's signature, or an export by a key without an operator")
	default:
		open = append(open, "by the tree itself, that no record of this time stands outside these leaves: for that there is the cluster's signature, or an export of a wider range")
	}
	if r.Kind == "export" && r.Acts.Open > 0 {
		open = append(open, fmt.Sprintf("whether %d act(s) of one person needed two: the policy in force then, or the record under review, is not in the file, or a policy became wider and its leaf does not say in what", r.Acts.Open))
	}
	if r.Signed.NotShown > 0 {
		open = append(open, fmt.Sprintf("whose %d signature(s) are: what was signed is what the leaves say, and the passkeys were registered before the file begins", r.Signed.NotShown))
	}
	if r.Kind == "export" && r.Signed.Open > 0 {
		open = append(open, fmt.Sprintf("whether %d act(s) without a signature had to be signed with a passkey: the policy in force then is not in the file, or their leaves do not say whom they were about", r.Signed.Open))
	}
	return open
}

// describeRange says what is proven of the leaves of a range.
func (r *Report) describeRange() string {
	if r.First == r.End {
		return "no leaf is of that time"
	}
	return fmt.Sprintf("leaves %s are here without a gap, each once, in order", nameSpan(r.First, r.End))
}

// Gaps is how many leaves of an export's range are not in it, because they were not selected.
func (r *Report) Gaps() uint64 { return r.End - r.First - uint64(r.Leaves) }

// signedAt returns the time in the post-quantum signature; "" without one.
func (r *Report) signedAt() string {
	if r.Checkpoint.Time == 0 {
		return ""
	}
	return time.Unix(r.Checkpoint.Time, 0).UTC().Format(time.RFC3339)
}

// MarshalJSON returns the report for programs.
func (r Report) MarshalJSON() ([]byte, error) {
	type span struct {
		First    uint64 `json:"first"`
		End      uint64 `json:"end"`
		From     string `json:"from"`
		To       string `json:"to"`
		Complete bool   `json:"complete"` // The file has every leaf of the range once, in order.
		Gaps     uint64 `json:"gaps"`     // Leaves of the range that were not selected.
	}
	type selection struct {
		Operator string `json:"operator,omitempty"`
		Agent    string `json:"agent,omitempty"`
	}
	type chain struct {
		First  uint64 `json:"first"` // Numbers of the records about the agent; 0: none.
		Last   uint64 `json:"last"`
		Before *Edge  `json:"before"` // Those just before and after the time; null: not in the file.
		After  *Edge  `json:"after"`
	}
	shown := struct {
		IsProven    bool       `json:"proven"`     // Only by keys that came from the caller.
		Consistent  bool       `json:"consistent"` // What the file holds agrees with itself.
		Kind        string     `json:"kind"`
		Origin      string     `json:"origin"`
		ClusterID   string     `json:"clusterId,omitempty"`
		TreeSize    uint64     `json:"treeSize"`
		Root        []byte     `json:"root"`
		SignedAt    string     `json:"signedAt,omitempty"`
		Witnesses   []string   `json:"witnesses,omitempty"`    // Those that the caller's keys demand.
		Quorum      string     `json:"quorum,omitempty"`       // What the caller's policy demands of witnesses, and got.
		HeadSize    uint64     `json:"headTreeSize,omitempty"` // Of the head that the caller gave.
		Fingerprint string     `json:"keysFingerprint"`
		KeysGiven   bool       `json:"keysGiven"`
		Leaves      int        `json:"leaves"`
		Screens     int        `json:"screens"`
		Acts        Acts       `json:"acts"`
		Signed      Signed     `json:"passkeys"`
		Range       *span      `json:"range,omitempty"`
		Selection   *selection `json:"selection,omitempty"`
		Chain       *chain     `json:"numbers,omitempty"`
		TxnID       string     `json:"txnId,omitempty"`
		Proven      []string   `json:"shown"`
		Unproven    []string   `json:"notShown"`
	}{
		r.KeysGiven, true, r.Kind, r.Checkpoint.Origin, r.Cluster, r.Checkpoint.Size, r.Checkpoint.Root[:], r.signedAt(), r.Checkpoint.Witnesses, r.Checkpoint.Quorum, 0, r.Fingerprint(), r.KeysGiven,
		r.Leaves, r.Screens, r.Acts, r.Signed, nil, nil, nil, r.TxnID, r.Shown(), r.NotShown(),
	}
	if r.Head != nil {
		shown.HeadSize = r.Head.Size
	}
	if r.Kind == "export" {
		shown.Range = &span{r.First, r.End, r.From, r.To, !r.Selection(), r.Gaps()}
	}
	if r.Selection() {
		shown.Selection = &selection{r.Operator, r.Agent}
	}
	if r.Agent != "" {
		shown.Chain = &chain{r.Chain.First, r.Chain.Last, r.Chain.Before, r.Chain.After}
	}
	return json.Marshal(shown)
}

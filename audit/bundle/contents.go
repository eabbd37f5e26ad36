package bundle

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"railguard/audit/examine"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// Names of files in a folder.
const (
	RecordsName     = "records.ndjson"   // An export, as the cluster sent it.
	KeysName        = "keys.txt"         // The log's verifier keys.
	CosignedName    = "cosigned.txt"     // The newest checkpoint that witnesses cosigned; optional.
	ConsistencyName = "consistency.json" // The proof that the cosigned checkpoint continues that of the records; present if its tree is larger.
	WitnessesName   = "witnesses.txt"    // The witnesses' verifier keys; optional.
	PolicyName      = "policy.txt"       // The log's own policy of witnesses (C2SP tlog-policy), to be read and not used; optional.
	ListFolder      = "lists"
	ListSuffix      = ".entities"

	pageName       = "index.html"
	wordsName      = "README.txt"
	tableName      = "bundle.json"
	checkpointName = "checkpoint.txt"
	policyFolder   = "policies"
	sumsName       = "SHA256SUMS"
)

// versionFirst is the first version of the form that can be read, versionNewest the one in which
// folders are written. Every version from the one to the other can be read.
const (
	versionFirst  = 3
	versionNewest = 3
)

// ErrBundle means a folder whose content is wrong; the error names the file.
var ErrBundle = errors.New("not proven")

// FileError is an ErrBundle with its file.
type FileError struct {
	Name string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %s: %s", ErrBundle, e.Name, e.Err) }

// Unwrap returns ErrBundle and what is wrong with the file.
func (e *FileError) Unwrap() []error { return []error{ErrBundle, e.Err} }

func fileError(name, format string, args ...any) error {
	return &FileError{name, fmt.Errorf(format, args...)}
}

// contents is what a folder's records say, for the derived files.
type contents struct {
	report   examine.Report
	verdicts map[string]int
	rules    map[string]int
	lists    map[string]int    // Number of decisions, and of payments judged again, by the digest of their list, in hex.
	paid     int               // Payments that were confirmed or redeemed.
	policies map[uint64][]byte // Policies in words, by version.
	signed   string
	madeBy   Program
	judge    *Judge // The program in index.html; nil: none.

	chapters     []*Chapter          // In the order of their records.
	chapterOf    map[uint64]*Chapter // By the leaf of the decision.
	chaptersMore int                 // How many cases are more than chaptersMax.
	listWords    map[string]string   // By the digest of a list, in hex: its name and date, where a case names it.
	lines        [][]byte            // The lines of all records, page by page.
	lineCount    int
	keysSum      string // SHA-256 of keys.txt, in hex.
}

// Program names a release that made a folder, so that the same one can decide it again.
type Program struct {
	Version string `json:"version"`
	Digest  string `json:"sha256"` // Of the executable file, in hex.
}

// isNamed reports whether version and digest have their forms.
func (p *Program) isNamed() bool {
	return programVersion.MatchString(p.Version) && programDigest.MatchString(p.Digest)
}

var (
	programVersion = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,64}$`)
	programDigest  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

type row struct {
	Leaf        uint64  `json:"leaf"`
	Time        string  `json:"time"`
	Kind        string  `json:"kind"`
	Txn         string  `json:"txnId,omitempty"`
	Verdict     string  `json:"verdict,omitempty"`
	Rule        string  `json:"rule,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	Agent       string  `json:"agent,omitempty"`
	Operator    string  `json:"operator,omitempty"`
	Amount      string  `json:"amount,omitempty"`
	Party       string  `json:"counterparty,omitempty"`
	Disposition string  `json:"disposition,omitempty"`
	Who         string  `json:"by,omitempty"`
	Of          *uint64 `json:"of,omitempty"` // Of a payment that was confirmed or redeemed: the leaf of its decision.
}

// visitor is called with every record: its row, and the judgement if it holds one.
type visitor func(r *row, x *leafjson.Screen) error

// readRecords proves a folder's records and collects what the derived files show. If visit is
// not nil, it is called with every record.
func readRecords(from Source, keys string, visit visitor) (*contents, error) {
	file, err := from.Open(RecordsName)
	if err != nil {
		return nil, fileError(RecordsName, "%w", err)
	}
	defer file.Close()
	c := &contents{verdicts: map[string]int{}, rules: map[string]int{}, lists: map[string]int{}, policies: map[uint64][]byte{}, listWords: map[string]string{}}
	c.report, err = examine.File(file, examine.Options{Keys: keys, KeysGiven: true, Visit: func(r *examine.Record) error {
		return c.addRecord(r, visit)
	}})
	if err != nil {
		return nil, fileError(RecordsName, "%w", err)
	}
	if c.report.Kind != "export" {
		return nil, fileError(RecordsName, "is no export")
	}
	c.signed, err = headCheckpoint(from)
	return c, err
}

// headCheckpoint returns the signed checkpoint in an export's head. The caller has verified it.
func headCheckpoint(from Source) (string, error) {
	file, err := from.Open(RecordsName)
	if err != nil {
		return "", fileError(RecordsName, "%w", err)
	}
	defer file.Close()
	var head struct{ Checkpoint string }
	if err := json.NewDecoder(file).Decode(&head); err != nil {
		return "", fileError(RecordsName, "%w", err)
	}
	return head.Checkpoint, nil
}

func (c *contents) addRecord(r *examine.Record, visit visitor) error {
	var extra struct {
		Reason, OperatorLegalName, Kind string
		Request                         struct{ CpName, CpWallet json.RawMessage } `json:"_request"`
	}
	if err := json.Unmarshal(r.Raw, &extra); err != nil {
		return err
	}
	shown := row{
		Leaf: r.Index, Time: r.Time, Kind: r.Kind, Txn: r.TxnID, Verdict: r.Verdict, Rule: r.Rule, Reason: extra.Reason, Agent: r.AgentName + " " + r.AgentID,
		Operator: extra.OperatorLegalName, Amount: r.Amount, Party: literalText(extra.Request.CpName) + " " + literalText(extra.Request.CpWallet), Disposition: r.Disposition, Who: r.By,
	}
	x, err := r.Screen()
	switch {
	case err != nil || x == nil:
	case x.Paid != nil:
		shown.describePaid(x)
		c.paid++
		err = c.needFiles(x)
	default:
		if err = c.countDecision(r, x); err == nil {
			err = c.beginChapter(&shown, r.Raw, x)
		}
	}
	if err == nil && (x == nil || x.Paid != nil) {
		err = c.addStep(r)
	}
	if err != nil {
		return err
	}
	c.addLine(&shown)
	if visit == nil {
		return nil
	}
	return visit(&shown, x)
}

// describePaid adds to the row of a payment that was confirmed or redeemed what its leaf does not
// repeat.
func (r *row) describePaid(x *leafjson.Screen) {
	r.Of, r.Reason = &x.Paid.Said.ScreenedLeaf, x.Reason()
	r.Amount, r.Party = string(x.Edge.Get(leaf.TagAmount)), literalText(x.Edge.Get(leaf.TagName))+" "+literalText(x.Edge.Get(leaf.TagWallet))
}

func (c *contents) countDecision(r *examine.Record, x *leafjson.Screen) error {
	c.verdicts[r.Verdict]++
	if r.Rule == "" {
		r.Rule = engine.AllClear
	}
	c.rules[r.Rule]++
	return c.needFiles(x)
}

// needFiles notes the list and the policy that a judgement names.
func (c *contents) needFiles(x *leafjson.Screen) (err error) {
	if x.ListDigest != [32]byte{} {
		c.lists[hex.EncodeToString(x.ListDigest[:])]++
	}
	policy := policyOf(x)
	if policy == nil || c.policies[policy.Version] != nil {
		return nil
	}
	c.policies[policy.Version], err = wordPolicy(policy)
	return err
}

// policyOf returns the policy of a decision; nil if the record names none.
func policyOf(x *leafjson.Screen) *engine.Policy {
	switch {
	case x.Party != nil:
		return x.Party.Policy
	case x.Agent != nil:
		return x.Agent.Policy
	}
	return nil
}

// literalText returns the text of a JSON string. It returns other JSON unchanged.
func literalText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

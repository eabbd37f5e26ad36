package examine

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/fsm/leaf"
)

// lineMax bounds one line of an export or a whole proof file: a leaf is at most
// 64 KiB, JSON escaping and the path may double that many times over.
const lineMax = 4 << 20

// Errors of File. A file that cannot be read at all is ErrFormat; a file whose
// contents do not prove what they claim is ErrProof; verifier keys that were
// given and are none are ErrKeys.
var (
	ErrFormat = errors.New("not a proof or an export")
	ErrProof  = errors.New("not proven")
	ErrKeys   = errors.New("no verifier keys")
)

// LineError is an ErrFormat or ErrProof that has a place.
type LineError struct {
	Line int // Of an export, from 1; 0 for a proof file.
	Err  error
}

func (e *LineError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// Options say how File works.
type Options struct {
	// Keys are the log's verifier keys, one a line, used when KeysGiven. Without
	// them the keys inside the file are used, which proves the file's consistency
	// but not who made it: compare the fingerprint with one that came another way.
	Keys      string
	KeysGiven bool
	// Visit is called with every record once it is proven, in the file's order;
	// an error ends File. Whether the whole file holds is known at its end alone.
	Visit func(*Record) error
}

// Report says what was verified.
type Report struct {
	Kind       string          // "proof" or "export".
	Checkpoint note.Checkpoint // The signed tree head.
	Keys       string          // The verifier keys that were used.
	KeysGiven  bool            // They came from the caller, not from the file itself.
	Rotations  int             // So many times the given keys endorsed the next ones, which are used too.

	Leaves  int // Records whose inclusion was proven.
	Screens int // Screening records among them.

	// Of an export:
	Cluster    string
	First, End uint64 // The range of leaves, End excluded.
	From, To   string // The range of time it was asked for.
	Operator   string // The selection: only what is of this operator; "": everything.
	Agent      string // Or of this agent,
	Chain      Chain  // with what its decisions' numbers show.

	// Of a proof:
	TxnID       string
	Disposition bool // It carries the record's disposition.
	Comments    int
}

// Selection reports whether the file is a selection of its range, so that the
// indices of its records have gaps.
func (r *Report) Selection() bool { return r.Operator != "" || r.Agent != "" }

// Fingerprint is a short name of the verifier keys, to be compared over the
// telephone: the first 16 bytes of their SHA-256 in hex.
func (r *Report) Fingerprint() string {
	sum := sha256.Sum256([]byte(r.Keys))
	return hex.EncodeToString(sum[:16])
}

// examiner is one run of File.
type examiner struct {
	Report
	options Options
	scanner *bufio.Scanner
	line    int // Of an export: the line being read.

	profiles profiles
}

// File verifies a proof file (one JSON object, or a C2SP tlog-proof) or an export
// (NDJSON with a head and an end line).
func File(r io.Reader, options Options) (Report, error) {
	x := &examiner{options: options}
	x.KeysGiven = options.KeysGiven
	if x.KeysGiven {
		if err := note.CheckKeys(options.Keys); err != nil {
			return x.Report, fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	x.scanner = bufio.NewScanner(r)
	x.scanner.Buffer(make([]byte, 0, 64<<10), lineMax)
	if !x.scanner.Scan() {
		return x.Report, fmt.Errorf("%w: empty", ErrFormat)
	}
	if x.scanner.Text() == proof.TlogMark {
		whole, err := x.rest()
		if err != nil {
			return x.Report, err
		}
		return x.Report, x.tlogProof(append(whole, '\n'))
	}
	head, err := readEnvelope(x.scanner.Bytes())
	if err == nil && head.peek("type") == `"export"` {
		x.line = 1
		return x.Report, x.placed(x.export(head))
	}
	whole, err := x.rest()
	if err != nil {
		return x.Report, err
	}
	if head, err = readEnvelope(whole); err != nil {
		return x.Report, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return x.Report, x.proof(head)
}

// placed says in which line of an export an error stands.
func (x *examiner) placed(err error) error {
	if err == nil || !errors.Is(err, ErrFormat) && !errors.Is(err, ErrProof) {
		return err
	}
	return &LineError{Line: x.line, Err: err}
}

// rest joins the lines of a JSON object that was written over several.
func (x *examiner) rest() ([]byte, error) {
	whole := append([]byte(nil), x.scanner.Bytes()...)
	for x.scanner.Scan() {
		whole = append(append(whole, '\n'), x.scanner.Bytes()...)
		if len(whole) > lineMax {
			return nil, fmt.Errorf("%w: too long", ErrFormat)
		}
	}
	if err := x.scanner.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return whole, nil
}

// checkpoint verifies the signed tree head of a file and settles which keys are
// used.
func (x *examiner) checkpoint(e *envelope) error {
	signed, inside, size := e.text("checkpoint"), e.text("keys"), e.number("treeSize")
	if e.err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, e.err)
	}
	if err := x.settleKeys(e, inside); err != nil {
		return err
	}
	checkpoint, err := note.Verify([]byte(signed), x.Keys)
	if err != nil {
		return fmt.Errorf("%w: checkpoint: %w", ErrProof, err)
	}
	x.Checkpoint = checkpoint
	if size != checkpoint.Size {
		return fmt.Errorf("%w: treeSize is %d, the signed tree has %d leaves", ErrProof, size, checkpoint.Size)
	}
	return nil
}

// settleKeys settles which keys are used: those given, with what they endorse of the
// file's, or without any the file's. The file may hold no others.
func (x *examiner) settleKeys(e *envelope, inside string) error {
	var rotations string
	if e.peek("keyRotations") != "" {
		if rotations = e.text("keyRotations"); e.err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, e.err)
		}
		if err := note.CheckKeys(rotations); err != nil || !keysAmong(inside, rotations) {
			return fmt.Errorf("%w: keyRotations are not those of the keys beside them", ErrProof)
		}
	}
	if x.Keys = inside; !x.KeysGiven {
		return nil
	}
	if x.Keys = x.options.Keys; keysAmong(inside, x.Keys) {
		return nil
	}
	if rotations == "" {
		return fmt.Errorf("%w: the verifier keys inside the file are not those that were given", ErrProof)
	}
	keys, steps, err := note.Succession(x.options.Keys, rotations)
	if err != nil || len(steps) == 0 || !keysAmong(inside, keys) {
		return fmt.Errorf("%w: the verifier keys inside the file are not those that were given, nor endorsed by them", ErrProof)
	}
	x.Keys, x.Rotations = keys, len(steps)
	return nil
}

// keysAmong reports whether every key line of a file is one of the given ones.
func keysAmong(inside, given string) bool {
	known := map[string]bool{}
	for line := range strings.Lines(given) {
		known[strings.TrimSpace(line)] = true
	}
	found := false
	for line := range strings.Lines(inside) {
		found = true
		if !known[strings.TrimSpace(line)] {
			return false
		}
	}
	return found
}

// leaf verifies one record of an envelope against the checkpoint, and that what
// stands beside its bytes follows from them. The caller has looked at the index.
func (x *examiner) leaf(e *envelope, index uint64) (*Record, error) {
	text, said, path := e.text("leaf"), e.hash("leafHash"), e.hashes("path")
	if e.err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", ErrFormat, index, e.err)
	}
	data, err := leafBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", ErrFormat, index, err)
	}
	hash := hashLeaf(data)
	if said != hash {
		return nil, fmt.Errorf("%w: leafHash of record %d is not that of its bytes", ErrProof, index)
	}
	if err := proof.VerifyHashInclusion(hash, index, x.Checkpoint.Size, path, x.Checkpoint.Root); err != nil {
		return nil, fmt.Errorf("%w: record %d is not in the signed tree: %w", ErrProof, index, err)
	}
	if err := x.attached(e, index, data); err != nil {
		return nil, err
	}
	record, err := readLeaf(data, x.profiles.load)
	if err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", ErrFormat, index, err)
	}
	if record.Index != index {
		return nil, fmt.Errorf("%w: record %d calls itself %d", ErrProof, index, record.Index)
	}
	if leaf.FormOf(data) != leaf.FormEvent {
		var said json.RawMessage
		if e.take("record", &said); e.err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrFormat, index, e.err)
		}
		if err := shownAs(said, record.Raw); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrProof, index, err)
		}
	}
	record.Hash = hash
	x.profiles.keep(record)
	return record, nil
}

// count counts a record and shows it.
func (x *examiner) count(r *Record) error {
	x.Leaves++
	if r.Kind == kindScreen {
		x.Screens++
	}
	if x.options.Visit == nil {
		return nil
	}
	return x.options.Visit(r)
}

package examine

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/fsm/leaf"
)

// lineMax bounds one line of an export, or a whole proof file, in bytes. A leaf is at most 64
// KiB; JSON escaping and the path can multiply that.
const lineMax = 4 << 20

// Errors of File. ErrFormat: the file cannot be read at all. ErrProof: its contents do not
// prove what they claim. ErrKeys: the given verifier keys are none. ErrRelease: the file is
// neither proven nor altered. Its records are in the signed tree, but their readable part
// depends on a form or a rule set that only a newer release knows.
var (
	ErrFormat  = errors.New("not a proof or an export")
	ErrProof   = errors.New("not proven")
	ErrKeys    = errors.New("no verifier keys")
	ErrRelease = errors.New("rendered by a release that this program does not know")
)

// QuorumError says that too few of the witnesses that the caller demands signed the file's tree head.
type QuorumError = note.QuorumError

// LineError is an ErrFormat, ErrProof or ErrRelease with its line.
type LineError struct {
	Line int // Line of an export, from 1; 0 for a proof file.
	Err  error
}

func (e *LineError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// Options are the settings of File.
type Options struct {
	// Keys are the log's verifier keys, one a line, used if KeysGiven is set. Otherwise File
	// uses the keys inside the file. They prove that the file is consistent but not who made
	// it: compare the fingerprint with one received in another way.
	Keys      string
	KeysGiven bool
	// Visit is called with every proven record, in the file's order. An error ends File.
	// Whether the whole file is proven is known only at its end.
	Visit func(*Record) error
}

// Report says what was verified.
type Report struct {
	Kind        string           // "proof" or "export".
	Checkpoint  note.Checkpoint  // The signed tree head.
	Keys        string           // The verifier keys that were used.
	KeysGiven   bool             // Keys came from the caller, not from the file.
	Head        *note.Checkpoint // The head that DemandHead compared; nil: none was given.
	Unwitnessed bool             // The log says that its own quorum of witnesses had not signed it.
	Rotations   int              // How many rotations of keys, each endorsed by the keys before, were followed.

	Leaves  int // Records whose inclusion was proven.
	Screens int // Screening records among them.
	Acts    Acts
	Signed  Signed

	// Only for an export:
	Cluster    string
	First, End uint64 // The range of leaves, End excluded.
	From, To   string // The range of time that was asked for.
	Operator   string // If set, only this operator's records are selected.
	Agent      string // If set, only this agent's records are selected.
	Chain      Chain  // If Agent is set: what the numbers of the records about the agent show.

	// Only for a proof:
	TxnID       string
	Disposition bool // The file has the record's disposition.
	Later       int  // How many leaves about the record, written since, the file has.
	RecordOnly  bool // The form of the file holds nothing but the record, and no keys.
}

// Selection reports whether the file has only selected records of its range, so that their
// indices have gaps.
func (r *Report) Selection() bool { return r.Operator != "" || r.Agent != "" }

// Fingerprint is a short name of the verifier keys, for comparison by telephone: the first 16
// bytes of their SHA-256 in hex.
func (r *Report) Fingerprint() string {
	sum := sha256.Sum256([]byte(r.Keys))
	return hex.EncodeToString(sum[:16])
}

// examiner is one run of File.
type examiner struct {
	Report
	options Options
	scanner *bufio.Scanner
	line    int // Number of the line being read, for an export.
	unread  int // Number of records of a rule set that this program does not know.

	profiles profiles

	persons persons

	passkeys map[string]registered // By credential id.
	unsigned []uint64              // The first records that lack a signature.
}

// File verifies a proof file (one JSON object, or a C2SP tlog-proof) or an export
// (NDJSON with a head and an end line).
func File(r io.Reader, options Options) (Report, error) {
	x := &examiner{options: options, persons: persons{proposed: map[uint64]string{}, reviews: map[uint64]*reviewed{}, keys: map[string]string{}}}
	x.KeysGiven = options.KeysGiven
	if x.KeysGiven {
		if err := note.CheckKeys(options.Keys); err != nil {
			return x.Report, fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	reader := bufio.NewReaderSize(r, 64<<10)
	mark, _ := reader.Peek(len(proof.TlogMark))
	x.scanner = bufio.NewScanner(reader)
	x.scanner.Buffer(make([]byte, 0, 64<<10), lineMax)
	if string(mark) != proof.TlogMark {
		x.scanner.Split(splitObjects)
	}
	if !x.scanner.Scan() {
		if err := x.scanner.Err(); err != nil {
			return x.Report, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return x.Report, fmt.Errorf("%w: empty", ErrFormat)
	}
	return x.Report, x.verifyFile(string(mark) == proof.TlogMark)
}

// verifyFile verifies a file whose first line or object is already read.
func (x *examiner) verifyFile(tlog bool) error {
	if tlog {
		whole, err := x.joinRest()
		if err != nil {
			return err
		}
		return x.endUnknown(x.tlogProof(append(whole, '\n')))
	}
	head, err := readEnvelope(x.scanner.Bytes())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if head.peekMember("type") == `"export"` {
		x.line = 1
		return x.placeError(x.endUnknown(x.verifyExport(head)))
	}
	if x.scanner.Scan() || x.scanner.Err() != nil {
		return fmt.Errorf("%w: something stands behind the JSON object", ErrFormat)
	}
	return x.endUnknown(x.verifyProof(head))
}

// endUnknown returns ErrRelease for a file without errors in which this program does not know
// the rule set of some record: such a file proves nothing.
func (x *examiner) endUnknown(err error) error {
	if err == nil {
		err = x.refuseUnsigned()
	}
	if err != nil || x.unread == 0 {
		return err
	}
	return fmt.Errorf("%w: the bytes of all records are in the signed tree, and what beside %d of them names rules cannot be held to them: verify with a newer release", ErrRelease, x.unread)
}

// placeError adds the line of an export to an error.
func (x *examiner) placeError(err error) error {
	if err == nil || !errors.Is(err, ErrFormat) && !errors.Is(err, ErrProof) && !errors.Is(err, ErrRelease) {
		return err
	}
	return &LineError{Line: x.line, Err: err}
}

// joinRest joins the lines of a file that is not JSON.
func (x *examiner) joinRest() ([]byte, error) {
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

// verifyCheckpoint verifies the signed tree head of a file and settles which keys are
// used.
func (x *examiner) verifyCheckpoint(e *envelope) error {
	signed, inside, size := e.takeText("checkpoint"), e.takeText("keys"), e.takeNumber("treeSize")
	if e.err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, e.err)
	}
	if err := x.readWitnessed(e); err != nil {
		return err
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

// readWitnessed reads whether the log says that its own quorum has not signed the tree head. That
// one did sign, a file cannot say: only the reader's policy shows it.
func (x *examiner) readWitnessed(e *envelope) error {
	switch e.peekMember("witnessed") {
	case "":
	case "false":
		x.Unwitnessed = true
	default:
		return fmt.Errorf("%w: \"witnessed\" can only be false: whether witnesses signed, your own policy says", ErrProof)
	}
	delete(e.members, "witnessed")
	return nil
}

// settleKeys determines the keys to use. These are the given keys and those in the file that
// they endorse; without given keys, all keys in the file. It refuses a file with other keys.
func (x *examiner) settleKeys(e *envelope, inside string) error {
	var rotations string
	if e.peekMember("keyRotations") != "" {
		if rotations = e.takeText("keyRotations"); e.err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, e.err)
		}
		if err := note.CheckServed(rotations); err != nil {
			return fmt.Errorf("%w: keyRotations: %w", ErrProof, err)
		}
		if _, _, err := note.MatchKeys(inside, rotations, ""); err != nil {
			return fmt.Errorf("%w: keyRotations are not those of the keys beside them: %w", ErrProof, err)
		}
	}
	if err := note.CheckServed(inside); err != nil {
		return fmt.Errorf("%w: the verifier keys inside the file: %w", ErrProof, err)
	}
	if x.Keys = inside; !x.KeysGiven {
		return nil
	}
	keys, steps, err := note.MatchKeys(inside, x.options.Keys, rotations)
	if err != nil {
		return fmt.Errorf("%w: the verifier keys inside the file are not those that were given: %w", ErrProof, err)
	}
	x.Keys, x.Rotations = keys, steps
	return nil
}

// verifyLeaf verifies one record in an envelope: that it is in the checkpoint's tree, and that
// the readable part beside its bytes follows from them. The caller has checked the index.
func (x *examiner) verifyLeaf(e *envelope, index uint64) (*Record, error) {
	data, hash, err := x.verifyBytes(e, index)
	if err != nil {
		return nil, err
	}
	if err := x.verifyProfiles(e, index, data); err != nil {
		return nil, err
	}
	record, err := readLeaf(data, x.profiles.loadProfile)
	if err != nil {
		return nil, fmt.Errorf("%w: record %d", err, index)
	}
	if record.Index != index {
		return nil, fmt.Errorf("%w: record %d calls itself %d", ErrProof, index, record.Index)
	}
	if leaf.FormOf(data) != leaf.FormEvent {
		var said json.RawMessage
		if e.takeMember("record", &said); e.err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrFormat, index, e.err)
		}
		if err := shownAs(said, record); err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", ErrProof, index, err)
		}
	}
	record.Hash = hash
	x.profiles.keepProfile(record)
	return record, nil
}

// verifyBytes verifies that the bytes of a leaf are in the checkpoint's tree, and returns them.
func (x *examiner) verifyBytes(e *envelope, index uint64) (data []byte, hash note.Hash, err error) {
	text, said, path := e.takeText("leaf"), e.takeHash("leafHash"), e.takeHashes("path")
	if e.err != nil {
		return nil, hash, fmt.Errorf("%w: record %d: %w", ErrFormat, index, e.err)
	}
	if data, err = leafBytes(text); err != nil {
		return nil, hash, fmt.Errorf("%w: record %d: %w", ErrFormat, index, err)
	}
	if hash = hashLeaf(data); said != hash {
		return nil, hash, fmt.Errorf("%w: leafHash of record %d is not that of its bytes", ErrProof, index)
	}
	if err := proof.VerifyHashInclusion(hash, index, x.Checkpoint.Size, path, x.Checkpoint.Root); err != nil {
		return nil, hash, fmt.Errorf("%w: record %d is not in the signed tree: %w", ErrProof, index, err)
	}
	return data, hash, nil
}

// countRecord counts a record and passes it to Visit.
func (x *examiner) countRecord(r *Record) error {
	if err := x.checkPasskeys(r); err != nil {
		return err
	}
	if err := x.checkPersons(r); err != nil {
		return err
	}
	x.Leaves++
	if r.Kind == leaf.KindScreen {
		x.Screens++
	}
	if r.unread {
		x.unread++
		return nil
	}
	if x.options.Visit == nil {
		return nil
	}
	return x.options.Visit(r)
}

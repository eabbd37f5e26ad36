package examine

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"railguard/audit/note"
	"railguard/audit/proof"
)

// lineMax bounds one line of an export or a whole proof file: a leaf is at most
// 64 KiB, JSON escaping and the path may double that many times over.
const lineMax = 4 << 20

// Errors of File. A file that cannot be read at all is ErrFormat; a file whose
// contents do not prove what they claim is ErrProof.
var (
	ErrFormat = errors.New("not a proof or an export")
	ErrProof  = errors.New("not proven")
)

// Report says what was verified.
type Report struct {
	Leaves     int             // Records whose inclusion was proven.
	Screens    int             // Screening records among them.
	Checkpoint note.Checkpoint // The signed tree head.
	Keys       string          // The verifier keys that were used.
	KeysGiven  bool            // They came from the caller, not from the file itself.
	Last       json.RawMessage // The last proven record.
}

// Fingerprint is a short name of the verifier keys, to be compared over the
// telephone: the first 16 bytes of their SHA-256 in hex.
func (r *Report) Fingerprint() string {
	sum := sha256.Sum256([]byte(r.Keys))
	return hex.EncodeToString(sum[:16])
}

// proven is one record with its path, in a proof file or on a line of an export.
type proven struct {
	Type       string   `json:"type"`
	Leaf       string   `json:"leaf"`
	LeafHash   string   `json:"leafHash"`
	Index      *uint64  `json:"index"`
	TreeSize   uint64   `json:"treeSize"`
	Path       []string `json:"path"`
	Checkpoint string   `json:"checkpoint"`
	Keys       string   `json:"keys"`
	Leaves     int      `json:"leaves"`

	Disposition *proven `json:"disposition"`
}

// File verifies a proof file (one JSON object) or an export (NDJSON with a head
// and an end line). keys are the log's verifier keys, one a line; when empty the
// keys inside the file are used, which proves the file's consistency but not who
// made it: compare the fingerprint with one that came another way.
func File(r io.Reader, keys string) (Report, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), lineMax)
	if !scanner.Scan() {
		return Report{}, fmt.Errorf("%w: empty", ErrFormat)
	}
	report := Report{Keys: keys, KeysGiven: keys != ""}
	var head proven
	if err := json.Unmarshal(scanner.Bytes(), &head); err != nil {
		rest, err := restOf(scanner)
		if err != nil || json.Unmarshal(rest, &head) != nil {
			return report, fmt.Errorf("%w: not JSON", ErrFormat)
		}
	}
	if head.Checkpoint == "" {
		return report, fmt.Errorf("%w: no checkpoint", ErrFormat)
	}
	if !report.KeysGiven {
		report.Keys = head.Keys
	}
	checkpoint, err := note.Verify([]byte(head.Checkpoint), report.Keys)
	if err != nil {
		return report, fmt.Errorf("%w: checkpoint: %w", ErrProof, err)
	}
	report.Checkpoint = checkpoint
	if head.Type == "checkpoint" {
		return report, report.export(scanner)
	}
	if err := report.leaf(&head); err != nil {
		return report, err
	}
	if head.Disposition != nil {
		return report, report.leaf(head.Disposition)
	}
	return report, nil
}

// restOf joins a JSON object that was written over several lines.
func restOf(scanner *bufio.Scanner) ([]byte, error) {
	whole := append([]byte(nil), scanner.Bytes()...)
	for scanner.Scan() {
		whole = append(append(whole, '\n'), scanner.Bytes()...)
		if len(whole) > lineMax {
			return nil, ErrFormat
		}
	}
	return whole, scanner.Err()
}

// export verifies the lines after an export's head. A missing end line means
// that the stream broke off.
func (r *Report) export(scanner *bufio.Scanner) error {
	for scanner.Scan() {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		var line proven
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return fmt.Errorf("%w: line %d is not JSON", ErrFormat, r.Leaves+2)
		}
		switch line.Type {
		case "leaf":
			if err := r.leaf(&line); err != nil {
				return err
			}
		case "end":
			if line.Leaves != r.Leaves {
				return fmt.Errorf("%w: the export says %d records, %d are here", ErrProof, line.Leaves, r.Leaves)
			}
			return nil
		default:
			return fmt.Errorf("%w: line of type %q", ErrFormat, line.Type)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return fmt.Errorf("%w: the export breaks off after %d records (no end line): fetch the rest with its cursor", ErrProof, r.Leaves)
}

// leaf verifies one record against the checkpoint.
func (r *Report) leaf(p *proven) error {
	if p.Index == nil {
		return fmt.Errorf("%w: a record without index", ErrFormat)
	}
	if p.TreeSize != 0 && p.TreeSize != r.Checkpoint.Size {
		return fmt.Errorf("%w: leaf %d speaks of a tree of %d leaves, the checkpoint of %d", ErrProof, *p.Index, p.TreeSize, r.Checkpoint.Size)
	}
	path := make([][]byte, len(p.Path))
	for i, text := range p.Path {
		hash, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(hash) != sha256.Size {
			return fmt.Errorf("%w: leaf %d: path element %d is not a hash", ErrFormat, *p.Index, i)
		}
		path[i] = hash
	}
	if err := proof.VerifyInclusion([]byte(p.Leaf), *p.Index, r.Checkpoint.Size, path, r.Checkpoint.Root); err != nil {
		return fmt.Errorf("%w: leaf %d: %w", ErrProof, *p.Index, err)
	}
	if err := r.agrees(p); err != nil {
		return err
	}
	r.Leaves++
	r.Last = json.RawMessage(p.Leaf)
	return nil
}

// agrees demands that the record's own words say where it stands.
func (r *Report) agrees(p *proven) error {
	var record struct {
		Kind string  `json:"kind"`
		Leaf *uint64 `json:"leaf"`
	}
	if err := json.Unmarshal([]byte(p.Leaf), &record); err != nil {
		return fmt.Errorf("%w: leaf %d is not a record", ErrFormat, *p.Index)
	}
	if record.Leaf == nil || *record.Leaf != *p.Index {
		return fmt.Errorf("%w: leaf %d calls itself another", ErrProof, *p.Index)
	}
	if record.Kind == "screen" {
		r.Screens++
	}
	return nil
}

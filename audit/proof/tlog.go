package proof

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TlogMark is the first line of a C2SP tlog-proof.
const TlogMark = "c2sp.org/tlog-proof@v1"

// ErrTlog means bytes that are no tlog-proof.
var ErrTlog = errors.New("proof: not a tlog-proof")

// extraMax bounds a tlog-proof's extra data in bytes: a leaf is at most 64 KiB.
const extraMax = 1 << 20

// Tlog is a C2SP tlog-proof: a leaf's path to a signed checkpoint, in one text file that other
// tools can read, too. Reading it verifies nothing.
type Tlog struct {
	Extra      []byte // The leaf's bytes, in our proofs. Only their hash proves them.
	Index      uint64
	Path       [][]byte
	Checkpoint []byte // The signed checkpoint with any cosignatures.
}

// Bytes returns the proof as text. A proof has only one form.
func (t *Tlog) Bytes() []byte {
	b := []byte(TlogMark + "\n")
	if len(t.Extra) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, "extra "...), t.Extra), '\n')
	}
	b = append(strconv.AppendUint(append(b, "index "...), t.Index, 10), '\n')
	for _, hash := range t.Path {
		b = append(base64.StdEncoding.AppendEncode(b, hash), '\n')
	}
	return append(append(b, '\n'), t.Checkpoint...)
}

// ParseTlog reads exactly what Bytes writes.
func ParseTlog(data []byte) (*Tlog, error) {
	head, checkpoint, ok := strings.Cut(string(data), "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || lines[0] != TlogMark || len(lines) < 2 {
		return nil, ErrTlog
	}
	t := &Tlog{Checkpoint: []byte(checkpoint)}
	lines = lines[1:]
	if encoded, has := strings.CutPrefix(lines[0], "extra "); has {
		extra, ok := decodeDocument(encoded)
		if !ok || len(extra) == 0 || len(extra) > extraMax || len(lines) < 2 {
			return nil, fmt.Errorf("%w: its extra data", ErrTlog)
		}
		t.Extra, lines = extra, lines[1:]
	}
	number, has := strings.CutPrefix(lines[0], "index ")
	index, err := strconv.ParseUint(number, 10, 63)
	if !has || err != nil || strconv.FormatUint(index, 10) != number {
		return nil, fmt.Errorf("%w: its index", ErrTlog)
	}
	t.Index = index
	for _, line := range lines[1:] {
		hash, ok := decodeDocument(line)
		if !ok || len(hash) != len(Hash{}) || len(t.Path) == pathMax {
			return nil, fmt.Errorf("%w: its path", ErrTlog)
		}
		t.Path = append(t.Path, hash)
	}
	return t, nil
}

// decodeDocument decodes base64 in its only valid form.
func decodeDocument(text string) ([]byte, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil && base64.StdEncoding.EncodeToString(data) == text
}

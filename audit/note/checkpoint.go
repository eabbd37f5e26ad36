package note

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hash is the root of the tree.
type Hash = [sha256.Size]byte

const (
	// OriginSizeMax bounds an origin and a key name, because a cosigned message has one byte
	// for their length.
	OriginSizeMax = 255
	// CheckpointSizeMax bounds a signed checkpoint that Verify reads.
	CheckpointSizeMax = 64 << 10
	// ExtensionsMax bounds the extension lines of a checkpoint.
	ExtensionsMax = 16
)

var (
	// ErrMalformed: the text is not a checkpoint, a key or an origin.
	ErrMalformed = errors.New("note: malformed")
	// ErrUnverified: a key that was given did not sign this checkpoint.
	ErrUnverified = errors.New("note: not verified")
)

// Checkpoint is a log's statement of its size and root.
type Checkpoint struct {
	Origin     string
	Size       uint64
	Root       Hash
	Extensions []string
	// Time is when the cosigner signed, in seconds since 1970; 0 if no
	// cosignature was verified.
	Time int64
	// Witnesses are the names of those whose cosignatures Verify demanded, or counted, and found.
	Witnesses []string
	// Quorum says in words what a policy demanded of witnesses, and got; "" if none demanded any.
	Quorum string
}

// signedText returns the text of the note, which is what a log signs.
func (c *Checkpoint) signedText() []byte {
	b := append([]byte(c.Origin), '\n')
	b = strconv.AppendUint(b, c.Size, 10)
	b = append(b, '\n')
	b = base64.StdEncoding.AppendEncode(b, c.Root[:])
	b = append(b, '\n')
	for _, line := range c.Extensions {
		b = append(append(b, line...), '\n')
	}
	return b
}

// parseText reads exactly what signedText writes, so that a checkpoint has one form.
func parseText(text []byte) (Checkpoint, error) {
	var c Checkpoint
	if len(text) > CheckpointSizeMax {
		return c, fmt.Errorf("checkpoint of %d bytes: %w", len(text), ErrMalformed)
	}
	body, ok := strings.CutSuffix(string(text), "\n")
	lines := strings.Split(body, "\n")
	if !ok || len(lines) < 3 || len(lines) > 3+ExtensionsMax {
		return c, fmt.Errorf("checkpoint lines: %w", ErrMalformed)
	}
	if !validName(lines[0]) {
		return c, fmt.Errorf("origin: %w", ErrMalformed)
	}
	size, err := strconv.ParseUint(lines[1], 10, 63)
	if err != nil || strconv.FormatUint(size, 10) != lines[1] {
		return c, fmt.Errorf("size: %w", ErrMalformed)
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != len(c.Root) || base64.StdEncoding.EncodeToString(root) != lines[2] {
		return c, fmt.Errorf("root: %w", ErrMalformed)
	}
	for _, line := range lines[3:] {
		if line == "" {
			return c, fmt.Errorf("extension line: %w", ErrMalformed)
		}
		c.Extensions = append(c.Extensions, line)
	}
	c.Origin, c.Size, c.Root = lines[0], size, Hash(root)
	return c, nil
}

// validName reports whether a signed note can carry a text as an origin or the name of a key.
func validName(name string) bool {
	return name != "" && len(name) <= OriginSizeMax && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '+' })
}

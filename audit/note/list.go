package note

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// listMark begins the extension line that says which sanctions list is in force in a tree. A
// standard witness signs the line with the rest and does not read it.
const listMark = "railguard.list/v1 "

// List is a sanctions list that a checkpoint names.
type List struct {
	Version uint64 // It counts up with each list that came in force.
	Digest  Hash   // The SHA-256 of the list's entities.
}

// Line returns the extension line that names a list.
func (l List) Line() string { return fmt.Sprintf("%s%d %x", listMark, l.Version, l.Digest) }

// InForce returns the list that was in force at the end of a checkpoint's tree. It returns false
// if the checkpoint names none. The checkpoint must have been verified.
func (c *Checkpoint) InForce() (l List, named bool) {
	for _, line := range c.Extensions {
		rest, ours := strings.CutPrefix(line, listMark)
		version, digest, _ := strings.Cut(rest, " ")
		raw, err := hex.DecodeString(digest)
		if !ours || err != nil || len(raw) != len(l.Digest) {
			continue
		}
		l.Version, err = strconv.ParseUint(version, 10, 64)
		if l.Digest = Hash(raw); err == nil && l.Line() == line {
			return l, true
		}
	}
	return List{}, false
}

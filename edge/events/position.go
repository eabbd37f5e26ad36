package events

import (
	"strconv"
	"strings"
)

// Position is where a reader continues: behind the first Skip events of leaf Leaf, with the
// events of all earlier leaves read.
type Position struct {
	Leaf uint64
	Skip int
}

// numbersMax bounds the number of events of a leaf; no cursor has a higher number.
const numbersMax = 16

// ParsePosition reads a cursor: the id of the last event that was read (evt_4711_0), or the
// index of a leaf that was read whole (4711).
func ParsePosition(text string) (Position, bool) {
	rest, id := strings.CutPrefix(text, "evt_")
	if !id {
		last, ok := readIndex(rest)
		return Position{Leaf: last + 1}, ok
	}
	leaf, n, found := strings.Cut(rest, "_")
	last, ok := readIndex(leaf)
	number, numbered := readIndex(n)
	if !found || !ok || !numbered || number >= numbersMax {
		return Position{}, false
	}
	return Position{Leaf: last, Skip: int(number) + 1}, true
}

// readIndex reads a number in the form that we write: no sign, no leading zero.
func readIndex(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// String returns the cursor of a position, "" for the very beginning.
func (p Position) String() string {
	switch {
	case p.Skip > 0:
		return ID(p.Leaf, p.Skip-1)
	case p.Leaf > 0:
		return strconv.FormatUint(p.Leaf-1, 10)
	}
	return ""
}

// ID returns the id of the n-th event of a leaf.
func ID(leaf uint64, n int) string {
	return "evt_" + strconv.FormatUint(leaf, 10) + "_" + strconv.Itoa(n)
}

package events

import (
	"strconv"
	"strings"
)

// Position is where a reader goes on: behind the first Skip events of leaf Leaf, of
// which all earlier ones were had.
type Position struct {
	Leaf uint64
	Skip int
}

// numbersMax is how many events a leaf may have; no text names a higher number.
const numbersMax = 16

// ParsePosition reads a cursor: the id of the last event had (evt_4711_0), or an index
// of which everything was had (4711).
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

// readIndex reads a number as we write it: no sign, no zero in front.
func readIndex(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// String is the cursor of a position, "" of the very beginning.
func (p Position) String() string {
	switch {
	case p.Skip > 0:
		return ID(p.Leaf, p.Skip-1)
	case p.Leaf > 0:
		return strconv.FormatUint(p.Leaf-1, 10)
	}
	return ""
}

// ID is the id of the n-th event of a leaf.
func ID(leaf uint64, n int) string {
	return "evt_" + strconv.FormatUint(leaf, 10) + "_" + strconv.Itoa(n)
}

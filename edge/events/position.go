package events

import (
	"strconv"
	"strings"

	"railguard/fsm"
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
// index of a leaf that was read whole (4711). Of an id's epoch it takes no notice.
func ParsePosition(text string) (Position, bool) {
	if !strings.HasPrefix(text, "evt_") {
		last, ok := readIndex(text)
		return Position{Leaf: last + 1}, ok
	}
	value, n, ok := fsm.SplitEventID(text)
	if !ok || n >= numbersMax {
		return Position{}, false
	}
	return Position{Leaf: fsm.EventLeaf(value), Skip: n + 1}, true
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
		return new(fsm.IDs).EventID(p.Leaf, p.Skip-1)
	case p.Leaf > 0:
		return strconv.FormatUint(p.Leaf-1, 10)
	}
	return ""
}

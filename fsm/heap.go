package fsm

// heapOf keeps a table as a binary heap, from position 1 on: no row comes before the one at half
// its position.
type heapOf[R any, P pageOf[R]] struct {
	rows   *Table[R, P]
	before func(row, other *R) bool
	place  func(row *R, at uint64) // Called with a row's position whenever the row has moved.
}

func (h *heapOf[R, P]) add(row R) {
	at := h.rows.Append(row)
	h.place(h.rows.At(at), at)
	h.raise(at)
}

// drop removes the row at a position. The last row moves there, and then to its right place.
func (h *heapOf[R, P]) drop(at uint64) {
	last := h.rows.Next() - 1
	if at != last {
		moved := *h.rows.At(last)
		*h.rows.Edit(at) = moved
		h.place(h.rows.At(at), at)
	}
	h.rows.DropBack()
	if at != last {
		h.settle(at)
	}
}

// settle moves a changed row to its right place.
func (h *heapOf[R, P]) settle(at uint64) { h.sink(h.raise(at)) }

// raise moves a row up and returns its new position; sink moves it down.
func (h *heapOf[R, P]) raise(at uint64) uint64 {
	for ; at > 1 && h.before(h.rows.At(at), h.rows.At(at/2)); at /= 2 {
		h.swap(at, at/2)
	}
	return at
}

func (h *heapOf[R, P]) sink(at uint64) {
	for {
		least := at
		for _, child := range [2]uint64{2 * at, 2*at + 1} {
			if h.rows.Has(child) && h.before(h.rows.At(child), h.rows.At(least)) {
				least = child
			}
		}
		if least == at {
			return
		}
		h.swap(at, least)
		at = least
	}
}

func (h *heapOf[R, P]) swap(a, b uint64) {
	one, other := *h.rows.At(a), *h.rows.At(b)
	*h.rows.Edit(a), *h.rows.Edit(b) = other, one
	h.place(h.rows.At(a), a)
	h.place(h.rows.At(b), b)
}

package cluster

import "sync/atomic"

const pageSlots = 4096

// page is a run of neighbouring slots.
type page[T any] struct {
	slots [pageSlots]atomic.Pointer[T]
	held  int // How many are not nil; only the writer uses it.
}

// pages maps dense slots to immutable values, for one writer and for readers without a lock.
// The directory has its full length from the start, so nothing is ever moved under a reader.
type pages[T any] struct {
	directory []atomic.Pointer[page[T]]
}

// newPages makes room for slots 0 to max.
func newPages[T any](max int) pages[T] {
	return pages[T]{directory: make([]atomic.Pointer[page[T]], max/pageSlots+1)}
}

func (p *pages[T]) profileAt(slot uint32) *T {
	at := int(slot / pageSlots)
	if at >= len(p.directory) {
		return nil
	}
	page := p.directory[at].Load()
	if page == nil {
		return nil
	}
	return page.slots[slot%pageSlots].Load()
}

// putProfile stores a value, or removes it if nil. Only the one writer calls it. A page without
// values is dropped. A slot beyond the limit is ignored: the state machine has refused it
// before.
func (p *pages[T]) putProfile(slot uint32, value *T) {
	at := int(slot / pageSlots)
	if at >= len(p.directory) {
		return
	}
	target := p.directory[at].Load()
	if target == nil {
		if value == nil {
			return
		}
		target = new(page[T])
		p.directory[at].Store(target)
	}
	if before := target.slots[slot%pageSlots].Swap(value); (before == nil) != (value == nil) {
		if target.held++; value == nil {
			target.held -= 2
		}
	}
	if target.held == 0 {
		p.directory[at].Store(nil)
	}
}

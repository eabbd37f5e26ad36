package cluster

import "sync/atomic"

const pageSlots = 4096

// page is a run of neighbouring slots.
type page[T any] [pageSlots]atomic.Pointer[T]

// pages maps dense slots to immutable values: one writer, readers without a lock.
// The directory is as long as the limit on slots allows from the start, so
// nothing is ever moved under a reader.
type pages[T any] struct {
	directory []atomic.Pointer[page[T]]
}

// newPages makes room for slots 0 to max.
func newPages[T any](max int) pages[T] {
	return pages[T]{directory: make([]atomic.Pointer[page[T]], max/pageSlots+1)}
}

func (p *pages[T]) at(slot uint32) *T {
	at := int(slot / pageSlots)
	if at >= len(p.directory) {
		return nil
	}
	page := p.directory[at].Load()
	if page == nil {
		return nil
	}
	return page[slot%pageSlots].Load()
}

// set is for the one writer. A slot beyond the limit is ignored: the state machine
// has refused it before.
func (p *pages[T]) set(slot uint32, value *T) {
	at := int(slot / pageSlots)
	if at >= len(p.directory) {
		return
	}
	target := p.directory[at].Load()
	if target == nil {
		target = new(page[T])
		p.directory[at].Store(target)
	}
	target[slot%pageSlots].Store(value)
}

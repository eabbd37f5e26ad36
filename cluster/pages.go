package cluster

import "sync/atomic"

const (
	pageSlots = 4096
	areaPages = 1024
)

// page is a run of neighbouring slots.
type page[T any] struct {
	slots [pageSlots]atomic.Pointer[T]
	held  int // How many are not nil; only the writer uses it.
}

// area is a run of neighbouring pages.
type area[T any] [areaPages]atomic.Pointer[page[T]]

// pages maps dense slots to immutable values, for one writer and for readers without a lock.
// The directory has its full length from the start, so nothing is ever moved under a reader. It is
// in two steps, because one of a million pages takes 8 MB, which every start and every restore
// would make and every garbage collection would read.
type pages[T any] struct {
	directory []atomic.Pointer[area[T]]
	count     int // How many pages there may be.
}

// newPages makes room for slots 0 to max.
func newPages[T any](max int) pages[T] {
	count := max/pageSlots + 1
	return pages[T]{directory: make([]atomic.Pointer[area[T]], (count-1)/areaPages+1), count: count}
}

// pageAt returns a page; nil: no slot of it has a value, or it is beyond the limit.
func (p *pages[T]) pageAt(at int) *page[T] {
	if at >= p.count {
		return nil
	}
	area := p.directory[at/areaPages].Load()
	if area == nil {
		return nil
	}
	return area[at%areaPages].Load()
}

func (p *pages[T]) profileAt(slot uint32) *T {
	page := p.pageAt(int(slot / pageSlots))
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
	target := p.pageAt(at)
	if target == nil {
		if value == nil || at >= p.count {
			return
		}
		target = new(page[T])
		p.areaFor(at)[at%areaPages].Store(target)
	}
	if before := target.slots[slot%pageSlots].Swap(value); (before == nil) != (value == nil) {
		if target.held++; value == nil {
			target.held -= 2
		}
	}
	if target.held == 0 {
		p.areaFor(at)[at%areaPages].Store(nil)
	}
}

// areaFor returns the area of a page, which it makes if there is none.
func (p *pages[T]) areaFor(at int) *area[T] {
	entry := &p.directory[at/areaPages]
	if entry.Load() == nil {
		entry.Store(new(area[T]))
	}
	return entry.Load()
}

package keyindex

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"railguard/audit"
)

// run is the index's goroutine.
func (x *Index) run() {
	defer close(x.done)
	ticker := time.NewTicker(tryEvery)
	defer ticker.Stop()
	for {
		x.Settle()
		select {
		case <-x.stop:
			return
		case <-x.wake:
		case <-ticker.C:
		}
	}
}

// Settle does what there is to do: it writes what waits, reads back what is lacking, merges
// neighbours and forgets what is too old. What fails is reported and tried again later.
func (x *Index) Settle() {
	x.raiseFloor()
	for !x.hasEnded() && (x.writeOne() || x.readBackOne() || x.mergeOne()) {
	}
	if !x.hasEnded() {
		x.forgetOld()
	}
}

// writeOne writes the oldest leaves that wait.
func (x *Index) writeOne() bool {
	x.mu.RLock()
	var t *recent
	if len(x.waiting) > 0 {
		t = x.waiting[0]
	}
	x.mu.RUnlock()
	if t == nil {
		return false
	}
	rows := slices.Clone(t.rows) // Searches go on reading the others.
	return x.install(t.stretch, rows, func() {
		x.waiting = slices.DeleteFunc(slices.Clone(x.waiting), func(other *recent) bool { return other == t })
	})
}

// install writes the file of a stretch and lets searches find it. Under the lock it also does what
// must happen at the same moment.
func (x *Index) install(s stretch, rows []row, also func()) bool {
	slices.SortFunc(rows, row.compare)
	f, err := x.writeRows(s, uint64(len(rows)), &listed{rows})
	if err != nil {
		x.report(err)
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	also()
	x.files = append(slices.Clone(x.files), f)
	slices.SortFunc(x.files, func(a, b *file) int { return cmp.Compare(a.first, b.first) })
	return true
}

// readBackOne reads the keys of leaves back that the index lacks, of one file at most: those
// below what it has.
func (x *Index) readBackOne() bool {
	first, end := x.lacking()
	t := newRecent(first)
	began := time.Now()
	for t.next < end {
		leaf, err := x.history.Record(t.next)
		switch {
		case errors.Is(err, audit.ErrPruned): // It is older than its retention, which is longer than Kept.
			t = newRecent(t.next + 1)
			continue
		case err != nil: // Most likely it is still being fetched from another node.
			return false
		}
		t.add(&leaf, x.options.IsKey)
		if t.next%audit.BundleLeaves == 0 {
			if x.hasEnded() {
				return false
			}
			x.rest(time.Since(began))
			began = time.Now()
		}
	}
	return t.leaves() > 0 && x.install(t.stretch, t.rows, func() {})
}

// lacking returns the newest stretch that the index lacks, of one file at most.
func (x *Index) lacking() (first, end uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if end = x.lowest(); end <= x.floor {
		return end, end
	}
	first = max(x.floor, (end-1)/x.options.Leaves*x.options.Leaves)
	for _, f := range x.files {
		if f.next <= end {
			first = max(first, f.next)
		}
	}
	return first, end
}

// mergeOne merges the files of one stretch of 8, 64, 512 or 4,096 of the smallest, if they have
// all its leaves.
func (x *Index) mergeOne() bool {
	x.mu.RLock()
	files := x.files
	x.mu.RUnlock()
	span := x.options.Leaves
	for range levels {
		span *= mergedFiles
		for i, f := range files {
			if f.first%span != 0 {
				continue
			}
			end := i + 1
			for end < len(files) && files[end].first == files[end-1].next && files[end].next <= f.first+span {
				end++
			}
			if end > i+1 && files[end-1].next == f.first+span {
				return x.merge(files[i:end])
			}
		}
	}
	return false
}

func (x *Index) merge(parts []*file) bool {
	first, last := parts[0], parts[len(parts)-1]
	s := stretch{first.first, last.next, first.timeFirst, last.timeLast, last.last}
	count, readers := uint64(0), make([]rowReader, 0, len(parts))
	for _, f := range parts {
		count += f.rows
		readers = append(readers, &stored{file: f})
	}
	rows, err := mergeRows(readers)
	var whole *file
	if err == nil {
		whole, err = x.writeRows(s, count, rows)
	}
	if errors.Is(err, errFile) {
		for _, f := range parts {
			x.dropFile(f) // Which of them is damaged does not matter: all are made again.
		}
	}
	if err != nil {
		x.report(err)
		return false
	}
	x.mu.Lock()
	at := slices.Index(x.files, first)
	replaced := at >= 0 && at+len(parts) <= len(x.files) && slices.Equal(x.files[at:at+len(parts)], parts)
	if replaced {
		x.files = slices.Replace(slices.Clone(x.files), at, at+len(parts), whole)
	}
	x.mu.Unlock()
	if !replaced { // A search has dropped one of them meanwhile, which was damaged.
		x.remove([]*file{whole})
		return false
	}
	x.remove(parts)
	return true
}

// forgetOld removes the files all of whose leaves are too old.
func (x *Index) forgetOld() {
	x.mu.Lock()
	var old []*file
	x.files = slices.DeleteFunc(slices.Clone(x.files), func(f *file) bool {
		if f.next > x.floor && x.isYoung(f.timeLast) {
			return false
		}
		old = append(old, f)
		return true
	})
	x.mu.Unlock()
	x.remove(old)
}

// remove removes files that no search begins to read any more.
func (x *Index) remove(files []*file) {
	for _, f := range files {
		f.release()
		x.report(x.dir.Remove(f.name))
	}
}

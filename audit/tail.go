package audit

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// tail is a segment that is not sealed: its leaves are frames in one file.
//
// Access: the writer (whoever holds Store.writing) owns absent, bundleAbsent, end and the
// file's end. Readers take no lock. They load place[k]; if it is not zero, hashes[k] and
// times[k] were written before and do not change any more. In the same way bundleDone guards a
// bundle's root. A repaired leaf gets a new place but keeps its hash.
type tail struct {
	form   geometry
	number uint64
	first  uint64
	name   string
	file   File

	place      []atomic.Uint64 // packed place of the leaf's frame; 0 = absent
	hashes     []Hash
	times      []int64
	bundleDone []atomic.Bool
	bundleRoot []Hash

	latest       atomic.Int64 // highest time of a leaf, math.MinInt64 if there is none
	full         atomic.Bool  // all leaves are there, so the sealer may take the tail
	absent       int
	bundleAbsent []int
	end          int64 // bytes of whole frames in the file

	written   atomic.Int64 // equals end; SyncTo reads it without the writer's lock
	durable   atomic.Int64 // bytes known to be synced
	nameSaved atomic.Bool  // the folder is synced, so the file's name is durable

	uses   sync.Mutex // guards count and closed
	count  int
	closed bool
}

const tailFolder = "tail"

func tailName(number uint64) string { return fmt.Sprintf("%s/%09d.log", tailFolder, number) }

func parseTailName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(path.Base(name), ".log")
	if !ok || len(digits) != 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// A packed place holds one bit for an erased leaf, 43 bits of file offset and 20 bits of frame
// length.
func packPlace(offset int64, size int) uint64 { return uint64(offset)<<20 | uint64(size) }
func unpackPlace(p uint64) (int64, int) {
	return int64(p &^ placeErased >> 20), int(p & (1<<20 - 1))
}

const placeErased = 1 << 63

func framePlace(offset int64, size int, erased bool) uint64 {
	if erased {
		return packPlace(offset, size) | placeErased
	}
	return packPlace(offset, size)
}

func newTail(form geometry, number uint64, f File) *tail {
	t := &tail{
		form: form, number: number, first: form.firstLeaf(number), name: tailName(number), file: f,
		place:        make([]atomic.Uint64, form.leaves()),
		hashes:       make([]Hash, form.leaves()),
		times:        make([]int64, form.leaves()),
		bundleDone:   make([]atomic.Bool, form.bundles()),
		bundleRoot:   make([]Hash, form.bundles()),
		absent:       int(form.leaves()),
		bundleAbsent: make([]int, form.bundles()),
	}
	t.latest.Store(math.MinInt64)
	for i := range t.bundleAbsent {
		t.bundleAbsent[i] = BundleLeaves
	}
	return t
}

// acquire keeps the file open until release. It returns false if the file is closed.
func (t *tail) acquire() bool {
	t.uses.Lock()
	defer t.uses.Unlock()
	if t.closed {
		return false
	}
	t.count++
	return true
}

func (t *tail) release() {
	t.uses.Lock()
	defer t.uses.Unlock()
	if t.count--; t.count == 0 && t.closed {
		t.file.Close() // everything was sealed or synced before, so an error loses nothing
	}
}

// close closes the file when its last reader is done.
func (t *tail) close() error {
	t.uses.Lock()
	defer t.uses.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if t.count == 0 {
		return t.file.Close()
	}
	return nil
}

func (t *tail) hasLeaf(k int) bool { return t.place[k].Load() != 0 }

// hasText reports whether the bytes of a leaf are in the file, whole or damaged.
func (t *tail) hasText(k int) bool {
	place := t.place[k].Load()
	return place != 0 && place&placeErased == 0
}

// erasedEnd returns the position after the last erased leaf; 0 if there is none.
func (t *tail) erasedEnd() int {
	for k := len(t.place) - 1; k >= 0; k-- {
		if t.hasLeaf(k) && !t.hasText(k) {
			return k + 1
		}
	}
	return 0
}

// hasTextBelow reports whether a leaf before a position has its bytes.
func (t *tail) hasTextBelow(end int) bool {
	for k := range end {
		if t.hasText(k) {
			return true
		}
	}
	return false
}

// publishFrame makes a written frame readable. Writer only.
func (t *tail) publishFrame(k int, place uint64, hash *Hash, time int64) {
	if t.hasLeaf(k) { // a repaired leaf gets only a new place
		t.place[k].Store(place)
		return
	}
	t.hashes[k], t.times[k] = *hash, time
	t.latest.Store(max(t.latest.Load(), time))
	t.place[k].Store(place)
	t.absent--
	i := k / BundleLeaves
	if t.bundleAbsent[i]--; t.bundleAbsent[i] == 0 {
		t.bundleRoot[i] = subtreeRoot(t.hashes[i*BundleLeaves : (i+1)*BundleLeaves])
		t.bundleDone[i].Store(true)
	}
}

// appendFrames writes encoded frames at the end of the file. Writer only.
func (t *tail) appendFrames(frames []byte) error {
	for at := 0; at < len(frames); at += writeChunkMax {
		part := frames[at:min(len(frames), at+writeChunkMax)]
		if _, err := t.file.WriteAt(part, t.end+int64(at)); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	t.end += int64(len(frames))
	t.written.Store(t.end)
	return nil
}

func (t *tail) newDamage(k int, what string) *DamageError {
	at, _ := unpackPlace(t.place[k].Load())
	return &DamageError{File: t.name, First: t.first + uint64(k), Last: t.first + uint64(k), What: what, At: at}
}

// readFrame reads one leaf's frame; the caller holds a reference.
func (t *tail) readFrame(k int) (frame, error) {
	place := t.place[k].Load()
	if place == 0 {
		return frame{}, ErrMissing
	}
	offset, size := unpackPlace(place)
	b := make([]byte, size)
	if err := readFull(t.file, b, offset); err != nil {
		return frame{}, t.newDamage(k, err.Error())
	}
	return t.checkFrame(k, b)
}

func (t *tail) checkFrame(k int, b []byte) (frame, error) {
	f, n, ok := decodeFrame(b)
	if !ok || n != len(b) || f.kind == frameMark || f.index != t.first+uint64(k) {
		return frame{}, t.newDamage(k, "frame checksum")
	}
	return f, nil
}

// tailBuffer is memory that a reader of many bundles of a tail reuses, because using new
// memory costs more than reading the bytes.
type tailBuffer struct {
	leaves []Leaf
	frames []byte // Frames of this bundle so far. A full block stays with its leaves and is replaced by a new one.
	keys   []uint64
	raw    []byte
}

func (r *tailBuffer) reset() { r.leaves, r.frames, r.keys = r.leaves[:0], r.frames[:0], r.keys[:0] }

// reserveBytes returns a slice for size bytes of frames.
func (r *tailBuffer) reserveBytes(size int) []byte {
	at := len(r.frames)
	if cap(r.frames)-at < size {
		r.frames, at = make([]byte, 0, size+size/8), 0
	}
	r.frames = r.frames[:at+size]
	return r.frames[at : at+size : at+size]
}

// readLeaves reads the leaves [from, to) of the tail, including erased ones. Consecutive
// frames, which is nearly all of them, are read at once. The leaves are valid until the buffer
// is used again. The caller holds a reference.
func (t *tail) readLeaves(from, to int, buffer *tailBuffer) ([]Leaf, error) {
	buffer.reset()
	out := slices.Grow(buffer.leaves, to-from)
	var run []byte
	runAt := int64(0)
	for k := from; k < to; k++ {
		place := t.place[k].Load()
		if place == 0 {
			return out, ErrMissing
		}
		offset, size := unpackPlace(place)
		if offset < runAt || offset+int64(size) > runAt+int64(len(run)) {
			length := t.runLength(k, to, offset)
			run, runAt = buffer.reserveBytes(int(max(length, int64(size)))), offset
			if err := readFull(t.file, run, offset); err != nil {
				return out, t.newDamage(k, err.Error())
			}
		}
		f, err := t.checkFrame(k, run[offset-runAt:][:size])
		if err != nil {
			return out, err
		}
		out = append(out, f.toLeaf(&buffer.keys))
	}
	buffer.leaves = out
	return out, nil
}

// runLength returns how many bytes from an offset on belong to consecutive frames, up to about
// writeChunkMax.
func (t *tail) runLength(k, to int, start int64) int64 {
	end := start
	for ; k < to; k++ {
		offset, size := unpackPlace(t.place[k].Load())
		if offset != end || end-start > writeChunkMax {
			break
		}
		end += int64(size)
	}
	return end - start
}

// readBundleInput reads a complete bundle for a segment whose first cut leaves are erased. It
// does not read their bytes. The result is valid until the buffer is used again.
func (t *tail) readBundleInput(i, cut int, buffer *tailBuffer) (*bundleInput, error) {
	from, to := i*BundleLeaves, (i+1)*BundleLeaves
	at := min(max(from, cut), to)
	var leaves []Leaf
	for k := from; k < at; k++ {
		leaves = append(leaves, Leaf{Time: t.times[k], Hash: t.hashes[k], Erased: true})
	}
	rest, err := t.readLeaves(at, to, buffer)
	if err != nil {
		return nil, err
	}
	if len(leaves) > 0 {
		rest = append(leaves, rest...)
	}
	p, err := newBundleInput(rest, buffer.raw[:0])
	if err != nil {
		return nil, err
	}
	if p.bundle != nil {
		buffer.raw = p.bundle.raw
	}
	p.hashes = t.hashes[from:to] // The checksum of each frame was just checked, so the hashes are right.
	return p, nil
}

// syncFile makes the written bytes durable and then writes a mark that says so. If bytes below
// the mark's offset cannot be read later, they are damaged and not a torn end. mark writes the
// frame under the writer's lock.
func (t *tail) syncFile(d Dir, mark func(t *tail, durable int64) error) error {
	written := t.written.Load()
	if written == t.durable.Load() && t.nameSaved.Load() {
		return nil
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	if !t.nameSaved.Load() {
		if err := syncPath(d, t.name); err != nil {
			return err
		}
		t.nameSaved.Store(true)
	}
	if err := mark(t, written); err != nil {
		return err
	}
	after := t.written.Load()
	if err := t.file.Sync(); err != nil {
		return err
	}
	t.durable.Store(after)
	return nil
}

// endIndex returns the index behind the highest leaf that is present, 0 if there is none.
func (t *tail) endIndex() uint64 {
	for k := len(t.place) - 1; k >= 0; k-- {
		if t.hasLeaf(k) {
			return t.first + uint64(k) + 1
		}
	}
	return 0
}

package audit

import (
	"errors"
	"hash/crc32"
)

// writeCut writes a segment's file again without its first cut leaves: it drops their
// bytes and their filter keys and keeps their hashes. With all leaves cut it writes the
// hash file.
//
// It copies damage elsewhere in the segment as it is, so that it is found and fetched as
// before. Where damage hides the keys of a bundle, the filters pass all keys. tile returns
// the leaf hashes of a bundle.
func writeCut(f File, old *openSegment, cut int, tile func(i int) ([]Hash, error)) (*segmentFooter, error) {
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	p := &segmentFooter{nodes: old.nodes, info: segmentInfo{
		geometry: old.info.geometry, codec: old.info.codec, first: old.info.first, cut: cut,
		timeFirst: old.info.timeFirst, timeLast: old.info.timeLast,
	}}
	if cut == int(old.info.leaves()) {
		p.info.cut, p.info.erased = 0, true
	}
	w := &segmentWriter{file: f, buffer: make([]byte, 0, segmentBuffer)}
	w.write(p.info.appendHeader(nil))
	for i := range old.table {
		e := tableEntry{
			offset: w.position(), filterAt: uint32(len(p.filters)),
			timeFirst: old.table[i].timeFirst, timeLast: old.table[i].timeLast,
		}
		hashes, err := tile(i)
		if err := p.copyTile(old, i, &e, hashes, err); err != nil {
			return nil, err
		}
		if !p.info.isBundleGone(i) {
			w.write(p.copyBundle(old, i, &e))
		}
		p.table = append(p.table, e)
	}
	p.info.tableAt = w.position()
	p.writeFooter(w, &pacer{})
	return p, w.err
}

// copyTile copies the leaf hashes of a bundle. A hash file cannot be written without them.
func (p *segmentFooter) copyTile(old *openSegment, i int, e *tableEntry, hashes []Hash, err error) error {
	switch {
	case err == nil:
		e.tileCRC = crc32.Checksum(appendHashes(make([]byte, 0, BundleLeaves*hashSize), hashes), castagnoli)
	case p.info.erased:
		return err
	default:
		e.tileCRC = old.table[i].tileCRC
		tile := make([]byte, BundleLeaves*hashSize)
		_ = readFull(old.file, tile, old.info.hashesAt()+int64(i*len(tile))) //nolint:errcheck // Unreadable: zeros, which the checksum refuses.
		hashes = hashesOf(tile)
	}
	p.hashes = append(p.hashes, hashes...)
	return nil
}

// copyBundle returns the compressed bytes of a bundle's remaining leaves and fills in its
// row of the table. It copies bytes that cannot be decoded; if some of their leaves must be
// erased, it returns zeros of the same length instead.
func (p *segmentFooter) copyBundle(old *openSegment, i int, e *tableEntry) []byte {
	more := p.info.erasedInBundle(i) - old.info.erasedInBundle(i)
	packed, err := old.readPacked(i)
	if err == nil {
		var b *bundle
		if b, err = old.unpackBundle(i, packed); err == nil && more > 0 {
			if b, err = b.withoutFirst(more); err == nil {
				packed = compressBundle(nil, b.raw)
			}
		}
		if err == nil {
			p.fillRow(e, b, packed)
			return packed
		}
	}
	row := &old.table[i]
	if packed == nil || more > 0 {
		packed = make([]byte, row.packed)
	}
	e.packed, e.raw, e.crc = row.packed, row.raw, row.crc
	p.filters, e.filterBlocks = appendOpenFilter(p.filters)
	p.unsure = true
	return packed
}

// withoutFirst returns the bundle without its first n leaves.
func (b *bundle) withoutFirst(n int) (*bundle, error) {
	leaves := make([]Leaf, 0, b.leafCount()-n)
	for i := n; i < b.leafCount(); i++ {
		leaves = append(leaves, b.leafAt(i))
	}
	raw, err := appendBundle(nil, leaves)
	if err != nil {
		return nil, err
	}
	return decodeBundle(raw, len(leaves))
}

// eraseTail writes a tail again without the bytes of the leaves below cut, and switches
// readers and the writer to the new file. It copies the old file while appends go on, and
// then, under s.writing, copies what was appended in the meantime. It renames the new
// file only when all of it is durable, so that a crash leaves one file or the other. The
// caller holds s.filing.
func (s *Store) eraseTail(t *tail, cut int) error {
	if !t.hasTextBelow(cut) {
		return nil
	}
	s.syncing.Lock() // No mark may go to the old file from here on.
	defer s.syncing.Unlock()
	f, err := s.dir.Create(t.name + temporarySuffix)
	if err != nil {
		return err
	}
	fresh := newTail(s.form, t.number, f)
	copied := make([]uint64, len(t.place))
	if err = f.Truncate(0); err == nil {
		err = fresh.copyFrom(t, cut, copied)
	}
	if err != nil { // A full disk: the tail stays as it is, to be tried again.
		return errors.Join(err, f.Close(), s.dir.Remove(t.name+temporarySuffix))
	}
	if err := f.Sync(); err != nil {
		return s.markBroken(errors.Join(err, f.Close()))
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.checkUsable(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := s.finishTail(fresh, t, cut, copied); err != nil {
		return s.markBroken(errors.Join(err, f.Close()))
	}
	fresh.full.Store(t.full.Load())
	s.mu.Lock()
	s.catalog.tails[t.number] = fresh
	s.mu.Unlock()
	s.forgetDamage(t.first, t.first+uint64(cut))
	return t.close()
}

// finishTail copies what was appended in the meantime and makes the new file durable under
// the tail's name.
func (s *Store) finishTail(fresh, t *tail, cut int, copied []uint64) error {
	if err := fresh.copyFrom(t, cut, copied); err != nil {
		return err
	}
	mark := appendFrame(nil, frameMark, s.size.Load(), &Leaf{Time: fresh.end})
	if err := fresh.file.Sync(); err != nil {
		return err
	}
	if err := fresh.appendFrames(mark); err != nil {
		return err
	}
	if err := fresh.file.Sync(); err != nil {
		return err
	}
	if err := s.dir.Rename(t.name+temporarySuffix, t.name); err != nil {
		return err
	}
	if err := syncPath(s.dir, t.name); err != nil {
		return err
	}
	fresh.durable.Store(fresh.end)
	fresh.nameSaved.Store(true)
	return nil
}

// copyFrom copies the leaves of an older file whose place differs from the one in copied,
// and notes their places there. Of the first cut leaves it copies the hashes alone. It
// copies a damaged frame as it is. Appends to the older file may go on at the same time.
func (t *tail) copyFrom(old *tail, cut int, copied []uint64) error {
	var frames []byte
	var taken []pendingLeaf
	flush := func() error {
		err := t.appendFrames(frames)
		for i := range taken {
			t.publishFrame(taken[i].k, taken[i].place, &taken[i].hash, taken[i].time)
		}
		frames, taken = frames[:0], taken[:0]
		return err
	}
	for k := range old.place {
		place := old.place[k].Load()
		if place == copied[k] {
			continue
		}
		copied[k] = place
		at, erased := len(frames), k < cut || place&placeErased != 0
		if erased {
			frames = appendLeafFrame(frames, old.first+uint64(k), &Leaf{Time: old.times[k], Hash: old.hashes[k], Erased: true})
		} else {
			offset, size := unpackPlace(place)
			frames = append(frames, make([]byte, size)...)
			_ = readFull(old.file, frames[at:], offset) //nolint:errcheck // Where it fails, the zeros in frames count as damage too.
		}
		taken = append(taken, pendingLeaf{k, framePlace(t.end+int64(at), len(frames)-at, erased), old.times[k], old.hashes[k]})
		if len(frames) >= segmentBuffer {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

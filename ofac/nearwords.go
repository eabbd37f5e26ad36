package ofac

import "slices"

// encodeNeighbours writes, for each word that stands alone, the words close to it. What
// a list compiled before tells of a word is taken from there if it must be the same here.
func (b *builder) encodeNeighbours(v *vocabulary) error {
	b.sections[sectionNeighbourOffsets] = make([]byte, 4*(len(v.words)+1))
	b.sections[sectionNeighbours] = nil
	var l wordLayer
	if err := l.open(b.sections, uint32(len(b.names))); err != nil {
		return err
	}
	b.pause()
	former := compareLayers(b.former, &l)
	b.pause()
	var f finder
	if !l.believes(former, &f, v) {
		former = nil
	}
	offsets, rows := []uint32{0}, []uint32(nil)
	for id := range uint32(len(v.words)) {
		if id%wordsOfStep == 0 {
			b.pause()
		}
		if v.whole[id] {
			rows = l.appendNear(rows, &f, id, former)
		}
		offsets = append(offsets, uint32(len(rows)))
	}
	b.sections[sectionNeighbourOffsets], b.sections[sectionNeighbours] = appendWords32(nil, offsets), appendWords32(nil, rows)
	return nil
}

// believes reports whether a former list tells of a few words what is found anew here. It
// does, unless a build that was not of this matcher's version made its tables: then all is
// found anew, and one wrong table does not hand its error on to those behind it.
func (l *wordLayer) believes(former *formerLayer, f *finder, v *vocabulary) bool {
	if former == nil {
		return false
	}
	for id := uint32(0); id < l.count; id += wordsOfCheck {
		if !v.whole[id] {
			continue
		}
		known := l.appendNear(nil, f, id, former)
		if !slices.Equal(known, l.appendNear(nil, f, id, nil)) {
			return false
		}
	}
	return true
}

// wordsOfCheck is how many words stand between two that are held against the former list.
const wordsOfCheck = 128

// appendNear appends the rows of the words close to a listed word.
func (l *wordLayer) appendNear(rows []uint32, f *finder, id uint32, former *formerLayer) []uint32 {
	record := l.word(id)
	word := l.spelled(&record)
	f.seek(&word)
	if known, ok := former.append(rows, f, id); ok {
		return known
	}
	for _, near := range l.nearSought(f, &word) {
		if similarity := bothListed(near.similarity); similarity > 0 {
			rows = append(rows, near.word<<similarityBits|uint32(similarity))
		}
	}
	return rows
}

// formerLayer is the word layer of a list compiled before, beside that of a new one.
//
// Which words are close to a word follows from its letters and from what its buckets of
// the deletion table hold: as many rows as are read of each, in their order, and the
// letters of their words. Both lists number their words in order of letters, so that what
// both have stands in the same order in both. So where a word stands alone in both lists
// and none of its buckets changed, its neighbours are those it had, under new numbers.
type formerLayer struct {
	layer   *wordLayer
	here    []uint32 // of each former word the new number, noWord where it is gone
	there   []uint32 // of each new word the former number, noWord where it is new
	changed []uint64 // a bit for each bucket of the deletion table
	buckets uint32
}

// noWord is no number of a word: see vocabularyMax.
const noWord = ^uint32(0)

// compareLayers looks at what a new layer has of a former one; nil: nothing of use.
func compareLayers(former, l *wordLayer) *formerLayer {
	if former == nil || former.buckets != l.buckets {
		return nil // Of other buckets each row stands elsewhere.
	}
	c := &formerLayer{layer: former, buckets: l.buckets, changed: make([]uint64, l.buckets/64+1)}
	c.number(l)
	for bucket := range l.buckets {
		if !c.sameRows(l, bucket) {
			c.changed[bucket/64] |= 1 << (bucket % 64)
		}
	}
	return c
}

// number finds the words that both have.
func (c *formerLayer) number(l *wordLayer) {
	c.here, c.there = make([]uint32, c.layer.count), make([]uint32, l.count)
	for i := range c.here {
		c.here[i] = noWord
	}
	was := uint32(0)
	for is := range l.count {
		c.there[is] = noWord
		text := string(l.wordText(is))
		for was < c.layer.count && string(c.layer.wordText(was)) < text {
			was++
		}
		if was < c.layer.count && string(c.layer.wordText(was)) == text {
			c.here[was], c.there[is] = is, was
			was++
		}
	}
}

// sameRows reports whether what is read of a bucket is the same in both.
func (c *formerLayer) sameRows(l *wordLayer, bucket uint32) bool {
	was, wasEnd := c.layer.bucketRows(bucket)
	is, isEnd := l.bucketRows(bucket)
	if wasEnd-was != isEnd-is {
		return false
	}
	for ; is < isEnd; was, is = was+1, is+1 {
		before, now := c.layer.deletionRows.at(was*2), l.deletionRows.at(is*2)
		if before&deletionCheck != now&deletionCheck || c.here[before>>deletionCheckBits] != now>>deletionCheckBits {
			return false
		}
	}
	return true
}

// append appends the rows of a word as they were, if they must be the same; f has its forms.
func (c *formerLayer) append(rows []uint32, f *finder, id uint32) ([]uint32, bool) {
	if c == nil || c.there[id] == noWord {
		return rows, false
	}
	was := c.there[id]
	if record := c.layer.word(was); record.flags&wordWhole == 0 {
		return rows, false // Nobody asked for its neighbours.
	}
	for _, hashes := range [...][]uint64{f.hashes, f.systems} {
		for _, hash := range hashes {
			if bucket := reduce(hash, c.buckets); c.changed[bucket/64]>>(bucket%64)&1 != 0 {
				return rows, false
			}
		}
	}
	begin := len(rows)
	for i := c.layer.neighbourOffsets.at(was); i < c.layer.neighbourOffsets.at(was+1); i++ {
		row := c.layer.neighbourRows.at(i)
		is := c.here[row>>similarityBits]
		if is == noWord {
			return rows[:begin], false // Not of tables that Build made: a neighbour stands in a bucket.
		}
		rows = append(rows, is<<similarityBits|row&(1<<similarityBits-1))
	}
	return rows, true
}

package match

import (
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// spareNamesakes turns a block into a possible match when a query in a transliterated
// script matches a person's name of two words that is listed in Latin letters only. One
// Cyrillic spelling stands for several Latin ones (е is also written for ё), and many
// people share a name without a patronymic.
func (x *Index) spareNamesakes(name string, s *Scratch) {
	if !text.IsForeign(name) {
		return
	}
	for i := range s.hits {
		h := &s.hits[i]
		record := x.NameAt(h.name)
		if h.outcome == Listed && record.Words == 2 && x.EntityAt(h.entity).Kind == list.Individual && !text.IsForeign(x.TextAt(record.Full)) {
			h.outcome, h.sub = Possible, SubTransliterated
		}
	}
}

// spareGuesses turns a block into a possible match when the hit rests on a lossy reading.
func (x *Index) spareGuesses(name string, s *Scratch) {
	if len(s.hits) == 0 || text.IsPlain(name) {
		return
	}
	x.spareNamesakes(name, s)
	if !text.HasLossy(name) {
		return
	}
	var own *text.Native
	for i, read := 0, false; i < len(s.hits); i++ {
		h := &s.hits[i]
		if h.outcome != Listed {
			continue
		}
		if h.form < formPossible {
			if !read {
				own, read = text.NativeOf(name), true
			}
			if own.Equals(text.NativeOf(x.TextAt(x.NameAt(h.name).Full))) {
				continue
			}
		}
		h.outcome, h.sub = Possible, SubTransliterated
	}
}

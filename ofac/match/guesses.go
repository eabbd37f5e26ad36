package match

import (
	"slices"

	"railguard/ofac/list"
	"railguard/ofac/text"
)

// spareNamesakes takes the block back from a person's two names that the list has in
// Latin letters alone: one spelling in Cyrillic stands for several in Latin (е is
// written for ё), and without a patronymic many bear the name.
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

// spareGuesses takes the block back from hits that rest on a lossy reading.
func (x *Index) spareGuesses(name string, s *Scratch) {
	if len(s.hits) == 0 || text.IsPlain(name) {
		return
	}
	x.spareNamesakes(name, s)
	if !text.HasLossy(name) {
		return
	}
	own := text.NativeWords(name)
	for i := range s.hits {
		h := &s.hits[i]
		if h.outcome != Listed || h.form < formPossible && slices.Equal(own, text.NativeWords(x.TextAt(x.NameAt(h.name).Full))) {
			continue
		}
		h.outcome, h.sub = Possible, SubTransliterated
	}
}

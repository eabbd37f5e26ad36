package match

import (
	"math/bits"

	"railguard/ofac/index"
)

// Most listed names are skipped before their words are compared, because they cannot reach the bits that are
// needed even if every word that may have a pair were equal. A test compares what is skipped.

// sideBound bounds the evidence of the names of one kind.
type sideBound struct {
	whole int32 // Bits that a name may have because each of its words has its pair.
	form  int32 // Bits that it may have because of its legal form.
	least int32 // The least bits that count.
}

func sideOf(person bool) int {
	if person {
		return 0
	}
	return 1
}

// boundScore prepares the bounds by which names are skipped.
func (c *scorer) boundScore(l *index.WordLayer, q *Query) {
	c.most, c.loosely = [2]sideBound{{least: -1 << 30}, {least: -1 << 30}}, 0
	c.noteLetters(l)
	if c.unbounded || c.trace != nil {
		return // An explanation compares every name, and a test compares what the bounds leave out.
	}
	n, review := c.numbers, reviewThreshold(q)
	c.most[0] = sideBound{whole: n.wholePerson, least: n.leastBits(review, true)}
	c.most[1] = sideBound{whole: max(n.wholeOther, n.wholeGeneric), least: n.leastBits(review, false)}
	if c.forms.Kin() != 0 {
		c.most[1].form = n.formSame
	}
	for i := range c.count {
		w := &c.list[i]
		w.loosely = 1 << index.BeginsInitial
		switch {
		case len(c.textOf(i)) == 1:
			w.loosely = ^uint64(0)
		case w.begins != 0:
			w.loosely |= 1 << (w.begins & 63)
		}
		c.loosely |= w.loosely
		w.letters = w.marked | uint32(w.loosely) | uint32(w.loosely>>32)
		w.most = [2]int32{index.BitsMost, index.BitsMost}
		if (w.known || w.ordinary) && !w.joined && !w.abjad { // It says no more than it does as a word of its own.
			w.most = [2]int32{max(w.bitsPerson, n.initial), max(w.bitsOther, n.initial)}
		}
	}
}

// noteLetters records, for each query word, the first letters of the listed words close to
// it.
func (c *scorer) noteLetters(l *index.WordLayer) {
	for i := range c.count {
		c.list[i].marked, c.list[i].joined = 0, false
	}
	for k := range c.marks {
		bit, mask := index.LetterBit(l.Begins[c.marks[k].word]), c.marks[k].mask
		for joined := mask&(mask-1) != 0; mask != 0; mask &= mask - 1 {
			w := &c.list[bits.TrailingZeros32(mask)]
			w.marked |= bit
			w.joined = w.joined || joined
		}
	}
}

// mayMean is a cheaper mayReach, which looks only at the first letters and the weight of a name: it can say
// no more than its words do, and no more than those words of the query that may have a pair in it.
func (c *scorer) mayMean(h index.Holder) bool {
	letters, side := h.Letters(), sideOf(h.Person())
	seen, said := int32(0), int32(0)
	for i := range c.count {
		w := &c.list[i]
		if letters&w.letters != 0 {
			said += w.most[side]
		}
		if letters&w.marked != 0 {
			seen += w.weight
		}
	}
	bound := &c.most[side]
	return seen >= c.enough && min(said, h.Weight())+bound.whole+bound.form >= bound.least
}

// mayReach reports, from the marks alone, whether a listed name can match enough of the
// query, and whether its evidence can reach the threshold if every word that may be matched
// were equal. It also returns how many rows the words take.
func (c *scorer) mayReach(tokens []index.TokenRow) (int, bool) {
	reach, said, length := uint32(0), int32(0), 0
	lacking, joined, sawLast, whole := int32(0), false, false, true
	for last := false; !last; {
		row := tokens[length]
		length++
		last = uint8(row>>48)&index.TokenLast != 0
		letter := uint64(1)
		if begins := uint8(row >> 56); row&(1<<index.WeightBits-1) > index.GrammarBits || begins == index.BeginsInitial {
			letter <<= begins & 63 // See index.NameToken.pairLetter.
		}
		marked := c.marked.Has(uint32(row) >> index.WeightBits)
		if marked {
			reach |= c.heads[uint32(row)>>index.WeightBits].reach
		}
		bits, part := int32(row&(1<<index.WeightBits-1)), row.Part()
		switch count := int32(uint8(row >> 40)); {
		case count > 1:
			if marked {
				joined, said = true, said+count*index.BitsMost
			}
			continue
		case marked || letter&c.loosely != 0:
			said += max(bits, c.numbers.initial)
		case bits > index.GrammarBits:
			whole = false
			lacking += c.numbers.leastLack(part, bits, sawLast)
		}
		sawLast = sawLast || part == index.PartLast && bits > index.GrammarBits
	}
	if c.weightOf(reach) < c.enough {
		return length, false
	}
	side := &c.most[sideOf(tokens[0].Part() != index.PartNone)]
	room := side.whole + side.form
	if !whole && !joined {
		room = side.form - lacking
	}
	return length, said+room >= side.least
}

// leastLack is the least that a telling word of a listed name costs if the query lacks it.
func (n *numbers) leastLack(part index.NamePart, bits int32, sawLast bool) int32 {
	switch {
	case part == index.PartNone:
		return bits * n.missingShare / 100
	case part == index.PartGiven:
		return n.missingGiven
	case part == index.PartLast && !sawLast:
		return n.missingLast
	}
	return 0
}

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

// aloneBound is what a word of the query says against a name in which it has no pair.
type aloneBound struct {
	lost    int32 // The least bits that it costs.
	telling bool  // It contradicts a word that the name has alone.
	spoils  bool  // The names are not the same as wholes.
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
	c.pays = false
	for i := range c.count {
		w := &c.list[i]
		c.pays = c.pays || w.payment
		w.loosely = 1 << index.BeginsInitial
		switch {
		case len(c.textOf(i)) == 1:
			w.loosely = ^uint64(0)
		case w.begins != 0:
			w.loosely |= 1 << (w.begins & 63)
		}
		c.loosely |= w.loosely
		w.letters = w.marked | uint32(w.loosely) | uint32(w.loosely>>32)
		switch {
		case (w.known || w.ordinary) && !w.joined && !w.abjad: // It says no more than it does as a word of its own.
			w.most = [2]int32{max(w.bitsPerson, n.initial), max(w.bitsOther, n.initial)}
		case w.several: // Its pair may be several words, so that only the weight of the name bounds them.
			w.most = [2]int32{index.BitsMost * index.NameTokensMax, index.BitsMost * index.NameTokensMax}
		default:
			w.most = [2]int32{index.BitsMost, index.BitsMost}
		}
		c.boundSurplus(i)
	}
}

// boundSurplus notes what is lost if word i of the query has no pair in the name of a person, or of something
// else. See saysNothing, surplusOfPerson and surplusOfOther.
func (c *scorer) boundSurplus(i int) {
	n, w := c.numbers, &c.list[i]
	w.alone = [2]aloneBound{}
	if w.repeated || w.payment || w.weight <= index.GrammarBits && !w.initial {
		return
	}
	w.alone[1] = aloneBound{telling: true, spoils: !w.generic}
	if w.generic {
		w.alone[1].lost = n.surplusGeneric
	}
	if w.title {
		return
	}
	w.alone[0] = aloneBound{telling: true, spoils: true}
	switch {
	case w.generic:
	case (i == 0 || i == c.count-1) && !w.initial && !w.patronymic:
		w.alone[0].lost = n.surplusOutside // It stands between no two others.
	default:
		w.alone[0].lost = min(n.surplusBetween, n.surplusOutside)
	}
}

// noteLetters records, for each query word, the first letters of the listed words close to
// it.
func (c *scorer) noteLetters(l *index.WordLayer) {
	for i := range c.count {
		c.list[i].marked, c.list[i].joined, c.list[i].several = 0, false, false
	}
	for k := range c.marks {
		begins, mask := l.Begins[c.marks[k].word], c.marks[k].mask
		bit, several := index.LetterBit(begins), begins&index.BeginsJoin != 0
		for joined := mask&(mask-1) != 0; mask != 0; mask &= mask - 1 {
			w := &c.list[bits.TrailingZeros32(mask)]
			w.marked |= bit
			w.joined, w.several = w.joined || joined, w.several || several
		}
	}
}

// mayMean is a cheaper mayReach, which looks only at the first letters and the weight of a name: it can say
// no more than its words do, and no more than those words of the query that may have a pair in it.
func (c *scorer) mayMean(h index.Holder) bool {
	letters, side := h.Letters(), sideOf(h.Person())
	bound := &c.most[side]
	seen, said, lost, whole := int32(0), int32(0), int32(0), bound.whole
	for i := range c.count {
		w := &c.list[i]
		if letters&w.letters != 0 {
			said += w.most[side]
		} else if lost += w.alone[side].lost; w.alone[side].spoils {
			whole = 0
		}
		if letters&w.marked != 0 {
			seen += w.weight
		}
	}
	return seen >= c.enough && min(said, h.Weight())+whole-lost+bound.form >= bound.least
}

// mayReach reports, from the marks alone, whether a listed name can match enough of the
// query, and whether its evidence can reach the threshold if every word that may be matched
// were equal. It also returns how many rows the words take.
func (c *scorer) mayReach(tokens []index.TokenRow) (int, bool) {
	reach, said, length, letters := uint32(0), int32(0), 0, uint64(0)
	lacking, lacks, joined, sawLast := int32(0), int32(0), false, false
	for last := false; !last; {
		row := tokens[length]
		length++
		last = uint8(row>>48)&index.TokenLast != 0
		letter := uint64(1)
		if begins := uint8(row >> 56); row&(1<<index.WeightBits-1) > index.GrammarBits || begins == index.BeginsInitial {
			letter <<= begins & 63 // See index.NameToken.pairLetter.
		}
		letters |= letter
		marked := c.marked.Has(uint32(row) >> index.WeightBits)
		if marked {
			reach |= c.heads[uint32(row)>>index.WeightBits].reach
		}
		bits, part := int32(row&(1<<index.WeightBits-1)), row.Part()
		switch count := row.Count(); {
		case count > 1:
			if marked {
				joined, said = true, said+count*index.BitsMost
			}
			continue
		case marked || letter&c.loosely != 0:
			said += max(bits, c.numbers.initial)
		case bits > index.GrammarBits:
			lacks++
			lacking += c.numbers.leastLack(part, bits, sawLast)
		}
		sawLast = sawLast || part == index.PartLast && bits > index.GrammarBits
	}
	if c.weightOf(reach) < c.enough {
		return length, false
	}
	side := sideOf(tokens[0].Part() != index.PartNone)
	bound := &c.most[side]
	room, alone, whole := bound.form, int32(0), lacks == 0 || joined
	for i := range c.count {
		if w := &c.list[i]; reach>>i&1 == 0 && letters&w.loosely == 0 {
			room -= w.alone[side].lost
			whole = whole && !w.alone[side].spoils
			if w.alone[side].telling {
				alone++
			}
		}
	}
	switch {
	case whole:
		room += bound.whole
	case joined: // The words that seem to lack may be part of the join.
	case side == 0 && c.pays: // A word of the payment may stand between.
		room -= lacking
	default:
		room -= lacking + min(lacks, alone)*c.numbers.contradiction
	}
	return length, said+room >= bound.least
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

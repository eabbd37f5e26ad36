package ofac

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railguard/ofac/perfect"
)

// nameTokensMax is how many words of a listed name the possible matcher knows.
const nameTokensMax = 24

// namePartKind says what a word of a person's name is.
type namePartKind uint8

const (
	partNone namePartKind = iota // not a person's
	partLast
	partGiven // the first word after the comma
	partMiddle
	partPatronymic
	partHalf // the second syllable of an East Asian given name
)

// nameToken is one word of a listed name, or several neighbours written as one.
// Weight and first letter (of the fold) are the word's, so that most names are dismissed without a
// look at their words.
type nameToken struct {
	word   uint32
	weight int32
	first  uint8 // the first word covered
	count  uint8 // how many are covered; 1 for a word itself
	part   namePartKind
	last   bool // no other word of the name follows
	begins uint8
}

// tokenLast marks the last word of a name, beside its part.
const tokenLast = 0x80

// beginsInitial stands for the first letter of a word of one letter.
const beginsInitial = 0x3F

const weightBits = 14 // of scoreOne at most

// tokenRow is a nameToken in eight bytes: from the lowest bit weight, word, first, count,
// part and tokenLast, first letter.
type tokenRow uint64

func (t *nameToken) row() tokenRow {
	part := uint64(t.part)
	if t.last {
		part |= tokenLast
	}
	return tokenRow(uint64(t.word<<weightBits|uint32(t.weight)) | uint64(t.first)<<32 | uint64(t.count)<<40 | part<<48 | uint64(t.begins)<<56)
}

func (r tokenRow) read() nameToken {
	return nameToken{
		word: uint32(r) >> weightBits, weight: int32(r & (1<<weightBits - 1)),
		first: uint8(r >> 32), count: uint8(r >> 40), part: namePartKind(r >> 48 & 0x7F), last: r>>48&tokenLast != 0, begins: uint8(r >> 56),
	}
}

// letter is what the token may be paired by though no table says so: its first letter, or
// that it is an initial; 0: an article or a particle is not paired so.
func (t *nameToken) letter() uint8 {
	if t.weight <= grammarWeight && t.begins != beginsInitial {
		return 0
	}
	return t.begins
}

// rawToken is a nameToken whose word is still text.
type rawToken struct {
	text  string
	first uint8
	count uint8
	part  namePartKind
}

// vocabulary gathers the words of all strong names.
type vocabulary struct {
	tokens  [][]rawToken // by name; nil for weak names
	words   []string     // sorted
	wordOf  map[string]uint32
	whole   []bool   // the word stands alone in some name
	entries []uint32 // in how many entries the word stands
}

// wordsOfNames cuts every strong name into words.
func (b *builder) wordsOfNames() *vocabulary {
	v := &vocabulary{tokens: make([][]rawToken, b.nameCount), wordOf: map[string]uint32{}}
	cutter := nameCutter{tokens: tokenList{slips: true}}
	for i := range b.nameCount {
		if i%wordsOfStep == 0 {
			b.pause()
		}
		record := &b.names[i]
		if record.flags&nameWeak != 0 {
			continue
		}
		v.tokens[i] = cutter.cut(b.texts[record.full], b.entities[record.entity].kind == Individual)
		for _, token := range v.tokens[i] {
			v.words = append(v.words, token.text)
		}
	}
	slices.SortFunc(v.words, pausing(b, strings.Compare))
	v.words = slices.Compact(v.words)
	for i, word := range v.words {
		v.wordOf[word] = uint32(i)
	}
	v.count(b)
	return v
}

// count counts the entries of each word.
func (v *vocabulary) count(b *builder) {
	v.whole = make([]bool, len(v.words))
	v.entries = make([]uint32, len(v.words))
	last := make([]uint32, len(v.words)) // the entry counted last, plus one
	for i, tokens := range v.tokens {
		entry := b.names[i].entity + 1
		for _, token := range tokens {
			id := v.wordOf[token.text]
			v.whole[id] = v.whole[id] || token.count == 1
			if last[id] != entry {
				last[id] = entry
				v.entries[id]++
			}
		}
	}
}

// nameCutter cuts names into words; its buffers are reused.
type nameCutter struct {
	words  []byte
	tokens tokenList
}

// cut returns the content words of a listed name and the joins of neighbours.
func (c *nameCutter) cut(full string, person bool) []rawToken {
	var spoken bool
	if c.words, spoken = appendKana(c.words[:0], full); !spoken {
		c.words = appendWords(c.words[:0], full, false)
	}
	var list []rawToken
	if person {
		c.tokens.splitPlain(c.words)
	} else {
		c.tokens.split(c.words)
	}
	lastWords := 0
	if person {
		lastWords = wordsBeforeComma(full)
	}
	for i := range c.tokens.count {
		if c.tokens.list[i].form != formNone || len(list) == nameTokensMax {
			continue
		}
		word := c.tokens.word(c.words, i)
		if len(word) > wordBytesMax {
			word = word[:wordBytesMax]
		}
		token := rawToken{text: string(word), first: uint8(len(list)), count: 1}
		if person {
			token.part = personPart(word, len(list), lastWords)
			if n := len(list); token.part == partMiddle && n > 0 && list[n-1].part == partGiven && isSyllable(word) && isSyllable([]byte(list[n-1].text)) {
				token.part = partHalf
			}
		}
		list = append(list, token)
	}
	return appendJoins(list)
}

// wordsBeforeComma counts the words of the last name; 0 if there is no comma.
func wordsBeforeComma(full string) int {
	last, _, found := bytes.Cut([]byte(full), []byte{','})
	if !found {
		return 0
	}
	words := appendWords(nil, string(last), false)
	if len(words) == 0 {
		return 0
	}
	return bytes.Count(words, []byte{' '}) + 1
}

func personPart(word []byte, position, lastWords int) namePartKind {
	switch {
	case lastWords == 0:
		return partMiddle // no comma: any word may be any part
	case position < lastWords:
		return partLast
	case position == lastWords:
		return partGiven
	case isPatronymic(word):
		return partPatronymic
	}
	return partMiddle
}

// isPatronymic tells a Slavic or Turkic patronymic by its ending.
func isPatronymic(word []byte) bool {
	for _, ending := range patronymicEndings {
		if len(word) > len(ending)+2 && bytes.HasSuffix(word, []byte(ending)) {
			return true
		}
	}
	return false
}

var patronymicEndings = [...]string{
	"ovich", "evich", "yevich", "ovych", "evych", "avich", "ievich", "yvich", "ovitch", "evitch", "ich", "yich",
	"ovna", "evna", "yevna", "ivna", "avna", "ichna", "inichna", "ogly", "oglu", "ughli", "kyzy", "qizi", "kizi",
}

// appendJoins adds the neighbours that are often written as one word: a short
// part and what follows or precedes it ("al" "asad"), and three parts around an
// article ("abd" "al" "razzak").
func appendJoins(list []rawToken) []rawToken {
	n := len(list)
	for i := 0; i+1 < n; i++ {
		a, b := list[i], list[i+1]
		if len(a.text) > joinedPartsBytes && len(b.text) > joinedPartsBytes && !writtenAsOne(a.text, b.text) || len(a.text)+len(b.text) < 4 {
			continue
		}
		list = appendJoin(list, a.text+b.text, i, 2, a.part)
		if i+2 < n && isArticle(b.text) {
			list = appendJoin(list, a.text+b.text+list[i+2].text, i, 3, a.part)
		}
	}
	return list
}

// writtenAsOne holds for the two halves of an East Asian given name and of a
// number, whatever their length.
func writtenAsOne(a, b string) bool {
	return isSyllable([]byte(a)) && isSyllable([]byte(b)) || groupOf([]byte(a+b)) != 0
}

func appendJoin(list []rawToken, text string, first, count int, part namePartKind) []rawToken {
	if len(text) > wordBytesMax {
		return list
	}
	return append(list, rawToken{text: text, first: uint8(first), count: uint8(count), part: part})
}

func isArticle(word string) bool {
	switch word {
	case "al", "el", "ul", "ur", "ar", "as", "az", "ad", "ed", "an", "at", "ash", "il", "allah", "ud", "us":
		return true
	}
	return false
}

// posting says that a name, whose words begin at a row, holds a word.
type posting struct{ word, name uint32 }

// fileWords makes the tables of the possible matcher.
func (b *builder) fileWords() error {
	v := b.wordsOfNames()
	if len(v.words) > vocabularyMax {
		return errVocabulary
	}
	b.words.count = uint32(len(v.words))
	b.describeWords(v)
	if err := b.fileTokens(v); err != nil {
		return err
	}
	b.fileDeletions(v)
	l, hashes := &b.words, make([]perfect.Key, len(v.words))
	for i, word := range v.words {
		hashes[i] = perfect.KeyOf([]byte(word))
	}
	hash, slotOf, err := perfect.Build(hashes)
	if err != nil {
		return fmt.Errorf("%w: %d words", err, len(hashes))
	}
	l.hash, l.ids = hash, make([]uint32, len(v.words))
	for i, slot := range slotOf {
		l.ids[slot] = uint32(i)
	}
	l.noteHolders()
	l.noteRemainders()
	b.findNeighbours(v)
	return nil
}

// describeWords makes texts, folds and records of the words.
func (b *builder) describeWords(v *vocabulary) {
	letters, records := []byte(nil), make([]wordRecord, 0, len(v.words))
	for i, word := range v.words {
		if i%wordsOfStep == 0 {
			b.pause()
		}
		record := wordRecord{
			letters: uint32(len(letters)), text: uint8(len(word)), textBag: bagOf([]byte(word)), group: uint16(groupOf([]byte(word))),
			weight: uint16(wordWeight([]byte(word), v.entries[i], b.entityCount)),
		}
		if v.whole[i] {
			record.flags |= wordWhole
		}
		if isSyllable([]byte(word)) {
			record.flags |= wordSyllable
		}
		letters = append(letters, word...)
		letters = appendSpelling(letters, []byte(word))
		fold := letters[int(record.letters)+len(word):]
		record.fold, record.foldBag = uint8(len(fold)), bagOf(fold)
		if len(word) >= looseLettersMin {
			record.begins = fold[0]
		}
		records = append(records, record)
	}
	b.words.records, b.words.letters = records, letters
}

// wordWeight is how much a word tells: its rarity, less for words that are
// titles, generic or mere grammar.
func wordWeight(word []byte, entries, of uint32) int32 {
	weight := rarity(entries, of)
	switch {
	case functionWords.has(word):
		return min(weight, grammarWeight)
	case isLegalWord(word, entries > 0):
		return min(weight, legalWordWeight)
	case genericWords.has(word):
		return min(weight, 2000)
	case titleWords.has(word):
		return min(weight, 2500)
	}
	return weight
}

// fileTokens files the words of each name and the names of each word.
func (b *builder) fileTokens(v *vocabulary) error {
	offsets := []uint32{0}
	var tokens []tokenRow
	var postings []posting
	for name, list := range v.tokens {
		for i, raw := range list {
			token := nameToken{word: v.wordOf[raw.text], first: raw.first, count: raw.count, part: raw.part, last: i+1 == len(list)}
			word := &b.words.records[token.word]
			token.weight, token.begins = int32(word.weight), word.begins
			if len(raw.text) == 1 {
				token.begins = beginsInitial
			}
			tokens = append(tokens, token.row())
			postings = append(postings, posting{token.word, offsets[name]})
		}
		offsets = append(offsets, uint32(len(tokens)))
	}
	if len(tokens) > tokenRowsMax {
		return fmt.Errorf("%d words of names, at most %d", len(tokens), tokenRowsMax)
	}
	slices.SortFunc(postings, pausing(b, func(p, q posting) int { return cmp.Or(cmp.Compare(p.word, q.word), cmp.Compare(p.name, q.name)) }))
	postings = slices.Compact(postings)
	postingOffsets, names := make([]uint32, 1, len(v.words)+1), make([]uint32, 0, len(postings))
	for i, p := range postings {
		names = append(names, p.name)
		if i+1 == len(postings) || postings[i+1].word != p.word {
			postingOffsets = append(postingOffsets, uint32(len(names)))
		}
	}
	l := &b.words
	l.tokenOffsets, l.tokens, l.postingOffsets, l.postings = offsets, tokens, postingOffsets, names
	return nil
}

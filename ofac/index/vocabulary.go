package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

// NameTokensMax is how many words of a listed name the possible matcher reads.
const NameTokensMax = 24

// NamePart says which part of a person's name a word is.
type NamePart uint8

const (
	PartNone NamePart = iota // not a word of a person's name
	PartLast
	PartGiven // the first word after the comma
	partMiddle
	PartPatronymic
	PartHalf // the second syllable of an East Asian given name
)

// NameToken is one word of a listed name, or several neighbours written as one. It repeats
// the word's bits and the first letter of the fold, so that most names are dismissed
// without reading their words.
type NameToken struct {
	Word   uint32
	Weight int32 // Its bits in a name of this kind; see WordBits.
	First  uint8 // the first word covered
	Count  uint8 // how many are covered; 1 for a word itself
	Part   NamePart
	last   bool // no other word of the name follows
	Begins uint8

	Syllable bool // It is one Chinese or Korean syllable.
}

// TokenLast is the flag of the last word of a name; it shares a byte with the part.
const TokenLast = 0x80

// BeginsInitial replaces the first letter when the word has only one letter.
const BeginsInitial = 0x3F

// BeginsJoin is the flag in WordLayer.Begins of a word that is several words of some name, written as one.
const BeginsJoin = 0x80

const WeightBits = 14 // holds the bits of any word

// TokenRow is a NameToken packed in eight bytes, from the lowest bit: bits, word, first,
// count with tokenSyllable, part with TokenLast, first letter.
type TokenRow uint64

// tokenSyllable is the flag of a word that is one syllable; it shares a byte with the count.
const tokenSyllable = 0x80

func (t *NameToken) packRow() TokenRow {
	part := uint64(t.Part)
	if t.last {
		part |= TokenLast
	}
	count := uint64(t.Count)
	if t.Syllable {
		count |= tokenSyllable
	}
	return TokenRow(uint64(t.Word<<WeightBits|uint32(t.Weight)) | uint64(t.First)<<32 | count<<40 | part<<48 | uint64(t.Begins)<<56)
}

// Part is the part of the row's word.
func (r TokenRow) Part() NamePart { return NamePart(r >> 48 & 0x7F) }

// Count is how many words of the name the row covers.
func (r TokenRow) Count() int32 { return int32(r >> 40 & (tokenSyllable - 1)) }

func (r TokenRow) Read() NameToken {
	return NameToken{
		Word: uint32(r) >> WeightBits, Weight: int32(r & (1<<WeightBits - 1)),
		First: uint8(r >> 32), Count: uint8(r>>40) &^ tokenSyllable, Syllable: r>>40&tokenSyllable != 0, Part: NamePart(r >> 48 & 0x7F), last: r>>48&TokenLast != 0, Begins: uint8(r >> 56),
	}
}

// pairLetter is the first letter, or BeginsInitial, by which the token may be paired with a
// word although no table lists the pair. It is 0 for an article or a particle, which is
// never paired so.
func (t *NameToken) pairLetter() uint8 {
	if t.Weight <= GrammarBits && t.Begins != BeginsInitial {
		return 0
	}
	return t.Begins
}

// rawToken is a NameToken whose word is still text.
type rawToken struct {
	text  string
	first uint8
	count uint8
	part  NamePart
}

// vocabulary gathers the words of all strong names.
type vocabulary struct {
	tokens  [][]rawToken // by name; nil for weak names
	words   []string     // sorted
	wordOf  map[string]uint32
	whole   []bool   // the word is a whole word of some name, not only a join
	entries []uint32 // By word: how many entries have it.
}

// wordsOfNames cuts every strong name into words, but those of further lists: only OFAC's names are
// searched for what resembles them. The weight of a word follows from how many entries have it,
// and a search looks at a bounded number of words and names, so that a hundred thousand names of
// an institution's own would change what is found of OFAC's.
func (b *builder) wordsOfNames() *vocabulary {
	v := &vocabulary{tokens: make([][]rawToken, b.NameCount), wordOf: map[string]uint32{}}
	cutter := nameCutter{tokens: text.TokenList{Slips: true}}
	for i := range b.NameCount {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		record := &b.names[i]
		if record.Flags&NameWeak != 0 || b.entities[record.Entity].Lists.IsFurther() {
			continue
		}
		v.tokens[i] = cutter.cutName(b.sourceName(i), b.entities[record.Entity].Kind == list.Individual)
		for _, token := range v.tokens[i] {
			v.words = append(v.words, token.text)
		}
	}
	slices.SortFunc(v.words, pauseComparing(b, strings.Compare))
	v.words = slices.Compact(v.words)
	for i, word := range v.words {
		v.wordOf[word] = uint32(i)
	}
	v.countEntries(b)
	return v
}

func (v *vocabulary) countEntries(b *builder) {
	v.whole = make([]bool, len(v.words))
	v.entries = make([]uint32, len(v.words))
	last := make([]uint32, len(v.words)) // number of the entry counted last, plus one
	for i, tokens := range v.tokens {
		entry := b.names[i].Entity + 1
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

// appendJoins adds the joins of neighbours that are often written as one word: a short part
// and the word before or after it ("al" "asad"), and three words around an article ("abd"
// "al" "razzak").
func appendJoins(list []rawToken) []rawToken {
	n := len(list)
	for i := 0; i+1 < n; i++ {
		a, b := list[i], list[i+1]
		if len(a.text) > joinedPartsBytes && len(b.text) > joinedPartsBytes && !writtenAsOne(a.text, b.text) || len(a.text)+len(b.text) < 4 {
			continue
		}
		list = appendJoin(list, a.text+b.text, i, 2, a.part)
		if i+2 < n && text.IsArticle(b.text) {
			list = appendJoin(list, a.text+b.text+list[i+2].text, i, 3, a.part)
		}
	}
	return list
}

// writtenAsOne reports whether two words of any length are the halves of an East Asian
// given name, or form a known respelling when joined.
func writtenAsOne(a, b string) bool {
	return text.IsSyllable([]byte(a)) && text.IsSyllable([]byte(b)) || text.GroupOf([]byte(a+b)) != 0
}

func appendJoin(list []rawToken, written string, first, count int, part NamePart) []rawToken {
	if len(written) > text.WordBytesMax {
		return list
	}
	return append(list, rawToken{text: written, first: uint8(first), count: uint8(count), part: part})
}

// posting says that a name holds a word. The name is given by the row where its words
// begin.
type posting struct{ word, name uint32 }

// fileWords makes the tables of the possible matcher.
func (b *builder) fileWords() error {
	v := b.wordsOfNames()
	if len(v.words) > vocabularyMax {
		return errVocabulary
	}
	b.Words.Count = uint32(len(v.words))
	b.describeWords(v)
	if err := b.fileTokens(v); err != nil {
		return err
	}
	b.fileDeletions(v)
	b.fileAbjad(v)
	l, hashes := &b.Words, make([]perfect.Key, len(v.words))
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
	b.findOrdinary()
	return nil
}

// describeWords makes the texts, folds and records of the words.
func (b *builder) describeWords(v *vocabulary) {
	letters, records := []byte(nil), make([]WordRecord, 0, len(v.words))
	for i, word := range v.words {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		record := WordRecord{
			letters: uint32(len(letters)), Text: uint8(len(word)), textBag: text.BagOf([]byte(word)), Group: uint16(text.GroupOf([]byte(word))),
			Person: uint16(WordBits([]byte(word), v.entries[i], b.entityCount, true)),
			Other:  uint16(WordBits([]byte(word), v.entries[i], b.entityCount, false)),
		}
		if v.whole[i] {
			record.Flags |= WordWhole
		}
		if text.IsSyllable([]byte(word)) {
			record.Flags |= WordSyllable
		}
		letters = append(letters, word...)
		letters = text.AppendSpelling(letters, []byte(word))
		fold := letters[int(record.letters)+len(word):]
		record.fold, record.foldBag = uint8(len(fold)), text.BagOf(fold)
		if len(word) >= text.LooseLettersMin {
			record.begins = fold[0]
		}
		records = append(records, record)
	}
	b.Words.records, b.Words.letters = records, letters
}

// fileTokens makes the tables of the words of each name and of the names of each word.
func (b *builder) fileTokens(v *vocabulary) error {
	offsets := []uint32{0}
	var tokens []TokenRow
	var postings []posting
	for name, words := range v.tokens {
		person := b.entities[b.names[name].Entity].Kind == list.Individual
		for i, raw := range words {
			token := NameToken{Word: v.wordOf[raw.text], First: raw.first, Count: raw.count, Part: raw.part, last: i+1 == len(words)}
			word := &b.Words.records[token.Word]
			token.Syllable = word.Flags&WordSyllable != 0
			token.Weight, token.Begins = word.BitsOf(person), word.begins
			if len(raw.text) == 1 {
				token.Begins = BeginsInitial
			}
			tokens = append(tokens, token.packRow())
			postings = append(postings, posting{token.Word, offsets[name]})
		}
		offsets = append(offsets, uint32(len(tokens)))
	}
	if len(tokens) > tokenRowsMax {
		return fmt.Errorf("%d words of names, at most %d", len(tokens), tokenRowsMax)
	}
	slices.SortFunc(postings, pauseComparing(b, func(p, q posting) int { return cmp.Or(cmp.Compare(p.word, q.word), cmp.Compare(p.name, q.name)) }))
	postings = slices.Compact(postings)
	postingOffsets, names := make([]uint32, 1, len(v.words)+1), make([]uint32, 0, len(postings))
	for i, p := range postings {
		names = append(names, p.name)
		if i+1 == len(postings) || postings[i+1].word != p.word {
			postingOffsets = append(postingOffsets, uint32(len(names)))
		}
	}
	l := &b.Words
	l.tokenOffsets, l.Tokens, l.postingOffsets, l.postings = offsets, tokens, postingOffsets, names
	return nil
}

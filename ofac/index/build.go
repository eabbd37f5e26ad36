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

// Plan is the input of Make.
type Plan struct {
	Entities []list.Entity // In canonical order.
	Meta     list.Meta
	Digest   [32]byte // Digest of the encoded entities.
	Matcher  uint16   // Version of the matcher that will read the tables.
	// Former are the tables of a list that was compiled before, or nil. Make uses them only
	// if they have the same version.
	Former *Tables
	// Step, unless nil, is called between two pieces of the work. It may pause to spread
	// the work over time.
	Step func()
}

// Make makes the tables of a list.
func Make(p *Plan) (*Tables, error) {
	b := builder{Tables: &Tables{digest: p.Digest, matcher: p.Matcher, meta: p.Meta}, source: p.Entities, step: p.Step}
	if p.Former != nil && p.Former.matcher == p.Matcher {
		b.former = &p.Former.Words
	}
	if err := b.makeTables(); err != nil {
		return nil, err
	}
	return b.Tables, nil
}

type builder struct {
	*Tables
	source []list.Entity     // in canonical order
	texts  []string          // distinct strings, sorted
	textOf map[string]uint32 // their indices in texts; never iterated
	former *WordLayer        // Word layer of Plan.Former; nil: there is none that can be used.
	step   func()

	walletCount int // Distinct listed accounts.
}

func (b *builder) makeTables() error {
	b.pauseWork()
	b.joinTexts()
	for _, file := range []func() error{b.fileEntities, b.fileTaxNumbers, b.fileIdentifiers, b.fileWallets, b.fileForms, b.fileWords} {
		if err := file(); err != nil {
			return err
		}
	}
	b.noteFurther()
	b.noteBeginnings()
	b.notePairs()
	b.countEntries()
	if size := b.Size(); size > compiledBytesMax {
		return fmt.Errorf("compiled list of %d bytes, at most %d", size, compiledBytesMax)
	}
	return nil
}

// pauseWork calls Plan.Step, so that it may pause.
func (b *builder) pauseWork() {
	if b.step != nil {
		b.step()
	}
}

// The work between two pauses takes a millisecond or less.
const (
	wordsOfStep    = 16
	entriesOfStep  = 4096
	comparedOfStep = 4096
)

// pauseComparing returns a comparison that pauses now and then, because a sort can pause
// nowhere else.
func pauseComparing[T any](b *builder, compare func(p, q T) int) func(p, q T) int {
	if b.step == nil {
		return compare
	}
	compared := 0
	return func(p, q T) int {
		if compared++; compared%comparedOfStep == 0 {
			b.pauseWork()
		}
		return compare(p, q)
	}
}

// joinTexts makes the table of distinct strings.
func (b *builder) joinTexts() {
	b.texts = list.DistinctTexts(b.source, b.meta, pauseComparing(b, strings.Compare))
	b.textOf = make(map[string]uint32, len(b.texts))
	var blob strings.Builder
	for i, text := range b.texts {
		b.textOf[text] = uint32(i)
		b.textOffsets = append(b.textOffsets, uint32(blob.Len()))
		blob.WriteString(text)
	}
	b.textOffsets = append(b.textOffsets, uint32(blob.Len()))
	b.text = blob.String()
}

// fileEntities makes the rows of entities, names, parts, addresses and facts.
func (b *builder) fileEntities() error {
	for i := range b.source {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		entity := &b.source[i]
		record := b.nextEntity()
		record.UID, record.Kind, record.Lists, record.digest = entity.UID, entity.Type, entity.Lists, list.EntityDigest(entity)
		for _, sublist := range entity.Sublists {
			b.references = append(b.references, b.textOf[sublist])
		}
		record.Programs = uint32(len(b.references))
		for _, program := range entity.Programs {
			b.references = append(b.references, b.textOf[program])
		}
		for k := range entity.Names {
			b.names = append(b.names, b.nameRecord(uint32(i), entity.Type, &entity.Names[k]))
			for _, part := range entity.Names[k].Parts {
				b.parts = append(b.parts, partRecord{b.textOf[part.Kind], b.textOf[part.Value]})
			}
		}
		for _, address := range entity.Addresses {
			b.addresses = append(b.addresses, addressRecord{uint32(i), b.textOf[address.Ticker], b.textOf[address.Value], address.FeatureID})
		}
		for _, fact := range entity.Facts {
			b.Facts = append(b.Facts, factRecord{fact.Kind, b.textOf[fact.Label], b.textOf[fact.Value]})
		}
		b.entities = append(b.entities, record)
	}
	b.entityCount, b.NameCount = uint32(len(b.entities)), uint32(len(b.names))
	b.entities = append(b.entities, b.nextEntity())
	b.names = append(b.names, NameRecord{parts: uint32(len(b.parts))})
	if b.NameCount > namesMax {
		return fmt.Errorf("%d names, at most %d", b.NameCount, namesMax)
	}
	return nil
}

// nextEntity returns a row whose runs begin where the runs of all rows so far end.
func (b *builder) nextEntity() entityRecord {
	references := uint32(len(b.references))
	return entityRecord{
		Names: uint32(len(b.names)), Sublists: references, Programs: references,
		addresses: uint32(len(b.addresses)), Facts: uint32(len(b.Facts)),
	}
}

// nameRecord makes the record of a name, with what the decision table needs.
func (b *builder) nameRecord(entity uint32, kind list.EntityType, name *list.Name) NameRecord {
	record := NameRecord{
		Entity: entity, Full: b.textOf[name.Full], aliasType: b.textOf[name.AliasType], script: b.textOf[name.Script], id: name.ID, parts: uint32(len(b.parts)),
	}
	if name.Primary {
		record.Flags |= NamePrimary
	}
	if name.Weak {
		record.Flags |= NameWeak
	}
	words := text.AppendWords(nil, name.Full, false)
	var tokens text.TokenList
	if kind == list.Individual {
		tokens.SplitPlain(words)
	} else {
		tokens.Split(words)
		record.Forms = tokens.Forms()
	}
	letters, count, plain := 0, 0, 0
	for i := range tokens.Count {
		if tokens.List[i].Form != text.FormNone {
			continue
		}
		word := tokens.Word(words, i)
		count++
		letters += text.LetterCount(word)
		if !text.GenericWords.Has(word) {
			plain++
		}
	}
	record.Words, record.Plain, record.Letters = uint8(min(count, 255)), uint8(min(plain, 255)), uint8(min(letters, 255))
	return record
}

// exactKey is one form of one name; the posting is name<<4 | form.
type exactKey struct {
	hash    perfect.Key
	posting uint32
}

// fileForms makes the table of all forms of all names. It includes weak names, because they
// are evidence.
func (b *builder) fileForms() (err error) {
	keys := make([]exactKey, 0, b.NameCount*4)
	var name uint32
	maker := FormMaker{emit: func(form ExactForm, key perfect.Key) {
		keys = append(keys, exactKey{key, name<<exactFormBits | uint32(form)})
	}}
	for name = range b.NameCount {
		if name%wordsOfStep == 0 {
			b.pauseWork()
		}
		record := &b.names[name]
		if b.texts[record.aliasType] == list.AliasID {
			continue
		}
		maker.giveForms(b.texts[record.Full], b.entities[record.Entity].Kind)
	}
	b.LongestForm, b.LongestNative, b.Natives = maker.longest, maker.longestNative, maker.natives
	slices.SortFunc(keys, pauseComparing(b, func(p, q exactKey) int {
		return cmp.Or(p.hash.Compare(q.hash), cmp.Compare(p.posting, q.posting))
	}))
	hashes := make([]perfect.Key, len(keys))
	postings := make([]uint32, len(keys))
	for i, key := range keys {
		hashes[i], postings[i] = key.hash, key.posting
	}
	b.forms, err = perfect.BuildMultimap(hashes, postings)
	return err
}

func (b *builder) countEntries() {
	b.counts = Counts{Entries: int(b.entityCount), Names: int(b.NameCount), Wallets: b.walletCount}
	for i := range b.source {
		entity := &b.source[i]
		for rest := entity.Lists; rest != 0; rest &= rest - 1 {
			b.counts.Lists[rest.First()]++
		}
		switch entity.Type {
		case list.Individual:
			b.counts.Individuals++
		case list.Company:
			b.counts.Entities++
		case list.Vessel:
			b.counts.Vessels++
		case list.Aircraft:
			b.counts.Aircraft++
		}
	}
}

// beginnings are how a listed name begins in its listed order and with the given names
// first.
type beginnings struct{ Listed, Turned text.Beginning }

// BeginningsOf returns how the names that hold a word begin, in the order of the word's
// postings.
func (x *Tables) BeginningsOf(word uint32) []beginnings {
	return x.beginnings[x.Words.postingOffsets[word]:x.Words.postingOffsets[word+1]]
}

// noteBeginnings stores for each posting of a word how its name begins. The search for a
// cut line then skips most names that hold a word of the line, since they begin otherwise.
func (x *Tables) noteBeginnings() {
	l, room := &x.Words, make([]byte, 0, 4*text.WordBytesMax)
	byRow := make([]beginnings, len(l.Tokens))
	for name := range x.NameCount {
		row := l.tokenOffsets[name]
		if row == l.tokenOffsets[name+1] {
			continue
		}
		record := x.NameAt(name)
		full := x.TextAt(record.Full)
		begins := beginnings{Listed: text.ReadBeginning(full, "", room)}
		begins.Turned = begins.Listed
		if last, first, ok := strings.Cut(full, ","); ok && x.EntityAt(record.Entity).Kind == list.Individual {
			begins.Turned = text.ReadBeginning(strings.TrimSpace(first), last, room)
		}
		byRow[row] = begins
	}
	x.beginnings = make([]beginnings, len(l.postings))
	for i := range x.beginnings {
		x.beginnings[i] = byRow[l.postings[i]]
	}
}

package ofac

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railguard/ofac/perfect"
	"railguard/ofac/wallet"
)

// Build compiles entities to a list, the same for the same set of entities in any
// order, with tables of at most 64 MiB. It is refused if an entity has no uid, type,
// list or name, or if any bound of limits.go is passed.
//
// What the cluster replicates is EncodeEntities' bytes, and a node makes the tables of
// them with Compile; this is the same in one step, for the newest matcher.
func Build(entities []Entity, meta Meta) (*Index, error) {
	encoded, err := EncodeEntities(entities, meta)
	if err != nil {
		return nil, err
	}
	return Compile(encoded, MatcherVersion)
}

// builder makes the Index of a list.
type builder struct {
	*Index
	source []Entity          // in canonical order
	texts  []string          // distinct strings, sorted
	textOf map[string]uint32 // their indices; never iterated
	former *wordLayer        // See Help; nil: none.
	step   func()
}

// compile makes all tables.
func (b *builder) compile() error {
	b.pause()
	b.joinTexts()
	for _, file := range []func() error{b.fileEntities, b.fileWallets, b.fileForms, b.fileWords} {
		if err := file(); err != nil {
			return err
		}
	}
	b.noteBeginnings()
	b.countEntries()
	if size := b.Size(); size > compiledBytesMax {
		return fmt.Errorf("compiled list of %d bytes, at most %d", size, compiledBytesMax)
	}
	return nil
}

// pause lets whoever spreads the work rest.
func (b *builder) pause() {
	if b.step != nil {
		b.step()
	}
}

// How much is done between two pauses: a millisecond's, or less.
const (
	wordsOfStep    = 16
	entriesOfStep  = 4096
	comparedOfStep = 4096
)

// pausing is a comparison that pauses now and then: a sort has no other place for it.
func pausing[T any](b *builder, compare func(p, q T) int) func(p, q T) int {
	if b.step == nil {
		return compare
	}
	compared := 0
	return func(p, q T) int {
		if compared++; compared%comparedOfStep == 0 {
			b.pause()
		}
		return compare(p, q)
	}
}

// joinTexts makes the table of distinct strings.
func (b *builder) joinTexts() {
	b.texts = distinctTexts(b.source, b.meta, pausing(b, strings.Compare))
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
			b.pause()
		}
		entity := &b.source[i]
		record := b.nextEntity()
		record.uid, record.kind, record.lists, record.digest = entity.UID, entity.Type, entity.Lists, entityDigest(entity)
		for _, sublist := range entity.Sublists {
			b.references = append(b.references, b.textOf[sublist])
		}
		record.programs = uint32(len(b.references))
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
			b.facts = append(b.facts, factRecord{fact.Kind, b.textOf[fact.Label], b.textOf[fact.Value]})
		}
		b.entities = append(b.entities, record)
	}
	b.entityCount, b.nameCount = uint32(len(b.entities)), uint32(len(b.names))
	b.entities = append(b.entities, b.nextEntity())
	b.names = append(b.names, nameRecord{parts: uint32(len(b.parts))})
	if b.nameCount > namesMax {
		return fmt.Errorf("%d names, at most %d", b.nameCount, namesMax)
	}
	return nil
}

// nextEntity is a row whose runs begin where those of the rows so far end.
func (b *builder) nextEntity() entityRecord {
	references := uint32(len(b.references))
	return entityRecord{
		names: uint32(len(b.names)), sublists: references, programs: references,
		addresses: uint32(len(b.addresses)), facts: uint32(len(b.facts)),
	}
}

// nameRecord says what the decision table needs to know of a name.
func (b *builder) nameRecord(entity uint32, kind EntityType, name *Name) nameRecord {
	record := nameRecord{
		entity: entity, full: b.textOf[name.Full], aliasType: b.textOf[name.AliasType], script: b.textOf[name.Script], id: name.ID, parts: uint32(len(b.parts)),
	}
	if name.Primary {
		record.flags |= namePrimary
	}
	if name.Weak {
		record.flags |= nameWeak
	}
	words := appendWords(nil, name.Full, false)
	var tokens tokenList
	if kind == Individual {
		tokens.splitPlain(words)
	} else {
		tokens.split(words)
		record.forms = tokens.forms()
	}
	letters, count, plain := 0, 0, 0
	for i := range tokens.count {
		if tokens.list[i].form != formNone {
			continue
		}
		word := tokens.word(words, i)
		count++
		letters += letterCount(word)
		if !genericWords.has(word) {
			plain++
		}
	}
	record.words, record.plain, record.letters = uint8(min(count, 255)), uint8(min(plain, 255)), uint8(min(letters, 255))
	return record
}

// walletPosting is one address under its canonical key.
type walletPosting struct {
	key     string
	hash    perfect.Key
	address uint32
}

// fileWallets makes the table of canonical addresses.
func (b *builder) fileWallets() (err error) {
	var postings []walletPosting
	for i, record := range b.addresses {
		key := string(wallet.AppendKey(nil, b.texts[record.value]))
		if key == "" {
			continue // blanks only: no query can name it
		}
		postings = append(postings, walletPosting{key, perfect.KeyOf([]byte(key)), uint32(i)})
	}
	slices.SortFunc(postings, func(p, q walletPosting) int {
		return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.address, q.address))
	})
	keys := make([]perfect.Key, len(postings))
	values := make([]uint32, len(postings))
	for i, posting := range postings {
		keys[i], values[i] = posting.hash, posting.address
	}
	b.wallets, err = perfect.BuildMultimap(keys, values)
	return err
}

// exactKey is one form of one name; the posting is name<<4 | form.
type exactKey struct {
	hash    perfect.Key
	posting uint32
}

const exactFormBits = 4

// fileForms makes the table of all forms of all names. Weak names are in it too: they
// are evidence.
func (b *builder) fileForms() (err error) {
	keys := make([]exactKey, 0, b.nameCount*4)
	var name uint32
	maker := formMaker{emit: func(form exactForm, key perfect.Key) {
		keys = append(keys, exactKey{key, name<<exactFormBits | uint32(form)})
	}}
	for name = range b.nameCount {
		if name%wordsOfStep == 0 {
			b.pause()
		}
		record := &b.names[name]
		maker.listed(b.texts[record.full], b.entities[record.entity].kind)
	}
	slices.SortFunc(keys, pausing(b, func(p, q exactKey) int {
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

// countEntries fills Counts.
func (b *builder) countEntries() {
	b.counts = Counts{Entries: int(b.entityCount), Names: int(b.nameCount), Wallets: b.wallets.Count()}
	for i := range b.source {
		entity := &b.source[i]
		for source := range SourceCount {
			if entity.Lists.Has(source) {
				b.counts.Lists[source]++
			}
		}
		switch entity.Type {
		case Individual:
			b.counts.Individuals++
		case Company:
			b.counts.Entities++
		case Vessel:
			b.counts.Vessels++
		case Aircraft:
			b.counts.Aircraft++
		}
	}
}

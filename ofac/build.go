package ofac

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"railguard/ofac/wallet"
)

// Build compiles entities to a list: canonical bytes, the same for the same
// set of entities in any order, at most 64 MiB. It is refused if an entity has
// no uid, type, list or name, or if any bound of limits.go is passed.
//
// What the cluster replicates is EncodeEntities' bytes, and a node makes the tables of
// them with Compile; this is the same in one step, for the newest matcher.
func Build(entities []Entity, meta Meta) ([]byte, error) {
	b, err := newBuilder(entities, meta)
	if err != nil {
		return nil, err
	}
	encoded, err := b.encode()
	if err != nil {
		return nil, err
	}
	return b.tables(Digest(encoded), MatcherVersion)
}

// newBuilder checks the entities and brings them into their one order.
func newBuilder(entities []Entity, meta Meta) (*builder, error) {
	if len(meta.Source) > textBytesMax {
		return nil, fmt.Errorf("source of %d bytes, at most %d", len(meta.Source), textBytesMax)
	}
	list, err := canonicalEntities(entities)
	if err != nil {
		return nil, err
	}
	b := &builder{entities: list, meta: meta}
	b.collectText()
	return b, nil
}

// tables compiles the canonical entities whose encoding has that digest.
func (b *builder) tables(digest [32]byte, version uint16) ([]byte, error) {
	if err := b.encodeEntities(); err != nil {
		return nil, err
	}
	if err := b.encodeWallets(); err != nil {
		return nil, err
	}
	if err := b.encodeExact(); err != nil {
		return nil, err
	}
	if err := b.encodeWords(); err != nil {
		return nil, err
	}
	b.encodeMeta(digest, version)
	return assemble(b.sections)
}

// builder gathers the sections of one list.
type builder struct {
	entities []Entity
	meta     Meta
	texts    []string          // distinct strings, sorted
	textOf   map[string]uint32 // their indices; never iterated
	names    []nameRecord
	sections [sectionEnd][]byte

	former *wordLayer // See Help; nil: none.
	step   func()
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

// collectText makes the table of distinct strings.
func (b *builder) collectText() {
	b.texts = []string{"", b.meta.Source}
	for i := range b.entities {
		entity := &b.entities[i]
		b.texts = append(append(b.texts, entity.Sublists...), entity.Programs...)
		for _, name := range entity.Names {
			b.texts = append(b.texts, name.AliasType, name.Script, name.Full)
			for _, part := range name.Parts {
				b.texts = append(b.texts, part.Kind, part.Value)
			}
		}
		for _, address := range entity.Addresses {
			b.texts = append(b.texts, address.Ticker, address.Value)
		}
		for _, fact := range entity.Facts {
			b.texts = append(b.texts, fact.Label, fact.Value)
		}
	}
	slices.SortFunc(b.texts, pausing(b, strings.Compare))
	b.texts = slices.Compact(b.texts)
	b.textOf = make(map[string]uint32, len(b.texts))
	offsets := make([]uint32, 0, len(b.texts)+1)
	var blob []byte
	for i, text := range b.texts {
		b.textOf[text] = uint32(i)
		offsets = append(offsets, uint32(len(blob)))
		blob = append(blob, text...)
	}
	offsets = append(offsets, uint32(len(blob)))
	b.sections[sectionTextOffsets] = appendWords32(nil, offsets)
	b.sections[sectionText] = blob
}

// encodeEntities writes entities, references, names, parts and addresses.
func (b *builder) encodeEntities() error {
	var entities, names, parts, addresses, facts []byte
	var references []uint32
	for i := range b.entities {
		if i%wordsOfStep == 0 {
			b.pause()
		}
		entity := &b.entities[i]
		record := entityRecord{
			uid: entity.UID, kind: entity.Type, lists: entity.Lists, digest: entityDigest(entity),
			names: uint32(len(names) / nameBytes), sublists: uint32(len(references)), addresses: uint32(len(addresses) / addressBytes), facts: uint32(len(facts) / factBytes),
		}
		for _, sublist := range entity.Sublists {
			references = append(references, b.textOf[sublist])
		}
		record.programs = uint32(len(references))
		for _, program := range entity.Programs {
			references = append(references, b.textOf[program])
		}
		for k := range entity.Names {
			name := b.nameRecord(uint32(i), entity.Type, &entity.Names[k])
			name.parts = uint32(len(parts) / partBytes)
			for _, part := range entity.Names[k].Parts {
				parts = appendWords32(parts, []uint32{b.textOf[part.Kind], b.textOf[part.Value]})
			}
			names = name.append(names)
			b.names = append(b.names, name)
		}
		for _, address := range entity.Addresses {
			row := addressRecord{uint32(i), b.textOf[address.Ticker], b.textOf[address.Value], address.FeatureID}
			addresses = row.append(addresses)
		}
		for _, fact := range entity.Facts {
			facts = appendWords32(facts, []uint32{uint32(fact.Kind), b.textOf[fact.Label], b.textOf[fact.Value]})
		}
		entities = record.append(entities)
	}
	end := entityRecord{names: uint32(len(b.names)), sublists: uint32(len(references)), programs: uint32(len(references)), addresses: uint32(len(addresses) / addressBytes), facts: uint32(len(facts) / factBytes)}
	entities = end.append(entities)
	last := nameRecord{parts: uint32(len(parts) / partBytes)}
	names = last.append(names)
	b.sections[sectionEntities], b.sections[sectionNames] = entities, names
	b.sections[sectionParts], b.sections[sectionAddresses], b.sections[sectionFacts] = parts, addresses, facts
	b.sections[sectionReferences] = appendWords32(nil, references)
	if len(b.names) > namesMax {
		return fmt.Errorf("%d names, at most %d", len(b.names), namesMax)
	}
	return nil
}

// nameRecord says what the decision table needs to know of a name.
func (b *builder) nameRecord(entity uint32, kind EntityType, name *Name) nameRecord {
	record := nameRecord{
		entity: entity, full: b.textOf[name.Full], aliasType: b.textOf[name.AliasType], script: b.textOf[name.Script], id: name.ID,
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
	hash    hashPair
	address uint32
}

// encodeWallets writes the perfect hash over canonical addresses.
func (b *builder) encodeWallets() error {
	var postings []walletPosting
	records := b.sections[sectionAddresses]
	for i := range len(records) / addressBytes {
		record := readAddress(records[i*addressBytes:])
		key := string(wallet.AppendKey(nil, b.texts[record.value]))
		if key == "" {
			continue // blanks only: no query can name it
		}
		postings = append(postings, walletPosting{key, hashBytes([]byte(key)), uint32(i)})
	}
	slices.SortFunc(postings, func(p, q walletPosting) int {
		return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.address, q.address))
	})
	keys := make([]hashPair, len(postings))
	values := make([]uint32, len(postings))
	for i, posting := range postings {
		keys[i], values[i] = posting.hash, posting.address
	}
	return b.encodeMultimap(sectionWalletHash, sectionWalletOffsets, sectionWalletPostings, keys, values)
}

// encodeMultimap writes a perfect hash over the distinct keys and, slot by
// slot, the values of each. Equal keys must be adjacent.
func (b *builder) encodeMultimap(hashID, offsetsID, postingsID sectionID, keys []hashPair, values []uint32) error {
	var distinct []hashPair
	var firsts []int
	for i, key := range keys {
		if i == 0 || key != keys[i-1] {
			distinct = append(distinct, key)
			firsts = append(firsts, i)
		}
	}
	firsts = append(firsts, len(keys))
	table, slotOf, err := buildPerfect(distinct)
	if err != nil {
		return fmt.Errorf("%w: %d keys", err, len(distinct))
	}
	keyAt := make([]uint32, len(distinct))
	for k, slot := range slotOf {
		keyAt[slot] = uint32(k)
	}
	offsets := make([]uint32, 0, len(distinct)+1)
	postings := make([]uint32, 0, len(values))
	for _, k := range keyAt {
		offsets = append(offsets, uint32(len(postings)))
		postings = append(postings, values[firsts[k]:firsts[k+1]]...)
	}
	offsets = append(offsets, uint32(len(postings)))
	b.sections[hashID] = table
	b.sections[offsetsID] = appendWords32(nil, offsets)
	b.sections[postingsID] = appendWords32(nil, postings)
	return nil
}

// exactKey is one form of one name; the posting is name<<4 | form.
type exactKey struct {
	hash    hashPair
	posting uint32
}

// encodeExact writes the perfect hash over all forms of all names. Weak names
// are in it too: they are evidence.
func (b *builder) encodeExact() error {
	keys := make([]exactKey, 0, len(b.names)*4)
	var name uint32
	maker := formMaker{emit: func(form exactForm, key hashPair) {
		keys = append(keys, exactKey{key, name<<exactFormBits | uint32(form)})
	}}
	for name = range uint32(len(b.names)) {
		if name%wordsOfStep == 0 {
			b.pause()
		}
		record := &b.names[name]
		maker.listed(b.texts[record.full], b.entities[record.entity].Type)
	}
	slices.SortFunc(keys, pausing(b, func(p, q exactKey) int {
		return cmp.Or(cmp.Compare(p.hash.place, q.hash.place), cmp.Compare(p.hash.print, q.hash.print), cmp.Compare(p.posting, q.posting))
	}))
	hashes := make([]hashPair, len(keys))
	postings := make([]uint32, len(keys))
	for i, key := range keys {
		hashes[i], postings[i] = key.hash, key.posting
	}
	return b.encodeMultimap(sectionExactHash, sectionExactOffsets, sectionExactPostings, hashes, postings)
}

const exactFormBits = 4

// metaBytes is the size of the section of the Meta: what the list says of itself, the
// digest of the entities that the tables were made of, and for which matcher.
const metaBytes = 32 + 32 + 8

// encodeMeta writes where the list comes from.
func (b *builder) encodeMeta(digest [32]byte, version uint16) {
	meta := binary.LittleEndian.AppendUint64(nil, uint64(b.meta.PublishedAt))
	meta = binary.LittleEndian.AppendUint32(meta, b.textOf[b.meta.Source])
	meta = binary.LittleEndian.AppendUint32(meta, uint32(boolByte(b.meta.Sample)))
	meta = binary.LittleEndian.AppendUint64(meta, uint64(b.meta.SDNAsOf))
	meta = binary.LittleEndian.AppendUint64(meta, uint64(b.meta.CONSAsOf))
	meta = append(meta, digest[:]...)
	b.sections[sectionMeta] = binary.LittleEndian.AppendUint64(meta, uint64(version))
}

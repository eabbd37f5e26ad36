package ofac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The canonical list of entities is what the cluster replicates: what was
// published, and nothing that a program derived of it. Each node compiles its own
// tables from it, the same bytes for one matcher version.
//
// Its bytes are a pure function of the set of entities and the Meta:
//
//	"RGENTS" 0 version   8 bytes
//	varint number of texts, and per text: varint length, bytes; sorted, each once
//	the Meta: varint source, PublishedAt, the dates of SDN and CONS (zigzag), 1 byte
//	  flags (1 sample, 2 further dates), and with further dates: varint number, and
//	  per other source that has a date, in order: 1 byte source, date (zigzag)
//	varint number of entities, and per entity, by uid:
//	  varint uid less the one before, 1 byte type, varint lists (a bit for each source)
//	  sublists, programmes: varint count, varint text each
//	  names: varint count, and per name: varint id, alias type, script, full name,
//	    1 byte flags (1 primary, 2 weak), varint number of parts, kind and value each
//	  addresses: varint count, and per address: varint ticker, value, feature id
//	  facts: varint count, and per fact: 1 byte kind, varint label, value
//
// A text is named by its place in the table. Varints are those of encoding/binary
// in their shortest form. The SHA-256 of the bytes names the list of entities.
const (
	entitiesMagic    = "RGENTS\x00\x01"
	entitiesBytesMax = 96 << 20 // The limits table of the rulings.
	entityTextsMax   = 1 << 23
	datesAlways      = 2 // SDN and CONS have a date in every list, 0 if unknown.
)

// ErrEntities is wrapped by every error of DecodeEntities.
var ErrEntities = errors.New("list of entities")

// EncodeEntities writes the canonical list of entities. It refuses what Build
// refuses, and more than 96 MiB.
func EncodeEntities(entities []Entity, meta Meta) ([]byte, error) {
	if len(meta.Source) > textBytesMax {
		return nil, fmt.Errorf("source of %d bytes, at most %d", len(meta.Source), textBytesMax)
	}
	list, err := canonicalEntities(entities)
	if err != nil {
		return nil, err
	}
	return encodeList(list, meta)
}

// IsEntities reports whether the bytes begin as an encoded list of entities does.
func IsEntities(data []byte) bool { return bytes.HasPrefix(data, []byte(entitiesMagic)) }

// distinctTexts are the strings of canonical entities, sorted, each once.
func distinctTexts(entities []Entity, meta Meta, compare func(a, b string) int) []string {
	texts := []string{"", meta.Source}
	for i := range entities {
		entity := &entities[i]
		texts = append(append(texts, entity.Sublists...), entity.Programs...)
		for _, name := range entity.Names {
			texts = append(texts, name.AliasType, name.Script, name.Full)
			for _, part := range name.Parts {
				texts = append(texts, part.Kind, part.Value)
			}
		}
		for _, address := range entity.Addresses {
			texts = append(texts, address.Ticker, address.Value)
		}
		for _, fact := range entity.Facts {
			texts = append(texts, fact.Label, fact.Value)
		}
	}
	slices.SortFunc(texts, compare)
	return slices.Compact(texts)
}

// encodeList writes canonical entities.
func encodeList(list []Entity, meta Meta) ([]byte, error) {
	texts := distinctTexts(list, meta, strings.Compare)
	e := entityEncoder{data: []byte(entitiesMagic), textOf: make(map[string]uint32, len(texts))}
	e.number(uint64(len(texts)))
	for i, text := range texts {
		e.textOf[text] = uint32(i)
		e.number(uint64(len(text)))
		e.data = append(e.data, text...)
	}
	e.text(meta.Source)
	e.data = binary.AppendVarint(e.data, meta.PublishedAt)
	e.dates(meta.AsOf[:], meta.Sample)
	e.number(uint64(len(list)))
	previous := uint32(0)
	for i := range list {
		e.entity(&list[i], previous)
		previous = list[i].UID
	}
	if len(e.data) > entitiesBytesMax {
		return nil, fmt.Errorf("list of entities of %d bytes, at most %d", len(e.data), entitiesBytesMax)
	}
	return e.data, nil
}

type entityEncoder struct {
	data   []byte
	textOf map[string]uint32
}

func (e *entityEncoder) number(n uint64) { e.data = binary.AppendUvarint(e.data, n) }
func (e *entityEncoder) text(s string)   { e.number(uint64(e.textOf[s])) }

func (e *entityEncoder) list(texts []string) {
	e.number(uint64(len(texts)))
	for _, text := range texts {
		e.text(text)
	}
}

// dates writes the dates of the sources and, in the byte between them, the sample's flag.
func (e *entityEncoder) dates(asOf []int64, sample bool) {
	var others []byte
	count := 0
	for source, date := range asOf {
		if source < datesAlways {
			e.data = binary.AppendVarint(e.data, date)
		} else if date != 0 {
			others = binary.AppendVarint(append(others, byte(source)), date)
			count++
		}
	}
	e.data = append(e.data, boolByte(sample)|boolByte(count > 0)<<1)
	if count > 0 {
		e.number(uint64(count))
		e.data = append(e.data, others...)
	}
}

func (e *entityEncoder) entity(entity *Entity, previous uint32) {
	e.number(uint64(entity.UID - previous))
	e.data = append(e.data, byte(entity.Type))
	e.number(uint64(entity.Lists))
	e.list(entity.Sublists)
	e.list(entity.Programs)
	e.number(uint64(len(entity.Names)))
	for i := range entity.Names {
		name := &entity.Names[i]
		e.number(uint64(name.ID))
		e.text(name.AliasType)
		e.text(name.Script)
		e.text(name.Full)
		e.data = append(e.data, boolByte(name.Primary)|boolByte(name.Weak)<<1)
		e.number(uint64(len(name.Parts)))
		for _, part := range name.Parts {
			e.text(part.Kind)
			e.text(part.Value)
		}
	}
	e.number(uint64(len(entity.Addresses)))
	for _, address := range entity.Addresses {
		e.text(address.Ticker)
		e.text(address.Value)
		e.number(uint64(address.FeatureID))
	}
	e.number(uint64(len(entity.Facts)))
	for _, fact := range entity.Facts {
		e.data = append(e.data, byte(fact.Kind))
		e.text(fact.Label)
		e.text(fact.Value)
	}
}

// DecodeEntities reads what EncodeEntities wrote, and nothing else: bytes that it
// would not have written are refused, whatever they are.
func DecodeEntities(data []byte) ([]Entity, Meta, error) {
	if len(data) > entitiesBytesMax {
		return nil, Meta{}, fmt.Errorf("%w: longer than %d bytes", ErrEntities, entitiesBytesMax)
	}
	if !IsEntities(data) {
		return nil, Meta{}, fmt.Errorf("%w: not of this format and version", ErrEntities)
	}
	d := entityDecoder{data: data[len(entitiesMagic):]}
	d.readTexts()
	meta := Meta{Source: d.text(), PublishedAt: d.signed()}
	meta.Sample = d.dates(meta.AsOf[:])
	list := make([]Entity, d.count(entitiesMax))
	previous := uint32(0)
	for i := range list {
		if list[i] = d.entity(previous); d.failed != "" {
			return nil, Meta{}, fmt.Errorf("%w: %s of entity %d", ErrEntities, d.failed, i)
		}
		previous = list[i].UID
	}
	if len(d.data) > 0 && d.failed == "" {
		d.fail("bytes after the last entity")
	}
	if d.failed != "" {
		return nil, Meta{}, fmt.Errorf("%w: %s", ErrEntities, d.failed)
	}
	again, err := EncodeEntities(list, meta)
	if err != nil {
		return nil, Meta{}, fmt.Errorf("%w: %w", ErrEntities, err)
	}
	if string(again) != string(data) {
		return nil, Meta{}, fmt.Errorf("%w: not in canonical form", ErrEntities)
	}
	return list, meta, nil
}

// entityDecoder reads from the front of the data; after a failure it reads zeros.
type entityDecoder struct {
	data   []byte
	texts  []string
	failed string
}

func (d *entityDecoder) fail(what string) {
	if d.failed == "" {
		d.failed = what
	}
	d.data = nil
}

func (d *entityDecoder) number() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail("number")
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *entityDecoder) signed() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.fail("number")
		return 0
	}
	d.data = d.data[size:]
	return n
}

// count reads a number of things of at least a byte each.
func (d *entityDecoder) count(most int) int {
	n := d.number()
	if n > uint64(most) || n > uint64(len(d.data)) {
		d.fail("count")
		return 0
	}
	return int(n)
}

func (d *entityDecoder) small() uint32 {
	n := d.number()
	if n > 1<<32-1 {
		d.fail("number")
		return 0
	}
	return uint32(n)
}

func (d *entityDecoder) byte(most byte) byte {
	if len(d.data) == 0 || d.data[0] > most {
		d.fail("byte")
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return c
}

func (d *entityDecoder) readTexts() {
	count := d.count(entityTextsMax)
	d.texts = make([]string, 0, count)
	for range count {
		size := d.number()
		if size > uint64(len(d.data)) || size > nameBytesMax {
			d.fail("text")
			return
		}
		d.texts = append(d.texts, string(d.data[:size]))
		d.data = d.data[size:]
	}
}

func (d *entityDecoder) text() string {
	at := d.number()
	if at >= uint64(len(d.texts)) {
		d.fail("reference to a text")
		return ""
	}
	return d.texts[at]
}

// dates reads what the encoder's dates wrote.
func (d *entityDecoder) dates(asOf []int64) (sample bool) {
	for source := range datesAlways {
		asOf[source] = d.signed()
	}
	flags := d.byte(3)
	if flags&2 != 0 {
		for range d.count(len(asOf)) {
			asOf[d.byte(byte(len(asOf)-1))] = d.signed()
		}
	}
	return flags&1 != 0
}

// listOf reads a count and so many things.
func listOf[T any](d *entityDecoder, most int, read func() T) []T {
	var list []T
	for range d.count(most) {
		list = append(list, read())
		if d.failed != "" {
			return nil
		}
	}
	return slices.Clip(list)
}

func (d *entityDecoder) entity(previous uint32) Entity {
	entity := Entity{UID: previous + d.small(), Type: EntityType(d.byte(byte(Aircraft))), Lists: Lists(d.small())}
	entity.Sublists = listOf(d, itemsPerEntity, d.text)
	entity.Programs = listOf(d, itemsPerEntity, d.text)
	entity.Names = listOf(d, namesPerEntity, func() Name {
		name := Name{ID: d.small(), AliasType: d.text(), Script: d.text(), Full: d.text()}
		flags := d.byte(3)
		name.Primary, name.Weak = flags&1 != 0, flags&2 != 0
		name.Parts = listOf(d, itemsPerEntity, func() NamePart { return NamePart{d.text(), d.text()} })
		return name
	})
	entity.Addresses = listOf(d, itemsPerEntity, func() Address { return Address{d.text(), d.text(), d.small()} })
	entity.Facts = listOf(d, itemsPerEntity, func() Fact { return Fact{FactKind(d.byte(byte(factKindEnd - 1))), d.text(), d.text()} })
	return entity
}

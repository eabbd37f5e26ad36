package list

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The cluster replicates the canonical list of entities: the published data, and
// nothing derived from it. Each node compiles its own tables from it, the same for
// one matcher version.
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
// Version 2 is written if and only if there are further lists. Behind the Meta it has their table:
// varint count, and per list: 1 byte number, 1 byte effect (1 blocks), varint id, name, authority,
// format; families: varint count, varint text each; varint greatest age (ns). Behind the facts each
// entity has varint id and until (zigzag).
//
// A text is named by its place in the table. Varints are those of encoding/binary
// in their shortest form. The SHA-256 of the bytes names the list of entities.
const (
	entitiesMagic    = "RGENTS\x00\x01"
	entitiesMagic2   = "RGENTS\x00\x02"
	entitiesBytesMax = 96 << 20 // These bounds are those of the limits table of the rulings.
	entityTextsMax   = 1 << 23
	datesAlways      = 2 // SDN and CONS have a date in every list, 0 if unknown.
)

// ErrEntities is wrapped by every error of DecodeEntities.
var ErrEntities = errors.New("list of entities")

// Encode writes the canonical list of entities. It refuses entities that break a rule or a
// bound of this package, and more than 96 MiB.
func Encode(entities []Entity, meta Meta) ([]byte, error) {
	if len(meta.Source) > textBytesMax {
		return nil, fmt.Errorf("source of %d bytes, at most %d", len(meta.Source), textBytesMax)
	}
	if err := checkFurther(meta.Further); err != nil {
		return nil, err
	}
	list, err := canonicalEntities(entities, meta.sources())
	if err != nil {
		return nil, err
	}
	return encodeList(list, meta)
}

// IsEntities reports whether the bytes begin like an encoded list of entities.
func IsEntities(data []byte) bool {
	return bytes.HasPrefix(data, []byte(entitiesMagic)) || bytes.HasPrefix(data, []byte(entitiesMagic2))
}

// DistinctTexts are the strings of canonical entities, sorted, each once.
func DistinctTexts(entities []Entity, meta Meta, compare func(a, b string) int) []string {
	texts := []string{"", meta.Source}
	for i := range meta.Further {
		row := &meta.Further[i]
		texts = append(append(texts, row.ID, row.Name, row.Authority, row.Format), row.Families...)
	}
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
		if entity.ID != "" {
			texts = append(texts, entity.ID)
		}
	}
	slices.SortFunc(texts, compare)
	return slices.Compact(texts)
}

func encodeList(list []Entity, meta Meta) ([]byte, error) {
	texts := DistinctTexts(list, meta, strings.Compare)
	e := entityEncoder{data: []byte(entitiesMagic), textOf: make(map[string]uint32, len(texts)), further: len(meta.Further) > 0}
	if e.further {
		copy(e.data, entitiesMagic2)
	}
	e.writeNumber(uint64(len(texts)))
	for i, text := range texts {
		e.textOf[text] = uint32(i)
		e.writeNumber(uint64(len(text)))
		e.data = append(e.data, text...)
	}
	e.writeText(meta.Source)
	e.data = binary.AppendVarint(e.data, meta.PublishedAt)
	e.writeDates(meta.AsOf[:], meta.Sample)
	if e.further {
		e.writeFurther(meta.Further)
	}
	e.writeNumber(uint64(len(list)))
	previous := uint32(0)
	for i := range list {
		e.writeEntity(&list[i], previous)
		previous = list[i].UID
	}
	if len(e.data) > entitiesBytesMax {
		return nil, fmt.Errorf("list of entities of %d bytes, at most %d", len(e.data), entitiesBytesMax)
	}
	return e.data, nil
}

type entityEncoder struct {
	data    []byte
	textOf  map[string]uint32
	further bool // Version 2.
}

func (e *entityEncoder) writeNumber(n uint64) { e.data = binary.AppendUvarint(e.data, n) }
func (e *entityEncoder) writeText(s string)   { e.writeNumber(uint64(e.textOf[s])) }

func (e *entityEncoder) writeList(texts []string) {
	e.writeNumber(uint64(len(texts)))
	for _, text := range texts {
		e.writeText(text)
	}
}

// writeDates writes the dates of the sources and, in the byte between them, the sample's flag.
func (e *entityEncoder) writeDates(asOf []int64, sample bool) {
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
		e.writeNumber(uint64(count))
		e.data = append(e.data, others...)
	}
}

func (e *entityEncoder) writeEntity(entity *Entity, previous uint32) {
	e.writeNumber(uint64(entity.UID - previous))
	e.data = append(e.data, byte(entity.Type))
	e.writeNumber(uint64(entity.Lists))
	e.writeList(entity.Sublists)
	e.writeList(entity.Programs)
	e.writeNumber(uint64(len(entity.Names)))
	for i := range entity.Names {
		name := &entity.Names[i]
		e.writeNumber(uint64(name.ID))
		e.writeText(name.AliasType)
		e.writeText(name.Script)
		e.writeText(name.Full)
		e.data = append(e.data, boolByte(name.Primary)|boolByte(name.Weak)<<1)
		e.writeNumber(uint64(len(name.Parts)))
		for _, part := range name.Parts {
			e.writeText(part.Kind)
			e.writeText(part.Value)
		}
	}
	e.writeNumber(uint64(len(entity.Addresses)))
	for _, address := range entity.Addresses {
		e.writeText(address.Ticker)
		e.writeText(address.Value)
		e.writeNumber(uint64(address.FeatureID))
	}
	e.writeNumber(uint64(len(entity.Facts)))
	for _, fact := range entity.Facts {
		e.data = append(e.data, byte(fact.Kind))
		e.writeText(fact.Label)
		e.writeText(fact.Value)
	}
	if e.further {
		e.writeText(entity.ID)
		e.data = binary.AppendVarint(e.data, entity.Until)
	}
}

// Decode reads the output of Encode. It refuses any bytes that Encode would not have
// written.
func Decode(data []byte) ([]Entity, Meta, error) {
	if len(data) > entitiesBytesMax {
		return nil, Meta{}, fmt.Errorf("%w: longer than %d bytes", ErrEntities, entitiesBytesMax)
	}
	if !IsEntities(data) {
		return nil, Meta{}, fmt.Errorf("%w: not of this format and version", ErrEntities)
	}
	d := entityDecoder{data: data[len(entitiesMagic):], further: data[len(entitiesMagic)-1] == entitiesMagic2[len(entitiesMagic2)-1]}
	d.readTexts()
	meta := Meta{Source: d.readText(), PublishedAt: d.readSigned()}
	meta.Sample = d.readDates(meta.AsOf[:])
	if d.further {
		meta.Further = d.readFurther()
	}
	list := make([]Entity, d.readCount(entitiesMax))
	previous := uint32(0)
	for i := range list {
		if list[i] = d.readEntity(previous); d.failed != "" {
			return nil, Meta{}, fmt.Errorf("%w: %s of entity %d", ErrEntities, d.failed, i)
		}
		previous = list[i].UID
	}
	if len(d.data) > 0 && d.failed == "" {
		d.noteFailure("bytes after the last entity")
	}
	if d.failed != "" {
		return nil, Meta{}, fmt.Errorf("%w: %s", ErrEntities, d.failed)
	}
	again, err := Encode(list, meta)
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
	data    []byte
	texts   []string
	failed  string
	further bool // Version 2.
}

func (d *entityDecoder) noteFailure(what string) {
	if d.failed == "" {
		d.failed = what
	}
	d.data = nil
}

func (d *entityDecoder) readNumber() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.noteFailure("number")
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *entityDecoder) readSigned() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.noteFailure("number")
		return 0
	}
	d.data = d.data[size:]
	return n
}

// readCount reads a count of items that take at least one byte each.
func (d *entityDecoder) readCount(most int) int {
	n := d.readNumber()
	if n > uint64(most) || n > uint64(len(d.data)) {
		d.noteFailure("count")
		return 0
	}
	return int(n)
}

func (d *entityDecoder) readSmall() uint32 {
	n := d.readNumber()
	if n > 1<<32-1 {
		d.noteFailure("number")
		return 0
	}
	return uint32(n)
}

func (d *entityDecoder) readByte(most byte) byte {
	if len(d.data) == 0 || d.data[0] > most {
		d.noteFailure("byte")
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return c
}

func (d *entityDecoder) readTexts() {
	count := d.readCount(entityTextsMax)
	d.texts = make([]string, 0, count)
	for range count {
		size := d.readNumber()
		if size > uint64(len(d.data)) || size > nameBytesMax {
			d.noteFailure("text")
			return
		}
		d.texts = append(d.texts, string(d.data[:size]))
		d.data = d.data[size:]
	}
}

func (d *entityDecoder) readText() string {
	at := d.readNumber()
	if at >= uint64(len(d.texts)) {
		d.noteFailure("reference to a text")
		return ""
	}
	return d.texts[at]
}

// readDates reads the output of writeDates.
func (d *entityDecoder) readDates(asOf []int64) (sample bool) {
	for source := range datesAlways {
		asOf[source] = d.readSigned()
	}
	flags := d.readByte(3)
	if flags&2 != 0 {
		for range d.readCount(len(asOf)) {
			asOf[d.readByte(byte(len(asOf)-1))] = d.readSigned()
		}
	}
	return flags&1 != 0
}

// listOf reads a count and then that many items.
func listOf[T any](d *entityDecoder, most int, read func() T) []T {
	var list []T
	for range d.readCount(most) {
		list = append(list, read())
		if d.failed != "" {
			return nil
		}
	}
	return slices.Clip(list)
}

func (d *entityDecoder) readEntity(previous uint32) Entity {
	entity := Entity{UID: previous + d.readSmall(), Type: EntityType(d.readByte(byte(Aircraft))), Lists: Lists(d.readSmall())}
	entity.Sublists = listOf(d, itemsPerEntity, d.readText)
	entity.Programs = listOf(d, itemsPerEntity, d.readText)
	entity.Names = listOf(d, namesPerEntity, func() Name {
		name := Name{ID: d.readSmall(), AliasType: d.readText(), Script: d.readText(), Full: d.readText()}
		flags := d.readByte(3)
		name.Primary, name.Weak = flags&1 != 0, flags&2 != 0
		name.Parts = listOf(d, itemsPerEntity, func() NamePart { return NamePart{d.readText(), d.readText()} })
		return name
	})
	entity.Addresses = listOf(d, itemsPerEntity, func() Address { return Address{d.readText(), d.readText(), d.readSmall()} })
	entity.Facts = listOf(d, itemsPerEntity, func() Fact { return Fact{FactKind(d.readByte(byte(factKindEnd - 1))), d.readText(), d.readText()} })
	if d.further {
		entity.ID, entity.Until = d.readText(), d.readSigned()
	}
	return entity
}

// Digest is the SHA-256 of an encoded list of entities: the list's name.
func Digest(data []byte) [32]byte { return sha256.Sum256(data) }

// SnapshotID is the id by which people refer to the list with this digest.
func SnapshotID(digest [32]byte) string { return "snp_" + hex.EncodeToString(digest[:8]) }

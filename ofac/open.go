package ofac

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is the SHA-256 of an encoded list of entities: the list's name.
func Digest(data []byte) [32]byte { return sha256.Sum256(data) }

// SnapshotID is the id under which people know the list of a digest.
func SnapshotID(digest [32]byte) string { return "snp_" + hex.EncodeToString(digest[:8]) }

// openTables is Open for any version of the matcher.
func openTables(data []byte) (*Index, error) {
	sections, err := disassemble(data)
	if err != nil {
		return nil, err
	}
	x := &Index{}
	for _, open := range []func([sectionEnd][]byte) error{
		x.openText, x.openEntities, x.openNames, x.openAddresses, x.openMeta, x.openWallets, x.openExact, x.openWords,
	} {
		if err := open(sections); err != nil {
			return nil, err
		}
	}
	openBeginnings(x)
	x.count()
	return x, nil
}

func (x *Index) openText(sections [sectionEnd][]byte) error {
	offsets, blob := words32(sections[sectionTextOffsets]), sections[sectionText]
	if len(offsets) < 8 || !offsets.offsets(offsets.len()-1, uint32(len(blob))) {
		return malformed("offsets of texts")
	}
	x.textOffsets, x.text = offsets, string(blob)
	return nil
}

func (x *Index) texts() uint32 { return x.textOffsets.len() - 1 }

func (x *Index) openEntities(sections [sectionEnd][]byte) error {
	data := sections[sectionEntities]
	names, parts, addresses := sections[sectionNames], sections[sectionParts], sections[sectionAddresses]
	references := words32(sections[sectionReferences])
	switch {
	case len(data) == 0 || len(data)%entityBytes != 0 || len(names) == 0 || len(names)%nameBytes != 0:
		return malformed("size of entities or names")
	case len(parts)%partBytes != 0 || len(addresses)%addressBytes != 0 || len(references)%4 != 0:
		return malformed("size of parts, addresses or references")
	case !references.below(x.texts()) || !words32(parts).below(x.texts()):
		return malformed("reference to a text")
	}
	x.facts = sections[sectionFacts]
	if err := x.checkFacts(); err != nil {
		return err
	}
	x.entities, x.names, x.parts, x.addresses, x.references = data, names, parts, addresses, references
	x.entityCount, x.nameCount = uint32(len(data)/entityBytes-1), uint32(len(names)/nameBytes-1)
	if x.entityCount > entitiesMax || x.nameCount > namesMax {
		return malformed("number of entities or names")
	}
	previous := x.entity(0)
	if previous.names != 0 || previous.sublists != 0 || previous.addresses != 0 || previous.facts != 0 {
		return malformed("first entity")
	}
	for i := range x.entityCount {
		record, next := x.entity(i), x.entity(i+1)
		ordered := record.names < next.names && record.sublists <= record.programs && record.programs <= next.sublists && record.addresses <= next.addresses && record.facts <= next.facts
		known := record.kind >= Individual && record.kind <= Aircraft && record.lists != 0 && record.lists&^(ListSDN|ListCONS) == 0
		if !ordered || !known || record.uid == 0 || i > 0 && record.uid <= previous.uid {
			return malformed("entity")
		}
		previous = record
	}
	end := x.entity(x.entityCount)
	if end.names != x.nameCount || end.sublists != references.len() || end.programs != references.len() || int(end.addresses) != len(addresses)/addressBytes || int(end.facts) != len(x.facts)/factBytes {
		return malformed("ends of entities")
	}
	return nil
}

// checkFacts checks kinds and references of the facts.
func (x *Index) checkFacts() error {
	if len(x.facts)%factBytes != 0 {
		return malformed("size of facts")
	}
	for i := range x.facts.len() / 3 {
		if x.facts.at(3*i) >= uint32(factKindEnd) || x.facts.at(3*i+1) >= x.texts() || x.facts.at(3*i+2) >= x.texts() {
			return malformed("fact")
		}
	}
	return nil
}

func (x *Index) openNames([sectionEnd][]byte) error {
	texts, part := x.texts(), uint32(0)
	for i := range x.entityCount {
		for k := x.entity(i).names; k < x.entity(i+1).names; k++ {
			record := x.name(k)
			if record.entity != i || record.full >= texts || record.aliasType >= texts || record.script >= texts || record.parts < part {
				return malformed("name")
			}
			part = record.parts
		}
	}
	if end := x.name(x.nameCount); end.parts < part || int(end.parts) != len(x.parts)/partBytes || x.nameCount > 0 && x.name(0).parts != 0 {
		return malformed("parts of names")
	}
	return nil
}

func (x *Index) openAddresses([sectionEnd][]byte) error {
	texts := x.texts()
	for i := range x.entityCount {
		for k := x.entity(i).addresses; k < x.entity(i+1).addresses; k++ {
			if record := x.address(k); record.entity != i || record.ticker >= texts || record.value >= texts {
				return malformed("address")
			}
		}
	}
	return nil
}

func (x *Index) openMeta(sections [sectionEnd][]byte) error {
	data := sections[sectionMeta]
	if len(data) != metaBytes {
		return malformed("size of meta")
	}
	source, sample := binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[12:])
	version := binary.LittleEndian.Uint64(data[64:])
	if source >= x.texts() || sample > 1 || version == 0 || version > 1<<16-1 {
		return malformed("meta")
	}
	x.digest, x.matcher = [32]byte(data[32:64]), uint16(version)
	x.meta = Meta{Source: x.textAt(source), PublishedAt: int64(binary.LittleEndian.Uint64(data)), Sample: sample == 1,
		SDNAsOf: int64(binary.LittleEndian.Uint64(data[16:])), CONSAsOf: int64(binary.LittleEndian.Uint64(data[24:]))}
	return nil
}

func (x *Index) openWallets(sections [sectionEnd][]byte) (err error) {
	if x.walletHash, err = openPerfect(sections[sectionWalletHash]); err != nil {
		return malformed("hash of wallets")
	}
	x.walletOffsets, x.walletPostings = sections[sectionWalletOffsets], sections[sectionWalletPostings]
	if len(x.walletPostings)%4 != 0 || !x.walletOffsets.offsets(x.walletHash.keys, x.walletPostings.len()) ||
		!x.walletPostings.below(uint32(len(x.addresses)/addressBytes)) {
		return malformed("wallets")
	}
	return nil
}

func (x *Index) openExact(sections [sectionEnd][]byte) (err error) {
	if x.exactHash, err = openPerfect(sections[sectionExactHash]); err != nil {
		return malformed("hash of names")
	}
	x.exactOffsets, x.exactPostings = sections[sectionExactOffsets], sections[sectionExactPostings]
	if len(x.exactPostings)%4 != 0 || !x.exactOffsets.offsets(x.exactHash.keys, x.exactPostings.len()) ||
		!x.exactPostings.below(x.nameCount<<exactFormBits) {
		return malformed("forms of names")
	}
	for i := range x.exactPostings.len() {
		if exactForm(x.exactPostings.at(i)&(1<<exactFormBits-1)) >= exactFormCount {
			return malformed("form of a name")
		}
	}
	return nil
}

// count fills Counts.
func (x *Index) count() {
	x.counts = Counts{Entries: int(x.entityCount), Names: int(x.nameCount), Wallets: int(x.walletHash.keys)}
	for i := range x.entityCount {
		record := x.entity(i)
		if record.lists&ListSDN != 0 {
			x.counts.SDN++
		}
		if record.lists&ListCONS != 0 {
			x.counts.CONS++
		}
		switch record.kind {
		case Individual:
			x.counts.Individuals++
		case Company:
			x.counts.Entities++
		case Vessel:
			x.counts.Vessels++
		case Aircraft:
			x.counts.Aircraft++
		}
	}
}

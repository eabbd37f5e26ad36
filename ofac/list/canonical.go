package list

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// canonicalEntities copies the entities into the one canonical order: entities by uid; the
// names of an entity by primary, strength, script and id; everything else sorted without
// duplicates. Two records of one uid (a party found in both files) become one.
func canonicalEntities(entities []Entity, sources Lists) ([]Entity, error) {
	if len(entities) > entitiesMax {
		return nil, fmt.Errorf("%d entities, at most %d", len(entities), entitiesMax)
	}
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, func(a, b Entity) int { return cmp.Compare(a.UID, b.UID) })
	list := make([]Entity, 0, len(sorted))
	for _, entity := range sorted {
		if err := checkEntity(&entity, sources); err != nil {
			return nil, fmt.Errorf("entity %d: %w", entity.UID, err)
		}
		if last := len(list) - 1; last >= 0 && list[last].UID == entity.UID {
			if list[last].Type != entity.Type {
				return nil, fmt.Errorf("entity %d: both %s and %s", entity.UID, list[last].Type, entity.Type)
			}
			if list[last].ID != entity.ID || list[last].Until != entity.Until {
				return nil, fmt.Errorf("entity %d: both %q and %q, or two ends", entity.UID, list[last].ID, entity.ID)
			}
			list[last] = joinEntities(list[last], entity)
			continue
		}
		list = append(list, entity)
	}
	for i := range list {
		list[i] = canonicalEntity(list[i])
		if len(list[i].Names) > namesPerEntity {
			return nil, fmt.Errorf("entity %d: %d names, at most %d", list[i].UID, len(list[i].Names), namesPerEntity)
		}
	}
	return list, nil
}

func checkEntity(entity *Entity, sources Lists) error {
	switch {
	case entity.UID == 0:
		return fmt.Errorf("uid zero")
	case entity.Type < Individual || entity.Type > Aircraft:
		return fmt.Errorf("unknown type %d", entity.Type)
	case entity.Lists == 0 || entity.Lists&^sources != 0:
		return fmt.Errorf("unknown lists %d", entity.Lists)
	case !entity.Lists.publishedBy(publisherOf(entity.UID)):
		return fmt.Errorf("on a list of another publisher: %v", entity.Lists)
	case (entity.ID != "" || entity.Until != 0) && !entity.Lists.IsFurther():
		return fmt.Errorf("an id or an end on a list of OFAC's")
	case len(entity.ID) > entityIDBytesMax || entity.Until < 0:
		return fmt.Errorf("id of %d bytes, at most %d, or an end before 1970", len(entity.ID), entityIDBytesMax)
	case len(entity.Names) == 0:
		return fmt.Errorf("no name")
	case len(entity.Names) > namesPerEntity:
		return fmt.Errorf("%d names, at most %d", len(entity.Names), namesPerEntity)
	case len(entity.Sublists) > itemsPerEntity || len(entity.Programs) > itemsPerEntity || len(entity.Addresses) > itemsPerEntity || len(entity.Facts) > itemsPerEntity:
		return fmt.Errorf("more than %d items", itemsPerEntity)
	}
	for _, name := range entity.Names {
		if name.Full == "" || len(name.Full) > nameBytesMax {
			return fmt.Errorf("name of %d bytes, 1 to %d", len(name.Full), nameBytesMax)
		}
	}
	for _, address := range entity.Addresses {
		if address.Value == "" || len(address.Value) > addressBytesMax {
			return fmt.Errorf("address of %d bytes, 1 to %d", len(address.Value), addressBytesMax)
		}
	}
	for _, fact := range entity.Facts {
		if fact.Kind >= factKindEnd || fact.Value == "" || len(fact.Value) > textBytesMax || len(fact.Label) > textBytesMax {
			return fmt.Errorf("fact of kind %d and %d bytes, 1 to %d", fact.Kind, len(fact.Value), textBytesMax)
		}
	}
	return nil
}

func joinEntities(a, b Entity) Entity {
	a.Lists |= b.Lists
	a.Sublists = slices.Concat(a.Sublists, b.Sublists)
	a.Programs = slices.Concat(a.Programs, b.Programs)
	a.Names = slices.Concat(a.Names, b.Names)
	a.Addresses = slices.Concat(a.Addresses, b.Addresses)
	a.Facts = slices.Concat(a.Facts, b.Facts)
	return a
}

func canonicalEntity(entity Entity) Entity {
	entity.Sublists = sortedSet(entity.Sublists, cmp.Compare[string])
	entity.Programs = sortedSet(entity.Programs, cmp.Compare[string])
	entity.Names = sortedSet(entity.Names, compareNames)
	entity.Addresses = sortedSet(entity.Addresses, compareAddresses)
	entity.Facts = sortedSet(entity.Facts, compareFacts)
	return entity
}

func sortedSet[T any](items []T, compare func(a, b T) int) []T {
	items = slices.Clone(items)
	slices.SortFunc(items, compare)
	return slices.CompactFunc(items, func(a, b T) bool { return compare(a, b) == 0 })
}

// compareNames is a total order. It returns 0 only when the names do not differ in
// anything.
func compareNames(a, b Name) int {
	return cmp.Or(
		compareBool(b.Primary, a.Primary), compareBool(a.Weak, b.Weak),
		compareBool(b.Script == "Latin" || b.Script == "", a.Script == "Latin" || a.Script == ""),
		cmp.Compare(a.ID, b.ID), cmp.Compare(a.Full, b.Full), cmp.Compare(a.Script, b.Script),
		cmp.Compare(a.AliasType, b.AliasType),
		slices.CompareFunc(a.Parts, b.Parts, func(p, q NamePart) int {
			return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Value, q.Value))
		}))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareAddresses(a, b Address) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Ticker, b.Ticker), cmp.Compare(a.FeatureID, b.FeatureID))
}

func compareFacts(a, b Fact) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value))
}

// EntityDigest changes when anything about the entity changes.
func EntityDigest(entity *Entity) uint64 {
	data := make([]byte, 0, 1024)
	text := func(s string) {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(s)))
		data = append(data, s...)
	}
	number := func(n uint32) { data = binary.LittleEndian.AppendUint32(data, n) }
	number(entity.UID)
	data = binary.AppendUvarint(append(data, byte(entity.Type)), uint64(entity.Lists))
	number(uint32(len(entity.Sublists)))
	for _, s := range entity.Sublists {
		text(s)
	}
	number(uint32(len(entity.Programs)))
	for _, s := range entity.Programs {
		text(s)
	}
	number(uint32(len(entity.Names)))
	for i := range entity.Names {
		name := &entity.Names[i]
		number(name.ID)
		text(name.AliasType)
		text(name.Script)
		text(name.Full)
		data = append(data, boolByte(name.Primary), boolByte(name.Weak))
		number(uint32(len(name.Parts)))
		for _, part := range name.Parts {
			text(part.Kind)
			text(part.Value)
		}
	}
	number(uint32(len(entity.Addresses)))
	for _, address := range entity.Addresses {
		text(address.Ticker)
		text(address.Value)
		number(address.FeatureID)
	}
	number(uint32(len(entity.Facts)))
	for _, fact := range entity.Facts {
		data = append(data, byte(fact.Kind))
		text(fact.Label)
		text(fact.Value)
	}
	if entity.ID != "" || entity.Until != 0 { // Digests of OFAC's entities stay what they were.
		text(entity.ID)
		data = binary.AppendVarint(data, entity.Until)
	}
	sum := sha256.Sum256(data)
	return binary.LittleEndian.Uint64(sum[:])
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

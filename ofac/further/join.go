package further

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"railguard/ofac"
	"railguard/ofac/feed"
)

// Snapshot is the content of an encoded list: the entities of all lists.
type Snapshot struct {
	Entities []ofac.Entity
	Meta     ofac.Meta
}

// Replace returns the snapshot with what a part says in the place of what the list held. It gives a
// list that is new a number. An entity keeps its number as long as the list has its id.
func (s *Snapshot) Replace(list ofac.Further, part *Part) (Snapshot, error) {
	if err := s.number(&list); err != nil {
		return Snapshot{}, err
	}
	if err := list.Check(); err != nil {
		return Snapshot{}, err
	}
	held := s.EntitiesOf(&list)
	numbers := numbering{list: &list, of: make(map[string]uint32, len(held)), taken: make(map[uint32]bool, len(held)+len(part.Entities))}
	for i := range held {
		numbers.of[held[i].ID], numbers.taken[held[i].UID] = held[i].UID, true
	}
	next := s.without(&list)
	entities := slices.Clone(part.Entities)
	slices.SortFunc(entities, func(a, b ofac.Entity) int { return strings.Compare(a.ID, b.ID) })
	for i := range entities {
		entity := &entities[i]
		uid, err := numbers.next(entity)
		if err != nil {
			return Snapshot{}, err
		}
		entity.UID, entity.Lists = uid, list.Source().Set()
	}
	next.Entities = append(next.Entities, entities...)
	next.Meta.Further = append(next.Meta.Further, list)
	slices.SortFunc(next.Meta.Further, func(a, b ofac.Further) int { return int(a.Number) - int(b.Number) })
	next.Meta.AsOf[list.Source()] = part.AsOf
	next.nameLists()
	return next, nil
}

// Without returns the snapshot without a list.
func (s *Snapshot) Without(id string) (Snapshot, error) {
	list := s.Meta.FurtherNamed(id)
	if list == nil {
		return Snapshot{}, fmt.Errorf("there is no list %q", id)
	}
	return s.without(list), nil
}

// Under returns OFAC's content with the lists beside it of an older snapshot: OFAC's files say
// nothing of these.
func (s *Snapshot) Under(older *Snapshot) Snapshot {
	next := Snapshot{Entities: slices.Clone(s.Entities), Meta: s.Meta}
	next.Meta.Further = older.Meta.Further
	for i := range next.Meta.Further {
		source := next.Meta.Further[i].Source()
		next.Meta.AsOf[source] = older.Meta.AsOf[source]
	}
	next.nameLists()
	for i := range older.Entities {
		if older.Entities[i].Lists.IsFurther() {
			next.Entities = append(next.Entities, older.Entities[i])
		}
	}
	return next
}

// EntitiesOf are the entities of a list.
func (s *Snapshot) EntitiesOf(list *ofac.Further) (all []ofac.Entity) {
	for i := range s.Entities {
		if list.Holds(s.Entities[i].UID) {
			all = append(all, s.Entities[i])
		}
	}
	return all
}

// Sum is the SHA-256 of what a list alone says, in canonical form.
func (s *Snapshot) Sum(list *ofac.Further) ([]byte, error) {
	one := *list
	encoded, err := ofac.EncodeEntities(s.EntitiesOf(list), ofac.Meta{Further: []ofac.Further{one}})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	return sum[:], nil
}

// without drops a list and its entities.
func (s *Snapshot) without(list *ofac.Further) Snapshot {
	next := Snapshot{Meta: s.Meta, Entities: make([]ofac.Entity, 0, len(s.Entities))}
	for i := range s.Entities {
		if !list.Holds(s.Entities[i].UID) {
			next.Entities = append(next.Entities, s.Entities[i])
		}
	}
	next.Meta.Further = slices.DeleteFunc(slices.Clone(s.Meta.Further), func(one ofac.Further) bool { return one.Number == list.Number })
	for i := range s.Meta.Further {
		if one := &s.Meta.Further[i]; one.Number == list.Number {
			next.Meta.AsOf[one.Source()] = 0
			next.Meta.Source = dropSource(next.Meta.Source, one.ID)
		}
	}
	return next
}

// number gives a list its number: its own, or the first that no list has.
func (s *Snapshot) number(list *ofac.Further) error {
	if held := s.Meta.FurtherNamed(list.ID); held != nil {
		list.Number = held.Number
		return nil
	}
	for number := uint8(1); number <= ofac.FurtherMax; number++ {
		if !slices.ContainsFunc(s.Meta.Further, func(one ofac.Further) bool { return one.Number == number }) {
			list.Number = number
			return nil
		}
	}
	return fmt.Errorf("there are %d lists beside OFAC's already", ofac.FurtherMax)
}

// numbering gives the entities of a list their uids.
type numbering struct {
	list  *ofac.Further
	of    map[string]uint32 // By id, of those that the list has.
	taken map[uint32]bool
}

// next returns the uid of an entity: the one that its id has already, else the publisher's own number,
// else the first free one from its id's hash on.
func (n *numbering) next(entity *ofac.Entity) (uint32, error) {
	if uid, known := n.of[entity.ID]; known {
		return uid, nil
	}
	const numbers = 1 << 28
	sum := sha256.Sum256([]byte(entity.ID))
	number := binary.BigEndian.Uint32(sum[:]) % numbers
	if entity.UID != 0 {
		number = entity.UID
	}
	for range numbers {
		if uid, ok := n.list.UID(number); ok && !n.taken[uid] {
			n.taken[uid] = true
			return uid, nil
		}
		number = (number + 1) % numbers
	}
	return 0, fmt.Errorf("no number is free for %q", entity.ID)
}

// nameLists names the lists behind OFAC's sources in the text about where the snapshot comes from, by
// their numbers, so that the same lists make the same bytes whichever came last.
func (s *Snapshot) nameLists() {
	for i := range s.Meta.Further {
		s.Meta.Source = dropSource(s.Meta.Source, s.Meta.Further[i].ID)
	}
	for i := range s.Meta.Further {
		list := &s.Meta.Further[i]
		name := list.ID + "_" + strings.ToUpper(list.Format)
		if asOf := s.Meta.AsOf[list.Source()]; asOf != 0 {
			name += " " + feed.DateText(asOf)
		}
		if s.Meta.Source != "" {
			s.Meta.Source += feed.SourceJoint
		}
		s.Meta.Source += name
	}
}

// dropSource drops the part that names a list.
func dropSource(text, id string) string {
	parts := strings.Split(text, feed.SourceJoint)
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return strings.HasPrefix(part, id+"_") }), feed.SourceJoint)
}

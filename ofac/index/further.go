package index

import (
	"cmp"
	"slices"

	"railguard/ofac/list"
)

// furtherRecord is what an entity of a list beside OFAC's has more than one of OFAC's. OFAC's
// entities have no such row, so that they cost what they cost before there were further lists.
type furtherRecord struct {
	entity, id uint32
	until      int64 // See list.Entity.Until.
}

// furtherOf returns the row of an entity; the zero row if it has none.
func (x *Tables) furtherOf(entity uint32) furtherRecord {
	at, found := slices.BinarySearchFunc(x.further, entity, func(r furtherRecord, entity uint32) int { return cmp.Compare(r.entity, entity) })
	if !found {
		return furtherRecord{}
	}
	return x.further[at]
}

// IsOver reports whether an entity has ended at a time (ns UTC): it matches nothing any more.
func (x *Tables) IsOver(entity uint32, at int64) bool {
	if len(x.ends) == 0 || !x.EntityAt(entity).Lists.IsFurther() {
		return false
	}
	until := x.furtherOf(entity).until
	return until != 0 && until <= at
}

// Ends says when entities end around a time: the last end that has come, which stands for all times
// up to the next one, and the next one; 0: there is none.
func (x *Tables) Ends(at int64) (last, next int64) {
	if len(x.ends) == 0 {
		return 0, 0
	}
	i, found := slices.BinarySearch(x.ends, at)
	if found {
		i++
	}
	if i > 0 {
		last = x.ends[i-1]
	}
	if i < len(x.ends) {
		next = x.ends[i]
	}
	return last, next
}

// NameOf returns the name of the list under which an entity on these sources is shown.
func (x *Tables) NameOf(lists list.Lists) string { return x.meta.NameOf(lists) }

// noteFurther keeps the ids and the ends of entities on further lists.
func (b *builder) noteFurther() {
	for i := range b.source {
		entity := &b.source[i]
		if entity.ID == "" && entity.Until == 0 {
			continue
		}
		b.further = append(b.further, furtherRecord{uint32(i), b.textOf[entity.ID], entity.Until})
		if entity.Until != 0 {
			b.ends = append(b.ends, entity.Until)
		}
	}
	slices.Sort(b.ends)
	b.ends = slices.Compact(b.ends)
}

// stronger reports whether a hit on some sources says more than one on others: a core source comes
// before others, and one that blocks before one that is reviewed.
func stronger(l, other list.Lists) bool {
	if l.Core() != other.Core() {
		return l.Core()
	}
	return l.Block() && !other.Block()
}

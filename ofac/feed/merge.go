package feed

import "railguard/ofac"

// mergeFamilies joins the two families, each sorted by UID. An entity on both lists becomes
// one entity with both list bits, its distinct names, and the sublists and programmes of
// both. Either list may be nil.
func (l *loader) mergeFamilies(sdn, cons *List) []ofac.Entity {
	markFamily(sdn, ofac.ListSDN)
	markFamily(cons, ofac.ListCONS)
	switch {
	case sdn == nil && cons == nil:
		return nil
	case sdn == nil:
		return cons.Entities
	case cons == nil:
		return sdn.Entities
	}
	sameIDs := (sdn.Format == FormatCSV) == (cons.Format == FormatCSV)
	merged := make([]ofac.Entity, 0, len(sdn.Entities)+len(cons.Entities))
	a, b := sdn.Entities, cons.Entities
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].UID < b[0].UID:
			merged, a = append(merged, a[0]), a[1:]
		case a[0].UID > b[0].UID:
			merged, b = append(merged, b[0]), b[1:]
		default:
			if a[0].Type != b[0].Type {
				l.addWarning("entity %d is %v on the SDN list and %v on the CONS list: the former is taken", a[0].UID, a[0].Type, b[0].Type)
			}
			merged = append(merged, joinEntities(a[0], b[0], sameIDs))
			a, b = a[1:], b[1:]
		}
	}
	merged = append(merged, a...)
	return sortEntities(append(merged, b...))
}

func markFamily(list *List, family ofac.Lists) {
	if list == nil {
		return
	}
	for i := range list.Entities {
		list.Entities[i].Lists = family
	}
}

// nameKey identifies a name. Its id is 0 between an XML format and the CSV, because they
// number names differently.
type nameKey struct {
	id   uint32
	full string
}

// joinEntities adds an entity's data in the CONS file to its data in the SDN file. A name
// that was edited between the two files stays in both spellings.
func joinEntities(sdn, cons ofac.Entity, sameIDs bool) ofac.Entity {
	key := func(n *ofac.Name) nameKey {
		if sameIDs && n.ID != 0 {
			return nameKey{n.ID, n.Full}
		}
		return nameKey{0, n.Full}
	}
	known := make(map[nameKey]bool, len(sdn.Names))
	for i := range sdn.Names {
		known[key(&sdn.Names[i])] = true
	}
	for i := range cons.Names {
		name := cons.Names[i]
		if k := key(&name); !known[k] {
			known[k] = true
			name.Primary = false // The entity has its primary name already.
			sdn.Names = append(sdn.Names, name)
		}
	}
	type addressKey struct{ ticker, value string }
	seen := make(map[addressKey]bool, len(sdn.Addresses))
	for _, address := range sdn.Addresses {
		seen[addressKey{address.Ticker, address.Value}] = true
	}
	for _, address := range cons.Addresses {
		if k := (addressKey{address.Ticker, address.Value}); !seen[k] {
			seen[k] = true
			sdn.Addresses = append(sdn.Addresses, address)
		}
	}
	sdn.Facts = append(sdn.Facts, cons.Facts...) // sorted and deduplicated at the end
	sdn.Lists |= cons.Lists
	sdn.Sublists = append(sdn.Sublists, cons.Sublists...)
	sdn.Programs = append(sdn.Programs, cons.Programs...)
	return sdn
}

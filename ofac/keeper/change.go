package keeper

import (
	"fmt"
	"slices"

	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/further"
)

// Change is what a person changes of one list beside OFAC's: its whole content, single entries of an
// institution's own list, or that there is the list.
type Change struct {
	List ofac.Further // Its number does not matter. Format "": that of the file.

	File   []byte   // The whole content.
	Add    [][]byte // Entries to add or to change, as JSON objects of the columns of an own list.
	End    []string // Ids of entries to end.
	Remove bool     // There is no such list any more.
}

// Join applies a change to the list in force, and returns the new list with its description.
func Join(active *ofac.Index, held *wire.ListInfo, change Change) ([]byte, wire.ListInfo, error) {
	switch {
	case change.Remove:
		return DropList(active, held, change.List.ID)
	case change.File == nil:
		return joinEntries(active, held, &change)
	}
	part, err := further.Read(change.File, further.Options{Format: change.List.Format, Families: change.List.Families})
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	change.List.Format = part.Format
	return JoinList(active, held, change.List, &part)
}

// joinEntries changes single entries of an own list. One entry may be named once.
func joinEntries(active *ofac.Index, held *wire.ListInfo, change *Change) ([]byte, wire.ListInfo, error) {
	refuse := func(format string, values ...any) ([]byte, wire.ListInfo, error) {
		return nil, wire.ListInfo{}, fmt.Errorf(format, values...)
	}
	if active == nil || held == nil {
		return nil, wire.ListInfo{}, ErrNoList
	}
	meta := active.Meta()
	list := meta.FurtherNamed(change.List.ID)
	if list != nil && list.Format != further.FormatOwn {
		return refuse("the list %s is of another authority: its entries change with its file", list.ID)
	}
	part := further.Part{Format: further.FormatOwn}
	if list == nil {
		list = &change.List
		list.Format = further.FormatOwn
	} else {
		base := further.Snapshot{Entities: active.Entities(), Meta: meta}
		part.Entities = base.EntitiesOf(list)
	}
	at := make(map[string]int, len(part.Entities))
	for i := range part.Entities {
		at[part.Entities[i].ID] = i
	}
	named := map[string]bool{}
	for i, raw := range change.Add {
		row, err := further.ReadRow(i+1, raw)
		if err != nil {
			return nil, wire.ListInfo{}, err
		}
		entity, err := row.Entity(i + 1)
		if err != nil {
			return nil, wire.ListInfo{}, err
		}
		if named[entity.ID] {
			return refuse("row %d, column id: %.80q is named twice", i+1, entity.ID)
		}
		named[entity.ID] = true
		if k, known := at[entity.ID]; known {
			part.Entities[k] = entity
		} else {
			part.Entities = append(part.Entities, entity)
		}
	}
	for _, id := range change.End {
		if _, known := at[id]; !known || named[id] {
			return refuse("the list %s has no entry %.80q, or it is named twice", list.ID, id)
		}
		named[id] = true
	}
	ended := change.End
	part.Entities = slices.DeleteFunc(part.Entities, func(e ofac.Entity) bool { return slices.Contains(ended, e.ID) })
	if len(part.Entities) == 0 {
		return refuse("the list %s would have no entry: remove the list instead", list.ID)
	}
	return JoinList(active, held, *list, &part)
}

package keeper

import (
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/further"
)

// This file joins lists beside OFAC's with the list in force. There is one snapshot of all lists, so
// that one log entry switches every node and every record names all that it was judged with. Whoever
// brings one list takes the others from the list in force, and the log refuses the result if another
// list came in force meanwhile.

// describeFurther adds the lists beside OFAC's to a description.
func describeFurther(info *wire.ListInfo, meta *ofac.Meta, parts *[ofac.SourcesMax]wire.ListSource) {
	for i := range meta.Further {
		list := &meta.Further[i]
		part := parts[list.Source()]
		part.Name, part.AsOf = list.ID, engine.Time(meta.AsOf[list.Source()])
		part.Further = &wire.FurtherList{
			Number: list.Number, Name: list.Name, Authority: list.Authority, Blocks: list.Blocks, Format: list.Format, Families: list.Families, AgeMax: engine.Time(list.AgeMax),
		}
		info.AddSource(part)
		info.Wallets += part.Wallets
	}
}

// ofOFAC are the entities that are not of a list beside OFAC's.
func ofOFAC(entities []ofac.Entity) []ofac.Entity {
	at := slices.IndexFunc(entities, func(e ofac.Entity) bool { return e.Lists.IsFurther() }) // By uid: OFAC's come first.
	if at < 0 {
		return entities
	}
	return entities[:at]
}

// carry adds the lists beside OFAC's of the active list to files of OFAC's.
func (b *batch) carry(active *ofac.Index, held *wire.ListInfo) {
	if active == nil || held == nil || !held.HasFurther() {
		return
	}
	joined := (&further.Snapshot{Entities: b.Entities, Meta: b.Meta}).Under(&further.Snapshot{Entities: active.Entities(), Meta: active.Meta()})
	b.Entities, b.Meta, b.over = joined.Entities, joined.Meta, held
}

// ErrNoList says that there is no list in force to which another could be joined.
var ErrNoList = errors.New("no list of OFAC's is in force: import it first")

// JoinList puts what a file says in the place of what a list beside OFAC's has in the list in force,
// and returns the joined list with its description.
func JoinList(active *ofac.Index, held *wire.ListInfo, list ofac.Further, part *further.Part) ([]byte, wire.ListInfo, error) {
	if active == nil || held == nil {
		return nil, wire.ListInfo{}, ErrNoList
	}
	base := further.Snapshot{Entities: active.Entities(), Meta: active.Meta()}
	next, err := base.Replace(list, part)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	return encodeJoined(&next, held, list.ID, part.Warnings)
}

// DropList returns the list in force without a list beside OFAC's.
func DropList(active *ofac.Index, held *wire.ListInfo, id string) ([]byte, wire.ListInfo, error) {
	if active == nil || held == nil {
		return nil, wire.ListInfo{}, ErrNoList
	}
	base := further.Snapshot{Entities: active.Entities(), Meta: active.Meta()}
	next, err := base.Without(id)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	return encodeJoined(&next, held, id, nil)
}

// encodeJoined encodes a joined list. What is known of OFAC's files and of the other lists is what
// the list in force says of them.
func encodeJoined(next *further.Snapshot, held *wire.ListInfo, id string, warnings []string) ([]byte, wire.ListInfo, error) {
	encoded, err := ofac.EncodeEntities(next.Entities, next.Meta)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	info, err := describeList(encoded)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	info.Brings, info.Over, info.Origin, info.Uploaded = id, held.Digest[:], held.Origin, true
	info.SDNSum, info.CONSSum, info.Quarantined = held.SDNSum, held.CONSSum, held.Quarantined
	for i := range info.Others {
		other := &info.Others[i]
		switch list := next.Meta.FurtherNamed(other.Name); {
		case list == nil || other.Name != id:
			other.Sum = held.OfSource(other.Name).Sum
		default:
			if other.Sum, err = next.Sum(list); err != nil {
				return nil, wire.ListInfo{}, err
			}
		}
	}
	for _, warning := range warnings {
		if len(info.Warnings) < warningsKept {
			info.Warnings = append(info.Warnings, cutWarning(fmt.Sprintf("%s: %s", id, warning)))
		}
	}
	return encoded, info, nil
}

package edge

import (
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// This file finds how payments ended that the state has forgotten (decision 125).

// pastOf returns what the files say of the end of a recorded payment; nil: the state has all
// endings that it can have.
func (j *Judge) pastOf(record uint64) (*wire.Past, error) {
	if record >= j.shared.deps.Published.EndedFrom() {
		return nil, nil
	}
	leaves, looked, err := j.shared.deps.Records.EndingLeaves(record)
	if err != nil {
		return nil, Refuse("overloaded", "this node is still reading its history back, so it cannot tell how the payment ended: ask another node")
	}
	past := &wire.Past{Looked: looked}
	for i := range leaves {
		l, err := j.OpenLeaf(leaves[i].Index, leaves[i].Data)
		if err != nil {
			return nil, err
		}
		if l.Number("screenedLeaf") == record {
			takeEnding(past, &l, engine.Time(leaves[i].Time))
		}
	}
	return past, nil
}

// takeEnding takes over what one leaf says of the end of a payment.
func takeEnding(past *wire.Past, l *Leaf, at engine.Time) {
	state := fsm.HoldStateNamed(l.Text("state"))
	switch {
	case l.Value.GetBool("late"):
		past.Late = l.Index
	case state == fsm.HoldUnresolved || l.IsJudgement():
		past.Before = max(past.Before, l.Index)
	default:
		past.State, past.Later, past.At = uint8(state), l.Index, at
	}
}

// Endings returns the leaves that say what became of a recorded payment: none; that it was confirmed
// or redeemed, or is unresolved; its ending; or its ending and a late settle.
func (j *Judge) Endings(record uint64) ([]uint64, error) {
	if known := j.shared.deps.Published.Outcomes(record); len(known) > 0 {
		return known, nil
	}
	past, err := j.pastOf(record)
	if err != nil || past == nil {
		return nil, err
	}
	var endings []uint64
	for _, at := range []uint64{past.Later, past.Late} {
		if at != 0 {
			endings = append(endings, at)
		}
	}
	if past.Later == 0 && past.Before != 0 {
		endings = append(endings, past.Before)
	}
	return endings, nil
}

// NewestAbout returns the newest leaf about a record, which may be the record itself. Leaves about its
// report or its sanctions cases are none.
func (j *Judge) NewestAbout(record uint64, decisionOn func(record uint64) (leaf uint64, decided bool)) (uint64, error) {
	view, err := j.View()
	if err != nil {
		return 0, err
	}
	newest := record
	if row, found := view.Review(record); found {
		newest = max(newest, row.Newest)
	}
	if disposition, decided := decisionOn(record); decided {
		newest = max(newest, disposition)
	}
	endings, err := j.Endings(record)
	for _, ending := range endings {
		newest = max(newest, ending)
	}
	return newest, err
}

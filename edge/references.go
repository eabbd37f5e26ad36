package edge

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// This file finds who uses a payment reference of which the state knows nothing any more (decision
// 125).

// LookForReference returns what the files say of a reference; the zero value if the state has all
// uses of references.
func (j *Judge) LookForReference(key engine.ReferenceKey) (wire.Used, error) {
	if key == (engine.ReferenceKey{}) || j.shared.deps.Published.UsedFrom() == 0 {
		return wire.Used{}, nil
	}
	leaves, looked, err := j.records().ReferenceLeaves(key)
	if err != nil {
		return wire.Used{}, Refuse("overloaded", "this node is still reading its history back, so it cannot tell whether the paymentRef was used before: ask another node")
	}
	since := j.LogTime() - engine.ReferenceKept
	for i := range leaves {
		if engine.Time(leaves[i].Time) <= since {
			return wire.Used{Looked: looked}, nil
		}
		l, err := j.OpenLeaf(leaves[i].Index, leaves[i].Data)
		if err != nil {
			return wire.Used{}, err
		}
		record, found, err := j.referredBy(&l)
		if err != nil {
			return wire.Used{}, err
		}
		if found != key {
			continue // The upper 52 bits are alike, and the rest is not.
		}
		if l.Kind() == leaf.KindHoldReleased || l.Kind() == leaf.KindDue {
			return wire.Used{Looked: looked}, nil
		}
		return wire.Used{Looked: looked, By: record + 1}, nil
	}
	if len(leaves) >= candidatesMost {
		return wire.Used{}, Refuse("overloaded", "too many payments have a paymentRef that looks like this one, so this node cannot tell whether it was used before: use another paymentRef")
	}
	return wire.Used{Looked: looked}, nil
}

// referredBy returns the payment that a leaf is about, and its reference.
func (j *Judge) referredBy(l *Leaf) (record uint64, key engine.ReferenceKey, err error) {
	switch {
	case l.Record != nil:
		record = l.Index
	case l.Has("screenedLeaf"):
		record = l.Number("screenedLeaf")
	default:
		record = l.Number("reviewedLeaf")
	}
	of := *l
	if record != l.Index {
		if of, err = j.LoadLeaf(record); err != nil {
			return 0, key, err
		}
	}
	_, key = PaymentOf(j, &of)
	return record, key, nil
}

// referenceUsed returns the leaf of the payment that uses a reference.
func (j *Judge) referenceUsed(key engine.ReferenceKey) (record uint64, used bool, err error) {
	record, used, known := j.records().ReferenceUsed(key)
	if known {
		return record, used, nil
	}
	found, err := j.LookForReference(key)
	return max(found.By, 1) - 1, found.By != 0, err
}

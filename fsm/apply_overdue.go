package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
)

// Reviews that wait longer than the policy's review.sla allows are told of once, by a leaf,
// in their order. One clock holds for all of them: a row's time is over when the time is
// over for every row before it, so a position is all that has to be remembered.

// overdueLooked is how many rows one tick looks at for each leaf it may write.
const overdueLooked = 16

// tellOverdue writes a leaf for each open review whose time is over, a bounded number a
// tick.
func (m *Machine) tellOverdue() {
	wait := m.settings.Policy.ReviewSLA
	if wait == 0 {
		return
	}
	at, told := max(m.sweep.overdue, m.reviews.First()), 0
	for n := 0; n < overdueLooked*m.limits.ExpiredAtOneTick && told < m.limits.ExpiredAtOneTick && at < m.reviews.Next(); n++ {
		row := m.reviews.At(at)
		if m.now < row.At+wait {
			break
		}
		if at++; row.State == ReviewOpen {
			m.writeOverdue(row.Leaf, row.At+wait)
			told++
		}
	}
	m.sweep.overdue = at
}

func (m *Machine) writeOverdue(record uint64, due engine.Time) {
	txn := m.ids.TxnID(record)
	head := plain(m.head(leaf.KindDue), "type", leaf.DueReviewSLA.String())
	head = instant(number(plain(head, "txnId", txn), "reviewedLeaf", int64(record)), "dueAt", due)
	filters := append(m.filters(2), engine.FilterKey(engine.FilterKind, leaf.KindDue), engine.FilterKey(engine.FilterTxn, txn))
	m.appendLeaf(append(head, '}'), filters)
}

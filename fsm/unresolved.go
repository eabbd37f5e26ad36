package fsm

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"

	"railguard/engine"
)

// Unresolved payments are holds whose time is over and that nobody has ended. Their rows are in
// the heap of holds. For readers they stand besides in a derived table, in the order in which
// they became unresolved, so that a list of them goes on where it stopped. A row there is dead
// when its payment has ended.

// UnresolvedRow is a payment whose hold nobody ended. It counts on its day.
type UnresolvedRow struct {
	Leaf     uint64 // The screening record.
	Later    uint64 // The leaf that says that it is unresolved.
	Amount   engine.USD
	Agent    engine.AgentSlot
	Day      engine.Day
	Screener uint32 // The row of the API key that made the screening call; 0: the node itself.
	Approved bool   // An officer had approved it.
	dead     bool
}

func unresolvedRow(row *holdRow) UnresolvedRow {
	return UnresolvedRow{
		Leaf: row.Leaf, Later: row.Unresolved, Amount: row.Amount, Agent: row.Agent, Day: row.Day, Screener: row.Screener, Approved: row.Approved,
	}
}

// UnresolvedTotal is the number of unresolved payments, and their sum. The sum has 128 bits: one
// that saturated would depend on the order in which payments came and went.
type UnresolvedTotal struct {
	Count     uint32
	high, low uint64
}

func (t *UnresolvedTotal) add(amount engine.USD) {
	var carry uint64
	t.Count++
	t.low, carry = bits.Add64(t.low, uint64(amount), 0)
	t.high += carry
}

func (t *UnresolvedTotal) remove(amount engine.USD) {
	var borrow uint64
	t.Count--
	t.low, borrow = bits.Sub64(t.low, uint64(amount), 0)
	t.high -= borrow
}

// Sum returns the sum, or the largest amount there is if the sum is larger.
func (t *UnresolvedTotal) Sum() engine.USD {
	if t.high != 0 || t.low > math.MaxInt64 {
		return math.MaxInt64
	}
	return engine.USD(t.low)
}

// noteUnresolved adds a payment to the totals and to the list.
func (m *ledger) noteUnresolved(row UnresolvedRow) {
	of := m.unresolvedOf[row.Agent]
	of.add(row.Amount)
	m.unresolvedOf[row.Agent] = of
	m.unresolvedTotal.add(row.Amount)
	m.unresolvedAt[row.Leaf] = m.unresolved.Append(row)
}

// forgetUnresolved takes a payment off the totals and the list.
func (m *ledger) forgetUnresolved(row *holdRow) {
	of := m.unresolvedOf[row.Agent]
	of.remove(row.Amount)
	if m.unresolvedOf[row.Agent] = of; of.Count == 0 {
		delete(m.unresolvedOf, row.Agent)
	}
	m.unresolvedTotal.remove(row.Amount)
	m.unresolved.Edit(m.unresolvedAt[row.Leaf]).dead = true
	delete(m.unresolvedAt, row.Leaf)
	for m.unresolved.Len() > 0 && m.unresolved.At(m.unresolved.First()).dead {
		m.unresolved.DropFront()
	}
	if dead := m.unresolved.Len() - len(m.unresolvedAt); dead > unresolvedDeadMax && dead > len(m.unresolvedAt) {
		m.orderUnresolved()
	}
}

// unresolvedDeadMax is how many dead rows the list holds at most if they outnumber the others.
const unresolvedDeadMax = 4096

// orderUnresolved makes the list anew of its own rows, and the totals with it.
func (m *ledger) orderUnresolved() {
	var rows []UnresolvedRow
	for ; m.unresolved.Len() > 0; m.unresolved.DropFront() {
		if row := m.unresolved.At(m.unresolved.First()); !row.dead {
			rows = append(rows, *row)
		}
	}
	slices.SortFunc(rows, func(a, b UnresolvedRow) int { return cmp.Compare(a.Later, b.Later) })
	m.unresolvedTotal = UnresolvedTotal{}
	m.unresolvedOf = map[engine.AgentSlot]UnresolvedTotal{}
	for _, row := range rows {
		m.noteUnresolved(row)
	}
}

// checkUnresolved puts a restored list into its order. No leaf says of two payments that they
// are unresolved.
func (m *ledger) checkUnresolved() error {
	m.orderUnresolved()
	for i := m.unresolved.First() + 1; i < m.unresolved.Next(); i++ {
		if m.unresolved.At(i).Later == m.unresolved.At(i-1).Later {
			return errors.New("holds: one leaf for two unresolved payments")
		}
	}
	return nil
}

// Unresolved calls fn with unresolved payments until fn returns false: those that became
// unresolved before a leaf, newest first, or, if ascending, after it, oldest first.
func (v *View) Unresolved(later uint64, ascending bool, fn func(UnresolvedRow) bool) {
	first, next := v.unresolved.First(), v.unresolved.Next()
	at, found := searchReviews(first, next, later, func(i uint64) uint64 { return v.unresolved.At(i).Later })
	if ascending {
		if found {
			at++
		}
		for ; at < next; at++ {
			if row := *v.unresolved.At(at); !row.dead && !fn(row) {
				return
			}
		}
		return
	}
	for ; at > first; at-- {
		if row := *v.unresolved.At(at - 1); !row.dead && !fn(row) {
			return
		}
	}
}

// UnresolvedTotal returns how many payments are unresolved, and their sum.
func (v *View) UnresolvedTotal() UnresolvedTotal { return v.unresolvedTotal }

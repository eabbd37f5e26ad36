package casework

import (
	"cmp"
	"slices"

	"railguard/edge"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// What was done about a party stays on its page: alerts that were acknowledged, sanctions cases and
// reports that wait for nobody any more, each with who closed it, when and why.

// caseStepsMost is how many leaves of a case are read back to the one that closed it.
const caseStepsMost = 16

// closedWork is a piece of work that waits for nobody any more.
type closedWork struct {
	work
	later uint64 // The leaf that closed it, or a later one of the same case.
	state string
	alert uint8 // The kind of an alert.
}

// writeClosed writes the closed work about a party, what was closed last first, and takes the acts that
// closed it. left is how much is not shown.
func (b *Room) writeClosed(c *border.Request, whole *wholeParty, acts *actList) (items []strictjson.Members, left int, err error) {
	all := b.collectClosed(c, whole)
	slices.SortFunc(all, func(a, b closedWork) int { return cmp.Compare(b.later, a.later) })
	if len(all) > partyPaymentsMost {
		all, left = all[:partyPaymentsMost], len(all)-partyPaymentsMost
	}
	border.ChargeLooked(c, len(all))
	items = make([]strictjson.Members, len(all))
	for i := range all {
		border.RestBetween(c)
		if err := writeClosedWork(c, &items[i], whole, &all[i], acts); err != nil {
			return nil, 0, err
		}
	}
	return items, left, nil
}

// collectClosed returns the closed work about the payments of a party.
func (b *Room) collectClosed(c *border.Request, whole *wholeParty) (all []closedWork) {
	view, looked := whole.view, 0
	add := func(w closedWork) {
		w.payment, w.party, _ = b.index.Find(w.record)
		all = append(all, w)
	}
	view.SanctionsCases(^uint64(0), false, func(row fsm.SanctionsRow) bool {
		border.RestBetween(c)
		if !caseIsOpen(&row) && (whole.records[row.Last] || whole.records[row.First]) {
			w := closedWork{work: workOfCase(idsOf(c), &row), later: row.Later, state: fsm.SanctionsState(row.State)}
			if !whole.records[row.Last] { // The case went on with payments to others.
				w.record = row.First
			}
			add(w)
		}
		return true
	})
	view.Alerts(^uint64(0), false, func(row fsm.AlertRow) bool {
		if looked++; looked > border.RowScanMax {
			return false
		}
		border.RestBetween(c)
		if row.Later != 0 {
			if w := workOfAlert(view, &row); whole.records[w.record] {
				add(closedWork{work: w, later: row.Later, state: alertState(&row), alert: row.Kind})
			}
		}
		return true
	})
	view.SARs(^uint64(0), false, func(row fsm.SARRow) bool {
		border.RestBetween(c)
		if row.State > wire.SARReady && whole.records[row.Leaf] {
			add(closedWork{work: workOfReport(&row), later: row.Later, state: fsm.SARState(row.State)})
		}
		return true
	})
	return all
}

// writeClosedWork writes one closed piece of work, and takes the act that closed it.
func writeClosedWork(c *border.Request, m *strictjson.Members, whole *wholeParty, w *closedWork, acts *actList) error {
	writeWorkIDs(m, idsOf(c), &w.work)
	if w.alert != 0 {
		m.Text("alert", leaf.AlertName(w.alert))
	}
	m.Text("state", w.state)
	m.Bool("own", w.payment.Party == whole.number)
	amount := w.amount
	if amount == 0 {
		amount = w.payment.Amount
	}
	m.USD("amount", amount)
	at := w.at
	if at == 0 {
		at = w.payment.At
	}
	m.Time("openedAt", at)
	held := edge.LeavesHeld(&c.Judge)
	defer edge.DropLeaves(&c.Judge, held)
	l, known, err := closingLeaf(c, w)
	if err != nil {
		return err
	}
	if !known {
		for _, name := range []string{"closedAt", "closedBy", "closedByKey", "reason"} {
			m.Null(name)
		}
		m.Texts("persons", []string{})
		return nil
	}
	m.Raw("closedAt", l.Raw("time"))
	m.TextOrNull("closedBy", firstText(&l, actorMembers...))
	m.TextOrNull("closedByKey", l.Text("actorKeyId"))
	m.TextOrNull("reason", firstText(&l, reasonMembers...))
	m.Texts("persons", l.Texts("persons"))
	acts.take(&l, idsOf(c).TxnID(w.record))
	return nil
}

// closingLeaf returns the leaf by which a piece of work was closed. Of a sanctions case later leaves may
// say that its party was blocked again. known is false if it is past its 90 days.
func closingLeaf(c *border.Request, w *closedWork) (l edge.Leaf, known bool, err error) {
	for at, step := w.later, 0; step < caseStepsMost; step++ {
		if l, err = c.Judge.LoadLeaf(at); edge.IsGone(err) {
			return l, false, nil
		}
		if err != nil {
			return l, false, err
		}
		if w.kind != workBlock || l.Kind() == leaf.KindSanctionsMoved {
			return l, true, nil
		}
		if at = l.Number("casePrevious"); at == 0 {
			break
		}
	}
	return l, false, nil
}

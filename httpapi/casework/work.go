package casework

import (
	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
)

// This file gathers all that waits for an officer, whatever its kind: reviews, sanctions cases of
// BLOCKs, alerts, hits of retro-screening and reports. The inbox ranks it, a party shows its own.

// workKind is the kind of a piece of work.
type workKind uint8

const (
	workReview workKind = iota
	workBlock
	workAlert
	workRetro
	workReport
	workLook
	workKinds
)

func (k workKind) String() string {
	return [...]string{"review", "block", "alert", "retro", "report", "look"}[k]
}

// work is one piece of work.
type work struct {
	kind    workKind
	leaf    uint64 // The leaf that opened it; it identifies the piece. Of a second look the number of its id.
	record  uint64 // The record that it is about; 0: none.
	at, due engine.Time
	amount  engine.USD
	agent   engine.AgentSlot
	claim   *fsm.Claim
	payment parties.Payment // Of the record, as far as the index has it.
	party   parties.Party
	rank    int
	caseID  string // Of a sanctions case.
	lookID  string // Of a second look.
}

// collectWork returns all open work. What the index does not have of a record is left zero.
func (b *Room) collectWork(c *border.Request, view *fsm.View) (all []work, err error) {
	add := func(w work) bool {
		border.RestBetween(c)
		if w.record != 0 {
			w.payment, w.party, _ = b.index.Find(w.record)
		}
		all = append(all, w)
		if len(all)%border.ScanStep == 0 {
			err = border.PassTurn(c)
		}
		return err == nil
	}
	wait := view.Settings().Policy.ReviewSLA
	view.Open(func(row fsm.ReviewRow) bool {
		w := work{kind: workReview, leaf: row.Leaf, record: row.Leaf, at: row.At, amount: row.Amount, agent: row.Agent, claim: row.Claim}
		if wait != 0 {
			w.due = row.At + wait
		}
		w.payment.Rules = row.Rules
		return add(w)
	})
	if err != nil {
		return nil, err
	}
	view.SanctionsCases(^uint64(0), false, func(row fsm.SanctionsRow) bool {
		if !caseIsOpen(&row) {
			return true
		}
		return add(workOfCase(idsOf(c), &row))
	})
	if err != nil {
		return nil, err
	}
	looked := 0
	view.Alerts(^uint64(0), false, func(row fsm.AlertRow) bool {
		if looked++; looked > border.RowScanMax {
			return false
		}
		if row.Later != 0 {
			return true
		}
		return add(workOfAlert(view, &row))
	})
	if err != nil {
		return nil, err
	}
	view.SARs(^uint64(0), false, func(row fsm.SARRow) bool {
		if row.State > wire.SARReady {
			return true
		}
		return add(workOfReport(&row))
	})
	if err == nil {
		collectLooks(c, view, add)
	}
	b.completeWork(all)
	takeClaims(view, all)
	return all, err
}

// caseIsOpen tells whether a case waits for an officer: what is reported, or was not the party, does not.
func caseIsOpen(row *fsm.SanctionsRow) bool {
	return row.State == wire.SanctionsOpen || row.State == wire.SanctionsTrueMatch
}

func workOfCase(ids *fsm.IDs, row *fsm.SanctionsRow) work {
	w := work{kind: workBlock, caseID: ids.CaseID(row.Leaf), leaf: row.Leaf, record: row.Last, at: row.At, due: row.DueAt, amount: row.Amount}
	if target, at := wire.SplitSubject(row.Root); target == wire.TargetAgent {
		w.agent = engine.AgentSlot(at)
	}
	return w
}

func workOfAlert(view *fsm.View, row *fsm.AlertRow) work {
	w := work{kind: workAlert, leaf: row.Leaf, at: row.At, due: AlertDue(row.At, view.Settings().Policy)}
	if row.Kind == wire.AlertRetroHit {
		w.kind = workRetro
	}
	switch target, at := wire.SplitSubject(row.Subject); {
	case target == wire.TargetAgent:
		w.agent = engine.AgentSlot(at)
	case target == 0 && alertsOfRecords[row.Kind]:
		w.record = at
	}
	return w
}

func workOfReport(row *fsm.SARRow) work {
	return work{kind: workReport, leaf: row.First, record: row.Leaf, due: row.DueAt}
}

// claimsOf returns the claims that are in no review's row, by subject. A list reads them once: to ask the
// view for each of its rows would look at all of them for each.
func claimsOf(view *fsm.View) map[uint64]*fsm.Claim {
	claims := map[uint64]*fsm.Claim{}
	view.Works(func(subject uint64, claim *fsm.Claim) bool {
		claims[subject] = claim
		return true
	})
	return claims
}

// takeClaims gives every piece of work the claim on it. That of a review is in its own row.
func takeClaims(view *fsm.View, all []work) {
	claims := claimsOf(view)
	for i := range all {
		if w := &all[i]; w.kind != workReview && w.kind != workLook {
			w.claim = claims[w.subject()]
		}
	}
}

// subject is what a claim of a piece of work names.
func (w *work) subject() uint64 {
	switch w.kind {
	case workBlock:
		return wire.WorkSubject(wire.WorkCase, w.leaf)
	case workAlert, workRetro:
		return wire.WorkSubject(wire.WorkAlert, w.leaf)
	case workReport:
		return wire.WorkSubject(wire.WorkReport, w.record)
	}
	return wire.WorkSubject(wire.WorkRecord, w.record)
}

// alertsOfRecords are the kinds of alerts whose subject may be a recorded payment.
var alertsOfRecords = map[uint8]bool{
	wire.AlertRetroHit: true, wire.AlertLate: true, wire.AlertOverLimit: true, wire.AlertNotAllowed: true, wire.AlertUnpermitted: true,
	wire.AlertSecondLook: true,
}

// completeWork takes over from the payments what the rows do not say.
func (b *Room) completeWork(all []work) {
	for i := range all {
		w := &all[i]
		if w.agent == 0 {
			w.agent = w.payment.Agent
		}
		if w.amount == 0 {
			w.amount = w.payment.Amount
		}
		if w.at == 0 {
			w.at = w.payment.At // A report was opened some time after; its time counts from the payment.
		}
	}
}

// money says where the money of a piece of work is.
func (w *work) money() parties.Money {
	switch {
	case w.kind == workReview && w.payment.Ended == fsm.HoldOpen:
		return parties.MoneyWaits
	case w.record == 0 || w.payment.Leaf == 0 || w.kind == workBlock && w.payment.State() == parties.Blocked:
		return parties.MoneyStopped
	}
	switch w.payment.State() {
	case parties.WentAhead:
		return parties.MoneyGone
	case parties.Waits:
		return parties.MoneyWaits
	}
	return parties.MoneyStopped
}

// weigh returns what the rank of a piece of work depends on.
func (b *Room) weigh(w *work, list *ofac.Index) parties.Work {
	weight := parties.Work{
		Hit: w.kind == workBlock || w.kind == workRetro || w.party.Entry.IsHit(), Report: w.kind == workReport, Rules: w.payment.Rules,
		Score: w.payment.Score, Money: w.money(), OpenedAt: w.at, DueAt: w.due,
	}
	if w.kind == workReport { // What it was opened for was decided.
		weight.Hit, weight.Rules = false, 0
	}
	if uid := w.party.Entry.UID; weight.Hit && uid != 0 && list != nil && w.party.Side == parties.SidePayee {
		context := b.index.ContextOf(w.record)
		for _, agreement := range list.Agreements(uid, &context) {
			if agreement.Agrees {
				weight.Agrees++
			} else {
				weight.Differs++
			}
		}
	}
	return weight
}

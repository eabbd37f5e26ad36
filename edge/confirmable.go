package edge

import (
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// Why a confirmation gives no leave for an approved payment now. The words never change.
const (
	PayLapsed   = "lapsed"       // The approval has ended.
	PaySettled  = "settled"      // The payment was made.
	PayRedeemed = "redeemed"     // Somebody has taken the leave to make it.
	PayReleased = "released"     // The payment was given back.
	PayInactive = "agent_status" // The agent, one above it or its operator is suspended, revoked or expired.
	PayListed   = "listed"       // The list names a party of the payment now.
	PayBlocked  = "blocked"      // The payment would be a BLOCK now, for another reason.
	PayUnknown  = "unknown"      // This node cannot judge the payment again now.
)

// Confirmable says whether a confirmation may give leave for an approved payment now (why is ""), and if not, why
// not. It is no leave: the log gives it, and this is what one node sees.
// It returns false if nobody approved the payment. It judges with what this node knows, and in
// doubt it says no.
func (j *Judge) Confirmable(l *Leaf, d *Disposition) (why string, approved bool) {
	if !d.Present || d.Said.Disposition != leaf.WordApproved {
		return "", false
	}
	for _, ending := range d.Payment {
		switch ending.Text("state") {
		case "settled":
			return PaySettled, true
		case "released":
			return PayReleased, true
		case "redeemed":
			return PayRedeemed, true
		case "held":
			continue // It was confirmed.
		default:
			return PayLapsed, true
		}
	}
	if j.LogTime() >= d.Said.PayBy {
		return PayLapsed, true
	}
	held := LeavesHeld(j)
	defer func() { DropLeaves(j, held) }()
	parsed, err := j.parsed(l)
	if err != nil {
		return PayUnknown, true
	}
	decision, err := j.decideNow(&parsed)
	switch {
	case err != nil:
		return PayUnknown, true
	case decision.Verdict == engine.Block:
		return WhyBlocked(decision.Code()), true
	}
	return "", true
}

// WhyBlocked returns why a confirmation of a payment that a rule blocks now gives no leave.
func WhyBlocked(rule string) string {
	switch {
	case strings.HasPrefix(rule, "R2_"):
		return PayInactive
	case strings.HasSuffix(rule, "_OFAC") || strings.Contains(rule, "_OFAC_"):
		return PayListed
	}
	return PayBlocked
}

// HoldState returns the present state of a hold: that of its payment's ending, or held.
func (d *Disposition) HoldState() string {
	if len(d.Payment) == 0 {
		return "held"
	}
	return d.Payment[0].Text("state")
}

// WentAhead tells whether the payment of a record was made or may have been made, and how much that
// is: what a settler said, else what was asked for. An approval counts as a PROCEED does; what was
// released or not made in time does not.
func (d *Disposition) WentAhead(l *Leaf) (amount engine.USD, ahead bool) {
	amount = RecordAmount(l)
	ahead = l.Record.Verdict == engine.Proceed || d.Present && d.Said.Disposition == leaf.WordApproved
	for i := range d.Payment {
		switch d.Payment[i].Text("state") {
		case "settled":
			if paid, err := engine.ParseUSD(d.Payment[i].Raw("amount")); err == nil {
				amount = paid
			}
			ahead = true
		case "released", "expired":
			ahead = false
		}
	}
	return amount, ahead
}

// mayChange tells whether a settler can still say what became of the payment.
func (d *Disposition) mayChange() bool {
	state := d.HoldState()
	return state == "held" || state == "redeemed" || state == "unresolved"
}

// Open reports whether nothing has ended the payment.
func (d *Disposition) Open() bool {
	state := d.HoldState()
	return state == "held" || state == "redeemed"
}

// Redeemed reports whether the leave for the payment was taken: it was redeemed, or settled.
func (d *Disposition) Redeemed() bool {
	state := d.HoldState()
	return state == "redeemed" || state == "settled" || len(d.Payment) > 0 && d.Payment[0].Flag("redeemed")
}

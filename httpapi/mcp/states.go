package mcp

// Only a first-hand answer of screen or confirm says that a payment may be made. Everything else that a
// tool tells of a recorded payment is old: a record that is read, or an answer that is repeated for its
// idempotency key. Whoever pays on such an answer pays twice, or pays what was withdrawn meanwhile. So
// it is told the payment's state, by one sentence for each.

const (
	toConfirm = ": confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone."
	notAgain  = "): let through or paid: do not pay again."
	noLeave   = "): no leave any more: do not pay. Screen a payment that is to be made."
	notKnown  = "): not known whether it was paid: do not pay. It still counts against the limits."
)

// recorded holds what tools read from the record of a transaction.
type recorded struct {
	decided
	Disposition       string `json:"disposition"`
	Confirmable       bool   `json:"confirmable"`
	ConfirmableReason string `json:"confirmableReason"`
	Payment           struct {
		State string `json:"state"`
	} `json:"payment"`
	LateSettlement *struct{} `json:"lateSettlement"` // It was settled after it had ended.

	answer []byte // As the API sent it.
}

// state says what the caller may do now about a recorded payment. It never allows paying. What is not
// told, or in a word that is not known here, counts as not known.
func (d *recorded) state() string {
	state := d.Payment.State
	if d.LateSettlement != nil {
		state = "settled"
	}
	name := d.Verdict
	if d.Verdict == "REVIEW" && d.Disposition == "APPROVED" {
		name = "REVIEW, APPROVED"
	}
	switch state {
	case "", "held": // Held: it waits to be made.
		return d.waiting(name)
	case "redeemed", "settled":
		return name + " (" + state + notAgain
	case "released", "expired":
		return name + " (" + state + noLeave
	}
	return name + " (" + state + notKnown
}

// waiting says what to do about a payment of which nothing was said yet.
func (d *recorded) waiting(name string) string {
	switch {
	case d.Verdict == "PROCEED", name == "REVIEW, APPROVED" && d.Confirmable:
		return name + toConfirm
	case name == "REVIEW, APPROVED":
		switch d.ConfirmableReason {
		case "settled", "redeemed":
			return name + " (" + d.ConfirmableReason + notAgain
		case "lapsed", "released", "agent_status", "listed", "blocked":
			return name + " (" + d.ConfirmableReason + noLeave
		}
		return name + " (" + d.ConfirmableReason + notKnown
	case d.Verdict == "REVIEW" && d.Disposition == "REJECTED":
		return "REVIEW, REJECTED: do not pay. " + d.Reason
	}
	return d.sentence()
}

// refusedStates say, by the code of a refused confirmation, in what state the payment is.
var refusedStates = map[string]string{
	"permit_used":     "Not confirmed (redeemed" + notAgain,
	"approval_lapsed": "Not confirmed (lapsed" + noLeave,
	"limit_reached":   "Not confirmed (as often as it can be" + noLeave,
	"waiting":         "Not confirmed (waiting): no officer has approved it: do not pay. Ask get_verdict until its disposition is APPROVED.",
	"rejected":        "Not confirmed (rejected): an officer rejected it: do not pay.",
	"not_allowed":     "Not confirmed (not allowed): its verdict gave no leave: do not pay.",
	"released":        "Not confirmed (released" + noLeave,
}

package recorded

import (
	"strconv"

	"railguard/engine"
)

// Difference is something that comes out otherwise than a leaf says.
type Difference struct {
	Field, Recorded, Again string
}

// Contradictions tells what cannot be, whatever the rules say. Nothing but UNKNOWN is said of a call
// that was not judged. And where a leaf holds the judgement of a payment, it is compared with that, and
// that with the payment's own record.
func (c *Case) Contradictions() (found []Difference) {
	x := c.Record
	note := func(field, recorded, again string) {
		if recorded != again {
			found = append(found, Difference{field, recorded, again})
		}
	}
	if !x.Judged {
		note("verdict", x.Verdict.String(), engine.Unknown.String())
	}
	if x.Paid != nil {
		c.contradictPaid(func(field, recorded, again string) { note("leaf."+field, recorded, again) })
	}
	return found
}

func (c *Case) contradictPaid(note func(field, recorded, again string)) {
	x := c.Record
	said, of := &x.Paid.Said, x.Paid.Of
	number := func(field string, recorded, again uint64) {
		note(field, strconv.FormatUint(recorded, 10), strconv.FormatUint(again, 10))
	}
	note("verdict", said.Verdict, x.Verdict.String())
	note("rule", said.Rule, x.Rule.Code())
	number("listVersion", said.ListVersion, x.ListVersion)
	number("policyVersion", said.PolicyVersion, x.PolicyVersion)
	note("txnId", said.TxnID, x.TxnID())
	if x.Judged && x.Agent != nil {
		note("agentId", said.AgentID, x.AgentID())
	}
	if of == nil {
		return
	}
	note("txnId", x.TxnID(), of.TxnID())
	number("screenedLeaf", said.ScreenedLeaf, of.Leaf)
	note("approved", strconv.FormatBool(said.Approved), strconv.FormatBool(of.Verdict == engine.Review))
	if x.Judged {
		number("amount", uint64(x.Amount), uint64(of.Amount))
	}
	if left := c.leftOut(); x.Judged && c.Rules != nil {
		number("leftOut", uint64(said.LeftOut), uint64(left))
	}
	if of.Verdict != engine.Proceed && of.Verdict != engine.Review {
		note("screenedVerdict", of.Verdict.String(), engine.Proceed.String()) // It never had leave.
	}
}

// leftOut returns the rules without effect in a judgement: what its leaf says, if that can be.
// Otherwise a log could leave out whatever it pleased.
func (c *Case) leftOut() uint32 {
	paid := c.Record.Paid
	if paid == nil {
		return 0
	}
	said := paid.Said.LeftOut
	if paid.Of == nil || c.Rules == nil {
		return said
	}
	seen, sameDay := uint32(0), paid.Of.At.Day() == c.Record.At.Day()
	if paid.Of.Verdict == engine.Review {
		seen = paid.Of.Triggered
	}
	if c.Rules.MayLeaveOut(said, seen, sameDay, paid.Redeem) {
		return said
	}
	return c.Rules.LeftOutAgain(seen, !sameDay, paid.Redeem)
}

package border

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"railguard/audit/merkle"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/strictjson"
)

// Every answer to a write is rendered from the leaf that it wrote, and from nothing that
// can change. So the first answer, an idempotent replay on another node and a later GET are
// the same.

// Renderer writes the members of the answer for a leaf of its kind. It may set headers and
// c.Status (200 by default).
type Renderer func(c *Request, l *edge.Leaf, m *strictjson.Members) error

// AnswerLeaf answers with a leaf, through the renderer of its kind.
func (c *Request) AnswerLeaf(l *edge.Leaf) (Answer, error) {
	render := c.border.renderers[l.Kind()]
	if render == nil {
		return Answer{}, fmt.Errorf("BUG: no renderer for leaf kind %q", l.Kind())
	}
	c.Status = http.StatusOK
	c.Out = c.Out[:0]
	if err := render(c, l, &c.Out); err != nil {
		c.Status = 0
		return Answer{}, err
	}
	return c.Reply(c.Status, c.Out), nil
}

// This file implements the tipping-off wall (decision 33, "The tipping-off wall"). It decides
// what a caller sees of a screening record, by verdict and by role (decision 43).

// OpenRecord sets how much of a record's reason its reader may see, and reports whether it may see all.
func (c *Request) OpenRecord(x *leafjson.Screen) bool {
	x.Full = c.Key.SeesAll()
	return x.Full
}

func (c *Request) WriteScreen(x *leafjson.Screen, m *strictjson.Members) error {
	c.TxnID = x.TxnID()
	seesAll := c.OpenRecord(x)
	m.Text("verdict", x.Verdict.String())
	m.Text("txnId", c.TxnID)
	m.TextOrNull("rule", x.Rule.Code())
	m.Text("reason", x.Reason())
	m.Optional("agentId", x.AgentID())
	if x.Verdict == engine.Proceed || x.Verdict == engine.Review {
		if x.Agent != nil {
			m.Text("agentName", x.Agent.Agents[0].AgentName)
			m.Text("operatorLegalName", x.Agent.Agents[0].OperatorLegalName)
		}
		m.Text("credentialStatus", x.Status.String())
		m.Text("ofacSource", x.Source())
	}
	m.Time("screenedAt", x.At)
	x.AppendHold(m)
	if err := c.WritePermit(m, x); err != nil {
		return err
	}
	m.Name("latencyMs")
	*m = AppendMillis(*m, time.Since(c.Start))
	m.Text("ruleSet", x.RuleSetName())
	m.Uint("policyVersion", x.PolicyVersion)
	m.Uint("listVersion", x.ListVersion)
	m.Uint("index", x.Index)
	if x.ListStale {
		m.Bool("ofacStale", true)
	}
	if warnings := x.Warnings(); warnings != nil {
		m.Raw("warnings", warnings)
	}
	if seesAll {
		x.AppendCodes(m, "triggered", x.Triggered)
		x.AppendCodes(m, "shadow", x.Shadow)
	}
	return nil
}

// WritePermit writes the permit that a record gives, if any.
func (c *Request) WritePermit(m *strictjson.Members, x *leafjson.Screen) error {
	return c.Judge.Terms.Signing.WritePermit(m, x)
}

// The members of a record, in the order they are shown.
var (
	recordMembers = leafjson.Select("verdict", "txnId", "rule", "reason", "agentId", "agentName", "agentType", "operatorLegalName",
		"credentialStatus", "ofacSource", "screenedAt")
	recordExtras = leafjson.Select("version", "keyId", "node", "index", "ruleSet", "policyVersion", "listVersion", "listDigest", "matcherVersion",
		"mixerVersion", "tzVersion", "ofacStale", "requestHash", "idempotencyKeyHash", "requestId", "traceId", "jti", "userJti",
		"userId", "fleetId", "chain", "hold", "permitTerms", "permitSeconds", "proof", "profile", "userProfile", "warnings")
	recordInner = leafjson.Select("triggered", "shadow", "matches", "matchesTruncated", "walletsElsewhere", "places", "placesVersion", "listName", "evidence", "agentSequence", "agentPrevious") // Hidden behind the wall. Numbers have gaps where officers wrote something.
)

// Members shown: of a disposition, outside and inside the wall; of a proposal; of a
// comment.
var (
	tenantMembers = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedBy", "reviewedAt", "sarEscalated", "overLimitApproved", "notHeld")
	outerMembers  = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedAt", "sarEscalated")
	innerMembers  = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "reviewedByKey",
		"overLimitApproved", "notHeld", "recheck")
	proposalMembers = leaf.Select([]string{leaf.KindProposed}, "notes")
	commentMembers  = leaf.Select([]string{leaf.KindCommented}, "eventId", "time", "comment", "actorKeyId")
)

// WriteRecord writes a screening record as the caller may see it, from the leaf itself.
func (c *Request) WriteRecord(m *strictjson.Members, l *edge.Leaf, d *edge.Disposition) error {
	x := l.Record
	x.Full = c.Key.SeesAll()
	if err := recordMembers.Append(x, m); err != nil {
		return err
	}
	if d.Present && !c.Key.SeesAll() && d.Said.Escalates() {
		d = &edge.Disposition{} // Show the record as undecided.
	}
	masked := c.Judge.Terms.Masked(c.Asked.Caller, l)
	if d.Present && masked {
		d.Leaf.CopyTo(m, outerMembers...)
	} else if d.Present && !c.Key.Institution() {
		d.Leaf.CopyTo(m, tenantMembers...) // Without what officers wrote and found.
	} else if d.Present {
		d.Leaf.CopyTo(m, innerMembers...)
		if d.Proposed != nil {
			m.Object("confirms", ProposalMembers(d.Proposed))
		}
	} else if x.Verdict == engine.Review {
		writeProposed(m, d.Proposed)
		m.Bool("sarEscalated", false)
	}
	c.writeConfirmable(m, l, d)
	if err := x.AppendRequest(m, masks[masked]); err != nil {
		return err
	}
	x.HoldNow = d.HoldState()
	if err := recordExtras.Append(x, m); err != nil {
		return err
	}
	if c.Key.SeesAll() {
		if err := recordInner.Append(x, m); err != nil {
			return err
		}
	}
	writeEndings(m, d.Payment)
	writeLeafHash(m, l.Data)
	if c.Key.SeesAll() && len(d.Comments) > 0 {
		items := make([]strictjson.Members, len(d.Comments))
		for i := range d.Comments {
			d.Comments[i].CopyTo(&items[i], commentMembers...)
			d.Comments[i].CopyAs(&items[i], "by", "actor")
		}
		m.List("comments", items)
	}
	return nil
}

// writeConfirmable writes what became of an approval, until when it is good, whether a confirmation may
// give leave now, and if not, why not.
func (c *Request) writeConfirmable(m *strictjson.Members, l *edge.Leaf, d *edge.Disposition) {
	why, approved := c.Judge.Confirmable(l, d)
	if !approved {
		return
	}
	state := "open"
	switch {
	case d.Redeemed():
		state = "redeemed"
	case !d.Open() || c.Judge.LogTime() >= d.Said.PayBy:
		state = "lapsed"
	}
	m.BeginObject("approval")
	m.Text("state", state)
	m.Time("until", d.Said.PayBy)
	m.EndObject()
	m.Time("payBy", d.Said.PayBy)
	m.Bool("confirmable", why == "")
	m.Optional("confirmableReason", why)
}

// writeProposed writes what one person proposed and another has to confirm (four eyes).
func writeProposed(m *strictjson.Members, proposal *edge.Leaf) {
	if proposal == nil {
		return
	}
	m.Null("disposition")
	m.Object("proposed", ProposalMembers(proposal))
}

func ProposalMembers(proposal *edge.Leaf) (inner strictjson.Members) {
	var said leaf.Proposed
	if err := leaf.ReadInto(proposal.Data, &said); err != nil {
		panic("BUG: a proposal that cannot be read: " + err.Error())
	}
	inner.Text("proposalId", said.ProposalID)
	inner.Text("disposition", said.Disposition)
	inner.Text("by", said.ReviewedBy)
	inner.Text("byKey", said.ReviewedByKey)
	inner.Text("proposedBy", said.ProposedBy)
	inner.Raw("at", proposal.Raw("time"))
	inner.Time("expiresAt", said.LapsesAt)
	proposal.CopyTo(&inner, proposalMembers...)
	return inner
}

// writeEndings writes the later events of a record's payment: how it ended, and late
// settlements.
func writeEndings(m *strictjson.Members, endings []edge.Leaf) {
	for i, name := range []string{"payment", "lateSettlement"} {
		if i >= len(endings) {
			return
		}
		var inner strictjson.Members
		endings[i].CopyTo(&inner, PaymentMembers...)
		m.Object(name, inner)
	}
}

// MaskedText replaces a name that may not be read.
const MaskedText = "***"

// masks has a function for each case: names are masked (true) or not (false). The function
// returns the text that replaces a member of _request; "": the member is shown. Masking hides the
// members that identify the counterparty.
var masks = map[bool]func(name string) string{
	false: func(string) string { return "" },
	true: func(name string) string {
		switch name {
		case "cpName", "cpDateOfBirth", "cpAddress", "memo", "cpIdentifiers":
			return MaskedText
		}
		return ""
	},
}

// LeafHash is the RFC 6962 leaf hash, in base64.
func LeafHash(data []byte) string {
	sum := merkle.Leaf(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func writeLeafHash(m *strictjson.Members, data []byte) {
	sum := merkle.Leaf(data)
	m.Name("leafHash")
	*m = append(base64.StdEncoding.AppendEncode(append(*m, '"'), sum[:]), '"')
}

// ScreenRecord reads the screening record of the path's txnId.
func (c *Request) ScreenRecord() (edge.Leaf, error) {
	l, err := c.Judge.Record(c.r.PathValue("txnId"))
	if err == nil {
		c.TxnID = l.Text("txnId")
	}
	return l, err
}

// CSVCell keeps a spreadsheet from running a caller's text as a formula: it puts an
// apostrophe before a cell that begins like one.
func CSVCell(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text // East Asian locales read the full-width signs as the narrow ones.
	}
	return text
}

// PaymentMembers are the members that an event about a payment shows.
var PaymentMembers = leaf.Select([]string{leaf.KindHoldSettled, leaf.KindPaymentConfirmed, leaf.KindDue + ":" + leaf.DueHold.String()},
	"state", "amount", "countedUSDC", "late", "overLimit", "notAllowed", "forwarded", "unpermitted", "redeemed", "verdict", "railRef", "reason", "expiredAt", "eventId", "time")

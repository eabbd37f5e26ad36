package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/strictjson"
)

// Every answer to a write is rendered from the leaf it wrote, and from nothing
// else that can change: so a first answer, an idempotent replay on another node
// and a later GET cannot differ.

// renderer writes the members of the answer that a leaf of its kind stands for.
// It may set headers and c.status (200 by default).
type renderer func(c *call, l *edge.Leaf, m *strictjson.Members) error

// allRenderers is the one registry of leaf kinds that answer a call.
func (a *API) allRenderers() map[string]renderer {
	all := map[string]renderer{
		"screen":               renderScreen,
		"review.dispositioned": renderDisposition,
		"review.proposed":      renderProposal,
		"review.withdrawn":     renderProposal,
		"hold.settled":         renderPayment,
		"hold.released":        renderPayment,
		"review.claimed":       renderQueueEvent,
		"review.released":      renderQueueEvent,
		"review.assigned":      renderQueueEvent,
		"review.commented":     renderQueueEvent,
		"alert.acknowledged":   renderAcknowledged,
		leaf.KindWebhook:       renderWebhook,
		"sar.moved":            renderSARMoved,
		"retro.begun":          renderRetro,
	}
	for kind, render := range a.registryRenderers() {
		all[kind] = render
	}
	return all
}

// renderLeaf answers with a leaf through the renderer of its kind.
func (c *call) renderLeaf(l *edge.Leaf) error {
	render := c.api.renderers[l.Kind()]
	if render == nil {
		return fmt.Errorf("BUG: no renderer for leaf kind %q", l.Kind())
	}
	c.status = http.StatusOK
	c.out = c.out[:0]
	if err := render(c, l, &c.out); err != nil {
		c.status = 0
		return err
	}
	c.reply(c.status, c.out)
	return nil
}

// What callers see of a screening record, by verdict and by role (decision
// 43 and decision 33, "The tipping-off wall"): this file is that wall.

// renderScreen is the answer of POST /v1/screen. A blocked party is told least.
func renderScreen(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.writeScreen(l.Record, m)
	return nil
}

func (c *call) writeScreen(x *leafjson.Screen, m *strictjson.Members) {
	c.txnID = x.TxnID()
	m.Text("verdict", x.Verdict.String())
	m.Text("txnId", c.txnID)
	m.TextOrNull("rule", x.Rule.Code())
	m.Text("reason", engine.Reason(x.Rule, x.Sub))
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
	m.Name("latencyMs")
	*m = appendMillis(*m, time.Since(c.start))
	m.Text("ruleSet", engine.RuleSet)
	m.Uint("policyVersion", x.PolicyVersion)
	m.Uint("listVersion", x.ListVersion)
	m.Uint("index", x.Index)
	if x.ListStale {
		m.Bool("ofacStale", true)
	}
	if warnings := x.Warnings(); warnings != nil {
		m.Raw("warnings", warnings)
	}
	if c.key.SeesAll() {
		leafjson.Codes(m, "triggered", x.Triggered)
		leafjson.Codes(m, "shadow", x.Shadow)
	}
}

// The members of a record, in the order they are shown.
var (
	recordMembers = []string{"verdict", "txnId", "rule", "reason", "agentId", "agentName", "agentType", "operatorLegalName",
		"credentialStatus", "ofacSource", "screenedAt"}
	recordExtras = []string{"version", "keyId", "node", "index", "ruleSet", "policyVersion", "listVersion", "listDigest", "matcherVersion",
		"mixerVersion", "tzVersion", "ofacStale", "requestHash", "idempotencyKeyHash", "requestId", "traceId", "jti", "userJti",
		"userId", "fleetId", "chain", "agentSequence", "agentPrevious", "hold", "profile", "userProfile", "warnings"}
	recordInner = []string{"triggered", "shadow", "matches", "matchesTruncated", "evidence"} // Behind the wall.
)

// writeRecord writes a screening record as the caller may see it.
func (c *call) writeRecord(m *strictjson.Members, l *edge.Leaf, d *edge.Disposition) {
	l.CopyTo(m, recordMembers...)
	if d.Present && !c.key.SeesAll() && d.Leaf.Text("disposition") == "ESCALATE_SAR" {
		d = &edge.Disposition{} // As if it had none yet.
	}
	masked := c.judge.Terms.Masked(c.asked.Caller, l)
	if d.Present && masked {
		d.Leaf.CopyTo(m, "disposition", "reviewedAt", "sarEscalated")
	} else if d.Present {
		d.Leaf.CopyTo(m, "disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "reviewedByKey",
			"overLimitApproved", "notHeld", "recheck")
	} else if l.Text("verdict") == "REVIEW" {
		writeProposed(m, d.Proposed)
		m.Bool("sarEscalated", false)
	}
	copyRequest(m, l, masked)
	l.CopyTo(m, recordExtras...)
	if c.key.SeesAll() {
		l.CopyTo(m, recordInner...)
	}
	writeEndings(m, d.Payment)
	m.Text("leafHash", leafHash(l.Data))
	if c.key.SeesAll() && len(d.Comments) > 0 {
		items := make([]strictjson.Members, len(d.Comments))
		for i := range d.Comments {
			d.Comments[i].CopyTo(&items[i], "eventId", "time", "comment", "by", "actorKeyId")
		}
		m.List("comments", items)
	}
}

// writeProposed says what one person proposed and another has to confirm (four eyes).
func writeProposed(m *strictjson.Members, proposal *edge.Leaf) {
	if proposal == nil {
		return
	}
	m.Null("disposition")
	m.Object("proposed", proposalMembers(proposal))
}

func proposalMembers(proposal *edge.Leaf) (inner strictjson.Members) {
	proposal.CopyTo(&inner, "disposition")
	inner.Text("by", proposal.Text("reviewedBy"))
	inner.Text("byKey", proposal.Text("reviewedByKey"))
	inner.Raw("at", proposal.Raw("time"))
	proposal.CopyTo(&inner, "lapsesAt", "notes")
	return inner
}

// writeEndings says what became of a record's payment: how it ended, and what was settled
// too late.
func writeEndings(m *strictjson.Members, endings []edge.Leaf) {
	for i, name := range []string{"payment", "lateSettlement"} {
		if i >= len(endings) {
			return
		}
		var inner strictjson.Members
		endings[i].CopyTo(&inner, paymentMembers...)
		m.Object(name, inner)
	}
}

// maskedText stands where a name may not be read.
const maskedText = "***"

// maskedMembers say who the counterparty is.
var maskedMembers = []string{"cpName", "cpDateOfBirth", "cpAddress"}

// copyRequest copies _request; masked is who the counterparty is alone.
func copyRequest(m *strictjson.Members, l *edge.Leaf, masked bool) {
	if !masked {
		l.CopyTo(m, "_request")
		return
	}
	object := l.Value.GetObject("_request")
	if object == nil {
		return
	}
	var inner strictjson.Members
	object.Visit(func(key []byte, value *fastjson.Value) {
		if name := string(key); slices.Contains(maskedMembers, name) && value.Type() != fastjson.TypeNull {
			inner.Text(name, maskedText)
			return
		}
		inner.Raw(string(key), strictjson.AppendValue(nil, value))
	})
	m.Object("_request", inner)
}

// leafHash is the RFC 6962 leaf hash, in base64.
func leafHash(data []byte) string {
	sum := merkleLeaf(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func merkleLeaf(data []byte) [32]byte {
	hash := sha256.New()
	hash.Write([]byte{0})
	hash.Write(data)
	return [32]byte(hash.Sum(nil))
}

// screenRecord loads the screening record of the path's txnId.
func (c *call) screenRecord() (edge.Leaf, error) {
	l, err := c.judge.Record(c.r.PathValue("txnId"))
	if err == nil {
		c.txnID = l.Text("txnId")
	}
	return l, err
}

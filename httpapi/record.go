package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// What callers see of a screening record, by verdict and by role (decisions
// 5.13, 5.3): the tipping-off wall is this file.

// renderScreen is the answer of POST /v1/screen. A blocked party is told least.
func renderScreen(c *call, l *leaf, m *strictjson.Members) error {
	c.txnID = l.text("txnId")
	l.copyTo(m, "verdict", "txnId", "rule", "reason")
	switch l.text("verdict") {
	case "BLOCK", "UNKNOWN":
		l.copyTo(m, "agentId")
	default:
		l.copyTo(m, "agentId", "agentName", "operatorLegalName", "credentialStatus", "ofacSource")
	}
	l.copyTo(m, "screenedAt")
	m.Name("latencyMs")
	*m = appendMillis(*m, time.Since(c.start))
	l.copyTo(m, "ruleSet", "policyVersion", "listVersion", "index", "ofacStale")
	if c.key.seesAll() {
		l.copyTo(m, "triggered", "shadow")
	}
	return nil
}

// The members of a record, in the order they are shown.
var (
	recordMembers = []string{"verdict", "txnId", "rule", "reason", "agentId", "agentName", "agentType", "operatorLegalName",
		"credentialStatus", "ofacSource", "screenedAt"}
	recordExtras = []string{"version", "keyId", "node", "index", "ruleSet", "policyVersion", "listVersion", "listDigest",
		"mixerVersion", "tzVersion", "ofacStale", "requestHash", "idempotencyKeyHash", "requestId", "jti", "userJti",
		"userId", "fleetId", "chain"}
	recordInner = []string{"triggered", "shadow", "matches", "matchesTruncated", "evidence"} // Behind the wall.
)

// dispositionView is what a caller may know of a record's disposition.
type dispositionView struct {
	leaf     leaf
	present  bool
	comments []leaf
}

// writeRecord writes a screening record as the caller may see it.
func (c *call) writeRecord(m *strictjson.Members, l *leaf, d *dispositionView) {
	l.copyTo(m, recordMembers...)
	if d.present && !c.key.seesAll() && d.leaf.text("disposition") == "ESCALATE_SAR" {
		d = &dispositionView{} // As if it had none yet.
	}
	if d.present && c.key.masked() {
		d.leaf.copyTo(m, "disposition", "reviewedAt", "sarEscalated")
	} else if d.present {
		d.leaf.copyTo(m, "disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "reviewedByKey",
			"overLimitApproved", "recheck")
	} else if l.text("verdict") == "REVIEW" {
		m.Bool("sarEscalated", false)
	}
	c.copyRequest(m, l)
	l.copyTo(m, recordExtras...)
	if c.key.seesAll() {
		l.copyTo(m, recordInner...)
	}
	m.Text("leafHash", leafHash(l.data))
	if c.key.seesAll() && len(d.comments) > 0 {
		items := make([]strictjson.Members, len(d.comments))
		for i := range d.comments {
			d.comments[i].copyTo(&items[i], "eventId", "time", "comment", "by", "actorKeyId")
		}
		m.List("comments", items)
	}
}

// maskedText stands where an ops key may not read a name.
const maskedText = "***"

// copyRequest copies _request; for ops alone the counterparty's name is masked.
func (c *call) copyRequest(m *strictjson.Members, l *leaf) {
	if !c.key.masked() {
		l.copyTo(m, "_request")
		return
	}
	object := l.value.GetObject("_request")
	if object == nil {
		return
	}
	var inner strictjson.Members
	object.Visit(func(key []byte, value *fastjson.Value) {
		if string(key) == "cpName" && value.Type() != fastjson.TypeNull {
			inner.Text("cpName", maskedText)
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

// loadDisposition loads what is known here of a record's disposition and, for
// those who may read them, its comments.
func (c *call) loadDisposition(l *leaf) (*dispositionView, error) {
	view := &dispositionView{}
	if l.text("verdict") != "REVIEW" {
		return view, nil
	}
	later, decided := c.api.deps.Published.Disposition(l.index)
	if !decided && c.query("consistency") != "local" {
		// A disposition acknowledged elsewhere must show (reliability, invariant 6);
		// without a leader the local answer still stands, with its index.
		c.confirmBriefly()
		later, decided = c.api.deps.Published.Disposition(l.index)
	}
	if decided {
		data, err := c.api.deps.Records.Leaf(c.ctx, later)
		if err != nil {
			return nil, leafError(err)
		}
		if view.leaf, err = c.openLeaf(later, data); err != nil {
			return nil, err
		}
		view.present = true
	}
	return view, c.loadComments(l, view)
}

func (c *call) loadComments(l *leaf, view *dispositionView) error {
	if !c.key.seesAll() {
		return nil
	}
	for _, at := range c.api.deps.Published.Comments(l.index) {
		data, err := c.api.deps.Records.Leaf(c.ctx, at)
		if err != nil {
			return leafError(err)
		}
		comment, err := c.openLeaf(at, data)
		if err != nil {
			return err
		}
		view.comments = append(view.comments, comment)
	}
	return nil
}

// mayRead reports whether the key may read the record at all: its operator's
// scope, and, for keys without a reading role, its own calls or its operator's.
func (c *call) mayRead(l *leaf) bool {
	own := l.text("keyId") == c.key.id
	if c.key.operator != "" {
		operator := l.text("operatorLegalName")
		if operator == "" {
			return own // A call without a credential belongs to nobody but who made it.
		}
		if !c.key.covers(operator) {
			return false
		}
		if c.key.roles&wire.RoleOperator != 0 {
			return true
		}
	}
	return own || c.key.may(wire.RoleReviewer|wire.RoleAuditor|wire.RoleOps)
}

// screenRecord loads the screening record of the path's txnId: 404 when it is
// unknown, past its 90 days, no screening record, or not for this key.
func (c *call) screenRecord() (leaf, error) {
	index, ok := c.edge.ids.ParseTxn(c.r.PathValue("txnId"))
	if !ok {
		return leaf{}, unknownTransaction()
	}
	l, err := c.loadLeaf(index)
	if err != nil {
		return leaf{}, err
	}
	if l.kind() != "screen" || c.pastRetention(l.instant("screenedAt")) || !c.mayRead(&l) {
		return leaf{}, unknownTransaction()
	}
	c.txnID = l.text("txnId")
	return l, nil
}

func unknownTransaction() *Error { return notFound("no such transaction, or past its 90 days") }

// pastRetention is exact by log time, whatever was compacted already.
func (c *call) pastRetention(at engine.Time) bool {
	return c.api.deps.Published.LogTime()-at >= engine.Retention
}

// pageLimit reads ?limit=.
func (c *call) pageLimit() (int, error) {
	text := c.query("limit")
	if text == "" {
		return engine.PageDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > engine.PageMax {
		return 0, invalidField("limit", "must be a whole number from 1 to "+strconv.Itoa(engine.PageMax))
	}
	return n, nil
}

// ascending reads ?order=.
func (c *call) ascending() (bool, error) {
	switch c.query("order") {
	case "", "desc":
		return false, nil
	case "asc":
		return true, nil
	}
	return false, invalidField("order", "must be asc or desc")
}

// replyPage answers a list (decisions 5.1).
func (c *call) replyPage(items []strictjson.Members, cursor string) {
	m := c.out[:0]
	m.List("data", items)
	m.TextOrNull("nextCursor", cursor)
	c.out = m
	c.reply(http.StatusOK, m)
}

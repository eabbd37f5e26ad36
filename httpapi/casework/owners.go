package casework

import (
	"net/http"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Who works on what stands in the inbox (decision 145): a payment under review or blocked, an alert, a
// sanctions case, a report. Of an open review it is the claim of the queue.

// ReportPrefix stands before the transaction in the id of a report as something to work on.
const ReportPrefix = "sar_"

func ownerRoutes() []border.Route {
	post := func(verb string, op uint8) border.Route {
		return border.Route{Method: http.MethodPost, Path: "/v1/inbox/{itemId}/" + verb, Reserved: true,
			Handle: func(c *border.Request) (border.Answer, error) { return workVerb(c, op) }}
	}
	return []border.Route{
		post("claim", wire.QueueClaim), post("release", wire.QueueRelease), post("assign", wire.QueueAssign), post("comment", wire.QueueComment),
		{Method: http.MethodGet, Path: "/v1/inbox/{itemId}/comments", Reserved: true, Handle: listWorkComments},
	}
}

func noItem() *border.Error {
	return border.NotFound("nothing to work on has this id, or it is past its 90 days")
}

// workSubject reads the id of the path. record is set where the item is, or is about, a payment.
func workSubject(c *border.Request) (subject uint64, record edge.Leaf, err error) {
	id, ids := c.PathValue("itemId"), idsOf(c)
	txn, report := strings.CutPrefix(id, ReportPrefix)
	if at, is := ids.ParseAlert(id); is {
		return wire.WorkSubject(wire.WorkAlert, at), record, nil
	}
	if at, is := ids.ParseCase(id); is {
		return wire.WorkSubject(wire.WorkCase, at), record, nil
	}
	if _, is := ids.ParseTxn(txn); !is {
		return 0, record, noItem()
	}
	if record, err = c.Judge.Record(txn); err != nil {
		return 0, record, err
	}
	if report {
		return wire.WorkSubject(wire.WorkReport, record.Index), record, nil
	}
	if verdict := record.Text("verdict"); verdict != "REVIEW" && verdict != "BLOCK" {
		return 0, record, edge.Refuse("not_reviewable", "the verdict was "+verdict+": there is nothing to work on")
	}
	return wire.WorkSubject(wire.WorkRecord, record.Index), record, nil
}

// workVerb claims, releases, assigns or comments on one item, by op.
func workVerb(c *border.Request, op uint8) (border.Answer, error) {
	look, isLook := idsOf(c).ParseLook(c.PathValue("itemId"))
	subject, record, err := uint64(0), edge.Leaf{}, error(nil)
	if !isLook {
		subject, record, err = workSubject(c)
	}
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	step, err := desk.ReadQueueStep(&c.Judge, &f, op)
	if err != nil {
		return border.Answer{}, err
	}
	if isLook {
		return c.AnswerProposal(border.Proposal{
			Kind: wire.KindSecondLook, Record: func() (any, error) { return step.LookRecord(&c.Judge, look) }, Refused: lookRefused,
		}, nil)
	}
	if kind, _ := wire.SplitWork(subject); kind == wire.WorkRecord && record.Text("verdict") == "REVIEW" {
		return c.AnswerProposal(border.Proposal{
			Kind: wire.KindQueue, Record: func() (any, error) { return step.Record(&c.Judge, &record) }, Refused: queueRefused,
		}, nil)
	}
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindWork, Record: func() (any, error) { return step.WorkRecord(&c.Judge, subject), nil }, Refused: workRefused,
	}, nil)
}

func workRefused(r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noItem()
	case wire.RefusedFull:
		return border.Conflict("limit_reached", "a key writes at most "+strconv.Itoa(engine.CommentsOfKeyMax)+" comments about an item, and one where it has "+strconv.Itoa(engine.CommentsKept)+
			"; or as many items are claimed as there may be", nil)
	}
	return nil
}

// workMembers are the members shown of a step.
var workMembers = leaf.Select([]string{leaf.KindWorked}, "txnId", "alertId", "caseId", "lookId", "assignee", "leaseExpiresAt", "comment")

// renderWorked is the answer of a step.
func renderWorked(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	m.Text("itemId", itemOf(l))
	m.Text("event", l.Text("op"))
	l.CopyTo(m, "eventId", "time")
	l.CopyTo(m, workMembers...)
	l.CopyAs(m, "by", "actor")
	return nil
}

// itemOf returns the id of what a step is about.
func itemOf(l *edge.Leaf) string {
	switch {
	case l.Has("alertId"):
		return l.Text("alertId")
	case l.Has("caseId"):
		return l.Text("caseId")
	case l.Has("lookId"):
		return l.Text("lookId")
	case l.Flag("report"):
		return ReportPrefix + l.Text("txnId")
	}
	return l.Text("txnId")
}

// listWorkComments is GET /v1/inbox/{itemId}/comments, oldest first.
func listWorkComments(c *border.Request) (border.Answer, error) {
	subject, _, err := workSubject(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	items := []strictjson.Members{}
	for _, comment := range commentsOn(view, subject) {
		l, err := c.Judge.LoadLeaf(comment.Leaf)
		if edge.IsGone(err) {
			continue
		}
		if err != nil {
			return border.Answer{}, err
		}
		var m strictjson.Members
		l.CopyTo(&m, "time", "eventId", "comment", "actorKeyId")
		l.CopyAs(&m, "by", "actor")
		items = append(items, m)
		c.Judge.DropLeaf()
	}
	border.ChargeLooked(c, len(items))
	c.Judge.Index = view.Index
	var m strictjson.Members
	m.List("data", items)
	m.Uint("asOfIndex", view.Index)
	return c.Reply(http.StatusOK, m), nil
}

// commentsOn returns the comments on an item; of a review that is decided, those of its row.
func commentsOn(view *fsm.View, subject uint64) []fsm.Comment {
	claim := view.WorkOn(subject)
	if kind, record := wire.SplitWork(subject); kind == wire.WorkRecord {
		if row, found := view.Review(record); found {
			claim = row.Claim
		}
	}
	if claim == nil {
		return nil
	}
	return claim.Comments
}

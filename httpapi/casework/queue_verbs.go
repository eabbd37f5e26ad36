package casework

import (
	"net/http"
	"strconv"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// nextReview is POST /v1/queue/next. The log leases the first of the offered reviews that
// nobody else holds by then. The officer may name reviews to skip.
func nextReview(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	who := desk.ReadReviewer(&c.Judge, &f, "assignee", "reviewedBy", "by")
	inner, given := f.Nested("filter")
	skipped, _ := f.Texts("skip", BulkMax, engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	filter, err := readQueueFilter(c, func(name string) string { return looseField(&inner, given, name) },
		func(param, message string) *border.Error { return border.InvalidField("filter."+param, message) })
	if err != nil {
		return border.Answer{}, err
	}
	filter.state, filter.assignee, filter.freeFor = "", "", who
	for _, id := range skipped { // An id that names no case skips nothing.
		if at, known := idsOf(c).ParseTxn(id); known {
			filter.skipped = append(filter.skipped, at)
		}
	}
	return answerNext(c, filter, who)
}

// looseField reads a filter member as text, whatever scalar it is.
func looseField(f *strictjson.Fields, given bool, name string) string {
	if !given {
		return ""
	}
	v := f.Get(name)
	if v == nil {
		return ""
	}
	if text := v.GetStringBytes(); text != nil {
		return string(text)
	}
	return string(strictjson.AppendValue(nil, v))
}

func answerNext(c *border.Request, filter *queueFilter, who string) (border.Answer, error) {
	record := func() (any, error) {
		view, err := c.Judge.View()
		if err != nil {
			return nil, err
		}
		filter.proposed = ownProposals(c, view)
		items, err := walkQueue(c, view, filter, queueOrder{by: nextSort(filter.sort), keep: queueNextMax})
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, border.ChangeableRefusal{Cause: errNothingOpen} // This is the answer unless an earlier call with this key leased a review.
		}
		var leaves []uint64
		for i := range items {
			leaves = append(leaves, items[i].row.Leaf)
		}
		return desk.NextClaim(&c.Judge, who, leaves), nil
	}
	answer, err := c.AnswerChangeable(border.Proposal{Kind: wire.KindQueue, Record: record, Refused: nothingOpen}, nil)
	if err == errNothingOpen {
		return border.NoContent(), nil
	}
	return answer, err
}

func nextSort(by string) string {
	if by == "" {
		return "priority"
	}
	return by
}

// errNothingOpen means that there is nothing to lease: the caller gets 204, no error.
var errNothingOpen = border.NewError(http.StatusNoContent, "", "nothing open")

func nothingOpen(r wire.Result) error {
	if r.Refusal == wire.RefusedNotOpen || r.Refusal == wire.RefusedClaimed {
		return errNothingOpen
	}
	return nil
}

// queueVerb claims, releases, assigns or comments on one review, by op.
func queueVerb(c *border.Request, op uint8) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	step, err := desk.ReadQueueStep(&c.Judge, &f, op)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindQueue, Record: func() (any, error) { return step.Record(&c.Judge, &l) }, Refused: queueRefused,
	}, nil)
}

func queueRefused(r wire.Result) error {
	if r.Refusal == wire.RefusedFull {
		return border.Conflict("limit_reached", "a key writes at most "+strconv.Itoa(engine.CommentsOfKeyMax)+" comments about a review, and one where it has "+strconv.Itoa(engine.CommentsKept), nil)
	}
	return nil
}

// queueMembers are the members shown of a queue event, in addition to those of the case.
var queueMembers = leaf.Select([]string{leaf.KindClaimed}, "leaseExpiresAt", "comment")

// renderQueueEvent is the answer of the queue's verbs: the event, and the record that it is
// about.
func renderQueueEvent(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	l.CopyTo(m, "txnId", "eventId", "time")
	m.Text("event", l.Kind())
	if l.Has("assignee") {
		m.TextOrNull("assignee", l.Text("assignee"))
	}
	l.CopyTo(m, queueMembers...)
	l.CopyAs(m, "by", "actor")
	record, err := reviewed(c, l)
	if err != nil {
		return err
	}
	var item strictjson.Members
	record.CopyTo(&item, "txnId", "verdict", "rule", "reason", "agentId", "agentName", "operatorLegalName", "screenedAt", "_request")
	m.Object("item", item)
	return nil
}

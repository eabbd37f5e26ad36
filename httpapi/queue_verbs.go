package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// nextReview is POST /v1/queue/next: the log leases the first of the offered
// reviews that nobody else holds by then. An officer passes over those that she skips.
func nextReview(c *call) (Answer, error) {
	f := c.fields()
	who := c.reviewer(&f, "assignee", "reviewedBy", "by")
	inner, given := f.Nested("filter")
	skipped, _ := f.Texts("skip", bulkMax, engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	filter, err := readQueueFilter(c, func(name string) string { return looseField(&inner, given, name) },
		func(param, message string) *Error { return invalidField("filter."+param, message) })
	if err != nil {
		return Answer{}, err
	}
	filter.state, filter.assignee, filter.freeFor = "", "", who
	for _, id := range skipped { // What names no case skips none.
		if at, known := c.judge.Terms.IDs.ParseTxn(id); known {
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

func answerNext(c *call, filter *queueFilter, who string) (Answer, error) {
	var fragment strictjson.Members
	fragment.Text("by", who)
	c.judge.Actor(&fragment)
	record := func() (any, error) {
		view, err := c.judge.View()
		if err != nil {
			return nil, err
		}
		items, err := walkQueue(c, view, filter, queueOrder{by: nextSort(filter.sort), keep: queueNextMax})
		if err != nil {
			return nil, err
		}
		record := &wire.Queue{Common: c.judge.Common(fragment), Op: wire.QueueClaim, Who: who}
		for i := range items {
			record.Leaves = append(record.Leaves, items[i].row.Leaf)
		}
		if len(record.Leaves) == 0 {
			return nil, judged{errNothingOpen} // Unless a call with this key leased one before.
		}
		return record, nil
	}
	answer, err := c.submit(proposal{kind: wire.KindQueue, record: record, refused: nothingOpen}, nil)
	if err == errNothingOpen {
		return noContent(), nil
	}
	return answer, err
}

func nextSort(by string) string {
	if by == "" {
		return "priority"
	}
	return by
}

// errNothingOpen says that there is nothing to lease: 204, no error to a caller.
var errNothingOpen = failure(http.StatusNoContent, "", "nothing open")

func nothingOpen(r wire.Result) error {
	if r.Refusal == wire.RefusedNotOpen || r.Refusal == wire.RefusedClaimed {
		return errNothingOpen
	}
	return nil
}

// reviewer is who acts: as the body says under one of the names, else the key's
// name. All of the names are read: what is wrong with one is said whichever counts.
func (c *call) reviewer(f *strictjson.Fields, names ...string) string {
	said := ""
	for _, name := range names {
		if text := strings.TrimSpace(f.Text(name, engine.FieldMax)); said == "" {
			said = text
		}
	}
	if said != "" {
		return said
	}
	if c.key.Name != "" {
		return cutText(c.key.Name)
	}
	return c.key.ID
}

// queueVerb is claim, release, assign and comment of one review.
func queueVerb(c *call, op uint8) (Answer, error) {
	l, err := c.screenRecord()
	if err != nil {
		return Answer{}, err
	}
	f := c.fields()
	var fragment strictjson.Members
	record := &wire.Queue{Op: op, Leaves: []uint64{l.Index}, Who: c.reviewer(&f, "assignee", "reviewedBy", "by")}
	switch op {
	case wire.QueueAssign:
		record.Who, record.Force = f.RequiredText("assignee", engine.FieldMax), true
	case wire.QueueComment:
		fragment.Text("comment", f.RequiredText("comment", engine.TextMax))
	case wire.QueueRelease:
		record.Force, _ = f.Flag("force")
	}
	fragment.Text("by", c.reviewer(&f, "by", "reviewedBy"))
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	c.judge.Actor(&fragment)
	record.Common = c.judge.Common(fragment)
	return c.answer(proposal{kind: wire.KindQueue, record: func() (any, error) { return record, nil }, refused: queueRefused}, nil)
}

func queueRefused(r wire.Result) error {
	if r.Refusal == wire.RefusedFull {
		return conflict("limit_reached", "a review keeps at most "+strconv.Itoa(engine.CommentsKept)+" comments", nil)
	}
	return nil
}

// renderQueueEvent is the answer of the queue's verbs: the event, and the record
// it speaks of.
func renderQueueEvent(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.txnID = l.Text("txnId")
	l.CopyTo(m, "txnId", "eventId", "time")
	m.Text("event", l.Kind())
	if l.Has("assignee") {
		m.TextOrNull("assignee", l.Text("assignee"))
	}
	l.CopyTo(m, "leaseUntil", "comment", "by")
	data, err := c.api.deps.Records.Leaf(c.ctx, l.Number("reviewedLeaf"))
	if err != nil {
		return edge.LeafError(err)
	}
	reviewed, err := c.judge.OpenLeaf(l.Number("reviewedLeaf"), data)
	if err != nil {
		return err
	}
	var item strictjson.Members
	reviewed.CopyTo(&item, "txnId", "verdict", "rule", "reason", "agentId", "agentName", "operatorLegalName", "screenedAt", "_request")
	m.Object("item", item)
	return nil
}

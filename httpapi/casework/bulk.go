package casework

import (
	"errors"
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

// A bulk call applies one decision to up to a hundred cases or alerts. Each of them is judged,
// refused and answered by itself, under the four eyes and guards of a single call; they share the
// body of the call and one proposal to the log. With an Idempotency-Key each has its own key,
// made of the call's key and its id: a retry does not repeat the items that were done, and does
// the others.

const BulkMax = 100

// bulkItem is one case or alert of a bulk call.
type bulkItem struct {
	id     string
	leaf   edge.Leaf // The leaf that is decided on, if the item is a record.
	result wire.Result
	err    error
}

// bulk is a bulk call.
type bulk struct {
	call    *border.Request
	kind    wire.Kind
	items   []bulkItem
	record  func(*bulkItem) (any, error)
	refused func(*bulkItem, wire.Result) error // Returns the error of an item that Apply refused; nil: the kind has no error of its own for it.
}

// readIDs reads the ids of a bulk call. No id may occur twice.
func readIDs(f *strictjson.Fields, name string) []bulkItem {
	ids, given := f.Texts(name, BulkMax, engine.FieldMax)
	if !given {
		f.Missing(name)
		return nil
	}
	if len(ids) == 0 {
		f.Invalid(name, "must have 1 to "+strconv.Itoa(BulkMax)+" items")
	}
	seen := make(map[string]bool, len(ids))
	items := make([]bulkItem, 0, len(ids))
	for i, id := range ids {
		if seen[id] {
			f.Invalid(name+"["+strconv.Itoa(i)+"]", "stands twice")
		}
		seen[id] = true
		items = append(items, bulkItem{id: id})
	}
	return items
}

// run puts the records of all items that have no error yet into the log together. It
// charges the call for each.
func (b *bulk) run() error {
	c := b.call
	border.ChargeCalls(c, len(b.items)-1)
	whole := c.Asked.Idem
	defer func() { c.Asked.Idem = whole }()
	var waiting []int
	for i := range b.items {
		if b.items[i].err == nil {
			waiting = append(waiting, i)
		}
	}
	for try := 0; len(waiting) > 0; try++ {
		var bodies [][]byte
		var ready []int
		for _, i := range waiting {
			item := &b.items[i]
			c.Asked.Idem = desk.ItemIdempotency(whole, item.id)
			record, err := c.JudgeFresh(func() (any, error) { return b.record(item) })
			if item.err = err; err == nil {
				bodies, ready = append(bodies, wire.Encode(record)), append(ready, i)
			}
		}
		var err error
		if waiting, err = b.propose(ready, bodies, try); err != nil {
			return err
		}
	}
	return nil
}

// propose gives every ready record its outcome. It returns the items whose API key has
// changed meanwhile: they are made again.
func (b *bulk) propose(ready []int, bodies [][]byte, try int) (moved []int, err error) {
	c := b.call
	if len(ready) == 0 {
		return nil, nil
	}
	results, errs := c.ProposeMany(b.kind, bodies)
	for at, i := range ready {
		item := &b.items[i]
		item.result = results[at]
		c.Judge.Index = max(c.Judge.Index, item.result.Index)
		if errs[at] != nil {
			item.err = border.ProposalError(errs[at])
			continue
		}
		switch item.result.Code {
		case wire.Applied, wire.Replayed:
			c.Happened = true
		case wire.KeyMoved:
			moved = append(moved, i)
		case wire.Conflict:
			item.err = border.KeyConflict()
		case wire.Refused:
			if item.err = c.Unsigned(item.result); item.err != nil {
				continue
			}
			if item.err = b.refused(item, item.result); item.err == nil {
				item.err = border.RefusalOf(c.Key, item.result)
			}
		default:
			item.err = errors.New("BUG: result code of a bulk call")
		}
	}
	if len(moved) > 0 {
		if err := c.Judge.Again(try, c.Judge.Index); err != nil {
			return nil, err
		}
		return moved, c.AuthenticateAgain()
	}
	return nil, c.AwaitIndex(c.Judge.Index)
}

// answer writes the outcome of every item, in order.
func (b *bulk) answer(name string, show func(m *strictjson.Members, l *edge.Leaf)) (border.Answer, error) {
	var m strictjson.Members
	m.List("results", b.results(name, show))
	return b.call.Reply(http.StatusOK, m), nil
}

// results returns the outcome of every item, in order. name is the member for their ids; show
// writes what was done.
func (b *bulk) results(name string, show func(m *strictjson.Members, l *edge.Leaf)) []strictjson.Members {
	c := b.call
	results := make([]strictjson.Members, len(b.items))
	for i := range b.items {
		item, m := &b.items[i], &results[i]
		happened := item.err == nil
		var l edge.Leaf
		c.Replayed = false
		if happened {
			l, item.err = c.OpenResult(item.result)
		}
		if item.err != nil {
			e := c.PublicError(item.err, happened)
			m.Int("status", int64(e.Status))
			if c.TxnID = item.id; name != "txnId" {
				c.TxnID = ""
				m.Text(name, item.id)
			}
			m.Join(c.WriteError(e))
			m.Optional("outcome", e.Outcome)
			continue
		}
		m.Int("status", http.StatusOK)
		m.Text(name, item.id)
		show(m, &l)
		if c.Replayed {
			m.Bool("replayed", true)
		}
	}
	c.TxnID, c.Replayed = "", false
	return results
}

// bulkReview is POST /v1/queue/bulk {"txnIds","disposition","reviewedBy","notes"}.
func bulkReview(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	items := readIDs(&f, "txnIds")
	decision, err := desk.ReadReview(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	b := reviewBatch(c, decision, items)
	if err := b.run(); err != nil {
		return border.Answer{}, err
	}
	return b.answer("txnId", showBulkReview)
}

// reviewBatch opens the records of reviews that one decision is about, and checks each.
func reviewBatch(c *border.Request, decision desk.Review, items []bulkItem) *bulk {
	together := make([]string, len(items))
	for i := range items {
		together[i] = items[i].id
	}
	decision.Together(together)
	b := &bulk{
		call: c, kind: wire.KindDisposition, items: items,
		record:  func(item *bulkItem) (any, error) { return decision.Record(&c.Judge, &item.leaf) },
		refused: func(item *bulkItem, r wire.Result) error { return dispositionRefused(c, &item.leaf, r) },
	}
	for i := range items {
		item := &items[i]
		if item.leaf, item.err = c.Judge.Record(item.id); item.err == nil {
			item.err = desk.CheckReviewable(&item.leaf)
		}
		if item.err != nil {
			item.err = border.ProposalError(item.err)
		}
	}
	return b
}

// showBulkReview writes a disposition, or what waits for a second person.
func showBulkReview(m *strictjson.Members, l *edge.Leaf) {
	if l.Kind() != leaf.KindDispositioned {
		m.Null("disposition")
		m.Object("proposed", border.ProposalMembers(l))
		return
	}
	l.CopyTo(m, bulkMembers...)
}

// bulkMembers are the members shown of each disposition in a bulk answer.
var bulkMembers = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "overLimitApproved", "notHeld", "recheck")

// bulkAcknowledge is POST /v1/alerts/acknowledge {"alertIds","by","reason"}.
func bulkAcknowledge(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	items := readIDs(&f, "alertIds")
	acknowledgement, err := desk.ReadAcknowledgement(&f)
	if err != nil {
		return border.Answer{}, err
	}
	b := bulk{
		call: c, kind: wire.KindAlert, items: items,
		record: func(item *bulkItem) (any, error) {
			return acknowledgement.Record(&c.Judge, item.leaf.Index)
		},
		refused: func(_ *bulkItem, r wire.Result) error { return acknowledgeRefused(c, r) },
	}
	for i := range items {
		at, ok := idsOf(c).ParseAlert(items[i].id)
		if items[i].leaf.Index = at; !ok {
			items[i].err = noAlert()
		}
	}
	if err := b.run(); err != nil {
		return border.Answer{}, err
	}
	return b.answer("alertId", func(m *strictjson.Members, l *edge.Leaf) { writeAcknowledged(m, l) })
}

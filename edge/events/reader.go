package events

import (
	"encoding/base64"
	"fmt"

	"railguard/audit"
	"railguard/audit/merkle"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// Retention is how far back events can be asked for.
const Retention = 30 * engine.DayLength

// Event is one thing that happened.
type Event struct {
	ID   string // evt_<seq>_<n>
	Seq  uint64 // Index of its leaf.
	N    int    // Of its leaf's events.
	Type string
	At   engine.Time        // When it happened.
	Body strictjson.Members // The envelope. Good until the next event.

	Leaf    *edge.Leaf // What it comes of. Good until the next event.
	Webhook string     // Id of the one that an event is about.
	About   uint64     // Of a dead letter: the leaf whose event it was.
}

// Reader walks events for one caller. It is not safe for concurrent use.
type Reader struct {
	judge     *edge.Judge
	caller    *edge.Caller
	published edge.Published
	store     *audit.Store
	wanted    Selection
	walled    bool // What tells of suspicion is told to nobody, whoever asks.

	screen leaf.Screen
	body   strictjson.Members
	data   strictjson.Members
}

// NewReader returns a reader of the types wanted, for the caller that the judge has
// begun with.
func NewReader(judge *edge.Judge, caller *edge.Caller, published edge.Published, store *audit.Store, wanted Selection) *Reader {
	return &Reader{judge: judge, caller: caller, published: published, store: store, wanted: wanted}
}

// For makes the reader go on with the rights that the caller has now.
func (r *Reader) For(caller *edge.Caller) { r.caller = caller }

// Walled has the reader tell nothing of suspicion. A caller may see what the receiver of its
// webhook must not.
func (r *Reader) Walled(on bool) { r.walled = on }

// Oldest is the position of the first leaf that events are told of now.
func (r *Reader) Oldest() Position {
	return Position{Leaf: r.store.FindTime(int64(r.published.LogTime() - Retention))}
}

// End is the position behind the last leaf that this node has.
func (r *Reader) End() Position { return Position{Leaf: r.store.Size()} }

// Page gives the events behind a position to visit, at most limit of them out of at
// most examine leaves, and returns where to go on and how many leaves it looked at.
// An error leaves the position behind what was given: a hole in history is never
// passed over. visit returning false ends the page behind that event.
func (r *Reader) Page(at Position, limit, examine int, visit func(*Event) bool) (Position, int, error) {
	var failed error
	given, looked, before, stopped := 0, 0, at, false
	scanned, err := r.store.Scan(audit.Query{From: at.Leaf, To: r.store.Size(), Examine: examine}, func(index uint64, stored audit.Leaf) bool {
		if index != at.Leaf && at.Skip > 0 {
			at.Skip = 0
		}
		looked++
		at.Leaf = index
		more := true
		if !r.passesOver(stored.Data) {
			failed = r.tellLeaf(&at, index, stored, func(e *Event) bool {
				given++
				more = visit(e) && given < limit
				return more
			})
		}
		if failed != nil || !more {
			stopped = true
			return false
		}
		at = Position{Leaf: index + 1}
		return true
	})
	switch {
	case failed != nil:
		return at, looked, failed
	case err != nil && at == before:
		return at, looked, edge.LeafError(err)
	}
	if !stopped && err == nil && scanned.Next > at.Leaf { // Leaves that were passed over without being looked at.
		at = Position{Leaf: scanned.Next}
	}
	return at, looked, nil
}

// Walk gives the leaves of a query to visit as events, one for each leaf: the first of
// its types that the reader may know of and wants. An error says that the page ends there.
func (r *Reader) Walk(q audit.Query, visit func(*Event) bool) (audit.ScanResult, error) {
	var failed error
	scanned, err := r.store.Scan(q, func(index uint64, stored audit.Leaf) bool {
		more := true
		if !r.passesOver(stored.Data) {
			failed = r.tellLeaf(&Position{Leaf: index}, index, stored, func(e *Event) bool {
				more = visit(e)
				return false
			})
		}
		return failed == nil && more
	})
	if failed == nil && err != nil {
		failed = edge.LeafError(err)
	}
	return scanned, failed
}

// passesOver reports whether a leaf has surely nothing for this reader: most leaves
// are payments that went through, and profiles, and need not be taken apart for it.
func (r *Reader) passesOver(data []byte) bool {
	switch leaf.FormOf(data) {
	case leaf.FormProfile:
		return true
	case leaf.FormScreen:
		if leaf.DecodeScreen(data, &r.screen) != nil {
			return false // Whoever opens it says what is wrong with it.
		}
		return r.screen.Verdict == engine.Proceed && !r.wanted["screen.proceed"] &&
			!(r.screen.InFleet && (r.wanted["fleet.limit_80"] || r.wanted["fleet.limit_100"]))
	}
	return false
}

// tellLeaf gives the events of one leaf to visit, and moves at behind each.
func (r *Reader) tellLeaf(at *Position, index uint64, stored audit.Leaf, visit func(*Event) bool) error {
	l, err := r.judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
	if err != nil {
		return err
	}
	defer r.judge.DropLeaf()
	o := originOf(&l)
	if o == nil {
		return nil
	}
	var about *subject
	for n := at.Skip; n < len(o.Events); n++ {
		name := o.Events[n]
		if !r.wanted[name] || !appliesTo(&l, name) || behindWall(&l, name) && (r.walled || !r.caller.SeesAll()) {
			continue
		}
		if about == nil {
			found, err := r.findSubject(o, &l, stored.Keys)
			if err != nil {
				return fmt.Errorf("events of leaf %d: %w", index, err)
			}
			about = &found
		}
		if !about.admitted || n > 0 && o.kind == leaf.KindScreen && name[0] == 'f' && !r.caller.May(readsParties) {
			continue
		}
		e := Event{ID: ID(index, n), Seq: index, N: n, Type: name, At: engine.Time(stored.Time), Leaf: &l}
		if o.Audience == leaf.OfInstitution {
			e.Webhook, e.About = l.Text("webhookId"), l.Number("seq")
		}
		r.writeEnvelope(&e, o, &l, about, engine.Time(stored.Time))
		at.Skip = n + 1
		if !visit(&e) {
			return nil
		}
	}
	return nil
}

// writeEnvelope renders the envelope of an event.
func (r *Reader) writeEnvelope(e *Event, o *origin, l *edge.Leaf, about *subject, at engine.Time) {
	m := r.body[:0]
	m.Text("id", e.ID)
	m.Uint("seq", e.Seq)
	m.Text("type", e.Type)
	m.Time("time", at)
	m.TextOrNull("tenant", about.operator)
	data := r.data[:0]
	l.CopyTo(&data, o.members...)
	if o.Audience == leaf.OfPayment && l.Record == nil {
		data.Optional("agentId", about.agent)
		data.Optional("userId", about.user)
		data.Optional("operatorLegalName", about.operator)
	}
	if l.Record != nil {
		writeRequest(&data, l)
	}
	m.Object("data", data)
	sum := merkle.Leaf(l.Data)
	m.Text("leafHash", base64.StdEncoding.EncodeToString(sum[:]))
	r.body, r.data, e.Body = m, data, m
}

// writeRequest adds what was asked for, without who the counterparty is: events are
// read far from here, and whoever may know it finds it in the record.
func writeRequest(m *strictjson.Members, l *edge.Leaf) {
	for _, name := range []string{"amount", "chain", "rail", "protocol", "paymentRef"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
}

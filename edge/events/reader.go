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

// Retention is how far back a reader can go.
const Retention = 30 * engine.DayLength

// Event is one thing that happened.
type Event struct {
	ID   string // evt_<seq>_<n>
	Seq  uint64 // Index of the event's leaf.
	N    int    // Number of the event among those of its leaf.
	Type string
	At   engine.Time        // Log time of the event.
	Body strictjson.Members // The envelope. Valid until the next event.

	Leaf    *edge.Leaf // The leaf of the event. Valid until the next event.
	Webhook string     // Id of the webhook that the event is about.
	About   uint64     // For a dead letter: the leaf of the undelivered event.
}

// Reader walks events for one caller. It is not safe for concurrent use.
type Reader struct {
	judge     *edge.Judge
	caller    *edge.Caller
	published edge.Published
	store     *audit.Store
	wanted    Selection
	walled    bool // Events that reveal a suspicion are skipped, whatever the caller's rights.

	screen leaf.Screen
	body   strictjson.Members
	data   strictjson.Members
}

// NewReader returns a reader of the wanted types. The judge must have begun with the caller.
func NewReader(judge *edge.Judge, caller *edge.Caller, published edge.Published, store *audit.Store, wanted Selection) *Reader {
	return &Reader{judge: judge, caller: caller, published: published, store: store, wanted: wanted}
}

// For gives the reader the rights that the caller has now.
func (r *Reader) For(caller *edge.Caller) { r.caller = caller }

// Walled makes the reader skip events that reveal a suspicion. A caller may see such events,
// but the receiver of its webhook must not.
func (r *Reader) Walled(on bool) { r.walled = on }

// Oldest returns the position of the first leaf within Retention.
func (r *Reader) Oldest() Position {
	return Position{Leaf: r.store.FindTime(int64(r.published.LogTime() - Retention))}
}

// End returns the position behind the last leaf that this node has.
func (r *Reader) End() Position { return Position{Leaf: r.store.Size()} }

// Page calls visit with the events behind a position: at most limit of them, out of at most
// examine leaves. It returns where to continue and how many leaves it looked at. On an error
// the position is behind the events already visited, so that no hole in history is skipped. If
// visit returns false, the page ends behind that event.
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
	if !stopped && err == nil && scanned.Next > at.Leaf { // Skip the leaves that the scan passed over without calling us.
		at = Position{Leaf: scanned.Next}
	}
	return at, looked, nil
}

// Walk calls visit with one event for each leaf of a query: the first one that the reader may
// see and wants. On an error the page ends there.
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

// passesOver reports whether a leaf surely has no event for this reader. Most leaves are
// profiles or payments that proceeded, and need not be opened to know that.
func (r *Reader) passesOver(data []byte) bool {
	switch leaf.FormOf(data) {
	case leaf.FormProfile:
		return true
	case leaf.FormScreen:
		if leaf.DecodeScreen(data, &r.screen) != nil {
			return false // Opening the leaf will report the error.
		}
		return r.screen.Verdict == engine.Proceed && !r.wanted["screen.proceed"] &&
			!(r.screen.InFleet && (r.wanted["fleet.limit_80"] || r.wanted["fleet.limit_100"]))
	}
	return false
}

// tellLeaf calls visit with the events of one leaf, and moves at behind each.
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
		e := Event{ID: r.judge.Terms.IDs.EventID(index, n), Seq: index, N: n, Type: name, At: engine.Time(stored.Time), Leaf: &l}
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
	for _, name := range o.members {
		if name == "reason" && l.Record != nil {
			data.Text(name, l.Record.Reason()) // Receivers outside the institution read it, so it names no rules of the policy.
			continue
		}
		l.CopyTo(&data, name)
	}
	if l.Text("disposition") == leaf.WordApproved && l.Has("payBy") {
		writeConfirmable(&data, l)
	}
	if o.Audience == leaf.OfPayment && l.Record == nil {
		data.Optional("agentId", about.agent)
		data.Optional("userId", about.user)
		data.Optional("operatorLegalName", about.name)
		data.Optional("operatorId", about.operator)
	}
	if l.Record != nil {
		writeRequest(&data, l)
	}
	m.Object("data", data)
	sum := merkle.Leaf(l.Data)
	m.Text("leafHash", base64.StdEncoding.EncodeToString(sum[:]))
	r.body, r.data, e.Body = m, data, m
}

// writeConfirmable says whether an approved payment could be confirmed when it was approved: not if it
// would have been a BLOCK then.
func writeConfirmable(data *strictjson.Members, l *edge.Leaf) {
	data.Bool("confirmable", !l.Has("recheck"))
	if l.Has("recheck") {
		data.Text("confirmableReason", edge.WhyBlocked(l.Text("recheck", "rule")))
	}
}

// writeRequest adds the request without the counterparty's identity. Events are read outside
// the institution; a caller who may see the counterparty finds it in the record.
func writeRequest(m *strictjson.Members, l *edge.Leaf) {
	for _, name := range []string{"amount", "chain", "rail", "protocol", "paymentRef"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
}

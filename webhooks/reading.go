package webhooks

import (
	"context"
	"errors"
	"fmt"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// History is what a Reader needs from its node.
type History interface {
	edge.Published
	edge.Records
	Audit() *audit.Store
}

// Node is what a Dispatcher needs from its node. A *cluster.Node is one.
type Node interface {
	History
	Role() string // "leader" on the one node that sends.
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)
}

const (
	readersMax = 2    // How many webhooks may read at the same time.
	leavesStep = 4096 // How many leaves one reading examines.
	holesMax   = 1024 // How many holes in the history are searched.
)

// Reader reads events with the rights of a webhook. It is safe for concurrent use.
type Reader struct {
	node   History
	judges *edge.Judges
	free   chan *edge.Judge
}

// NewReader returns a reader; judges are those of its node.
func NewReader(node History, judges *edge.Judges) *Reader {
	r := &Reader{node: node, judges: judges, free: make(chan *edge.Judge, readersMax)}
	for range readersMax {
		r.free <- new(edge.Judge)
	}
	return r
}

// Owner returns the caller whose rights a webhook has: those of its API key, within the
// webhook's owner. It returns false if the key is revoked or expired: the webhook then
// gets nothing.
func Owner(settings *fsm.Settings, now engine.Time, hook *wire.Webhook) (*edge.Caller, bool) {
	if hook.Key == 0 {
		caller := edge.NewCaller(&wire.APIKey{ID: "webhook", Name: "webhook", Roles: wire.RoleAdmin | wire.RolesOfOutsiders, Owner: hook.Owner}, 0)
		caller.Key = wire.KeyRef{}
		return &caller, true
	}
	if uint64(hook.Key) > uint64(len(settings.Keys)) {
		return nil, false
	}
	key := settings.Keys[hook.Key-1]
	if key.RevokedAt != 0 || key.ExpiresAt != 0 && now >= key.ExpiresAt {
		return nil, false
	}
	bounded := *key
	bounded.Owner = hook.Owner
	caller := edge.NewCaller(&bounded, hook.Key)
	return &caller, true
}

// Wanted returns the types of events that a webhook is sent. A webhook that names no types
// gets all but the two that must be named: screen.proceed, which comes with every payment, and
// webhook.dead_letter, which comes with every event that another webhook gave up.
func Wanted(hook *wire.Webhook) events.Selection {
	if named, _ := events.ParseSelection(hook.Types); len(hook.Types) > 0 && named != nil {
		return named
	}
	all := make(events.Selection, len(events.Everything))
	for name, wanted := range events.Everything {
		all[name] = wanted && name != leaf.KindDeadLetter
	}
	return all
}

// Next finds the first event for the webhook at or after a position, and returns the position
// to continue from. The event is nil if the examined leaves have none. On an error, the leaf
// at the returned position cannot be read now.
func (r *Reader) Next(ctx context.Context, hook *wire.Webhook, at events.Position) (*events.Event, events.Position, error) {
	return r.readEvent(ctx, hook, at, leavesStep)
}

// At returns one event of a leaf. It returns nil if the webhook may not get the event, or may not
// get it any more.
func (r *Reader) At(ctx context.Context, hook *wire.Webhook, seq uint64, n int) (*events.Event, error) {
	if seq < r.Oldest() {
		return nil, nil
	}
	found, _, err := r.readEvent(ctx, hook, events.Position{Leaf: seq, Skip: n}, 1)
	if err != nil || found == nil || found.Seq != seq || found.N != n {
		return nil, err
	}
	return found, nil
}

// Oldest returns the first leaf whose events are sent.
func (r *Reader) Oldest() uint64 {
	return r.node.Audit().FindTime(int64(r.node.LogTime() - events.Retention))
}

func (r *Reader) readEvent(ctx context.Context, hook *wire.Webhook, at events.Position, examine int) (found *events.Event, next events.Position, err error) {
	var judge *edge.Judge
	select {
	case judge = <-r.free:
	case <-ctx.Done():
		return nil, at, ctx.Err()
	}
	defer func() {
		judge.Reset()
		r.free <- judge
	}()
	owner, alive := Owner(r.node.Settings(), r.node.LogTime(), hook)
	if !alive {
		return nil, at, nil
	}
	judge.Begin(ctx, r.judges, &edge.Call{Caller: owner})
	reader := events.NewReader(judge, owner, r.node, r.node.Audit(), Wanted(hook))
	reader.Walled(!hook.SARAllowed || hook.Owner != "")
	next, _, err = reader.Page(at, 1, examine, func(e *events.Event) bool {
		if r.isAboutItself(judge, hook, e) {
			return false
		}
		event := *e
		event.Body = append([]byte(nil), e.Body...)
		found = &event
		return false
	})
	if err != nil {
		return nil, next, fmt.Errorf("webhook %d: %w", hook.ID, err)
	}
	return found, next, nil
}

// readableFrom returns the first leaf after an unreadable one and after all that are missing
// or damaged with it.
func (r *Reader) readableFrom(leaf uint64) uint64 {
	store := r.node.Audit()
	_, err := store.Record(leaf)
	var damage *audit.DamageError
	switch {
	case errors.As(err, &damage):
		return max(damage.Last, leaf) + 1
	case errors.Is(err, audit.ErrMissing):
		for _, hole := range store.Missing(holesMax) {
			if hole.First <= leaf && leaf < hole.End {
				return hole.End
			}
		}
	}
	return leaf + 1
}

// isAboutItself reports events that must not be sent: a webhook's events about itself, and
// dead letters of dead letters. Without this, unreachable receivers would cause an endless
// chain of events.
func (r *Reader) isAboutItself(judge *edge.Judge, hook *wire.Webhook, e *events.Event) bool {
	if e.Webhook == fsm.WebhookID(hook.ID) {
		return true
	}
	if e.Type != leaf.KindDeadLetter {
		return false
	}
	about, err := judge.LoadLeaf(e.About)
	if err != nil {
		return false
	}
	defer judge.DropLeaf()
	return about.Kind() == leaf.KindDeadLetter
}

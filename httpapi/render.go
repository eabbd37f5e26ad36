package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Every answer to a write is rendered from the leaf it wrote, and from nothing
// else that can change: so a first answer, an idempotent replay on another node
// and a later GET cannot differ.

// leaf is one audit record, parsed.
type leaf struct {
	index uint64
	data  []byte
	value *fastjson.Value
}

// renderer writes the members of the answer that a leaf of its kind stands for.
// It may set headers and c.status (200 by default).
type renderer func(c *call, l *leaf, m *strictjson.Members) error

// allRenderers is the one registry of leaf kinds that answer a call.
func (a *API) allRenderers() map[string]renderer {
	all := map[string]renderer{
		"screen":               renderScreen,
		"review.dispositioned": renderDisposition,
		"review.claimed":       renderQueueEvent,
		"review.released":      renderQueueEvent,
		"review.assigned":      renderQueueEvent,
		"review.commented":     renderQueueEvent,
	}
	for kind, render := range a.registryRenderers() {
		all[kind] = render
	}
	return all
}

// openLeaf parses a leaf. The parser is held by the call until its end.
func (c *call) openLeaf(index uint64, data []byte) (leaf, error) {
	parser := leafParsers.Get()
	c.parsers = append(c.parsers, parser)
	value, err := parser.ParseBytes(data)
	if err != nil {
		return leaf{}, fmt.Errorf("leaf %d: %w", index, err)
	}
	return leaf{index: index, data: data, value: value}, nil
}

// dropLeaf gives back the parser of the leaf that was opened last: walks over
// many leaves must not hold a parser for each.
func (c *call) dropLeaf() {
	last := len(c.parsers) - 1
	leafParsers.Put(c.parsers[last])
	c.parsers = c.parsers[:last]
}

// loadLeaf reads a leaf by its index. A leaf that this node does not have yet
// is a 404 only after the leader's commit index was applied here (house.md 10).
func (c *call) loadLeaf(index uint64) (leaf, error) {
	data, err := c.api.deps.Records.Leaf(c.ctx, index)
	if errors.Is(err, audit.ErrNotYet) {
		if err := c.confirm(); err != nil {
			return leaf{}, err
		}
		data, err = c.api.deps.Records.Leaf(c.ctx, index)
	}
	if err != nil {
		return leaf{}, leafError(err)
	}
	return c.openLeaf(index, data)
}

// leafError tells an unknown or expired leaf from one that cannot be read now.
func leafError(err error) error {
	switch {
	case errors.Is(err, audit.ErrNotYet), errors.Is(err, audit.ErrPruned):
		return notFound("no such record, or past its retention")
	case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrClosed):
		return unavailable("overloaded", "this node is catching up; retry")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, wire.ErrNoLeader), errors.Is(err, wire.ErrNoQuorum):
		return readError(err)
	}
	return err
}

// renderLeaf answers with a leaf through the renderer of its kind.
func (c *call) renderLeaf(l *leaf) error {
	render := c.api.renderers[l.kind()]
	if render == nil {
		return fmt.Errorf("BUG: no renderer for leaf kind %q", l.kind())
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

func (l *leaf) kind() string { return l.text("kind") }

// text returns a string member, "" when it is absent.
func (l *leaf) text(path ...string) string { return string(l.value.GetStringBytes(path...)) }

// raw returns a member's JSON, nil when it is absent.
func (l *leaf) raw(path ...string) []byte {
	v := l.value.Get(path...)
	if v == nil {
		return nil
	}
	return strictjson.AppendValue(nil, v)
}

// number returns a whole, non-negative member, 0 when it is absent.
func (l *leaf) number(path ...string) uint64 { return l.value.GetUint64(path...) }

// has reports whether the member is there.
func (l *leaf) has(path ...string) bool { return l.value.Exists(path...) }

// flag returns a boolean member, false when it is absent.
func (l *leaf) flag(path ...string) bool { return l.value.GetBool(path...) }

// instant returns a time member, 0 when it is absent. Leaves hold milliseconds.
func (l *leaf) instant(path ...string) engine.Time {
	at, _ := strictjson.ParseTime(l.text(path...))
	return at
}

// copyTo copies members of the leaf into an answer, those that are there.
func (l *leaf) copyTo(m *strictjson.Members, names ...string) {
	for _, name := range names {
		if v := l.value.Get(name); v != nil {
			m.Name(name)
			*m = strictjson.AppendValue(*m, v)
		}
	}
}

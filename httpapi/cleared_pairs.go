package httpapi

import (
	"net/http"
	"strconv"

	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// Cleared pairs (decisions 5.14): a name that resembles a listed one and was
// found to be someone else. They quieten R21, never a BLOCK, and are void when
// they expire or the listed entry changes.

// clearPair is POST /v1/cleared {"name","uid","reason","expiresAt"?,"clearedBy"?}.
func clearPair(c *call) error {
	f := c.fields()
	name := f.requiredName("name")
	uid, given := f.uid("uid")
	if f.get("uid") == nil {
		f.missing("uid")
	}
	reason, by := f.requiredText("reason", engine.TextMax), f.text("clearedBy", engine.FieldMax)
	expires, _ := f.instant("expiresAt")
	if expires != 0 && expires <= c.api.deps.Published.LogTime() {
		f.invalid("expiresAt", "must be in the future")
	}
	pair := wire.ClearedPair{Name: ofac.NormaliseName(name), UID: uint32(uid), ExpiresAt: expires, Reason: reason, By: by}
	if name != "" && pair.Name == "" {
		f.invalid("name", "must have letters or digits")
	}
	if err := f.err(); err != nil || !given {
		return err
	}
	return c.submit(proposal{kind: wire.KindCleared, record: func() (any, error) {
		list, err := c.activeList()
		if err != nil {
			return nil, err
		}
		entry, listed := list.Entry(pair.UID)
		if !listed {
			return nil, judged{invalidField("uid", "is no entry of the active list")}
		}
		pair.EntryDigest = entry.Digest
		var m members
		m.text("name", name)
		m.text("normalised", pair.Name)
		m.text("uid", strconv.FormatInt(uid, 10))
		m.text("entryName", entry.Primary)
		if expires != 0 {
			m.time("expiresAt", expires)
		}
		m.text("reason", reason)
		m.textOrNull("clearedBy", by)
		m.uint("listVersion", c.edge.settings.ListVersion)
		record := &wire.ClearedPut{Pair: pair}
		record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterName, pair.Name))
		return record, err
	}, refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedFull {
			return conflict("limit_reached", "there are as many cleared pairs as there may be", nil)
		}
		return nil
	}}, nil)
}

// uid reads the id of a listed entry: a number, or the string that matches show.
func (f *fields) uid(name string) (int64, bool) {
	v := f.get(name)
	if v == nil || v.Type() != fastjson.TypeString {
		return f.integer(name, 1, 1<<32-1)
	}
	uid, err := strconv.ParseUint(f.text(name, engine.FieldMax), 10, 32)
	if err != nil || uid == 0 {
		f.invalid(name, "must be the uid of a listed entry")
		return 0, false
	}
	return int64(uid), true
}

// renderCleared answers both.
func renderCleared(c *call, l *leaf, m *members) error {
	m.text("clearedId", uintText(l.number("clearedId")))
	if l.kind() == "cleared.removed" {
		m.bool("removed", true)
		m.text("removedAt", l.text("time"))
		l.copyTo(m, "reason", "eventId")
		return nil
	}
	c.status = http.StatusCreated
	l.copyTo(m, "name", "normalised", "uid", "entryName")
	m.raw("expiresAt", l.raw("expiresAt"))
	l.copyTo(m, "reason", "clearedBy")
	m.text("clearedAt", l.text("time"))
	m.text("eventId", l.text("eventId"))
	return nil
}

// listCleared is GET /v1/cleared. A pair that is void is shown as such until the
// log drops it.
func listCleared(c *call) error {
	p, err := c.page("cleared")
	if err != nil {
		return err
	}
	list, err := c.activeList()
	if err != nil {
		return err
	}
	pairs, now := c.edge.settings.Cleared, c.api.deps.Published.LogTime()
	c.index = c.api.deps.Published.Applied()
	var items []members
	next := p.scan(uint64(len(pairs)), func(row uint64) bool {
		pair := pairs[row-1]
		digest, listed := list.EntryDigest(pair.UID)
		var m members
		m.text("clearedId", uintText(uint64(pair.ID)))
		m.text("name", pair.Name)
		m.text("uid", uintText(uint64(pair.UID)))
		if pair.ExpiresAt == 0 {
			m.null("expiresAt")
		} else {
			m.time("expiresAt", pair.ExpiresAt)
		}
		m.bool("inForce", listed && digest == pair.EntryDigest && (pair.ExpiresAt == 0 || pair.ExpiresAt > now))
		m.text("reason", pair.Reason)
		m.textOrNull("clearedBy", pair.By)
		m.time("clearedAt", pair.At)
		items = append(items, m)
		return true
	})
	return c.list(items, next)
}

// removeCleared is DELETE /v1/cleared/{id}.
func removeCleared(c *call) error {
	id, err := strconv.ParseUint(c.r.PathValue("id"), 10, 32)
	if err != nil {
		return notFound("no such cleared pair")
	}
	f := c.fields()
	reason := f.text("reason", engine.TextMax)
	if err := f.err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindCleared, record: func() (any, error) {
		var m members
		m.textOrNull("reason", reason)
		record := &wire.ClearedPut{Remove: true, Pair: wire.ClearedPair{ID: uint32(id)}}
		var err error
		record.Common, err = c.recorded(m)
		return record, err
	}}, nil)
}

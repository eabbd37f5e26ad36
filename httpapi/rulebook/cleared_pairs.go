package rulebook

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// Cleared pairs (decision 44, "Cleared pairs"): a name that resembles a listed one and was
// found to be someone else. They quieten R21, never a BLOCK, and are void when
// they expire or the listed entry changes.

// clearedLongest is for how long a pair may be cleared: then somebody looks again.
const clearedLongest = 366 * engine.DayLength

// clearPair is POST /v1/cleared {"name","uid","reason","expiresAt","clearedBy"?}. A name that
// the entry is not like has nothing to be cleared of: a slip in either would be a hole.
func clearPair(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	name := f.RequiredName("name")
	uid, given := readUID(&f, "uid")
	if f.Get("uid") == nil {
		f.Missing("uid")
	}
	reason, by := f.RequiredText("reason", engine.TextMax), f.Text("clearedBy", engine.FieldMax)
	expires, dated := f.Instant("expiresAt")
	if f.Get("expiresAt") == nil {
		f.Missing("expiresAt")
	}
	if now := c.Published().LogTime(); dated && (expires <= now || expires > now+clearedLongest) {
		f.Invalid("expiresAt", "must be in the future, and within a year")
	}
	pair := wire.ClearedPair{Name: ofac.NormaliseName(name), UID: uint32(uid), ExpiresAt: expires, Reason: reason, By: by}
	if name != "" && pair.Name == "" {
		f.Invalid("name", "must have letters or digits")
	}
	if err := f.Err(); err != nil || !given {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindCleared, Record: func() (any, error) {
		list, err := c.Judge.ActiveList()
		if err != nil {
			return nil, err
		}
		entry, listed := list.Entry(pair.UID)
		if !listed {
			return nil, border.ChangeableRefusal{Cause: border.InvalidField("uid", "is no entry of the active list")}
		}
		near, same := c.Judge.Resembles(name, pair.UID, list)
		if !near {
			return nil, border.ChangeableRefusal{Cause: border.InvalidField("name", "is not like the entry "+entry.Primary+": there is nothing to clear")}
		}
		if same {
			return nil, border.ChangeableRefusal{Cause: border.InvalidField("name", "blocks by itself as the entry "+entry.Primary+": a BLOCK is never cleared")}
		}
		pair.EntryDigest = entry.Digest
		var m strictjson.Members
		m.Text("name", name)
		m.Text("normalised", pair.Name)
		m.Text("uid", strconv.FormatInt(uid, 10))
		m.Text("entryName", entry.Primary)
		m.Time("expiresAt", expires)
		m.Text("reason", reason)
		m.TextOrNull("clearedBy", by)
		m.Uint("listVersion", c.Judge.Terms.Settings.ListVersion)
		record := &wire.ClearedPut{Pair: pair}
		record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterName, pair.Name))
		return record, err
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedFull {
			return border.Conflict("limit_reached", "there are as many cleared pairs as there may be", nil)
		}
		return nil
	}}, nil)
}

// readUID reads the id of a listed entry: a number, or the string that matches show.
func readUID(f *strictjson.Fields, name string) (int64, bool) {
	v := f.Get(name)
	if v == nil || v.Type() != fastjson.TypeString {
		return f.Integer(name, 1, 1<<32-1)
	}
	uid, err := strconv.ParseUint(f.Text(name, engine.FieldMax), 10, 32)
	if err != nil || uid == 0 {
		f.Invalid(name, "must be the uid of a listed entry")
		return 0, false
	}
	return int64(uid), true
}

// renderCleared answers both.
func renderCleared(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	m.Text("clearedId", border.UintText(l.Number("clearedId")))
	if l.Kind() == "cleared.removed" {
		m.Bool("removed", true)
		m.Text("removedAt", l.Text("time"))
		l.CopyTo(m, "reason", "actor", "eventId")
		return nil
	}
	c.Status = http.StatusCreated
	l.CopyTo(m, "name", "normalised", "uid", "entryName")
	m.Raw("expiresAt", l.Raw("expiresAt"))
	l.CopyTo(m, "reason", "clearedBy")
	m.Text("clearedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// listCleared is GET /v1/cleared. A pair that is void is shown as such until the
// log drops it.
func listCleared(c *border.Request) (border.Answer, error) {
	p, err := c.ReadPage("cleared")
	if err != nil {
		return border.Answer{}, err
	}
	list, err := c.Judge.ActiveList()
	if err != nil {
		return border.Answer{}, err
	}
	pairs, now := c.Judge.Terms.Settings.Cleared, c.Published().LogTime()
	c.Judge.Index = c.Published().Applied()
	var items []strictjson.Members
	last := uint64(0)
	if len(pairs) > 0 {
		last = uint64(pairs[len(pairs)-1].ID)
	}
	// The key is the pair's own number, by which they are sorted: one that is taken away
	// moves no other.
	next := p.Scan(last, func(row uint64) bool {
		at, found := slices.BinarySearchFunc(pairs, row, func(pair *wire.ClearedPair, row uint64) int { return cmp.Compare(uint64(pair.ID), row) })
		if !found {
			return false
		}
		pair := pairs[at]
		entry, listed := list.Entry(pair.UID)
		var m strictjson.Members
		m.Text("clearedId", border.UintText(uint64(pair.ID)))
		name, listedAs := pair.Name, entry.Primary
		if !c.Key.SeesAll() {
			name = border.MaskedText
			if listed {
				listedAs = border.MaskedText
			}
		}
		m.Text("name", name)
		m.Text("uid", border.UintText(uint64(pair.UID)))
		m.TextOrNull("entryName", listedAs) // As it is called today; null: it is listed no more.
		if pair.ExpiresAt == 0 {
			m.Null("expiresAt")
		} else {
			m.Time("expiresAt", pair.ExpiresAt)
		}
		why := edge.JudgeClearedPair(pair, list, now)
		m.Bool("inForce", why == "")
		m.TextOrNull("void", why)
		m.Text("reason", pair.Reason)
		m.TextOrNull("clearedBy", pair.By)
		m.Time("clearedAt", pair.At)
		items = append(items, m)
		return true
	})
	return c.AnswerList(items, next)
}

// removeCleared is DELETE /v1/cleared/{id}.
func removeCleared(c *border.Request) (border.Answer, error) {
	id, err := strconv.ParseUint(c.PathValue("id"), 10, 32)
	if err != nil {
		return border.Answer{}, border.NotFound("no such cleared pair")
	}
	f := c.ReadFields()
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindCleared, Record: func() (any, error) {
		var m strictjson.Members
		m.TextOrNull("reason", reason)
		m.Optional("actor", actor)
		record := &wire.ClearedPut{Remove: true, Pair: wire.ClearedPair{ID: uint32(id)}}
		var err error
		record.Common, err = c.Judge.Recorded(m)
		return record, err
	}}, nil)
}

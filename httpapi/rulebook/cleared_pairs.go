package rulebook

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// A cleared pair (decision 44, "Cleared pairs") is a name that resembles a listed one and
// was found to be someone else. It suppresses R21, never a BLOCK, in calls that say the same of that
// person as the clearing rests on (decision 141). It is void when it expires or when the listed entry
// changes.

// clearPair is POST /v1/cleared {"name","uid","reason","expiresAt","clearedBy"?} and what the clearing
// rests on: "txnId", "grounds" or "nameOnly".
func clearPair(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	pair, err := rulebook.ReadClearedPair(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindCleared, Record: func() (any, error) {
		return pair.Record(&c.Judge)
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedFull {
			return border.Conflict("limit_reached", "there are as many cleared pairs as there may be", nil)
		}
		return nil
	}}, nil)
}

// renderCleared answers both clearing and removing a pair.
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
	l.CopyTo(m, "grounds", "nameOnly", "txnId", "reason", "clearedBy")
	m.Text("clearedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// listCleared is GET /v1/cleared. It shows a void pair as void until the log drops it.
func listCleared(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("cleared")
	if err != nil {
		return border.Answer{}, err
	}
	list, err := c.Judge.ActiveList()
	if err != nil {
		return border.Answer{}, err
	}
	pairs, now := c.Settings().Cleared, c.Published().LogTime()
	c.Judge.Index = c.Published().Applied()
	var items []strictjson.Members
	last := uint64(0)
	if len(pairs) > 0 {
		last = uint64(pairs[len(pairs)-1].ID)
	}
	// The cursor's key is the pair's number, so removing a pair moves no other.
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
		m.TextOrNull("entryName", listedAs) // Its current name; null: no longer listed.
		if pair.ExpiresAt == 0 {
			m.Null("expiresAt")
		} else {
			m.Time("expiresAt", pair.ExpiresAt)
		}
		why := edge.JudgeClearedPair(pair, list, now)
		m.Bool("inForce", why == "")
		m.TextOrNull("void", why)
		if c.Key.SeesAll() {
			m.Object("grounds", c.Judge.Terms.WriteGrounds(&pair.Grounds))
		} else {
			m.Null("grounds")
		}
		m.Bool("nameOnly", pair.Grounds.NameOnly())
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
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindCleared, Record: func() (any, error) {
		return rulebook.RemoveClearedPair(&c.Judge, uint32(id), grounds)
	}}, nil)
}

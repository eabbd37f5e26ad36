package registry

import (
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Whitelists of agents, fleets and the institution (decision 42): the same handlers serve a
// list in each of these three places. The ETag is the list's own version, so that other
// changes do not fail an If-Match.

// listPlace is one of the three places, in its current state.
type listPlace struct {
	kind    wire.Kind
	current *engine.Whitelist
	subject strictjson.Members // agentId or fleetId, for answers.

	// build builds the record of a change of current, based on current's revision.
	build func(*registry.WhitelistChange, edge.Grounds) (any, error)
}

// A placeOf finds the place that a path names; each call reads its current state.
type placeOf func(c *border.Request) (listPlace, error)

func agentPlace(c *border.Request) (listPlace, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return listPlace{}, err
	}
	place := listPlace{kind: wire.KindSettings, current: profile.Settings.Whitelist}
	place.subject.Text("agentId", c.Judge.Terms.AgentID(profile.Slot))
	place.build = func(change *registry.WhitelistChange, grounds edge.Grounds) (any, error) {
		return change.OfAgent(&c.Judge, profile, grounds)
	}
	return place, nil
}

func fleetPlace(c *border.Request) (listPlace, error) {
	profile, err := c.PathFleet()
	if err != nil {
		return listPlace{}, err
	}
	place := listPlace{kind: wire.KindFleetUpdate, current: profile.Whitelist}
	place.subject.Text("fleetId", c.Judge.Terms.FleetID(profile.Slot))
	place.build = func(change *registry.WhitelistChange, grounds edge.Grounds) (any, error) {
		return change.OfFleet(&c.Judge, profile, grounds)
	}
	return place, nil
}

func institutionPlace(c *border.Request) (listPlace, error) {
	policy := c.Judge.Terms.Policy()
	place := listPlace{kind: wire.KindWhitelist, current: policy.Whitelist}
	place.build = func(change *registry.WhitelistChange, grounds edge.Grounds) (any, error) {
		return change.OfInstitution(&c.Judge, policy, grounds)
	}
	return place, nil
}

// getWhitelist is GET of any whitelist.
func getWhitelist(find placeOf) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		place, err := find(c)
		if err != nil {
			return border.Answer{}, err
		}
		m := slices.Clone(place.subject)
		m.Join(edge.WhitelistMembers(place.current))
		c.SetHeader("ETag", border.ETag(edge.WhitelistVersion(place.current)))
		return c.Reply(http.StatusOK, m), nil
	}
}

// putWhitelist is PUT of a whitelist: mode and all entries.
func putWhitelist(find placeOf) func(*border.Request) (border.Answer, error) {
	return changeWhitelist(find, func(_ *border.Request, f *strictjson.Fields, old *engine.Whitelist) (registry.WhitelistChange, error) {
		return registry.ReplaceWhitelist(f, old), nil
	})
}

// addEntry is POST …/whitelist/entries.
func addEntry(find placeOf) func(*border.Request) (border.Answer, error) {
	return changeWhitelist(find, func(_ *border.Request, f *strictjson.Fields, old *engine.Whitelist) (registry.WhitelistChange, error) {
		return registry.AddEntry(f, old)
	})
}

// removeEntry is DELETE …/whitelist/entries/{entry}.
func removeEntry(find placeOf) func(*border.Request) (border.Answer, error) {
	return changeWhitelist(find, func(c *border.Request, _ *strictjson.Fields, old *engine.Whitelist) (registry.WhitelistChange, error) {
		return registry.RemoveEntry(c.PathValue("entry"), old)
	})
}

// readChange makes the new whitelist of a place from the call and the old one.
type readChange func(c *border.Request, f *strictjson.Fields, old *engine.Whitelist) (registry.WhitelistChange, error)

func changeWhitelist(find placeOf, read readChange) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		match, err := c.ReadIfMatch()
		if err != nil {
			return border.Answer{}, err
		}
		place, err := find(c) // Only the kind of the place is used here. The record is built later, from the place's state at that time.
		if err != nil {
			return border.Answer{}, err
		}
		return c.AnswerRevision(place.kind, func(_ *edge.Judge) (any, error) { return whitelistRecord(c, find, read, match) })
	}
}

func whitelistRecord(c *border.Request, find placeOf, read readChange, match uint64) (any, error) {
	place, err := find(c)
	if err != nil {
		return nil, err
	}
	if current := edge.WhitelistVersion(place.current); match != 0 && match != current {
		return nil, edge.MarkChangeable(edge.VersionMismatch(current))
	}
	f := c.ReadFields()
	change, err := read(c, &f, place.current)
	if err != nil {
		return nil, err
	}
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return place.build(&change, grounds)
}

// renderWhitelist answers all changes in all three places. A list that is too long for a
// leaf is answered without its entries; GET shows them.
func renderWhitelist(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "fleetId")
	for _, name := range []string{"mode", "kinds", "version", "entryCount", "entries"} {
		if raw := l.Raw("whitelist", name); raw != nil {
			m.Raw(name, raw)
		}
	}
	l.CopyTo(m, "change", "entry", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	c.SetHeader("ETag", border.ETag(l.Number("whitelist", "version")))
	return nil
}

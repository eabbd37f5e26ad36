package registry

import (
	"net/http"
	"slices"
	"strconv"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Whitelists of agents, fleets and the institution (decision 42): one set of
// handlers over three places where a list can stand. The ETag is the list's own
// version, so that a change of anything else does not fail an If-Match.

// listPlace is one of the three places, as of now.
type listPlace struct {
	kind    wire.Kind
	current *engine.Whitelist
	subject strictjson.Members // agentId or fleetId, for answers.

	// record builds the record that puts next in its place, from the revision
	// current was read at.
	record func(next *engine.Whitelist, m strictjson.Members) (any, error)
}

// A placeOf finds the place that a path names, anew each time it is asked.
type placeOf func(c *border.Request) (listPlace, error)

func agentPlace(c *border.Request) (listPlace, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return listPlace{}, err
	}
	place := listPlace{kind: wire.KindSettings, current: profile.Settings.Whitelist}
	place.subject.Text("agentId", c.Judge.Terms.AgentID(profile.Slot))
	place.record = func(next *engine.Whitelist, m strictjson.Members) (any, error) {
		settings := profile.Settings
		settings.Whitelist = next
		return settingsRecord(c, profile, settings, "agent.whitelist", m)
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
	place.record = func(next *engine.Whitelist, m strictjson.Members) (any, error) {
		settings := *profile
		settings.Whitelist = next
		return fleetRecord(c, profile, settings, "fleet.whitelist", m)
	}
	return place, nil
}

func institutionPlace(c *border.Request) (listPlace, error) {
	policy := c.Judge.Terms.Settings.Policy
	place := listPlace{kind: wire.KindWhitelist, current: policy.Whitelist}
	place.record = func(next *engine.Whitelist, m strictjson.Members) (any, error) {
		record := &wire.WhitelistPut{Base: policy.Version, Whitelist: next}
		var err error
		record.Common, err = c.Judge.Recorded(m)
		return record, err
	}
	return place, nil
}

// getWhitelist is GET of a whitelist.
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
	return changeWhitelist(find, func(c *border.Request, f *strictjson.Fields, old *engine.Whitelist, m *strictjson.Members) (*engine.Whitelist, error) {
		next := edge.ReadWhitelistBody(f, old)
		m.Raw("change", []byte(`"replaced"`))
		return next, nil
	})
}

// addEntry is POST …/whitelist/entries: one more entry. A list that was never set stays
// off until a call says otherwise: the next payment must not meet a list of one.
func addEntry(find placeOf) func(*border.Request) (border.Answer, error) {
	return changeWhitelist(find, func(_ *border.Request, f *strictjson.Fields, old *engine.Whitelist, m *strictjson.Members) (*engine.Whitelist, error) {
		entry := edge.ReadWhitelistEntry(f)
		next := old.With(entry)
		if !next.Enforce {
			next.Kinds = next.PresentKinds()
		}
		if len(next.Entries) > engine.WhitelistMax {
			return nil, border.ChangeableRefusal{Cause: border.InvalidField("entries", "must have at most "+strconv.Itoa(engine.WhitelistMax)+" items")}
		}
		added := next.InOrder()
		m.Raw("change", []byte(`"added"`))
		m.Object("entry", edge.EntryMembers(&added[len(added)-1]))
		return next, nil
	})
}

// removeEntry is DELETE …/whitelist/entries/{entry}.
func removeEntry(find placeOf) func(*border.Request) (border.Answer, error) {
	return changeWhitelist(find, func(c *border.Request, _ *strictjson.Fields, old *engine.Whitelist, m *strictjson.Members) (*engine.Whitelist, error) {
		missing := border.ChangeableRefusal{Cause: border.NotFound("no such entry")}
		id, err := strconv.ParseUint(c.PathValue("entry"), 10, 32)
		if err != nil {
			return nil, missing
		}
		next, found := old.Without(uint32(id))
		if !found {
			return nil, missing
		}
		at := slices.IndexFunc(old.Entries, func(e engine.WhitelistEntry) bool { return e.ID == uint32(id) })
		m.Raw("change", []byte(`"removed"`))
		m.Object("entry", edge.EntryMembers(&old.Entries[at]))
		return next, nil
	})
}

// listChange makes the list that follows old and notes in m what it did.
type listChange func(c *border.Request, f *strictjson.Fields, old *engine.Whitelist, m *strictjson.Members) (*engine.Whitelist, error)

func changeWhitelist(find placeOf, change listChange) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		match, err := c.ReadIfMatch()
		if err != nil {
			return border.Answer{}, err
		}
		place, err := find(c) // For its kind; the record is built from the place of that moment.
		if err != nil {
			return border.Answer{}, err
		}
		return c.AnswerRevision(place.kind, func() (any, error) { return whitelistRecord(c, find, change, match) })
	}
}

func whitelistRecord(c *border.Request, find placeOf, change listChange, match uint64) (any, error) {
	place, err := find(c)
	if err != nil {
		return nil, err
	}
	if current := edge.WhitelistVersion(place.current); match != 0 && match != current {
		return nil, border.ChangeableRefusal{Cause: border.VersionMismatch(current)}
	}
	f := c.ReadFields()
	var m strictjson.Members
	next, err := change(c, &f, place.current, &m)
	if err != nil {
		return nil, err
	}
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := mayWiden(c, engine.WhitelistWidens(place.current, next), reason); err != nil {
		return nil, err
	}
	writeWhitelist(c, &m, next)
	m.TextOrNull("reason", reason)
	m.TextOrNull("actor", actor)
	return place.record(next, m)
}

// whitelistLeafMax is how many bytes of entries a leaf keeps; of a longer list
// it keeps mode, version and count.
const whitelistLeafMax = 32 * engine.KiB

func writeWhitelist(c *border.Request, m *strictjson.Members, list *engine.Whitelist) {
	whole := edge.WhitelistMembers(list)
	if len(whole) > whitelistLeafMax {
		m.Object("whitelist", edge.WhitelistSummary(list))
		return
	}
	m.Object("whitelist", whole)
}

// renderWhitelist answers all changes of all three. A list too long for a leaf
// is answered without its entries; GET has them.
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

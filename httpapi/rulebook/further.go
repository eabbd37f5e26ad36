package rulebook

import (
	"net/http"
	"strings"
	"time"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

// Lists beside OFAC's (decision 132). There is one snapshot of all lists; what changes one of them
// makes another snapshot, which is staged, judged and activated like a list of OFAC's.

// ListChange is what a call changes of one list beside OFAC's.
type ListChange struct {
	List   ofac.Further // Its number does not matter. Format "": that of the file.
	File   []byte       // The whole content.
	Add    [][]byte     // Entries to add or to change, as JSON.
	End    []string     // Ids of entries to end.
	Remove bool         // There is no such list any more.
}

// ListJoiner applies a change to the list in force.
type ListJoiner func(active *ofac.Index, held *wire.ListInfo, change ListChange) (entities []byte, info wire.ListInfo, err error)

// entriesMost bounds the entries that one call changes: its leaf names each of them.
const entriesMost = 100

// getListStatus is GET /v1/lists: each list, how old it is and whether it is late.
func (b *Room) getListStatus(c *border.Request) (border.Answer, error) {
	s := c.Published().Settings()
	now := c.Published().LogTime()
	lists := []strictjson.Members{}
	if s.List != nil {
		var m strictjson.Members
		entries, names, wallets := s.List.OfOFAC()
		writeList(&m, "ofac", "OFAC", "Office of Foreign Assets Control", true, "ofac", nil)
		writeListState(&m, entries, names, wallets, judge.PublicationOf(s.List), s.ListSynced, now)
		m.Int("maxAgeSeconds", int64(s.Policy.ListAgeMax/engine.Second))
		m.Bool("late", now-s.ListSynced > s.Policy.ListAgeMax)
		lists = append(lists, m)
		for i := range s.List.Others {
			other := &s.List.Others[i]
			if other.Further == nil {
				continue
			}
			var m strictjson.Members
			m.Int("number", int64(other.Further.Number))
			writeList(&m, other.Name, other.Further.Name, other.Further.Authority, other.Further.Blocks, other.Further.Format, other.Further.Families)
			writeListState(&m, other.Entries, other.Names, other.Wallets, other.AsOf, other.SyncedAt, now)
			if other.Further.AgeMax == 0 {
				m.Null("maxAgeSeconds")
			} else {
				m.Int("maxAgeSeconds", int64(other.Further.AgeMax/engine.Second))
			}
			m.Bool("late", other.IsLate(now))
			lists = append(lists, m)
		}
	}
	var m strictjson.Members
	m.List("lists", lists)
	return c.Reply(http.StatusOK, m), nil
}

func writeList(m *strictjson.Members, id, name, authority string, blocks bool, format string, families []string) {
	m.Text("id", id)
	m.Text("name", name)
	m.Text("authority", authority)
	effect := "review"
	if blocks {
		effect = "block"
	}
	m.Text("effect", effect)
	m.Text("format", format)
	m.Texts("families", append([]string{}, families...))
}

func writeListState(m *strictjson.Members, entries, names, wallets uint32, published, synced, now engine.Time) {
	m.Uint("entries", uint64(entries))
	m.Uint("names", uint64(names))
	m.Uint("wallets", uint64(wallets))
	if published == 0 {
		m.Null("publishedAt")
	} else {
		m.Time("publishedAt", published)
	}
	m.Time("syncedAt", synced)
	m.Int("ageSeconds", int64(max(now-synced, 0)/engine.Second))
}

// activeList returns the list in force with its description; nil: there is none.
func (b *Room) activeList(c *border.Request) (*ofac.Index, *wire.ListInfo, error) {
	held := c.Published().Settings().List
	if held == nil {
		return nil, nil, nil
	}
	active, err := b.openList(c, held)
	return active, held, err
}

// listOfQuery reads which list an upload brings: ?list= and what describes it. What is not given is
// as the list has it already; a new list is reviewed.
func listOfQuery(c *border.Request) (list ofac.Further, err error) {
	list.ID = c.Query("list")
	if !ofac.IsListID(list.ID) {
		return list, border.BadQuery("list", "must be 1 to 32 small letters, digits and dashes, and none of OFAC's lists")
	}
	list.Name = list.ID
	if held := c.Published().Settings().List; held != nil {
		if known := held.OfSource(list.ID).Further; known != nil {
			list.Name, list.Authority, list.Blocks, list.Format, list.Families, list.AgeMax = known.Name, known.Authority, known.Blocks, known.Format, known.Families, int64(known.AgeMax)
		}
	}
	if name := c.Query("listName"); name != "" {
		list.Name = name
	}
	if authority := c.Query("authority"); authority != "" {
		list.Authority = authority
	}
	switch c.Query("effect") {
	case "":
	case "block":
		list.Blocks = true
	case "review":
		list.Blocks = false
	default:
		return list, border.BadQuery("effect", "must be block or review")
	}
	if format := c.Query("format"); format != "" {
		list.Format = format
	}
	if families := c.Query("families"); families != "" {
		list.Families = strings.Split(families, ",")
	}
	if age := c.Query("maxAge"); age != "" {
		length, err := time.ParseDuration(age)
		if err != nil || length < 0 {
			return list, border.BadQuery("maxAge", "must be a length of time like 36h; 0s: never late")
		}
		list.AgeMax = int64(length)
	}
	return list, nil
}

// joinUpload makes the list of an upload that brings a list beside OFAC's, or that removes one.
func (b *Room) joinUpload(c *border.Request, body []byte) (entities []byte, info wire.ListInfo, err error) {
	list, err := listOfQuery(c)
	if err != nil {
		return nil, info, err
	}
	change := ListChange{List: list, File: body}
	if c.Query("remove") == "true" {
		change = ListChange{List: list, Remove: true}
	}
	active, held, err := b.activeList(c)
	if err != nil {
		return nil, info, err
	}
	entities, info, err = b.deps.JoinList(active, held, change)
	if err != nil {
		return nil, info, rulebook.RejectList(err.Error())
	}
	return entities, info, nil
}

// readEntry checks the types of an entry's members and returns its id. What the values mean is
// read where the list is joined.
func readEntry(entry *strictjson.Fields) (id string) {
	for _, name := range [...]string{"kind", "name", "reason", "until"} {
		entry.Text(name, engine.TextMax)
	}
	for _, name := range [...]string{"aliases", "wallets", "countries"} {
		entry.Texts(name, entriesMost, engine.TextMax)
	}
	entry.Items("identifiers", entriesMost, func(one strictjson.Fields) {
		for _, name := range [...]string{"type", "value", "country"} {
			one.Text(name, engine.FieldMax)
		}
	})
	return entry.Text("id", engine.FieldMax)
}

// changeEntries is POST /v1/lists/{id}/entries: entries of an institution's own list are added,
// changed and ended. The record names each of them, who did it and why.
func (b *Room) changeEntries(c *border.Request) (border.Answer, error) {
	if b.deps.JoinList == nil || b.deps.Lists == nil {
		return border.Answer{}, rulebook.RejectList("this node changes no lists")
	}
	f := c.ReadFields()
	grounds := edge.Grounds{Reason: f.RequiredText("reason", engine.TextMax), Actor: f.Text("actor", engine.FieldMax)}
	change := ListChange{List: ofac.Further{ID: c.PathValue("id")}}
	change.List.Name = change.List.ID
	var ids []string
	adds := f.Items("add", entriesMost, func(entry strictjson.Fields) {
		change.Add = append(change.Add, entry.WithoutNulls())
		ids = append(ids, readEntry(&entry))
	})
	var ends bool
	change.End, ends = f.Texts("end", entriesMost, engine.FieldMax)
	ids = append(ids, change.End...)
	replace, _ := f.Flag("replace")
	switch {
	case !adds && !ends:
		f.Missing("add")
	case len(ids) == 0 && f.Err() == nil:
		f.Invalid("add", "must name an entry, or end must")
	case len(ids) > entriesMost:
		f.Invalid("end", "one call changes at most 100 entries")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if !ofac.IsListID(change.List.ID) {
		return border.Answer{}, border.NotFound("no such list beside OFAC's")
	}
	if replay, err := c.AnswerReplay(border.ErrMoved); err != border.ErrMoved {
		return replay, err
	}
	defer border.ExtendTime(c, listWork)()
	if err := c.Judge.Confirm(); err != nil {
		return border.Answer{}, err
	}
	active, held, err := b.activeList(c)
	if err != nil {
		return border.Answer{}, err
	}
	entities, info, err := b.deps.JoinList(active, held, change)
	if err != nil {
		return border.Answer{}, rulebook.RejectList(err.Error())
	}
	a := rulebook.Activation{Grounds: grounds, EntryByEntry: true, EntryIDs: ids}
	decoded, _, err := ofac.DecodeEntities(entities)
	if err != nil {
		return border.Answer{}, rulebook.RejectList(err.Error())
	}
	left, err := b.leftFor(c, decoded)
	if err != nil {
		return border.Answer{}, err
	}
	if _, err := a.Record(&c.Judge, &info, c.Published().LogTime(), func() (*wire.ListLeft, error) { return left, nil }); err != nil {
		return border.Answer{}, err // It is told before a list is replicated for nothing.
	}
	if held.Digest != info.Digest {
		if _, err := b.stage(c, entities, info, left, nil, "entries", replace); err != nil {
			return border.Answer{}, err
		}
		if err := c.Judge.Confirm(); err != nil {
			return border.Answer{}, err
		}
	}
	return b.activateAs(c, &info, a)
}

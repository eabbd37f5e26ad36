package rulebook

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

// Sanctions lists (decision 51). A list's identity is its digest; its id is snp_ and the
// digest's first 16 hexadecimal digits.

const (
	listWork     = 10 * time.Minute // Longest time for staging a list through the log.
	diffListed   = 500              // Most entries of each kind that a diff names.
	diffRemoved  = 50_000           // Most entries that left the list; whoever signs for it may read all of them.
	historyShown = 50               // Most activations in GET /v1/ofac, newest first.
)

// getLists is GET /v1/ofac.
func (b *Room) getLists(c *border.Request) (border.Answer, error) {
	s := c.Settings()
	var m strictjson.Members
	if s.List == nil {
		m.Null("active")
	} else {
		active := ListMembers(s.List, c.Published().LogTime())
		active.Text("ofacSource", edge.ListSource(s.List))
		active.Time("syncedAt", s.ListSynced)
		writeAges(&active, s, c.Published().LogTime())
		m.Object("active", active)
	}
	staged := []strictjson.Members{}
	for _, info := range s.Staged {
		staged = append(staged, ListMembers(info, 0))
	}
	history := []strictjson.Members{}
	for i := len(s.History) - 1; i >= 0 && len(history) < historyShown; i-- {
		history = append(history, ListMembers(s.History[i], 0))
	}
	m.List("staged", staged)
	m.List("history", history)
	if sync, told := b.syncMembers(c); told {
		m.Object("sync", sync)
	}
	return c.Reply(http.StatusOK, m), nil
}

// writeAges writes how old the active list is: since its files were published, and since a source
// confirmed that it is current. A source that stands still confirms an old list for ever.
func writeAges(m *strictjson.Members, s *fsm.Settings, now engine.Time) {
	age := max(now-s.ListSynced, 0)
	m.Int("ageSeconds", int64(age/engine.Second))
	published := judge.PublicationAge(s.List, now)
	if published < 0 {
		m.Null("publicationAgeSeconds")
	} else {
		m.Int("publicationAgeSeconds", int64(published/engine.Second))
	}
	m.Bool("stale", age > s.Policy.ListAgeMax || published > judge.PublicationStale)
}

// getList is GET /v1/ofac/{id}: a list, what speaks against making it the active one, and who
// would leave the active list by it.
func (b *Room) getList(c *border.Request) (border.Answer, error) {
	info, err := pathList(c)
	if err != nil {
		return border.Answer{}, err
	}
	left, err := b.leftBy(c, info)
	if err != nil {
		return border.Answer{}, err
	}
	m := ListMembers(info, c.Published().LogTime())
	s := c.Settings()
	m.Bool("active", s.List != nil && s.List.Digest == info.Digest)
	m.Texts("problems", rulebook.Problems(&c.Judge, info, left, c.Published().LogTime()))
	m.Object("left", rulebook.LeftMembers(left))
	return c.Reply(http.StatusOK, m), nil
}

// leftBy says who would leave the active list if another one took its place; nil: no published
// list is active, or it is that list.
func (b *Room) leftBy(c *border.Request, info *wire.ListInfo) (*wire.ListLeft, error) {
	active := c.Settings().List
	if active == nil || active.Sample || active.Digest == info.Digest {
		return nil, nil
	}
	to, err := b.openList(c, info)
	if err != nil {
		return nil, err
	}
	return b.leftFor(c, to.Entities())
}

// leftFor is leftBy for entities that are not staged yet.
func (b *Room) leftFor(c *border.Request, entities []ofac.Entity) (*wire.ListLeft, error) {
	active := c.Settings().List
	if active == nil || active.Sample {
		return nil, nil
	}
	from, err := b.openList(c, active)
	if err != nil {
		return nil, err
	}
	return judge.Left(from.Entities(), entities), nil
}

// ListMembers describes a list as of a log time; 0: without its age.
func ListMembers(info *wire.ListInfo, now engine.Time) strictjson.Members {
	var m, counts strictjson.Members
	m.Text("snapshotId", edge.SnapshotID(info.Digest))
	m.Text("source", info.Source)
	m.Text("sha256", hex.EncodeToString(info.Digest[:]))
	m.Bool("sample", info.Sample)
	if info.PublishedAt == 0 {
		m.Null("publishedAt") // The CSV files have no date.
	} else {
		m.Time("publishedAt", info.PublishedAt)
	}
	if info.StagedAt != 0 {
		m.Time("stagedAt", info.StagedAt)
	}
	if info.ActivatedAt != 0 {
		m.Time("activatedAt", info.ActivatedAt)
		m.Uint("listVersion", info.Version)
	}
	counts.Uint("entries", uint64(info.Entries))
	for _, source := range ofac.Sources() {
		counts.Uint(strings.ToLower(source.String()), uint64(info.OfSource(source.String()).Entries))
	}
	for _, part := range []struct {
		name  string
		count uint32
	}{
		{"names", info.Names}, {"wallets", info.Wallets},
		{"individuals", info.Individuals}, {"entities", info.Companies}, {"vessels", info.Vessels}, {"aircraft", info.Aircraft},
	} {
		counts.Uint(part.name, uint64(part.count))
	}
	m.Object("counts", counts)
	families(&m, info, now)
	m.Uint("sizeBytes", uint64(info.Size))
	return m
}

// families writes each source's date and entries, which sources are missing, and what was
// noticed in the files.
func families(m *strictjson.Members, info *wire.ListInfo, now engine.Time) {
	var all, chains strictjson.Members
	for _, source := range ofac.Sources() {
		held := info.OfSource(source.String())
		var one strictjson.Members
		one.Uint("entries", uint64(held.Entries))
		if held.AsOf == 0 {
			one.Null("publishedAt")
		} else {
			one.Time("publishedAt", held.AsOf)
		}
		all.Object(held.Name, one)
	}
	for _, chain := range info.Chains {
		chains.Uint(chain.Chain, uint64(chain.Count))
	}
	m.Object("families", all)
	m.Texts("missing", append([]string{}, judge.Missing(info)...))
	m.Object("walletsByChain", chains)
	m.Uint("quarantined", uint64(info.Quarantined))
	warnings := append([]string{}, info.Warnings...)
	if warning := judge.AgeWarning(info, now); warning != "" {
		warnings = append(warnings, warning)
	}
	m.Texts("warnings", warnings)
}

// pathList finds the list of the path: the active one, a staged one, or one of the history.
func pathList(c *border.Request) (*wire.ListInfo, error) { return knownList(c, c.PathValue("id")) }

// knownList finds a list by its id. It asks the leader before a 404: another node may have
// received an upload a moment ago.
func knownList(c *border.Request, id string) (*wire.ListInfo, error) {
	if info := listHere(c, id); info != nil {
		return info, nil
	}
	if err := c.Judge.Confirm(); err != nil {
		return nil, err
	}
	if info := listHere(c, id); info != nil {
		return info, nil
	}
	return nil, border.NotFound("no such list snapshot")
}

func listHere(c *border.Request, id string) *wire.ListInfo {
	return listNamed(c.Settings(), id)
}

// listNamed finds a list that is staged, active or was active; nil: no list has that id.
func listNamed(s *fsm.Settings, id string) *wire.ListInfo {
	known := append([]*wire.ListInfo(nil), s.Staged...)
	if s.List != nil {
		known = append(known, s.List)
	}
	for i := len(s.History) - 1; i >= 0; i-- {
		known = append(known, s.History[i])
	}
	for _, info := range known {
		if edge.SnapshotID(info.Digest) == id || hex.EncodeToString(info.Digest[:]) == id {
			return info
		}
	}
	return nil
}

// openList returns a list's content. The list is or was active, or it is staged; then this
// call may have to compile it.
func (b *Room) openList(c *border.Request, info *wire.ListInfo) (*ofac.Index, error) {
	if held := b.upload.Load(); held != nil && held.Digest() == info.Digest {
		return held, nil
	}
	if list, err := c.Published().ListByDigest(info.Digest); err == nil && list != nil {
		return list, nil
	}
	if list, err := b.openStaged(c, info); list != nil || err != nil {
		return list, err
	}
	return nil, border.NotFound("no node that answers holds the content of that list any more: upload it again")
}

func (b *Room) openStaged(c *border.Request, info *wire.ListInfo) (*ofac.Index, error) {
	view, err := c.Judge.View()
	if err != nil {
		return nil, err
	}
	data := view.Staged(info.Digest)
	if data == nil {
		return nil, nil
	}
	list, err := ofac.Compile(data, ofac.MatcherVersion)
	if err != nil {
		return nil, err
	}
	b.upload.Store(list)
	return list, nil
}

// diffLists is GET /v1/ofac/{id}/diff?against=active.
func (b *Room) diffLists(c *border.Request) (border.Answer, error) {
	info, err := pathList(c)
	if err != nil {
		return border.Answer{}, err
	}
	against := c.Settings().List
	if id := c.Query("against"); id != "" && id != "active" {
		if against, err = knownList(c, id); err != nil {
			return border.Answer{}, err
		}
	}
	if against == nil {
		return border.Answer{}, border.NotFound("no list is active")
	}
	to, err := b.openList(c, info)
	if err != nil {
		return border.Answer{}, err
	}
	from, err := b.openList(c, against)
	if err != nil {
		return border.Answer{}, err
	}
	diff := ofac.Diff(from, to)
	var m strictjson.Members
	m.Text("from", edge.SnapshotID(against.Digest))
	m.Text("to", edge.SnapshotID(info.Digest))
	m.Object("added", entriesMembers(to, diff.Added, diffListed))
	m.Object("removed", entriesMembers(from, diff.Removed, diffRemoved))
	m.Object("changed", changedMembers(from, to, diff.Changed, diffListed))
	m.Object("addressesAdded", addressesMembers(diff.AddressesAdded, diffListed))
	m.Object("addressesRemoved", addressesMembers(diff.AddressesRemoved, diffRemoved))
	return c.Reply(http.StatusOK, m), nil
}

func entriesMembers(list *ofac.Index, uids []uint32, most int) strictjson.Members {
	items := []strictjson.Members{}
	for _, uid := range uids[:min(len(uids), most)] {
		entry, known := list.Entry(uid)
		if !known {
			continue
		}
		items = append(items, entryMembers(&entry))
	}
	return counted(len(uids), items)
}

func entryMembers(entry *ofac.Entry) (m strictjson.Members) {
	m.Text("uid", strconv.FormatUint(uint64(entry.UID), 10))
	m.Text("name", entry.Primary)
	m.Text("type", entry.Type.String())
	m.Text("list", entry.List)
	m.Texts("programs", entry.Programs)
	return m
}

func addressesMembers(addresses []ofac.ListedWallet, most int) strictjson.Members {
	items := []strictjson.Members{}
	for _, address := range addresses[:min(len(addresses), most)] {
		var m strictjson.Members
		m.Text("uid", strconv.FormatUint(uint64(address.UID), 10))
		m.Text("ticker", address.Ticker)
		m.Text("address", address.Address)
		items = append(items, m)
	}
	return counted(len(addresses), items)
}

// counted writes a count, and as many names as one answer holds.
func counted(count int, items []strictjson.Members) strictjson.Members {
	var m strictjson.Members
	m.Int("count", int64(count))
	m.List("entries", items)
	m.Bool("truncated", len(items) < count)
	return m
}

// activateList is POST /v1/ofac/{id}/activate: one log entry switches all nodes.
func (b *Room) activateList(c *border.Request) (border.Answer, error) {
	info, err := pathList(c)
	if err != nil {
		return c.AnswerReplay(err)
	}
	f := c.ReadFields()
	force, _ := f.Flag("force")
	grounds := edge.ReadGrounds(&f)
	if force && strings.TrimSpace(grounds.Reason) == "" {
		f.Missing("reason")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return b.activateAs(c, info, rulebook.Activation{Force: force, Grounds: grounds})
}

func (b *Room) activateAs(c *border.Request, info *wire.ListInfo, a rulebook.Activation) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindListActivate, Record: func() (any, error) {
		return a.Record(&c.Judge, info, c.Published().LogTime(), func() (*wire.ListLeft, error) {
			// Another binary may have staged what this one cannot compile: in force, it would end all verdicts.
			if _, err := b.openList(c, info); errors.Is(err, ofac.ErrEntities) {
				return nil, b.refuseEntities(err)
			} else if err != nil {
				return nil, err
			}
			return b.leftBy(c, info)
		})
	}, Refused: func(r wire.Result) error {
		switch r.Refusal {
		case wire.RefusedList:
			return rulebook.RejectList("the list is no longer staged, or it is dated in the future, or another list came in force since it was made: upload it again")
		case wire.RefusedNotDev:
			return rulebook.RejectList("the sample list may serve development clusters only")
		}
		return nil
	}}, func(wire.Result) (border.Answer, error) {
		m := ListMembers(c.Settings().List, c.Published().LogTime())
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// renderSynced answers the activation of a list that is already active and was imported
// again.
func renderSynced(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "snapshotId", "source", "listVersion")
	m.Text("sha256", l.Text("listDigest"))
	l.CopyTo(m, "syncedAt", "reason", "actor", "eventId")
	m.Bool("unchanged", true)
	return nil
}

// renderActivation answers an activation or a rollback.
func renderActivation(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "snapshotId", "source", "listVersion", "entries")
	m.Text("sha256", l.Text("listDigest"))
	m.Text("activatedAt", l.Text("time"))
	l.CopyTo(m, "syncedAt")
	if previous := l.Text("previousDigest"); len(previous) >= 16 {
		m.Text("previousSnapshotId", "snp_"+previous[:16])
	} else {
		m.Null("previousSnapshotId")
	}
	l.CopyTo(m, "sample", "forced", "rollback", "problems", "left", "entryIds", "reason", "actor", "eventId")
	return nil
}

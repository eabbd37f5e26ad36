package rulebook

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/audit"
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
	historyShown = 50               // Most activations in GET /v1/ofac, newest first.
)

// getLists is GET /v1/ofac.
func (b *Room) getLists(c *border.Request) (border.Answer, error) {
	s := c.Judge.Terms.Settings
	var m strictjson.Members
	if s.List == nil {
		m.Null("active")
	} else {
		active := ListMembers(s.List)
		active.Text("ofacSource", edge.ListSource(s.List))
		active.Time("syncedAt", s.ListSynced)
		now := c.Published().LogTime()
		age := max(now-s.ListSynced, 0)
		active.Int("ageSeconds", int64(age/engine.Second))
		active.Bool("stale", age > s.Policy.ListAgeMax)
		m.Object("active", active)
	}
	staged := []strictjson.Members{}
	for _, info := range s.Staged {
		staged = append(staged, ListMembers(info))
	}
	history := []strictjson.Members{}
	for i := len(s.History) - 1; i >= 0 && len(history) < historyShown; i-- {
		history = append(history, ListMembers(s.History[i]))
	}
	m.List("staged", staged)
	m.List("history", history)
	if sync, told := b.syncMembers(c); told {
		m.Object("sync", sync)
	}
	return c.Reply(http.StatusOK, m), nil
}

func ListMembers(info *wire.ListInfo) strictjson.Members {
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
	families(&m, info)
	m.Uint("sizeBytes", uint64(info.Size))
	return m
}

// families writes each source's date and entries, which sources are missing, and what was
// noticed in the files.
func families(m *strictjson.Members, info *wire.ListInfo) {
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
	m.Texts("warnings", append([]string{}, info.Warnings...))
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
	return listNamed(c.Judge.Terms.Settings, id)
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
	digest, data, whole := view.Staged()
	if !whole || digest != info.Digest {
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
	against := c.Judge.Terms.Settings.List
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
	m.Object("added", entriesMembers(to, diff.Added))
	m.Object("removed", entriesMembers(from, diff.Removed))
	m.Object("changed", entriesMembers(to, diff.Changed))
	m.Object("addressesAdded", addressesMembers(diff.AddressesAdded))
	m.Object("addressesRemoved", addressesMembers(diff.AddressesRemoved))
	return c.Reply(http.StatusOK, m), nil
}

func entriesMembers(list *ofac.Index, uids []uint32) strictjson.Members {
	items := []strictjson.Members{}
	for _, uid := range uids[:min(len(uids), diffListed)] {
		entry, known := list.Entry(uid)
		if !known {
			continue
		}
		var m strictjson.Members
		m.Text("uid", strconv.FormatUint(uint64(uid), 10))
		m.Text("name", entry.Primary)
		m.Text("type", entry.Type.String())
		m.Text("list", edge.ListName(entry.Lists))
		m.Texts("programs", entry.Programs)
		items = append(items, m)
	}
	return counted(len(uids), items)
}

func addressesMembers(addresses []ofac.ListedWallet) strictjson.Members {
	items := []strictjson.Members{}
	for _, address := range addresses[:min(len(addresses), diffListed)] {
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
func activateList(c *border.Request) (border.Answer, error) {
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
	return activateAs(c, info, rulebook.Activation{Force: force, Grounds: grounds})
}

func activateAs(c *border.Request, info *wire.ListInfo, a rulebook.Activation) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindListActivate, Record: func() (any, error) {
		return a.Record(&c.Judge, info, func() ([]string, error) { return UploadProblems(c, info) })
	}, Refused: func(r wire.Result) error {
		switch r.Refusal {
		case wire.RefusedList:
			return rulebook.RejectList("the list is no longer staged: upload it again")
		case wire.RefusedNotDev:
			return rulebook.RejectList("the sample list may serve development clusters only")
		}
		return nil
	}}, func(wire.Result) (border.Answer, error) {
		m := ListMembers(c.Judge.Terms.Settings.List)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// UploadProblems reads the results of an upload's checks from the list's own leaf, so that
// any node can judge a list that another one received. It searches all leaves from the time
// of staging on. A missing leaf is itself a problem: lost checks do not pass.
func UploadProblems(c *border.Request, info *wire.ListInfo) ([]string, error) {
	problems := []string{"what its upload's checks found cannot be read here: ask another node, or upload it again"}
	text := hex.EncodeToString(info.Digest[:])
	store := c.Records().Audit()
	at := audit.Query{
		From: store.FindTime(int64(info.StagedAt - engine.Millisecond)), To: ^uint64(0), Examine: border.LeafScanMax,
		Keys: []uint64{engine.FilterKey(engine.FilterKind, "list.staged")},
	}
	_, err := store.Scan(at, func(index uint64, stored audit.Leaf) bool {
		l, err := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
		if err != nil || l.Kind() != "list.staged" || l.Text("listDigest") != text {
			return true
		}
		problems = l.Texts("problems")
		return false
	})
	if err != nil {
		return nil, edge.LeafError(err) // Unreadable checks do not pass.
	}
	return problems, nil
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
	l.CopyTo(m, "sample", "forced", "rollback", "problems", "reason", "actor", "eventId")
	return nil
}

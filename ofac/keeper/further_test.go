package keeper

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/judge"
	"railguard/ofac/listtest"
)

// joined applies a change to a list and returns it compiled.
func joined(t *testing.T, active *ofac.Index, held *wire.ListInfo, change Change) (*ofac.Index, *wire.ListInfo) {
	encoded, info, err := Join(active, held, change)
	require.NoError(t, err)
	require.Equal(t, change.List.ID, info.Brings)
	require.Equal(t, held.Digest[:], info.Over)
	list, err := ofac.Compile(encoded, ofac.MatcherVersion)
	require.NoError(t, err)
	require.Equal(t, list.Digest(), info.Digest)
	return list, &info
}

func house() ofac.Further { return ofac.Further{ID: "house", Name: "House list"} }

// row is an entry of an own list as a call tells it.
func row(id, name string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"kind":"company","name":%q,"reason":"fraud"}`, id, name)
}

// Whatever is brought, the rest of the snapshot stays: a file of one list, single entries of an own
// list, OFAC's files. The judge looks only at what changed.
func TestListsAreJoined(t *testing.T) {
	m := newMirror(t)
	m.lists("2026-03-01", 40)
	g := useSample(t, newGroup(t))
	d := New(g, Config{Source: m.URL, Every: time.Hour, Ran: func(error) {}}, slog.New(slog.DiscardHandler))
	trust(d, m)
	_, err := d.Sync(t.Context())
	require.NoError(t, err)
	held := g.Settings().List
	active, err := g.ListByDigest(held.Digest)
	require.NoError(t, err)

	var file strings.Builder
	file.WriteString("id,kind,name\n")
	for i := range 20 {
		fmt.Fprintf(&file, "%d,company,Quuxven Zorbal %c Holding\n", i, 'a'+i)
	}
	one, info := joined(t, active, held, Change{List: house(), File: []byte(file.String())})
	require.EqualValues(t, 20, info.OfSource("house").Entries)
	require.Equal(t, "own", info.OfSource("house").Further.Format)
	require.Equal(t, held.SDN, info.SDN)
	require.Equal(t, held.Chains, info.Chains)
	entries, names, wallets := info.OfOFAC()
	require.Equal(t, []uint32{held.Entries, held.Names, held.Wallets}, []uint32{entries, names, wallets})
	precedents := judge.Precedents{Active: held, History: g.Settings().History, Now: g.LogTime(), Left: judge.Left(active.Entities(), one.Entities())}
	require.Empty(t, judge.Replacement(precedents, info, info.Found))

	// Single entries: one is added, one changed, one ended.
	two, after := joined(t, one, info, Change{List: house(), Add: [][]byte{row("new", "Frobnitz Gulp Bank"), row("3", "Changed Crater Works")}, End: []string{"4"}})
	require.EqualValues(t, 20, after.OfSource("house").Entries)
	screen := func(list *ofac.Index, name string) ofac.Outcome {
		return list.Screen(&ofac.Query{Name: name}, ofac.NewScratch()).Outcome
	}
	require.Equal(t, ofac.Possible, screen(two, "Frobnitz Gulp Bank"))
	require.Equal(t, ofac.Possible, screen(two, "Changed Crater Works"))
	require.Equal(t, ofac.Clear, screen(two, "Quuxven Zorbal d Holding"))
	require.Equal(t, ofac.Clear, screen(two, "Quuxven Zorbal e Holding"))
	require.Equal(t, ofac.Listed, screen(two, "LAZARUS GROUP"))
	requireBadChanges(t, one, info)

	// The judge: each list for itself.
	problems := func(active, next *wire.ListInfo) string {
		return strings.Join(judge.Replacement(judge.Precedents{Active: active, Now: g.LogTime()}, next, next.Found), "\n")
	}
	_, fewer := joined(t, two, after, Change{List: house(), File: []byte("id,kind,name\n1,company,Quuxven Zorbal b Holding\n")})
	require.Contains(t, problems(after, fewer), "shrunk: house would shrink from 20 to 1 entries")
	require.Empty(t, judge.EntryByEntry([]string{problems(after, fewer)}))
	_, none := joined(t, two, after, Change{List: house(), Remove: true})
	require.Contains(t, problems(after, none), "family_missing: the list house of 20 entries would be missing")
	require.Equal(t, held.Digest, none.Digest, "it is the list of OFAC alone again")
	strict := house()
	strict.Blocks = true
	blocks, stricter := joined(t, two, after, Change{List: strict, File: []byte(file.String())})
	require.Empty(t, problems(after, stricter))
	require.Equal(t, ofac.Listed, screen(blocks, "Quuxven Zorbal b Holding"))
	_, lowered := joined(t, blocks, stricter, Change{List: house(), File: []byte(file.String())})
	require.Contains(t, problems(stricter, lowered), "effect_lowered: the list house")

	// OFAC's next files carry the list.
	asOf := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	files := map[string][]byte{
		"SDN_ENHANCED.XML":  sdnOf(asOf, 40),
		"CONS_ENHANCED.XML": listtest.WriteEnhanced("Consolidated List", asOf, listtest.Entity{ID: 930001, Last: "PASSERBY HOLDING"}),
	}
	encoded, carried, err := EncodeFiles(files, time.Time{}, two, after)
	require.NoError(t, err)
	require.Equal(t, after.OfSource("house").Sum, carried.OfSource("house").Sum)
	require.Equal(t, after.Digest[:], carried.Over)
	require.Equal(t, ofac.Digest(encoded), after.Digest, "the same files and the same list are the same snapshot")
}

// requireBadChanges holds that a change that cannot be made is refused.
func requireBadChanges(t *testing.T, one *ofac.Index, info *wire.ListInfo) {
	for _, bad := range []Change{
		{List: house(), End: []string{"none"}}, {List: house(), Add: [][]byte{row("3", "A B")}, End: []string{"3"}}, {List: house(), Add: [][]byte{row("3", "A B"), row("3", "A B")}},
		{List: house(), Add: [][]byte{[]byte(`{"id":"x","kind":"company","name":"A B","effect":"allow"}`)}}, {List: ofac.Further{ID: "other"}, Remove: true},
		{List: ofac.Further{ID: "SDN", Name: "x"}, Add: [][]byte{row("3", "A B")}},
	} {
		_, _, err := Join(one, info, bad)
		require.Error(t, err)
	}
}

// In the log: a list comes in force with the others as they are; one that was joined with an older
// list is refused; a fetch of OFAC's files leaves it alone; importing it again says that it is
// current, and nothing of how old OFAC's list is.
func TestJoinedListsInTheLog(t *testing.T) {
	m := newMirror(t)
	m.lists("2026-03-01", 40)
	g := useSample(t, newGroup(t))
	d := New(g, Config{Source: m.URL, Every: time.Hour, Ran: func(error) {}}, slog.New(slog.DiscardHandler))
	trust(d, m)
	sync := func() {
		_, err := d.Sync(t.Context())
		require.NoError(t, err)
	}
	sync()
	activate := func(encoded []byte, info wire.ListInfo) wire.Result {
		_, err := g.Stage(t.Context(), encoded, info, true, wire.Common{})
		require.NoError(t, err)
		result, err := g.Propose(t.Context(), wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: info.Digest, Refresh: g.Settings().List.Digest == info.Digest, List: info.Brings}))
		require.NoError(t, err)
		return result
	}
	join := func(change Change) ([]byte, wire.ListInfo) {
		held := g.Settings().List
		active, err := g.ListByDigest(held.Digest)
		require.NoError(t, err)
		encoded, info, err := Join(active, held, change)
		require.NoError(t, err)
		return encoded, info
	}
	file := []byte("id,kind,name\n1,company,Quuxven Zorbal\n2,company,Frobnitz Gulp\n")
	olderBytes, older := join(Change{List: ofac.Further{ID: "other", Name: "Other"}, Add: [][]byte{row("1", "Made Before Works")}})
	synced := g.Settings().ListSynced
	require.Equal(t, wire.Applied, activate(join(Change{List: house(), File: file})).Code)
	settings := g.Settings()
	require.Equal(t, synced, settings.ListSynced, "an own list does not make OFAC's younger")
	first := settings.List.OfSource("house").SyncedAt
	require.NotZero(t, first)
	result := activate(olderBytes, older)
	require.Equal(t, wire.RefusedList, result.Refusal, "it would drop the list that came in force since")

	require.Equal(t, wire.Applied, activate(join(Change{List: house(), File: file})).Code)
	again := g.Settings()
	require.Equal(t, settings.ListVersion, again.ListVersion)
	require.Greater(t, again.List.OfSource("house").SyncedAt, first)
	require.Equal(t, synced, again.ListSynced)

	m.lists("2026-03-02", 41)
	sync()
	next := g.Settings()
	require.Equal(t, settings.ListVersion+1, next.ListVersion)
	require.EqualValues(t, 2, next.List.OfSource("house").Entries)
	require.Equal(t, again.List.OfSource("house").SyncedAt, next.List.OfSource("house").SyncedAt)
	require.Greater(t, next.ListSynced, synced)
	sync()
	require.Equal(t, next.ListVersion, g.Settings().ListVersion, "the same files are the same list")

	late := next.List.OfSource("house")
	late.Further.AgeMax = engine.Hour
	require.False(t, late.IsLate(late.SyncedAt+engine.Hour))
	require.True(t, late.IsLate(late.SyncedAt+engine.Hour+1))
}

package fsm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// A swap that was checked without any list does nothing if there is a list: a new leader may
// check before it has read its own log to the end.
func TestASwapIsOfTheListItWasCheckedAgainst(t *testing.T) {
	w := &world{t: t, m: New(), term: 2, now: start}
	w.do(wire.KindGenesis, testGenesis())
	stage := func(text string) [32]byte {
		data := []byte(text)
		info := &wire.ListInfo{Digest: sha(data), Entries: 1}
		require.Equal(t, wire.Applied, w.do(wire.KindListChunk, &wire.ListChunk{Digest: sha(data), Total: uint32(len(data)), Data: data, Info: info}).Code)
		return info.Digest
	}
	swap := func(digest [32]byte, base uint64) wire.Result {
		return w.do(wire.KindListActivate, &wire.ListActivate{Digest: digest, Base: base})
	}
	first := stage("first")
	require.Equal(t, wire.Stale, swap(first, 1).Code, "there is no version 1")
	require.Equal(t, wire.Applied, swap(first, wire.ListBase(0)).Code)
	second := stage("second")
	r := swap(second, wire.ListBase(0))
	require.Equal(t, wire.Stale, r.Code)
	require.EqualValues(t, 1, r.Value)
	require.Equal(t, first, w.m.settings.List.Digest)
	require.Equal(t, wire.Applied, swap(second, wire.ListBase(1)).Code)
	require.Equal(t, second, w.m.settings.List.Digest)
	replayAgrees(t, w, 3)
}

// listWorld is a cluster in which lists are staged and activated.
type listWorld struct{ *world }

func newListWorld(t *testing.T) listWorld {
	w := &world{t: t, m: New(), term: 2, now: start}
	w.do(wire.KindGenesis, testGenesis())
	return listWorld{w}
}

func (w listWorld) stage(text string, info wire.ListInfo, replace bool) wire.Result {
	info.Digest, info.Source = sha([]byte(text)), text
	return w.do(wire.KindListChunk, &wire.ListChunk{Digest: info.Digest, Total: uint32(len(text)), Data: []byte(text), Info: &info, Replace: replace})
}

func (w listWorld) activate(text string, record wire.ListActivate) wire.Result {
	record.Digest = sha([]byte(text))
	return w.do(wire.KindListActivate, &record)
}

func (w listWorld) staged() (texts []string) {
	for i, info := range w.m.settings.Staged {
		require.Equal(w.t, info.Source, string(w.m.rulebook.stagedData[i]))
		texts = append(texts, info.Source)
	}
	return texts
}

// An uploaded list stays staged until it is activated or somebody says that it gives way. A
// fetched one has a place of its own. All of it survives a restore.
func TestStagedListsStay(t *testing.T) {
	w := newListWorld(t)
	uploaded := wire.ListInfo{Uploaded: true, Entries: 1}
	require.Equal(t, wire.Applied, w.stage("upload 1", uploaded, false).Code)
	require.Equal(t, wire.Applied, w.stage("upload 2", uploaded, false).Code)
	require.Equal(t, wire.RefusedFull, w.stage("upload 3", uploaded, false).Refusal)
	require.Equal(t, wire.Applied, w.stage("upload 2", uploaded, false).Code, "the same again")
	require.Equal(t, wire.Applied, w.stage("fetched 1", wire.ListInfo{}, false).Code)
	require.Equal(t, wire.Applied, w.stage("fetched 2", wire.ListInfo{}, false).Code)
	require.Equal(t, []string{"upload 1", "upload 2", "fetched 2"}, w.staged())
	restored := restoredFrom(t, w.m)
	require.Equal(t, listWorld{&world{t: t, m: restored}}.staged(), w.staged())
	require.Equal(t, wire.Applied, w.activate("fetched 2", wire.ListActivate{}).Code)
	require.Equal(t, []string{"upload 1", "upload 2"}, w.staged(), "what is activated leaves the others")
	require.Equal(t, wire.Applied, w.stage("upload 3", uploaded, true).Code)
	require.Equal(t, []string{"upload 2", "upload 3"}, w.staged(), "the oldest gives way")
	require.Equal(t, wire.RefusedList, w.activate("upload 1", wire.ListActivate{}).Refusal)
	require.Equal(t, wire.Applied, w.activate("upload 2", wire.ListActivate{}).Code)
	require.Equal(t, []string{"upload 3"}, w.staged())
	replayAgrees(t, w.world, 3)
}

// Lists that were joined with a list in force which is no longer it cannot come in force: where no more
// may be staged, they give way, and one that still can stays.
func TestOvertakenListsGiveWay(t *testing.T) {
	w := newListWorld(t)
	house := []wire.ListSource{{Name: "house", Entries: 1, Further: &wire.FurtherList{Number: 1, Name: "House", Format: "own"}}}
	joined := func(over string) wire.ListInfo {
		digest := sha([]byte(over))
		return wire.ListInfo{Uploaded: true, Entries: 2, Others: house, Brings: "house", Over: digest[:]}
	}
	require.Equal(t, wire.Applied, w.stage("first", wire.ListInfo{Entries: 1}, false).Code)
	require.Equal(t, wire.Applied, w.activate("first", wire.ListActivate{}).Code)
	for _, text := range []string{"entry 1", "entry 2"} {
		require.Equal(t, wire.Applied, w.stage(text, joined("first"), false).Code)
	}
	require.Equal(t, wire.RefusedFull, w.stage("entry 3", joined("first"), false).Refusal, "both of them still can")
	require.Equal(t, wire.Applied, w.activate("entry 1", wire.ListActivate{}).Code)
	require.Equal(t, wire.Applied, w.stage("entry 4", joined("entry 1"), false).Code)
	require.Equal(t, []string{"entry 2", "entry 4"}, w.staged(), "there is room for both")
	require.Equal(t, wire.RefusedList, w.activate("entry 2", wire.ListActivate{}).Refusal)
	require.Equal(t, wire.Applied, w.stage("entry 5", joined("entry 1"), false).Code)
	require.Equal(t, []string{"entry 4", "entry 5"}, w.staged(), "the overtaken one gives way")
	require.Equal(t, wire.RefusedFull, w.stage("entry 6", joined("entry 1"), false).Refusal)
	replayAgrees(t, w.world, 3)
}

// The log itself takes no list of the future, whatever a caller forces.
func TestNoListOfTheFuture(t *testing.T) {
	w := newListWorld(t)
	limit := w.m.now + 2*engine.DayLength
	for name, info := range map[string]wire.ListInfo{
		"the list": {PublishedAt: limit + engine.Hour}, "SDN": {SDNAsOf: limit + engine.Hour}, "CONS": {CONSAsOf: limit + engine.Hour},
		"another source": {Others: []wire.ListSource{{Name: "X", AsOf: limit + engine.Hour}}},
	} {
		require.Equal(t, wire.Applied, w.stage(name, info, false).Code)
		require.Equal(t, wire.RefusedList, w.activate(name, wire.ListActivate{Force: true}).Refusal, name)
	}
	require.Equal(t, wire.Applied, w.stage("two days ahead", wire.ListInfo{SDNAsOf: limit}, false).Code)
	require.Equal(t, wire.Applied, w.activate("two days ahead", wire.ListActivate{}).Code)
}

// The history says which list was rolled back, which was forced, and which leaf put each in
// force. An alert names who left.
func TestHistoryOfLists(t *testing.T) {
	w := newListWorld(t)
	var leaves []uint64
	for _, text := range []string{"first", "second"} {
		w.stage(text, wire.ListInfo{Entries: 1}, false)
		leaves = append(leaves, w.activate(text, wire.ListActivate{Force: text == "second"}).Leaf)
	}
	w.stage("first", wire.ListInfo{Entries: 1}, false)
	left := &wire.ListLeft{Parties: 2, Wallets: 1, First: []string{"party 7: NOBODY"}}
	r := w.activate("first", wire.ListActivate{Rollback: true, Left: left})
	leaves = append(leaves, r.Leaf)
	var rolledBack, forced []bool
	for i, info := range w.m.settings.History {
		rolledBack, forced = append(rolledBack, info.RolledBackAt != 0), append(forced, info.Forced)
		require.Equal(t, leaves[i], info.ActivatedLeaf)
	}
	require.Equal(t, []bool{false, true, false}, rolledBack)
	require.Equal(t, []bool{false, true, false}, forced)
	alerts := w.m.Freeze().AlertsOpen()
	require.Equal(t, 1, alerts[wire.AlertLeft])
	require.Contains(t, string(w.out.Leaves[len(w.out.Leaves)-1].Data), "party 7: NOBODY")
	left.First = make([]string, 21)
	w.stage("third", wire.ListInfo{Entries: 1}, false)
	require.Equal(t, wire.RefusedList, w.activate("third", wire.ListActivate{Left: left}).Refusal, "a record names twenty at most")
	replayAgrees(t, w.world, 3)
}

// Many small lists do not push the largest of the last 90 days out of the history.
func TestLargestListIsRemembered(t *testing.T) {
	var history []*wire.ListInfo
	for i := range 10 {
		history = append(history, &wire.ListInfo{Version: uint64(i), ActivatedAt: engine.Time(100 + i), Entries: uint32(100 - i)})
	}
	kept := func(most int, after engine.Time) (versions []uint64) {
		for _, info := range trimHistory(slices.Clone(history), most, after) {
			versions = append(versions, info.Version)
		}
		return versions
	}
	require.Equal(t, []uint64{0, 8, 9}, kept(3, 0))
	require.Equal(t, []uint64{7, 8, 9}, kept(3, 107))
	require.Len(t, kept(20, 0), 10)
}

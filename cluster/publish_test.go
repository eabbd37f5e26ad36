package cluster

import (
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

var readyQueryAll = report.ReadyQuery{}

// jumpClock is a clock whose wall can jump.
type jumpClock struct {
	Clock
	by atomic.Int64
}

func (c *jumpClock) Wall() engine.Time { return c.Clock.Wall() + engine.Time(c.by.Load()) }

func TestPages(t *testing.T) {
	p := newPages[int](3*pageSlots - 1)
	for _, slot := range []uint32{0, 1, pageSlots - 1, pageSlots, 3*pageSlots - 1} {
		require.Nil(t, p.profileAt(slot))
		value := int(slot)
		p.putProfile(slot, &value)
		require.Equal(t, value, *p.profileAt(slot))
	}
	beyond := 1
	p.putProfile(3*pageSlots, &beyond)
	require.Nil(t, p.profileAt(3*pageSlots))
	require.Nil(t, p.profileAt(1<<31))
	p.putProfile(pageSlots, nil)
	require.Nil(t, p.pageAt(1), "nothing is left of the page")
	p.putProfile(pageSlots, nil)
	require.Nil(t, p.pageAt(1))
	p.putProfile(0, nil)
	p.putProfile(0, nil)
	require.Equal(t, 1, *p.profileAt(1))
}

// TestPagesOfAllSlots: there is room for every slot that there can be, and the room takes little
// before it is used.
func TestPagesOfAllSlots(t *testing.T) {
	p := newPages[int](math.MaxUint32)
	require.Less(t, len(p.directory), 2000)
	for _, slot := range []uint32{0, pageSlots*areaPages - 1, pageSlots * areaPages, math.MaxUint32} {
		require.Nil(t, p.profileAt(slot))
		value := int(slot)
		p.putProfile(slot, &value)
		require.Equal(t, value, *p.profileAt(slot))
	}
}

func TestPublishedTake(t *testing.T) {
	p := newPublished()
	agent := &engine.AgentProfile{Slot: 5, Rev: 1}
	user := &engine.UserProfile{Slot: 6}
	p.takeEffects(&fsm.Effects{
		Agents: []*engine.AgentProfile{agent}, Users: []*engine.UserProfile{user},
		Fleets:       []*engine.FleetProfile{{Slot: 7}},
		Dispositions: []fsm.LeafLink{{Leaf: 10, Later: 20}},
		Comments:     []fsm.LeafLink{{Leaf: 10, Later: 21}, {Leaf: 10, Later: 22}},
	}, nil)
	require.Same(t, agent, p.agents.profileAt(5))
	require.Same(t, user, p.users.profileAt(6))
	require.NotNil(t, p.fleets.profileAt(7))
	value, ok := p.dispositions.Load(uint64(10))
	require.True(t, ok)
	require.Equal(t, uint64(20), value)
	comments, _ := p.comments.Load(uint64(10))
	require.Equal(t, []uint64{21, 22}, comments)

	p.takeEffects(&fsm.Effects{UsersGone: []engine.UserSlot{6}, AgentsGone: []engine.AgentSlot{5}, FleetsGone: []engine.FleetSlot{7}, Oldest: 11}, nil)
	require.Nil(t, p.users.profileAt(6))
	require.Nil(t, p.agents.profileAt(5))
	require.Nil(t, p.fleets.profileAt(7))
	p.forgetOutcomes()
	_, ok = p.dispositions.Load(uint64(10))
	require.False(t, ok)
	_, ok = p.comments.Load(uint64(10))
	require.False(t, ok)
}

func TestPublishedKeepsNewestComments(t *testing.T) {
	p := newPublished()
	for i := range uint64(engine.CommentsKept + 1) {
		p.linkComment(fsm.LeafLink{Leaf: 1, Later: 100 + i})
	}
	value, _ := p.comments.Load(uint64(1))
	kept := value.([]uint64)
	require.Len(t, kept, engine.CommentsKept)
	require.EqualValues(t, 101, kept[0])
	require.EqualValues(t, 100+engine.CommentsKept, kept[len(kept)-1])
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p progress
		p.advanceTo(5)
		require.NoError(t, p.awaitIndex(t.Context(), 5))
		var all sync.WaitGroup
		for i := range uint64(4) {
			all.Go(func() { require.NoError(t, p.awaitIndex(t.Context(), 6+i)) })
		}
		synctest.Wait()
		for i := range uint64(4) {
			p.advanceTo(6 + i)
		}
		all.Wait()
		p.advanceTo(3)
		require.EqualValues(t, 9, p.noteReached(), "never goes back")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.awaitIndex(ctx, 10), context.DeadlineExceeded)
		p.haltWith(errHalted)
		require.ErrorIs(t, p.awaitIndex(t.Context(), 10), errHalted)
		require.NoError(t, p.awaitIndex(t.Context(), 9))
	})
}

func TestLogTimeRunsAheadBoundedly(t *testing.T) {
	c := &handClock{wall: 100 * engine.Second}
	s := newState(c, nil)
	require.Zero(t, s.LogTime())
	s.logTime.Store(&instant{time: 50 * engine.Second, at: c.Monotonic()})
	c.pass(engine.Second)
	require.Equal(t, 51*engine.Second, s.LogTime())
	c.pass(engine.Hour)
	require.Equal(t, 52*engine.Second, s.LogTime())
}

func TestListKeeper(t *testing.T) {
	k := newListKeeper(t.TempDir(), ofac.Carried(), newLife(slog.New(slog.DiscardHandler), nil), newState(&handClock{}, nil), nil, nil)
	digest := func(b byte) (d [32]byte) { d[0] = b; return d }
	const day = engine.DayLength
	require.NoError(t, k.writeList(keptList{digest: digest(1), data: []byte("one"), at: 1 * day}))
	require.NoError(t, k.writeList(keptList{digest: digest(2), data: []byte("two"), at: 2 * day}))
	require.NoError(t, k.writeList(keptList{digest: digest(3), data: []byte("three"), at: 3 * day}))
	require.NoError(t, k.touchActive(digest(1), 60*day))
	require.NoError(t, k.touchActive(digest(9), 60*day), "a list that is not here")

	require.NoError(t, k.pruneLists(digest(3), 2*day+listKept))
	require.FileExists(t, k.listPath(digest(2)), "at its last instant")
	require.NoError(t, k.pruneLists(digest(3), 100*day))
	require.FileExists(t, k.listPath(digest(1)), "was in use until day 60")
	require.NoFileExists(t, k.listPath(digest(2)))
	require.FileExists(t, k.listPath(digest(3)), "is active")

	_, err := k.findKept(tablesKey{digest(2), 1})
	require.ErrorIs(t, err, ErrNoList)
	_, err = k.findKept(tablesKey{digest(1), 1})
	require.ErrorContains(t, err, "damaged")
}

// A list that was staged and never activated is deleted a day later. A list that becomes active
// without having been staged here is written then.
func TestStagedListsArePruned(t *testing.T) {
	k := newListKeeper(t.TempDir(), ofac.Carried(), nil, newState(&handClock{}, nil), nil, nil)
	const day = engine.DayLength
	digest := [32]byte{1}
	hurry := func() bool { return true }
	require.NoError(t, k.writeFile(k.stagedPath(digest), []byte("one"), 5*day, hurry))
	require.NoError(t, k.pruneLists([32]byte{9}, 6*day))
	require.FileExists(t, k.stagedPath(digest))
	require.NoError(t, k.pruneLists([32]byte{9}, 6*day+1))
	require.NoFileExists(t, k.stagedPath(digest))
	require.NoError(t, k.writeFile(k.stagedPath(digest), []byte("one"), 5*day, hurry))
	require.NoError(t, k.writeList(keptList{digest: digest, data: []byte("other"), at: 7 * day}))
	require.NoFileExists(t, k.stagedPath(digest))
	kept, err := os.ReadFile(k.listPath(digest))
	require.NoError(t, err)
	require.Equal(t, "one", string(kept), "renamed, not written")
	k.keepStaged(wantedList{digest: digest, entities: []byte("one"), at: 8 * day})
	require.NoFileExists(t, k.stagedPath(digest), "it was active before and is kept as that")
	require.NoError(t, k.pruneLists([32]byte{9}, 60*day))
	require.FileExists(t, k.listPath(digest), "its 90 days begin when it is active")
}

// Files that are no lists are left alone.
func TestPruneLeavesStrangers(t *testing.T) {
	k := newListKeeper(t.TempDir(), ofac.Carried(), nil, newState(&handClock{}, nil), nil, nil)
	stranger := filepath.Join(k.dir, "stranger")
	require.NoError(t, os.WriteFile(stranger, nil, 0o600))
	require.NoError(t, k.pruneLists([32]byte{1}, 1000*engine.DayLength))
	require.FileExists(t, stranger)
}

func TestDiskLevels(t *testing.T) {
	const mib = uint64(engine.MiB)
	for _, test := range []struct {
		name        string
		free, total uint64
		want        diskLevel
	}{
		{"large disk, plenty", 6000 * mib, 1_000_000 * mib, diskFine},
		{"large disk at the warning", 5120 * mib, 1_000_000 * mib, diskFine},
		{"large disk under the warning", 5120*mib - 1, 1_000_000 * mib, diskWarn},
		{"large disk under 1 GiB", 1024*mib - 1, 1_000_000 * mib, diskLow},
		{"large disk under 256 MiB", 256*mib - 1, 1_000_000 * mib, diskFull},
		{"small disk at a fifth", 200 * mib, 1000 * mib, diskFine},
		{"small disk under a fifth", 199 * mib, 1000 * mib, diskWarn},
		{"small disk under a tenth", 99 * mib, 1000 * mib, diskLow},
		{"small disk under a twentieth", 49 * mib, 1000 * mib, diskFull},
	} {
		require.Equal(t, test.want, levelOf(test.free, test.total), test.name)
	}
}

func TestNodeLowOnDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(100 * engine.MiB)
	gave := &gaveUp{}
	n := openAlone(t, t.TempDir(), func(c *Config) {
		c.Fatal = gave.fatal
		c.FreeSpace = func(string) (uint64, uint64, error) { return free.Load(), 200 * engine.MiB, nil }
	})
	propose(t, n, wire.KindRegister, register("a"))
	free.Store(15 * engine.MiB)
	n.disk.checkSpace()
	_, err := n.Propose(t.Context(), wire.KindRegister, register("b"))
	require.ErrorIs(t, err, wire.ErrStorageLow)
	require.False(t, n.Ready(t.Context(), readyQueryAll).Ready)
	free.Store(100 * engine.MiB)
	n.disk.checkSpace()
	propose(t, n, wire.KindRegister, register("c"))
	free.Store(5 * engine.MiB)
	n.disk.checkSpace()
	require.Len(t, gave.all(), 1)
	require.Contains(t, gave.all()[0], "disk full")
}

func TestDigestsCompare(t *testing.T) {
	d := newDigests()
	require.Nil(t, d.nextClaim())
	require.True(t, d.checkClaim(5, []byte{1}), "not computed here yet")
	require.NotNil(t, d.addDigest(wire.Tick{Index: 5, Digest: []byte{2}}), "contradicts the claim that waited")
	require.Nil(t, d.addDigest(wire.Tick{Index: 6, Digest: []byte{3}}))
	require.True(t, d.checkClaim(6, []byte{3}))
	require.False(t, d.checkClaim(6, []byte{4}))
	claim := d.nextClaim()
	require.EqualValues(t, 6, claim.Index)
	require.Nil(t, d.nextClaim(), "told once")
	for i := range uint64(digestsKept) {
		d.addDigest(wire.Tick{Index: 100 + i, Digest: []byte{1}})
	}
	_, ok := d.digestAt(6)
	require.False(t, ok, "bounded")
}

// TestDigestInstants: the instants follow from log time and the state's size alone. Larger
// states have fewer, and each of them is also an instant of smaller states.
func TestDigestInstants(t *testing.T) {
	instants := func(rows int) (seconds []int) {
		for at := 1; at <= 4096; at++ {
			if digestDue(engine.Time(at-1)*engine.Second, engine.Time(at)*engine.Second, rows) {
				seconds = append(seconds, at)
			}
		}
		return seconds
	}
	smaller := instants(0)
	require.Len(t, smaller, 1024, "every four seconds")
	require.Equal(t, smaller, instants(digestRows))
	for scale := 1; scale <= digestScaleMax; scale++ {
		larger := instants(digestRows<<(scale-1) + 1)
		require.Len(t, larger, 1024>>scale)
		require.Subset(t, smaller, larger)
		require.Equal(t, larger, instants(digestRows<<scale))
		smaller = larger
	}
	require.Equal(t, smaller, instants(digestRows<<20), "but never none")
}

// TestDisputesAreBounded: one goroutine looks for the majority, at the newest disputed indices
// and at the newest own digest.
func TestDisputesAreBounded(t *testing.T) {
	d := newDigests()
	require.True(t, d.addDispute(dispute{1, true}))
	require.False(t, d.addDispute(dispute{1, true}))
	for index := uint64(2); index <= disputesKept+2; index++ {
		require.False(t, d.addDispute(dispute{index, false}))
	}
	d.addDigest(wire.Tick{Index: 99, Digest: []byte{1}})
	open := d.listDisputes()
	require.Len(t, open, disputesKept+1)
	require.Equal(t, dispute{index: 99}, open[disputesKept])
	oldest, disputed := d.inDispute()
	require.True(t, disputed)
	require.EqualValues(t, 3, oldest)
	d.endDisputes()
	_, disputed = d.inDispute()
	require.False(t, disputed)
	require.True(t, d.addDispute(dispute{1, true}), "anew")
}

// A node that hears of nothing new gives out no status list that verifiers elsewhere would find
// too old, whichever of its clocks shows that. A node that replays an old log gives out none
// either.
func TestStatusListsOfANodeThatIsCutOff(t *testing.T) {
	const at = 1_000_020 * engine.Second // The beginning of a minute.
	c := &handClock{wall: at + 3*engine.Second}
	s := newState(c, nil)
	s.statuses = newStatusKeeper(nil)
	require.Nil(t, s.Statuses())
	lists := &fsm.Statuses{At: at}
	s.statuses.made.Store(lists)
	require.Nil(t, s.Statuses(), "nothing was applied")
	s.published.Load().settings.Store(&fsm.Settings{Format: engine.Format1})
	s.logTime.Store(&instant{time: at + 3*engine.Second, at: c.Monotonic()})
	require.Same(t, lists, s.Statuses())
	c.pass(71 * engine.Second)
	require.Same(t, lists, s.Statuses(), "the next minute's may be on their way")
	c.pass(engine.Second)
	require.Nil(t, s.Statuses(), "no entry came for too long")
	s.logTime.Store(&instant{time: at + 70*engine.Second, at: c.Monotonic()})
	require.Same(t, lists, s.Statuses())
	c.wall = at + 2*engine.Minute
	require.Nil(t, s.Statuses(), "an old log: the wall clock says that the list has ended")
	s.published.Load().settings.Store(&fsm.Settings{Format: engine.Format1, ClockOffset: -engine.Minute})
	require.Same(t, lists, s.Statuses(), "log time of a test is another")
	s.statuses.replaceView(nil)
	require.Nil(t, s.Statuses())
}

// A newer view replaces one that waits, and the apply goroutine never waits.
func TestStatusKeeperTakesTheNewest(t *testing.T) {
	k := newStatusKeeper(nil)
	first, second := new(fsm.View), new(fsm.View)
	k.offerView(first)
	k.offerView(second)
	require.Same(t, second, <-k.views)
	require.Empty(t, k.views)
}

package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// silentSoon makes a node notice sooner that nobody confirms it.
func silentSoon(c *Config) { c.SilentAfter = 600 * time.Millisecond }

func isReady(t *testing.T, n *Node, check string) (ok bool) {
	t.Helper()
	found := false
	r := n.Ready(t.Context(), report.ReadyQuery{})
	for _, c := range r.Checks {
		if c.Name == check {
			ok, found = c.OK, true
		}
	}
	require.True(t, found, "readiness has no check %s", check)
	require.True(t, ok || !r.Ready)
	return ok
}

// A node that starts answers nothing until it has applied what was committed when it first
// reached the leader; whether it is current is decided by that alone, and readiness says so.
func TestSilentUntilCaughtUp(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	for i := range 50 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("a%d", i)))
	}
	ids := []string{"n1", "n2", "n3"}
	for _, id := range ids {
		g.close(id)
	}
	n := g.open("n1") // It has a log and nobody to ask how much of it counts.
	require.Never(t, func() bool { return n.Currentness() != report.Starting }, time.Second, time.Millisecond)
	require.False(t, isReady(t, n, "current"))
	g.open("n2")
	g.open("n3")
	require.Eventually(t, func() bool { return n.Currentness() == report.Current }, groupPatience, time.Millisecond)
	require.NotNil(t, n.Agent(50), "it is current with all that was acknowledged")
	g.awaitReady()

	for i := range 5 {
		g.close("n1")
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("b%d", i)))
		n := g.open("n1")
		require.Eventually(t, func() bool { return n.Currentness() == report.Current }, groupPatience, 100*time.Microsecond)
		require.Equal(t, fmt.Sprintf("b%d", i), n.Agent(engine.AgentSlot(51+i)).AgentName)
	}
}

// A node that nobody confirms falls silent, whether it reaches nobody or applies nothing, and
// answers again by itself.
func TestSilentWhenCutOff(t *testing.T) {
	g := newGroup(t, silentSoon)
	g.form(3)
	g.awaitReady()
	late := g.follower()
	require.Equal(t, report.Current, late.Currentness())
	late.adapter.mu.Lock() // The node applies nothing.
	goOn := sync.OnceFunc(late.adapter.mu.Unlock)
	defer goOn()
	propose(t, g.leader(), wire.KindRegister, register("not heard of"))
	require.Eventually(t, func() bool { return late.Currentness() == report.CutOff }, 20*time.Second, 10*time.Millisecond)
	require.False(t, isReady(t, late, "current"))
	goOn()
	require.Eventually(t, func() bool { return late.Currentness() == report.Current }, groupPatience, 10*time.Millisecond)
	require.Never(t, func() bool { return late.Currentness() != report.Current }, 2*late.config.SilentAfter, 10*time.Millisecond, "an idle group stays current")

	left := g.follower().NodeID()
	for id := range g.all() {
		if id != left {
			g.close(id)
		}
	}
	n := g.all()[left]
	require.Eventually(t, func() bool { return n.Currentness() == report.CutOff }, 20*time.Second, 10*time.Millisecond)
	_, err := n.ReadIndex(t.Context())
	require.Error(t, err)
}

// A group of one confirms itself.
func TestAloneIsCurrent(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir, silentSoon)
	propose(t, n, wire.KindRegister, register("one"))
	require.Eventually(t, func() bool { return n.Currentness() == report.Current }, groupPatience, time.Millisecond)
	require.Never(t, func() bool { return n.Currentness() != report.Current }, 2*n.config.SilentAfter, 10*time.Millisecond)
}

// One question to the leader serves all readers that came before it was asked, and each sees what
// was acknowledged before its read.
func TestReadersShareTheirQuestion(t *testing.T) {
	g := newGroup(t, patient)
	g.form(3)
	g.awaitReady()
	reader := g.follower()
	const readers, rounds = 64, 20
	asked := readsAsked.Get()
	var all sync.WaitGroup
	for round := range rounds {
		written := propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("r%d", round)))
		for range readers {
			all.Go(func() {
				index, err := reader.ReadIndex(context.Background())
				if err != nil || index < written.Index || reader.Applied() < written.Index {
					t.Errorf("a read index of %d, %v, after an answer at %d; applied %d", index, err, written.Index, reader.Applied())
				}
			})
		}
		all.Wait()
	}
	require.Less(t, readsAsked.Get()-asked, uint64(readers*rounds/4))
}

// A wiped node finds the member of its name in the configuration: itself, before it forgot its
// votes. That is no vote of its own.
func TestVoteOfTheNodeBefore(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	g.awaitReady()
	wiped := g.follower().NodeID()
	g.close(wiped)
	require.NoError(t, os.RemoveAll(filepath.Join(g.dir, wiped)))
	n := g.open(wiped, expect(3), join(g.host("n1"), g.host("n2"), g.host("n3")))
	mine := n.folder.Identity().Incarnation
	require.Eventually(t, func() bool {
		ok := n.checkVote().OK
		if ok {
			server, _ := g.leader().replica.findServer(raft.ServerID(wiped))
			require.Contains(t, string(server.Address), mine, "it takes the vote of the node before for its own")
			require.Equal(t, raft.Voter, server.Suffrage)
		}
		return ok
	}, groupPatience, 200*time.Microsecond)
}

// compiledLists counts the lists that a node compiles.
type compiledLists struct {
	slog.Handler
	mu    sync.Mutex
	lists int
}

func (h *compiledLists) Enabled(context.Context, slog.Level) bool { return true }
func (h *compiledLists) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *compiledLists) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "list compiled") {
		h.mu.Lock()
		h.lists++
		h.mu.Unlock()
	}
	return nil
}

// A node that reads its log compiles the lists that are active and staged at its end, and none
// that was so on the way.
func TestReplayCompilesTheLastLists(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	former := stageList(t, n, encodedList(t, "FORMER WORKS"))
	activateList(t, n, former)
	_, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	last := stageList(t, n, encodedList(t, "LATER WORKS"))
	activateList(t, n, last)
	require.NoError(t, n.Close())
	counted := &compiledLists{Handler: slog.DiscardHandler}
	n = openAlone(t, dir, func(c *Config) { c.Logger = slog.New(counted) })
	awaitList(t, n, last)
	counted.mu.Lock()
	defer counted.mu.Unlock()
	perList := 0
	for _, matcher := range []uint16{n.Settings().Matcher, n.Settings().Matcher + 1} {
		if n.lists.matchers.Carries(matcher) {
			perList++
		}
	}
	require.LessOrEqual(t, counted.lists, perList)
}

package audit_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"railguard/audit"
	"railguard/audit/audittest"
)

// The model of a store is a few numbers. History is fixed, so the content follows from the
// size, what was synced and what is past retention.
type model struct {
	t      *rapid.T
	h      *history
	d      *audittest.MemDir
	s      *audit.Store
	peer   *audit.Store // has the whole history
	size   uint64
	synced uint64
	oldest uint64
	// fetched: leaves below it came from a peer and are not synced. After a power cut they may
	// be missing again.
	fetched uint64
	random  *rand.Rand
}

const modelSize = 4 * smallSegment

func (m *model) open() {
	s, err := audit.Open(m.d, small)
	require.NoError(m.t, err)
	m.s = s
	s.Prune(m.oldest)
	require.NoError(m.t, s.Adopt(m.synced, m.h.frontiers[m.synced]))
}

// Append appends leaves, sometimes after a replay of earlier ones.
func (m *model) Append(t *rapid.T) {
	first := m.size
	if rapid.Bool().Draw(t, "replay") {
		first = rapid.Uint64Range(0, m.size).Draw(t, "first")
	}
	end := min(first+rapid.Uint64Range(0, 400).Draw(t, "count"), modelSize)
	require.NoError(t, m.s.Append(first, m.h.leaves[first:end]))
	m.size = max(m.size, end)
}

func (m *model) Sync(t *rapid.T) {
	size := rapid.Uint64Range(m.synced, m.size).Draw(t, "size")
	require.NoError(t, m.s.SyncTo(size))
	m.synced = size
	if size >= m.fetched {
		m.fetched = 0
	}
}

func (m *model) Restart(t *rapid.T) {
	require.NoError(t, m.s.Close())
	m.open()
	require.Equal(t, m.size, m.s.Size())
}

// Crash cuts the power and replays the log, in part or to its end.
func (m *model) Crash(t *rapid.T) {
	loss := rapid.SampledFrom([]audittest.Loss{audittest.LoseAll, audittest.LoseSome, audittest.LoseNone}).Draw(t, "loss")
	_ = m.s.Close() // closes the old process, whose disk is cloned next
	m.d = m.d.CrashClone(loss, m.random)
	m.open()
	require.GreaterOrEqual(t, m.s.Size(), m.synced)
	require.LessOrEqual(t, m.s.Size(), m.size)
	end := rapid.Uint64Range(m.s.Size(), m.size).Draw(t, "replayed")
	require.NoError(t, m.s.Append(m.synced, m.h.leaves[m.synced:end]))
	m.size = max(m.s.Size(), end)
	if m.fetched > 0 {
		m.catchUp()
	}
}

// catchUp fetches all missing leaves from a peer of the same size.
func (m *model) catchUp() {
	peer := open(m.t, audittest.NewMemDir(), small)
	require.NoError(m.t, peer.Append(0, m.h.leaves[:m.size]))
	catchUp(m.t, m.s, peer)
	require.NoError(m.t, peer.Close())
}

// Wipe loses the disk. The state comes from a snapshot, history from the peer.
func (m *model) Wipe(t *rapid.T) {
	_ = m.s.Close()
	m.d = audittest.NewMemDir()
	m.synced = m.size
	m.open()
	require.Equal(t, m.size, m.s.Size())
	if m.size < modelSize { // appends go on before history is fetched
		end := min(m.size+rapid.Uint64Range(0, 300).Draw(t, "count"), modelSize)
		require.NoError(t, m.s.Append(m.size, m.h.leaves[m.size:end]))
		m.size = end
	}
	m.catchUp()
	m.fetched = m.size
}

// Rot flips a bit of a sealed segment and repairs the segment.
func (m *model) Rot(t *rapid.T) {
	var names []string
	for name := range m.d.Files() {
		if len(name) == 15 && name[11:] == ".seg" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(t, "file")
	bit := rapid.Int64Range(0, 8*m.d.Files()[name]-1).Draw(t, "bit")
	require.NoError(t, m.d.FlipBit(name, bit))
	sum, err := m.s.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Positive(t, sum.Damaged, "%s bit %d", name, bit)
	m.catchUp()
}

func (m *model) Prune(t *rapid.T) {
	m.oldest = max(m.oldest, rapid.Uint64Range(0, m.size).Draw(t, "oldest"))
	m.s.Prune(m.oldest)
	limit := rapid.IntRange(0, 6).Draw(t, "limit")
	erased, err := m.s.Erase(m.oldest, limit)
	require.NoError(t, err)
	if erased < limit {
		requireErased(t, m.d, m.oldest)
	}
}

func (m *model) Read(t *rapid.T) {
	index := rapid.Uint64Range(0, modelSize).Draw(t, "index")
	got, err := m.s.Record(index)
	switch {
	case index >= m.size:
		require.ErrorIs(t, err, audit.ErrNotYet)
	case index < m.s.Oldest():
		require.ErrorIs(t, err, audit.ErrPruned)
	default:
		require.NoError(t, err)
		require.Equal(t, string(m.h.leaves[index].Data), string(got.Data))
		require.Equal(t, m.h.leaves[index].Keys, got.Keys)
	}
}

func (m *model) Prove(t *rapid.T) {
	if m.size == 0 {
		return
	}
	size := rapid.Uint64Range(1, m.size).Draw(t, "size")
	index := rapid.Uint64Range(0, size-1).Draw(t, "index")
	path, err := m.s.Inclusion(index, size)
	require.NoError(t, err)
	want, err := m.peer.Inclusion(index, size)
	require.NoError(t, err)
	require.Equal(t, want, path)
}

func (m *model) List(t *rapid.T) {
	q := audit.Query{
		From: rapid.Uint64Range(0, modelSize).Draw(t, "from"), To: rapid.Uint64Range(0, modelSize).Draw(t, "to"),
		Newest: rapid.Bool().Draw(t, "newest"), Examine: rapid.IntRange(0, 600).Draw(t, "budget"),
	}
	if rapid.Bool().Draw(t, "keys") {
		q.Keys = []uint64{agentKey(rapid.Uint64Range(0, 8).Draw(t, "agent"))}
	}
	require.Equal(t, plain(q, m.s.Oldest(), m.size), scanAll(t, m.s, q))
}

// Check compares the whole store with the model after every step.
func (m *model) Check(t *rapid.T) {
	require.Equal(t, m.size, m.s.Size())
	require.GreaterOrEqual(t, m.s.Oldest(), m.oldest)
	root, err := m.s.Root(m.size)
	require.NoError(t, err)
	require.Equal(t, m.h.roots[m.size], root)
	require.Empty(t, m.s.Missing(4))
	require.NoError(t, m.s.Broken())
}

func TestStoreAgainstModel(t *testing.T) {
	h := newHistory(t, modelSize)
	peer := open(t, audittest.NewMemDir(), small)
	require.NoError(t, peer.Append(0, h.leaves))
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, h: h, d: audittest.NewMemDir(), peer: peer, random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		m.open()
		defer func() { m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": m.Append, "append again": m.Append, "sync": m.Sync, "restart": m.Restart, "crash": m.Crash,
			"wipe": m.Wipe, "rot": m.Rot, "prune": m.Prune, "read": m.Read, "prove": m.Prove, "list": m.List, "": m.Check,
		})
	})
}

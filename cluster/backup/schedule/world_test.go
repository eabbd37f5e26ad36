package schedule

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// member is a node's folder, state and log without a group.
type member struct {
	mu      sync.Mutex
	t       testing.TB
	dir     string
	role    string
	machine *fsm.Machine
	history *audit.Store
	out     fsm.Effects
	entries map[uint64][]byte
	index   uint64
	now     engine.Time
	cut     uint64 // The log begins behind this entry.
	problem string
	silent  int // So many proposals are answered by an election.
}

func newMember(t testing.TB) *member {
	m := &member{t: t, dir: t.TempDir(), role: "leader", machine: fsm.New(), entries: map[uint64][]byte{}, now: engine.Time(time.Now().UnixNano())}
	for _, name := range []string{datadir.RaftFolder, datadir.AuditFolder, datadir.ListFolder} {
		require.NoError(t, os.Mkdir(filepath.Join(m.dir, name), 0o700))
	}
	var err error
	m.history, err = audit.Open(audit.OSDir(filepath.Join(m.dir, datadir.AuditFolder)), audit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.history.Close() })
	who, err := json.Marshal(datadir.Identity{Format: datadir.Format, ID: "n1", Incarnation: strings.Repeat("ab", 16), ClusterID: "c-test"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(m.dir, datadir.IdentityFile), who, 0o600))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	m.apply(wire.KindGenesis, wire.Encode(&wire.Genesis{
		ClusterID: "c-test", Dev: true, TestClock: true, Issuer: "did:kya:railguard", PublicURL: "http://127.0.0.1:8080",
		IDKey: [16]byte{1}, SaltKey: [16]byte{2}, Policy: *engine.DefaultPolicy(), SigningKey: wire.SigningKey{KID: "cc-v1", Public: public[1:], Sealed: []byte{9}},
	}))
	return m
}

func (m *member) apply(kind wire.Kind, body []byte) wire.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 2, Time: m.now})
	entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: m.index, Body: body})
	sealed := wire.Seal(entry, 1)
	m.entries[m.index] = append([]byte(nil), sealed...)
	m.machine.Apply(m.index, 2, sealed, &m.out)
	require.Empty(m.t, m.out.Stop)
	var leaves []audit.Leaf
	for i := range m.out.Leaves {
		l := &m.out.Leaves[i]
		leaves = append(leaves, audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data, Hash: l.Hash})
	}
	if len(leaves) > 0 {
		require.NoError(m.t, m.history.Append(m.out.FirstLeaf, leaves))
	}
	return m.out.Results[0]
}

func (m *member) notes(count int) {
	for range count {
		m.apply(wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: []byte(`"text":"x"`)}}))
	}
}

// schedule sets a schedule of full copies each day, increments each hour and tails each ten seconds.
func (m *member) schedule(folder string, drillEvery uint32) {
	s := &wire.BackupSchedule{Folder: folder, Full: 86400, Increment: 3600, Tail: 10, Drill: drillEvery, Keep: 2}
	require.Equal(m.t, wire.Applied, m.apply(wire.KindBackups, wire.Encode(&wire.Backups{Op: wire.BackupsSet, Schedule: s})).Code)
}

func (m *member) NodeID() string      { return "n1" }
func (m *member) Audit() *audit.Store { return m.history }
func (m *member) Members() []datadir.Member {
	return []datadir.Member{{ID: "n1", Addr: "127.0.0.1:1", Voter: true, Self: true}}
}
func (m *member) View(context.Context, uint64) (*fsm.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.machine.Freeze(), nil
}

func (m *member) Role() string { return m.role }
func (m *member) Settings() *fsm.Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.machine.Freeze().Settings()
}
func (m *member) TellBackup(problem string) { m.problem = problem }
func (m *member) state() *wire.BackupState  { return m.Settings().Backups }
func (m *member) Propose(_ context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if m.silent > 0 {
		m.silent--
		return wire.Result{}, errors.New("no leader")
	}
	m.now += engine.Second
	return m.apply(kind, body), nil
}

func (m *member) EachEntry(from, to uint64, visit func(index, term uint64, data []byte) error) error {
	if from <= m.cut {
		return errors.New("the log begins behind it")
	}
	for index := from; index <= to; index++ {
		if err := visit(index, 2, m.entries[index]); err != nil {
			return err
		}
	}
	return nil
}

// clock steps a runner of a member.
type clock struct {
	*member
	runner *Runner
	at     time.Time
}

func newClock(m *member) *clock {
	m.problem = ""
	keys := &backup.Keys{Derived: []string{"a passphrase of thirty-two bytes"}}
	return &clock{m, New(m, m.dir, keys, slog.New(slog.DiscardHandler)), time.Now()}
}

func (c *clock) step(after time.Duration) string {
	c.at = c.at.Add(after)
	c.runner.Step(c.t.Context(), c.at)
	return c.problem
}

func count(t testing.TB, dir, suffix string) int {
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	require.NoError(t, err)
	return len(names)
}

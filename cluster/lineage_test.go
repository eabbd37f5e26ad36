package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/recovery"
	"railguard/fsm/wire"
)

// TestKin is a table of which nodes talk to each other.
func TestKin(t *testing.T) {
	fresh := port.Hello{ID: "f"}
	old := port.Hello{ID: "o", ClusterID: "c"}
	first := port.Hello{ID: "r", ClusterID: "c", Recovery: 1, Lineage: "aa"}
	twin := port.Hello{ID: "t", ClusterID: "c", Recovery: 1, Lineage: "bb"}
	second := port.Hello{ID: "s", ClusterID: "c", Recovery: 2, Lineage: "cc"}
	taken := port.Hello{ID: "j", Recovery: 1, Lineage: "aa"} // A joining node, with the lineage and no state yet.
	k := &lineage{replica: newReplica("n1", time.Now()), lives: func() bool { return false }}
	cases := []struct {
		name       string
		own, other port.Hello
		says       string // "": the nodes talk.
	}{
		{"never recovered", old, old, ""},
		{"the same recovery", first, first, ""},
		{"a new node at an old group", old, fresh, ""},
		{"a new node at a recovered group", first, fresh, ""},
		{"a recovered group at a new node", fresh, first, ""},
		{"a joiner at its group", first, taken, ""},
		{"a joiner at the group before", old, taken, `without node "o"`},
		{"an old node at a recovered one", first, old, `without node "o"`},
		{"a recovered node at an old one", old, first, `without node "o"`},
		{"two recoveries apart", first, twin, "recovered twice"},
		{"recovered once more", second, first, `without node "r"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.says == "" {
				require.Empty(t, k.refuseStranger(&c.own, &c.other))
				return
			}
			require.Contains(t, k.refuseStranger(&c.own, &c.other), c.says)
		})
	}
}

func TestNewestGroup(t *testing.T) {
	require.Nil(t, newestGroup(map[string]*port.Pong{"a": {}}))
	before, after := &port.Pong{ClusterID: "c"}, &port.Pong{ClusterID: "c", Recovery: 1}
	require.Equal(t, after, newestGroup(map[string]*port.Pong{"a": before, "b": after, "d": {Recovery: 9}}))
}

// TestRecoverDamagedLog: whatever the damage in the log's files, Inspect changes nothing;
// damage in the file of votes is an error or a reported problem.
func TestRecoverDamagedLog(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"cut":     func(data []byte) []byte { return data[:8192] },
		"empty":   func([]byte) []byte { return nil },
		"zeroed":  func(data []byte) []byte { clear(data[8192:]); return data },
		"scribed": func(data []byte) []byte { copy(data[3*4096:], "not a page of bbolt at all, at the least"); return data },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := openAlone(t, dir)
			require.NoError(t, n.Close())
			written, _, err := datadir.LogFiles(filepath.Join(dir, datadir.RaftFolder))
			require.NoError(t, err)
			for _, path := range written {
				whole := mustRead(t, path)
				require.NoError(t, os.WriteFile(path, damage(bytes.Clone(whole)), 0o600))
				before := hashFolder(t, dir)
				report, err := recovery.Inspect(recovery.Source{Dir: dir})
				if err == nil && path == written[0] { // The damage may be where nothing is read any more.
					require.NotEmpty(t, report.Problems)
				}
				require.Equal(t, before, hashFolder(t, dir))
				require.NoError(t, os.WriteFile(path, whole, 0o600))
			}
		})
	}
}

// TestRecoverHistoryMissing: a survivor whose history is gone keeps its state. Inspecting it
// says what is lost for ever, and the recovered node serves.
func TestRecoverHistoryMissing(t *testing.T) {
	g := newGroup(t)
	survivor, _ := loseMajority(t, g)
	require.NoError(t, os.RemoveAll(filepath.Join(g.folder(survivor), datadir.AuditFolder)))
	report, err := recovery.Inspect(recovery.Source{Dir: g.folder(survivor)})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Contains(t, strings.Join(report.Warnings, "\n"), "its texts and proofs are lost, the state is not")
	require.Positive(t, report.AuditMissing)
	_, err = recovery.Recover(recovery.Source{Dir: g.folder(survivor)}, order)
	require.NoError(t, err)
	n := g.open(survivor)
	require.Eventually(t, func() bool {
		r, err := n.Propose(t.Context(), wire.KindRegister, register("goes on"))
		return err == nil && r.Code == wire.Applied
	}, groupPatience, 20*time.Millisecond)
	require.False(t, n.lineage.waiting.Load(), "the leaf stands in the log")
	require.NotEmpty(t, n.audit.Missing(1))
}

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
)

func TestFolderRefuses(t *testing.T) {
	settle := func(t *testing.T) string {
		dir := t.TempDir()
		f, err := openFolder(dir, "n1")
		require.NoError(t, err)
		require.NoError(t, f.close())
		return dir
	}
	t.Run("own id", func(t *testing.T) {
		dir := settle(t)
		f, err := openFolder(dir, "n1")
		require.NoError(t, err)
		require.False(t, f.fresh)
		require.Len(t, f.identity.Incarnation, 32)
		require.NoError(t, f.close())
	})
	t.Run("foreign id", func(t *testing.T) {
		_, err := openFolder(settle(t), "n2")
		require.ErrorContains(t, err, `belongs to node "n1"`)
	})
	t.Run("newer format", func(t *testing.T) {
		dir := settle(t)
		path := filepath.Join(dir, identityFile)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), `"format": 1`, `"format": 2`, 1)), 0o600))
		_, err = openFolder(dir, "n1")
		require.ErrorContains(t, err, "newer release")
	})
	t.Run("broken identity", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, identityFile), []byte("{"), 0o600))
		_, err := openFolder(dir, "n1")
		require.ErrorContains(t, err, "cannot be read")
	})
	t.Run("data without identity", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.Remove(filepath.Join(dir, identityFile)))
		require.NoError(t, os.WriteFile(filepath.Join(dir, raftFolder, logFile), []byte("x"), 0o600))
		_, err := openFolder(dir, "n1")
		require.ErrorContains(t, err, "incomplete")
	})
	t.Run("in use", func(t *testing.T) {
		dir := t.TempDir()
		f, err := openFolder(dir, "n1")
		require.NoError(t, err)
		_, err = openFolder(dir, "n1")
		require.ErrorContains(t, err, "in use by another process")
		require.NoError(t, f.close())
	})
	t.Run("other cluster", func(t *testing.T) {
		f, err := openFolder(t.TempDir(), "n1")
		require.NoError(t, err)
		require.NoError(t, f.belongTo("one"))
		require.NoError(t, f.belongTo("one"))
		require.ErrorContains(t, f.belongTo("two"), "two clusters are mixed")
		require.NoError(t, f.close())
	})
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no id", func(c *Config) { c.ID = "" }, "1 to 64 characters"},
		{"long id", func(c *Config) { c.ID = strings.Repeat("a", port.IDMax+1) }, "1 to 64 characters"},
		{"id with a slash", func(c *Config) { c.ID = "a/b" }, "only letters"},
		{"no folder", func(c *Config) { c.DataDir = "" }, "no data folder"},
		{"expect without genesis", func(c *Config) { c.Genesis = nil }, "without a genesis"},
		{"expect too many", func(c *Config) { c.BootstrapExpect = 10 }, "between 0 and 9"},
		{"three without an address", func(c *Config) { c.BootstrapExpect = 3 }, "needs a cluster address"},
		{"an address nobody can dial", func(c *Config) { c.BootstrapExpect, c.ListenCluster = 3, ":7000" }, "peers cannot dial"},
		{"an address of all interfaces", func(c *Config) { c.Join, c.ListenCluster = []string{"h:1"}, "0.0.0.0:7000" }, "peers cannot dial"},
		{"chatter", func(c *Config) { c.Timing.Commit = commitTimeoutMin - 1 }, "commit timeout"},
		{"lease over heartbeat", func(c *Config) { c.Timing.Lease = c.Timing.Heartbeat + 1 }, "lease <= heartbeat"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := aloneConfig(t, t.TempDir())
			test.change(&config)
			_, err := Open(config)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A folder whose identity says "member" and whose log is gone forgot its votes.
func TestOpenRefusesLostLog(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	require.NoError(t, n.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, raftFolder)))
	_, err := Open(aloneConfig(t, dir))
	require.ErrorContains(t, err, "its raft log is gone")
}

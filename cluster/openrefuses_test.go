package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
)

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

// Such a folder has forgotten its votes: its identity names a cluster, and its log is gone.
func TestOpenRefusesLostLog(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	require.NoError(t, n.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, datadir.RaftFolder)))
	_, err := Open(aloneConfig(t, dir))
	require.ErrorContains(t, err, "votes are lost")
	require.NoError(t, os.Remove(filepath.Join(dir, datadir.ReachedFile)))
	_, err = Open(aloneConfig(t, dir))
	require.ErrorContains(t, err, "its raft log is gone")
}

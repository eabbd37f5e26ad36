package cluster

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/porttest"
	"railguard/engine"
)

func TestCertificatesGoTogether(t *testing.T) {
	good := porttest.New(t, "root", nil).Files("n1", nil)
	base := Config{ID: "n1", DataDir: t.TempDir(), ListenCluster: "127.0.0.1:1", Certificates: good}
	base.fillDefaults()
	require.NoError(t, base.validateConfig())
	for name, change := range map[string]func(*Config){
		"go together":        func(c *Config) { c.Certificates.CA = "" },
		"exclude each other": func(c *Config) { c.Insecure = true },
		"and there is none":  func(c *Config) { c.ListenCluster = "" },
		`this node is "n2"`:  func(c *Config) { c.ID = "n2" },
		"this node's clock":  func(c *Config) { c.Clock = ShiftedClock(c.Clock, func() engine.Time { return 400 * 24 * engine.Hour }) },
	} {
		config := base
		change(&config)
		_, err := Open(config)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, name)
	}
	left, err := os.ReadDir(base.DataDir)
	require.NoError(t, err)
	require.Empty(t, left, "refused before the data folder is touched")
}

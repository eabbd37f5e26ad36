package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/bench/load"
)

func execute(args ...string) (string, error) {
	root := newRoot()
	var out strings.Builder
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

// Wrong flags of hosts and of their loader are told from hosts that are not there.
func TestFlagsOfHosts(t *testing.T) {
	const hosts = "127.0.0.1:1"
	for _, c := range []struct {
		secret string
		args   []string
		want   string
	}{
		{"", []string{"--hosts", hosts}, "secret of at least 16 bytes"},
		{"short", []string{"--hosts", hosts}, "secret of at least 16 bytes"},
		{"a secret for tests", []string{"--hosts", hosts, "--spawn", "3"}, "--spawn"},
		{"a secret for tests", []string{"--hosts", hosts, "--binary", "x"}, "--binary"},
		{"a secret for tests", []string{"--hosts", hosts, "--targets", "http://127.0.0.1:1", "--key", "k"}, "give one of them"},
		{"a secret for tests", []string{"--hosts", "nowhere"}, "ADDRESS:PORT"},
		{"a secret for tests", []string{"--hosts", hosts, "--secret-file", "/none"}, "--secret-file"},
		{"a secret for tests", []string{"host"}, "--listen and --folder"},
		{"a secret for tests", []string{"host", "--listen", hosts, "--folder", ".", "--binary", "/none"}, "--binary"},
		{"a secret for tests", []string{"host", "--listen", "0.0.0.0:9000", "--folder", ".", "--binary", "/bin/true"}, "IP address"},
		{"", []string{"host", "--listen", hosts, "--folder", ".", "--binary", "/bin/true"}, "secret of at least 16 bytes"},
	} {
		t.Setenv(secretVariable, c.secret)
		_, err := execute(c.args...)
		require.ErrorContains(t, err, c.want, "%v", c.args)
		require.ErrorAs(t, err, new(usageError), "%v", c.args)
	}
	t.Setenv(secretVariable, "a secret for tests")
	_, err := execute("--hosts", hosts, "--quiet")
	require.ErrorIs(t, err, load.ErrHosts)
	require.False(t, errors.As(err, new(usageError)), "the flags are right")
}

// A comparison of reports that were made on different numbers of machines begins with a warning.
func TestCompareWarns(t *testing.T) {
	folder := t.TempDir()
	write := func(name, placement string) string {
		report := &load.Report{Placement: placement, Measures: map[string]*load.Measure{"a": {Value: 1, Samples: []float64{1}}}}
		path := filepath.Join(folder, name)
		require.NoError(t, report.Write(path))
		return path
	}
	one, hosts := write("one.json", "one machine"), write("hosts.json", "hosts: 3+1")
	said, err := execute("compare", one, hosts)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(said, "warning: "), said)
	said, err = execute("compare", hosts, hosts)
	require.NoError(t, err)
	require.NotContains(t, said, "warning")
}

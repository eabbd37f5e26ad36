package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Each setting is shown with its origin; a secret is never shown.
func TestConfigShow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "railguard.yaml")
	require.NoError(t, os.WriteFile(file, []byte("issuer: acme\nhttp: 10.0.0.9:1\njoin: [a:1, b:2]\n"), 0o600))
	t.Setenv("RAILGUARD_HTTP", "10.0.0.1:8080")
	t.Setenv("RAILGUARD_CLUSTER_SECRET", "a secret that nobody shall read")
	t.Setenv("RAILGUARD_BOOTSTRAP_KEY_FILE", "/etc/railguard/first-key")
	out, code, err := run(t, "config", "show", "--id", "n1", "--config", file)
	require.NoError(t, err)
	require.Zero(t, code)
	for _, line := range []string{
		`(?m)^id +flag +n1$`, `(?m)^http +environment +10\.0\.0\.1:8080$`, `(?m)^issuer +file +acme$`, `(?m)^join +file +\[a:1,b:2\]$`,
		`(?m)^log-level +default +info$`, `(?m)^RAILGUARD_CLUSTER_SECRET +environment +\(hidden\)$`,
		`(?m)^RAILGUARD_BOOTSTRAP_KEY +file +\(hidden\) /etc/railguard/first-key$`,
	} {
		require.Regexp(t, line, out)
	}
	require.NotContains(t, out, "nobody shall read")
}

// An unknown setting in the file, or an empty secret file, prevents the start.
func TestSettingsThatSayNothing(t *testing.T) {
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "railguard.yaml"), filepath.Join(dir, "cluster-secret")
	require.NoError(t, os.WriteFile(file, []byte("ofac-sorce: published\n"), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	_, code, err := run(t, "serve", "--id", "n1", "--config", file)
	require.Equal(t, exitUsage, code)
	require.ErrorContains(t, err, `unknown setting "ofac-sorce"; did you mean --ofac-source?`)
	for _, name := range secretVariables {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name+"_FILE", empty)
			_, err := secretOf(name)
			require.ErrorContains(t, err, name+"_FILE: "+empty+" is empty")
		})
	}
}

// The error for a folder of another user, as after a restore made by root, says so.
func TestFolderOfAnother(t *testing.T) {
	err := dataTrouble("--data", &fs.PathError{Op: "chmod", Path: "/var/lib/railguard/raft", Err: syscall.EPERM})
	require.EqualError(t, err, "--data: chmod /var/lib/railguard/raft: operation not permitted: the folder and all in it must belong to the user who runs the node (chown -R)")
	require.NotContains(t, dataTrouble("--data", &fs.PathError{Op: "chmod", Path: "x", Err: syscall.EROFS}).Error(), "chown")
}

// If a server would not start, the exit code is 64 and every reason is given; nothing is
// written.
func TestConfigCheck(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	good := []string{"config", "check", "--id", "n1", "--data", data, "--bootstrap-expect", "1", "--public-url", "https://guard.example.org"}
	t.Setenv("RAILGUARD_OFACDIR", "/misspelt")
	out, code, err := run(t, good...)
	require.NoError(t, err)
	require.Zero(t, code)
	require.Contains(t, out, "ok\n")
	for _, test := range []struct {
		add  []string
		says string
	}{
		{[]string{"--log-format", "xml"}, "--log-format"},
		{[]string{"--log-level", "loud"}, "--log-level"},
		{[]string{"--tls-cert", "/nowhere"}, "--tls-cert"},
		{[]string{"--admin", "0.0.0.0:1"}, "not on loopback"},
		{[]string{"--trusted-proxies", "10.0.0.1"}, "--trusted-proxies"},
		{[]string{"--bootstrap-expect", "3", "--cluster", "127.0.0.1:1"}, "RAILGUARD_CLUSTER_SECRET is not set"},
		{[]string{"--public-url", ""}, "--public-url is required"},
		{[]string{"--grace", "11m"}, "--grace"},
	} {
		_, code, err := run(t, append(append([]string{}, good...), test.add...)...)
		require.Equal(t, exitUsage, code, test.add)
		require.ErrorContains(t, err, test.says)
	}
	_, err = os.Stat(data)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, []string{"RAILGUARD_OFACDIR"}, strangeVariables(newServe().Flags(), []string{"RAILGUARD_OFACDIR=1", "RAILGUARD_OFAC_DIR=1", "RAILGUARD_KEY=1", "PATH=1", "RAILGUARD_CLUSTER_SECRET_FILE=1"}))
}

func TestX402Settings(t *testing.T) {
	for flags, wrong := range map[string]string{
		"--x402-upstream=https://x.org":                                           "",
		"--x402-upstream=http://x.org":                                            "--x402-upstream",
		"--x402-upstream=https://x.org --x402-timeout=1h":                         "--x402-timeout",
		"--x402-upstream=https://x.org --x402-verify-timeout=1ms":                 "--x402-verify-timeout",
		"--x402-upstream=https://x.org --x402-assets=eip155:1/0x00/6/ETH":         "--x402-assets",
		"--x402-assets=solana:x/EPjF/6/SOL":                                       "--x402-assets",
		"--x402-upstream=https://x.org --x402-assets=solana:x/EPjF/6/SOL,a/b/c/d": "--x402-assets",
	} {
		f := &serveFlags{}
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.defineFlags(set)
		require.NoError(t, set.Parse(append(strings.Fields(flags), "--id=n1", "--data=x")))
		err := f.checkSettings()
		if wrong == "" {
			require.NoError(t, err, flags)
			continue
		}
		require.ErrorContains(t, err, wrong, flags)
	}
}

// Outside of --dev a phrase is no cluster secret, and the refusal says what to do. A phrase of
// before may still open what it sealed.
func TestAPhraseIsNoClusterSecret(t *testing.T) {
	check := []string{"config", "check", "--id", "n1", "--data", filepath.Join(t.TempDir(), "data"), "--bootstrap-expect", "1", "--public-url", "https://guard.example.org"}
	made, code, err := run(t, "cluster-secret", "new")
	require.NoError(t, err)
	require.Zero(t, code)
	made = strings.TrimSpace(made)
	const phrase = "correct horse battery staple"
	for _, c := range []struct {
		name, secret, also, old, refused string
		flags                            []string
	}{
		{name: "made", secret: made},
		{name: "a phrase", secret: phrase, refused: "railguard cluster-secret new"},
		{name: "a phrase of a cluster that is thrown away", secret: phrase, flags: []string{"--dev"}},
		{name: "too short for that", secret: "short", flags: []string{"--dev"}, refused: "RAILGUARD_CLUSTER_SECRET: not 32 random bytes"},
		{name: "a phrase beside it", secret: made, also: phrase, refused: "RAILGUARD_CLUSTER_SECRET_ALSO: not 32 random bytes"},
		{name: "a phrase of before", secret: made, old: phrase},
	} {
		t.Setenv("RAILGUARD_CLUSTER_SECRET", c.secret)
		t.Setenv("RAILGUARD_CLUSTER_SECRET_ALSO", c.also)
		t.Setenv("RAILGUARD_CLUSTER_SECRET_OLD", c.old)
		_, code, err := run(t, append(slices.Clone(check), c.flags...)...)
		if c.refused == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorContains(t, err, c.refused, c.name)
		require.Equal(t, exitUsage, code, c.name)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// typed matches the commands in documents: between backquotes, or on a line of a block.
var typed = regexp.MustCompile("(?m)`railguard-bench( [^`]+)?`|^\\s*(?:\\$ )?railguard-bench((?: [^#\\n]+)?)")

// TestDocumentsTypeWhatThereIs: every command line in a document names verbs and flags
// that the program has.
func TestDocumentsTypeWhatThereIs(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md", "README.md", "CONTRIBUTING.md"} {
		files, err := filepath.Glob("../../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range typed.FindAllStringSubmatch(string(text), -1) {
				seen++
				words := strings.Fields(match[1] + match[2])
				cmd, _, err := newRoot().Find(words)
				require.NoError(t, err, "%s: %s", file, match[0])
				for _, word := range words {
					name, is := strings.CutPrefix(word, "--")
					if name, _, _ = strings.Cut(name, "="); is {
						require.NotNil(t, cmd.Flags().Lookup(name), "%s: %s", file, match[0])
					}
				}
			}
		}
	}
	require.GreaterOrEqual(t, seen, 8, "commands were found")
}

// TestFillFlags: a flag that was given stands; the environment fills the others.
func TestFillFlags(t *testing.T) {
	t.Setenv("RAILGUARD_KEY", "of the environment")
	t.Setenv("RAILGUARD_OUTPUT", "json")
	cmd := newRun()
	require.NoError(t, cmd.ParseFlags([]string{"--key", "given"}))
	require.NoError(t, fillFlags(cmd, "key", "output"))
	require.Equal(t, "given", cmd.Flags().Lookup("key").Value.String())
	require.Equal(t, "json", cmd.Flags().Lookup("output").Value.String())
}

// TestFindProduct: the named program is asked for its version; a missing one is an error.
func TestFindProduct(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell")
	}
	program := filepath.Join(t.TempDir(), "railguard")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"9.8.7 $1\"\n"), 0o700))
	path, version, err := findProduct(t.Context(), program)
	require.NoError(t, err)
	require.Equal(t, []string{program, "9.8.7 version"}, []string{path, version})
	_, _, err = findProduct(t.Context(), program+".gone")
	require.Error(t, err)
}

// TestNamesOfTheSample runs `railguard-bench names` on the rows made from the sample list.
func TestNamesOfTheSample(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("RAILGUARD_DATA", "")
	root := newRoot()
	var out, said strings.Builder
	root.SetOut(&out)
	root.SetErr(&said)
	root.SetArgs([]string{"names", "--peers", "0"})
	require.NoError(t, root.Execute())
	require.Contains(t, said.String(), "no labelled names found")
	require.Contains(t, out.String(), "exact_primary MUST")
}

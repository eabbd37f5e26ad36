package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// typedCommand matches a command that a document tells its reader to type: between
	// backquotes, or as a line of a block.
	typedCommand = regexp.MustCompile("(?m)`railguard ([a-z][^`\n]*)`|^(?:\\./bin/)?railguard ([a-z][^\n#|>]*)")
	typedFlag    = regexp.MustCompile(`(?:^| )\[?--([a-z][a-z0-9-]*)`)
)

// Every command in a document is a verb of this program with existing flags, so that whoever
// types it at night does not get an error.
func TestDocumentsNameVerbsThatExist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	deployed, err := filepath.Glob("../../deploy/*/*.md")
	require.NoError(t, err)
	files = append(append(files, deployed...), "../../README.md", "../../client/README.md")
	found := 0
	for _, file := range files {
		if strings.Contains(strings.ToLower(filepath.Base(file)), "formats") {
			continue // This is no command: the magic bytes of files begin with the same word.
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		joined := strings.ReplaceAll(string(text), "\\\n", " ") // The command continues on the next line.
		for _, match := range typedCommand.FindAllStringSubmatch(joined, -1) {
			found++
			requireVerb(t, filepath.Base(file), strings.TrimSpace(match[1]+match[2]))
		}
	}
	require.Greater(t, found, 150)
}

func requireVerb(t *testing.T, file, line string) {
	t.Helper()
	root := newRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(strings.Fields(line))
	require.NoError(t, err, "%s: railguard %s", file, line)
	require.True(t, cmd != root, "%s: railguard %s", file, line)
	if cmd.HasSubCommands() && len(rest) > 0 {
		require.NotRegexp(t, `^[a-z]+(-[a-z]+)*$`, rest[0], "%s: railguard %s: there is no such verb", file, line)
	}
	cmd.InitDefaultHelpFlag()
	for _, flag := range typedFlag.FindAllStringSubmatch(line, -1) {
		known := cmd.Flags().Lookup(flag[1]) != nil || cmd.InheritedFlags().Lookup(flag[1]) != nil || root.Flags().Lookup(flag[1]) != nil
		require.True(t, known, "%s: railguard %s: there is no --%s", file, line, flag[1])
	}
}

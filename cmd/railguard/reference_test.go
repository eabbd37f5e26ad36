package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/CLI.md")

const cliHead = `# The program

Every verb with every flag, written from the program itself by a test, and compared with it. ` + "`railguard VERB --help`" + ` says more.
Flags of ` + "`serve`" + ` have an environment twin (` + "`--ofac-dir`" + ` is RAILGUARD_OFAC_DIR) and may stand in ` + "`--config`" + `; of verbs only those that [OPERATING.md](OPERATING.md) names.
`

// TestCommandReference: docs/CLI.md is the program's own list of its verbs and flags.
func TestCommandReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(cliHead)
	root := newRoot()
	root.InitDefaultHelpCmd()
	shared := map[string]string{} // Flags of nearly every verb are told once.
	c := &client{}
	common := &cobra.Command{}
	c.flags(common, false)
	c.flags(&cobra.Command{}, true)
	b.WriteString("\n## Flags of verbs that ask a server\n\n| flag | what it says | default |\n|---|---|---|\n")
	common.Flags().VisitAll(func(f *pflag.Flag) {
		shared[f.Name] = f.Usage
		writeFlag(&b, f)
	})
	admin := &cobra.Command{}
	(&client{}).flags(admin, true)
	writeFlag(&b, admin.Flags().Lookup("admin"))
	shared["admin"] = admin.Flags().Lookup("admin").Usage
	writeCommands(&b, root, shared)
	const path = "../../docs/CLI.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, string(written) == b.String(), "docs/CLI.md is not what the program says of itself: go test ./cmd/railguard -run TestCommandReference -update, and read the diff")
}

func writeCommands(b *strings.Builder, cmd *cobra.Command, shared map[string]string) {
	for _, child := range cmd.Commands() {
		if child.Hidden || child.Name() == "help" || child.Name() == "completion" {
			continue
		}
		var own []*pflag.Flag
		child.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && shared[f.Name] != f.Usage {
				own = append(own, f)
			}
		})
		if !child.HasSubCommands() || len(own) > 0 { // A group of verbs does something itself where it has flags.
			fmt.Fprintf(b, "\n### %s\n\n%s.\n", strings.TrimPrefix(strings.TrimSuffix(child.UseLine(), " [flags]"), "railguard "), cell(child.Short))
			if len(own) > 0 {
				b.WriteString("\n| flag | what it says | default |\n|---|---|---|\n")
			}
			for _, f := range own {
				writeFlag(b, f)
			}
		}
		writeCommands(b, child, shared)
	}
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	value := f.DefValue
	if value == "[]" || value == "false" {
		value = ""
	}
	fmt.Fprintf(b, "| --%s | %s | %s |\n", f.Name, cell(f.Usage), cell(value))
}

// cell is a text as a table holds it.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}

// typed are commands as documents have them: in `code`, or on a line of a block.
var typed = regexp.MustCompile("(?m)`railguard ([^`]+)`|^\\s*(?:\\$ )?railguard ((?:[^#\\n\\\\]|\\\\\\n)+)")

// TestDocumentsTypeWhatThereIs: every command line in a document names a verb that
// exists, with flags that it has.
func TestDocumentsTypeWhatThereIs(t *testing.T) {
	var files []string
	for _, pattern := range []string{"docs/*.md", "README.md", "CONTRIBUTING.md", "deploy/*/README.md", "deploy/prometheus/*.yml", "client/README.md"} {
		found, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	seen := 0
	for _, file := range files {
		if name := strings.ToLower(filepath.Base(file)); name == "cli.md" || strings.HasPrefix(name, "review-") || strings.HasPrefix(name, "formats") {
			continue // Written from the program; of what was; words inside files.
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range typed.FindAllStringSubmatch(string(text), -1) {
			line := strings.ReplaceAll(match[1]+match[2], "\\\n", " ")
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " | ")
			words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(line))
			if len(words) == 0 || !regexp.MustCompile(`^[a-z-]+$`).MatchString(words[0]) {
				continue // railguard VERB, of any verb.
			}
			seen++
			root := newRoot()
			cmd, _, err := root.Find(words)
			if err != nil || cmd == root {
				t.Errorf("%s: railguard %s: there is no such verb", file, line)
				continue
			}
			for _, word := range words {
				name, is := strings.CutPrefix(word, "--")
				if name, _, _ = strings.Cut(name, "="); !is || name == "help" || name == "" {
					continue
				}
				if cmd.Flags().Lookup(name) == nil && !cmd.HasSubCommands() {
					t.Errorf("%s: railguard %s: %s has no flag --%s", file, line, cmd.CommandPath(), name)
				}
			}
		}
	}
	require.Greater(t, seen, 100)
}

// A word between backquotes in what a flag says would stand in --help as its kind.
func TestFlagsShowTheirKind(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			require.NotContains(t, f.Usage, "`", "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(newRoot())
}

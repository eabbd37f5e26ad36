package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/CLI.md")

const cliHead = `# The program

Every verb with its flags, written from the program itself by a test and compared with it. ` + "`railguard VERB --help`" + ` says more and gives an example.
Every flag of ` + "`serve`" + ` has an environment twin (` + "`--ofac-dir`" + ` is RAILGUARD_OFAC_DIR) and may stand in ` + "`--config`" + `. Of other verbs only the flags that [OPERATING.md](OPERATING.md) names have one.
`

// manyVerbs is how many verbs must have a flag with the same meaning before the page describes
// it once for all of them.
const manyVerbs = 3

// reference writes docs/CLI.md from the tree of verbs.
type reference struct {
	strings.Builder
	asking map[string]string           // Flags of nearly every verb that calls a server, with their help.
	shared map[string]string           // Flags of many verbs, with their help.
	serve  map[string]*pflag.Flag      // Flags of serve, all of which other verbs have too.
	groups map[string][]*cobra.Command // Verbs by their first word.
}

// TestCommandReference: docs/CLI.md agrees with the program's verbs and flags.
func TestCommandReference(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpCmd()
	r := &reference{asking: map[string]string{}, shared: map[string]string{}, serve: map[string]*pflag.Flag{}, groups: map[string][]*cobra.Command{}}
	r.WriteString(cliHead)
	r.writeAskingFlags()
	verbs := r.gatherVerbs(root, nil)
	r.gatherShared(verbs)
	r.writeShared()
	for _, group := range root.Commands() {
		if len(r.groups[group.Name()]) == 0 {
			continue
		}
		fmt.Fprintf(r, "\n## %s\n", group.Name())
		for _, verb := range r.groups[group.Name()] {
			r.writeVerb(verb)
		}
	}
	const path = "../../docs/CLI.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(r.String()), 0o600))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, string(written) == r.String(), "docs/CLI.md is not what the program says of itself: go test ./cmd/railguard -run TestCommandReference -update, and read the diff")
}

// writeAskingFlags describes once the flags of every verb that calls a server.
func (r *reference) writeAskingFlags() {
	common := &cobra.Command{}
	(&client{}).defineFlags(common, false)
	admin := &cobra.Command{}
	(&client{}).defineFlags(admin, true)
	common.Flags().AddFlag(admin.Flags().Lookup("admin"))
	r.WriteString("\n## Flags of verbs that ask a server\n\n| flag | what it says |\n|---|---|\n")
	common.Flags().VisitAll(func(f *pflag.Flag) {
		r.asking[f.Name] = f.Usage
		fmt.Fprintf(r, "| `--%s` | %s%s |\n", f.Name, cell(f.Usage), defaultOf(f))
	})
}

// gatherVerbs lists the verbs below a command that a reader may type. A group of verbs counts
// as a verb if it has flags.
func (r *reference) gatherVerbs(cmd *cobra.Command, verbs []*cobra.Command) []*cobra.Command {
	for _, child := range cmd.Commands() {
		if child.Hidden || child.Name() == "help" || child.Name() == "completion" {
			continue
		}
		if !child.HasSubCommands() || len(r.ownFlags(child)) > 0 {
			verbs = append(verbs, child)
			group := strings.Fields(child.CommandPath())[1]
			r.groups[group] = append(r.groups[group], child)
		}
		if child.CommandPath() == "railguard serve" {
			child.LocalFlags().VisitAll(func(f *pflag.Flag) { r.serve[f.Name] = f })
		}
		verbs = r.gatherVerbs(child, verbs)
	}
	return verbs
}

// ownFlags returns a verb's flags without those that all verbs which call a server have.
func (r *reference) ownFlags(cmd *cobra.Command) (own []*pflag.Flag) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && r.asking[f.Name] != f.Usage {
			own = append(own, f)
		}
	})
	return own
}

// gatherShared finds the flags with the same help in many verbs, at least in two of every five
// verbs that have a flag of that name.
func (r *reference) gatherShared(verbs []*cobra.Command) {
	counts, all := map[string]map[string]int{}, map[string]int{}
	for _, verb := range verbs {
		for _, f := range r.ownFlags(verb) {
			if r.serve[f.Name] != nil && r.serve[f.Name].Usage == f.Usage {
				continue // Described under serve.
			}
			if counts[f.Name] == nil {
				counts[f.Name] = map[string]int{}
			}
			counts[f.Name][meaningOf(f)]++
			all[f.Name]++
		}
	}
	for name, meanings := range counts {
		for _, meaning := range slices.Sorted(maps.Keys(meanings)) {
			if n := meanings[meaning]; n >= manyVerbs && n*5 >= all[name]*2 && n > meanings[r.shared[name]] {
				r.shared[name] = meaning
			}
		}
	}
}

func (r *reference) writeShared() {
	r.WriteString("\n## Flags of many verbs\n\nBelow, a verb names such a flag alone, where the flag means what this table says.\n\n| flag | what it says |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.shared)) {
		fmt.Fprintf(r, "| `--%s` | %s |\n", name, cell(r.shared[name]))
	}
}

// writeVerb writes one verb with its help and its flags: a few flags on one line, many as a
// list.
func (r *reference) writeVerb(cmd *cobra.Command) {
	own := r.ownFlags(cmd)
	line := strings.TrimPrefix(strings.TrimSuffix(cmd.UseLine(), " [flags]"), "railguard ")
	fmt.Fprintf(r, "\n**%s**: %s.", cell(line), cell(cmd.Short))
	var told []string
	repeated := 0
	for _, f := range own {
		if cmd.Name() != "serve" && len(own) > 20 && r.serve[f.Name] != nil && r.serve[f.Name].Usage == f.Usage && r.serve[f.Name].DefValue == f.DefValue {
			repeated++
			continue
		}
		told = append(told, r.tellFlag(f))
	}
	if repeated > 0 {
		r.WriteString(" It has the flags of `serve`.")
	}
	switch {
	case len(told) == 0:
		r.WriteString("\n")
	case len(told) > 12:
		r.WriteString("\n\n- " + strings.Join(told, "\n- ") + "\n")
	default:
		r.WriteString(" Flags: " + strings.Join(told, "; ") + ".\n")
	}
}

// tellFlag returns a flag as the page shows it under a verb.
func (r *reference) tellFlag(f *pflag.Flag) string {
	meaning := meaningOf(f)
	if r.shared[f.Name] == meaning {
		meaning = ""
		if meaningOf(f) != f.Usage {
			meaning = " (required)"
		}
	} else {
		meaning = " " + cell(f.Usage)
	}
	return "`--" + f.Name + "`" + meaning + defaultOf(f)
}

// meaningOf returns a flag's help without the note that a verb requires it.
func meaningOf(f *pflag.Flag) string { return strings.TrimSuffix(f.Usage, " (required)") }

// defaultOf returns a flag's default if its help does not name it.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]", "false", "0", "0s":
		return ""
	}
	if strings.Contains(f.Usage, "default") {
		return ""
	}
	return " (default: " + cell(f.DefValue) + ")"
}

// cell escapes a text for a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}

// typed matches commands in documents: in `code`, or on a line of a block.
var typed = regexp.MustCompile("(?m)`railguard ([^`]+)`|^\\s*(?:\\$ )?railguard ((?:[^#\\n\\\\]|\\\\\\n)+)")

// TestDocumentsTypeWhatThereIs: every command line in a document names an existing verb with
// existing flags.
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
			// CLI.md is generated from the program. A review names commands of former versions.
			// In the pages about formats, "railguard" begins the magic bytes of files.
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range typed.FindAllStringSubmatch(string(text), -1) {
			line := strings.ReplaceAll(match[1]+match[2], "\\\n", " ")
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, " | ")
			words := strings.Fields(strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(line))
			if len(words) == 0 || !regexp.MustCompile(`^[a-z-]+$`).MatchString(words[0]) {
				continue // "railguard VERB" stands for any verb.
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

// --help would show a word between backquotes as the flag's type.
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

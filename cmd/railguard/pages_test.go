package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The command blocks of README, the operator's handbook and the pages in deploy/ are run as they
// stand, in their order. What differs from a reader's machine (addresses, folders) is replaced
// before, by a row for each block.

// fences are the words behind "sh" at a block that is not run as it stands, with the reason.
var fences = map[string]string{
	"":        "run as it stands",
	"checked": "it needs machines that a test does not have: verbs and flags are checked, and files that it names",
}

// pageBlock is one block of commands. What is printed afterwards stands in the block behind it.
type pageBlock struct {
	page     string
	line     int
	fence    string
	commands []string
	printed  string
}

// readBlocks reads the blocks of a page whose language is sh.
func readBlocks(t *testing.T, page string) (blocks []*pageBlock) {
	text, err := os.ReadFile(filepath.Join("../..", page))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		words, opens := strings.CutPrefix(lines[i], "```")
		if !opens {
			continue
		}
		begin := i + 1
		for i++; lines[i] != "```"; i++ {
		}
		inside := lines[begin:i]
		language, fence, _ := strings.Cut(words, " ")
		switch {
		case language == "console", language == "bash", language == "shell":
			require.Fail(t, page+": write sh, so that the block is run", "line %d", begin)
		case language == "sh":
			require.Contains(t, fences, fence, "%s, line %d", page, begin)
			blocks = append(blocks, &pageBlock{page: page, line: begin, fence: fence, commands: splitCommands(t, inside)})
		case language == "" && len(blocks) > 0 && begin-blocks[len(blocks)-1].line <= len(strings.Join(blocks[len(blocks)-1].commands, "\n")):
			blocks[len(blocks)-1].printed = strings.Join(inside, "\n")
		}
	}
	return blocks
}

// splitCommands joins lines until the shell takes them for whole commands.
func splitCommands(t *testing.T, lines []string) (commands []string) {
	var open []string
	for _, line := range lines {
		if open = append(open, line); strings.HasSuffix(line, "\\") {
			continue
		}
		command := strings.Join(open, "\n")
		if exec.Command("bash", "-n", "-c", command).Run() != nil {
			continue
		}
		if trimmed := strings.TrimSpace(command); trimmed != "" {
			commands = append(commands, command)
		}
		open = nil
	}
	require.Empty(t, open, "not a whole command")
	return commands
}

// book is a reader who types what a page says: one shell, in a folder of his own.
type book struct {
	t       *testing.T
	folder  string
	shell   io.Writer
	said    *bufio.Reader
	turn    int
	replace []string              // Pairs: what stands on the page, and what is typed.
	instead map[string]func() int // By the beginning of a command: what is done in its place; returns the exit code.
	codes   map[string][]int      // By the beginning of a command: the exit codes that are as the page says.
}

// typist is what the reader's shell runs as railguard. An id of the form key_... means the last one
// of its kind that was printed, "..." the settings that every node has, and a node is not started
// by it: its settings are checked.
const typist = `#!/bin/bash
args=()
for word in "$@"; do
  case "$word" in
    *_...) word=$(grep -Eoh "\b${word%...}[A-Za-z0-9]+" "$BOOK/seen" | tail -n 1) ;;
  esac
  if [ "$1" = serve ] && [ "$word" = ... ]; then
    args+=(--data "$BOOK/checked" --http 127.0.0.1:1 --admin 127.0.0.1:2 --cluster 127.0.0.1:3 --public-url https://guard.example.org)
  else
    args+=("$word")
  fi
done
if [ "$1" = serve ]; then exec "$BOOK/railguard" config check "${args[@]:1}"; fi
"$BOOK/railguard" "${args[@]}" > "$BOOK/out"
code=$?
tee -a "$BOOK/seen" < "$BOOK/out"
exit $code
`

// openBook starts the reader's shell with a binary, and an environment beside that of the test.
func openBook(t *testing.T, binary string, env ...string) *book {
	b := &book{t: t, folder: t.TempDir(), instead: map[string]func() int{}, codes: map[string][]int{}}
	programs := filepath.Join(b.folder, ".programs")
	require.NoError(t, os.Mkdir(programs, 0o755))
	require.NoError(t, os.Symlink(binary, filepath.Join(b.folder, "railguard")))
	b.program("railguard", typist)
	b.write("seen", "")
	command := exec.Command("bash", "--norc")
	command.Dir = b.folder
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "RAILGUARD_") {
			command.Env = append(command.Env, entry)
		}
	}
	command.Env = append(append(command.Env, "BOOK="+b.folder, "PATH="+programs+":"+os.Getenv("PATH")), env...)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = command.Stdout
	require.NoError(t, command.Start())
	b.shell, b.said = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return b
}

// program puts a program before all others of its name.
func (b *book) program(name, text string) {
	require.NoError(b.t, os.WriteFile(filepath.Join(b.folder, ".programs", name), []byte(text), 0o755))
}

func (b *book) write(name, text string) string {
	path := filepath.Join(b.folder, name)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// enter types one command and returns what was printed, and the exit code.
func (b *book) enter(command string) (printed string, code int) {
	b.t.Helper()
	b.turn++
	file, mark := b.write(".command", command+"\n"), fmt.Sprintf("end of command %d:", b.turn)
	_, err := fmt.Fprintf(b.shell, "source %s </dev/null; printf '\\n%s %%d\\n' $?\n", file, mark)
	require.NoError(b.t, err)
	ended := make(chan error, 1)
	var text strings.Builder
	go func() {
		for {
			line, err := b.said.ReadString('\n')
			if rest, is := strings.CutPrefix(line, mark); is {
				_, err = fmt.Sscan(rest, &code)
				ended <- err
				return
			}
			if text.WriteString(line); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		require.NoError(b.t, err, "%s: %s", command, text.String())
	case <-time.After(3 * time.Minute):
		require.Fail(b.t, "it does not end: "+command)
	}
	return strings.TrimSuffix(text.String(), "\n"), code
}

// read types every command of a block, and requires that each ends as the page says. It returns
// what was printed by each.
func (b *book) read(block *pageBlock) (printed []string) {
	b.t.Helper()
	for _, command := range block.commands {
		typed := strings.NewReplacer(b.replace...).Replace(command)
		begins := func(beginning string) bool { return strings.HasPrefix(command, beginning) }
		var text string
		var code int
		if i := slices.IndexFunc(sortedKeys(b.instead), begins); i >= 0 {
			code = b.instead[sortedKeys(b.instead)[i]]()
		} else {
			text, code = b.enter(typed)
			for until := time.Now().Add(slowPatience); code == exitAway && chooses.MatchString(text) && time.Now().Before(until); {
				time.Sleep(electionPause)
				text, code = b.enter(typed)
			}
		}
		want := []int{exitOK}
		if i := slices.IndexFunc(sortedKeys(b.codes), begins); i >= 0 {
			want = b.codes[sortedKeys(b.codes)[i]]
		}
		require.Contains(b.t, want, code, "%s, block of line %d: %s\nwas typed as: %s\nand printed: %s", block.page, block.line, command, typed, text)
		printed = append(printed, text)
	}
	return printed
}

var (
	changingID   = regexp.MustCompile(`\b(cl|txn|key|agt|opr)_[0-9A-Za-z]+`)
	changingSpan = regexp.MustCompile(`[0-9][0-9.]*(µs|ms|s)?`)
	changingRole = regexp.MustCompile(`\b(leader|follower)\b`)
	changingFile = regexp.MustCompile(`(/[A-Za-z0-9._-]+)+/?`)
)

// plain leaves of a line what does not change from run to run.
func plain(line string) string {
	line = changingFile.ReplaceAllString(line, "/FILE")
	line = changingID.ReplaceAllString(line, "${1}_ID")
	line = changingRole.ReplaceAllString(line, "ROLE")
	line = changingSpan.ReplaceAllString(line, "N")
	return strings.Join(strings.Fields(line), " ")
}

// requirePrinted requires that every line that a page shows was printed, in its order. Numbers,
// ids, dates and roles may differ; [...] stands for what the page leaves out.
func requirePrinted(t *testing.T, page, printed string) {
	t.Helper()
	rest := strings.Split(printed, "\n")
	for _, want := range strings.Split(page, "\n") {
		want, _, _ = strings.Cut(want, " [...]")
		if plain(want) == "" || want == "[...]" {
			continue
		}
		at := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(plain(line), plain(want)) })
		require.GreaterOrEqual(t, at, 0, "the page says %q, which was not printed behind the lines before it; left is:\n%s", want, strings.Join(rest, "\n"))
		rest = rest[at+1:]
	}
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	testTimeout = "540s"           // Time limit of go test itself, which then reports where the test hung.
	runTimeout  = 10 * time.Minute // Time limit for compiling and testing one mutant.
	shownLines  = 12
)

func main() {
	only := flag.String("only", "", "run the mutants whose name matches this expression")
	dir := flag.String("mutants", "mutants/testdata", "where they are")
	tree := flag.String("tree", "..", "the tree to copy")
	flag.Parse()
	if err := run(*tree, *dir, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries every mutant on a copy of the tree.
func run(tree, dir, only string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := load(dir)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "railguard-mutants-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := copyTree(tree, root); err != nil {
		return err
	}
	clean := map[string]error{} // By test: its result without a mutant, which must be a pass.
	tried, escaped := 0, 0
	for _, m := range all {
		if !chosen.MatchString(m.name) {
			continue
		}
		tried++
		start := time.Now()
		verdict, said := try(root, m, clean)
		fmt.Printf("%-14s %5.1fs  %s  (%s)\n", verdict, time.Since(start).Seconds(), m.name, m.test)
		if verdict != caught {
			escaped++
			fmt.Println(said)
		}
	}
	fmt.Printf("%d mutants, %d caught\n", tried, tried-escaped)
	if escaped > 0 || tried == 0 {
		return fmt.Errorf("%d of %d mutants are not caught", escaped, tried)
	}
	return nil
}

const caught = "caught"

// try runs one mutant's test. If the test has not run without a mutant yet, it does that first.
func try(root string, m *mutant, clean map[string]error) (verdict, said string) {
	key := m.test + strings.Join(m.env, " ")
	if _, known := clean[key]; !known {
		out, err := test(root, m)
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, last(out))
		}
		clean[key] = err
	}
	if err := clean[key]; err != nil {
		return "FAILS WITHOUT", err.Error()
	}
	undo, err := m.apply(root)
	defer func() {
		if err := undo(); err != nil {
			panic("FATAL: " + err.Error())
		}
	}()
	if err != nil {
		return "NOT FOUND", err.Error()
	}
	out, err := test(root, m)
	switch {
	case err == nil:
		return "NOT CAUGHT", "the test passes"
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return "NOT COMPILED", last(out)
	case !strings.Contains(out, m.want):
		return "OTHER REASON", "the test fails and does not say " + m.want + ":\n" + last(out)
	}
	return caught, ""
}

func last(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-shownLines):], "\n    ")
}

func test(root string, m *mutant) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	args := append([]string{"test"}, strings.Fields(m.test)...) // First, as -C must be.
	args = append(args, "-count=1", "-vet=off", "-timeout", testTimeout)
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	command.Env = append(os.Environ(), m.env...)
	data, err := command.CombinedOutput()
	return string(data), err
}

// copyTree copies the files of a folder that git lists, as they are on disk.
func copyTree(from, to string) error {
	list, err := exec.Command("git", "-C", from, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // Removed, but git still lists it.
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: modulepath PATH, such as example.org/payments/client")
		os.Exit(2)
	}
	if err := move(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// move writes another path into every file under git of a folder that has the present one.
func move(root, to string) error {
	if err := check(to); err != nil {
		return err
	}
	from, err := present(root)
	if err != nil {
		return err
	}
	files, err := tracked(root)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := rewrite(filepath.Join(root, name), from, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// check refuses a path that `go get` could not take.
func check(path string) error {
	if err := module.CheckPath(path); err != nil {
		return err
	}
	if !strings.HasSuffix(path, "/client") {
		return errors.New("the path must end with /client, the folder of the module")
	}
	return nil
}

// present returns the path in client/go.mod.
func present(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "client", "go.mod"))
	if err != nil {
		return "", err
	}
	if path := modfile.ModulePath(raw); path != "" {
		return path, nil
	}
	return "", errors.New("client/go.mod has no module path")
}

// tracked returns the files under git.
func tracked(root string) ([]string, error) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// whole matches the path where it stands for itself, or begins that of a package in it.
func whole(path string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(path) + `($|[^\w-])`)
}

func rewrite(name, from, to string) error {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	raw, err := os.ReadFile(name)
	if err != nil || !utf8.Valid(raw) || !bytes.Contains(raw, []byte(from)) {
		return err
	}
	// Twice: of two paths with one character between them the first match takes that character.
	text, pattern := string(raw), whole(from)
	for range 2 {
		text = pattern.ReplaceAllString(text, "${1}"+strings.ReplaceAll(to, "$", "$$")+"${2}")
	}
	return os.WriteFile(name, []byte(text), info.Mode().Perm())
}

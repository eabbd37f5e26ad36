package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one defect.
//
//	== what is wrong
//	in: a folder of the tree; the old text occurs once in its files or those below
//	test: arguments of go test
//	env: NAME=value, any number of them
//	want: a word of the failing test's output
//	-- old
//	...
//	-- new
//	...
//
// More pairs of old and new may follow, each with an "in:" of its own before it. Lines
// that begin with # between mutants are remarks.
type mutant struct {
	name  string
	test  string
	env   []string
	want  string
	edits []edit
}

// edit replaces a text, which must be there exactly once.
type edit struct {
	in       string
	old, new string
}

// parse reads the mutants of one file.
func parse(text string) (all []*mutant, err error) {
	var m *mutant
	var into *string
	in := ""
	for number, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "== "):
			m, into = &mutant{name: strings.TrimPrefix(line, "== ")}, nil
			all = append(all, m)
		case m == nil:
			if line != "" && !strings.HasPrefix(line, "#") {
				return nil, fmt.Errorf("line %d: no mutant begins before it", number+1)
			}
		case line == "-- old":
			m.edits = append(m.edits, edit{in: in})
			into = &m.edits[len(m.edits)-1].old
		case line == "-- new" && len(m.edits) > 0:
			into = &m.edits[len(m.edits)-1].new
		case line == "-- end":
			into = nil
		case into != nil:
			*into += line + "\n"
		case key == "in":
			in = value
		case key == "test":
			m.test = value
		case key == "env":
			m.env = append(m.env, value)
		case key == "want":
			m.want = value
		case line != "" && !strings.HasPrefix(line, "#"):
			return nil, fmt.Errorf("line %d: %q is no part of a mutant", number+1, line)
		}
	}
	for _, m := range all {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("%q: %w", m.name, err)
		}
	}
	return all, nil
}

func (m *mutant) check() error {
	switch {
	case m.test == "" || m.want == "":
		return fmt.Errorf("it needs a test and what the test must say")
	case len(m.edits) == 0:
		return fmt.Errorf("it changes nothing")
	}
	for i := range m.edits {
		e := &m.edits[i]
		e.old, e.new = strings.TrimSuffix(e.old, "\n"), strings.TrimSuffix(e.new, "\n")
		if e.in == "" || e.old == "" || e.old == e.new {
			return fmt.Errorf("change %d has no folder or changes nothing", i+1)
		}
	}
	return nil
}

// load reads every mutant of a folder, by file name.
func load(dir string) (all []*mutant, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no mutants in %s", dir)
	}
	return all, nil
}

// isProduct reports whether a file is source of the product, in Go or in a client's language.
func isProduct(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".ts") || strings.HasSuffix(path, ".py")
}

// find returns the one file that holds an edit's old text, wherever it moved. It fails if
// the text is missing or repeated.
func (e *edit) find(root string) (found string, err error) {
	err = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(e.in)), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isProduct(path) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch count := strings.Count(string(data), e.old); {
		case count == 1 && found == "":
			found = path
		case count > 0:
			return fmt.Errorf("the text stands more than once in %s: %q", e.in, e.old)
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("the text is not in %s any more: %q", e.in, e.old)
	}
	return found, err
}

// apply puts the defect into a tree; undo takes it out again.
func (m *mutant) apply(root string) (undo func() error, err error) {
	type change struct {
		path string
		data []byte
	}
	var before []change
	undo = func() error {
		for _, c := range slices.Backward(before) {
			if err := os.WriteFile(c.path, c.data, 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range m.edits {
		path, err := m.edits[i].find(root)
		if err != nil {
			return undo, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return undo, err
		}
		before = append(before, change{path, data})
		changed := strings.Replace(string(data), m.edits[i].old, m.edits[i].new, 1)
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

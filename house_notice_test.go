package railguard

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateNotice = flag.Bool("update", false, "write NOTICE anew")

// licences tells licences by words that stand in no other.
var licences = []struct {
	id    string
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary(?s:.*)(Neither the name|be used to endorse)`)},
	{"CC0-1.0", regexp.MustCompile(`CC0 1\.0 Universal`)},
}

var simpleBSD = regexp.MustCompile(`Redistribution and use in source and binary`)

// licencesOf names the licences whose texts stand in a file.
func licencesOf(text string) (ids []string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range licences {
		if l.words.MatchString(text) {
			ids = append(ids, l.id)
		}
	}
	if simpleBSD.MatchString(text) && !slices.Contains(ids, "BSD-3-Clause") {
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

// linkedModules returns the folder of each module that is linked into the binary on any system for
// which there are releases, by path and version; Go's own library, too.
func linkedModules(t *testing.T) map[string]string {
	modules := map[string]string{}
	for _, system := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		goos, architecture, _ := strings.Cut(system, "/")
		list := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}`, "./cmd/railguard")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+architecture)
		out, err := list.Output()
		require.NoError(t, err)
		for _, line := range strings.Split(string(out), "\n") {
			if name, folder, found := strings.Cut(line, "\t"); found {
				modules[name] = folder
			}
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	modules["std"] = strings.TrimSpace(string(root))
	return modules
}

const noticeHead = `Railguard
Licensed under the Apache License, Version 2.0: see LICENSE.

The program railguard is linked from the modules below. Their source is what the Go module of that
path and version holds; nothing of it was changed. Behind the table stand their licences and notices.

`

// swaggerPages are embedded by a module of another licence, without their own text: copyright
// SmartBear Software Inc.
const swaggerPages = "swagger-ui, copyright SmartBear Software Inc., in github.com/swaggest/swgui\tApache-2.0\n"

// writeNotice makes NOTICE: a line for each module, and every text once.
func writeNotice(t *testing.T, modules map[string]string) string {
	var table, texts strings.Builder
	of := map[string][]string{} // Modules by text.
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		var ids []string
		for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*"} {
			files, err := filepath.Glob(filepath.Join(modules[name], pattern))
			require.NoError(t, err)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
				of[text] = append(of[text], name)
				ids = append(ids, licencesOf(text)...)
			}
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		require.NotEmpty(t, ids, "%s: its licence is not known; look at %s", name, modules[name])
		fmt.Fprintf(&table, "%s\t%s\n", name, strings.Join(ids, " AND "))
	}
	table.WriteString(swaggerPages)
	for _, text := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return strings.Compare(of[a][0]+a, of[b][0]+b) }) {
		fmt.Fprintf(&texts, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return noticeHead + table.String() + texts.String()
}

// TestNoticeHasWhatIsLinked: NOTICE names each module that is linked into the binary, with its
// licence, and holds the texts; none of them forbids to link it.
func TestNoticeHasWhatIsLinked(t *testing.T) {
	modules := linkedModules(t)
	require.Greater(t, len(modules), 30)
	if *updateNotice {
		require.NoError(t, os.WriteFile("NOTICE", []byte(writeNotice(t, modules)), 0o644))
	}
	notice := text(t, "NOTICE")
	require.Contains(t, notice, "\nstd\t", "Go's own library")
	require.True(t, writeNotice(t, modules) == notice, "NOTICE is not what is linked: go test . -run TestNoticeHasWhatIsLinked -update")
	table, _, _ := strings.Cut(strings.TrimPrefix(notice, noticeHead), "\n\n")
	for _, line := range strings.Split(table, "\n") {
		name, ids, _ := strings.Cut(line, "\t")
		for _, id := range strings.Split(ids, " AND ") {
			require.Contains(t, []string{"Apache-2.0", "MPL-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"}, id, name)
		}
	}
}

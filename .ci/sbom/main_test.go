package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any Go binary has a bill, and writing it twice gives the same bytes.
func TestBillOfABinary(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, write(&first, self, "1.2.3", "../../NOTICE"))
	require.NoError(t, write(&second, self, "1.2.3", "../../NOTICE"))
	require.Equal(t, first.String(), second.String())

	var bill bom
	require.NoError(t, json.Unmarshal(first.Bytes(), &bill))
	require.Equal(t, "1.2.3", bill.Metadata.Component.Version)
	require.Equal(t, "std", bill.Components[0].Name)
	require.Equal(t, []licence{{"BSD-3-Clause"}}, bill.Components[0].Licences, "NOTICE names Go's own library")
	require.Regexp(t, regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), bill.Serial)
}

// The bill names every module with its version and sum. For a replaced module it names the
// replacement.
func TestBillNamesTheModules(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Path: "railguard"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:a"},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0", Sum: "h1:c"}},
	}}
	bill := billOf(info, "railguard", "1.2.3", [32]byte{1}, map[string]string{"example.org/a v1.0.0": "MIT", "example.org/b v1.0.0": "ISC", "example.org/c v2.0.0": "MPL-2.0"})
	var refs []string
	for _, part := range bill.Components {
		refs = append(refs, part.PURL)
	}
	require.Equal(t, []string{"pkg:golang/std@1.26.1", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/c@v2.0.0"}, refs)
	require.Equal(t, []property{{"go:sum", "h1:c"}}, bill.Components[2].Properties)
	require.Empty(t, bill.Components[0].Licences)
	require.Equal(t, []licence{{"MIT"}}, bill.Components[1].Licences)
	require.Equal(t, []licence{{"MPL-2.0"}}, bill.Components[2].Licences, "of what is linked in its place")
	require.Len(t, bill.Dependencies[0].DependsOn, 3)
}

func TestBillOfNoBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("no binary"), 0o600))
	require.Error(t, write(&bytes.Buffer{}, path, "1.2.3", "../../NOTICE"))
}

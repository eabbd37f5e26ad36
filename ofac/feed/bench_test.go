package feed

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// benchmarkFile measures the parse of a whole SDN file, with its decompression
// and, as "Plain", without.
func benchmarkFile(b *testing.B, path string, parse func(io.Reader) (List, error)) {
	stored, err := os.ReadFile(filepath.Join(dataDir(b), path))
	require.NoError(b, err)
	content, err := Open(bytes.NewReader(stored), int64(len(stored)))
	require.NoError(b, err)
	plain, err := io.ReadAll(content)
	require.NoError(b, err)
	for name, data := range map[string][]byte{"Stored": stored, "Plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				content, err := Open(bytes.NewReader(data), int64(len(data)))
				require.NoError(b, err)
				list, err := parse(content)
				require.NoError(b, err)
				require.Len(b, list.Entities, 18367)
			}
		})
	}
}

func BenchmarkADVANCED(b *testing.B) {
	benchmarkFile(b, "2025-11-19/sdn_advanced.xml.bz2", ParseADVANCED)
}

func BenchmarkENHANCED(b *testing.B) {
	benchmarkFile(b, "2025-11-19/sdn_enhanced.derived.xml.bz2", ParseENHANCED)
}

func BenchmarkCSV(b *testing.B) {
	const day = "2021-07-07/"
	b.ReportAllocs()
	for b.Loop() {
		realSet(b, 1, day+"sdn.csv.gz", day+"alt.csv.gz", day+"add.csv.gz", day+"sdn_comments.csv.gz")
	}
}

// fullList is a whole SDN and CONS list, merged.
func fullList(t testing.TB) Loaded {
	t.Helper()
	var files []File
	for _, name := range []string{"2025-11-19/sdn_enhanced.derived.xml.bz2", "2026-01-08/cons_enhanced.xml.gz"} {
		data, err := os.ReadFile(filepath.Join(dataDir(t), name))
		require.NoError(t, err)
		files = append(files, File{Name: filepath.Base(name), Data: data})
	}
	files[0].Name = "sdn_enhanced.xml.bz2"
	loaded, err := LoadFiles(files, nil)
	require.NoError(t, err)
	require.Equal(t, 18721, loaded.Summary.Entities)
	return loaded
}

// BenchmarkBuild compiles a full list that is already parsed.
func BenchmarkBuild(b *testing.B) {
	loaded := fullList(b)
	b.ReportAllocs()
	for b.Loop() {
		compiled, err := ofac.Build(loaded.Entities, loaded.Meta)
		require.NoError(b, err)
		b.ReportMetric(float64(compiled.Size())/(1<<20), "MiB")
	}
}

// A full list stays far below the size that a cluster accepts.
func TestFullListCompiles(t *testing.T) {
	skipHeavy(t)
	loaded := fullList(t)
	index, err := ofac.Build(loaded.Entities, loaded.Meta)
	require.NoError(t, err)
	require.Less(t, index.Size(), 64<<20)
	require.Equal(t, loaded.Summary.Entities, index.Counts().Entries)
}

package feed

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

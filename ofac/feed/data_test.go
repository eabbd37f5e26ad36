package feed

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// dataDir finds the folder of real list files: RAILGUARD_DATA, or else shared/data beside
// the repository. The folder is not part of the repository.
func dataDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("RAILGUARD_DATA"); dir != "" {
		return filepath.Join(dir, "ofac")
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		candidate := filepath.Join(dir, "shared", "data", "ofac")
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no real list files: set RAILGUARD_DATA to the folder that holds ofac/")
		}
		dir = parent
	}
}

// skipHeavy skips tests that parse whole SDN files in a short run.
func skipHeavy(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("parses whole SDN files: not in short runs")
	}
}

// parsedLists holds each real list once for all tests, since an SDN file takes more than a
// second to unfold and parse. Tests must not change the lists.
var parsedLists sync.Map // Path to func() (List, error).

// realList parses a file of the data folder once and shares the result.
func realList(t testing.TB, path string) List {
	t.Helper()
	full := filepath.Join(dataDir(t), path)
	once, _ := parsedLists.LoadOrStore(full, sync.OnceValues(func() (List, error) { return parseFile(full) }))
	list, err := once.(func() (List, error))()
	require.NoError(t, err)
	return list
}

func parseFile(path string) (List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return List{}, err
	}
	content, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return List{}, err
	}
	defer content.Close()
	if strings.Contains(path, "advanced") {
		return ParseADVANCED(content)
	}
	return ParseENHANCED(content)
}

// goldenRows reads a golden file, without its header row.
func goldenRows(t testing.TB, name string) []string {
	t.Helper()
	file, err := os.Open(filepath.Join(dataDir(t), "golden", name))
	require.NoError(t, err)
	defer file.Close()
	var source io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		source, err = gzip.NewReader(file)
		require.NoError(t, err)
	}
	var rows []string
	lines := bufio.NewScanner(source)
	for lines.Scan() {
		rows = append(rows, lines.Text())
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, rows)
	return rows[1:]
}

// openReal opens a file of the data folder and unpacks it.
func openReal(t testing.TB, path string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dataDir(t), path))
	require.NoError(t, err)
	content, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	t.Cleanup(func() { content.Close() })
	return content
}

package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Find reads a file of vectors of permits and proofs into a value. It returns false if there are none
// beside the project.
func Find(t testing.TB, name string, into any) bool {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, "shared", "spec", "integrations", "permit", "vectors", name))
		if err == nil {
			require.NoError(t, json.Unmarshal(raw, into))
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Read is Find for a test that has nothing to do without them.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	if !Find(t, name, into) {
		t.Skipf("%s: the vectors are not beside the project", name)
	}
}

package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeafMark: the bit flips in the binary leaf of a screening call, and not in the
// event that names the same transaction.
func TestLeafMark(t *testing.T) {
	const event = `{"kind":"review.dispositioned","txnId":"txn_AbCdEf12"}`
	leaf := "\x01sixteen bytes...\x00\x05\x07AbCdEf12 and the rest"
	folder := t.TempDir()
	name := filepath.Join(folder, "000.tail")
	require.NoError(t, os.WriteFile(name, []byte(event+leaf+event), 0o600))
	_, err := flipBit(folder, leafMark("txn_AbCdEf12"), 0)
	require.NoError(t, err)
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, event, string(raw[:len(event)]))
	require.Equal(t, event, string(raw[len(event)+len(leaf):]))
	require.NotEqual(t, leaf, string(raw[len(event):len(event)+len(leaf)]))

	require.NoError(t, os.WriteFile(name, []byte(event), 0o600))
	_, err = flipBit(folder, leafMark("txn_AbCdEf12"), 0)
	require.ErrorContains(t, err, "nothing to flip", "an event is no screening record")
}

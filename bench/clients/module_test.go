package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientVets: the client is a module of its own, so `go vet ./...` of the
// service does not see it.
func TestClientVets(t *testing.T) {
	command := exec.Command("go", "vet", "./...")
	command.Dir = home
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestClientNeedsNothing: its module requires no other.
func TestClientNeedsNothing(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(home, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "require")
}

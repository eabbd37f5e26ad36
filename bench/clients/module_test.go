package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOthersImportTheClient runs a program outside of this repository that imports the
// client, without a network and without the service's dependencies.
func TestOthersImportTheClient(t *testing.T) {
	folder, at := t.TempDir(), home
	absolute, err := filepath.Abs(at)
	require.NoError(t, err)
	program := "package main\n\nimport (\n\t\"fmt\"\n\n\t\"railguard/client\"\n)\n\nfunc main() { fmt.Println(client.Dollars(3)) }\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600))
	var out []byte
	for _, args := range [][]string{
		{"mod", "init", "integrator.example/payments"},
		{"mod", "edit", "-require=railguard/client@v0.0.0", "-replace=railguard/client=" + absolute},
		{"run", "."},
	} {
		command := exec.Command("go", args...)
		command.Dir, command.Env = folder, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
		out, err = command.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	require.Equal(t, "3\n", string(out))
}

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

package testcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A development cluster comes back with its data and addresses. A stopped one does not answer,
// and may be stopped again.
func TestDevelopment(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the product")
	}
	d := StartDevelopment(t, 1)
	before := d.Nodes[0]
	require.Equal(t, []string{"http://" + before.HTTP}, d.URLs())
	require.NoError(t, d.Stop())
	require.Error(t, askReady(t.Context(), before.HTTP))
	require.NoError(t, d.Stop(), "there is none")
	require.NoError(t, d.Start(t.Context()))
	require.Equal(t, before.HTTP, d.Nodes[0].HTTP)
	require.NotEqual(t, before.PID, d.Nodes[0].PID)
}

// What tests of a process that is gone have left is removed, and nothing else.
func TestBuiltProductsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	for _, name := range []string{builtPrefix + strconv.Itoa(gone.Process.Pid), builtPrefix + strconv.Itoa(os.Getpid()), builtPrefix + "x", "railguard-other"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	removeBuilt(folder)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 3)
	require.NoDirExists(t, filepath.Join(folder, builtPrefix+strconv.Itoa(gone.Process.Pid)))
}

// If the build fails, the error has the compiler's output.
func TestBuildProduct(t *testing.T) {
	require.ErrorContains(t, BuildProduct(t.TempDir()+"/railguard", "-no-such-flag"), "does not build")
	t.Chdir(t.TempDir())
	require.ErrorContains(t, BuildProduct("railguard"), "not in the product's tree")
}

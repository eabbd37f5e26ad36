package process

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What one process was given, and has not used yet, no other is given, nor itself again.
func TestPortsAreGivenOnce(t *testing.T) {
	if os.Getenv("RAILGUARD_TEST_PORTS") != "" {
		ports, err := FreePorts(100)
		require.NoError(t, err)
		os.Stdout.WriteString("ports: " + strings.Join(ports, " ") + "\n")
		return
	}
	seen := map[string]bool{}
	for range 4 {
		ports, err := FreePorts(100)
		require.NoError(t, err)
		for _, port := range ports {
			require.False(t, seen[port], port)
			seen[port] = true
		}
	}
	other := exec.Command(os.Args[0], "-test.run", "TestPortsAreGivenOnce")
	other.Env = append(os.Environ(), "RAILGUARD_TEST_PORTS=1")
	said, err := other.Output()
	require.NoError(t, err)
	_, list, found := strings.Cut(string(said), "ports: ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n")
	given := strings.Fields(list)
	require.Len(t, given, 100)
	for _, port := range given {
		require.False(t, seen[port], "%s was given to two processes", port)
	}
}

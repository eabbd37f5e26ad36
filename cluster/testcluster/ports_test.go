package testcluster

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A port that a process reserved is given neither to another process nor to itself again.
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
	base, err := FreeBase(3)
	require.NoError(t, err)
	for _, above := range []int{0, 1, 2, 100, 101, 102, 200, 201, 202} {
		port := address(base + above)
		require.False(t, seen[port], port)
		require.False(t, claim(base+above), port)
		seen[port] = true
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

// A released port may be given again. A port on which somebody listens is not given.
func TestPortsAreGivenBack(t *testing.T) {
	ports, err := FreePorts(1)
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(ports[0])
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.False(t, claim(port))
	listener, err := net.Listen("tcp", ports[0])
	require.NoError(t, err)
	ReleasePorts(ports...)
	require.False(t, claim(port), "somebody listens")
	require.NoError(t, listener.Close())
	require.True(t, claim(port))
	ReleasePorts(ports...)
}

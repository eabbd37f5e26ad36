package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node asks three times a second to be taken in. Its readiness says why it is not, and its
// log says so once.
func TestUnwelcomeIsToldOnce(t *testing.T) {
	var said bytes.Buffer
	g := &greeter{log: slog.New(slog.NewTextHandler(&said, nil))}
	require.Empty(t, g.describeTrouble())
	for range 20 {
		g.noteUnwelcome(errors.New("a node with this id is alive"))
		g.noteTrouble("10.0.0.1:8280", nil) // The peer's answer does not mean that the node was taken in.
	}
	require.Equal(t, 1, strings.Count(said.String(), "does not take this node in yet"))
	require.Contains(t, g.describeTrouble(), "a node with this id is alive")
	g.noteUnwelcome(nil)
	require.Empty(t, g.describeTrouble())
}

// The reason for which a new group waits is logged when it changes, and not three times a
// second.
func TestWaitIsToldOnce(t *testing.T) {
	var told bytes.Buffer
	f := &finder{life: newLife(slog.New(slog.NewTextHandler(&told, nil)), nil)}
	for range 5 {
		f.tellWait("1 of 3 expected nodes are here")
	}
	f.tellWait("2 of 3 expected nodes are here")
	require.Equal(t, 2, strings.Count(told.String(), "no group yet"), told.String())
	f.waits.told = f.waits.told.Add(-troubleToldEvery)
	f.tellWait("2 of 3 expected nodes are here")
	require.Equal(t, 3, strings.Count(told.String(), "no group yet"), "it still waits")
}

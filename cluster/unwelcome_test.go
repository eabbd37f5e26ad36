package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node asks three times a second to be taken in: why it is not stands in its readiness,
// and in its log once.
func TestUnwelcomeIsToldOnce(t *testing.T) {
	var said bytes.Buffer
	g := &greeter{log: slog.New(slog.NewTextHandler(&said, nil))}
	require.Empty(t, g.describeTrouble())
	for range 20 {
		g.noteUnwelcome(errors.New("a node with this id is alive"))
		g.noteTrouble("10.0.0.1:8280", nil) // That the peer answers is no welcome.
	}
	require.Equal(t, 1, strings.Count(said.String(), "does not take this node in yet"))
	require.Contains(t, g.describeTrouble(), "a node with this id is alive")
	g.noteUnwelcome(nil)
	require.Empty(t, g.describeTrouble())
}

// What a new group waits for is told when it changes, and not three times a second.
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

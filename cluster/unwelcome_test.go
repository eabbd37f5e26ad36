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
	require.Empty(t, g.because())
	for range 20 {
		g.noteUnwelcome(errors.New("a node with this id is alive"))
		g.noteTrouble("10.0.0.1:8280", nil) // That the peer answers is no welcome.
	}
	require.Equal(t, 1, strings.Count(said.String(), "does not take this node in yet"))
	require.Contains(t, g.because(), "a node with this id is alive")
	g.noteUnwelcome(nil)
	require.Empty(t, g.because())
}

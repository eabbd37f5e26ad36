package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// The log of a node that just started ends in the past, so a credential issued since then
// is not yet valid by its log time. The node asks the leader before it refuses.
func TestCredentialFromTheFutureOfALaggingNode(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.behind = engine.Hour
	w := n.screen(token, "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "PROCEED", member(t, w.Body.Bytes(), "verdict"), w.Body)

	n.behind, n.readError = engine.Hour, wire.ErrNoQuorum
	w = n.screen(token, "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code, "no verdict rather than a wrong one: %s", w.Body)
}

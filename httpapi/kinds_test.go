package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/leaf"
)

// A room renders every kind of leaf, or the registry says why none does.
func TestEveryKindIsAnsweredOrSaysWhyNot(t *testing.T) {
	n := newTestNode(t)
	rendered := map[string]bool{}
	for _, room := range n.api.rooms {
		for kind := range room.Renderers {
			require.NotNil(t, leaf.Named(kind), "a renderer of the unknown kind %s", kind)
			rendered[kind] = true
		}
	}
	for _, kind := range leaf.Kinds {
		require.Equal(t, kind.Unanswered == "", rendered[kind.Name], "%s: a room renders it, or its row says why none does", kind.Name)
	}
}

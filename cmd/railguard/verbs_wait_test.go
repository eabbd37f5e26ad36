package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaitsForTheNode(t *testing.T) {
	for _, c := range []struct{ name, status, want string }{
		{"not there", `{"nodes":[{"id":"n1"}],"takeDown":{"ok":true}}`, "n2 is no member yet"},
		{"not yet", `{"nodes":[{"id":"n2"}],"takeDown":{"ok":false,"why":["n2 has no vote yet","no further node may be lost"]}}`, "n2 has no vote yet; no further node may be lost"},
		{"back", `{"nodes":[{"id":"n2"}],"takeDown":{"ok":true,"why":[]}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := waitsFor([]byte(c.status), "n2")
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := waitsFor([]byte("no"), "n2")
	require.Error(t, err)
}

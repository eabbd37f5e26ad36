package httpapi

import (
	"net/http/httptest"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
)

// reopen makes the node's API again, as a restart does.
func (n *testNode) reopen(change func(*Deps)) {
	n.t.Helper()
	if n.api != nil {
		n.api.Close()
	}
	if change != nil {
		change(&n.deps)
	}
	api, err := New(n.deps)
	require.NoError(n.t, err)
	n.t.Cleanup(api.Close)
	n.api = api
}

// publicRoutes returns the routes of all rooms on the public listener.
func (n *testNode) publicRoutes() (all []border.Route) {
	for _, room := range n.api.rooms {
		all = append(all, room.Public...)
	}
	return all
}

// adminRoutes returns those on the admin listener.
func (n *testNode) adminRoutes() (all []border.Route) {
	for _, room := range n.api.rooms {
		all = append(all, room.Admin...)
	}
	return all
}

// call returns a call of the public API that no caller made.
func (n *testNode) call() *border.Request {
	return n.api.Begin(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/key", nil), &border.Route{})
}

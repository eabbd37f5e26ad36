package httpapi

import (
	"net/http/httptest"
	"strings"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
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

// doAdmin sends one request to the admin listener.
func (n *testNode) doAdmin(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8180"
	r.Header.Set("Authorization", "Bearer admin-token-of-the-tests")
	r.Header.Set("X-Request-Id", "req_test")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.api.AdminHandler().ServeHTTP(w, r)
	return w
}

// testKey returns a key of the institution that may do everything.
func testKey(name string) wire.APIKey {
	return wire.APIKey{ID: "key_" + name, Name: "test " + name, Roles: wire.RoleAdmin}
}

// confirmList says that the list in force is the newest, as a fetch does that finds no other.
func (n *testNode) confirmList() {
	n.t.Helper()
	n.must(wire.KindListActivate, &wire.ListActivate{Digest: n.List().Digest(), Refresh: true})
}

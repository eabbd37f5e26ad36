package httpapi

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/httpapi/border"
	"railguard/httpapi/contract"
	"railguard/httpapi/description"
	"railguard/strictjson"
)

// held is the document that every exchange of these tests is checked against.
var held = func() *contract.Contract {
	c, err := contract.Load()
	if err != nil {
		panic(err)
	}
	return c
}()

// do sends one request to the public API. headers are name, value pairs.
func (n *testNode) do(role, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+testSecret(role))
	}
	r.Header.Set("X-Request-Id", "req_test")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	n.api.Handler().ServeHTTP(w, r)
	hold(n.t, r, body, w)
	return w
}

// hold fails a test whose exchange does not follow the document.
func hold(t testing.TB, r *http.Request, sent string, w *httptest.ResponseRecorder) {
	path, query, _ := strings.Cut(r.RequestURI, "?") // The URI as sent: escapes make it another path.
	if err := held.Check(&contract.Exchange{
		Method: r.Method, Path: path, Query: query, Sent: []byte(sent),
		Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
	}); err != nil {
		t.Errorf("not as openapi.yaml says: %v", err)
	}
}

// neverSeen lists answers that no test here produces, each with its reason.
var neverSeen = map[string]string{
	"POST /v1/agents/register 409": "needs a fleet of 100,000 agents",
	"POST /v1/cleared 409":         "needs a full table of cleared pairs",

	"POST /v1/proposals/{id}/withdraw 409": "needs a proposal that ends between the handler's look and the log: fsm/apply_propose_test.go sees the log's answer",

	"PUT /v1/whitelist 202": likePolicy, "POST /v1/whitelist/entries 202": likePolicy, "DELETE /v1/whitelist/entries/{entry} 202": likePolicy,
	"POST /v1/policy/shadow/{id}/promote 202": likePolicy, "POST /v1/ofac/{id}/activate 202": likePolicy, "POST /v1/ofac/{id}/rollback 202": likePolicy,
	"POST /v1/ofac/rollback 202": likePolicy, "POST /v1/cleared 202": likePolicy, "POST /v1/sar/{txnId}/move 202": likePolicy, "POST /v1/sanctions/cases/{id}/move 202": likePolicy, "POST /v1/lists/{id}/entries 202": likePolicy,
	"POST /v1/ofac/rollback 409": likePolicy, "POST /v1/ofac/{id}/activate 409": likePolicy, "POST /v1/ofac/{id}/rollback 409": likePolicy,
	"POST /v1/policy/shadow/{id}/promote 409": likePolicy, "POST /v1/whitelist/entries 409": likePolicy,
	"POST /v1/lists/{id}/entries 409": likePolicy,
	"PUT /v1/whitelist 409":           likePolicy, "DELETE /v1/whitelist/entries/{entry} 409": likePolicy,
}

// likePolicy: one renderer answers every proposal; TestTwoPersonsOverHTTP sees it.
const likePolicy = "the answer of PUT /v1/policy: one renderer answers every proposal"

// TestMain demands that a whole run produced every answer of every operation.
func TestMain(m *testing.M) {
	code := m.Run()
	if whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && !testing.Short(); whole {
		for _, answer := range held.Unseen("") {
			if neverSeen[answer] == "" {
				fmt.Println("openapi.yaml declares what no test has seen:", answer)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// Route table and document agree in both directions: paths, methods, scopes, roles, query
// parameters, members of bodies.
func TestDocumentIsTheRouteTable(t *testing.T) {
	n := newTestNode(t)
	routes := map[string]border.Route{}
	for _, r := range n.publicRoutes() {
		routes[r.Method+" "+documentPath(r.Path)] = r
	}
	for _, o := range held.Operations {
		if o.Guest != "" {
			continue // The guests' own tests check this path.
		}
		name := o.Method + " " + o.Path
		r, known := routes[name]
		require.True(t, known, "openapi.yaml has %s, the route table does not", name)
		delete(routes, name)
		require.Equal(t, r.Scope.Text(), o.Scope, "%s: x-scope", name)
		roles := edge.RoleList(r.Roles)
		if r.Roles == border.AnyRole {
			roles = []string{"any"}
		}
		require.ElementsMatch(t, roles, o.Roles, "%s: x-roles", name)
		requireParameters(t, name, r, o)
		requireMembers(t, name, r, o)
	}
	for name, r := range routes {
		if row := description.FindOperation(r.Method, r.Path); row != nil && len(row.Answers) == 0 {
			continue // It answers 404 and stands in no document.
		}
		require.Fail(t, "not in openapi.yaml", "%s: see \"A new route\" in CONTRIBUTING.md", name)
	}
}

// documentPath returns a route's path as OpenAPI writes it.
func documentPath(path string) string { return strings.ReplaceAll(path, "...}", "}") }

func requireParameters(t *testing.T, name string, r border.Route, o *contract.Operation) {
	var want, got []string
	if r.Method == http.MethodGet || r.Parameters != nil {
		want = append(want, "consistency")
	}
	want = append(want, r.Parameters...)
	for _, p := range o.Query {
		if p.Flag {
			p.Name += "?"
		}
		got = append(got, p.Name)
	}
	require.ElementsMatch(t, want, got, "%s: query parameters", name)
}

func requireMembers(t *testing.T, name string, r border.Route, o *contract.Operation) {
	if r.Body == border.BodyNone {
		require.Empty(t, o.Body.Schema, "%s takes no body", name)
		return
	}
	if o.Body.Lines {
		require.Equal(t, border.BodyRaw, r.Body, "%s: the handler reads the lines", name)
		return
	}
	require.NotEmpty(t, o.Body.Schema, "%s takes a body", name)
	if r.Body != border.BodyRaw {
		require.Equal(t, r.Body != border.BodyOptional, o.Body.Required, "%s: required", name)
	}
	if r.Shape == nil {
		return // Screening calls and policies have a separate check.
	}
	require.ElementsMatch(t, shapeNames(r.Shape, ""), held.Members(o.Body.Schema), "%s: members of the body", name)
}

// shapeNames returns the names of a shape; names of inner objects follow behind a dot.
func shapeNames(shape strictjson.Shape, prefix string) []string {
	var names []string
	for name, inner := range shape {
		names = append(names, prefix+name)
		names = append(names, shapeNames(inner, prefix+name+".")...)
	}
	return names
}

package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/lanes"
)

var pathValue = regexp.MustCompile(`\{[^}]*\}`)

// routePage is docs/ROUTES.md: who may call which route, and whose data it shows.
const routePage = "../docs/ROUTES.md"

const routePageHead = `# Who may call what

A test writes this page from the route table of the code and compares the two: a route that is not here does not exist.

*Scope* says whose affair a call is:

- *public*: the call needs no key, and nothing in its answer is any operator's.
- *reference*: published knowledge, for any key with one of the roles.
- *owner*: operators' data. A key with an operator's scope sees and changes its own operator's alone: what is another's is
  404, or 403 where the call itself names the other operator.
- *institution*: what holds for all operators. It is closed (403) to keys with an operator's scope, whatever their roles.

One of the *roles* is enough; admin has all of them. The admin listener answers 401 to a key with an operator's scope.
*Kind* says what the call costs and in which lane it runs: [What calls cost](#what-calls-cost). A lane behind the kind is that call's own.
*Rests on* says what a node needs for its answer ([decision 115](decisions/0115-current-or-silent.md)); without it the answer is 503 ` + "`no_leader`" + `, outcome none:

- *state*: the node is current, and the leader confirms for this call that the key is good and that nothing acknowledged is missing here.
- *log*: the node has read its log. The call is a record, and the log judges key, list and policy.
- *published*: the node is current.
- *node*: nothing. The call is about the node itself, or its answer proves itself; or operators mend a group by it.

401 answers a call without a key, and one whose key is unknown, has expired, was revoked or comes from a network that is not its own.

`

// routeTable makes the page's tables.
func routeTable(n *testNode) string {
	var page strings.Builder
	page.WriteString(routePageHead)
	page.WriteString("## Public API\n\n" + callTable(n.publicRoutes()))
	page.WriteString("\n## Guests in front of the public API\n\nA setting switches each on ([x402](x402.md), [MCP](mcp.md), [gateway](gateway.md)). What a guest asks the API, it asks with the caller's key.\n\n| call | guest | scope | roles |\n|---|---|---|---|\n")
	for _, o := range held.Operations {
		if o.Guest != "" {
			page.WriteString("| " + o.Method + " " + o.Path + " | " + o.Guest + " | " + o.Scope + " | " + strings.Join(o.Roles, ", ") + " |\n")
		}
	}
	page.WriteString("| any method /ext-authz/{profile}/... | gateway | owner | gateway, screener |\n")
	page.WriteString("\n## Admin listener\n\n" + callTable(n.adminRoutes()))
	page.WriteString("\n" + costTable(n.t))
	return page.String()
}

// callTable has one row for all calls of the same scope, roles, kind and lane. It names a
// lane only where it differs from the kind's own.
func callTable(routes []border.Route) string {
	sort.Slice(routes, func(i, j int) bool { return routes[i].Path+" "+routes[i].Method < routes[j].Path+" "+routes[j].Method })
	scopes := []string{"public", "reference", "owner", "institution"}
	calls := map[string][]string{}
	for _, r := range routes {
		who := strings.Join(edge.RoleList(r.Roles), ", ")
		if r.Roles == border.AnyRole {
			who = "any"
		}
		charge := border.ChargeOf(&r)
		kind := charge.Name
		if bound := charge.Bound.Text(); bound != border.Charges[border.KindOf[r.Method+" "+r.Path]].Bound.Text() {
			kind += ", " + bound
		}
		row := fmt.Sprintf("%d%s | %s | %s | %s", slices.Index(scopes, r.Scope.Text()), r.Scope.Text(), who, kind, border.GroundOf(r.Method, r.Path).Text())
		calls[row] = append(calls[row], "`"+r.Method+" "+r.Path+"`")
	}
	var table strings.Builder
	table.WriteString("| scope | roles | kind | rests on | calls |\n|---|---|---|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(calls)) {
		table.WriteString("| " + row[1:] + " | " + strings.Join(calls[row], ", ") + " |\n")
	}
	return table.String()
}

// The route table as a golden file shows in one place who may call what.
func TestRouteTable(t *testing.T) {
	got := routeTable(newTestNode(t))
	if *update {
		require.NoError(t, os.WriteFile(routePage, []byte(got), 0o644))
	}
	want, err := os.ReadFile(routePage)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "a new route needs its line: run with -update and read the diff")
}

// A route without a scope is not served.
func TestEveryRouteDeclaresItsScope(t *testing.T) {
	n := newTestNode(t)
	for _, r := range append(n.publicRoutes(), n.adminRoutes()...) {
		require.NotEqual(t, border.ScopeNone, r.Scope, "%s %s", r.Method, r.Path)
		require.Equal(t, r.Roles == 0, r.Scope == border.ScopePublic, "%s %s", r.Method, r.Path)
		private := strings.HasPrefix(r.Path, "/v1/") && r.Path != "/v1/health" && r.Path != "/v1/.well-known/jwks.json"
		require.False(t, private && r.Scope == border.ScopePublic, "%s %s: only health and key set are public under /v1", r.Method, r.Path)
	}
}

// deadKeys returns the invalid keys, of each sort one, by the name of a test key.
func (n *testNode) deadKeys() []string {
	expired, revoked, elsewhere := testKey("expired"), testKey("revoked"), testKey("elsewhere")
	expired.ExpiresAt, elsewhere.Networks = n.LogTime()+1, []string{"203.0.113.0/24"}
	n.addKey(expired, testSecret("expired"))
	n.addKey(revoked, testSecret("revoked"))
	n.addKey(elsewhere, testSecret("elsewhere"))
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: revoked.ID}})
	n.advance(engine.Second)
	return []string{"", "unknown", "expired", "revoked", "elsewhere"}
}

// Every route with every sort of key (decision 61, no. 24): an invalid key gets 401; a key
// that lacks the role, or has an operator's scope on the institution's routes, gets 403;
// any other is admitted.
func TestEveryRouteEveryKey(t *testing.T) {
	n := newTestNode(t)
	n.api.WrongKeys = lanes.NewAddresses(1_000_000, 1_000_000, 16) // Most keys here are wrong.
	dead := n.deadKeys()
	for _, role := range []string{"settler", "viewer", "gateway"} { // Other transcripts do not need these.
		n.addKey(wire.APIKey{ID: "key_" + role, Roles: testRoles[role]}, testSecret(role))
	}
	for role, bit := range testRoles {
		if bit&wire.RolesOfOutsiders != 0 {
			n.addKey(wire.APIKey{ID: "key_acme_" + role, Roles: bit, Owner: "Acme"}, testSecret("acme"+role))
		}
	}
	roles := map[string]uint16{"admin": wire.RoleAdmin}
	maps.Copy(roles, testRoles)
	for _, r := range n.publicRoutes() {
		path := pathValue.ReplaceAllString(r.Path, "x")
		at := r.Method + " " + r.Path
		if r.Roles == 0 {
			require.NotContains(t, []int{401, 403}, n.do("", r.Method, path, "").Code, at)
			continue
		}
		for _, key := range dead {
			require.Equal(t, 401, n.do(key, r.Method, path, "").Code, "%s with the key %q", at, key)
		}
		verb := r.Method != http.MethodGet && strings.HasPrefix(path, "/v1/cluster/")
		for role, bit := range roles {
			may := r.Roles&bit != 0 || role == "admin"
			requireLetIn(t, n, r, role, path, may, verb)
			if bit&wire.RolesOfOutsiders != 0 {
				requireLetIn(t, n, r, "acme"+role, path, (may || r.Outsiders&bit != 0) && r.Scope != border.ScopeInstitution, verb)
			}
		}
	}
}

func requireLetIn(t *testing.T, n *testNode, r border.Route, key, path string, may, verb bool) {
	if may && verb {
		return // Cluster verbs have their own transcript.
	}
	code := n.do(key, r.Method, path, "{}").Code
	if !may {
		require.Equal(t, 403, code, "%s %s as %s", r.Method, r.Path, key)
		return
	}
	require.NotContains(t, []int{401, 403, 405, 500}, code, "%s %s as %s", r.Method, r.Path, key)
}

// The admin listener accepts no key with an operator's scope.
func TestAdminListenerHasNoTenants(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_acme", Roles: wire.RolesOfOutsiders, Owner: "Acme"}, testSecret("acme"))
	for _, r := range n.adminRoutes() {
		if r.Roles == 0 {
			continue
		}
		path := pathValue.ReplaceAllString(r.Path, "x")
		for _, secret := range []string{"", testSecret("acme"), testSecret("unknown")} {
			require.Equal(t, 401, n.doAdmin(r.Method, path, "{}", "Authorization", "Bearer "+secret).Code, "%s %s", r.Method, r.Path)
		}
	}
}

// The admin listener does not serve the public routes, nor the public one the admin routes.
func TestListenersAreApart(t *testing.T) {
	n := newTestNode(t)
	for _, path := range []string{"/metrics", "/debug/pprof/heap", "/admin/keys"} {
		require.Equal(t, 404, n.do("admin", "GET", path, "").Code, path)
	}
	require.Equal(t, 404, n.doAdmin("GET", "/v1/audit", "").Code)
	metrics := n.doAdmin("GET", "/metrics", "", "Authorization", "")
	require.Equal(t, 200, metrics.Code)
	n.screen("x", "")
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), `railguard_screen_total{verdict="UNKNOWN",rule="R1_NO_CREDENTIAL"}`)
	for _, name := range []string{"railguard_screen_seconds_count", "railguard_ofac_age_seconds", "railguard_log_tree_size"} {
		require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), name)
	}
}

// A stranger's name that leads to this machine opens nothing, unless the client shows a
// certificate (T34).
func TestAdminListenerChecksItsHost(t *testing.T) {
	n := newTestNode(t)
	for name, c := range map[string]struct {
		host   string
		tls    *tls.ConnectionState
		status int
	}{
		"the address":                 {"127.0.0.1:8180", nil, 200},
		"a stranger's name":           {"rebind.example.com:8180", nil, 403},
		"TLS alone":                   {"rebind.example.com:8180", new(tls.ConnectionState), 403},
		"a certificate of the client": {"node1.example.com:8180", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}, 200},
	} {
		r, w := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
		r.Host, r.TLS = c.host, c.tls
		n.api.AdminHandler().ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, name)
	}
}

// Every code the service answers with is in the documentation.
func TestEveryErrorCodeIsDocumented(t *testing.T) {
	known := map[string]bool{"": true}
	for _, entry := range border.CodeTable {
		require.False(t, known[entry.Code], "twice: %s", entry.Code)
		known[entry.Code] = true
	}
	used := regexp.MustCompile(`(?:NewError\([^,]+|[cC]onflict\(|[uU]navailable\(|Code:) ?,? ?"([a-z_]+)"`)
	found := 0
	for _, room := range []string{"border", "payments", "registry", "casework", "evidence", "rulebook", "operations"} {
		files, err := filepath.Glob(room + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range used.FindAllStringSubmatch(string(data), -1) {
				require.True(t, known[match[1]], "%s: %s is not in CodeTable", file, match[1])
				found++
			}
		}
	}
	require.Greater(t, found, 30)
}

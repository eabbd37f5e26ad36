package redteam

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"railguard/bench/conformance"
)

//go:embed routes.txt
var routesText string

// route is one call and who may make it.
type route struct {
	method, path string
	section      string              // public, api, guests or admin.
	may          map[string][]string // Roles by kind of owner: institution, operator, caller.
	body         string              // What a stranger sends about a foreign object; "": nothing that could work.
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func readRoutes() (all []route) {
	section := ""
	for line := range strings.Lines(routesText) {
		line = strings.TrimSpace(line)
		if word, found := strings.CutPrefix(line, "== "); found {
			section = word
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, " | ", 5)
		r := route{section: section, may: map[string][]string{}}
		r.method, r.path, _ = strings.Cut(cells[0], " ")
		for i, kind := range []string{"institution", "operator", "caller"} {
			if i+1 < len(cells) {
				r.may[kind] = strings.Fields(cells[i+1])
			}
		}
		if len(cells) == 5 {
			r.body = cells[4]
		}
		all = append(all, r)
	}
	return all
}

// judge says whether a role must get in, must be refused, or is not judged.
func (r *route) judge(kind, role string) (open, judged bool) {
	may := r.may[kind]
	if slices.Contains(may, role+"?") {
		return false, false
	}
	return slices.Contains(may, role) || slices.Contains(may, "any") && role != "gateway" || kind == "institution" && role == "admin", true
}

// idle is the path with names of nothing, and a query of a GET that no route takes, so that a call
// which gets in does nothing.
func (r *route) idle() string {
	path := pathParameter.ReplaceAllString(r.path, "zzzzzzzzzzzz")
	if r.method == http.MethodGet {
		path += "?redteam=1"
	}
	return path
}

// served returns the routes that the product says it has.
func (w *world) served(e conformance.Examiner) []string {
	a := e.Call(conformance.Sent{Method: "GET", Path: "/openapi.json"})
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	e.Must(json.Unmarshal(a.Raw, &document) == nil && len(document.Paths) > 50, "the document of the API is not readable: %d", a.Status)
	var all []string
	for path, methods := range document.Paths {
		for method := range methods {
			if method != "parameters" {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

// nameless brings the names of path parameters to one.
func nameless(route string) string { return pathParameter.ReplaceAllString(route, "{}") }

// everyRouteIsJudged: a route that routes.txt does not name is one that nobody attacks.
func (w *world) everyRouteIsJudged(e conformance.Examiner) {
	known := map[string]bool{}
	for _, r := range readRoutes() {
		known[nameless(r.method+" "+r.path)] = true
	}
	served := map[string]bool{}
	for _, name := range w.served(e) {
		served[nameless(name)] = true
		e.Expect(known[nameless(name)], "%s is not in routes.txt: who may call it?", name)
	}
	for _, r := range readRoutes() {
		if r.section == "api" {
			e.Expect(served[nameless(r.method+" "+r.path)], "%s %s is in routes.txt and not in the product", r.method, r.path)
		}
	}
}

// holder is a key with one role.
type holder struct {
	kind, role, key string
	of              *party
}

// holders are all keys: of the house, of operator A and of caller C, each with one role.
func (w *world) holders() (all []holder) {
	for _, role := range institutionRoles {
		all = append(all, holder{"institution", role, w.house.keys[role], nil})
	}
	for _, role := range outsideRoles {
		all = append(all, holder{"operator", role, w.a.keys[role], w.a})
	}
	for _, role := range callerRoles {
		all = append(all, holder{"caller", role, w.c.keys[role], w.c})
	}
	all = slices.DeleteFunc(all, func(h holder) bool { return h.key == "" })
	return all
}

// everyDoor tries every route of a section without a key, and with a key of every role of these kinds
// of owners.
func (w *world) everyDoor(e conformance.Examiner, section string, kinds ...string) {
	served := w.served(e)
	for at, r := range readRoutes() {
		soon := r.section == "soon" && section == "api" && slices.ContainsFunc(served, func(name string) bool { return nameless(name) == nameless(r.method+" "+r.path) })
		if r.section != section && !soon {
			continue
		}
		var body any
		if r.method != http.MethodGet && r.method != http.MethodDelete {
			body = "{"
		}
		call := func(key string) *conformance.Answer {
			if section == "admin" {
				return e.Call(conformance.Sent{Method: r.method, Path: r.idle(), Key: key, Body: body, Base: w.admin})
			}
			return w.call(e, key, r.method, r.idle(), body)
		}
		if a := call(""); !e.Expect(a.Status == http.StatusUnauthorized, "%s %s without a key: %d", r.method, r.path, a.Status) {
			continue
		}
		for i, h := range w.holders() {
			open, judged := r.judge(h.kind, h.role)
			if !judged || !slices.Contains(kinds, h.kind) {
				continue
			}
			// There an outsider's key is a wrong key, whatever its role: the address may send a hundred, and
			// then one a second. Each route is tried with some roles, and each role at some routes.
			if section == "admin" && h.kind != "institution" && (at+i)%4 != 0 {
				continue
			}
			a := call(h.key)
			refused := a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized
			e.Expect(refused != open, "%s %s by %s of %s: %d %s, want %s", r.method, r.path, h.role, h.kind, a.Status, a.Code, map[bool]string{true: "an open door", false: "a refusal"}[open])
			if h.of != nil {
				found := w.leak(h.of, a.Raw)
				e.Expect(found == "", "%s %s by %s of %s shows %s", r.method, r.path, h.role, h.kind, found)
			}
		}
	}
}

// publicDoors: what needs no key shows nothing of anybody.
func (w *world) publicDoors(e conformance.Examiner) {
	for _, r := range readRoutes() {
		if r.section != "public" {
			continue
		}
		a := w.call(e, "", r.method, pathParameter.ReplaceAllString(r.path, "0"), nil)
		e.Expect(a.Status != 401 && a.Status != 403 && a.Status < 500, "%s %s: %d", r.method, r.path, a.Status)
		for _, p := range []*party{w.house, w.a, w.b, w.c, w.d} {
			e.Expect(!strings.Contains(string(a.Raw), p.word), "%s %s shows what is %s's", r.method, r.path, p.word)
		}
		e.Expect(!strings.Contains(string(a.Raw), w.secret), "%s %s shows officers' words", r.method, r.path)
	}
}

// kindsOfObjects says by the beginning of a path whose object its parameter is.
var kindsOfObjects = []struct{ prefix, kind string }{
	{"/v1/agents/{id}", "agent"}, {"/v1/users/{id}", "user"}, {"/v1/fleets/{id}", "fleet"}, {"/v1/webhooks/{id}", "webhook"},
	{"/v1/audit/{txnId}", "txn"}, {"/v1/transactions/{txnId}", "txn"}, {"/v1/reviews/{txnId}", "open"}, {"/v1/queue/{txnId}", "open"},
	{"/v1/sar/{txnId}", "case"}, {"/v1/sanctions/cases/{id}", "sanctions"},
}

// about is the path about an owner's object, and the body of a stranger about it. ok is false if the
// route is about no object that an owner has.
func (r *route) about(owner *party) (path string, body any, ok bool) {
	path = r.path
	for _, k := range kindsOfObjects {
		if strings.HasPrefix(path, k.prefix) {
			if owner.owned[k.kind] == "" {
				return "", nil, false
			}
			path, ok = strings.Replace(path, pathParameter.FindString(path), owner.owned[k.kind], 1), true
			break
		}
	}
	path = strings.Replace(path, "{agentId}", owner.owned["agent"], 1)
	path = pathParameter.ReplaceAllString(path, "1")
	if strings.Contains(r.body, "$token") && owner.owned["token"] == "" || strings.Contains(r.body, "$operator") && owner.name == "" || strings.Contains(r.body, "$agent") && owner.owned["agent"] == "" {
		return "", nil, false
	}
	if r.body != "" {
		text := strings.NewReplacer("$token", owner.owned["token"], "$agent", owner.owned["agent"], "$operator", owner.name).Replace(r.body)
		ok, body = ok || text != r.body, text
	}
	return path, body, ok
}

// foreignObjects: nobody outside the house reads or moves what is another's. Each route is tried about
// every other owner's object, with all roles that an outsider can have at once; the long form also
// with each role alone.
func (w *world) foreignObjects(e conformance.Examiner) {
	tries := 0
	for _, r := range readRoutes() {
		if r.section != "api" {
			continue
		}
		for _, attacker := range []*party{w.a, w.c} {
			for _, owner := range []*party{w.b, w.house, w.a, w.d} {
				if owner == attacker || w.lawful(&r, attacker, owner) {
					continue
				}
				path, body, ok := r.about(owner)
				if !ok {
					continue
				}
				keys := []string{attacker.keys["all"]}
				if long() {
					for _, role := range callerRoles {
						keys = append(keys, attacker.keys[role])
					}
				}
				for _, key := range keys {
					if key == "" {
						continue
					}
					tries++
					w.tryForeign(e, key, attacker, &r, path, body)
				}
			}
		}
	}
	e.Must(tries > 100, "only %d foreign objects were tried", tries)
}

// lawful tells whether the contract lets an attacker do this: a caller screens whichever agent pays
// it, and an operator reads what others screened of its agents.
func (w *world) lawful(r *route, attacker, owner *party) bool {
	if attacker == w.c && strings.HasPrefix(r.path, "/v1/screen") {
		return true
	}
	return false
}

func (w *world) tryForeign(e conformance.Examiner, key string, attacker *party, r *route, path string, body any) {
	a := w.call(e, key, r.method, path, body)
	label := fmt.Sprintf("%s %s by a key of %s", r.method, path, attacker.word)
	e.Expect(a.Status == 404 || a.Status == 403 || (strings.HasSuffix(r.path, "/batch") || strings.HasSuffix(r.path, "/stream")) && !strings.Contains(string(a.Raw), `"verdict"`), "%s about a foreign object: %d %s", label, a.Status, a.Code)
	if found := w.leak(attacker, a.Raw); found != "" {
		e.Expect(false, "%s shows %s", label, found)
	}
}

// everyList: what lists, searches, streams and exports, shows its reader what is its own and nothing
// of another's, and nothing of officers.
func (w *world) everyList(e conformance.Examiner) {
	paths := []string{
		"/v1/agents?limit=500", "/v1/users?limit=500", "/v1/fleets?limit=500", "/v1/audit?limit=500", "/v1/events?limit=500", "/v1/events?types=review.*,sar.*,alert.*",
		"/v1/audit/export", "/v1/audit/export?format=csv", "/v1/webhooks", "/v1/queue", "/v1/alerts", "/v1/sar", "/v1/activity?limit=500", "/v1/cleared",
		"/v1/audit?disposition=ESCALATE_SAR", "/v1/key",
		"/v1/sanctions/cases?limit=500", "/v1/sanctions/blocked-property", "/v1/sanctions/blocked-property?format=csv", "/v1/events?types=sanctions.*",
	}
	for _, p := range []*party{w.a, w.b, w.c, w.d} {
		own := append(slices.Clone(paths), "/v1/audit/"+p.owned["txn"], "/v1/audit/"+p.owned["case"], "/v1/audit/"+p.owned["open"],
			"/v1/audit/"+p.owned["case"]+"/proof", "/v1/audit/"+p.owned["case"]+"/explain", "/v1/queue?q="+p.word)
		if p.owned["agent"] != "" {
			own = append(own, "/v1/agents/"+p.owned["agent"], "/v1/audit/export?agentId="+p.owned["agent"], "/v1/agents/"+p.owned["agent"]+"/limits")
		}
		for role, key := range p.keys {
			if key == "" {
				continue
			}
			for _, path := range own {
				a := w.call(e, key, "GET", path, nil)
				e.Expect(a.OK() || a.Status == 403 || a.Status == 404 || a.Status == 400 || a.Status == 422, "GET %s by %s of %s: %d", path, role, p.word, a.Status)
				found := w.leak(p, a.Raw)
				e.Expect(found == "", "GET %s by %s of %s shows %s", path, role, p.word, found)
			}
		}
		record := w.call(e, p.keys["screener"], "GET", "/v1/audit/"+p.owned["txn"], nil)
		e.Expect(record.Text("txnId") == p.owned["txn"], "%s does not read its own record: %d", p.word, record.Status)
	}
	for _, role := range []string{"reviewer", "auditor"} {
		record := w.call(e, w.house.keys[role], "GET", "/v1/audit/"+w.a.owned["case"], nil)
		e.Expect(strings.Contains(string(record.Raw), "ESCALATE_SAR") && strings.Contains(string(record.Raw), w.secret), "%s of the house does not see what officers decided: %d", role, record.Status)
	}
}

// noOfficerOutside: a key of an operator or a caller is given no role of the house's.
func (w *world) noOfficerOutside(e conformance.Examiner) {
	for _, owner := range []*party{w.a, w.c} {
		for _, role := range officerRoles {
			for _, roles := range [][]string{{role}, {"screener", role}} {
				a := w.tryKey(e, owner, nil, roles...)
				e.Expect(a.Refused(), "a key of %s with %v: %d", owner.word, roles, a.Status)
				if a.OK() {
					e.Call(conformance.Sent{Method: "DELETE", Path: "/admin/keys/" + a.Text("keyId"), Key: w.root, Base: w.admin})
				}
			}
		}
	}
}

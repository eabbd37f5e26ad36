package conformance

import (
	"net/http"
	"strings"
	"time"
)

var roleChecks = []Check{
	{ID: "X-ROLE-1", Title: "each role reaches its endpoints and no others: 403 forbidden with requiredRole", Source: Ruling, Needs: NeedAdmin, run: checkRoleMatrix},
	{ID: "X-ROLE-4", Title: "the tipping-off wall: no sign of a SAR for operator and screener", Source: Ruling, Needs: NeedAdmin, run: checkTippingOff},
	{ID: "X-ROLE-6", Title: "a key's operator scope hides the agents of others", Source: Ruling, Needs: NeedAdmin, run: checkOperatorScope},
	{ID: "X-ROLE-9", Title: "the admin listener asks for a key too, and shows a secret once", Source: Ruling, Needs: NeedAdmin, run: checkAdminListener},
}

// apiKey is a key made for a check.
type apiKey struct{ id, secret string }

// makeKey makes a key on the admin listener. Without roles it has all that its owner's keys can have.
func (p *probe) makeKey(operator string, roles ...string) apiKey {
	body := obj{"name": p.name("conformance"), "roles": roles}
	if operator != "" {
		body["operator"] = operator
	}
	switch {
	case len(roles) == 0 && operator == "":
		body["roles"] = list{"admin"}
	case len(roles) == 0:
		body["roles"] = outsidersRoles
	}
	a := p.post("/admin/keys", body, atBase(p.cfg.AdminURL))
	if (a.status == 404 || a.status == 405) && !p.cfg.Strict {
		p.skip("the admin listener has no POST /admin/keys")
	}
	p.success(a)
	made := apiKey{id: p.str(a, "keyId"), secret: p.str(a, "key")}
	for i := range p.cfg.BaseURLs {
		p.awaitKey(made, node(i))
	}
	if p.cfg.AdminURL != "" {
		p.awaitKey(made, atBase(p.cfg.AdminURL))
	}
	return made
}

// awaitKey waits until a node knows a fresh key.
func (p *probe) awaitKey(key apiKey, at option) {
	for start := time.Now(); ; {
		a := p.get("/v1/cluster/leader", at, withKey(key.secret), local)
		if a.status != http.StatusUnauthorized {
			return
		}
		p.must(time.Since(start) < spreadMax, "a fresh key is still unknown after %v", spreadMax)
		p.must(pause(p.ctx, 5*time.Millisecond) == nil, "cut off")
	}
}

var allRoles = []string{"operator", "screener", "reviewer", "auditor", "policy", "ops", "admin"}

// outsidersRoles are the roles that a key of an operator can have; no others.
var outsidersRoles = []string{"operator", "screener", "settler", "viewer"}

// roleRow is one endpoint with the roles that must reach it. Roles in open are those on
// which the rulings are silent; they are not judged.
type roleRow struct {
	method, path string
	may, open    string
}

// The paths name things that do not exist, and bodies are not JSON: an allowed role gets
// another refusal, and nothing changes.
var roleMatrix = []roleRow{
	{"POST", "/v1/agents/register", "operator admin", ""},
	{"POST", "/v1/fleets/create", "operator admin", ""},
	{"POST", "/v1/delegates/create", "operator admin", ""},
	{"POST", "/v1/users/register", "operator admin", ""},
	{"POST", "/v1/agents/agt_zzzzzzzzzzzz/attest", "operator admin", ""},
	{"POST", "/v1/agents/agt_zzzzzzzzzzzz/suspend", "operator admin", "reviewer policy"},
	{"POST", "/v1/agents/agt_zzzzzzzzzzzz/revoke", "operator admin", "reviewer policy"},
	{"GET", "/v1/agents/agt_zzzzzzzzzzzz", "operator auditor admin", "screener reviewer policy ops"},
	{"POST", "/v1/screen", "screener admin", ""},
	{"POST", "/v1/screen/dry-run", "policy reviewer screener admin", ""},
	{"POST", "/v1/reviews/txn_zzzzzzzz", "reviewer admin", ""},
	{"GET", "/v1/audit/txn_zzzzzzzz", "screener reviewer auditor admin", "operator policy ops"},
	{"GET", "/v1/audit/txn_zzzzzzzz/proof", "auditor admin", "screener operator reviewer policy ops"},
	{"POST", "/v1/audit/txn_zzzzzzzz/replay", "auditor admin", "reviewer policy"},
	{"GET", "/v1/audit/export?from=2020-01-01T00:00:00Z&to=2020-01-01T00:00:01Z", "auditor admin", "reviewer"}, // A span without records: the time of a full export is not tested.
	{"GET", "/v1/queue", "reviewer admin", "auditor"},
	{"POST", "/v1/queue/txn_zzzzzzzz/claim", "reviewer admin", ""},
	{"PUT", "/v1/policy", "policy admin", ""},
	{"PUT", "/v1/whitelist", "policy admin", ""},
	{"GET", "/v1/cluster/status", "ops admin", "auditor"},
	{"GET", "/v1/match?name=x", "reviewer policy admin", "auditor"},
}

func checkRoleMatrix(p *probe) {
	for _, role := range allRoles {
		key := p.makeKey("", role)
		for _, row := range roleMatrix {
			if strings.Contains(" "+row.open+" ", " "+role+" ") {
				continue
			}
			a := p.call(row.method, row.path, roleBody(row.method), withKey(key.secret))
			if strings.Contains(" "+row.may+" ", " "+role+" ") {
				p.expect(a.status != 403 && a.status != 401, "%s may %s %s, got %d", role, row.method, row.path, a.status)
				continue
			}
			if p.expect(a.status == 403 && a.code() == "forbidden", "%s may not %s %s, got %d %q", role, row.method, row.path, a.status, a.code()) {
				p.expect(strings.Contains(string(a.raw), "requiredRole"), "%s %s: 403 without requiredRole", row.method, row.path)
			}
		}
	}
}

func roleBody(method string) any {
	if method == http.MethodGet {
		return nil
	}
	return literal("{")
}

func checkTippingOff(p *probe) {
	screener, auditor := p.makeKey("", "screener"), p.makeKey("", "auditor")
	for value, visible := range map[string]bool{"ESCALATE_SAR": false, "REJECTED": true} {
		g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
		txn := p.screenBody(g.payment("150"), withKey(screener.secret)).text("txnId")
		before := p.record(txn, withKey(screener.secret))
		p.disposition(txn, value)
		after := p.record(txn, withKey(screener.secret))
		if visible {
			p.same(after, "disposition", value)
			continue
		}
		p.absent(after, "disposition")
		p.expect(!strings.Contains(string(after.raw), "SAR") && !strings.Contains(string(after.raw), `"sarEscalated":true`), "the screener's record speaks of a SAR")
		p.expect(sameTree(before.tree, after.tree), "the screener's record changed in %v", differing(before.tree, after.tree))
		p.same(p.record(txn, withKey(auditor.secret)), "disposition", value)
		p.same(p.record(txn, withKey(auditor.secret)), "sarEscalated", true)
	}
}

func checkOperatorScope(p *probe) {
	operator := p.name("Scoped Orchard Holdings")
	key := p.makeKey(operator, "operator")
	mine := p.register(with("operatorLegalName", operator))
	foreign := p.register()
	p.same(p.success(p.get("/v1/agents/"+mine.id, withKey(key.secret))), "agentId", mine.id)
	folded := p.register(with("operatorLegalName", strings.ToUpper(operator)))
	p.status(p.get("/v1/agents/"+folded.id, withKey(key.secret)), 404) // A name that folds alike is another operator's.
	a := p.get("/v1/agents/"+foreign.id, withKey(key.secret))
	p.expect(a.status == 404 || a.status == 403, "a foreign agent: status %d, want 404", a.status)
	a = p.post("/v1/agents/"+foreign.id+"/suspend", obj{"reason": "x"}, withKey(key.secret))
	p.expect(a.status == 404 || a.status == 403, "suspending a foreign agent: status %d, want a refusal", a.status)
	a = p.post("/v1/agents/register", p.registration(), withKey(key.secret))
	p.refused(a, 403, "forbidden")
	p.status(p.post("/v1/agents/register", p.registration(with("operatorLegalName", operator)), withKey(key.secret)), 201)
	listed := p.success(p.get("/v1/agents?limit=500", withKey(key.secret)))
	for _, id := range ids(p.array(listed, "data"), "agentId") {
		p.expect(id != foreign.id, "the list of a scoped key names a foreign agent")
	}
	p.proceeds(p.screen(foreign, "1"))
}

func checkAdminListener(p *probe) {
	admin := atBase(p.cfg.AdminURL)
	a := p.post("/admin/keys", obj{"name": "x"}, admin, anonymous)
	p.expect(a.status == 401, "POST /admin/keys without a key: status %d, want 401", a.status)
	key := p.makeKey("", "screener")
	a = p.post("/admin/keys", obj{"name": "x", "roles": list{"admin"}}, admin, withKey(key.secret))
	p.expect(a.status == 403, "POST /admin/keys by a screener: status %d, want 403", a.status)
	a = p.post("/admin/keys", obj{"name": "x", "roles": list{"emperor"}}, admin)
	p.expect(a.status == 422, "an unknown role: status %d, want 422", a.status)
	p.expect(strings.HasPrefix(key.secret, "rg_live_") && len(key.secret) == len("rg_live_")+28, "the key is not rg_live_ and 28 characters")
	listed := p.success(p.get("/admin/keys", admin))
	p.expect(!strings.Contains(string(listed.raw), key.secret), "the list of keys shows a secret")
	p.expect(strings.Contains(string(listed.raw), key.id), "the list of keys lacks the new one")
	a = p.post("/admin/keys", obj{"name": "x"})
	p.expect(a.status == 404, "POST /admin/keys on the API port: status %d, want 404", a.status)
}

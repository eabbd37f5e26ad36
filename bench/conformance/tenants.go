package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

var tenantChecks = []Check{
	{ID: "T144", Title: "a key with an operator's scope is closed out of what is the institution's, whatever its roles", Source: Ruling, Needs: NeedAdmin, run: checkInstitution},
	{ID: "T145", Title: "the same Idempotency-Key under another API key of the same owner: one outcome", Source: Ruling, Needs: NeedAdmin, run: checkOwnersKey},
	{ID: "T146", Title: "a record is readable by every screener key of its owner and by none of another", Source: Ruling, Needs: NeedAdmin, run: checkOwnersRecord},
	{ID: "T148", Title: "R8, R3 and a suspension set by an unscoped key are lifted by whom they may be, and by nobody else", Source: Ruling, Needs: NeedAdmin, run: checkLifting},
	{ID: "T153", Title: "no public document counts open or closed reviews", Source: Ruling, run: checkNothingCounted},
}

// institutionRoutes are calls that concern all operators. Bodies would change nothing if
// they got through.
var institutionRoutes = []struct{ method, path string }{
	{"GET", "/v1/policy"}, {"PUT", "/v1/policy"}, {"GET", "/v1/policy/versions"}, {"POST", "/v1/policy/validate"},
	{"GET", "/v1/ofac"}, {"POST", "/v1/ofac/sync"}, {"POST", "/v1/ofac/rollback"}, {"POST", "/v1/ofac/snp_x/activate"},
	{"POST", "/v1/ofac/snp_x/rollback"}, {"GET", "/v1/ofac/snp_x/diff"},
	{"GET", "/v1/whitelist"}, {"PUT", "/v1/whitelist"}, {"POST", "/v1/whitelist/entries"}, {"DELETE", "/v1/whitelist/entries/1"},
	{"GET", "/v1/cleared"}, {"POST", "/v1/cleared"}, {"DELETE", "/v1/cleared/1"},
	{"GET", "/v1/cluster/status"}, {"GET", "/v1/cluster/peers"}, {"GET", "/v1/cluster/leader"}, {"GET", "/v1/cluster/snapshot"},
	{"POST", "/v1/cluster/snapshot"}, {"POST", "/v1/cluster/transfer-leader"}, {"POST", "/v1/cluster/admit"},
	{"POST", "/v1/cluster/remove"}, {"POST", "/v1/cluster/promote"}, {"POST", "/v1/cluster/demote"}, {"POST", "/v1/cluster/drain"},
	{"POST", "/v1/cluster/matcher"}, {"POST", "/v1/cluster/confirm-time"}, {"GET", "/v1/cluster/backups"}, {"POST", "/v1/cluster/backups"},
	{"GET", "/log/tile/entries/000"},
}

func checkInstitution(p *probe) {
	operator := p.name("Scoped Orchard Holdings")
	keys := []apiKey{p.makeKey(operator)}
	for _, role := range outsidersRoles {
		keys = append(keys, p.makeKey(operator, role))
	}
	for _, role := range []string{"reviewer", "auditor", "policy", "ops", "admin"} {
		a := p.post("/admin/keys", obj{"name": "x", "operator": operator, "roles": list{"screener", role}}, atBase(p.cfg.AdminURL))
		p.refused(a, 422, "role_not_allowed")
	}
	for _, key := range keys {
		for _, r := range institutionRoutes {
			var body any
			if r.method != http.MethodGet {
				body = obj{}
			}
			a := p.call(r.method, r.path, body, withKey(key.secret))
			p.expect(a.status == 403 || a.status == 404, "%s %s: status %d, want 403 or 404", r.method, r.path, a.status)
		}
		a := p.post("/v1/operators/suspend", obj{"operatorLegalName": p.name("Another Orchard Works"), "reason": "x"}, withKey(key.secret))
		p.expect(a.status == 403 || a.status == 404, "suspending another operator: status %d, want 403 or 404", a.status)
		a = p.get("/admin/keys", atBase(p.cfg.AdminURL), withKey(key.secret))
		p.expect(a.status == 401 || a.status == 403 || a.status == 404, "the list of API keys: status %d, want a refusal", a.status)
	}
	p.expect(p.get("/v1/policy").status == 200, "the policy for a key of the institution is not 200")
}

func checkOwnersKey(p *probe) {
	operator := p.name("Owning Orchard Holdings")
	g := p.register(with("operatorLegalName", operator))
	pairs := map[string][2]apiKey{
		"institution": {p.makeKey("", "screener"), p.makeKey("", "screener")},
		"operator":    {p.makeKey(operator, "screener"), p.makeKey(operator, "screener")},
	}
	key, outcomes := newKey(), map[string]string{}
	for owner, pair := range pairs {
		first := p.screenBody(g.payment("1"), key, withKey(pair[0].secret))
		second := p.screenBody(g.payment("1"), key, withKey(pair[1].secret))
		p.expect(first.text("txnId") == second.text("txnId"), "two keys of one %s: two outcomes of one Idempotency-Key", owner)
		p.expect(second.header.Get("Idempotent-Replayed") == "true", "the second answer does not say that it is a replay")
		p.refused(p.call("POST", "/v1/screen", g.payment("2"), key, withKey(pair[1].secret)), 422, "idempotency_conflict")
		outcomes[first.text("txnId")] = owner
	}
	p.expect(len(outcomes) == len(pairs), "two owners share one Idempotency-Key")
}

func checkOwnersRecord(p *probe) {
	operator := p.name("Reading Orchard Holdings")
	g := p.register(with("operatorLegalName", operator))
	institution := []apiKey{p.makeKey("", "screener"), p.makeKey("", "screener")}
	tenant := []apiKey{p.makeKey(operator, "screener"), p.makeKey(operator, "screener")}
	foreign := p.makeKey(p.name("Foreign Orchard Holdings"), "screener")
	for _, owner := range []struct{ own, others []apiKey }{
		{institution, append(tenant[:2:2], foreign)}, {tenant, append(institution[:2:2], foreign)},
	} {
		txn := p.screenBody(g.payment("1"), withKey(owner.own[0].secret)).text("txnId")
		for _, key := range owner.own {
			p.same(p.record(txn, withKey(key.secret)), "txnId", txn)
		}
		for _, key := range owner.others {
			a := p.get("/v1/audit/"+txn, withKey(key.secret))
			p.expect(a.status == 404 || a.status == 403, "another owner's record: status %d, want 404", a.status)
			p.expect(!strings.Contains(string(a.raw), g.id), "the refusal names the agent")
		}
	}
}

func checkLifting(p *probe) {
	operator := p.name("Lifting Orchard Holdings")
	tenant, plain := p.makeKey(operator), p.makeKey("", "operator")
	officer := p.makeKey("", "operator", "policy")
	closed := func(what, method, path string, body obj, keys ...apiKey) {
		for _, key := range keys {
			a := p.call(method, path, body, withKey(key.secret))
			p.expect(a.status == 403 || a.status == 404, "%s: status %d, want 403 or 404", what, a.status)
		}
	}
	g := p.register(with("operatorLegalName", operator))
	path := "/v1/agents/" + g.id
	p.success(p.post(path+"/suspend", obj{"reason": "x"}, withKey(tenant.secret)))
	p.success(p.post(path+"/suspend", obj{"reason": "x"}, withKey(plain.secret)))
	closed("reinstating what the institution suspended", "POST", path+"/reinstate", obj{"reason": "x"}, tenant)
	closed("re-issuing what the institution suspended", "POST", path+"/reissue", obj{}, tenant)
	p.verdict(p.screen(g, "1"), "BLOCK", "R2_CREDENTIAL_STATUS")
	p.success(p.post(path+"/reinstate", obj{"reason": "x"}, withKey(plain.secret)))
	named := obj{"operatorLegalName": operator, "reason": "x"}
	p.success(p.post("/v1/operators/suspend", named, withKey(plain.secret)))
	closed("reinstating an operator that the institution suspended", "POST", "/v1/operators/reinstate", named, tenant)
	p.success(p.post("/v1/operators/reinstate", named, withKey(plain.secret)))
	p.success(p.post(path+"/suspend", obj{"reason": "x"}, withKey(tenant.secret)))
	p.success(p.post(path+"/reinstate", obj{"reason": "x"}, withKey(tenant.secret)))

	p.success(p.post(path+"/ownership-transfer", obj{"newOperatorLegalName": newOperator}, withKey(plain.secret)))
	closed("an empty re-issue under R8", "POST", path+"/reissue", obj{}, tenant, plain)
	closed("cancelling R8", "DELETE", path+"/ownership-transfer", obj{}, tenant, plain)
	closed("flagging another operator", "POST", path+"/ownership-transfer", obj{"newOperatorLegalName": operator}, tenant, plain)
	p.verdict(p.screen(g, "1"), "BLOCK", "R8_OWNERSHIP_TRANSFER")
	moved := p.registered(p.post(path+"/reissue", obj{"operatorLegalName": newOperator}, withKey(plain.secret)))
	p.proceeds(p.screen(moved, "1"))
	p.success(p.post(path+"/ownership-transfer", obj{"newOperatorLegalName": operator}, withKey(plain.secret)))
	p.proceeds(p.screen(p.registered(p.post(path+"/reissue", obj{}, withKey(officer.secret))), "1"))

	listed := p.register(with("operatorLegalName", operator), with("operatorWallet", p.listedWallet()))
	p.verdict(p.screen(listed, "1"), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
	path = "/v1/agents/" + listed.id + "/reissue"
	closed("another wallet under R3", "POST", path, obj{"operatorWallet": cleanWallet()}, tenant, plain)
	closed("another operator under R3", "POST", path, obj{"operatorLegalName": newOperator}, plain)
	cured := p.registered(p.post(path, obj{"operatorWallet": cleanWallet()}, withKey(officer.secret)))
	p.proceeds(p.screen(cured, "1"))
}

// publicPaths are the documents that need no key.
var publicPaths = []string{"/v1/health", "/v1/.well-known/jwks.json", "/livez", "/readyz", "/docs/errors", "/docs/rules", "/log/keys"}

// counted are words that the name of a count of reviews might contain.
var counted = []string{"review", "queue", "escalat", "dispositi", "sar"}

func checkNothingCounted(p *probe) {
	read := func() map[string]string {
		seen := map[string]string{}
		for _, path := range publicPaths {
			a := p.get(path, anonymous)
			p.expect(a.status == 200 || path == "/readyz", "%s: status %d", path, a.status)
			numbersOf("", a.tree, func(name string, value json.Number) {
				for _, word := range counted {
					if strings.Contains(strings.ToLower(name), word) {
						seen[path+" "+name] = value.String()
					}
				}
			})
		}
		return seen
	}
	p.expect(len(read()) == 0, "public documents count reviews: %v", read())
	g := p.register(policy(obj{"maxSingleTxUSDC": 1}))
	p.disposition(p.reviewOf(g), "ESCALATE_SAR")
	p.expect(len(read()) == 0, "public documents count reviews: %v", read())
}

// numbersOf visits every number of a JSON value with its path.
func numbersOf(path string, value any, visit func(string, json.Number)) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			numbersOf(path+"."+name, inner, visit)
		}
	case []any:
		for i, inner := range v {
			numbersOf(fmt.Sprintf("%s.%d", path, i), inner, visit)
		}
	case json.Number:
		visit(path, v)
	}
}

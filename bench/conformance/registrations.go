package conformance

import (
	"regexp"
	"strings"
)

var registrationChecks = []Check{
	{ID: "X-REG-1", Title: "registration is 201 with Location, ids of the ruled form and no invented member", Source: Ruling, run: checkRegisterAnswer},
	{ID: "X-REG-2", Title: "a blank or missing required field is 422, named", Source: Ruling, run: checkRegisterRequired},
	{ID: "X-REG-3", Title: "operatorEIN and operatorWallet are judged by shape alone", Source: Ruling, run: checkOperatorShapes},
	{ID: "X-REG-4", Title: "the EIN is masked wherever it is shown", Source: Ruling, run: checkEINMasked},
	{ID: "X-REG-5", Title: "lengths: names 512 runes, purpose 8 KiB, model 256 bytes", Source: Ruling, run: checkRegisterLengths},
	{ID: "X-REG-6", Title: "GET of an agent and the list of agents", Source: Ruling, run: checkAgentViews},
	{ID: "X-REG-7", Title: "PATCH changes registry settings, not the signed policy", Source: Ruling, run: checkAgentPatch},
	{ID: "X-REG-8", Title: "hours and velocity that make no sense are 422", Source: Ruling, run: checkBadSettings},
}

func checkRegisterAnswer(p *probe) {
	a := p.status(p.post("/v1/agents/register", p.registration()), 201)
	id := p.str(a, "agentId")
	p.expect(regexp.MustCompile(`^agt_[0-9a-z]{12}$`).MatchString(id), "agentId is %q, want agt_ and 12 base32 digits", id)
	p.expect(a.header.Get("Location") == "/v1/agents/"+id, "Location is %q", a.header.Get("Location"))
	p.same(a, "fleetId", nil)
	p.array(a, "warnings")
	p.utc(a, "credential.issuanceDate")
	p.absent(a, "credential.credentialStatus")
	p.absent(a, "credential.proof")
	p.same(a, "credential.credentialSubject.agentType", "supervised")
	wallet := p.register(with("operatorWallet", cleanWallet()))
	p.expect(len(p.array(wallet.answer, "warnings")) <= len(p.array(a, "warnings")), "a wallet adds a warning")
}

func checkRegisterRequired(p *probe) {
	for _, name := range []string{"agentName", "agentType", "operatorLegalName", "purpose"} {
		a := p.post("/v1/agents/register", p.registration(without(name)))
		p.refused(a, 422, "missing_field")
		p.same(a, "param", name)
		for _, blank := range []any{"", "   ", nil, 5} {
			a = p.post("/v1/agents/register", p.registration(with(name, blank)))
			p.expect(a.status == 422, "%s %s: status %d, want 422", name, show(plain(blank)), a.status)
		}
	}
}

func checkOperatorShapes(p *probe) {
	for _, wallet := range []string{
		"0x52908400098527886E0F7030069857D2E4169EE7", "0x52908400098527886e0f7030069857d2e4169ee7", "0x52908400098527886E0F7030069857D2E4169Ee7",
		"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
	} {
		p.register(with("operatorWallet", wallet))
	}
	for _, wallet := range []any{"0x123", "0x1" + strings.Repeat("c", 38), "0x1" + strings.Repeat("c", 40), "0x" + strings.Repeat("2", 41), "0x" + strings.Repeat("g", 40), "vitalik.eth", "short", strings.Repeat("a", 91), "", 5, "has blank inside 12345678901234"} {
		a := p.post("/v1/agents/register", p.registration(with("operatorWallet", wallet)))
		p.refused(a, 422, "invalid_field")
	}
	for _, ein := range []string{"12-3456789", "123456789"} {
		p.register(with("operatorEIN", ein))
	}
	for _, ein := range []any{"1-23456789", "12-345678", "12 3456789", "ab-cdefghi", "", 123456789, "12-34567890"} {
		a := p.post("/v1/agents/register", p.registration(with("operatorEIN", ein)))
		p.refused(a, 422, "invalid_field")
	}
}

func checkEINMasked(p *probe) {
	body := p.registration(with("operatorEIN", "98-7654321"))
	g := p.registered(p.post("/v1/agents/register", body))
	view := p.success(p.get("/v1/agents/" + g.id))
	p.same(view, "agentId", g.id)
	for _, a := range []*answer{g.answer, view, p.record(p.screen(g, "1").text("txnId"))} {
		p.expect(!strings.Contains(string(a.raw), "7654321") && !strings.Contains(string(a.raw), "98-765"), "%s shows the EIN", a.path)
	}
	payload, err := strictBase64(strings.Split(g.token, ".")[1])
	p.must(err == nil, "payload: %v", err)
	p.expect(!strings.Contains(string(payload), "7654321"), "the token holds the EIN")
}

func checkRegisterLengths(p *probe) {
	for name, longest := range map[string]string{
		"agentName": strings.Repeat("é", 512), "operatorLegalName": "Orchard " + strings.Repeat("x", 504), "purpose": strings.Repeat("p", 8<<10), "underlyingModel": strings.Repeat("m", 256),
	} {
		p.register(with(name, longest))
		a := p.post("/v1/agents/register", p.registration(with(name, longest+"x")))
		p.refused(a, 422, "invalid_field")
		p.same(a, "param", name)
	}
}

func checkAgentViews(p *probe) {
	operator := p.name("Orchard Viewing Works")
	mine := with("operatorLegalName", operator)
	g := p.register(mine, autonomous, policy(obj{"dailyLimitUSDC": 100}), with("underlyingModel", "model-a"))
	second := p.register(mine)
	p.proceeds(p.screen(g, "30"))
	a := p.success(p.get("/v1/agents/" + g.id))
	p.same(a, "agentId", g.id)
	p.same(a, "credentialStatus", "ACTIVE")
	p.expect(kind(p.field(a, "credential")) == "object", "credential is %s", kind(a.tree))
	if shown := a.text("token"); shown != "" {
		p.expect(shown == g.token, "GET shows another token than the registration")
	}
	p.refused(p.get("/v1/agents/agt_zzzzzzzzzzzz"), 404, "not_found")
	query := "/v1/agents?operator=" + strings.ReplaceAll(operator, " ", "%20")
	page, items := p.page(query)
	p.expect(strings.Join(ids(items, "agentId"), " ") == second.id+" "+g.id, "agents of the operator: %v, want %s and %s, newest first", ids(items, "agentId"), second.id, g.id)
	p.field(page, "nextCursor")
	p.setStatus("agents", second.id, "suspend")
	_, items = p.page(query + "&status=SUSPENDED")
	p.expect(strings.Join(ids(items, "agentId"), " ") == second.id, "suspended agents of the operator: %v", ids(items, "agentId"))
	page, items = p.page(query + "&limit=1")
	p.must(len(items) == 1, "a page of limit 1 has %d items", len(items))
	_, rest := p.page(query + "&limit=1&cursor=" + p.str(page, "nextCursor"))
	p.expect(len(rest) == 1 && memberOf(rest[0], "agentId") == g.id, "the second page is %v, want %s", ids(rest, "agentId"), g.id)
	_, items = p.page(query + "&order=asc")
	p.expect(len(items) == 2 && memberOf(items[0], "agentId") == g.id, "ascending: %v", ids(items, "agentId"))
}

func checkAgentPatch(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	p.proceeds(p.screen(g, "1"))
	p.success(p.call("PATCH", "/v1/agents/"+g.id, obj{"operatingHours": otherHours(p)}))
	p.verdict(p.screen(g, "1"), "REVIEW", "R17_UNUSUAL_HOUR")
	p.success(p.call("PATCH", "/v1/agents/"+g.id, obj{"operatingHours": nil, "reason": "the conformance run"}))
	p.proceeds(p.screen(g, "1"))
	a := p.call("PATCH", "/v1/agents/"+g.id, obj{"spendPolicy": obj{"maxSingleTxUSDC": 1000000}})
	p.verdict(p.screen(g, "101"), "REVIEW", "R10_SINGLE_TX_LIMIT")
	p.expect(a.status < 500, "PATCH of spendPolicy: status %d", a.status)
	p.refused(p.call("PATCH", "/v1/agents/agt_zzzzzzzzzzzz", obj{"velocity": obj{"maxPerMinute": 5}}), 404, "not_found")
}

func checkBadSettings(p *probe) {
	window := func(from, to string, days ...any) obj {
		return obj{"timezone": "UTC", "windows": list{obj{"days": days, "from": from, "to": to}}}
	}
	wrong := map[string][]any{
		"operatingHours": {
			window("25:00", "26:00", "MON"), window("8", "18", "MON"), window("08:00", "18:00", "MONDAY?"), obj{"timezone": "Mars/Olympus", "windows": list{}}, "always", 5,
		},
		"velocity":  {obj{"maxPerMinute": -1}, obj{"maxPerMinute": "many"}, obj{"maxPerMinute": dollars("1.5")}, "fast", list{}},
		"whitelist": {obj{"mode": "maybe", "entries": list{}}, "all"},
		"metadata":  {"text"},
	}
	for name, values := range wrong {
		for _, value := range values {
			a := p.post("/v1/agents/register", p.registration(with(name, value)))
			p.expect(a.status == 422 && a.code() == "invalid_field", "%s %s: got %d %q, want 422 invalid_field", name, show(plain(value)), a.status, a.code())
		}
	}
	p.register(with("operatingHours", obj{"timezone": "America/New_York", "windows": list{obj{"days": list{"MON", "TUE"}, "from": "22:00", "to": "06:00"}}, "holidays": list{"2026-12-25"}}))
}

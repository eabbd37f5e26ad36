package conformance

import (
	"fmt"
)

var contextRuleChecks = []Check{
	{ID: "T074", Title: "R13: only when a whitelist is set; unlisted counterparties are reviewed", Source: Literal, run: checkR13},
	{ID: "T075", Title: "R14: a known mixer protocol, in any spelling", Source: Literal, run: checkR14},
	{ID: "T075/us", Title: "R14 stands before R9 to R13, matches whole names alone, and cannot be switched off", Source: Ruling, run: checkR14Ruled},
	{ID: "T076", Title: "R15: another model than at issuance; same or none is silent", Source: Literal, run: checkR15},
	{ID: "T077", Title: "R16 and R17 exist with these ids and give REVIEW", Source: Literal, run: checkR16R17},
	{ID: "T082", Title: "stale attestation: above 10,000 is REVIEW, exactly 10,000 passes, supervised never", Source: Literal, run: checkStale},
	{ID: "X-R22-1", Title: "a stale attestation is R22_ATTESTATION_STALE, and never-attested is stale", Source: Ruling, run: checkStaleRule},
	{ID: "X-R15-1", Title: "the sticky model: set, used when the call names none, cleared by the old one", Source: Ruling, run: checkStickyModel},
	{ID: "X-R20-1", Title: "R20: counterparty type outside allowedCounterpartyTypes", Source: Ruling, run: checkR20},
	{ID: "X-R25-1", Title: "R25: repeated amounts just under 10,000 to one counterparty", Source: Ruling, run: checkR25},
	{ID: "X-TRIG-1", Title: "triggered lists all rules that fired, for keys that may see it", Source: Ruling, run: checkTriggered},
}

// whitelist sets an agent's whitelist.
func (p *probe) whitelist(g agent, entries ...any) *answer {
	return p.tool(p.call("PUT", "/v1/agents/"+g.id+"/whitelist", obj{"mode": "enforce", "entries": entries}))
}

func checkR13(p *probe) {
	g, known := p.register(), cleanWallet()
	p.proceeds(p.screen(g, "1", obj{"cpWallet": cleanWallet()}))
	p.whitelist(g, obj{"wallet": known})
	p.proceeds(p.screen(g, "1", obj{"cpWallet": known}))
	p.proceeds(p.screen(g, "1", obj{"cpWallet": " " + swapCase(known[:2]) + known[2:]}))
	p.verdict(p.screen(g, "1", obj{"cpWallet": cleanWallet()}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
	named := p.register()
	p.whitelist(named, obj{"name": cleanCounterparty})
	p.proceeds(p.screen(named, "1", obj{"cpName": cleanCounterparty}))
	p.verdict(p.screen(named, "1", obj{"cpName": "Another Stationery Shop"}), "REVIEW", "R13_COUNTERPARTY_WHITELIST")
}

// mixerSpellings are protocols that every mixer list knows, in careless spellings.
var mixerSpellings = []string{
	"Tornado Cash", "Tornado.Cash", "tornado cash", "TORNADO-CASH", "TornadoCash", "  tornado   cash ", "tornado_cash",
	"Blender.io", "BLENDER.IO", "Sinbad.io", "ChipMixer", "Railgun",
}

func checkR14(p *probe) {
	g := p.register(policy(obj{"noMixerProtocols": true}))
	for _, protocol := range mixerSpellings {
		p.verdict(p.screen(g, "1", obj{"protocol": protocol}), "BLOCK", "R14_MIXER_PROTOCOL")
	}
	for _, protocol := range []string{"Uniswap", "Aave", "x402", ""} {
		p.proceeds(p.screen(g, "1", obj{"protocol": protocol}))
	}
}

func checkR14Ruled(p *probe) {
	narrow := policy(obj{"maxSingleTxUSDC": 10, "allowedChains": list{"BASE"}, "noMixerProtocols": false})
	g := p.register(narrow)
	a := p.screen(g, "50", obj{"protocol": "Tornado Cash", "chain": "ETH"})
	p.verdict(a, "BLOCK", "R14_MIXER_PROTOCOL")
	p.verdict(p.screen(g, "1", obj{"protocol": "Tornado Cash"}), "BLOCK", "R14_MIXER_PROTOCOL")
	p.verdict(p.screen(p.register(), "1", obj{"protocol": "Tornado Cash"}), "BLOCK", "R14_MIXER_PROTOCOL")
	for _, protocol := range []string{"Tornado Cashier", "not tornado cash at all", "Whirlpool Appliances"} {
		p.proceeds(p.screen(g, "1", obj{"protocol": protocol}))
	}
	strict := p.register(policy(obj{"noMixerProtocols": true}))
	p.verdict(p.screen(strict, "1", obj{"cpName": "Tornado Cash"}), "BLOCK", "R14_MIXER_PROTOCOL")
	a = p.screen(g, "1", obj{"cpName": "Tornado Cash"})
	p.notRule(a, "R14_MIXER_PROTOCOL")
}

func checkR15(p *probe) {
	g := p.register(with("underlyingModel", "Model-A 1.0"))
	p.proceeds(p.screen(g, "1"))
	p.proceeds(p.screen(g, "1", obj{"underlyingModel": "Model-A 1.0"}))
	p.verdict(p.screen(g, "1", obj{"underlyingModel": "Model-B 2.0"}), "REVIEW", "R15_MODEL_CHANGED")
	if p.cfg.OnlySpec {
		return
	}
	p.proceeds(p.screen(g, "1", obj{"underlyingModel": "  model-a 1.0 "}))
	p.verdict(p.screen(g, "1", obj{"model": "Model-B 2.0"}), "REVIEW", "R15_MODEL_CHANGED")
	none := p.register()
	p.proceeds(p.screen(none, "1", obj{"underlyingModel": "Model-B 2.0"}))
}

// otherHours are operating hours that do not hold now: one day of the week, days away.
func otherHours(p *probe) obj {
	now := p.utc(p.screen(p.register(), "1"), "screenedAt")
	days := []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	return obj{"timezone": "UTC", "windows": list{obj{
		"days": list{days[(int(now.Weekday())+3)%7]}, "from": "08:00", "to": "18:00",
	}}}
}

func checkR16R17(p *probe) {
	fast := p.register(with("velocity", obj{"maxPerMinute": 5}))
	for range 5 {
		p.proceeds(p.screen(fast, "1"))
	}
	fired := false
	for range 2 { // Whether the call itself is counted moves the edge by one.
		a := p.screen(fast, "1")
		fired = fired || a.text("verdict") == "REVIEW" && a.text("rule") == "R16_VELOCITY_FLAG"
	}
	p.expect(fired, "seven calls in a minute with maxPerMinute 5: no R16_VELOCITY_FLAG")
	p.proceeds(p.screen(p.register(), "1"))
	closed := p.register(with("operatingHours", otherHours(p)))
	p.verdict(p.screen(closed, "1"), "REVIEW", "R17_UNUSUAL_HOUR")
	everyDay := list{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}
	open := p.register(with("operatingHours", obj{"timezone": "UTC", "windows": list{
		obj{"days": everyDay, "from": "00:00", "to": "13:00"}, obj{"days": everyDay, "from": "13:00", "to": "00:01"},
	}}))
	p.proceeds(p.screen(open, "1"))
}

func checkStale(p *probe) {
	g := p.register(autonomous)
	p.proceeds(p.screen(g, "10000"))
	if !p.cfg.OnlySpec { // Whether a fresh registration counts as an attestation is a ruling.
		a := p.screen(g, "10000.000001")
		p.expect(a.text("verdict") == "REVIEW", "10,000.000001 without attestation: %s, want REVIEW", a.text("verdict"))
	}
	p.attest(g)
	p.proceeds(p.screen(g, "10000.000001"))
	p.proceeds(p.screen(g, "250000"))
	supervised := p.register()
	p.proceeds(p.screen(supervised, "250000"))
}

func checkStaleRule(p *probe) {
	g := p.register(autonomous)
	p.verdict(p.screen(g, "10000.000001"), "REVIEW", "R22_ATTESTATION_STALE")
	p.proceeds(p.screen(g, "10000"))
	warnings := p.array(g.answer, "warnings")
	p.expect(len(warnings) > 0, "the registration of an autonomous agent warns of nothing: attest before payments above 10,000")
	p.attest(g)
	p.proceeds(p.screen(g, "10000.01"))
}

func checkStickyModel(p *probe) {
	g := p.register(with("underlyingModel", "model-a"))
	p.tool(p.post("/v1/agents/"+g.id+"/model", obj{"underlyingModel": "model-b"}))
	p.verdict(p.screen(g, "1"), "REVIEW", "R15_MODEL_CHANGED")
	p.proceeds(p.screen(g, "1", obj{"underlyingModel": "model-a"}))
	p.verdict(p.screen(g, "1"), "REVIEW", "R15_MODEL_CHANGED")
	p.tool(p.post("/v1/agents/"+g.id+"/model", obj{"underlyingModel": "model-a"}))
	p.proceeds(p.screen(g, "1"))
	p.refused(p.post("/v1/agents/"+g.id+"/model", obj{}), 422, "missing_field")
	p.refused(p.post("/v1/agents/agt_zzzzzzzzzzzz/model", obj{"underlyingModel": "x"}), 404, "not_found")
}

func checkR20(p *probe) {
	g := p.register(with("allowedCounterpartyTypes", list{"business"}))
	p.proceeds(p.screen(g, "1", obj{"cpType": "business"}))
	p.proceeds(p.screen(g, "1"))
	p.verdict(p.screen(g, "1", obj{"cpType": "exchange"}), "REVIEW", "R20_COUNTERPARTY_TYPE")
	p.verdict(p.screen(g, "1", obj{"cpType": "individual"}), "REVIEW", "R20_COUNTERPARTY_TYPE")
	p.refused(p.post("/v1/agents/register", p.registration(with("allowedCounterpartyTypes", list{"alien"}))), 422, "invalid_field")
}

func checkR25(p *probe) {
	g, wallet := p.register(), cleanWallet()
	to := obj{"cpWallet": wallet}
	for range 3 {
		p.proceeds(p.screen(g, "9500", to))
	}
	p.proceeds(p.screen(g, "10000", to)) // Not under the line, so not in the band.
	p.proceeds(p.screen(g, "8999.999999", to))
	fired := false
	for range 3 { // Five in the band; whether the fifth or the sixth fires depends on counting the call itself.
		a := p.screen(g, "9000", to)
		fired = fired || a.text("verdict") == "REVIEW" && a.text("rule") == "R25_STRUCTURING"
	}
	p.expect(fired, "six payments of 9,000 to 9,500 to one wallet: no R25_STRUCTURING")
	p.proceeds(p.screen(g, "9500", obj{"cpWallet": cleanWallet()}))
	p.proceeds(p.screen(p.register(), "9500", to))
}

func checkTriggered(p *probe) {
	g := p.register(policy(obj{"allowedChains": list{"BASE"}, "maxSingleTxUSDC": 10, "dailyLimitUSDC": 5}))
	a := p.screen(g, "100", obj{"chain": "ETH", "protocol": "Tornado Cash"})
	fired := p.array(a, "triggered")
	for _, rule := range []string{"R14_MIXER_PROTOCOL", "R9_CHAIN_POLICY", "R10_SINGLE_TX_LIMIT", "R11_DAILY_LIMIT"} {
		p.expect(mentions(fired, rule), "triggered %s lacks %s", show(any(fired)), rule)
	}
	p.expect(!mentions(fired, "R12_FLEET_DAILY_LIMIT"), "triggered %s names R12 and there is no fleet", show(any(fired)))
	clean := p.screen(g, "1")
	p.expect(len(p.array(clean, "triggered")) == 0, "PROCEED with triggered %s", clean.text("triggered"))
}

// mentions tells whether a list of rule ids, or of objects with one, names the rule.
func mentions(items []any, rule string) bool {
	for _, item := range items {
		if item == rule || rule == fmt.Sprint(memberOf(item, "rule")) || rule == fmt.Sprint(memberOf(item, "id")) {
			return true
		}
	}
	return false
}

func memberOf(item any, name string) any {
	object, _ := item.(map[string]any)
	return object[name]
}

package conformance

import (
	"fmt"
)

var contextRuleChecks = []Check{
	{ID: "T074", Title: "R13: only when a whitelist is set; unlisted counterparties are reviewed", Source: Literal, run: checkR13},
	{ID: "T077", Title: "R16 and R17 exist with these ids and give REVIEW", Source: Literal, run: checkR16R17},
	{ID: "X-R25-1", Title: "R25: repeated amounts just under 10,000 to one counterparty", Source: Ruling, run: checkR25},
	{ID: "X-TRIG-1", Title: "triggered lists all rules that fired, for keys that may see it", Source: Ruling, run: checkTriggered},
}

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
	for range 2 { // A target may count the call itself or not.
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

func checkR25(p *probe) {
	g, wallet := p.register(), cleanWallet()
	to := obj{"cpWallet": wallet}
	for range 3 {
		p.proceeds(p.screen(g, "9500", to))
	}
	p.proceeds(p.screen(g, "10000", to)) // The band ends below 10,000.
	p.proceeds(p.screen(g, "8999.999999", to))
	fired := false
	for range 3 { // The fifth or the sixth in the band fires: a target may count the call itself or not.
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

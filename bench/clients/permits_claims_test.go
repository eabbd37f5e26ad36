package clients

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railguard/railguard/client"
)

// What is made from a map stands in the file in the order of its names.
func sortCases(cases []permitCase) {
	slices.SortStableFunc(cases, func(a, b permitCase) int { return cmp.Or(cmp.Compare(a.Want, b.Want), cmp.Compare(a.Name, b.Name)) })
}

func sortPays(pays []payCase) {
	slices.SortStableFunc(pays, func(a, b payCase) int { return cmp.Compare(a.Name, b.Name) })
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func (m *permitMaker) addClaims() {
	for want, changes := range map[string]map[string]map[string]any{
		"issuer": {
			"another": {"iss": "https://guard.example.net"}, "none": {"iss": nil}, "a slash more": {"iss": permitsIssuer + "/"}, "a list": {"iss": []string{permitsIssuer}},
			"in capitals": {"iss": strings.ToUpper(permitsIssuer)}, "before the audience": {"iss": "x", "aud": "x"},
		},
		"audience": {
			"another": {"aud": "https://other.example.com"}, "none": {"aud": nil}, "a part": {"aud": permitsAudience[:len(permitsAudience)-1]}, "before the time": {"aud": "x", "exp": 1, "iat": 0},
		},
		"expired": {
			"now": {"iat": permitsAt - 120, "exp": permitsAt}, "long ago": {"iat": 0, "exp": 1}, "a later EXP": {"iat": permitsAt - 120, "exp": permitsAt - 1, "EXP": permitsAt + 60},
			"before the lifetime": {"iat": 0, "exp": permitsAt},
		},
		"early":    {"61 seconds ahead": {"iat": permitsAt + 61, "exp": permitsAt + 121}, "before the lifetime": {"iat": permitsAt + 61, "exp": permitsAt + 999}},
		"lifetime": {"301 seconds": {"exp": permitsAt + 301}, "none": {"iat": permitsAt + 50, "exp": permitsAt + 50}, "backwards": {"iat": permitsAt + 50, "exp": permitsAt + 40}, "before the verdict": {"exp": permitsAt + 999, "verdict": "BLOCK"}},
		"verdict": {
			"BLOCK": {"verdict": "BLOCK"}, "REVIEW": {"verdict": "REVIEW"}, "UNKNOWN": {"verdict": "UNKNOWN"}, "none": {"verdict": nil}, "small": {"verdict": "proceed"}, "true": {"verdict": true},
			"before the payment": {"verdict": "BLOCK", "pay": nil},
		},
		"list": {
			"older than its bound": {"lists": map[string]any{"age": 604801, "maxAge": 604800}}, "none": {"lists": nil}, "a text": {"lists": "fresh"}, "no age": {"lists": map[string]any{"maxAge": 604800}},
			"no bound": {"lists": map[string]any{"age": 1}}, "age is a text": {"lists": map[string]any{"age": "1", "maxAge": 604800}}, "age below zero": {"lists": map[string]any{"age": -1, "maxAge": 604800}},
			"age is a fraction": {"lists": map[string]any{"age": 1.5, "maxAge": 604800}}, "bound is true": {"lists": map[string]any{"age": 1, "maxAge": true}},
		},
	} {
		for name, change := range changes {
			m.claimed(want, want+": "+name, change)
		}
	}
	good := m.sign(m.permit, permitHeader("pm-v1"), m.claims(nil))
	m.add("list", "list: older than I allow", good, func(c *permitCase) { c.MaxListAge = 12599 })
	m.add("list", "list: my bound does not widen its own", m.sign(m.permit, permitHeader("pm-v1"), m.claims(map[string]any{"lists": map[string]any{"age": 604801, "maxAge": 604800}})), func(c *permitCase) { c.MaxListAge = 999999 })
	m.stock("issuer", "issuer: I trust another", good, func(c *permitCase) { c.Issuer = "https://guard.example.net" })
	m.stock("audience", "audience: I am another", good, func(c *permitCase) { c.Audience = "https://other.example.com" })
	m.stock("expired", "expired: exp is now", good, func(c *permitCase) { c.Now += 120 })
	m.stock("expired", "expired: a year later", good, func(c *permitCase) { c.Now += 365 * 86400 })
	m.add("early", "early: 61 seconds before", good, func(c *permitCase) { c.Now -= 61 })
	sortCases(m.book.Cases)
}

func (m *permitMaker) addPayments() {
	good := m.sign(m.permit, permitHeader("pm-v1"), m.claims(nil))
	differ := map[string]func(p *paying){
		"amount": func(p *paying) { p.Amount = "25.000001" }, "chain": func(p *paying) { p.Chain = "ETH" }, "rail": func(p *paying) { p.Rail = "" }, "payee": func(p *paying) { p.Payee = evmPayer },
		"payer": func(p *paying) { p.Payer = "" }, "ref": func(p *paying) { p.Ref = "inv-2026-0008" }, "units": func(p *paying) { p.Units = "1" }, "nonce": func(p *paying) { p.Nonce = "1" }, "asset": func(p *paying) { p.Asset = "a" },
		"payee's name": func(p *paying) { p.Payee, p.Name = "", "Acme" },
	}
	for name, change := range differ {
		mine := *m.mine
		change(&mine)
		m.stock("payment", "payment: another "+name, good, func(c *permitCase) { c.Paying = &mine })
	}
	statement := func(change map[string]any) map[string]any {
		pay := map[string]any{}
		for name, value := range map[string]string{"amount": m.pay.Amount, "currency": m.pay.Currency, "chain": m.pay.Chain, "rail": m.pay.Rail, "payee": m.pay.Payee, "payer": m.pay.Payer, "ref": m.pay.Ref} {
			pay[name] = value
		}
		for name, value := range change {
			if pay[name] = value; value == nil {
				delete(pay, name)
			}
		}
		return pay
	}
	mine := digest(canonical(m.t, m.pay))
	changes := map[string]map[string]any{
		"a number where a text must be": bound(m.t, statement(map[string]any{"amount": 25})), "a member more": bound(m.t, statement(map[string]any{"memo": "x"})),
		"a member less": bound(m.t, statement(map[string]any{"ref": nil})), "payeeIds is a text": bound(m.t, statement(map[string]any{"payeeIds": "x"})),
		"payeeIds has a number": bound(m.t, statement(map[string]any{"payeeIds": []any{1}})), "payee is a list": bound(m.t, statement(map[string]any{"payee": []any{"x"}})),
		"its payment is another, its hash mine": {"pay": statement(map[string]any{"amount": "2500"}), "pay_hash": mine}, "its payment is mine, its hash another": {"pay_hash": digest("{}")},
		"its payment has a member more, its hash mine": {"pay": statement(map[string]any{"memo": "x"}), "pay_hash": mine}, "a name in capitals": {"pay": statement(map[string]any{"ref": nil, "REF": m.pay.Ref}), "pay_hash": mine},
		"no payment": {"pay": nil}, "no hash": {"pay_hash": nil}, "hash is a list": {"pay_hash": []string{mine}}, "payment is a text": {"pay": "x"}, "payment is empty": bound(m.t, map[string]any{}),
		"payment is a list": {"pay": []any{}}, "before the list": {"pay": nil, "lists": nil}, "neither": {"pay": nil, "pay_hash": nil},
	}
	for name, change := range changes {
		m.claimed("payment", "payment: "+name, change)
	}
	named := paying{Amount: "1", Name: "Acme Ltd"}
	salted := func(jti string) *client.PayStatement {
		return &client.PayStatement{Amount: "1", Currency: "USD", PayeeIDs: []string{digest(jti + "\nname\nAcme Ltd")}}
	}
	m.add("payment", "payment: hashes of another permit's payment", m.sign(m.permit, permitHeader("pm-v1"), m.claims(bound(m.t, salted("txn_other")))), func(c *permitCase) { c.Paying = &named })
	m.add("good", "hashes of this permit's payment", m.sign(m.permit, permitHeader("pm-v1"), m.claims(bound(m.t, salted("txn_test")))), func(c *permitCase) { c.Paying = &named })
	sortCases(m.book.Cases)
}

// addMistakes adds checks that say too little or too much. They are told whatever the permit is.
func (m *permitMaker) addMistakes() {
	good := m.sign(m.permit, permitHeader("pm-v1"), m.claims(nil))
	for name, change := range map[string]func(c *permitCase){
		"no issuer": func(c *permitCase) { c.Lacks = "issuer" }, "no audience": func(c *permitCase) { c.Lacks = "audience" }, "no payment of mine": func(c *permitCase) { c.Lacks = "payment" },
		"two payments of mine": func(c *permitCase) { c.Lacks, c.Pay = "both", m.pay },
		"no payee of mine":     func(c *permitCase) { c.Paying = &paying{Amount: "25"} }, "no amount of mine": func(c *permitCase) { c.Paying = &paying{Payee: "x"} },
		"no identifier of mine": func(c *permitCase) {
			c.Paying = &paying{Amount: "25", Identifiers: []client.Identifier{{Type: "iban"}}}
		},
	} {
		m.add("error", name, good, change)
		m.add("error", name+", and a bad permit", "x", change)
	}
	sortCases(m.book.Cases)
}

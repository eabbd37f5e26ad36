package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Party names of the suite: plain words that no sanctions list holds.
const (
	cleanOperator     = "Orchard Pavement Testing LLC"
	cleanCounterparty = "Marigold Stationery Supplies LLC"
	cleanPurpose      = "Conformance run: buys stationery for a test kitchen"
)

// dollars returns an amount as a number whose literal is sent unchanged.
func dollars(literal string) json.Number { return json.Number(literal) }

type agent struct {
	id, token string
	answer    *answer
}

// change alters a registration body before it is sent.
type change func(obj)

func with(name string, value any) change { return func(body obj) { body[name] = value } }

// policy gives the agent a spend policy.
func policy(members obj) change { return with("spendPolicy", members) }

// walletOf gives an operator of its own a wallet: a listed one hits every agent of its operator.
func (p *probe) walletOf(wallet string) change {
	return func(body obj) {
		body["operatorWallet"], body["operatorLegalName"] = wallet, p.name("Wallet Orchard Works")
	}
}

func autonomous(body obj) { body["agentType"] = "autonomous" }

// registration is the smallest clean registration body with the changes made.
func (p *probe) registration(changes ...change) obj {
	body := obj{
		"agentName":         p.name("Conformance agent"),
		"agentType":         "supervised",
		"operatorLegalName": cleanOperator,
		"purpose":           cleanPurpose,
	}
	for _, alter := range changes {
		alter(body)
	}
	return body
}

// register registers an agent and demands success.
func (p *probe) register(changes ...change) agent {
	return p.registered(p.post("/v1/agents/register", p.registration(changes...)))
}

// registered reads a registration-shaped answer.
func (p *probe) registered(a *answer) agent {
	p.success(a)
	made := agent{id: p.str(a, "agentId"), token: p.str(a, "token"), answer: a}
	p.ledger.remember(made.token)
	return made
}

// payment is a screening body: the agent's token, the amount, and extra members.
func (g agent) payment(amount string, extra ...obj) obj {
	body := obj{"token": g.token, "amount": dollars(amount)}
	for _, members := range extra {
		for name, value := range members {
			body[name] = value
		}
	}
	return body
}

// screen makes a screening call that must give a verdict.
func (p *probe) screen(g agent, amount string, extra ...obj) *answer {
	return p.screenBody(g.payment(amount, extra...))
}

func (p *probe) screenBody(body any, options ...option) *answer {
	a := p.post("/v1/screen", body, options...)
	p.status(a, 200)
	p.must(allVerdict[a.text("verdict")], "screening: verdict is %q", a.text("verdict"))
	return a
}

// verdict demands the verdict and the exact rule; the empty rule means JSON null.
func (p *probe) verdict(a *answer, verdict, rule string) bool {
	got, there := a.at("rule")
	ruleHolds := there && got == nil
	if rule != "" {
		ruleHolds = got == rule
	}
	return p.expect(a.text("verdict") == verdict && ruleHolds, "screen %s: got %s %s (%s), want %s %s",
		p.redact(cut(string(a.sent), 260)), a.text("verdict"), show(got), a.text("reason"), verdict, orNull(rule))
}

func orNull(rule string) string {
	if rule == "" {
		return "null"
	}
	return rule
}

func (p *probe) proceeds(a *answer) bool { return p.verdict(a, "PROCEED", "") }

// hasRule tells whether the rule id begins with the rule's number, e.g. "R6".
func hasRule(a *answer, number string) bool {
	return a.text("rule") == number || strings.HasPrefix(a.text("rule"), number+"_")
}

// review makes a transaction with the verdict REVIEW and returns its id: an amount
// above the agent's single limit, the plainest rule there is.
func (p *probe) review() (agent, string) {
	g := p.register(policy(obj{"maxSingleTxUSDC": dollars("100")}))
	return g, p.reviewOf(g)
}

func (p *probe) reviewOf(g agent) string {
	a := p.screen(g, "150")
	p.must(a.text("verdict") == "REVIEW", "150 above a single limit of 100: verdict %q, want REVIEW", a.text("verdict"))
	return p.str(a, "txnId")
}

// setStatus moves an agent or user to another credential status: "suspend",
// "reinstate" or "revoke". The specification names no endpoint for it.
func (p *probe) setStatus(collection, id, verb string) *answer {
	body := obj{"reason": "conformance run", "actor": "conformance"}
	return p.tool(p.post(fmt.Sprintf("/v1/%s/%s/%s", collection, id, verb), body))
}

// fleet creates a fleet of the clean operator.
func (p *probe) fleet(limit string) string {
	a := p.post("/v1/fleets/create", obj{
		"fleetName": p.name("Conformance fleet"), "operatorLegalName": cleanOperator, "dailyLimitUSDC": dollars(limit),
	})
	p.success(a)
	return p.str(a, "fleetId")
}

// join puts agents into a fleet, by an endpoint the specification does not show.
func (p *probe) join(fleet string, members ...agent) {
	for _, member := range members {
		p.tool(p.post("/v1/fleets/"+fleet+"/agents", obj{"agentId": member.id}))
	}
}

// delegate mints a child credential. The body is ours: the specification shows none.
func (p *probe) delegate(parent agent, changes ...change) agent {
	return p.registered(p.unshown(p.delegateCall(parent, changes...)))
}

func (p *probe) delegateCall(parent agent, changes ...change) *answer {
	body := obj{"parentAgentId": parent.id, "agentName": p.name("Conformance delegate")}
	for _, alter := range changes {
		alter(body)
	}
	return p.post("/v1/delegates/create", body)
}

// attest records a human attestation of an autonomous agent.
func (p *probe) attest(g agent) *answer {
	return p.success(p.post("/v1/agents/"+g.id+"/attest", obj{"attestedBy": "officer@example.test", "note": "seen"}))
}

// cleanWallet makes an EVM address that nobody has.
func cleanWallet() string { return "0x" + randomHex(20) }

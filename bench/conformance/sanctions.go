package conformance

import (
	"strings"
)

// listedParties are parties on the target's active list, found once and kept.
type listedParties struct{ wallet, individual, company string }

// Well-known entries of the public list, tried when the configuration names none.
var (
	knownWallets = []string{
		"0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "0xa0e1c89Ef1a489c9C7dE96311eD5Ce5D32c20E4B",
		"0x3Cffd56B47B7b41c56258D9C7731ABaDc360E073", "0x53b6936513e738f44FB50d2b9476730C0Ab3Bfc1",
		"0x7FF9cFad3877F21d41Da833E2F775dB0569eE3D9",
	}
	knownIndividuals = []string{
		"PUTIN, Vladimir Vladimirovich", "MADURO MOROS, Nicolas", "SEMENOV, Roman", "LUKASHENKA, Alyaksandr Ryhorovich",
	}
	knownCompanies = []string{"LAZARUS GROUP", "GARANTEX EUROPE OU", "HYDRA MARKET"}
)

// listedWallet is an EVM address that the target's list holds. With none configured
// and none recognised it is the first well-known one, so that checks fail, not pass.
func (p *probe) listedWallet() string {
	return p.find(&p.listed.wallet, p.cfg.ListedWallet, knownWallets, "cpWallet", "R6")
}

func (p *probe) listedIndividual() string {
	return p.find(&p.listed.individual, p.cfg.ListedIndividual, knownIndividuals, "cpName", "R7")
}

func (p *probe) listedCompany() string {
	return p.find(&p.listed.company, p.cfg.ListedCompany, knownCompanies, "cpName", "R7")
}

// find returns the configured party, or the first candidate that the target blocks.
func (p *probe) find(kept *string, configured string, candidates []string, member, rule string) string {
	if *kept == "" {
		*kept = configured
	}
	if *kept != "" {
		return *kept
	}
	g := p.register()
	for _, candidate := range candidates {
		a := p.screen(g, "1", obj{member: candidate})
		if a.text("verdict") == "BLOCK" && hasRule(a, rule) {
			*kept = candidate
			return candidate
		}
	}
	*kept = candidates[0]
	return candidates[0]
}

var sanctionsRuleChecks = []Check{
	{ID: "T061", Title: "R3: operator wallet listed at issuance", Source: Literal, run: checkR3},
	{ID: "T064", Title: "R6: counterparty wallet on the list, in any case and on any chain", Source: Literal, run: checkR6},
	{ID: "T065", Title: "R7: counterparty name on the list, in any spelling", Source: Literal, run: checkR7},
	{ID: "T080", Title: "R2 to R8 decide in numeric order", Source: Implied, run: checkNumericOrder},
	{ID: "X-R21-1", Title: "R21: a near name is REVIEW, an ordinary one is not", Source: Ruling, run: checkNearName},
}

// issuedToListed registers an agent of a listed operator. The specification leaves open whether
// issuance is refused; if it is refused, R3 and R5 cannot be examined.
func (p *probe) issuedToListed(changes ...change) agent {
	a := p.post("/v1/agents/register", p.registration(changes...))
	if a.status >= 400 && a.status < 500 && !p.cfg.Strict {
		p.skip("the target refuses to issue to a listed operator (status %d)", a.status)
	}
	return p.registered(a)
}

func checkR3(p *probe) {
	for _, wallet := range walletSpellings(p.listedWallet()) {
		g := p.issuedToListed(p.walletOf(wallet))
		p.verdict(p.screen(g, "1"), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
		if p.cfg.OnlySpec {
			continue
		}
		p.same(g.answer, "credential.credentialSubject.complianceAttestation.ofacAtIssuance", "MATCH")
		p.same(g.answer, "credential.credentialSubject.complianceAttestation.credentialStatus", "ACTIVE")
		p.same(g.answer, "warnings.0.code", "operator_sanctions_match")
		p.same(g.answer, "warnings.0.rule", "R3_OPERATOR_OFAC_ISSUANCE")
	}
}

// walletSpellings are spellings of one EVM address that name the same account.
func walletSpellings(wallet string) []string {
	digits := strings.TrimPrefix(strings.ToLower(wallet), "0x")
	return []string{wallet, "0x" + digits, "0x" + strings.ToUpper(digits), "0x" + swapCase(strings.TrimPrefix(wallet, "0x"))}
}

func checkR6(p *probe) {
	g := p.register()
	wallet := p.listedWallet()
	spellings := append(walletSpellings(wallet), " "+wallet, wallet+" ", "\t"+wallet+"\n", "  "+strings.ToUpper(wallet[2:]))
	if p.cfg.OnlySpec {
		spellings = spellings[:len(spellings)-1]
	}
	for _, spelling := range spellings {
		p.verdict(p.screen(g, "1", obj{"cpWallet": spelling}), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
	}
	for _, chain := range []string{"ETH", "BASE", "SOL", "ACH", "WIRE", "SWIFT"} {
		p.verdict(p.screen(g, "1", obj{"cpWallet": wallet, "chain": chain}), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
	}
	p.proceeds(p.screen(g, "1", obj{"cpWallet": cleanWallet()}))
	near := []byte(strings.ToLower(wallet))
	near[len(near)-1] = "123456789abcdef0"[strings.IndexByte("0123456789abcdef", near[len(near)-1])]
	p.proceeds(p.screen(g, "1", obj{"cpWallet": string(near)}))
}

// nameSpellings are ways to write one listed person's "LAST, First" that must still hit.
func nameSpellings(listed string) []string {
	last, first, _ := strings.Cut(listed, ", ")
	accents := strings.NewReplacer("a", "á", "e", "é", "o", "ó", "i", "î", "A", "Á", "O", "Ó", "U", "Ú")
	return []string{
		listed, strings.ToLower(listed), strings.ToUpper(listed), last + " " + first, first + " " + last, strings.ToLower(first + " " + last),
		first + "  " + last, "  " + first + " " + last + "  ", last + " , " + first, strings.ToUpper(first) + "-" + last, first + ". " + last + ".",
		accents.Replace(listed), accents.Replace(first + " " + last),
	}
}

func checkR7(p *probe) {
	g := p.register()
	for _, spelling := range nameSpellings(p.listedIndividual()) {
		p.verdict(p.screen(g, "1", obj{"cpName": spelling}), "BLOCK", "R7_COUNTERPARTY_NAME_OFAC")
	}
	company := p.listedCompany()
	for _, spelling := range []string{company, strings.ToLower(company), strings.ReplaceAll(company, " ", "  "), strings.ReplaceAll(company, " ", "-"), company + "."} {
		p.verdict(p.screen(g, "1", obj{"cpName": spelling}), "BLOCK", "R7_COUNTERPARTY_NAME_OFAC")
	}
	p.proceeds(p.screen(g, "1", obj{"cpName": cleanCounterparty}))
}

func checkNumericOrder(p *probe) {
	listed := obj{"cpWallet": p.listedWallet(), "cpName": p.listedIndividual()}
	g := p.register()
	p.verdict(p.screen(g, "1", listed), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
	g = p.issuedToListed(with("operatorLegalName", p.listedCompany()))
	p.verdict(p.screen(g, "1", listed), "BLOCK", "R5_OPERATOR_NAME_OFAC")
	g = p.issuedToListed(with("operatorLegalName", strings.ToLower(p.listedCompany())), with("operatorWallet", p.listedWallet()))
	p.verdict(p.screen(g, "1", listed), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
	p.setStatus("agents", g.id, "suspend")
	p.verdict(p.screen(g, "1", listed), "BLOCK", "R2_CREDENTIAL_STATUS")
	broken := g
	broken.token = g.token[:len(g.token)-6]
	p.verdict(p.screen(broken, "1", listed), "UNKNOWN", "R1_NO_CREDENTIAL")
}

func checkNearName(p *probe) {
	g := p.register()
	listed := p.listedIndividual()
	longest := ""
	for _, word := range strings.Fields(strings.ReplaceAll(listed, ",", " ")) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	near := strings.Replace(listed, longest, longest[:len(longest)/2]+longest[len(longest)/2+1:], 1)
	a := p.screen(g, "1", obj{"cpName": near, "cpType": "individual"})
	p.expect(hasRule(a, "R21") && a.text("verdict") == "REVIEW" || hasRule(a, "R7") && a.text("verdict") == "BLOCK",
		"%q, one letter short of %q: got %s %s, want REVIEW R21 or BLOCK R7", near, listed, a.text("verdict"), a.text("rule"))
	for _, ordinary := range []string{cleanCounterparty, "Green Valley Bakery Inc", "Harbour Street Plumbing", "Anna Lindqvist Svensson"} {
		p.proceeds(p.screen(g, "1", obj{"cpName": ordinary}))
	}
}

package conformance

// ledgerChecks report the standing laws: demands that every answer of the run had to
// keep. Each makes a few calls of its own, so that it can also run alone.
var ledgerChecks = []Check{
	{ID: "T011", Title: "every success and error body is JSON", Source: Literal, phase: phaseLedger, run: law("T011")},
	{ID: "T016", Title: "error bodies are flat: error, code, message, requestId, txnId where there is one", Source: Ruling, phase: phaseLedger, run: law("T016")},
	{ID: "T015/all", Title: "no answer of the run carried an API key", Source: Literal, phase: phaseLedger, run: law("T015")},
	{ID: "T017/all", Title: "no answer of the run was a 500 or leaked a stack", Source: Literal, phase: phaseLedger, run: law("T017")},
	{ID: "T040/all", Title: "every screening of the run gave one of the four verdicts", Source: Literal, phase: phaseLedger, run: law("T040")},
	{ID: "T042/all", Title: "every screening of the run had a well-formed txnId", Source: Ruling, phase: phaseLedger, run: law("T042")},
	{ID: "T044/all", Title: "every screening of the run had rule null on PROCEED and an id otherwise", Source: Literal, phase: phaseLedger, run: law("T044")},
	{ID: "T045/all", Title: "every screening of the run had a reason", Source: Literal, phase: phaseLedger, run: law("T045")},
	{ID: "T046/all", Title: "every screening of the run had screenedAt and latencyMs", Source: Literal, phase: phaseLedger, run: law("T046")},
	{ID: "T048/all", Title: "no screening of the run had _request", Source: Literal, phase: phaseLedger, run: law("T048")},
	{ID: "X-HDR-1", Title: "every answer has X-Request-Id", Source: Ruling, phase: phaseLedger, run: law("X-HDR-1")},
	{ID: "X-HDR-2", Title: "every 503 has X-Railguard-Outcome", Source: Ruling, phase: phaseLedger, run: law("X-HDR-2")},
}

// law reports one standing law.
func law(number string) func(*probe) {
	return func(p *probe) {
		p.oneOfEach()
		p.get("/v1/health", anonymous)
		p.get("/v1/audit/txn_zzzzzzzz")
		p.get("/v1/screen")
		p.get("/v1/nothing")
		p.post("/v1/screen", obj{"amount": 1})
		p.post("/v1/screen", literal("{"))
		p.post("/v1/screen", obj{}, anonymous)
		p.last = nil // Each violation quotes its own exchange, so none is added here.
		p.must(p.ledger.answers > 0 && p.ledger.errors > 0, "BUG: the ledger saw %d answers, %d errors", p.ledger.answers, p.ledger.errors)
		for _, violation := range p.ledger.laws[number] {
			p.expect(false, "%s", violation)
		}
	}
}

package conformance

var policyChecks = []Check{
	{ID: "X-POL-1", Title: "GET, PUT with If-Match, versions and validate of the institution's policy", Source: Ruling, run: checkPolicyLife},
	{ID: "X-POL-2", Title: "a widening change needs a reason; R2 to R7 have no switch", Source: Ruling, run: checkPolicyGuards},
}

// policyDocument returns the institution's present policy, which a check can change and restore
// later.
func (p *probe) policyDocument() (*answer, map[string]any) {
	a := p.tool(p.get("/v1/policy"))
	document, ok := p.field(a, "policy").(map[string]any)
	p.must(ok, "policy is %s, want an object", kind(p.field(a, "policy")))
	return a, withoutMember(any(document), "").(map[string]any)
}

// unchangedPolicy demands that the policy is still the one read before.
func (p *probe) unchangedPolicy(before *answer) {
	now := p.success(p.get("/v1/policy"))
	p.expect(now.header.Get("ETag") == before.header.Get("ETag") && sameTree(now.tree, before.tree), "the policy changed in %v", differing(before.tree, now.tree))
}

// putPolicy replaces the institution's policy; a reason goes with it unless it is empty.
func (p *probe) putPolicy(document map[string]any, reason string, options ...option) *answer {
	body := obj{"policy": document}
	if reason != "" {
		body["reason"] = reason
	}
	return p.call("PUT", "/v1/policy", body, options...)
}

func checkPolicyLife(p *probe) {
	before, document := p.policyDocument()
	_, former := p.policyDocument()
	tag := before.header.Get("ETag")
	p.must(tag != "", "GET /v1/policy has no ETag")
	document["rules"] = obj{"R17": "shadow"}
	p.same(p.success(p.post("/v1/policy/validate", obj{"policy": document})), "valid", true)
	p.unchangedPolicy(before)
	p.success(p.putPolicy(document, "conformance run", header("If-Match", tag)))
	func() {
		defer func() { p.success(p.putPolicy(former, "conformance run: restore")) }()
		p.refused(p.putPolicy(document, "conformance run", header("If-Match", tag)), 412, "version_mismatch")
		g := p.register(with("operatingHours", otherHours(p)))
		a := p.screen(g, "1")
		p.proceeds(a) // R17 is in shadow mode: it is noted and has no effect.
		record := p.record(a.text("txnId"))
		p.expect(mentions(p.array(record, "shadow"), "R17_UNUSUAL_HOUR"), "shadow is %s, want R17_UNUSUAL_HOUR in it", show(memberOf(record.tree, "shadow")))
		document["rules"] = obj{"R17": "block"}
		p.success(p.putPolicy(document, "conformance run"))
		p.verdict(p.screen(g, "1"), "BLOCK", "R17_UNUSUAL_HOUR")
	}()
	p.verdict(p.screen(p.register(with("operatingHours", otherHours(p))), "1"), "REVIEW", "R17_UNUSUAL_HOUR")
	versions := p.success(p.get("/v1/policy/versions"))
	p.expect(len(p.array(versions, "data")) >= 3, "fewer than three policy versions are listed")
}

func checkPolicyGuards(p *probe) {
	before, document := p.policyDocument()
	for _, rule := range []string{"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R99"} {
		document["rules"] = obj{rule: "off"}
		p.refused(p.putPolicy(document, "conformance run"), 422, "invalid_field")
		a := p.post("/v1/policy/validate", obj{"policy": document})
		p.expect(a.status == 422 || a.status == 200 && memberOf(a.tree, "valid") == false, "validate of %s off: %d %s", rule, a.status, show(a.tree))
	}
	document["rules"] = obj{"R17": "perhaps"}
	p.refused(p.putPolicy(document, "conformance run"), 422, "invalid_field")
	document["rules"] = obj{"R16": "off"}
	p.expect(p.putPolicy(document, "").status == 422, "a widening without a reason: status %d, want 422", p.last.status)
	p.unchangedPolicy(before)
	p.refused(p.call("PUT", "/v1/policy", literal("{")), 400, "invalid_json")
}

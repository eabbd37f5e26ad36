package conformance

import (
	"strings"
	"time"
)

var userChecks = []Check{
	{ID: "T099/valid", Title: "a user credential lasts 30 days", Source: Literal, run: checkUserValidity},
	{ID: "T100", Title: "a user credential for an autonomous agent is refused", Source: Literal, run: checkUserAutonomous},
	{ID: "X-USR-1", Title: "the user answer: 201, id, token, its own type; legalName required, userName its alias", Source: Ruling, run: checkUserShape},
	{ID: "X-ATT-1", Title: "the attestation answer, its refusals and its list", Source: Ruling, run: checkAttestShape},
}

// user registers a user credential. Its body is ours: the specification shows none.
func (p *probe) user(members obj) *answer {
	body := obj{"legalName": "Marigold Testperson Quill"}
	for name, value := range members {
		body[name] = value
	}
	a := p.unshown(p.post("/v1/users/register", body))
	p.ledger.remember(a.text("token"))
	return a
}

const userValidity = 30 * 24 * time.Hour

func checkUserValidity(p *probe) {
	a := p.user(nil)
	claims := p.token(p.str(a, "token")).claims
	expires := p.instant(claims, "exp")
	gap := expires.Sub(issuedAt(p, a, claims)) - userValidity
	p.expect(gap.Abs() <= time.Second, "the user credential lasts %v, want 30 days within 1 s", expires.Sub(issuedAt(p, a, claims)))
}

func checkUserAutonomous(p *probe) {
	g, fine := p.register(autonomous), p.register()
	p.user(obj{"agentIds": list{fine.id}}) // With a supervised agent the call works.
	a := p.post("/v1/users/register", obj{"legalName": "Marigold Testperson Quill", "agentIds": list{g.id}})
	if p.refusedAnyhow(a) && !p.cfg.OnlySpec {
		p.refused(a, 422, "agent_not_supervised")
	}
	a = p.post("/v1/users/register", obj{"legalName": "Marigold Testperson Quill", "agentIds": list{fine.id, g.id}})
	p.refusedAnyhow(a)
	a = p.post("/v1/users/register", obj{"legalName": "Marigold Testperson Quill", "agentType": "autonomous"})
	p.refusedAnyhow(a)
}

func checkUserShape(p *probe) {
	a := p.status(p.post("/v1/users/register", obj{"legalName": "Marigold Testperson Quill", "email": "m@example.test"}), 201)
	id := p.str(a, "userId")
	p.expect(strings.HasPrefix(id, "usr_"), "userId is %q", id)
	p.expect(contains(p.array(a, "credential.type"), "KYAUserCredential"), "type lacks KYAUserCredential")
	_, err := stockVerify(p.str(a, "token"), p.jwks(0))
	p.expect(err == nil, "the user's token does not verify: %v", err)
	p.same(p.success(p.get("/v1/users/"+id)), "userId", id)
	p.status(p.post("/v1/users/register", obj{"userName": "Marigold Testperson Quill"}), 201)
	p.refused(p.post("/v1/users/register", obj{}), 422, "missing_field")
	p.refusedAnyhow(p.post("/v1/users/register", obj{"legalName": ""}))
	p.refusedAnyhow(p.post("/v1/users/register", obj{"legalName": "x", "agentIds": list{"agt_zzzzzzzzzzzz"}}))
	p.refused(p.get("/v1/users/usr_zzzzzzzzzzzz"), 404, "not_found")
}

func checkAttestShape(p *probe) {
	g := p.register(autonomous)
	a := p.status(p.post("/v1/agents/"+g.id+"/attest", obj{"attestedBy": "officer@example.test", "note": "seen"}), 200)
	p.same(a, "agentId", g.id)
	p.same(a, "attestedBy", "officer@example.test")
	p.same(a, "note", "seen")
	p.str(a, "attestationId")
	at := p.utc(a, "attestedAt")
	p.expect(p.utc(a, "validUntil").Sub(at) == 24*time.Hour, "validUntil - attestedAt is %v, want 24 h", p.utc(a, "validUntil").Sub(at))
	p.expect(p.utc(a, "recordExpiresAt").Sub(at) == 25*time.Hour, "recordExpiresAt - attestedAt is %v, want 25 h", p.utc(a, "recordExpiresAt").Sub(at))
	p.status(p.post("/v1/agents/"+g.id+"/attest", obj{"attestedBy": "officer@example.test"}), 200)
	for _, body := range []obj{{}, {"note": "x"}, {"attestedBy": ""}, {"attestedBy": "  "}, {"attestedBy": nil}, {"attestedBy": 5}} {
		a := p.post("/v1/agents/"+g.id+"/attest", body)
		p.expect(a.status == 422, "attest %s: status %d, want 422", show(plain(body)), a.status)
	}
	p.refused(p.post("/v1/agents/"+p.register().id+"/attest", obj{"attestedBy": "o"}), 422, "agent_not_autonomous")
	records := p.success(p.get("/v1/agents/" + g.id + "/attestations"))
	p.expect(len(p.array(records, "data")) >= 1, "the list of attestations is empty")
	p.setStatus("agents", g.id, "revoke")
	p.refused(p.post("/v1/agents/"+g.id+"/attest", obj{"attestedBy": "o"}), 409, "invalid_transition")
}

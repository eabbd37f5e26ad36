package conformance

import (
	"fmt"
	"strings"
)

var limitChecks = []Check{
	{ID: "X-BND-1", Title: "a screening body of 64 KiB passes, one byte more is 413", Source: Ruling, run: checkScreenBodyBound},
	{ID: "X-BND-2", Title: "other bodies: 256 KiB and one byte more", Source: Ruling, run: checkOtherBodyBound},
	{ID: "X-BND-5", Title: "pages: limit 500 passes, 501 does not", Source: Ruling, run: checkPageBounds},
}

// padded returns the body, filled up with blanks to exactly size bytes.
func padded(body any, size int) literal {
	text := string(mustJSON(body))
	return literal(text + strings.Repeat(" ", max(0, size-len(text))))
}

func checkScreenBodyBound(p *probe) {
	g := p.register()
	p.proceeds(p.screenBody(padded(g.payment("1"), 64<<10)))
	p.refused(p.post("/v1/screen", padded(g.payment("1"), 64<<10+1)), 413, "payload_too_large")
}

func checkOtherBodyBound(p *probe) {
	p.status(p.post("/v1/agents/register", padded(p.registration(), 256<<10)), 201)
	p.refused(p.post("/v1/agents/register", padded(p.registration(), 256<<10+1)), 413, "payload_too_large")
	_, txn := p.review()
	body := obj{"disposition": "APPROVED", "reviewedBy": "officer"}
	p.refused(p.post("/v1/reviews/"+txn, padded(body, 256<<10+1)), 413, "payload_too_large")
	p.status(p.post("/v1/reviews/"+txn, padded(body, 256<<10)), 200)
}

func checkPageBounds(p *probe) {
	for _, path := range []string{"/v1/agents", "/v1/fleets", "/v1/queue", "/v1/audit"} {
		p.array(p.success(p.get(path+"?limit=500")), "data")
		for _, bad := range []string{"501", "0", "-1", "x", ""} {
			a := p.get(fmt.Sprintf("%s?limit=%s", path, bad))
			if bad == "" && a.ok() {
				continue // An empty value may count as none.
			}
			p.expect(a.status >= 400 && a.status < 500, "%s?limit=%s: status %d, want a refusal", path, bad, a.status)
		}
	}
}

package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var httpChecks = []Check{
	{ID: "X-HTTP-1", Title: "two Authorization headers are refused", Source: Ruling, run: checkTwoKeys},
	{ID: "X-HTTP-2", Title: "a body with a transfer coding is refused and never screened", Source: Ruling, run: checkTransferEncoding},
	{ID: "X-HTTP-3", Title: "smuggling shapes give no second answer and no verdict", Source: Implied, run: checkSmuggling},
	{ID: "X-HTTP-4", Title: "a body cut short is never processed", Source: Implied, run: checkCutBody},
	{ID: "X-HTTP-5", Title: "HEAD, OPTIONS, TRACE and CONNECT never reach an endpoint", Source: Ruling, run: checkOddMethods},
	{ID: "X-HTTP-6", Title: "slashes, dots, escapes and parameters in a path are not cleaned", Source: Ruling, run: checkOddPaths},
	{ID: "X-HTTP-8", Title: "405 with Allow on the paths the rulings add", Source: Ruling, run: checkRuledMethods},
	{ID: "X-HTTP-9", Title: "headers above 16 KiB are refused", Source: Ruling, run: checkLargeHeaders},
	{ID: "X-HTTP-10", Title: "absolute-form targets, a second Host and a missing Host are refused", Source: Ruling, run: checkHosts},
	{ID: "X-HTTP-11", Title: "a connection that stalls in its headers or body is cut", Source: Ruling, Needs: NeedSlow, run: checkStall},
}

func checkTwoKeys(p *probe) {
	g, key := p.register(), "Bearer "+p.cfg.APIKey
	for _, values := range [][]string{{key, "Bearer wrong"}, {"Bearer wrong", key}, {key, key}, {key, ""}} {
		a := p.post("/v1/screen", g.payment("1"), authorization(values...))
		p.expect(a.status == 400 || a.status == 401, "two Authorization headers: status %d, want a refusal", a.status)
	}
	a := p.screenBody(g.payment("1"))
	p.proceeds(a)
}

// screenText is a screening body that would PROCEED if it were processed.
func (p *probe) screenText(g agent) string { return string(mustJSON(g.payment("1"))) }

// unprocessed demands that a raw answer is a refusal or a closed connection.
func (p *probe) unprocessed(what string, a rawAnswer) {
	p.expect(a.status == 0 || a.status >= 400 && a.status < 600, "%s: status %d, want a refusal", what, a.status)
	p.expect(!strings.Contains(a.body+a.rest, `"verdict"`), "%s: a verdict came back", what)
}

func checkTransferEncoding(p *probe) {
	body := p.screenText(p.register())
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	for _, coding := range []string{"gzip, chunked", "identity", "chunked, identity", "gzip"} {
		a := p.raw(p.rawPost("/v1/screen", "Transfer-Encoding: "+coding+"\r\n", chunk))
		p.unprocessed("Transfer-Encoding "+coding, a)
	}
	plain := p.raw(p.rawPost("/v1/screen", "Content-Length: "+strconv.Itoa(len(body))+"\r\n", body))
	p.expect(plain.status == 200, "the same body with a Content-Length: status %d, want 200", plain.status)
}

func checkSmuggling(p *probe) {
	body := p.screenText(p.register())
	length := strconv.Itoa(len(body))
	hidden := "GET /v1/health HTTP/1.1\r\nHost: HOST\r\n\r\n"
	shapes := map[string]string{
		"CL and TE":             p.rawPostKept("/v1/screen", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+hidden),
		"two Content-Lengths":   p.rawPostKept("/v1/screen", "Content-Length: "+length+"\r\nContent-Length: 3\r\n", body),
		"list in CL":            p.rawPostKept("/v1/screen", "Content-Length: "+length+", 3\r\n", body),
		"signed CL":             p.rawPostKept("/v1/screen", "Content-Length: +"+length+"\r\n", body),
		"negative CL":           p.rawPostKept("/v1/screen", "Content-Length: -1\r\n", body),
		"hex CL":                p.rawPostKept("/v1/screen", "Content-Length: 0x10\r\n", body),
		"blank before colon":    p.rawPostKept("/v1/screen", "Content-Length : "+length+"\r\n", body),
		"NUL in a header":       p.rawPostKept("/v1/screen", "Content-Length: "+length+"\r\nX-A: a\x00b\r\n", body),
		"bare CR in a header":   p.rawPostKept("/v1/screen", "Content-Length: "+length+"\r\nX-A: a\rb\r\n", body),
		"header without colon":  p.rawPostKept("/v1/screen", "Content-Length: "+length+"\r\nX-A\r\n", body),
		"TE with a tab":         p.rawPostKept("/v1/screen", "Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"+hidden),
		"TE hidden by a letter": p.rawPostKept("/v1/screen", "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"+hidden),
		"HTTP/0.9":              "GET /v1/health\r\n\r\n",
		"HTTP/1.2 garbage":      "GET /v1/health HTTP/one\r\nHost: HOST\r\n\r\n",
		"GET without CL, body":  "GET /v1/audit/txn_00000000 HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	}
	for _, what := range sortedKeys(shapes) {
		a := p.raw(shapes[what])
		p.unprocessed(what, a)
		p.expect(!strings.Contains(a.rest, "HTTP/1.1 200"), "%s: a second answer came back", what)
	}
	p.str(p.status(p.get("/v1/health"), 200), "status")
}

func checkCutBody(p *probe) {
	g := p.register(policy(obj{"dailyLimitUSDC": 1}))
	body := p.screenText(g)
	conn, err := p.dial(p.ctx)
	p.must(err == nil, "raw connection: %v", err)
	_, _ = fmt.Fprint(conn, strings.ReplaceAll(p.rawPost("/v1/screen", fmt.Sprintf("Content-Length: %d\r\n", len(body)+5), body), "HOST", "x"))
	_ = conn.Close() // The body lacks five bytes, although what was sent is complete JSON.
	a := p.raw(p.rawPost("/v1/screen", fmt.Sprintf("Content-Length: %d\r\n", len(body)-2), body))
	p.unprocessed("Content-Length two short", a)
	p.proceeds(p.screen(g, "1")) // The budget is untouched.
}

func checkOddMethods(p *probe) {
	for _, e := range specifiedEndpoints {
		a := p.call(http.MethodHead, e.sample, nil)
		if e.method == http.MethodGet {
			p.expect(a.status == 405 || a.status == 200 || a.status == 404, "HEAD %s: status %d", e.sample, a.status)
		} else {
			p.expect(a.status == 405, "HEAD %s: status %d, want 405", e.sample, a.status)
		}
		p.expect(len(a.raw) == 0, "HEAD %s has a body", e.sample)
		a = p.call(http.MethodOptions, e.sample, nil)
		p.expect(a.status == 405 || a.status == 204, "OPTIONS %s: status %d, want 405 or 204", e.sample, a.status)
		p.expect(a.header.Get("Access-Control-Allow-Origin") != "*", "OPTIONS %s opens the API to every origin", e.sample)
		a = p.call(http.MethodTrace, e.sample, nil)
		p.expect(a.status == 405 || a.status == 400 || a.status == 501, "TRACE %s: status %d", e.sample, a.status)
		p.expect(!strings.Contains(string(a.raw), p.cfg.APIKey), "TRACE %s echoes the key", e.sample)
	}
	a := p.raw("CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n\r\n")
	p.unprocessed("CONNECT", a)
	a = p.raw("FOO /v1/screen HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n")
	p.unprocessed("method FOO", a)
	a = p.raw("post /v1/screen HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n")
	p.unprocessed("method in small letters", a)
}

func checkOddPaths(p *probe) {
	g := p.register()
	for _, path := range []string{
		"/v1/screen/", "//v1/screen", "/v1//screen", "/v1/./screen", "/v1/x/../screen", "/v1/screen;x=1", "/V1/screen", "/v1/SCREEN",
		"/v1%2fscreen", "/v1/%2e/screen", "/%76%31/screen/", "/v1/screen%00", "/v1/screen%20", "/v1\\screen", "/v1/screen.json",
	} {
		body := p.screenText(g)
		a := p.raw(p.rawPost(path, fmt.Sprintf("Content-Length: %d\r\n", len(body)), body))
		p.expect(a.status == 404 || a.status == 400 || a.status == 405, "POST %s: status %d, want 404", path, a.status)
		p.expect(a.header.Get("Location") == "", "POST %s redirects to %s", path, a.header.Get("Location"))
		p.expect(!strings.Contains(a.body, `"verdict"`), "POST %s: a verdict came back", path)
	}
	p.refused(p.post("/v1/screen?x=1&amount=0", g.payment("1")), 400, "bad_request")
	p.status(p.post("/v1/screen?", g.payment("1")), 200)
}

// ruledPaths are the paths that the rulings add, with the methods they take.
var ruledPaths = map[string]string{
	"/v1/agents": "GET", "/v1/agents/agt_x": "GET PATCH DELETE", "/v1/agents/agt_x/suspend": "POST", "/v1/agents/agt_x/reinstate": "POST",
	"/v1/agents/agt_x/revoke": "POST", "/v1/agents/agt_x/reissue": "POST", "/v1/agents/agt_x/ownership-transfer": "POST DELETE",
	"/v1/agents/agt_x/attestations": "GET", "/v1/agents/agt_x/model": "POST", "/v1/agents/agt_x/limits": "GET", "/v1/agents/agt_x/whitelist": "GET PUT",
	"/v1/users/usr_x": "GET", "/v1/users/usr_x/suspend": "POST", "/v1/users/usr_x/reinstate": "POST", "/v1/users/usr_x/revoke": "POST",
	"/v1/operators/suspend": "POST", "/v1/fleets": "GET", "/v1/fleets/flt_x": "GET PATCH DELETE", "/v1/fleets/flt_x/agents": "POST", "/v1/fleets/flt_x/agents/agt_x": "DELETE",
	"/v1/fleets/flt_x/whitelist": "GET PUT", "/v1/whitelist": "GET PUT", "/v1/policy": "GET PUT", "/v1/policy/versions": "GET", "/v1/policy/validate": "POST",
	"/v1/screen/dry-run": "POST", "/v1/match": "GET POST", "/v1/queue": "GET", "/v1/queue/next": "POST", "/v1/queue/txn_x/claim": "POST", "/v1/queue/txn_x/release": "POST",
	"/v1/queue/txn_x/comment": "POST", "/v1/audit": "GET", "/v1/audit/export": "GET", "/v1/audit/txn_x/proof": "GET", "/v1/audit/txn_x/explain": "GET",
	"/v1/audit/txn_x/replay": "POST", "/v1/ofac": "GET", "/v1/cluster/status": "GET", "/log/checkpoint": "GET", "/livez": "GET", "/readyz": "GET",
}

func checkRuledMethods(p *probe) {
	for _, path := range sortedKeys(ruledPaths) {
		allowed := " " + ruledPaths[path] + " "
		for _, method := range matrixMethods {
			if strings.Contains(allowed, " "+method+" ") {
				continue
			}
			a := p.call(method, path, nil)
			if !p.expect(a.status == 405, "%s %s: status %d, want 405", method, path, a.status) {
				continue
			}
			for _, want := range strings.Fields(allowed) {
				p.expect(strings.Contains(a.header.Get("Allow"), want), "%s %s: Allow is %q, want %s in it", method, path, a.header.Get("Allow"), want)
			}
		}
	}
}

func checkLargeHeaders(p *probe) {
	a := p.raw("GET /v1/health HTTP/1.1\r\nHost: HOST\r\nX-Filler: " + strings.Repeat("a", 40<<10) + "\r\n\r\n")
	p.expect(a.status == 431 || a.status == 413 || a.status == 400 || a.status == 0, "40 KiB of header: status %d, want 431", a.status)
	a = p.raw("GET /v1/health HTTP/1.1\r\nHost: HOST\r\nX-Filler: " + strings.Repeat("a", 8<<10) + "\r\n\r\n")
	p.expect(a.status == 200, "8 KiB of header: status %d, want 200", a.status)
	a = p.raw("GET /" + strings.Repeat("a", 40<<10) + " HTTP/1.1\r\nHost: HOST\r\n\r\n")
	p.expect(a.status == 0 || a.status >= 400, "a path of 40 KiB: status %d, want a refusal", a.status)
}

func checkHosts(p *probe) {
	body := p.screenText(p.register())
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	p.unprocessed("absolute-form target", p.raw(p.rawPost("http://example.test/v1/screen", length, body)))
	p.unprocessed("second Host", p.raw(p.rawPost("/v1/screen", "Host: example.test\r\n"+length, body)))
	p.unprocessed("two Content-Types", p.raw(p.rawPost("/v1/screen", "Content-Type: text/plain\r\n"+length, body)))
	p.unprocessed("no Host", p.raw("POST /v1/screen HTTP/1.1\r\nAuthorization: Bearer "+p.cfg.APIKey+"\r\n"+length+"\r\n"+body))
}

// checkStall waits for the target's own time-outs, at most a minute.
func checkStall(p *probe) {
	for what, text := range map[string]string{
		"headers": "POST /v1/screen HTTP/1.1\r\nHost: x\r\nX-A: ",
		"body":    "POST /v1/screen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + p.cfg.APIKey + "\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := p.dial(p.ctx)
		p.must(err == nil, "raw connection: %v", err)
		_, _ = fmt.Fprint(conn, text)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		buffer := make([]byte, 4096)
		for err == nil { // First comes an answer, and then the end of the connection.
			_, err = conn.Read(buffer)
		}
		stalled, isTimeout := err.(interface{ Timeout() bool })
		p.expect(!isTimeout || !stalled.Timeout(), "a connection stalled in its %s was still open after a minute", what)
		_ = conn.Close()
	}
}

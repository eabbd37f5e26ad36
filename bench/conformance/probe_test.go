package conformance

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatementsCovered: every statement of docs/statements.md has a check of its number or names
// another proof, every proof that is named exists, and no two checks have the same number.
func TestStatementsCovered(t *testing.T) {
	have, seen := map[string]bool{}, map[string]bool{}
	for _, check := range Checks() {
		require.False(t, seen[check.ID], "%s is there twice", check.ID)
		seen[check.ID] = true
		require.NotEmpty(t, check.Title, check.ID)
		require.NotNil(t, check.run, check.ID)
		require.Contains(t, []Source{Literal, Implied, Ruling}, check.Source, check.ID)
		require.Regexp(t, `^(T\d{3}a?|[CP]\d\d|X-[A-Z0-9]+-\d+)(/[a-z]+)?$|^T\d{3}/us$`, check.ID)
		base, _, _ := strings.Cut(check.ID, "/")
		have[base] = true
	}
	document, err := os.ReadFile("../../docs/statements.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| ([TCP]\d{2,3}a?) \| (.*)\|$`).FindAllStringSubmatch(string(document), -1)
	require.Greater(t, len(rows), 150)
	for _, row := range rows {
		statement, text := row[1], row[2]
		if statement[0] != 'C' && !strings.Contains(text, "of a check "+statement) {
			require.True(t, have[statement], "no check of statement %s", statement)
		}
		for _, part := range regexp.MustCompile(`[(,] ?(/[a-z]+)[,)]`).FindAllStringSubmatch(text, -1) {
			require.True(t, seen[statement+part[1]], "no check %s%s", statement, part[1])
		}
		for _, named := range regexp.MustCompile(`conformance (C\d\d)|\b(X-[A-Z]+-\d+)`).FindAllStringSubmatch(text, -1) {
			require.True(t, seen[named[1]+named[2]], "no check %s, which shows %s", named[0], statement)
		}
	}
}

func TestTree(t *testing.T) {
	tree, err := decodeTree([]byte(`{"a":{"@context":["x",{"n":1.50}]},"z":null}`))
	require.NoError(t, err)
	value, there := at(tree, "a.@context.1.n")
	require.True(t, there)
	require.True(t, sameTree(value, plain(dollars("1.5"))))
	require.False(t, sameTree(value, plain(dollars("1.51"))))
	value, there = at(tree, "z")
	require.True(t, there)
	require.Nil(t, value)
	for _, path := range []string{"b", "a.@context.2", "a.@context.x", "z.y", "a.@context.-1"} {
		_, there = at(tree, path)
		require.False(t, there, path)
	}
	_, err = decodeTree([]byte(`{} {}`))
	require.Error(t, err)
	require.True(t, sameNumber("1e2", "100.0"))
	require.False(t, sameNumber("9007199254.740993", "9007199254.740992"))
	require.False(t, sameNumber("1e999999999", "1"))
	require.False(t, sameTree(plain(obj{"a": 1}), plain(obj{"a": 1, "b": 2})))
	require.False(t, sameTree(plain(list{1}), plain(list{"1"})))
	require.Equal(t, []string{"b", "c"}, differing(plain(obj{"a": 1, "b": 2}), plain(obj{"a": 1, "b": 3, "c": 4})))
}

func TestStrictBase64(t *testing.T) {
	_, err := strictBase64("AAAA")
	require.NoError(t, err)
	for _, text := range []string{"AAA=", "AA\nAA", "AAB", "A", "AA+A", "AA/A", "AAAA\r"} {
		_, err := strictBase64(text)
		require.Error(t, err, "%q", text)
	}
	encoded := base64url(bytes.Repeat([]byte{7}, 64))
	require.NotEqual(t, encoded, looseTail(encoded))
	_, err = strictBase64(looseTail(encoded))
	require.Error(t, err)
}

// TestForger: a forged token verifies with the forger's own key, so it catches a target
// that takes the key from the token. Its high twin verifies too.
func TestForger(t *testing.T) {
	forged, err := newForger()
	require.NoError(t, err)
	token, err := forged.sign(`{"alg":"ES256","kid":"k1"}`, base64url([]byte(`{"sub":"x"}`)))
	require.NoError(t, err)
	keys, err := parseJWKS([]byte(`{"keys":[` + forged.publicJWK("k1") + `]}`))
	require.NoError(t, err)
	_, err = stockVerify(token, keys)
	require.NoError(t, err)
	signature, err := strictBase64(token[strings.LastIndexByte(token, '.')+1:])
	require.NoError(t, err)
	input := token[:strings.LastIndexByte(token, '.')+1]
	_, err = stockVerify(input+base64url(highTwin(signature)), keys)
	require.NoError(t, err)
	_, err = stockVerify(input+base64url(flipped(signature)), keys)
	require.Error(t, err)
	require.NotEqual(t, signature, highTwin(signature))
	_, err = parseJWKS([]byte(`{"keys":[]}`))
	require.Error(t, err)
}

// TestProbeDemands: each demand of the probe holds on a good answer and fails on a
// bad one.
func TestProbeDemands(t *testing.T) {
	good := `{"verdict":"REVIEW","rule":"R10_SINGLE_TX_LIMIT","n":1.50,"s":"x","at":"2026-03-22T03:33:28.589Z","list":[1],"code":"c","error":"c"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, good) }))
	defer server.Close()
	demands := map[string][2]func(*probe, *answer){
		"status":   {func(p *probe, a *answer) { p.status(a, 200, 201) }, func(p *probe, a *answer) { p.status(a, 201) }},
		"same":     {func(p *probe, a *answer) { p.same(a, "n", dollars("1.5")) }, func(p *probe, a *answer) { p.same(a, "n", 1) }},
		"absent":   {func(p *probe, a *answer) { p.absent(a, "q") }, func(p *probe, a *answer) { p.absent(a, "s") }},
		"str":      {func(p *probe, a *answer) { p.str(a, "s") }, func(p *probe, a *answer) { p.str(a, "n") }},
		"num":      {func(p *probe, a *answer) { p.num(a, "n") }, func(p *probe, a *answer) { p.num(a, "s") }},
		"array":    {func(p *probe, a *answer) { p.array(a, "list") }, func(p *probe, a *answer) { p.array(a, "s") }},
		"utc":      {func(p *probe, a *answer) { p.utc(a, "at") }, func(p *probe, a *answer) { p.utc(a, "s") }},
		"field":    {func(p *probe, a *answer) { p.field(a, "n") }, func(p *probe, a *answer) { p.field(a, "m") }},
		"verdict":  {func(p *probe, a *answer) { p.verdict(a, "REVIEW", "R10_SINGLE_TX_LIMIT") }, func(p *probe, a *answer) { p.verdict(a, "REVIEW", "") }},
		"proceeds": {func(p *probe, a *answer) { p.expect(hasRule(a, "R10"), "x") }, func(p *probe, a *answer) { p.proceeds(a) }},
		"refused":  {func(p *probe, a *answer) { p.refused(a, 200, "c") }, func(p *probe, a *answer) { p.refusedAnyhow(a) }},
		"parallel": {func(p *probe, _ *answer) { p.parallel(10, 3, func(int) error { return nil }) }, func(p *probe, _ *answer) { p.parallel(10, 3, func(int) error { return io.EOF }) }},
		"silence":  {func(p *probe, _ *answer) { p.must(true, "x") }, func(*probe, *answer) {}},
		"panic":    {func(p *probe, _ *answer) { p.must(true, "x") }, func(*probe, *answer) { panic("BUG: on purpose") }},
	}
	s := newSuite(Config{BaseURLs: []string{server.URL}, APIKey: "k"})
	for name, pair := range demands {
		for i, want := range []Outcome{Pass, Fail} {
			result := s.runCheck(t.Context(), Check{ID: name, run: func(p *probe) { pair[i](p, p.get("/v1/x")) }})
			require.Equal(t, want, result.Outcome, "%s %d: %s", name, i, result.Reason)
		}
	}
	skipped := s.runCheck(t.Context(), Check{ID: "skip", run: func(p *probe) { p.skip("no tool") }})
	require.Equal(t, Skipped, skipped.Outcome)
	failedFirst := s.runCheck(t.Context(), Check{ID: "skip", run: func(p *probe) { p.expect(false, "bad"); p.skip("no tool") }})
	require.Equal(t, Fail, failedFirst.Outcome)
}

// TestRateLimit: after a 429 the call is repeated later, unless the check wants to see the 429.
func TestRateLimit(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		if calls%3 != 0 {
			w.Header().Set("Retry-After", "0.001")
			answerJSON(w, 429, `{"code":"rate_limited","error":"rate_limited"}`)
			return
		}
		answerJSON(w, 200, `{}`)
	}))
	defer server.Close()
	s := newSuite(Config{BaseURLs: []string{server.URL}, APIKey: "k"})
	a, err := s.send(t.Context(), "GET", "/v1/x", nil)
	require.NoError(t, err)
	require.Equal(t, 200, a.status)
	a, err = s.send(t.Context(), "GET", "/v1/x", nil, keep429)
	require.NoError(t, err)
	require.Equal(t, 429, a.status)
}

func TestRawSocket(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answerJSON(w, 200, `{"n":"`+r.Header.Get("Authorization")+string(body)+`"}`)
	}))
	defer server.Close()
	p := &probe{suite: newSuite(Config{BaseURLs: []string{server.URL}, APIKey: "k"}), ctx: t.Context()}
	a := p.raw(p.rawPost("/v1/screen", "Content-Length: 2\r\n", "hi"))
	require.Equal(t, 200, a.status)
	require.Equal(t, `{"n":"Bearer khi"}`, a.body)
	require.Equal(t, 400, p.raw("GET /x HTTP/1.1\r\nHost: HOST\r\nbad header\r\n\r\n").status)
	two := p.raw("GET /a HTTP/1.1\r\nHost: HOST\r\n\r\nGET /b HTTP/1.1\r\nHost: HOST\r\n\r\n")
	require.Contains(t, two.rest, "HTTP/1.1 200")
}

func TestLedger(t *testing.T) {
	see := func(status int, path, body string, header http.Header) *ledger {
		l := &ledger{laws: map[string][]string{}, secret: "topsecret"}
		a := newAnswer(&request{method: "POST", path: path}, &http.Response{StatusCode: status, Header: header}, []byte(body), 0)
		l.see(a)
		return l
	}
	headers := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"r"}}
	screen := `{"verdict":"PROCEED","rule":null,"reason":"r","txnId":"txn_aaaaaaaa","screenedAt":"2026-01-01T00:00:00Z","latencyMs":0.5}`
	require.Empty(t, see(200, "/v1/screen", screen, headers).laws)
	require.Empty(t, see(400, "/v1/screen", `{"error":"x","code":"x","message":"m","requestId":"r"}`, headers).laws)
	require.Empty(t, see(200, "/v1/audit/export", "{}\n{}", headers).laws)
	cases := map[string]*ledger{
		"T011":    see(200, "/v1/x", "<html>", headers),
		"T016":    see(400, "/v1/x", `{"error":{"code":"x"}}`, headers),
		"T015":    see(200, "/v1/x", `{"a":"topsecret"}`, headers),
		"T017":    see(500, "/v1/x", `{"error":"internal_error","code":"internal_error","message":"m","requestId":"r"}`, headers),
		"X-HDR-1": see(200, "/v1/x", `{}`, http.Header{"Content-Type": {"application/json"}}),
		"X-HDR-2": see(503, "/v1/x", `{"error":"no_quorum","code":"no_quorum","message":"m","requestId":"r"}`, headers),
		"T044":    see(200, "/v1/screen", strings.Replace(screen, `"rule":null,`, "", 1), headers),
		"T042":    see(200, "/v1/screen", strings.Replace(screen, "aaaaaaaa", "aaaaaaa", 1), headers),
		"T046":    see(200, "/v1/screen", strings.Replace(screen, "0.5", `"1"`, 1), headers),
		"T048":    see(200, "/v1/screen", strings.Replace(screen, `"rule"`, `"_request":{},"rule"`, 1), headers),
		"T040":    see(200, "/v1/screen", strings.Replace(screen, "PROCEED", "ALLOW", 1), headers),
		"T045":    see(200, "/v1/screen", strings.Replace(screen, `"r"`, `""`, 1), headers),
	}
	for law, l := range cases {
		require.NotEmpty(t, l.laws[law], law)
	}
}

func TestCheckpoint(t *testing.T) {
	root := "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	head, ok := parseCheckpoint("railguard/x\n7\n" + root + "\n\n\u2014 name sig\n")
	require.True(t, ok)
	require.EqualValues(t, 7, head.size)
	for _, bad := range []string{"", "x\n7\n" + root, "x\n7\n" + root + "\n\n", "x\n-7\n" + root + "\n\n\u2014 n s", "x\n7\nAAAA\n\n\u2014 n s"} {
		_, ok = parseCheckpoint(bad)
		require.False(t, ok, "%q", bad)
	}
	require.Len(t, hashBytes(root), 32)
	require.Len(t, hashBytes(strings.Repeat("ab", 32)), 32)
	require.Nil(t, hashBytes("short"))
}

// TestDoc: the package comment is complete and names no path of one machine.
func TestDoc(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, word := range []string{"Purpose:", "May import:", "Never:"} {
		require.Contains(t, string(raw), word)
	}
	require.False(t, regexp.MustCompile(`/(home|root|tmp)/`).Match(raw))
}

func TestDevFile(t *testing.T) {
	folder := t.TempDir()
	_, err := ReadDevFile(folder)
	require.Error(t, err)
	write := func(text string) { require.NoError(t, os.WriteFile(folder+"/dev.json", []byte(text), 0o600)) }
	write(`{"apiKey":"k","nodes":[]}`)
	_, err = ReadDevFile(folder)
	require.Error(t, err)
	write(`{"apiKey":"k","nodes":[{"id":"n1","pid":1,"http":"127.0.0.1:1","admin":"http://127.0.0.1:2/","cluster":"127.0.0.1:3"}]}`)
	require.NoError(t, os.WriteFile(folder+"/n1.log", []byte("x"), 0o600))
	require.NoError(t, os.MkdirAll(folder+"/n1/raft", 0o700))
	require.NoError(t, os.WriteFile(folder+"/n1/raft/1.log", []byte("entries"), 0o600))
	file, err := ReadDevFile(folder)
	require.NoError(t, err)
	cfg, err := file.Config(folder)
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:1"}, cfg.BaseURLs)
	require.Equal(t, "http://127.0.0.1:2", cfg.AdminURL)
	require.Len(t, cfg.LogFiles, 1)
	var out bytes.Buffer
	require.NoError(t, WriteResult(&out, Result{ID: "T001", Outcome: Fail, Title: "title", Reason: "a\nb"}))
	require.NoError(t, WriteSummary(&out, Summary{Pass: 1, Fail: 2, Skipped: 3}))
	require.Contains(t, out.String(), "T001")
	require.Contains(t, out.String(), "1 passed, 2 failed, 3 skipped")
}

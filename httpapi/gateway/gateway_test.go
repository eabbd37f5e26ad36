package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
	"railguard/httpapi/guest"
)

const (
	testNow      = 1_795_437_030 * engine.Second
	testIssuer   = "https://guard.example.org"
	testAudience = "https://pay.example.org"
	testPayee    = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	testPayer    = "0x857B06519E91E3A54538791BDBB0E22373E36B66"
)

// fakeAPI answers as the API does, as far as the gateway's room asks.
type fakeAPI struct {
	roles    string
	override map[string]fakeAnswer // By path.
	calls    []string
	bodies   []string
	heads    []http.Header
	used     map[string]bool
	verdict  string
}

type fakeAnswer struct {
	status int
	body   string
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.calls, f.bodies, f.heads = append(f.calls, r.Method+" "+r.URL.Path), append(f.bodies, string(body)), append(f.heads, r.Header)
	w.Header().Set("X-Request-Id", "req_1")
	w.Header().Set("Retry-After", "2")
	if answer, given := f.override[r.URL.Path]; given {
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
		return
	}
	switch r.URL.Path {
	case "/v1/key":
		_, _ = io.WriteString(w, `{"keyId":"key_1","roles":["`+f.roles+`"]}`)
	case "/v1/screen":
		_, _ = io.WriteString(w, `{"verdict":"`+f.verdict+`","txnId":"txn_1","rule":"R7","reason":"a secret reason","permit":"a.permit.of.it"}`)
	case "/v1/permits/redeem":
		if f.used[string(body)] {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"code":"permit_used","redeemedAt":"2026-11-23T10:00:00Z"}`)
			return
		}
		f.used[string(body)] = true
		_, _ = io.WriteString(w, `{"state":"redeemed","txnId":"txn_1","verdict":"`+f.verdict+`","rule":"R7","reason":"a secret reason"}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// stand is a gateway's room in front of a fake API, with a key for permits.
type stand struct {
	*Gateway
	t     *testing.T
	api   *fakeAPI
	key   *ecdsa.PrivateKey
	trust error
}

func newStand(t *testing.T) *stand {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	s := &stand{t: t, key: key, api: &fakeAPI{roles: "gateway", override: map[string]fakeAnswer{}, used: map[string]bool{}, verdict: "PROCEED"}}
	point, err := jws.PublicPoint(&key.PublicKey)
	require.NoError(t, err)
	set, err := jws.NewKeySet([]jws.PublicKey{{ID: "pm-v1", Point: point}})
	require.NoError(t, err)
	s.Gateway, err = New(Config{API: s.api, Map: readTestMap(t), Trust: func() (permit.Want, error) {
		return permit.Want{Keys: set, Issuer: testIssuer, Now: testNow}, s.trust
	}})
	require.NoError(t, err)
	return s
}

// permit makes a permit for the payment that payout says.
func (s *stand) permit(change func(*permit.Permit)) string {
	p := &permit.Permit{
		Issuer: testIssuer, Subject: "agt_1", Audience: testAudience, TxnID: "txn_1", IssuedAt: testNow - 30*engine.Second, Expires: testNow + 90*engine.Second,
		Pay: permit.Pay{Amount: 25 * engine.Dollar, Chain: "BASE", Rail: "USDC", Payee: strings.ToLower(testPayee), Payer: strings.ToLower(testPayer), Ref: "inv-7"}, Lists: permit.Lists{AgeMost: engine.DayLength},
	}
	if change != nil {
		change(p)
	}
	token, err := permit.Sign(p, s.key, "pm-v1")
	require.NoError(s.t, err)
	return token
}

const (
	payout    = `{"amount":2500,"currency":"USD","destination":{"address":"` + testPayee + `"},"source":{"address":"` + testPayer + `"}}`
	agentsPay = `{"amount":25,"to":"` + testPayee + `"}`
)

// ask asks as an Envoy does.
func (s *stand) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, Root+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer rg_live_gateway")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// requireRefused checks an answer that is no leave.
func requireRefused(t *testing.T, w *httptest.ResponseRecorder, status int, code string) map[string]any {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	var said map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &said))
	require.Equal(t, code, said["code"])
	require.Equal(t, code, said["error"])
	require.NotEmpty(t, said["message"])
	require.Equal(t, "req_1", said["requestId"])
	require.Empty(t, w.Header().Get("Railguard-Permit"))
	require.NotContains(t, w.Body.String(), "secret")
	require.NotContains(t, w.Body.String(), "R7")
	if w.Header().Get(errorHeader) != "" {
		require.Empty(t, w.Header().Get(verdictHeader), "nothing was judged")
	}
	return said
}

// A permit is a leave once, for the payment that it is for.
func TestPermitIsUsedUp(t *testing.T) {
	s := newStand(t)
	token := s.permit(nil)
	w := s.ask("POST", "payouts/v1/payouts", payout, "Idempotency-Key", "inv-7", permitHeader, token, verdictHeader, "PROCEED", txnHeader, "txn_forged")
	require.Equal(t, 200, w.Code, w.Body.String())
	require.Equal(t, []string{"PROCEED"}, w.Header().Values(verdictHeader))
	require.Equal(t, []string{"txn_1"}, w.Header().Values(txnHeader))
	require.Equal(t, []string{token}, w.Header().Values(permitHeader))
	require.Empty(t, w.Header().Get(removeHeader))
	require.Empty(t, w.Header().Get(errorHeader))
	require.JSONEq(t, `{"verdict":"PROCEED","txnId":"txn_1"}`, w.Body.String())
	require.Equal(t, []string{"GET /v1/key", "POST /v1/permits/redeem"}, s.api.calls)
	require.JSONEq(t, `{"permit":"`+token+`"}`, s.api.bodies[1])
	for _, head := range s.api.heads {
		require.Equal(t, "Bearer rg_live_gateway", head.Get("Authorization"))
		require.Empty(t, head.Get("Idempotency-Key"), "equal payments must not become one")
		require.Empty(t, head.Get(verdictHeader))
	}
	requireRefused(t, s.ask("POST", "payouts/v1/payouts", payout, "Idempotency-Key", "inv-7", permitHeader, token), 403, permitUsed)
}

func TestPermitIsRefused(t *testing.T) {
	other := newStand(t)
	for name, c := range map[string]struct {
		change func(*permit.Permit)
		raw    func(string) []string
		body   string
		code   string
		param  string
	}{
		"missing":       {raw: func(string) []string { return nil }, code: permitMissing},
		"empty":         {raw: func(string) []string { return []string{""} }, code: permitMissing},
		"twice":         {raw: func(token string) []string { return []string{token, token} }, code: permitInvalid},
		"no token":      {raw: func(string) []string { return []string{"x"} }, code: permitInvalid},
		"altered":       {raw: func(token string) []string { return []string{token[:len(token)-8] + "AAAAAAAA"} }, code: permitInvalid},
		"another's key": {raw: func(string) []string { return []string{other.permit(nil)} }, code: permitInvalid},
		"issuer":        {change: func(p *permit.Permit) { p.Issuer = "https://other.example.org" }, code: permitInvalid},
		"audience":      {change: func(p *permit.Permit) { p.Audience = testIssuer }, code: permitInvalid},
		"early":         {change: func(p *permit.Permit) { p.IssuedAt, p.Expires = testNow+2*engine.Minute, testNow+3*engine.Minute }, code: permitInvalid},
		"too long":      {change: func(p *permit.Permit) { p.Expires = p.IssuedAt + 301*engine.Second }, code: permitInvalid},
		"expired":       {change: func(p *permit.Permit) { p.Expires = testNow }, code: permitExpired},
		"amount":        {change: func(p *permit.Permit) { p.Pay.Amount++ }, code: permitMismatch, param: "amount"},
		"payee":         {change: func(p *permit.Permit) { p.Pay.Payee = p.Pay.Payer }, code: permitMismatch, param: "payee"},
		"no payee wallet": {change: func(p *permit.Permit) {
			p.Pay.Payee, p.Pay.PayeeIDs = "", []string{permit.PayeeID("txn_1", permit.KindName, testPayee)}
		}, code: permitMismatch, param: "payee"},
		"payer":           {change: func(p *permit.Permit) { p.Pay.Payer = "" }, code: permitMismatch, param: "payer"},
		"ref":             {change: func(p *permit.Permit) { p.Pay.Ref = "inv-8" }, code: permitMismatch, param: "ref"},
		"more is paid":    {body: strings.Replace(payout, "2500", "2501", 1), code: permitMismatch, param: "amount"},
		"another is paid": {body: strings.Replace(payout, testPayee, testPayer, 1), code: permitMismatch, param: "payee"},
		"another unit":    {body: strings.Replace(payout, "2500", "25", 1), code: permitMismatch, param: "amount"},
		"other currency":  {body: strings.Replace(payout, "USD", "EUR", 1), code: requestUnmapped, param: "currency"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			sent := []string{s.permit(c.change)}
			if c.raw != nil {
				sent = c.raw(sent[0])
			}
			headers := []string{"Idempotency-Key", "inv-7"}
			for _, one := range sent {
				headers = append(headers, permitHeader, one)
			}
			if c.body == "" {
				c.body = payout
			}
			w := s.ask("POST", "payouts/v1/payouts", c.body, headers...)
			said := requireRefused(t, w, 403, c.code)
			require.Equal(t, c.code, w.Header().Get(errorHeader))
			if c.param != "" {
				require.Equal(t, c.param, said["param"])
			}
			require.Equal(t, []string{"GET /v1/key"}, s.api.calls, "what does not fit is not used up")
		})
	}
}

// What the log says of a permit decides; where it says nothing there is no verdict.
func TestRedeemAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   int
		code   string
	}{
		"expired":         {409, `{"code":"permit_expired"}`, 403, permitExpired},
		"lapsed":          {409, `{"code":"approval_lapsed"}`, 403, permitExpired},
		"given back":      {409, `{"code":"invalid_transition","state":"released"}`, 403, permitExpired},
		"used":            {409, `{"code":"permit_used"}`, 403, permitUsed},
		"invalid":         {422, `{"code":"permit_invalid"}`, 403, permitInvalid},
		"mismatch":        {422, `{"code":"permit_mismatch","param":"amount"}`, 403, permitMismatch},
		"judged again":    {200, `{"verdict":"BLOCK","txnId":"txn_1","rule":"R7","reason":"a secret reason"}`, 403, paymentRefused},
		"not redeemed":    {200, `{"verdict":"PROCEED","txnId":"txn_1","state":"open"}`, 503, noVerdict},
		"no txnId":        {200, `{"verdict":"PROCEED","state":"redeemed"}`, 503, noVerdict},
		"no JSON":         {200, `PROCEED`, 503, noVerdict},
		"no content":      {204, `{"verdict":"PROCEED","txnId":"txn_1","state":"redeemed"}`, 503, noVerdict},
		"another error":   {422, `{"code":"idempotency_conflict"}`, 503, noVerdict},
		"not there":       {404, `{"code":"not_found"}`, 503, noVerdict},
		"no quorum":       {503, `{"code":"no_quorum"}`, 503, noVerdict},
		"rate":            {429, `{"code":"rate_limited"}`, 503, noVerdict},
		"a used in a 5xx": {500, `{"code":"permit_used"}`, 503, noVerdict},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.api.override["/v1/permits/redeem"] = fakeAnswer{c.status, c.body}
			w := s.ask("POST", "payouts/v1/payouts", payout, "Idempotency-Key", "inv-7", permitHeader, s.permit(nil))
			requireRefused(t, w, c.want, c.code)
			require.Len(t, s.api.calls, 2, "asked once")
			if c.code == paymentRefused {
				require.Equal(t, "BLOCK", w.Header().Get(verdictHeader))
				require.Equal(t, "txn_1", w.Header().Get(txnHeader))
				require.Empty(t, w.Header().Get(errorHeader))
			}
			if c.code == noVerdict {
				require.Equal(t, noVerdict, w.Header().Get(errorHeader))
				require.Equal(t, c.status != 200, w.Header().Get("Retry-After") == "2", "what the API says of it goes on")
			}
		})
	}
}

// redeem: false looks at a permit and leaves it to the API behind.
func TestPermitIsLookedAt(t *testing.T) {
	s := newStand(t)
	for range 2 {
		w := s.ask("POST", "look/pay", agentsPay, permitHeader, s.permit(nil))
		require.Equal(t, 200, w.Code, w.Body.String())
		require.Equal(t, "txn_1", w.Header().Get(txnHeader))
	}
	require.Equal(t, []string{"GET /v1/key", "GET /v1/key"}, s.api.calls)
	requireRefused(t, s.ask("POST", "look/pay", agentsPay, permitHeader, s.permit(func(p *permit.Permit) { p.Pay.Rail = "USDT" })), 403, permitMismatch)
	s.trust = errors.New("no keys")
	requireRefused(t, s.ask("POST", "look/pay", agentsPay, permitHeader, s.permit(nil)), 503, noVerdict)
}

func TestScreened(t *testing.T) {
	s := newStand(t)
	w := s.ask("POST", "agents/pay", agentsPay, "X-Railguard-Token", "tok", permitHeader, "forged", "Idempotency-Key", "k")
	require.Equal(t, 200, w.Code, w.Body.String())
	require.Equal(t, "PROCEED", w.Header().Get(verdictHeader))
	require.Equal(t, "txn_1", w.Header().Get(txnHeader))
	require.Empty(t, w.Header().Get(permitHeader), "none was asked for")
	require.Equal(t, permitHeader, w.Header().Get(removeHeader), "the client's does not go on")
	require.JSONEq(t, `{"token":"tok","amount":25,"cpWallet":"`+testPayee+`","chain":"BASE","rail":"USDC"}`, s.api.bodies[1])
	require.Empty(t, s.api.heads[1].Get("Idempotency-Key"))

	w = s.ask("POST", "agents/permitted", `{"items":[{"amount":"25.10"}],"to/whom":"x"}`, "X-Railguard-Token", "tok")
	require.Equal(t, 200, w.Code, w.Body.String())
	require.Equal(t, "a.permit.of.it", w.Header().Get(permitHeader))
	require.JSONEq(t, `{"token":"tok","amount":25.10,"cpWallet":"x","permit":{"ttlSeconds":60,"aud":"https://pay.example.org"}}`, s.api.bodies[3])
	for _, verdict := range []string{"REVIEW", "BLOCK", "UNKNOWN"} {
		s.api.verdict = verdict
		w := s.ask("POST", "agents/pay", agentsPay, "X-Railguard-Token", "tok")
		said := requireRefused(t, w, 403, paymentRefused)
		require.Equal(t, []any{verdict, "txn_1", "txn_1"}, []any{w.Header().Get(verdictHeader), w.Header().Get(txnHeader), said["txnId"]})
		require.Empty(t, w.Header().Get(errorHeader))
	}
	for name, c := range map[string]struct {
		status int
		body   string
		want   int
		code   string
	}{
		"invalid":       {400, `{"code":"invalid_field","param":"cpWallet","message":"too long"}`, 403, requestUnmapped},
		"unprocessable": {422, `{"code":"invalid_field","param":"paymentRef","message":"too long"}`, 403, requestUnmapped},
		"forbidden":     {403, `{"code":"forbidden","message":"the operator is outside of this key's scope"}`, 403, forbidden},
		"conflict":      {409, `{"code":"format_not_ready"}`, 503, noVerdict},
		"rate":          {429, `{"code":"rate_limited"}`, 503, noVerdict},
		"overloaded":    {503, `{"code":"overloaded"}`, 503, noVerdict},
		"empty":         {200, `{}`, 503, noVerdict},
		"no permit":     {200, `{"verdict":"PROCEED","txnId":"txn_1"}`, 503, noVerdict},
	} {
		s.api.override["/v1/screen"] = fakeAnswer{c.status, c.body}
		requireRefused(t, s.ask("POST", "agents/permitted", `{"items":[{"amount":1}],"to/whom":"x"}`, "X-Railguard-Token", "tok"), c.want, c.code)
		require.NotEmpty(t, name)
	}
}

// Only the gateway's own key may ask, also where nothing is asked for.
func TestKeys(t *testing.T) {
	for _, target := range []string{"payouts/v1/payouts", "agents/pay", "look/free", "nobody/x"} {
		for role, code := range map[string]string{"viewer": forbidden, "settler": forbidden, "operator": forbidden, "": forbidden} {
			s := newStand(t)
			s.api.roles = role
			w := s.ask("POST", target, agentsPay, "X-Railguard-Token", "tok")
			requireRefused(t, w, 403, code)
			require.Equal(t, noVerdict, w.Header().Get(errorHeader))
			require.Equal(t, []string{"GET /v1/key"}, s.api.calls)
		}
		for status, want := range map[int]int{401: 401, 400: 401, 429: 503, 503: 503, 500: 503} {
			s := newStand(t)
			s.api.override["/v1/key"] = fakeAnswer{status, `{"code":"x","message":"m","roles":["admin"]}`}
			w := s.ask("POST", target, agentsPay, "X-Railguard-Token", "tok")
			require.Equal(t, want, w.Code, status)
			require.Equal(t, noVerdict, w.Header().Get(errorHeader))
			require.Len(t, s.api.calls, 1)
		}
		s := newStand(t)
		s.api.override["/v1/key"] = fakeAnswer{200, `x`}
		require.Equal(t, 503, s.ask("POST", target, agentsPay, "X-Railguard-Token", "tok").Code)
	}
	for _, role := range []string{"gateway", "screener", "admin"} {
		s := newStand(t)
		s.api.roles = role
		require.Equal(t, 200, s.ask("POST", "agents/pay", agentsPay, "X-Railguard-Token", "tok").Code)
	}
}

// A body of which a part is missing is not judged, and one that is too long neither.
func TestPartialBodies(t *testing.T) {
	s := newStand(t)
	headers := []string{"X-Railguard-Token", "tok"}
	for _, said := range [][]string{{"true"}, {""}, {"1"}, {"False"}, {"false", "true"}} {
		with := headers
		for _, one := range said {
			with = append(with, partialHeader, one)
		}
		w := s.ask("POST", "agents/pay", agentsPay, with...)
		requireRefused(t, w, 403, requestPartial)
		require.Equal(t, requestPartial, w.Header().Get(errorHeader))
	}
	require.Equal(t, 200, s.ask("POST", "agents/pay", agentsPay, append(headers, partialHeader, "false")...).Code)
	padded := agentsPay + strings.Repeat(" ", bodyMax-len(agentsPay))
	require.Equal(t, 200, s.ask("POST", "agents/pay", padded, headers...).Code)
	requireRefused(t, s.ask("POST", "agents/pay", padded+" ", headers...), 403, requestPartial)
	r := httptest.NewRequest("POST", Root+"agents/pay", io.MultiReader(strings.NewReader(agentsPay), iotest.ErrReader(errors.New("gone"))))
	r.Header.Set("X-Railguard-Token", "tok")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	requireRefused(t, w, 403, requestPartial)
}

// What the map lets through has no verdict, and the client's word for one does not go on.
func TestUnasked(t *testing.T) {
	s := newStand(t)
	for _, target := range []string{"payouts/v1/payouts/po_1", "look/free?x=1"} {
		w := s.ask("GET", target, "", verdictHeader, "PROCEED")
		require.Equal(t, 200, w.Code)
		require.Empty(t, w.Header().Get(verdictHeader))
		require.Equal(t, "x-railguard-verdict,x-railguard-txn,railguard-permit", w.Header().Get(removeHeader))
	}
	w := s.ask("POST", "payouts/v1/payouts%2f", payout)
	requireRefused(t, w, 403, requestUnmapped)
	require.Equal(t, requestUnmapped, w.Header().Get(errorHeader))
}

// Only what begins with Root, byte by byte, is the gateway's; the room marks its calls.
func TestWhatIsItsOwn(t *testing.T) {
	marked := map[string]bool{}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		marked[r.RequestURI] = guest.ByGateway(r.Context())
		w.WriteHeader(http.StatusTeapot)
	})
	g, err := New(Config{API: api, Map: readTestMap(t), Trust: func() (permit.Want, error) { return permit.Want{}, nil }})
	require.NoError(t, err)
	for target, ours := range map[string]bool{
		"/ext-authz/look/x": true, "/ext-authz/": true, "/ext-authz": false, "//ext-authz/look/x": false, "/%65xt-authz/look/x": false,
		"/EXT-AUTHZ/look/x": false, "/v1/screen": false, "/x/../ext-authz/look/x": false,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.RequestURI = target
		r.URL, _ = url.ParseRequestURI(target)
		g.ServeHTTP(w, r)
		require.Equal(t, ours, w.Code != http.StatusTeapot, target)
	}
	require.True(t, marked["/v1/key"])
	require.False(t, marked["/v1/screen"])
	for _, config := range []Config{{}, {API: api}, {API: api, Map: &Map{}}} {
		_, err := New(config)
		require.Error(t, err)
	}
}

func TestTry(t *testing.T) {
	m := readTestMap(t)
	head := http.Header{"X-Railguard-Token": {"secret"}, "Content-Type": {"application/json"}}
	require.Equal(t, Trial{Profile: "agents", Mode: "screen", Route: "POST /pay", Outcome: "screen", Values: []Reading{
		{"amount", "25"}, {"chain", "BASE"}, {"currency", "USD"}, {"payee", testPayee}, {"rail", "USDC"}, {"token", "(hidden)"},
	}}, m.Try("agents", "POST", "/pay", head, []byte(agentsPay)))
	require.Equal(t, unasked, m.Try("payouts", "GET", "/v1/payouts/po_1", nil, nil).Outcome)
	require.False(t, m.Try("look", "GET", "/x", nil, nil).Refused)
	require.True(t, m.Try("agents", "GET", "/x", nil, nil).Refused)
	wrong := m.Try("agents", "POST", "/pay", http.Header{"Content-Type": {"application/json"}}, []byte(agentsPay))
	require.True(t, wrong.Refused)
	require.Equal(t, "token: the header X-Railguard-Token must be there once", wrong.Message)
}

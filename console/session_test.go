package console

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/guest"
	"railguard/ofac"
	"railguard/seal"
)

const goodKey = "rg_live_0123456789012345678901234567"

// seen is a request that reached the API.
type seen struct {
	method, path, uri, authorization, cookie, body string
	header                                         http.Header
	signsIn                                        bool
}

// desk is a console before an API that knows one key.
type desk struct {
	t    *testing.T
	at   time.Time
	got  []seen
	live bool // Whether the API still accepts the key.
	c    *Console

	ended uint32 // How often the key's sessions were ended, as the API counts it.
}

func isOver(r *http.Request, ended uint32) bool {
	number, given := guest.Session(r.Context())
	return given && number != ended
}

func newDesk(t *testing.T, change func(*Config)) *desk {
	d := &desk{t: t, at: time.Date(2026, 3, 21, 9, 0, 0, 0, time.UTC), live: true}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.got = append(d.got, seen{r.Method, r.URL.Path, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Cookie"), string(body), r.Header, guest.SignsIn(r.Context())})
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+goodKey || !d.live:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthorized"}`))
		case isOver(r, d.ended):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthorized"}`))
		case r.URL.Path == "/v1/key":
			_, _ = fmt.Fprintf(w, `{"keyId":"key_1","name":"Dana","roles":["reviewer"],"sessions":%d}`, d.ended)
		case r.URL.Path == "/v1/key/end-sessions":
			d.ended++
			_, _ = w.Write([]byte(`{"keyId":"key_1"}`))
		default:
			_, _ = w.Write([]byte(`{"ok":true}`))
		}
	})
	config := Config{API: api, Secrets: seal.NewSecrets([]byte("0123456789abcdef")), Now: func() time.Time { return d.at }}
	if change != nil {
		change(&config)
	}
	var err error
	d.c, err = New(config)
	require.NoError(t, err)
	return d
}

func (d *desk) do(method, path, body string, more func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if more != nil {
		more(r)
	}
	w := httptest.NewRecorder()
	d.c.ServeHTTP(w, r)
	return w.Result()
}

// signIn returns the cookie and the token of a new session.
func (d *desk) signIn() (*http.Cookie, string) {
	answer := d.do("POST", "/console/session", `{"key":"`+goodKey+`"}`, jsonBody)
	require.Equal(d.t, 200, answer.StatusCode)
	require.Len(d.t, answer.Cookies(), 1)
	var said struct{ Token string }
	require.NoError(d.t, json.NewDecoder(answer.Body).Decode(&said))
	require.NotEmpty(d.t, said.Token)
	return answer.Cookies()[0], said.Token
}

func jsonBody(r *http.Request) { r.Header.Set("Content-Type", "application/json") }

func with(cookie *http.Cookie, token string) func(*http.Request) {
	return func(r *http.Request) {
		r.AddCookie(cookie)
		if token != "" {
			r.Header.Set(tokenHeader, token)
		}
	}
}

func TestCookie(t *testing.T) {
	d := newDesk(t, nil)
	cookie, _ := d.signIn()
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.Equal(t, "railguard-session", cookie.Name)
	require.Empty(t, cookie.Domain)
	require.False(t, cookie.Secure, "plain HTTP on this machine")
	require.NotContains(t, cookie.Value, goodKey)
	require.NotContains(t, cookie.Value, "rg_live")

	for name, change := range map[string]func(*http.Request){
		"TLS":   func(r *http.Request) { r.TLS = new(tls.ConnectionState) },
		"proxy": func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") },
	} {
		answer := d.do("POST", "/console/session", `{"key":"`+goodKey+`"}`, func(r *http.Request) { jsonBody(r); change(r) })
		require.True(t, answer.Cookies()[0].Secure, name)
		require.Equal(t, "__Host-railguard-session", answer.Cookies()[0].Name, name)
	}
	secure, _ := newDesk(t, func(c *Config) { c.Secure = true }).signIn()
	require.True(t, secure.Secure)
}

func TestSignIn(t *testing.T) {
	d := newDesk(t, nil)
	for name, c := range map[string]struct {
		body   string
		more   func(*http.Request)
		status int
	}{
		"unknown key":   {`{"key":"rg_live_wrong"}`, jsonBody, 401},
		"no key":        {`{}`, jsonBody, 400},
		"long key":      {`{"key":"` + strings.Repeat("x", keyMax+1) + `"}`, jsonBody, 400},
		"long body":     {`{"key":"` + strings.Repeat("x", signInMax) + `"}`, jsonBody, 400},
		"another case":  {`{"KEY":"` + goodKey + `"}`, jsonBody, 400},
		"key twice":     {`{"key":"rg_live_wrong","key":"` + goodKey + `"}`, jsonBody, 400},
		"other members": {`{"key":"` + goodKey + `","role":"admin"}`, jsonBody, 400},
		"a form's type": {`{"key":"` + goodKey + `"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"another site":  {`{"key":"` + goodKey + `"}`, func(r *http.Request) { jsonBody(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"a sibling":     {`{"key":"` + goodKey + `"}`, func(r *http.Request) { jsonBody(r); r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
	} {
		answer := d.do("POST", "/console/session", c.body, c.more)
		require.Equal(t, c.status, answer.StatusCode, name)
		require.Empty(t, answer.Cookies(), name)
	}
	cookie, token := d.signIn()
	require.True(t, d.got[len(d.got)-1].signsIn, "the API keeps who signs in")
	answer := d.do("GET", "/console/session", "", with(cookie, ""))
	require.False(t, d.got[len(d.got)-1].signsIn, "a page load is no sign-in")
	body, _ := io.ReadAll(answer.Body)
	require.Contains(t, string(body), `"roles":["reviewer"]`, "roles are the API's word")
	require.Contains(t, string(body), token)
	answer = d.do("GET", "/console/session", "", nil)
	body, _ = io.ReadAll(answer.Body)
	require.Equal(t, 200, answer.StatusCode)
	require.JSONEq(t, `{"signedIn":false,"provider":false}`, string(body))

	d.live = false // The key is revoked: the next page load signs out, despite the cookie.
	answer = d.do("GET", "/console/session", "", with(cookie, ""))
	body, _ = io.ReadAll(answer.Body)
	require.JSONEq(t, `{"signedIn":false,"provider":false}`, string(body))
	require.Negative(t, answer.Cookies()[0].MaxAge)
	require.Equal(t, 401, d.do("GET", "/console/api/queue", "", with(cookie, "")).StatusCode)
}

func TestCallsAreTranslated(t *testing.T) {
	d := newDesk(t, nil)
	cookie, token := d.signIn()
	d.got = nil
	answer := d.do("POST", "/console/api/queue/next?a=b%20c", `{"assignee":"Dana"}`, func(r *http.Request) {
		with(cookie, token)(r)
		r.Header.Set("Authorization", "Bearer rg_live_another")
		r.Header.Set("Idempotency-Key", "k1")
		r.Header.Set(pollHeader, "1")
	})
	require.Equal(t, 200, answer.StatusCode)
	require.Len(t, d.got, 1)
	call := d.got[0]
	require.Equal(t, "POST", call.method)
	require.Equal(t, "/v1/queue/next", call.path)
	require.Equal(t, "/v1/queue/next?a=b%20c", call.uri)
	require.Equal(t, "Bearer "+goodKey, call.authorization, "the session's key, whatever was sent")
	require.Equal(t, `{"assignee":"Dana"}`, call.body)
	require.Equal(t, "k1", call.header.Get("Idempotency-Key"))
	require.Empty(t, call.cookie, "the API never sees a cookie")
	require.Empty(t, call.header.Get(tokenHeader))
	require.Empty(t, call.header.Get(pollHeader))

	d.got = nil
	require.Equal(t, 404, d.do("GET", "/console/api/%2e%2e/admin/keys", "", with(cookie, "")).StatusCode)
	require.Empty(t, d.got)
	d.do("GET", "/v1/queue", "", with(cookie, token))
	require.Empty(t, d.got[0].authorization, "outside of /console a cookie is nothing")
}

func TestCSRF(t *testing.T) {
	d := newDesk(t, nil)
	cookie, token := d.signIn()
	_, other := d.signIn()
	d.got = nil
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for name, wrong := range map[string]string{"none": "", "another session's": other, "cut short": token[:5]} {
			require.Equal(t, 403, d.do(method, "/console/api/reviews/txn_1", "{}", with(cookie, wrong)).StatusCode, "%s %s", method, name)
		}
		require.Equal(t, 200, d.do(method, "/console/api/reviews/txn_1", "{}", with(cookie, token)).StatusCode, method)
	}
	require.Len(t, d.got, 4, "nothing refused reached the API")
	answer := d.do("POST", "/console/api/reviews/txn_1", "{}", func(r *http.Request) {
		with(cookie, token)(r)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	})
	require.Equal(t, 403, answer.StatusCode)
	require.Equal(t, 403, d.do("DELETE", "/console/session", "", with(cookie, other)).StatusCode, "nobody else signs her out")
	answer = d.do("DELETE", "/console/session", "", with(cookie, token))
	require.Equal(t, 200, answer.StatusCode)
	require.Negative(t, answer.Cookies()[0].MaxAge)
}

// A page whose person is not the one that the browser's cookie names reads nothing: another person
// signed in in another tab.
func TestAnotherPersonsPage(t *testing.T) {
	d := newDesk(t, nil)
	_, mine := d.signIn()
	cookie, token := d.signIn()
	d.got = nil
	answer := d.do("GET", "/console/api/queue", "", with(cookie, mine))
	require.Equal(t, 403, answer.StatusCode)
	require.Equal(t, "other-session", answer.Header.Get(otherHeader))
	require.Empty(t, answer.Cookies(), "the other person stays signed in")
	require.Empty(t, d.got)
	require.Equal(t, 200, d.do("GET", "/console/api/queue", "", with(cookie, token)).StatusCode)
}

// After the sign-out a copy of the cookie neither reads nor writes, and another session of the same
// key is over too. A new sign-in works.
func TestSignOutEndsTheSession(t *testing.T) {
	d := newDesk(t, nil)
	cookie, token := d.signIn()
	other, otherToken := d.signIn()
	require.Equal(t, 200, d.do("GET", "/console/api/queue", "", with(cookie, "")).StatusCode)
	require.Equal(t, 200, d.do("DELETE", "/console/session", "", with(cookie, token)).StatusCode)
	for _, stolen := range []struct {
		cookie *http.Cookie
		token  string
	}{{cookie, token}, {other, otherToken}} {
		require.Equal(t, 401, d.do("GET", "/console/api/queue", "", with(stolen.cookie, "")).StatusCode)
		require.Equal(t, 401, d.do("POST", "/console/api/reviews/txn_1", "{}", with(stolen.cookie, stolen.token)).StatusCode)
		answer, err := io.ReadAll(d.do("GET", "/console/session", "", with(stolen.cookie, "")).Body)
		require.NoError(t, err)
		require.Contains(t, string(answer), `"signedIn":false`)
	}
	again, _ := d.signIn()
	require.Equal(t, 200, d.do("GET", "/console/api/queue", "", with(again, "")).StatusCode)
}

func TestIdle(t *testing.T) {
	d := newDesk(t, nil)
	cookie, token := d.signIn()
	begun := d.at
	d.at = begun.Add(29 * time.Second)
	require.Empty(t, d.do("GET", "/console/api/queue", "", with(cookie, "")).Cookies(), "not sealed anew for every call")
	d.at = begun.Add(10 * time.Minute)
	answer := d.do("GET", "/console/api/queue", "", func(r *http.Request) {
		with(cookie, "")(r)
		r.Header.Set(pollHeader, "1")
	})
	require.Equal(t, 200, answer.StatusCode)
	require.Empty(t, answer.Cookies(), "a page that asks by itself is no sign of life")
	renewed := d.do("GET", "/console/api/queue", "", with(cookie, "")).Cookies()
	require.Len(t, renewed, 1)

	d.at = begun.Add(15*time.Minute - time.Second)
	require.Equal(t, 200, d.do("GET", "/console/api/queue", "", with(cookie, "")).StatusCode)
	d.at = begun.Add(15 * time.Minute)
	answer = d.do("GET", "/console/api/queue", "", with(cookie, ""))
	require.Equal(t, 401, answer.StatusCode)
	require.Negative(t, answer.Cookies()[0].MaxAge)
	answer = d.do("POST", "/console/api/x", "{}", with(renewed[0], token))
	require.Equal(t, 200, answer.StatusCode, "a person called five minutes ago")
	renewed = answer.Cookies()

	// Who types and asks for nothing is here too: the page says so, and nobody else can.
	d.at = d.at.Add(14 * time.Minute)
	require.Equal(t, 403, d.do("PUT", "/console/session", "", with(renewed[0], "")).StatusCode)
	answer = d.do("PUT", "/console/session", "", with(renewed[0], token))
	require.Equal(t, 204, answer.StatusCode)
	renewed = answer.Cookies()
	d.at = d.at.Add(14 * time.Minute)
	answer = d.do("GET", "/console/api/queue", "", with(renewed[0], ""))
	require.Equal(t, 200, answer.StatusCode)
	renewed = answer.Cookies()

	for d.at.Before(begun.Add(12*time.Hour - 10*time.Minute)) {
		d.at = d.at.Add(10 * time.Minute)
		answer = d.do("GET", "/console/api/queue", "", with(renewed[0], ""))
		require.Equal(t, 200, answer.StatusCode)
		renewed = answer.Cookies()
	}
	d.at = begun.Add(12 * time.Hour)
	require.Equal(t, 401, d.do("GET", "/console/api/queue", "", with(renewed[0], "")).StatusCode, "no session lasts longer than twelve hours")
}

func TestForgedCookies(t *testing.T) {
	d := newDesk(t, nil)
	cookie, _ := d.signIn()
	elsewhere, _ := newDesk(t, func(c *Config) { c.Secrets = seal.NewSecrets([]byte("fedcba9876543210")) }).signIn()
	changed := *cookie
	changed.Value = "AAAA" + cookie.Value[4:]
	long := *cookie
	long.Value = strings.Repeat("A", cookieMax+1)
	for name, forged := range map[string]*http.Cookie{"another cluster's": elsewhere, "changed": &changed, "long": &long, "plain": {Name: cookieName, Value: goodKey}} {
		require.Equal(t, 401, d.do("GET", "/console/api/queue", "", with(forged, "")).StatusCode, name)
	}
	answer := d.do("GET", "/console/api/queue", "", func(r *http.Request) { r.AddCookie(cookie); r.AddCookie(elsewhere) })
	require.Equal(t, 401, answer.StatusCode, "two cookies of one name: somebody planted one")

	future, _ := d.signIn()
	d.at = d.at.Add(-clockSpread - time.Second)
	require.Equal(t, 401, d.do("GET", "/console/api/queue", "", with(future, "")).StatusCode, "sealed by a clock that is far ahead")
}

// TestAnyNode: a node can open a cookie that another node of its cluster sealed.
func TestAnyNode(t *testing.T) {
	cookie, token := newDesk(t, nil).signIn()
	require.Equal(t, 200, newDesk(t, nil).do("POST", "/console/api/x", "{}", with(cookie, token)).StatusCode)
}

// TestUpload: list files from a session's own page reach the upload listener unchanged.
// Uploads from anywhere else are refused.
func TestUpload(t *testing.T) {
	var got []seen
	takes := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, seen{r.Method, r.URL.Path, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Cookie"), string(body), r.Header, false})
	})
	d := newDesk(t, func(c *Config) { c.Uploads = takes })
	cookie, token := d.signIn()
	bytes := func(r *http.Request) { r.Header.Set("Content-Type", "application/octet-stream") }
	for name, c := range map[string]struct {
		status int
		method string
		more   func(*http.Request)
	}{
		"read":         {405, "GET", with(cookie, token)},
		"no session":   {401, "POST", bytes},
		"no token":     {403, "POST", func(r *http.Request) { with(cookie, "")(r); bytes(r) }},
		"a form's":     {415, "POST", func(r *http.Request) { with(cookie, token)(r); r.Header.Set("Content-Type", "text/plain") }},
		"another site": {403, "POST", func(r *http.Request) { with(cookie, token)(r); bytes(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }},
	} {
		require.Equal(t, c.status, d.do(c.method, "/console/upload?name=sdn.csv", "x", c.more).StatusCode, name)
	}
	require.Empty(t, got)
	require.Equal(t, 200, d.do("POST", "/console/upload?name=sdn.csv", "the file", func(r *http.Request) { with(cookie, token)(r); bytes(r) }).StatusCode)
	require.Len(t, got, 1)
	require.Equal(t, "POST /v1/ofac/snapshots?name=sdn.csv", got[0].method+" "+got[0].uri)
	require.Equal(t, "Bearer "+goodKey, got[0].authorization)
	require.Empty(t, got[0].cookie)
	require.Equal(t, "the file", got[0].body)

	none := newDesk(t, nil)
	cookie, token = none.signIn()
	require.Equal(t, 404, none.do("POST", "/console/upload", "x", func(r *http.Request) { with(cookie, token)(r); bytes(r) }).StatusCode, "where it is switched off")
}

func TestHeaders(t *testing.T) {
	d := newDesk(t, nil)
	for path, status := range map[string]int{
		"/console": 308, "/console/": 200, "/console/queue": 200, "/console/case/txn_1": 200, "/console/web/app.js": 200, "/console/web/none.js": 404,
		"/console/session": 200, "/console/api/queue": 401,
	} {
		answer := d.do("GET", path, "", nil)
		require.Equal(t, status, answer.StatusCode, path)
		csp := answer.Header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'", path)
		require.Contains(t, csp, "require-trusted-types-for 'script'", path)
		require.NotContains(t, csp, "unsafe", path)
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"), path)
		require.Contains(t, csp, "frame-ancestors 'none'", path)
		require.Equal(t, "same-origin", answer.Header.Get("Cross-Origin-Opener-Policy"), path)
		require.Equal(t, "same-origin", answer.Header.Get("Cross-Origin-Resource-Policy"), path)
	}
	require.Empty(t, d.do("GET", "/v1/health", "", nil).Header.Get("Content-Security-Policy"))
	require.Equal(t, 401, d.do("GET", "/consolation", "", nil).StatusCode, "not ours: the API answers")
	require.Equal(t, 405, d.do("POST", "/console/queue", "", nil).StatusCode)
	tag := d.do("GET", "/console/", "", nil).Header.Get("ETag")
	require.Equal(t, 304, d.do("GET", "/console/", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) }).StatusCode)
	require.Equal(t, "no-store", d.do("GET", "/console/session", "", nil).Header.Get("Cache-Control"))
}

// TestDefaultThreshold: the threshold that the page shows is the default of package ofac.
func TestDefaultThreshold(t *testing.T) {
	shown := fmt.Sprintf("const reviewDefault = %g;", float64(ofac.ReviewDefault)/10000)
	require.Contains(t, string(newDesk(t, nil).c.files["/web/words.js"].data), shown)
}

// TestPagesNeedNothingElse: no file names another origin, has an inline script or style, or
// turns text into markup.
func TestPagesNeedNothingElse(t *testing.T) {
	d := newDesk(t, nil)
	require.Greater(t, len(d.c.files), 10)
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|javascript:|style=|onclick="|import\(`)
	origin := regexp.MustCompile(`https?://[^\s'"]+`)
	for name, f := range d.c.files {
		require.Empty(t, banned.FindString(string(f.data)), name)
		for _, address := range origin.FindAllString(string(f.data), -1) {
			require.Equal(t, "http://www.w3.org/2000/svg", address, name)
		}
	}
	page := string(d.c.index.data)
	require.NotContains(t, regexp.MustCompile(`<script[^>]*>`).ReplaceAllString(page, ""), "<style")
	require.Regexp(t, `<script type="module" src="/console/web/app.js"></script>`, page)
}

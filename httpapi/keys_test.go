package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/border"
)

func TestRateLimit(t *testing.T) {
	n := newTestNode(t)
	slow := testKey("slow")
	slow.Rate = 1
	n.addKey(slow, testSecret("slow"))
	for range 2 * border.BurstFactor {
		w := n.do("slow", "GET", "/v1/audit/txn_00000000", "")
		if w.Code == http.StatusTooManyRequests {
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			require.Equal(t, `"key";q=1;w=1`, w.Header().Get("RateLimit-Policy"))
			require.Equal(t, `"key";r=0;t=1`, w.Header().Get("RateLimit"))
			require.Contains(t, w.Body.String(), `"rate_limited"`)
			return
		}
	}
	require.Fail(t, "never limited")
}

func TestRegistrationRate(t *testing.T) {
	n := newTestNode(t)
	limited := false
	for range border.RegistrationBurst + border.RegistrationBurst/2 {
		if n.do("operator", "POST", "/v1/agents/register", "{}").Code == http.StatusTooManyRequests {
			limited = true
			break
		}
	}
	require.True(t, limited)
	require.NotEqual(t, http.StatusTooManyRequests, n.do("operator", "GET", "/v1/agents", "").Code, "only registrations are")
}

// A call is charged by its cost: a list ten units, a large body by its blocks, a forged
// token ten, and none more than a burst.
func TestCallsAreChargedByCost(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	forged := token[:len(token)-8] + "AAAAAAAA"
	left := func(name string, call func(key string)) int {
		slow := testKey(name)
		slow.Rate = 100
		n.addKey(slow, testSecret(name))
		began := time.Now() // TokensAt of this time does not count the tokens that come back meanwhile.
		call(name)
		return int(n.api.KeysNow().ByID[slow.ID].Calls.TokensAt(began))
	}
	screen := func(token, extra string) func(string) {
		return func(key string) {
			require.Equal(t, 200, n.do(key, "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+extra+`}`).Code)
		}
	}
	const burst = 100 * border.BurstFactor
	require.InDelta(t, burst-1, left("plain", screen(token, "")), 1)
	require.InDelta(t, burst-border.CostForged, left("forger", screen(forged, "")), 1)
	require.InDelta(t, burst-3, left("large", screen(token, `,"protocol":"x"`+strings.Repeat(" ", 2*border.BodyBlock))), 1)
	require.InDelta(t, burst-border.Charges[border.KindPage].Cost, left("lister", func(key string) { n.do(key, "GET", "/v1/agents", "") }), 1)
	dear := `,"cpName":"` + strings.Repeat("s a l b c x z ", 36) + `"`
	first := left("dear", screen(token, dear))
	require.Less(t, first, burst-15, "a name costs what it takes")
	require.Greater(t, first, burst-120)
	again := 0
	for i := 0; i < 20 && again < burst-2; i++ { // A pool may give up any memory; under the race detector it does so at random.
		again = left(fmt.Sprint("again-", i), screen(token, dear))
	}
	require.InDelta(t, burst-1, again, 1, "a remembered answer costs nothing")
	batch := `{"payments":[`
	for _, letters := range []string{"b c d f g h i ", "q r s t u v w ", "k l m n o p a "} {
		batch += `{"token":"` + token + `","amount":1,"cpName":"` + strings.Repeat(letters, 36) + `"},`
	}
	require.Less(t, left("batch", func(key string) {
		require.Equal(t, 200, n.do(key, "POST", "/v1/screen/batch", strings.TrimSuffix(batch, ",")+"]}").Code)
	}), burst-3*15, "each payment of a batch")
	asked := "/v1/match?name=" + strings.Repeat("w+q+y+t+", 60)
	require.Less(t, left("asker", func(key string) { require.Equal(t, 200, n.do(key, "GET", asked, "").Code) }), burst-border.Charges[border.KindNames].Cost-10)
	require.Less(t, left("exporter", func(key string) { n.do(key, "GET", "/v1/audit/export", "") }), burst-border.Charges[border.KindExport].Cost)

	tiny := testKey("tiny")
	tiny.Rate = 1
	n.addKey(tiny, testSecret("tiny"))
	require.Equal(t, 200, n.do("tiny", "GET", "/v1/agents", "").Code, "a dear call is good for a slow key, too")
	require.Equal(t, 429, n.do("tiny", "GET", "/v1/agents", "").Code)
}

// A key may spend a tenth of its rate on names beyond what its calls cost. Then it is 429 wherever
// names are judged, until the debt is paid; what judges no names is answered, and so are other keys.
func TestDearNamesHaveAShareOfTheRate(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for _, name := range []string{"dear", "other"} {
		key := testKey(name)
		key.Rate = 1000
		n.addKey(key, testSecret(name))
	}
	const alphabet = "b c d e f g h i k l m n o p q r s t u v w x y z "
	var limited *httptest.ResponseRecorder
	for i := 0; i < 15 && limited == nil; i++ { // All together count less than the burst of the rate.
		letters := alphabet[2*i : 2*i+14]
		w := n.do("dear", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"`+strings.Repeat(letters, 36)+`"}`)
		if w.Code == http.StatusTooManyRequests {
			limited = w
		}
	}
	require.NotNil(t, limited, "never limited")
	require.Equal(t, "1", limited.Header().Get("Retry-After"))
	require.Equal(t, `"key";q=100;w=1`, limited.Header().Get("RateLimit-Policy"))
	require.Contains(t, limited.Body.String(), `"rate_limited"`)
	n.api.KeysNow().ByID[testKey("dear").ID].Names.Charge(1000) // Lest the debt is paid before the next line.
	plain := `{"token":"` + token + `","amount":1,"cpName":"Maria Delgado"}`
	require.Equal(t, 429, n.do("dear", "POST", "/v1/screen", plain).Code)
	require.Equal(t, 429, n.do("dear", "GET", "/v1/match?name=Maria", "").Code)
	require.NotEqual(t, 429, n.do("dear", "GET", "/v1/audit/txn_00000000", "").Code)
	require.NotEqual(t, 429, n.do("dear", "POST", "/v1/reviews/txn_00000000", "{}").Code, "an officer is not kept waiting")
	require.Equal(t, 200, n.do("other", "POST", "/v1/screen", plain).Code)
}

// If a hop cannot be read, the caller has no address. Otherwise everybody behind the proxies
// could use a key that is only for the proxies' network.
func TestUnreadableHopIsNoAddress(t *testing.T) {
	n := newTestNode(t)
	bound := testKey("bound")
	bound.Networks = []string{"10.0.0.0/8"}
	n.addKey(bound, testSecret("bound"))
	n.api = n.another(func(d *Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	call := func(forwarded string) int {
		r := httptest.NewRequest("GET", "/v1/agents", nil)
		r.RemoteAddr = "10.0.0.1:4711"
		r.Header.Set("Authorization", "Bearer "+testSecret("bound"))
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, call("10.0.0.7"))
	require.Equal(t, 401, call("198.51.100.1"))
	require.Equal(t, 401, call("unknown"))
	require.Equal(t, 401, call("198.51.100.1:4711"))
}

// Log time stands still on a node that is cut off; its keys expire nevertheless.
func TestKeysExpireOnACutOffNode(t *testing.T) {
	n := newTestNode(t)
	short := testKey("short")
	short.ExpiresAt = n.LogTime() + engine.Minute
	n.addKey(short, testSecret("short"))
	wall := time.Unix(0, int64(n.LogTime()))
	n.api = n.another(func(d *Deps) { d.Now = func() time.Time { return wall } })
	require.Equal(t, 200, n.do("short", "GET", "/v1/agents", "").Code)
	wall = wall.Add(time.Minute)
	require.Equal(t, 401, n.do("short", "GET", "/v1/agents", "").Code)
	wall = wall.Add(-time.Hour)
	require.Equal(t, 200, n.do("short", "GET", "/v1/agents", "").Code, "a clock that is behind does not matter")
	n.advance(engine.Minute)
	require.Equal(t, 401, n.do("short", "GET", "/v1/agents", "").Code)
}

// Whoever does not know what became of a revocation asks again, and reads the same answer.
func TestRevokingARevokedKey(t *testing.T) {
	n := newTestNode(t)
	made := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"k","roles":"ops"}`), 201)
	path := "/admin/keys/" + textOf(made, "keyId")
	first := n.doAdmin("DELETE", path, "")
	require.Equal(t, 200, first.Code)
	require.NotEmpty(t, textOf(answer(t, first, 200), "eventId"))
	n.advance(engine.Hour)
	size := n.store.Size()
	again := n.doAdmin("DELETE", path, "")
	require.Equal(t, 200, again.Code, again.Body)
	require.Equal(t, first.Body.String(), again.Body.String())
	require.Equal(t, size, n.store.Size(), "and leaves no trace of a change")
	require.Equal(t, 409, n.doAdmin("POST", path+"/rotate", `{}`).Code, "what would change it is refused as before")
	require.Equal(t, 404, n.doAdmin("DELETE", "/admin/keys/key_nobody", "").Code)
	n.advance(engine.Retention + 2*engine.DayLength)
	v := answer(t, n.doAdmin("DELETE", path, ""), 200)
	require.NotEmpty(t, textOf(v, "revokedAt"))
}

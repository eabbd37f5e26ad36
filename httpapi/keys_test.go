package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

func TestKeyTable(t *testing.T) {
	hash := func(secret string) []byte { return seal.HashAPISecret(secret) }
	table := newKeyTable([]*wire.APIKey{
		{ID: "plain", Hashes: [][]byte{hash("s-new"), hash("s-old")}},
		{ID: "expiring", Hashes: [][]byte{hash("s-exp")}, Roles: wire.RoleScreener, ExpiresAt: 100},
		{ID: "revoked", Hashes: [][]byte{hash("s-rev")}, RevokedAt: 50},
		{ID: "office", Hashes: [][]byte{hash("s-net")}, Networks: []string{"10.0.0.0/8", "2001:db8::1"}},
		{ID: "typo", Hashes: [][]byte{hash("s-typo")}, Networks: []string{"10.0.0.0/99"}},
	}, nil)
	from := netip.MustParseAddr("10.1.2.3")
	for name, c := range map[string]struct {
		secret string
		now    engine.Time
		from   netip.Addr
		want   string
	}{
		"newest secret":       {"s-new", 1, from, "plain"},
		"older secret":        {"s-old", 1, from, "plain"},
		"unknown":             {"s-none", 1, from, ""},
		"nothing":             {"", 1, from, ""},
		"hash is no secret":   {string(hash("s-new")), 1, from, ""},
		"before its expiry":   {"s-exp", 99, from, "expiring"},
		"at its expiry":       {"s-exp", 100, from, ""},
		"revoked":             {"s-rev", 1, from, ""},
		"inside the network":  {"s-net", 1, from, "office"},
		"mapped address":      {"s-net", 1, netip.MustParseAddr("::ffff:10.1.2.3"), "office"},
		"single address":      {"s-net", 1, netip.MustParseAddr("2001:db8::1"), "office"},
		"outside the network": {"s-net", 1, netip.MustParseAddr("11.0.0.1"), ""},
		"no address":          {"s-net", 1, netip.Addr{}, ""},
		"unreadable network":  {"s-typo", 1, from, ""},
	} {
		t.Run(name, func(t *testing.T) {
			key := table.find(c.secret, c.now, c.from)
			if c.want == "" {
				require.Nil(t, key)
				return
			}
			require.Equal(t, c.want, key.ID)
		})
	}
	require.True(t, table.byID["plain"].May(wire.RolePolicy), "a key without roles is admin")
	require.False(t, table.byID["expiring"].May(wire.RolePolicy))
}

func TestKeyTableKeepsLimiters(t *testing.T) {
	key := &wire.APIKey{ID: "a", Hashes: [][]byte{seal.HashAPISecret("s")}, Rate: 5}
	first := newKeyTable([]*wire.APIKey{key}, nil)
	require.Same(t, first.byID["a"].calls, newKeyTable([]*wire.APIKey{key, {ID: "b"}}, first).byID["a"].calls)
	faster := &wire.APIKey{ID: "a", Hashes: key.Hashes, Rate: 6}
	require.NotSame(t, first.byID["a"].calls, newKeyTable([]*wire.APIKey{faster}, first).byID["a"].calls)
	off := newKeyTable([]*wire.APIKey{{ID: "a", Hashes: key.Hashes, Rate: -1}}, first)
	require.Nil(t, off.byID["a"].calls)
}

func TestRateLimit(t *testing.T) {
	n := newTestNode(t)
	slow := testKey("slow")
	slow.Rate = 1
	n.addKey(slow, testSecret("slow"))
	for range 2 * burstFactor {
		w := n.do("slow", "GET", "/v1/audit/txn_00000000", "")
		if w.Code == http.StatusTooManyRequests {
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			require.Equal(t, "1", w.Header().Get("RateLimit-Limit"))
			require.Equal(t, "0", w.Header().Get("RateLimit-Remaining"))
			require.Equal(t, "1", w.Header().Get("RateLimit-Reset"))
			require.Contains(t, w.Body.String(), `"rate_limited"`)
			return
		}
	}
	require.Fail(t, "never limited")
}

func TestRegistrationRate(t *testing.T) {
	n := newTestNode(t)
	limited := false
	for range registrationBurst + registrationBurst/2 {
		if n.do("operator", "POST", "/v1/agents/register", "{}").Code == http.StatusTooManyRequests {
			limited = true
			break
		}
	}
	require.True(t, limited)
	require.NotEqual(t, http.StatusTooManyRequests, n.do("operator", "GET", "/v1/agents", "").Code, "only registrations are")
}

// A call counts what it costs: a list ten times, a large body by its blocks, a
// forged token ten times, and none more than a burst.
func TestCallsAreChargedByCost(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	forged := token[:len(token)-8] + "AAAAAAAA"
	left := func(name string, call func(key string)) int {
		slow := testKey(name)
		slow.Rate = 100
		n.addKey(slow, testSecret(name))
		began := time.Now() // What comes back while the call lasts is not asked.
		call(name)
		return int(n.api.keysNow().byID[slow.ID].calls.TokensAt(began))
	}
	screen := func(token, extra string) func(string) {
		return func(key string) {
			require.Equal(t, 200, n.do(key, "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+extra+`}`).Code)
		}
	}
	const burst = 100 * burstFactor
	require.InDelta(t, burst-1, left("plain", screen(token, "")), 1)
	require.InDelta(t, burst-costForged, left("forger", screen(forged, "")), 1)
	require.InDelta(t, burst-3, left("large", screen(token, `,"protocol":"x"`+strings.Repeat(" ", 2*bodyBlock))), 1)
	require.InDelta(t, burst-charges[kindPage].cost, left("lister", func(key string) { n.do(key, "GET", "/v1/agents", "") }), 1)
	require.Less(t, left("exporter", func(key string) { n.do(key, "GET", "/v1/audit/export", "") }), burst-charges[kindExport].cost)

	tiny := testKey("tiny")
	tiny.Rate = 1
	n.addKey(tiny, testSecret("tiny"))
	require.Equal(t, 200, n.do("tiny", "GET", "/v1/agents", "").Code, "a dear call is good for a slow key, too")
	require.Equal(t, 429, n.do("tiny", "GET", "/v1/agents", "").Code)
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer abc":     "abc",
		"bearer abc":     "abc",
		"BEARER    abc":  "abc",
		"Bearer":         "",
		"Bearer ":        "",
		"abc":            "",
		"Basic abc":      "",
		"Bearer a b":     "",
		"Bearer a\tb":    "",
		"Bearer caf\xe9": "",
	} {
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		require.Equal(t, want, bearer(r), header)
	}
	require.Empty(t, bearer(&http.Request{Header: http.Header{"Authorization": {"Bearer a", "Bearer b"}}}))
}

func TestClientAddress(t *testing.T) {
	a := &API{deps: Deps{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for name, c := range map[string]struct {
		remote, forwarded, want string
	}{
		"direct":                   {"203.0.113.9:4711", "", "203.0.113.9"},
		"direct, forged header":    {"203.0.113.9:4711", "198.51.100.1", "203.0.113.9"},
		"behind a proxy":           {"10.0.0.1:4711", "198.51.100.1", "198.51.100.1"},
		"behind two":               {"10.0.0.1:4711", "198.51.100.1, 10.0.0.2", "198.51.100.1"},
		"forged in front of ours":  {"10.0.0.1:4711", "192.0.2.1, 198.51.100.1", "198.51.100.1"},
		"unreadable":               {"10.0.0.1:4711", "198.51.100.1, junk", "invalid IP"},
		"unreadable, in front":     {"10.0.0.1:4711", "junk, 198.51.100.1", "198.51.100.1"},
		"unreadable behind ours":   {"10.0.0.1:4711", "198.51.100.1:80, 10.0.0.2", "invalid IP"},
		"empty":                    {"10.0.0.1:4711", ", 10.0.0.2", "invalid IP"},
		"proxy without the header": {"10.0.0.1:4711", "", "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.remote
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			require.Equal(t, c.want, a.clientAddress(r).String())
		})
	}
}

// A hop that cannot be read is no address: a key for the proxies' network is not
// open to everybody behind them.
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

// Log time stands still on a node that is cut off; its keys expire all the same.
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

func TestRoles(t *testing.T) {
	for i, name := range roleNames {
		require.Equal(t, uint8(1<<i), parseRole(name), strconv.Itoa(i))
		require.Equal(t, []string{name}, roleList(1<<i))
	}
	require.Zero(t, parseRole("root"))
	require.Equal(t, wire.RoleAdmin, parseRole("admin"))
}

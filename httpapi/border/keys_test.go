package border

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

func TestKeyTable(t *testing.T) {
	hash := func(secret string) []byte { return seal.HashAPISecret(secret) }
	table := newKeyTable([]*wire.APIKey{
		{ID: "plain", Hashes: [][]byte{hash("s-new"), hash("s-old")}, OldUntil: 10},
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
		"older secret":        {"s-old", 9, from, "plain"},
		"older secret's end":  {"s-old", 10, from, ""},
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
			key := table.Find(c.secret, c.now, c.from)
			if c.want == "" {
				require.Nil(t, key)
				return
			}
			require.Equal(t, c.want, key.ID)
		})
	}
	require.False(t, table.ByID["plain"].May(AnyRole), "a key without roles may nothing")
	require.False(t, table.ByID["expiring"].May(wire.RolePolicy))
}

func TestKeyTableKeepsLimiters(t *testing.T) {
	key := &wire.APIKey{ID: "a", Hashes: [][]byte{seal.HashAPISecret("s")}, Rate: 5}
	first := newKeyTable([]*wire.APIKey{key}, nil)
	require.Same(t, first.ByID["a"].Calls, newKeyTable([]*wire.APIKey{key, {ID: "b"}}, first).ByID["a"].Calls)
	faster := &wire.APIKey{ID: "a", Hashes: key.Hashes, Rate: 6}
	require.NotSame(t, first.ByID["a"].Calls, newKeyTable([]*wire.APIKey{faster}, first).ByID["a"].Calls)
	off := newKeyTable([]*wire.APIKey{{ID: "a", Hashes: key.Hashes, Rate: -1}}, first)
	require.Nil(t, off.ByID["a"].Calls)
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
		require.Equal(t, want, bearerSecret(r), header)
	}
	require.Empty(t, bearerSecret(&http.Request{Header: http.Header{"Authorization": {"Bearer a", "Bearer b"}}}))
}

func TestClientAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
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
			require.Equal(t, c.want, clientOf(r, proxies).String())
		})
	}
}

package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/guest"
	"railguard/strictjson"
)

// apiKey is one API key as this node uses it.
type apiKey struct {
	edge.Caller
	networks []netip.Prefix
	expires  engine.Time
	strict   bool          // Unknown members of its screening calls are errors.
	limit    int           // Calls a second; for RateLimit-Limit.
	calls    *rate.Limiter // nil: no limit.
	creates  *rate.Limiter // Registrations; nil: no limit.
	use      *keyUse       // Of calls, by cost.
	creating *keyUse       // Of registrations.
}

// keyTable is the immutable table of all live secrets, by their SHA-256.
type keyTable struct {
	source []*wire.APIKey
	byHash map[[32]byte]*apiKey
	byID   map[string]*apiKey
}

// newKeyTable builds the table. Limiters are taken over from before, so that a
// change of one key does not give every other a fresh burst.
func newKeyTable(keys []*wire.APIKey, before *keyTable) *keyTable {
	t := &keyTable{source: keys, byHash: make(map[[32]byte]*apiKey), byID: make(map[string]*apiKey)}
	for i, key := range keys {
		if key.RevokedAt != 0 {
			continue
		}
		entry := &apiKey{
			Caller: edge.Caller{
				ID: key.ID, Name: key.Name, Roles: key.Roles, Operator: key.Operator,
				Key: wire.KeyRef{Row: uint32(i) + 1, Rev: key.Rev},
			},
			expires: key.ExpiresAt, strict: key.Strict, use: new(keyUse), creating: new(keyUse),
		}
		if entry.Roles == 0 {
			entry.Roles = wire.RoleAdmin // A key without roles is admin of its tenant.
		}
		entry.networks = parseNetworks(key.Networks)
		entry.setLimits(key.Rate, before)
		t.byID[key.ID] = entry
		for _, hash := range key.Hashes {
			if len(hash) == sha256.Size {
				t.byHash[[32]byte(hash)] = entry
			}
		}
	}
	return t
}

// heldKeys is the table that belongs to one Settings value.
type heldKeys struct {
	settings *fsm.Settings
	table    *keyTable
}

// keysNow is the table of the settings of this moment.
func (a *API) keysNow() *keyTable {
	settings := a.deps.Published.Settings()
	if held := a.keys.Load(); held != nil && held.settings == settings {
		return held.table
	}
	a.keysMutex.Lock()
	defer a.keysMutex.Unlock()
	var before *keyTable
	if held := a.keys.Load(); held != nil {
		if before = held.table; held.settings == settings || held.settings.Index > settings.Index {
			return before
		}
	}
	next := before
	if before == nil || !slices.Equal(before.source, settings.Keys) {
		next = newKeyTable(settings.Keys, before)
	}
	a.keys.Store(&heldKeys{settings: settings, table: next})
	return next
}

func (k *apiKey) setLimits(perSecond int32, before *keyTable) {
	if perSecond < 0 {
		return
	}
	k.limit = int(perSecond)
	if perSecond == 0 {
		k.limit = rateDefault
	}
	if before != nil {
		if old := before.byID[k.ID]; old != nil && old.limit == k.limit && old.calls != nil {
			k.calls, k.creates, k.use, k.creating = old.calls, old.creates, old.use, old.creating
			return
		}
	}
	k.calls = rate.NewLimiter(rate.Limit(k.limit), burstFactor*k.limit)
	k.creates = rate.NewLimiter(registrationRate, registrationBurst)
}

// parseNetworks reads CIDRs or single addresses. One that cannot be read admits
// nobody: a typo must not open a key to the world.
func parseNetworks(texts []string) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil {
				networks = append(networks, netip.Prefix{})
				continue
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		networks = append(networks, prefix.Masked())
	}
	return networks
}

// nobody stands in for an unknown key, so that every failure does the same work.
var nobody = &apiKey{}

// find returns the key whose secret this is, or nil. A wrong secret, an expired
// key and a caller from a foreign network take the same path.
func (t *keyTable) find(secret string, now engine.Time, from netip.Addr) *apiKey {
	var room [engine.FieldMax]byte // No secret that bearer returns is longer.
	hash := sha256.Sum256(append(room[:0], secret...))
	key, known := t.byHash[hash]
	if !known {
		key = nobody
	}
	expired := subtle.ConstantTimeLessOrEq(boolToInt(key.expires != 0 && key.expires <= now), 0) == 0
	admitted := key.admits(from)
	if !known || expired || !admitted {
		return nil
	}
	return key
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k *apiKey) admits(from netip.Addr) bool {
	if len(k.networks) == 0 {
		return true
	}
	from = from.Unmap()
	for _, network := range k.networks {
		if network.IsValid() && network.Contains(from) {
			return true
		}
	}
	return false
}

// bearer returns the secret of an Authorization header; the scheme's case is
// free (RFC 9110, 11.1).
func bearer(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, rest, found := strings.Cut(values[0], " ")
	secret := strings.TrimLeft(rest, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || len(secret) > engine.FieldMax || !printable(secret) {
		return ""
	}
	return secret
}

// authenticate finds the caller's key, counts the call against its rate and
// checks its role and its scope: 401, 429, 403.
func (c *call) authenticate() error {
	keys, now := c.api.keysNow(), c.api.keyTime()
	key := keys.find(bearer(c.r), now, c.api.clientAddress(c.r))
	if c.route.admin {
		key = c.api.adminKey(bearer(c.r), key)
	}
	if key == nil {
		unauthorizedTotal.Inc()
		if err := c.api.keyless(c.r, 1); err != nil {
			return err
		}
		return unauthorized()
	}
	c.key, c.asked.Caller = key, &key.Caller
	cost := c.route.charge.cost + costOfBody(c.r.ContentLength) + guest.Cost(c.r.Context())
	if key.use != nil {
		key.use.asked.Add(int64(cost))
		if c.route.registers {
			key.creating.asked.Add(1)
		}
		c.api.divideRates(keys)
	}
	if err := c.takeTokens(key.calls, key.limit, cost); err != nil {
		return err
	}
	if !key.May(c.route.roles) {
		return forbidden(c.route.roles)
	}
	if err := c.admitScope(); err != nil {
		return err
	}
	if c.route.registers {
		return c.takeTokens(key.creates, registrationRate, 1)
	}
	return nil
}

// authenticateAgain looks the key up once more when the log knew it to have
// changed: the call goes on with the rights it has now, or ends.
func (c *call) authenticateAgain() error {
	key := c.api.keysNow().find(bearer(c.r), c.api.keyTime(), c.api.clientAddress(c.r))
	if key == nil {
		unauthorizedTotal.Inc()
		return unauthorized()
	}
	c.key, c.asked.Caller = key, &key.Caller
	if !key.May(c.route.roles) {
		return forbidden(c.route.roles)
	}
	return c.admitScope()
}

func unauthorized() *Error {
	return failure(http.StatusUnauthorized, "unauthorized", "a valid API key is required: Authorization: Bearer <key>")
}

// keyTime is what a key's expiry is held against. Log time stands still on a node
// that is cut off from the others; a key must expire there too, so the later of
// log time and this node's own clock counts.
func (a *API) keyTime() engine.Time {
	return max(a.deps.Published.LogTime(), engine.Time(a.deps.Now().UnixNano()))
}

// adminKey is who acts on the admin listener: the holder of the node's admin
// token, else an API key without an operator's scope.
func (a *API) adminKey(secret string, key *apiKey) *apiKey {
	token := a.deps.AdminToken
	given, want := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], want[:]) == 1 && token != "" {
		return &apiKey{Caller: edge.Caller{ID: "admin-token", Name: "admin token", Roles: wire.RoleAdmin}}
	}
	if key != nil && key.Operator != "" {
		return nil
	}
	return key
}

// keyless counts a call without a key against its address.
func (a *API) keyless(r *http.Request, cost int) error {
	if cost == 0 || a.addresses.Allow(a.clientAddress(r), cost, time.Now()) {
		return nil
	}
	rateLimitedTotal.Inc()
	return &Error{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Retry: 1,
		Message: "more than " + strconv.Itoa(keylessRate) + " calls a second without a key from this address",
	}
}

// takeTokens counts a call against a rate, of which this node may have a part. No
// call costs more than a burst: a slow key must be good for it some time.
func (c *call) takeTokens(limiter *rate.Limiter, whole, cost int) error {
	if limiter == nil || limiter.AllowN(time.Now(), min(cost, limiter.Burst())) {
		return nil
	}
	rateLimitedTotal.Inc()
	perSecond := float64(limiter.Limit())
	wait := 1
	if perSecond > 0 && perSecond < 1 {
		wait = int(1 / perSecond)
	}
	h := c.w.Header()
	h.Set("RateLimit-Limit", strconv.Itoa(whole))
	h.Set("RateLimit-Remaining", "0")
	h.Set("RateLimit-Reset", strconv.Itoa(wait))
	return &Error{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Retry: wait,
		Message: "more than " + strconv.Itoa(whole) + " calls a second with this key; a dear one counts as several",
	}
}

var roleNames = [...]string{"operator", "screener", "reviewer", "auditor", "policy", "ops", "admin"}

// roleList names the roles of a mask, in the order of decision 33, "Roles".
func roleList(roles uint8) []string {
	var names []string
	for i, name := range roleNames {
		if roles&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// showOwnKey is GET /v1/key: what the caller's key is and may do. What is shown of it is
// no secret to whoever holds it.
func showOwnKey(c *call) (Answer, error) {
	var m strictjson.Members
	m.Text("keyId", c.key.ID)
	m.Text("name", c.key.Name)
	m.Texts("roles", roleList(c.key.Roles))
	m.TextOrNull("operator", c.key.Operator)
	if c.key.expires == 0 {
		m.Null("expiresAt")
	} else {
		m.Time("expiresAt", c.key.expires)
	}
	return c.reply(http.StatusOK, m), nil
}

// parseRole returns the bit of a role's name, 0 for none.
func parseRole(name string) uint8 {
	for i, known := range roleNames {
		if name == known {
			return 1 << i
		}
	}
	return 0
}

func forbidden(roles uint8) *Error {
	needed := strings.Join(roleList(roles), "|")
	var extra strictjson.Members
	extra.Text("requiredRole", needed)
	return &Error{
		Status: http.StatusForbidden, Code: "forbidden", Message: "this key lacks the role " + needed,
		Details: []strictjson.Finding{{Message: "required role", Extra: extra}}, Extra: extra,
	}
}

// outOfScope is the 403 of a key whose operatorScope excludes the operator.
func outOfScope() *Error {
	return failure(http.StatusForbidden, "forbidden", "the operator is outside of this key's scope")
}

// clientAddress is who calls: the connection's address, or, when that is a
// trusted proxy's, the last X-Forwarded-For address that is not. A hop that cannot
// be read leaves no address: it must not pass for the proxy's own.
func (a *API) clientAddress(r *http.Request) netip.Addr { return clientOf(r, a.deps.TrustedProxies) }

// clientOf is clientAddress behind these proxies.
func clientOf(r *http.Request, proxies []netip.Prefix) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, _ := netip.ParseAddr(host)
	if !within(proxies, address) {
		return address
	}
	forwarded := r.Header["X-Forwarded-For"]
	if len(forwarded) == 0 {
		return address
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return netip.Addr{}
		}
		address = hop
		if !within(proxies, hop) {
			break
		}
	}
	return address
}

func within(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

package border

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/guest"
)

// Key is one API key as this node uses it.
type Key struct {
	edge.Caller
	networks []netip.Prefix
	Expires  engine.Time
	Sessions uint32        // The number that a session of this key carries; another number's has ended.
	Strict   bool          // Unknown members in its screening calls are errors.
	Limit    int           // Calls a second.
	Calls    *rate.Limiter // nil: no limit.
	creates  *rate.Limiter // Limits registrations; nil: no limit.
	Use      *keyUse       // Demand of calls, by cost.
	used     *atomic.Int64 // The hour in which it was used last on this node.
	creating *keyUse       // Demand of registrations.
	Names    *NameShare    // What it may spend on dear names; nil: no limit.
}

// KeyTable is the immutable table of all valid secrets, by their SHA-256.
type KeyTable struct {
	source []*wire.APIKey
	byHash map[[32]byte]*Key
	ByID   map[string]*Key
}

// newKeyTable builds the table. It keeps the limiters of the table before, so that changing
// one key does not give the others a fresh burst.
func newKeyTable(keys []*wire.APIKey, before *KeyTable) *KeyTable {
	t := &KeyTable{source: keys, byHash: make(map[[32]byte]*Key), ByID: make(map[string]*Key)}
	for i, key := range keys {
		if key.RevokedAt != 0 {
			continue
		}
		entry := &Key{
			Caller: edge.NewCaller(key, uint32(i)+1), Expires: key.ExpiresAt, Sessions: key.Sessions, Strict: key.Strict, Use: new(keyUse), creating: new(keyUse), used: new(atomic.Int64),
		}
		if before != nil && before.ByID[key.ID] != nil {
			entry.used = before.ByID[key.ID].used
		}
		entry.networks = parseNetworks(key.Networks)
		entry.setLimits(key.Rate, before)
		t.ByID[key.ID] = entry
		for n, hash := range key.Hashes {
			if len(hash) == sha256.Size {
				t.byHash[[32]byte(hash)] = entry
			}
			if n > 0 { // The secret before the last rotation, with an end of its own.
				older := *entry
				if older.Expires == 0 || key.OldUntil < older.Expires {
					older.Expires = max(key.OldUntil, 1)
				}
				t.byHash[[32]byte(hash)] = &older
			}
		}
	}
	return t
}

// heldKeys is the table of one Settings value.
type heldKeys struct {
	settings *fsm.Settings
	table    *KeyTable
}

// KeysNow returns the table of the current settings.
func (b *Border) KeysNow() *KeyTable {
	settings := b.deps.Published.Settings()
	if held := b.keys.Load(); held != nil && held.settings == settings {
		return held.table
	}
	b.keysMutex.Lock()
	defer b.keysMutex.Unlock()
	var before *KeyTable
	if held := b.keys.Load(); held != nil {
		if before = held.table; held.settings == settings || held.settings.Index > settings.Index {
			return before
		}
	}
	next := before
	if before == nil || !slices.Equal(before.source, settings.Keys) {
		next = newKeyTable(settings.Keys, before)
	}
	b.keys.Store(&heldKeys{settings: settings, table: next})
	return next
}

func (k *Key) setLimits(perSecond int32, before *KeyTable) {
	if perSecond < 0 {
		return
	}
	k.Limit = int(perSecond)
	if perSecond == 0 {
		k.Limit = edge.RateDefault
	}
	if before != nil {
		if old := before.ByID[k.ID]; old != nil && old.Limit == k.Limit && old.Calls != nil {
			k.Calls, k.creates, k.Use, k.creating, k.Names = old.Calls, old.creates, old.Use, old.creating, old.Names
			return
		}
	}
	k.Calls = rate.NewLimiter(rate.Limit(k.Limit), BurstFactor*k.Limit)
	k.creates = rate.NewLimiter(registrationRate, RegistrationBurst)
	k.Names = newNameShare(k.Limit)
}

// parseNetworks reads CIDRs and single addresses. A text that cannot be read admits nobody:
// a typo must not open a key to the world.
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
var nobody = &Key{}

// Find returns the key with this secret, or nil. A wrong secret, an expired key and a
// caller from a foreign network take the same code path.
func (t *KeyTable) Find(secret string, now engine.Time, from netip.Addr) *Key {
	var room [engine.FieldMax]byte // bearerSecret returns no longer secret.
	hash := sha256.Sum256(append(room[:0], secret...))
	key, known := t.byHash[hash]
	if !known {
		key = nobody
	}
	expired := subtle.ConstantTimeLessOrEq(boolToInt(key.Expires != 0 && key.Expires <= now), 0) == 0
	admitted := key.admitsAddress(from)
	if !known || expired || !admitted {
		return nil
	}
	return key
}

// noteUse keeps the hour of a use. The admin token is no key, and has no hour.
func (k *Key) noteUse(now engine.Time) {
	if hour := int64(hourOf(now)); k.used != nil && k.used.Load() < hour {
		k.used.Store(hour)
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k *Key) admitsAddress(from netip.Addr) bool {
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

// bearerSecret returns the secret of an Authorization header. The scheme's name is
// case-insensitive (RFC 9110, 11.1).
func bearerSecret(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, rest, found := strings.Cut(values[0], " ")
	secret := strings.TrimLeft(rest, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") || len(secret) > engine.FieldMax || !isPrintable(secret) {
		return ""
	}
	return secret
}

// authenticateKey finds the caller's key, counts the call against its rate and checks its role
// and its scope: 401, 429, 403. A refusal rests on this node's state, which may be older than the
// key: the leader is asked first, once.
func (c *Request) authenticateKey() error {
	if !c.findKey() {
		if err := c.refuseStranger(); err != nil {
			unauthorizedTotal.Inc()
			return err
		}
		if err := c.Judge.CatchUp(); err != nil {
			return unconfirmed(err)
		}
		if !c.findKey() {
			unauthorizedTotal.Inc()
			return newUnauthorized()
		}
	}
	key := c.Key
	key.noteUse(c.border.keyTime())
	cost := c.route.charge.Cost + costOfBody(c.r.ContentLength) + guest.Cost(c.r.Context())
	if key.Use != nil {
		key.Use.asked.Add(int64(cost))
		if c.route.Registers {
			key.creating.asked.Add(1)
		}
		c.border.divideRates(c.keys)
	}
	if err := c.takeTokens(key.Calls, key.Limit, cost); err != nil {
		return err
	}
	if err := c.admitNames(key); err != nil {
		return err
	}
	if c.admitRole() != nil {
		if err := c.Judge.CatchUp(); err != nil {
			return unconfirmed(err)
		}
		if err := c.AuthenticateAgain(); err != nil {
			return err
		}
	}
	if c.route.Registers {
		return c.takeTokens(key.creates, registrationRate, 1)
	}
	return nil
}

// lookKeyUp looks a caller's key up in a table; nil: there is none that is good.
func (b *Border) lookKeyUp(c *Request, keys *KeyTable) *Key {
	key := keys.Find(bearerSecret(c.r), b.keyTime(), b.ClientAddress(c.r))
	if c.route.admin {
		key = b.adminKey(bearerSecret(c.r), key)
	}
	if key == nil || c.isSessionOver(key) {
		return nil
	}
	return key
}

// keyStands tells whether a call's key is still good, and its person has no second look in hand. A call without a key has none that ends.
func (b *Border) keyStands(c *Request) bool {
	return c.Key == nil || b.lookKeyUp(c, b.KeysNow()) != nil && c.refuseLooker() == nil
}

// findKey looks the caller's key up in the current table.
func (c *Request) findKey() bool {
	keys := c.border.KeysNow()
	key := c.border.lookKeyUp(c, keys)
	if key == nil {
		return false
	}
	c.Key, c.keys, c.Asked.Caller = key, keys, &key.Caller
	if c.pacing.owner = key.Caller.Owner; c.pacing.owner == "" {
		c.pacing.owner = key.Caller.ID
	}
	return true
}

// admitRole checks the key's role and its scope.
func (c *Request) admitRole() error {
	roles := c.route.rolesOf(c.Key)
	if guest.ByGateway(c.r.Context()) {
		roles |= wire.RoleGateway // That room asks as little as this role may know.
	}
	if !c.Key.May(roles) {
		return Forbidden(roles)
	}
	return c.admitScope()
}

// refuseStranger counts a call whose key is missing or not good here. It returns nil if the leader
// may know better. An address that sends many wrong keys is turned away. A right key from the same
// address is answered all the same: strangers and customers may share the address of a balancer,
// and no stranger may lock customers out. A key has 28 random characters, and is not found by
// asking.
func (c *Request) refuseStranger() error {
	if err := c.border.countKeyless(c.r, 1); err != nil {
		return err
	}
	if bearerSecret(c.r) == "" {
		return newUnauthorized()
	}
	if c.border.WrongKeys.Allow(c.border.ClientAddress(c.r), 1, time.Now()) {
		return nil
	}
	rateLimitedTotal.Inc()
	return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Retry: 1, Message: "too many wrong keys from this address"}
}

// FromHouse reports whether a call of a public route comes from the institution: by a key of it,
// or on the admin listener. A wrong key makes a stranger.
func (c *Request) FromHouse() bool {
	if c.route.admin {
		return true
	}
	if c.r.Header.Get("Authorization") == "" {
		return false
	}
	key := c.border.KeysNow().Find(bearerSecret(c.r), c.border.keyTime(), c.border.ClientAddress(c.r))
	if key == nil {
		unauthorizedTotal.Inc()
		_ = c.refuseStranger() // It counts the wrong key; the call is answered as a stranger's.
		return false
	}
	key.noteUse(c.border.keyTime())
	return key.Institution()
}

// AuthenticateAgain looks the key up again after the log reported that it has changed. The
// call continues with the key's current rights, or ends.
func (c *Request) AuthenticateAgain() error {
	if !c.findKey() {
		unauthorizedTotal.Inc()
		return newUnauthorized()
	}
	return c.admitRole()
}

// isSessionOver tells whether the call comes from a session that was ended since it began.
func (c *Request) isSessionOver(key *Key) bool {
	number, given := guest.Session(c.r.Context())
	return given && number != key.Sessions
}

// rolesOf returns the roles that are enough for a key on this route.
func (r *Route) rolesOf(key *Key) uint16 {
	if !key.Institution() {
		return r.Roles | r.Outsiders
	}
	return r.Roles
}

func newUnauthorized() *Error {
	return NewError(http.StatusUnauthorized, "unauthorized", "a valid API key is required: Authorization: Bearer <key>")
}

// keyTime returns the time that a key's expiry is compared with. Log time stands still on a
// node that is cut off, and a key must expire there too: so it is the later of log time and
// this node's own clock.
func (b *Border) keyTime() engine.Time {
	return max(b.deps.Published.LogTime(), engine.Time(b.deps.Now().UnixNano()))
}

// AdminTokenID stands for the holder of a node's admin token among the ids of keys.
const AdminTokenID = "admin-token"

// adminKey returns the key that acts on the admin listener: the holder of the node's admin
// token, else an API key of the institution.
func (b *Border) adminKey(secret string, key *Key) *Key {
	token := b.deps.AdminToken
	given, want := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], want[:]) == 1 && token != "" {
		return &Key{Caller: edge.Caller{ID: AdminTokenID, Name: "admin token", Roles: wire.RoleAdmin}}
	}
	if key != nil && !key.Institution() {
		return nil
	}
	return key
}

// countKeyless counts a call without a key against its address.
func (b *Border) countKeyless(r *http.Request, cost int) error {
	if cost == 0 || b.Addresses.Allow(b.ClientAddress(r), cost, time.Now()) {
		return nil
	}
	rateLimitedTotal.Inc()
	return &Error{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Retry: 1,
		Message: "more than " + strconv.Itoa(keylessRate) + " calls a second without a key from this address",
	}
}

// takeTokens counts a call against a rate, of which this node may have a part. A call never
// takes more than one burst, so that a slow key can afford it at some time.
func (c *Request) takeTokens(limiter *rate.Limiter, whole, cost int) error {
	if limiter == nil {
		return nil
	}
	if limiter.AllowN(time.Now(), min(cost, limiter.Burst())) {
		if left := int(limiter.Tokens()); left < whole {
			c.tellRate(whole, left, 1)
		}
		return nil
	}
	return c.refuseRate(limiter, whole, "more than "+strconv.Itoa(whole)+" calls a second with this key; a dear one counts as several")
}

// tellRate says how many calls the key has left, in the fields of draft-ietf-httpapi-ratelimit-headers-10.
// A key that has a whole second's calls left is not told: two more headers would cost every answer.
func (c *Request) tellRate(whole, left, seconds int) {
	h := c.w.Header()
	h["Ratelimit-Policy"] = []string{`"key";q=` + strconv.Itoa(whole) + ";w=1"}
	h["Ratelimit"] = []string{`"key";r=` + strconv.Itoa(max(left, 0)) + ";t=" + strconv.Itoa(seconds)}
}

// refuseRate is the 429 of a key whose tokens are used.
func (c *Request) refuseRate(limiter *rate.Limiter, whole int, message string) error {
	rateLimitedTotal.Inc()
	perSecond := float64(limiter.Limit())
	wait := 1
	if perSecond > 0 && perSecond < 1 {
		wait = int(1 / perSecond)
	}
	c.tellRate(whole, 0, wait)
	return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited", Retry: wait, Message: message}
}

// Forbidden is the 403 of a key that has none of the roles.
func Forbidden(roles uint16) *Error {
	return answerOf(edge.LacksRole(roles, "this key lacks the role "+strings.Join(edge.RoleList(roles), "|")))
}

// ClientAddress returns the caller's address: the connection's, or, behind trusted proxies,
// the last X-Forwarded-For address that is no trusted proxy. When a hop cannot be read,
// there is no address: the caller must not pass as the proxy.
func (b *Border) ClientAddress(r *http.Request) netip.Addr { return clientOf(r, b.deps.TrustedProxies) }

// clientOf is ClientAddress with the given trusted proxies.
func clientOf(r *http.Request, proxies []netip.Prefix) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, _ := netip.ParseAddr(host)
	if !isWithin(proxies, address) {
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
		if !isWithin(proxies, hop) {
			break
		}
	}
	return address
}

func isWithin(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

// KeyName returns the name of a key; "" for an unknown key or none.
func KeyName(keys []*wire.APIKey, id string) string {
	for _, key := range keys {
		if key.ID == id {
			return key.Name
		}
	}
	return ""
}

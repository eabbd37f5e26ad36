package operations

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/seal"
	"railguard/strictjson"
)

// API keys live on the admin listener alone: nothing under /v1 ever returns one
// (specification 5, statement T015). A secret is shown once, in the answer to the
// call that made it; what is kept is its SHA-256.

const (
	keyNetworksMax  = 32
	keyRateMax      = 10_000_000
	keyExpiryMax    = 10 * 365 * engine.DayLength
	perSecondSuffix = "/s"
)

// createKey is POST /admin/keys.
func createKey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	now := c.Published().LogTime()
	key := wire.APIKey{ID: seal.NewKeyID(), Name: f.RequiredName("name")}
	key.Roles = readRoles(&f)
	key.Operator = edge.OperatorKey(f.Name("operator"))
	if f.Get("operator") != nil && key.Operator == "" {
		f.Invalid("operator", "must have letters or digits")
	}
	key.Networks = readNetworks(&f)
	key.ExpiresAt = readExpiry(&f, now)
	key.Rate = readRate(&f)
	key.Strict, _ = f.Flag("strict")
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	secret := newAPISecret(c)
	key.Prefix, key.Hashes = seal.KeyPrefix(secret), [][]byte{seal.HashAPISecret(secret)}
	return putKey(c, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}, secret, http.StatusCreated)
}

// readRoles reads roles, a list or a comma-separated text; none is admin.
func readRoles(f *strictjson.Fields) uint8 {
	names, ok := readWords(f, "roles", 16)
	if !ok {
		return 0
	}
	var roles uint8
	for _, name := range names {
		role := border.ParseRole(strings.TrimSpace(name))
		if role == 0 {
			f.Invalid("roles", "must be of "+strings.Join(border.RoleNames[:], ", "))
			return 0
		}
		roles |= role
	}
	return roles
}

// readWords reads a list of strings, or one string of several with commas.
func readWords(f *strictjson.Fields, name string, count int) ([]string, bool) {
	v := f.Get(name)
	if v == nil {
		return nil, false
	}
	if b, err := v.StringBytes(); err == nil {
		if len(b) == 0 {
			return nil, false
		}
		words := strings.Split(string(b), ",")
		if len(words) > count {
			f.Invalid(name, "must have at most "+strconv.Itoa(count)+" items")
			return nil, false
		}
		return words, true
	}
	words, given := f.Texts(name, count, engine.FieldMax)
	return words, given && len(words) > 0
}

func readNetworks(f *strictjson.Fields) []string {
	var networks []string
	for _, name := range []string{"networks", "ips"} {
		words, _ := readWords(f, name, keyNetworksMax)
		for _, word := range words {
			word = strings.TrimSpace(word)
			_, asPrefix := netip.ParsePrefix(word)
			_, asAddress := netip.ParseAddr(word)
			if asPrefix != nil && asAddress != nil {
				f.Invalid(name, "must be addresses or networks such as 10.0.0.0/8")
				break
			}
			networks = append(networks, word)
		}
	}
	return networks
}

// readExpiry reads expiresAt, or expires as a span from now such as 90d.
func readExpiry(f *strictjson.Fields, now engine.Time) engine.Time {
	if at, ok := f.Instant("expiresAt"); ok {
		if at <= now {
			f.Invalid("expiresAt", "must be in the future")
		}
		return at
	}
	text := f.Text("expires", engine.FieldMax)
	if text == "" {
		return 0
	}
	span, ok := parseSpan(text)
	if !ok || span <= 0 || span > keyExpiryMax {
		f.Invalid("expires", "must be a span such as 90d or 12h, at most ten years")
		return 0
	}
	return now + span
}

// parseSpan reads a duration with days besides the units of Go: 90d, 25h, 1d12h.
func parseSpan(text string) (engine.Time, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "", text
	}
	var span engine.Time
	if found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		span = engine.Time(n) * engine.DayLength
	}
	if rest == "" {
		return span, found
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 {
		return 0, false
	}
	return span + engine.Time(part), true
}

// readRate reads rate: calls a second, a number or a text such as 2000/s; 0 is
// off (decision 55).
func readRate(f *strictjson.Fields) int32 {
	v := f.Get("rate")
	if v == nil {
		return 0
	}
	text := string(v.MarshalTo(nil))
	if b, err := v.StringBytes(); err == nil {
		text = strings.TrimSuffix(string(b), perSecondSuffix)
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n > keyRateMax {
		f.Invalid("rate", "must be calls a second, such as 2000 or 2000/s; 0 is off")
		return 0
	}
	if n == 0 {
		return -1
	}
	return int32(n)
}

// putKey proposes a change of one key and answers it. secret, when there is one,
// is in this answer and nowhere else: a replay tells that it was shown.
func putKey(c *border.Request, record *wire.APIKeyPut, secret string, status int) (border.Answer, error) {
	result, err := c.Propose(border.Proposal{Kind: wire.KindAPIKey, Record: func() (any, error) {
		var m strictjson.Members
		if record.Op == wire.KeyCreate {
			writeKey(&m, &record.Key)
		}
		var err error
		record.Common, err = c.Judge.Recorded(m)
		return record, err
	}, Refused: func(r wire.Result) error {
		switch r.Refusal {
		case wire.RefusedTransition:
			return border.Conflict("invalid_transition", "the key is revoked", nil)
		case wire.RefusedFull:
			return border.Conflict("limit_reached", "there are as many keys as there may be", nil)
		}
		return nil
	}})
	if err != nil {
		return border.Answer{}, err
	}
	l, err := c.OpenResult(result)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	l.CopyTo(&m, "keyId", "name", "prefix", "roles", "operator", "networks", "expiresAt", "rate", "strict")
	switch {
	case l.Kind() == "key.revoked":
		m.Text("revokedAt", l.Text("time"))
	case c.Replayed:
		m.Null("key") // It was shown once.
	default:
		m.Text("key", secret)
	}
	m.Text("eventId", l.Text("eventId"))
	return c.Reply(status, m), nil
}

func writeKey(m *strictjson.Members, key *wire.APIKey) {
	m.Text("name", key.Name)
	roles := border.RoleList(key.Roles)
	if key.Roles == 0 {
		roles = []string{"admin"}
	}
	m.Texts("roles", roles)
	m.TextOrNull("operator", key.Operator)
	m.Texts("networks", key.Networks)
	if key.Strict {
		m.Bool("strict", true)
	}
	if key.ExpiresAt == 0 {
		m.Null("expiresAt")
	} else {
		m.Time("expiresAt", key.ExpiresAt)
	}
	switch {
	case key.Rate < 0:
		m.Int("rate", 0)
	case key.Rate == 0:
		m.Int("rate", border.RateDefault)
	default:
		m.Int("rate", int64(key.Rate))
	}
}

// listKeys is GET /admin/keys: everything but secrets.
func listKeys(c *border.Request) (border.Answer, error) {
	p, err := c.ReadPage("keys")
	if err != nil {
		return border.Answer{}, err
	}
	keys, now := c.Judge.Terms.Settings.Keys, c.Published().LogTime()
	c.Judge.Index = c.Published().Applied()
	var items []strictjson.Members
	next := p.Scan(uint64(len(keys)), func(row uint64) bool {
		key := keys[row-1]
		var m strictjson.Members
		m.Text("keyId", key.ID)
		m.Text("prefix", key.Prefix)
		writeKey(&m, key)
		m.Int("liveSecrets", int64(len(key.Hashes)))
		m.Time("createdAt", key.CreatedAt)
		status := "active"
		if key.ExpiresAt != 0 && key.ExpiresAt <= now {
			status = "expired"
		}
		if key.RevokedAt != 0 {
			status = "revoked"
			m.Time("revokedAt", key.RevokedAt)
		}
		m.Text("status", status)
		items = append(items, m)
		return true
	})
	return c.AnswerList(items, next)
}

// rotateKey is POST /admin/keys/{id}/rotate: a second secret; the older one stays
// good until the next rotation.
func rotateKey(c *border.Request) (border.Answer, error) {
	secret := newAPISecret(c)
	return putKey(c, &wire.APIKeyPut{Op: wire.KeyRotate, Key: wire.APIKey{
		ID: c.PathValue("id"), Prefix: seal.KeyPrefix(secret), Hashes: [][]byte{seal.HashAPISecret(secret)},
	}}, secret, http.StatusOK)
}

// revokeKey is DELETE /admin/keys/{id}.
func revokeKey(c *border.Request) (border.Answer, error) {
	return putKey(c, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: c.PathValue("id")}}, "", http.StatusOK)
}

// newAPISecret draws a secret; a sandbox's shows what it is.
func newAPISecret(c *border.Request) string {
	if edge.IsSandbox(c.Judge.Terms.Settings) {
		return seal.NewTestSecret()
	}
	return seal.NewAPISecret()
}

// showOwnKey is GET /v1/key: what the caller's key is and may do. What is shown of it is
// no secret to whoever holds it.
func showOwnKey(c *border.Request) (border.Answer, error) {
	var m strictjson.Members
	m.Text("keyId", c.Key.ID)
	m.Text("name", c.Key.Name)
	m.Texts("roles", border.RoleList(c.Key.Roles))
	m.TextOrNull("operator", c.Key.Operator)
	if c.Key.Expires == 0 {
		m.Null("expiresAt")
	} else {
		m.Time("expiresAt", c.Key.Expires)
	}
	return c.Reply(http.StatusOK, m), nil
}

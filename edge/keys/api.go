package keys

import (
	"net/netip"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

const (
	networksMax     = 32
	rateMax         = 10_000_000 // The highest rate of a key, in calls a second.
	expiryMax       = 10 * 365 * engine.DayLength
	expiryDefault   = 365 * engine.DayLength
	perSecondSuffix = "/s"
)

// APIKeyChange creates, rotates or revokes an API key.
type APIKeyChange struct {
	op       uint8 // wire.KeyCreate or another operation.
	key      wire.APIKey
	overlap  engine.Time      // In a rotation: how long the secret before stays good.
	operator wire.OperatorRef // Of a new key; zero: not an operator's.
	Secret   string           // The secret of a key that was created or rotated. It is shown once and never stored.
}

// ReadAPIKey reads the body of a new key and draws its secret.
func ReadAPIKey(j *edge.Judge, f *strictjson.Fields) (APIKeyChange, error) {
	key := wire.APIKey{ID: seal.NewKeyID(), Name: f.RequiredName("name")}
	key.Roles = readRoles(f)
	operator := f.Name("operator")
	if f.Get("operator") != nil && edge.FoldName(operator) == "" {
		f.Invalid("operator", "must be an operator's id or legal name")
	}
	caller := f.Text("caller", engine.FieldMax)
	if key.Owner = callerMeant(j, caller); caller != "" && (key.Owner == "" || operator != "") {
		f.Invalid("caller", "must be new, or the id (cal_…) of a caller that has keys; a key has one owner")
	}
	key.Person = f.Name("person")
	if key.PersonKey = engine.PersonKey(key.Person); f.Get("person") != nil && key.PersonKey == "" || len(key.PersonKey) > engine.FieldMax {
		f.Invalid("person", "must have letters, and at most 256 bytes")
	}
	key.Networks = readNetworks(f)
	key.ExpiresAt = readExpiry(f, j.LogTime(), key.Roles)
	key.Rate = readRate(f)
	key.Strict, _ = f.Flag("strict")
	if err := f.Err(); err != nil {
		return APIKeyChange{}, err
	}
	if (operator != "" || caller != "") && key.Roles&^wire.RolesOfOutsiders != 0 {
		return APIKeyChange{}, &edge.Refusal{
			Code: "role_not_allowed", Param: "roles",
			Message: "a key of an operator or a caller may have the roles " + strings.Join(edge.RoleList(wire.RolesOfOutsiders), ", ") + "; all others are the institution's",
		}
	}
	change := APIKeyChange{op: wire.KeyCreate, key: key}
	if operator != "" {
		var err error
		if change.operator, err = j.IDOrName(operator); err != nil {
			return change, err
		}
	}
	change.drawSecret(j)
	return change, nil
}

// callerMeant returns the id of the caller whose key is to be made: of a new one, or of one that
// has keys already. "" means that there is none.
func callerMeant(j *edge.Judge, text string) string {
	if text == "new" {
		return seal.NewCallerID()
	}
	if strings.HasPrefix(text, wire.OwnerCallerPrefix) && j.Terms.OwnsKeys(text) {
		return text
	}
	return ""
}

// ReadRotation reads how a key gets another secret. The older one ends at once, or after an
// overlap.
func ReadRotation(j *edge.Judge, f *strictjson.Fields, id string) (APIKeyChange, error) {
	change := APIKeyChange{op: wire.KeyRotate, key: wire.APIKey{ID: id}}
	if text := f.Text("overlap", engine.FieldMax); text != "" {
		span, ok := edge.ParseSpan(text)
		if !ok || span < 0 || span > engine.OverlapMax {
			f.Invalid("overlap", "must be a span such as 24h, at most 7 days")
		}
		change.overlap = span
	}
	if err := f.Err(); err != nil {
		return APIKeyChange{}, err
	}
	change.drawSecret(j)
	return change, nil
}

// EndSessions ends all sessions that a person began with a key.
func EndSessions(id string) APIKeyChange {
	return APIKeyChange{op: wire.KeySignOut, key: wire.APIKey{ID: id}}
}

// RevokeAPIKey revokes a key.
func RevokeAPIKey(id string) APIKeyChange {
	return APIKeyChange{op: wire.KeyRevoke, key: wire.APIKey{ID: id}}
}

// Revokes reports whether the change revokes the key.
func (c *APIKeyChange) Revokes() bool { return c.op == wire.KeyRevoke }

// drawSecret draws a secret and puts its hash into the record. A sandbox's secret has a prefix
// that says so.
func (c *APIKeyChange) drawSecret(j *edge.Judge) {
	c.Secret = seal.NewAPISecret()
	if edge.IsSandbox(j.Terms.Settings) {
		c.Secret = seal.NewTestSecret()
	}
	c.key.Prefix, c.key.Hashes = seal.KeyPrefix(c.Secret), [][]byte{seal.HashAPISecret(c.Secret)}
}

// Record builds the record.
func (c *APIKeyChange) Record(j *edge.Judge) (*wire.APIKeyPut, error) {
	var m strictjson.Members
	if c.op == wire.KeyCreate {
		WriteAPIKey(&m, &c.key)
		if c.operator.Name != "" {
			j.WriteSimilar(&m, &c.operator)
		}
	}
	common, err := j.RecordedSigned(m, c.statement())
	return &wire.APIKeyPut{Common: common, Op: c.op, Key: c.key, Overlap: c.overlap, Operator: c.operator}, err
}

// statement is what a person signs. The id of a new key is drawn for each call, so it is not in it.
func (c *APIKeyChange) statement() edge.Statement {
	var said strictjson.Members
	if c.op == wire.KeyCreate {
		said.Text("name", c.key.Name)
		said.Texts("roles", edge.RoleList(c.key.Roles))
		said.TextOrNull("person", c.key.Person)
		return edge.Statement{Act: "key.created", Said: said}
	}
	said.Text("keyId", c.key.ID)
	act := [...]string{wire.KeyRotate: "key.rotated", wire.KeyRevoke: "key.revoked", wire.KeySignOut: "key.sessions_ended", wire.KeyReinstate: "key.reinstated"}[c.op]
	return edge.Statement{Act: act, Said: said}
}

// WriteAPIKey writes the rights of a key, in the form of leaves and answers.
func WriteAPIKey(m *strictjson.Members, key *wire.APIKey) {
	m.Text("name", key.Name)
	m.Texts("roles", edge.RoleList(key.Roles))
	m.TextOrNull("person", key.Person)
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
		m.Int("rate", edge.RateDefault)
	default:
		m.Int("rate", int64(key.Rate))
	}
}

// readRoles reads roles, a list or a text with commas. At least one must be named: no key gets a
// right that nobody asked for.
func readRoles(f *strictjson.Fields) uint16 {
	if f.Get("roles") == nil {
		f.Missing("roles")
		return 0
	}
	names, ok := readWords(f, "roles", 16)
	if !ok {
		f.Invalid("roles", "must name at least one role")
		return 0
	}
	var roles uint16
	for _, name := range names {
		role := edge.ParseRole(strings.TrimSpace(name))
		if role == 0 {
			f.Invalid("roles", "must be of "+strings.Join(edge.RoleNames[:], ", "))
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

// readNetworks reads the addresses and networks that a key may call from. No entry means that
// it may call from anywhere.
func readNetworks(f *strictjson.Fields) []string {
	var networks []string
	for _, name := range []string{"networks", "ips"} {
		words, _ := readWords(f, name, networksMax)
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

// readExpiry reads expiresAt, or expires as a span from now such as 90d. Without either the key
// ends after a year, and an admin's after 90 days. It returns 0 for the
// word never.
func readExpiry(f *strictjson.Fields, now engine.Time, roles uint16) engine.Time {
	if at, ok := f.Instant("expiresAt"); ok {
		if at <= now {
			f.Invalid("expiresAt", "must be in the future")
		}
		return at
	}
	text := f.Text("expires", engine.FieldMax)
	switch {
	case text == "never":
		return 0
	case text == "" && roles&wire.RoleAdmin != 0:
		return now + seal.AdminKeyLength
	case text == "":
		return now + expiryDefault
	}
	span, ok := edge.ParseSpan(text)
	if !ok || span <= 0 || span > expiryMax {
		f.Invalid("expires", "must be a span such as 90d or 12h, at most ten years, or the word never")
		return 0
	}
	return now + span
}

// readRate reads rate in calls a second: a number, or a text such as 2000/s. In a record 0
// means the default and -1 means no limit, for which a caller writes 0 (decision 55).
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
	if err != nil || n < 0 || n > rateMax {
		f.Invalid("rate", "must be calls a second, such as 2000 or 2000/s; 0 is off")
		return 0
	}
	if n == 0 {
		return -1
	}
	return int32(n)
}

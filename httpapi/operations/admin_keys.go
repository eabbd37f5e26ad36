package operations

import (
	"errors"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// API keys are managed on the admin listener only: nothing under /v1 ever returns one
// (specification 5, statement T015). A secret is shown once, in the answer to the call that
// made it; the state keeps its SHA-256.

// createKey is POST /admin/keys.
func createKey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	change, err := keys.ReadAPIKey(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return answerKey(c, &change, http.StatusCreated)
}

// answerKey proposes a change of one key and answers it. Only this answer holds the secret:
// a replay says that it was shown.
func answerKey(c *border.Request, change *keys.APIKeyChange, status int) (border.Answer, error) {
	result, err := c.Propose(border.Proposal{Kind: wire.KindAPIKey, Record: func() (any, error) {
		return change.Record(&c.Judge)
	}, Refused: func(r wire.Result) error {
		switch {
		case r.Refusal == wire.RefusedTransition && change.Revokes():
			return errRevokedBefore
		case r.Refusal == wire.RefusedTransition:
			return border.Conflict("invalid_transition", "the key is revoked", nil)
		case r.Refusal == wire.RefusedFull:
			return border.Conflict("limit_reached", "there are as many keys as there may be", nil)
		}
		return nil
	}})
	if errors.Is(err, errRevokedBefore) {
		return answerRevoked(c, result.Index)
	}
	if err != nil {
		return border.Answer{}, err
	}
	l, err := c.OpenResult(result)
	if err != nil {
		return border.Answer{}, err
	}
	return showKey(c, change.Secret, &l, status)
}

// showKey answers a change of a key by its leaf.
func showKey(c *border.Request, secret string, l *edge.Leaf, status int) (border.Answer, error) {
	var m strictjson.Members
	if l.Has("proposalId") { // The secret is good once another person has confirmed the key.
		status = http.StatusAccepted
		m.Text("state", "proposed")
		l.CopyTo(&m, "proposalId")
		l.CopyAs(&m, "lapsesAt", "proposalExpiresAt")
	}
	writeKey(&m, l)
	switch {
	case l.Kind() == "key.revoked":
		m.Text("revokedAt", l.Text("time"))
	case l.Kind() == "key.sessions_ended":
		m.Text("endedAt", l.Text("time"))
	case c.Replayed:
		m.Null("key") // The first answer showed it.
	default:
		m.Text("key", secret)
	}
	m.Text("eventId", l.Text("eventId"))
	return c.Reply(status, m), nil
}

// errRevokedBefore says that the key of a revocation is revoked already.
var errRevokedBefore = errors.New("the key was revoked before")

// revokedLeaves is how many leaves of one log time are looked at for that of a revocation.
const revokedLeaves = 2 * engine.EntryRecordsMax

// findRevocation returns the leaf by which a key was revoked, or nil if it was erased after its 90
// days or is not here.
func findRevocation(c *border.Request, key *wire.APIKey) *edge.Leaf {
	first := c.Records().Audit().FindTime(int64(key.RevokedAt))
	for leaf := first; leaf < min(first+revokedLeaves, c.Records().Audit().Size()); leaf++ {
		data, err := c.Records().Leaf(c.Context(), leaf)
		if err != nil {
			return nil
		}
		l, err := c.Judge.OpenLeaf(leaf, data)
		if err == nil && l.Kind() == "key.revoked" && l.Text("keyId") == key.ID {
			return &l
		}
	}
	return nil
}

// answerRevoked repeats the answer to the call that revoked the key: whoever does not know what
// became of that call asks again. index is one at which the key was revoked.
func answerRevoked(c *border.Request, index uint64) (border.Answer, error) {
	if err := c.AwaitIndex(index); err != nil {
		return border.Answer{}, err
	}
	id := c.PathValue("id")
	all := c.Published().Settings().Keys
	at := slices.IndexFunc(all, func(key *wire.APIKey) bool { return key.ID == id })
	if at < 0 {
		return border.Answer{}, border.NotFound("no such key")
	}
	if l := findRevocation(c, all[at]); l != nil {
		return showKey(c, "", l, http.StatusOK)
	}
	var m strictjson.Members
	m.Text("keyId", id)
	m.Text("name", all[at].Name)
	m.Time("revokedAt", all[at].RevokedAt)
	m.Null("eventId")
	return c.Reply(http.StatusOK, m), nil
}

func writeKey(m *strictjson.Members, l *edge.Leaf) {
	l.CopyTo(m, "keyId", "name", "prefix", "roles", "owner", "similarOperators", "person", "networks", "expiresAt", "rate", "strict")
}

// renderKey answers the confirmation of a key that another person proposed. Who proposed it
// has its secret.
func renderKey(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	if l.Kind() == "key.created" {
		c.Status = http.StatusCreated
	}
	writeKey(m, l)
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// listKeys is GET /admin/keys: everything except secrets.
func listKeys(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("keys")
	if err != nil {
		return border.Answer{}, err
	}
	all, now := c.Judge.Terms.Settings.Keys, c.Published().LogTime()
	c.Judge.Index = c.Published().Applied()
	var items []strictjson.Members
	next := p.Scan(uint64(len(all)), func(row uint64) bool {
		key := all[row-1]
		var m strictjson.Members
		m.Text("keyId", key.ID)
		m.Text("prefix", key.Prefix)
		keys.WriteAPIKey(&m, key)
		m.TextOrNull("owner", key.Owner)
		if key.SignedIn != "" {
			m.Bool("signsIn", true)
		}
		if key.Gone {
			m.Bool("personEnded", true)
		}
		m.Int("liveSecrets", int64(len(liveSecrets(key, now))))
		if key.OldUntil > now {
			m.Time("oldSecretUntil", key.OldUntil)
		}
		m.Time("createdAt", key.CreatedAt)
		if key.UsedAt == 0 {
			m.Null("lastUsedAt")
		} else {
			m.Time("lastUsedAt", key.UsedAt)
		}
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

// liveSecrets returns the secrets that a key is known by now.
func liveSecrets(key *wire.APIKey, now engine.Time) [][]byte {
	if len(key.Hashes) > 1 && key.OldUntil <= now {
		return key.Hashes[:1]
	}
	return key.Hashes
}

// rotateKey is POST /admin/keys/{id}/rotate: it gives the key another secret. The one before ends
// at once, or after the overlap.
func rotateKey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	change, err := keys.ReadRotation(&c.Judge, &f, c.PathValue("id"))
	if err != nil {
		return border.Answer{}, err
	}
	return answerKey(c, &change, http.StatusOK)
}

// endKeySessions is POST /admin/keys/{id}/end-sessions.
func endKeySessions(c *border.Request) (border.Answer, error) {
	change := keys.EndSessions(c.PathValue("id"))
	return answerKey(c, &change, http.StatusOK)
}

// endOwnSessions is POST /v1/key/end-sessions: whoever holds the key signs out, everywhere.
func endOwnSessions(c *border.Request) (border.Answer, error) {
	change := keys.EndSessions(c.Key.ID)
	return answerKey(c, &change, http.StatusOK)
}

// revokeKey is DELETE /admin/keys/{id}.
func revokeKey(c *border.Request) (border.Answer, error) {
	change := keys.RevokeAPIKey(c.PathValue("id"))
	return answerKey(c, &change, http.StatusOK)
}

// showOwnKey is GET /v1/key: the caller's key and its rights. It shows nothing that is
// secret to the key's holder.
func showOwnKey(c *border.Request) (border.Answer, error) {
	var m strictjson.Members
	m.Text("keyId", c.Key.ID)
	m.Text("name", c.Key.Name)
	m.Texts("roles", edge.RoleList(c.Key.Roles))
	m.TextOrNull("person", c.Key.Person)
	m.TextOrNull("owner", c.Key.Owner)
	if c.Key.Expires == 0 {
		m.Null("expiresAt")
	} else {
		m.Time("expiresAt", c.Key.Expires)
	}
	m.Uint("sessions", uint64(c.Key.Sessions))
	return c.Reply(http.StatusOK, m), nil
}

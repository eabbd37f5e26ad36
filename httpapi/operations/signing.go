package operations

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Signing keys (decision 56). A new key is published 24 hours before it signs. In an
// emergency it signs at once, and the tokens of the key that it replaces can be made R2;
// those agents then need new credentials (POST /v1/agents/{id}/reissue).

// The words for what a key signs, by their numbers.
var keyUses = [...]string{wire.ForCredentials: "credential", wire.ForPermits: "permit"}

// rotateSigningKey is POST /admin/signing-key/rotate {"for"?,"emergency"?,"revoke"?,"reason"?}.
func rotateSigningKey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	emergency, _ := f.Flag("emergency")
	what := max(slices.Index(keyUses[:], f.OneOf("for", keyUses[:]...)), 0) // Credentials, if it is not said.
	revoke, reason := f.Text("revoke", engine.FieldMax), f.Text("reason", engine.TextMax)
	if (emergency || revoke != "") && strings.TrimSpace(reason) == "" {
		f.Missing("reason")
	}
	if revoke != "" && !emergency {
		f.Invalid("revoke", "needs emergency: a key is not revoked before its successor signs")
	}
	if revoke != "" && keys.FindSigningKey(&c.Judge, revoke) == nil {
		if err := c.Judge.CatchUp(); err != nil {
			return border.Answer{}, err
		}
	}
	switch key := keys.FindSigningKey(&c.Judge, revoke); {
	case revoke != "" && key == nil:
		f.Invalid("revoke", "is no signing key")
	case revoke != "" && int(key.For) != what:
		f.Invalid("revoke", "is no key for what is rotated: say for, credential or permit")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	added, err := addSigningKey(c, uint8(what), emergency, reason)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	added.CopyTo(&m, "kid", "activateAt")
	m.Text("publishedAt", added.Text("time"))
	m.Bool("emergency", emergency)
	if revoke != "" {
		if err := revokeKID(c, revoke, reason); err != nil {
			return border.Answer{}, err
		}
		m.Text("revoked", revoke)
	}
	added.CopyTo(&m, "reason", "eventId")
	return c.Reply(http.StatusCreated, m), nil
}

// addSigningKey generates, seals and publishes the next key. If another rotation takes its
// number first, it tries the next number.
func addSigningKey(c *border.Request, what uint8, now bool, reason string) (edge.Leaf, error) {
	for try := 0; ; try++ {
		key, err := keys.NewSigningKey(&c.Judge, what)
		if err != nil {
			return edge.Leaf{}, err
		}
		result, err := c.Propose(border.Proposal{Kind: wire.KindSigningKey, Record: func() (any, error) {
			return keys.AddSigningKey(&c.Judge, key, now, reason)
		}, Refused: func(r wire.Result) error {
			switch r.Refusal {
			case wire.RefusedExists:
				return border.ErrMoved
			case wire.RefusedFull:
				return border.Conflict("limit_reached", "there are as many signing keys as there may be", nil)
			}
			return nil
		}})
		if err == nil {
			return c.OpenResult(result)
		}
		if !errors.Is(err, border.ErrMoved) {
			return edge.Leaf{}, err
		}
		if err := c.Judge.Again(try, c.Judge.Index); err != nil {
			return edge.Leaf{}, err
		}
	}
}

// revokeSigningKey is POST /admin/signing-keys/{kid}/revoke {"reason"}: every
// token of the key is R2 from then on.
func revokeSigningKey(c *border.Request) (border.Answer, error) {
	kid := c.PathValue("kid")
	f := c.ReadFields()
	reason := f.RequiredText("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if keys.FindSigningKey(&c.Judge, kid) == nil {
		if err := c.Judge.Confirm(); err != nil {
			return border.Answer{}, err
		}
	}
	if keys.FindSigningKey(&c.Judge, kid) == nil {
		return border.Answer{}, border.NotFound("no such signing key")
	}
	if err := revokeKID(c, kid, reason); err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	m.Text("kid", kid)
	m.Text("state", "revoked")
	m.Text("reason", reason)
	return c.Reply(http.StatusOK, m), nil
}

// revokeKID revokes a key unless it is the only one that can sign.
func revokeKID(c *border.Request, kid, reason string) error {
	if err := c.AwaitIndex(c.Judge.Index); err != nil {
		return err
	}
	done, err := keys.CheckRevocable(&c.Judge, kid)
	if done || err != nil {
		return err
	}
	_, err = c.Propose(border.Proposal{Kind: wire.KindSigningKey, Record: func() (any, error) {
		return keys.RevokeSigningKey(&c.Judge, kid, reason)
	}})
	return err
}

// listSigningKeys is GET /admin/signing-keys. No private part is ever shown.
func listSigningKeys(c *border.Request) (border.Answer, error) {
	settings, now := c.Settings(), c.Published().LogTime()
	signing := [...]*wire.SigningKey{settings.ActiveKey(now), settings.ActiveKeyFor(wire.ForPermits, now)}
	c.Judge.Index = c.Published().Applied()
	items := []strictjson.Members{}
	for i := len(settings.SigningKeys) - 1; i >= 0; i-- {
		key := settings.SigningKeys[i]
		var m strictjson.Members
		m.Text("kid", key.KID)
		m.Text("for", keyUses[key.For])
		switch {
		case key.RevokedAt != 0:
			m.Text("state", "revoked")
		case key == signing[key.For]:
			m.Text("state", "signing")
		case key.ActivateAt > now:
			m.Text("state", "next")
		default:
			m.Text("state", "retired")
		}
		if key.ActivateAt == 0 {
			m.Null("activateAt") // The cluster's first key has signed since the genesis.
		} else {
			m.Time("activateAt", key.ActivateAt)
		}
		if key.RevokedAt == 0 {
			m.Null("revokedAt")
		} else {
			m.Time("revokedAt", key.RevokedAt)
		}
		items = append(items, m)
	}
	return c.AnswerList(items, "")
}

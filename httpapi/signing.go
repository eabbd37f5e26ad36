package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// Signing keys (decision 56). A new key is published 24 hours before it signs;
// in an emergency it signs at once, and the tokens of the key it replaces can be
// made R2. Those agents are then issued anew (POST /v1/agents/{id}/reissue).

// kidPrefix begins every kid of the cluster: cc-v1, cc-v2, ...
const kidPrefix = "cc-v"

// rotateSigningKey is POST /admin/signing-key/rotate {"emergency"?,"revoke"?,"reason"?}.
func rotateSigningKey(c *call) (Answer, error) {
	f := c.fields()
	emergency, _ := f.Flag("emergency")
	revoke, reason := f.Text("revoke", engine.FieldMax), f.Text("reason", engine.TextMax)
	if (emergency || revoke != "") && strings.TrimSpace(reason) == "" {
		f.Missing("reason")
	}
	if revoke != "" && !emergency {
		f.Invalid("revoke", "needs emergency: a key is not revoked before its successor signs")
	}
	if revoke != "" && findSigningKey(c, revoke) == nil {
		if err := c.judge.CatchUp(); err != nil {
			return Answer{}, err
		}
	}
	if revoke != "" && findSigningKey(c, revoke) == nil {
		f.Invalid("revoke", "is no signing key")
	}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	added, err := addSigningKey(c, emergency, reason)
	if err != nil {
		return Answer{}, err
	}
	var m strictjson.Members
	added.CopyTo(&m, "kid", "activateAt")
	m.Text("publishedAt", added.Text("time"))
	m.Bool("emergency", emergency)
	if revoke != "" {
		if err := revokeKID(c, revoke, reason); err != nil {
			return Answer{}, err
		}
		m.Text("revoked", revoke)
	}
	added.CopyTo(&m, "reason", "eventId")
	return c.reply(http.StatusCreated, m), nil
}

// findSigningKey finds a key by its kid.
func findSigningKey(c *call, kid string) *wire.SigningKey {
	for _, key := range c.judge.Terms.Settings.SigningKeys {
		if key.KID == kid {
			return key
		}
	}
	return nil
}

// nextKID is one above the highest number in use: a kid names one key for ever.
func nextKID(c *call) string {
	highest, prefix := 0, kidPrefix
	if edge.IsSandbox(c.judge.Terms.Settings) {
		prefix = strings.TrimSuffix(seal.SandboxKID, "1")
	}
	for _, key := range c.judge.Terms.Settings.SigningKeys {
		if n, err := strconv.Atoi(strings.TrimPrefix(key.KID, prefix)); err == nil {
			highest = max(highest, n)
		}
	}
	return prefix + strconv.Itoa(highest+1)
}

// addSigningKey draws, seals and publishes the next key. Another rotation may
// take the same number first; then the next one is tried.
func addSigningKey(c *call, now bool, reason string) (edge.Leaf, error) {
	for try := 0; ; try++ {
		key, err := seal.NewSigningKey(c.api.deps.Secrets, nextKID(c))
		if err != nil {
			return edge.Leaf{}, err
		}
		result, err := c.propose(proposal{kind: wire.KindSigningKey, record: func() (any, error) {
			var m strictjson.Members
			m.TextOrNull("reason", reason)
			m.Bool("emergency", now)
			record := &wire.SigningKeyPut{Op: wire.SigningAdd, Key: key, Now: now}
			var err error
			record.Common, err = c.judge.Recorded(m)
			return record, err
		}, refused: func(r wire.Result) error {
			switch r.Refusal {
			case wire.RefusedExists:
				return errMoved
			case wire.RefusedFull:
				return conflict("limit_reached", "there are as many signing keys as there may be", nil)
			}
			return nil
		}})
		if err == nil {
			return c.resultLeaf(result)
		}
		if !errors.Is(err, errMoved) {
			return edge.Leaf{}, err
		}
		if err := c.judge.Again(try, c.judge.Index); err != nil {
			return edge.Leaf{}, err
		}
	}
}

// revokeSigningKey is POST /admin/signing-keys/{kid}/revoke {"reason"}: every
// token of the key is R2 from then on.
func revokeSigningKey(c *call) (Answer, error) {
	kid := c.r.PathValue("kid")
	f := c.fields()
	reason := f.RequiredText("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	if findSigningKey(c, kid) == nil {
		if err := c.judge.Confirm(); err != nil {
			return Answer{}, err
		}
	}
	if findSigningKey(c, kid) == nil {
		return Answer{}, notFound("no such signing key")
	}
	if err := revokeKID(c, kid, reason); err != nil {
		return Answer{}, err
	}
	var m strictjson.Members
	m.Text("kid", kid)
	m.Text("state", "revoked")
	m.Text("reason", reason)
	return c.reply(http.StatusOK, m), nil
}

// revokeKID revokes a key unless it is the only one that can sign.
func revokeKID(c *call, kid, reason string) error {
	if c.judge.Index > c.api.deps.Published.Applied() {
		if err := c.api.deps.Records.WaitApplied(c.ctx, c.judge.Index); err != nil {
			return unreadable(err)
		}
	}
	c.judge.Renew()
	others := *c.judge.Terms.Settings
	others.SigningKeys = nil
	for _, key := range c.judge.Terms.Settings.SigningKeys {
		if key.KID != kid {
			others.SigningKeys = append(others.SigningKeys, key)
		} else if key.RevokedAt != 0 {
			return nil // It is done already.
		}
	}
	if others.ActiveKey(c.api.deps.Published.LogTime()) == nil {
		return conflict("invalid_transition", "it is the only key that signs: rotate with emergency first", nil)
	}
	_, err := c.propose(proposal{kind: wire.KindSigningKey, record: func() (any, error) {
		var m strictjson.Members
		m.Text("reason", reason)
		record := &wire.SigningKeyPut{Op: wire.SigningRevoke, Key: wire.SigningKey{KID: kid}}
		var err error
		record.Common, err = c.judge.Recorded(m)
		record.Idem = nil // The caller's key stands for the whole call.
		return record, err
	}})
	return err
}

// listSigningKeys is GET /admin/signing-keys. No private part is ever shown.
func listSigningKeys(c *call) (Answer, error) {
	settings, now := c.judge.Terms.Settings, c.api.deps.Published.LogTime()
	signing := settings.ActiveKey(now)
	c.judge.Index = c.api.deps.Published.Applied()
	items := []strictjson.Members{}
	for i := len(settings.SigningKeys) - 1; i >= 0; i-- {
		key := settings.SigningKeys[i]
		var m strictjson.Members
		m.Text("kid", key.KID)
		switch {
		case key.RevokedAt != 0:
			m.Text("state", "revoked")
		case key == signing:
			m.Text("state", "signing")
		case key.ActivateAt > now:
			m.Text("state", "next")
		default:
			m.Text("state", "retired")
		}
		if key.ActivateAt == 0 {
			m.Null("activateAt") // The cluster's first key signs since its birth.
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
	return c.list(items, "")
}

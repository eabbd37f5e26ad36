package httpapi

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
	"railguard/webhooks"
)

// Webhooks (decision 50): who is sent events, and what became of them. Sending is the
// leader's (room webhooks); here they are set up and looked at, on any node.

func (a *API) webhookRoutes() []route {
	const keeper = wire.RoleAdmin
	return []route{
		{method: http.MethodPost, path: "/v1/webhooks", scope: scopeOwner, roles: keeper, body: bodyObject, handle: createWebhook},
		{method: http.MethodGet, path: "/v1/webhooks", scope: scopeOwner, roles: keeper, handle: listWebhooks},
		{method: http.MethodGet, path: "/v1/webhooks/{id}", scope: scopeOwner, roles: keeper, handle: getWebhook},
		{method: http.MethodPatch, path: "/v1/webhooks/{id}", scope: scopeOwner, roles: keeper, body: bodyObject, handle: changeWebhook},
		{method: http.MethodDelete, path: "/v1/webhooks/{id}", scope: scopeOwner, roles: keeper, body: bodyOptional, handle: deleteWebhook},
		{method: http.MethodPost, path: "/v1/webhooks/{id}/rotate-secret", scope: scopeOwner, roles: keeper, body: bodyOptional, handle: rotateWebhook},
		{method: http.MethodPost, path: "/v1/webhooks/{id}/test", scope: scopeOwner, roles: keeper, body: bodyOptional, stream: true, handle: testWebhook},
		{method: http.MethodGet, path: "/v1/webhooks/{id}/deliveries", scope: scopeOwner, roles: keeper, handle: listDeliveries},
		{method: http.MethodPost, path: "/v1/webhooks/{id}/redeliver", scope: scopeOwner, roles: keeper, body: bodyObject, handle: redeliver},
	}
}

// Bounds of webhooks, within the format's.
const (
	webhookURLMax    = 2048
	webhookTypesMax  = 128
	overlapDefault   = engine.DayLength
	webhookTestLimit = 20 * time.Second
)

// knownWebhook is the path's webhook, where the caller's scope has it.
func knownWebhook(c *call) (*wire.Webhook, error) {
	text, ok := strings.CutPrefix(c.r.PathValue("id"), "whk_")
	id, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil || strconv.FormatUint(id, 10) != text {
		return nil, notFound("no such webhook")
	}
	for {
		for _, hook := range c.judge.Terms.Settings.Webhooks {
			if uint64(hook.ID) == id && (c.key.Operator == "" || hook.Operator == c.key.Operator) {
				return hook, nil
			}
		}
		before := c.judge.Terms
		if err := c.judge.CatchUp(); err != nil {
			return nil, err
		}
		if c.judge.Terms == before {
			return nil, notFound("no such webhook")
		}
	}
}

// sender refuses on a node that has nothing to send with.
func sender(c *call) (*webhooks.Sender, error) {
	if s := c.api.deps.Webhooks; s != nil {
		return s, nil
	}
	return nil, unavailable("overloaded", "this node sends no webhooks")
}

// readWebhook reads what a body says of a webhook into hook.
func readWebhook(c *call, f *strictjson.Fields, hook *wire.Webhook) error {
	s, err := sender(c)
	if err != nil {
		return err
	}
	if f.Has("url") || hook.URL == "" {
		hook.URL = f.RequiredText("url", webhookURLMax)
		if wrong := s.Check(hook.URL); wrong != nil && hook.URL != "" {
			f.Invalid("url", wrong.Error())
		}
	}
	if f.Has("name") {
		hook.Name = f.Text("name", engine.FieldMax)
	}
	if allowed, given := f.Flag("sarAllowed"); given {
		hook.SARAllowed = allowed
	}
	if off, given := f.Flag("off"); given {
		hook.Off = off
	}
	types, given := f.Texts("types", webhookTypesMax, engine.FieldMax)
	if given {
		hook.Types = types
	}
	if known, unknown := events.ParseSelection(hook.Types); known == nil {
		f.Invalid("types", strconv.Quote(unknown)+" is no type of event and no group of them")
	}
	for _, name := range hook.Types {
		if !hook.SARAllowed && events.TellsOfSuspicion(name) {
			f.Invalid("types", name+" is sent only where sarAllowed is true")
		}
	}
	return f.Err()
}

// recordWebhook is what the leaf says of a webhook. A URL may hold a secret of its
// receiver's: the leaf names the host.
func recordWebhook(c *call, hook *wire.Webhook, reason string) (wire.Common, error) {
	var m strictjson.Members
	if at, err := url.Parse(hook.URL); err == nil && hook.URL != "" {
		m.Text("host", at.Host)
	}
	m.Optional("reason", reason)
	return c.judge.Recorded(m)
}

// createWebhook is POST /v1/webhooks.
func createWebhook(c *call) (Answer, error) {
	f := c.fields()
	hook := wire.Webhook{}
	key := readSecret(&f)
	if err := readWebhook(c, &f, &hook); err != nil {
		return Answer{}, err
	}
	sealed, err := c.api.deps.Secrets.SealWebhookKey(key)
	if err != nil {
		return Answer{}, err
	}
	hook.Secrets = [][]byte{sealed}
	return c.submit(proposal{kind: wire.KindWebhook, record: func() (any, error) {
		record := &wire.WebhookPut{Op: wire.WebhookCreate, Webhook: hook}
		record.Common, err = recordWebhook(c, &hook, "")
		return record, err
	}, refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedFull {
			return conflict("limit_reached", "there are as many webhooks as there may be", nil)
		}
		return nil
	}}, nil)
}

// readSecret reads the secret that the receiver has chosen, or draws one.
func readSecret(f *strictjson.Fields) *seal.WebhookKey {
	text := ""
	if f.Has("secret") {
		text = f.Text("secret", engine.FieldMax)
	}
	key, err := seal.NewWebhookKey(text)
	if err != nil {
		f.Invalid("secret", err.Error())
	}
	return key
}

// changeWebhook is PATCH /v1/webhooks/{id}.
func changeWebhook(c *call) (Answer, error) {
	f := c.fields()
	reason := f.Text("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return c.revise(wire.KindWebhook, func() (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		changed, again := *hook, c.fields()
		if err := readWebhook(c, &again, &changed); err != nil {
			return nil, err
		}
		record := &wire.WebhookPut{Op: wire.WebhookChange, BaseRev: hook.Rev, Webhook: changed}
		record.Webhook.Secrets = nil
		record.Common, err = recordWebhook(c, &changed, reason)
		return record, err
	})
}

// deleteWebhook is DELETE /v1/webhooks/{id}.
func deleteWebhook(c *call) (Answer, error) {
	f := c.fields()
	reason := f.Text("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return c.revise(wire.KindWebhook, func() (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		record := &wire.WebhookPut{Op: wire.WebhookDelete, BaseRev: hook.Rev, Webhook: wire.Webhook{ID: hook.ID}}
		record.Common, err = recordWebhook(c, hook, reason)
		return record, err
	})
}

// rotateWebhook is POST /v1/webhooks/{id}/rotate-secret.
func rotateWebhook(c *call) (Answer, error) {
	f := c.fields()
	overlap := overlapDefault
	if seconds, given := f.Integer("overlapSeconds", 0, int64(engine.OverlapMax/engine.Second)); given {
		overlap = engine.Time(seconds) * engine.Second
	}
	reason := f.Text("reason", engine.TextMax)
	key := readSecret(&f)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	sealed, err := c.api.deps.Secrets.SealWebhookKey(key)
	if err != nil {
		return Answer{}, err
	}
	return c.revise(wire.KindWebhook, func() (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		record := &wire.WebhookPut{Op: wire.WebhookRotate, BaseRev: hook.Rev, Overlap: overlap, Webhook: wire.Webhook{ID: hook.ID, Secrets: [][]byte{sealed}}}
		record.Common, err = recordWebhook(c, hook, reason)
		return record, err
	})
}

// renderWebhook answers all that changed one. The secret is no part of the record: it is
// shown to who set it, as long as nothing has changed since.
func renderWebhook(c *call, l *edge.Leaf, m *strictjson.Members) error {
	id, op := l.Text("webhookId"), l.Text("op")
	m.Text("webhookId", id)
	m.Text("op", op)
	m.Text("changedAt", l.Text("time"))
	if op == "created" {
		c.status = http.StatusCreated
	}
	if op == "redelivered" {
		m.Uint("count", l.Number("count"))
		return nil
	}
	m.Uint("rev", l.Number("rev"))
	l.CopyTo(m, "reason", "eventId")
	for _, hook := range c.judge.Terms.Settings.Webhooks {
		if fsm.WebhookID(hook.ID) != id || uint64(hook.Rev) != l.Number("rev") {
			continue
		}
		var shown strictjson.Members
		if err := writeWebhook(c, hook, &shown); err != nil {
			return err
		}
		m.Object("webhook", shown)
		if op == "created" || op == "rotated" {
			key, err := c.api.deps.Secrets.OpenWebhookKey(hook.Secrets[0])
			if err != nil {
				return err
			}
			m.Text("secret", key.Secret())
		}
	}
	return nil
}

// writeWebhook writes a webhook as it is shown: no secret.
func writeWebhook(c *call, hook *wire.Webhook, m *strictjson.Members) error {
	m.Text("webhookId", fsm.WebhookID(hook.ID))
	m.TextOrNull("name", hook.Name)
	m.Text("url", hook.URL)
	m.Texts("types", hook.Types)
	m.Bool("sarAllowed", hook.SARAllowed)
	settings, now := c.judge.Terms.Settings, c.api.deps.Published.LogTime()
	state := "on"
	if _, alive := webhooks.Owner(settings, now, hook); !alive {
		state = "key_gone"
	}
	if hook.Off {
		state = "off"
	}
	m.Text("state", state)
	m.TextOrNull("operator", hook.Operator)
	if hook.Key == 0 {
		m.Null("keyId")
	} else {
		m.Text("keyId", settings.Keys[hook.Key-1].ID)
	}
	var publics []string
	for i, sealed := range hook.Secrets {
		if i > 0 && now >= hook.OlderUntil {
			break
		}
		key, err := c.api.deps.Secrets.OpenWebhookKey(sealed)
		if err != nil {
			return err
		}
		publics = append(publics, key.Public())
	}
	m.Texts("publicKeys", publics)
	if len(publics) > 1 {
		m.Time("olderSecretUntil", hook.OlderUntil)
	}
	m.Time("createdAt", hook.CreatedAt)
	m.Uint("rev", uint64(hook.Rev))
	return nil
}

// listWebhooks is GET /v1/webhooks.
func listWebhooks(c *call) (Answer, error) {
	p, err := c.page("webhooks")
	if err != nil {
		return Answer{}, err
	}
	settings := c.judge.Terms.Settings
	var items []strictjson.Members
	var failed error
	next := p.scan(uint64(settings.WebhookNext), func(row uint64) bool {
		at, found := slices.BinarySearchFunc(settings.Webhooks, row, func(hook *wire.Webhook, row uint64) int { return int(int64(hook.ID) - int64(row)) })
		if !found || failed != nil || c.key.Operator != "" && settings.Webhooks[at].Operator != c.key.Operator {
			return false
		}
		var m strictjson.Members
		failed = writeWebhook(c, settings.Webhooks[at], &m)
		items = append(items, m)
		return true
	})
	if failed != nil {
		return Answer{}, failed
	}
	return c.list(items, next)
}

// getWebhook is GET /v1/webhooks/{id}: what it is, and how far.
func getWebhook(c *call) (Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	var m strictjson.Members
	if err := writeWebhook(c, hook, &m); err != nil {
		return Answer{}, err
	}
	seq, n, at, _ := view.Cursor(hook.ID)
	m.TextOrNull("cursor", events.Position{Leaf: seq, Skip: int(n)}.String())
	m.Time("cursorAt", at)
	m.Uint("behindLeaves", view.Size-min(seq, view.Size))
	dead, waiting := uint64(0), uint64(0)
	view.Sendings(hook.ID, math.MaxUint64, func(s fsm.Sending) bool {
		if s.Attempts == 0 {
			waiting++
		} else {
			dead++
		}
		return true
	})
	m.Uint("deadLetters", dead)
	m.Uint("redelivering", waiting)
	m.Uint("asOfIndex", view.Index)
	return c.reply(http.StatusOK, m), nil
}

// listDeliveries is GET /v1/webhooks/{id}/deliveries: dead letters, and what is to be
// sent again, newest first.
func listDeliveries(c *call) (Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return Answer{}, err
	}
	p, err := c.keyPage("deliveries", 1)
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	before := uint64(math.MaxUint64)
	if p.after != nil {
		before = p.after[0]
	}
	var items []strictjson.Members
	next := ""
	view.Sendings(hook.ID, before, func(s fsm.Sending) bool {
		if len(items) == p.limit {
			next = p.cursor(s.Row + 1)
			return false
		}
		var m strictjson.Members
		m.Text("eventId", events.ID(s.Seq, int(s.N)))
		m.Uint("seq", s.Seq)
		if s.Attempts == 0 {
			m.Text("state", "redelivering")
		} else {
			m.Text("state", "dead")
			m.Uint("attempts", uint64(s.Attempts))
			m.Uint("status", uint64(s.Status))
		}
		m.Time("at", s.At)
		items = append(items, m)
		return true
	})
	return c.list(items, next)
}

// redeliver is POST /v1/webhooks/{id}/redeliver {"eventId"} or {"all": true}.
func redeliver(c *call) (Answer, error) {
	f := c.fields()
	text := f.Text("eventId", engine.FieldMax)
	all, _ := f.Flag("all")
	if all == (text != "") {
		f.Invalid("eventId", "name one event, or say all: true for all dead letters")
	}
	at, ok := events.ParsePosition(text)
	if text != "" && (!ok || at.Skip == 0) {
		f.Invalid("eventId", "must be the id of an event")
	}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindDelivery, record: func() (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		record := &wire.Delivery{Op: wire.DeliveryAll, Webhook: hook.ID}
		if !all {
			event, err := c.api.hooked.At(c.ctx, hook, at.Leaf, at.Skip-1)
			if err != nil {
				return nil, err
			}
			if event == nil {
				return nil, notFound("no such event, past its 30 days, or none that this webhook is told")
			}
			record.Op, record.Seq, record.N = wire.DeliveryRevived, at.Leaf, uint8(at.Skip-1)
		}
		record.Common, err = recordWebhook(c, hook, "")
		return record, err
	}}, nil)
}

// testWebhook is POST /v1/webhooks/{id}/test: one message, now, from this node.
func testWebhook(c *call) (Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return Answer{}, err
	}
	s, err := sender(c)
	if err != nil {
		return Answer{}, err
	}
	until := time.Now().Add(webhookTestLimit)
	longAnswer(c, until)
	ctx, cancel := context.WithDeadline(c.r.Context(), until)
	defer cancel()
	now := c.api.deps.Published.LogTime()
	id := "evt_test_" + newKeySuffix()
	var m, data strictjson.Members
	m.Time("timestamp", now)
	m.Text("id", id)
	m.Text("type", "webhook.test")
	m.Time("time", now)
	m.TextOrNull("tenant", hook.Operator)
	data.Text("webhookId", fsm.WebhookID(hook.ID))
	m.Object("data", data)
	a := s.Send(ctx, hook, now, id, append(append([]byte{'{'}, m...), '}'))
	m = c.out[:0]
	m.Text("eventId", id)
	m.Bool("received", a.OK())
	m.Uint("status", uint64(a.Status))
	m.TextOrNull("failure", a.Failure)
	m.Name("latencyMs")
	m = appendMillis(m, a.Took)
	c.out = m
	return c.reply(http.StatusOK, m), nil
}

// newKeySuffix is what tells one test from another.
func newKeySuffix() string { return strings.TrimPrefix(seal.NewKeyID(), "key_") }

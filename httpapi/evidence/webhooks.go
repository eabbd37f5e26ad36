package evidence

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/edge/events"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/seal"
	"railguard/strictjson"
	"railguard/webhooks"
)

// Webhooks (decision 50): who receives events, and how deliveries went. The leader sends
// them (room webhooks); any node sets them up and shows them.

func (e *Room) webhookRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/webhooks", Handle: e.createWebhook},
		{Method: http.MethodGet, Path: "/v1/webhooks", Handle: listWebhooks},
		{Method: http.MethodGet, Path: "/v1/webhooks/{id}", Handle: getWebhook},
		{Method: http.MethodPatch, Path: "/v1/webhooks/{id}", Handle: e.changeWebhook},
		{Method: http.MethodDelete, Path: "/v1/webhooks/{id}", Handle: deleteWebhook},
		{Method: http.MethodPost, Path: "/v1/webhooks/{id}/rotate-secret", Handle: rotateWebhook},
		{Method: http.MethodPost, Path: "/v1/webhooks/{id}/test", Stream: true, Handle: e.testWebhook},
		{Method: http.MethodGet, Path: "/v1/webhooks/{id}/deliveries", Handle: listDeliveries},
		{Method: http.MethodPost, Path: "/v1/webhooks/{id}/redeliver", Handle: e.redeliverEvents},
	}
}

const webhookTestLimit = 20 * time.Second

// knownWebhook returns the path's webhook, if the caller's scope includes it.
func knownWebhook(c *border.Request) (*wire.Webhook, error) {
	text, ok := strings.CutPrefix(c.PathValue("id"), "whk_")
	id, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil || strconv.FormatUint(id, 10) != text {
		return nil, border.NotFound("no such webhook")
	}
	for {
		for _, hook := range c.Settings().Webhooks {
			if uint64(hook.ID) == id && (c.Key.Institution() || hook.Owner == c.Key.Owner) {
				return hook, nil
			}
		}
		before := c.Judge.Terms
		if err := c.Judge.CatchUp(); err != nil {
			return nil, err
		}
		if c.Judge.Terms == before {
			return nil, border.NotFound("no such webhook")
		}
	}
}

// findSender refuses on a node that has no sender.
func (e *Room) findSender(c *border.Request) (*webhooks.Sender, error) {
	if s := e.deps.Webhooks; s != nil {
		return s, nil
	}
	return nil, border.Unavailable("overloaded", "this node sends no webhooks")
}

// checkURL returns the check of whether this node sends messages to a URL.
func (e *Room) checkURL(c *border.Request) (keys.URLCheck, error) {
	s, err := e.findSender(c)
	if err != nil {
		return nil, err
	}
	return s.Check, nil
}

// createWebhook is POST /v1/webhooks.
func (e *Room) createWebhook(c *border.Request) (border.Answer, error) {
	check, err := e.checkURL(c)
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	hook, err := keys.ReadNewWebhook(&c.Judge, &f, check)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindWebhook, Record: func() (any, error) {
		return hook.Record(&c.Judge)
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedFull {
			return border.Conflict("limit_reached", "there are as many webhooks as there may be", nil)
		}
		return nil
	}}, nil)
}

// changeWebhook is PATCH /v1/webhooks/{id}.
func (e *Room) changeWebhook(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	reason := f.Text("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindWebhook, func(j *edge.Judge) (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		check, err := e.checkURL(c)
		if err != nil {
			return nil, err
		}
		again := c.ReadFields()
		return keys.ChangeWebhook(j, &again, hook, check, reason)
	})
}

// deleteWebhook is DELETE /v1/webhooks/{id}.
func deleteWebhook(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	reason := f.Text("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindWebhook, func(j *edge.Judge) (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		return keys.DeleteWebhook(j, hook, reason)
	})
}

// rotateWebhook is POST /v1/webhooks/{id}/rotate-secret.
func rotateWebhook(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	rotation, err := keys.ReadSecretRotation(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindWebhook, func(j *edge.Judge) (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		return rotation.Record(j, hook)
	})
}

// renderWebhook answers every change of a webhook. The secret is not in the record: only
// the caller that set it sees it, as long as nothing has changed since.
func renderWebhook(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	id, op := l.Text("webhookId"), l.Text("op")
	m.Text("webhookId", id)
	m.Text("op", op)
	m.Text("changedAt", l.Text("time"))
	if op == "created" {
		c.Status = http.StatusCreated
	}
	if op == "redelivered" {
		m.Uint("count", l.Number("count"))
		return nil
	}
	m.Uint("rev", l.Number("rev"))
	l.CopyTo(m, "reason", "eventId")
	for _, hook := range c.Settings().Webhooks {
		if fsm.WebhookID(hook.ID) != id || uint64(hook.Rev) != l.Number("rev") {
			continue
		}
		var shown strictjson.Members
		if err := writeWebhook(c, hook, &shown); err != nil {
			return err
		}
		m.Object("webhook", shown)
		if op == "created" || op == "rotated" {
			key, err := c.Secrets().OpenWebhookKey(hook.Secrets[0])
			if err != nil {
				return err
			}
			m.Text("secret", key.Secret())
		}
	}
	return nil
}

// writeWebhook writes a webhook without its secret.
func writeWebhook(c *border.Request, hook *wire.Webhook, m *strictjson.Members) error {
	m.Text("webhookId", fsm.WebhookID(hook.ID))
	m.TextOrNull("name", hook.Name)
	m.Text("url", hook.URL)
	m.Texts("types", hook.Types)
	m.Bool("sarAllowed", hook.SARAllowed)
	settings, now := c.Settings(), c.Published().LogTime()
	state := "on"
	if _, alive := webhooks.Owner(settings, now, hook); !alive {
		state = "key_gone"
	}
	if hook.Off {
		state = "off"
	}
	m.Text("state", state)
	m.TextOrNull("owner", hook.Owner)
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
		key, err := c.Secrets().OpenWebhookKey(sealed)
		if err != nil {
			return err
		}
		publics = append(publics, key.Public())
	}
	m.Texts("publicKeys", publics)
	if len(publics) > 1 {
		m.Time("olderSecretExpiresAt", hook.OlderUntil)
	}
	m.Time("createdAt", hook.CreatedAt)
	m.Uint("rev", uint64(hook.Rev))
	return nil
}

// listWebhooks is GET /v1/webhooks.
func listWebhooks(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("webhooks")
	if err != nil {
		return border.Answer{}, err
	}
	settings := c.Settings()
	var items []strictjson.Members
	var failed error
	next := p.Scan(uint64(settings.WebhookNext), func(row uint64) bool {
		at, found := slices.BinarySearchFunc(settings.Webhooks, row, func(hook *wire.Webhook, row uint64) int { return int(int64(hook.ID) - int64(row)) })
		if !found || failed != nil || !c.Key.Institution() && settings.Webhooks[at].Owner != c.Key.Owner {
			return false
		}
		var m strictjson.Members
		failed = writeWebhook(c, settings.Webhooks[at], &m)
		items = append(items, m)
		return true
	})
	if failed != nil {
		return border.Answer{}, failed
	}
	return c.AnswerList(items, next)
}

// getWebhook is GET /v1/webhooks/{id}: its settings and its progress.
func getWebhook(c *border.Request) (border.Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	if err := writeWebhook(c, hook, &m); err != nil {
		return border.Answer{}, err
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
	return c.Reply(http.StatusOK, m), nil
}

// listDeliveries is GET /v1/webhooks/{id}/deliveries: dead letters and pending retries,
// newest first.
func listDeliveries(c *border.Request) (border.Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadListQuery("deliveries", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	before := uint64(math.MaxUint64)
	if p.After != nil {
		before = p.After[0]
	}
	var items []strictjson.Members
	next := ""
	view.Sendings(hook.ID, before, func(s fsm.Sending) bool {
		if len(items) == p.Limit {
			next = p.Cursor(s.Row + 1)
			return false
		}
		var m strictjson.Members
		m.Text("eventId", c.Judge.Terms.IDs.EventID(s.Seq, int(s.N)))
		m.Uint("seq", s.Seq)
		if s.Attempts == 0 {
			m.Text("state", "redelivering")
		} else {
			m.Text("state", "dead")
			m.Uint("attempts", uint64(s.Attempts))
			m.Uint("status", uint64(s.Status))
		}
		m.Time("time", s.At)
		items = append(items, m)
		return true
	})
	return c.AnswerList(items, next)
}

// redeliverEvents is POST /v1/webhooks/{id}/redeliver {"eventId"} or {"all": true}.
func (e *Room) redeliverEvents(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
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
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindDelivery, Record: func() (any, error) {
		hook, err := knownWebhook(c)
		if err != nil {
			return nil, err
		}
		if all {
			return keys.RedeliverAll(&c.Judge, hook)
		}
		event, err := e.Hooked.At(c.Context(), hook, at.Leaf, at.Skip-1)
		if err != nil {
			return nil, err
		}
		if event == nil {
			return nil, border.NotFound("no such event, past its 30 days, or none that this webhook is told")
		}
		return keys.RedeliverEvent(&c.Judge, hook, at.Leaf, uint8(at.Skip-1))
	}}, nil)
}

// testWebhook is POST /v1/webhooks/{id}/test: it sends one message at once, from this node.
func (e *Room) testWebhook(c *border.Request) (border.Answer, error) {
	hook, err := knownWebhook(c)
	if err != nil {
		return border.Answer{}, err
	}
	s, err := e.findSender(c)
	if err != nil {
		return border.Answer{}, err
	}
	until := time.Now().Add(webhookTestLimit)
	border.ExtendAnswer(c, until)
	c.DropDeadline()
	ctx, cancel := context.WithDeadline(c.Context(), until)
	defer cancel()
	now := c.Published().LogTime()
	id := "evt_test_" + newKeySuffix()
	var m, data strictjson.Members
	m.Time("timestamp", now)
	m.Text("id", id)
	m.Text("type", "webhook.test")
	m.Time("time", now)
	m.TextOrNull("tenant", hook.Owner)
	data.Text("webhookId", fsm.WebhookID(hook.ID))
	m.Object("data", data)
	a := s.Send(ctx, hook, now, id, append(append([]byte{'{'}, m...), '}'))
	m = c.Out[:0]
	m.Text("eventId", id)
	m.Bool("received", a.OK())
	m.Uint("status", uint64(a.Status))
	m.TextOrNull("failure", a.Failure)
	m.Name("latencyMs")
	m = border.AppendMillis(m, a.Took)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

// newKeySuffix returns a random suffix that distinguishes one test from another.
func newKeySuffix() string { return strings.TrimPrefix(seal.NewKeyID(), "key_") }

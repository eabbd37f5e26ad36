package keys

import (
	"net/url"
	"slices"
	"strconv"

	"railguard/edge"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// Bounds of webhooks. They lie within those of the format.
const (
	webhookURLMax   = 2048
	webhookTypesMax = 128
	overlapDefault  = engine.DayLength
)

// URLCheck returns why messages cannot be sent to a URL, nil if they can.
type URLCheck func(url string) error

// NewWebhook is a webhook to be created (decision 50).
type NewWebhook struct{ hook wire.Webhook }

// ReadNewWebhook reads a webhook and seals its secret. Either the receiver has chosen the
// secret or this node draws it.
func ReadNewWebhook(j *edge.Judge, f *strictjson.Fields, check URLCheck) (NewWebhook, error) {
	var hook wire.Webhook
	key := readSecret(f)
	if err := readWebhook(f, &hook, j.Caller().Institution(), check); err != nil {
		return NewWebhook{}, err
	}
	sealed, err := j.Secrets().SealWebhookKey(key)
	hook.Secrets = [][]byte{sealed}
	return NewWebhook{hook}, err
}

// Record builds the record. A program that makes its webhook anew whenever it starts must not be told
// everything twice, so a second one of the same owner, with the same URL and types, is refused.
func (n *NewWebhook) Record(j *edge.Judge) (*wire.WebhookPut, error) {
	for _, hook := range j.Terms.Settings.Webhooks {
		if hook.Owner == j.Caller().Owner && hook.URL == n.hook.URL && slices.Equal(hook.Types, n.hook.Types) {
			refusal := edge.Refuse("already_exists", "there is a webhook with this URL and these types")
			refusal.Changeable = true
			refusal.Extra.Text("webhookId", "whk_"+strconv.FormatUint(uint64(hook.ID), 10))
			return nil, refusal
		}
	}
	return buildWebhook(j, &n.hook, "", wire.WebhookPut{Op: wire.WebhookCreate, Webhook: n.hook})
}

// ChangeWebhook reads a change of a webhook and builds its record. Absent members and the
// secret stay as they are.
func ChangeWebhook(j *edge.Judge, f *strictjson.Fields, hook *wire.Webhook, check URLCheck, reason string) (*wire.WebhookPut, error) {
	changed := *hook
	if err := readWebhook(f, &changed, hook.Owner == "" && j.Caller().Institution(), check); err != nil {
		return nil, err
	}
	changed.Secrets = nil
	return buildWebhook(j, &changed, reason, wire.WebhookPut{Op: wire.WebhookChange, BaseRev: hook.Rev, Webhook: changed})
}

// DeleteWebhook builds the record that deletes a webhook.
func DeleteWebhook(j *edge.Judge, hook *wire.Webhook, reason string) (*wire.WebhookPut, error) {
	return buildWebhook(j, hook, reason, wire.WebhookPut{Op: wire.WebhookDelete, BaseRev: hook.Rev, Webhook: wire.Webhook{ID: hook.ID}})
}

// SecretRotation gives a webhook another secret.
type SecretRotation struct {
	sealed  []byte
	overlap engine.Time // How long messages are signed with the older secret too.
	reason  string
}

// ReadSecretRotation reads the new secret, or draws one, and seals it.
func ReadSecretRotation(j *edge.Judge, f *strictjson.Fields) (SecretRotation, error) {
	rotation := SecretRotation{overlap: overlapDefault}
	if seconds, given := f.Integer("overlapSeconds", 0, int64(engine.OverlapMax/engine.Second)); given {
		rotation.overlap = engine.Time(seconds) * engine.Second
	}
	rotation.reason = f.Text("reason", engine.TextMax)
	key := readSecret(f)
	if err := f.Err(); err != nil {
		return rotation, err
	}
	var err error
	rotation.sealed, err = j.Secrets().SealWebhookKey(key)
	return rotation, err
}

// Record builds the record.
func (r *SecretRotation) Record(j *edge.Judge, hook *wire.Webhook) (*wire.WebhookPut, error) {
	return buildWebhook(j, hook, r.reason, wire.WebhookPut{
		Op: wire.WebhookRotate, BaseRev: hook.Rev, Overlap: r.overlap, Webhook: wire.Webhook{ID: hook.ID, Secrets: [][]byte{r.sealed}},
	})
}

// readWebhook reads the members of a body into hook.
func readWebhook(f *strictjson.Fields, hook *wire.Webhook, institution bool, check URLCheck) error {
	if f.Has("url") || hook.URL == "" {
		hook.URL = f.RequiredText("url", webhookURLMax)
		if wrong := check(hook.URL); wrong != nil && hook.URL != "" {
			f.Invalid("url", wrong.Error())
		}
	}
	if f.Has("name") {
		hook.Name = f.Text("name", engine.FieldMax)
	}
	if allowed, given := f.Flag("sarAllowed"); given {
		hook.SARAllowed = allowed
	}
	if hook.SARAllowed && !institution {
		f.Invalid("sarAllowed", "may be true in webhooks of the institution alone: others are not told of suspicion")
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
	if !hook.SARAllowed {
		for _, name := range hook.Types {
			if events.TellsOfSuspicion(name) {
				f.Invalid("types", name+" is sent only where sarAllowed is true")
			}
		}
	}
	return f.Err()
}

// readSecret reads the secret that the receiver has chosen. If there is none, it draws one.
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

// buildWebhook completes a record with its common part. The leaf names only the host of the
// URL, because a URL may hold a secret of the receiver.
func buildWebhook(j *edge.Judge, hook *wire.Webhook, reason string, record wire.WebhookPut) (*wire.WebhookPut, error) {
	var err error
	record.Common, err = j.Recorded(hookFragment(hook, reason))
	return &record, err
}

func hookFragment(hook *wire.Webhook, reason string) (m strictjson.Members) {
	if at, err := url.Parse(hook.URL); err == nil && hook.URL != "" {
		m.Text("host", at.Host)
	}
	m.Optional("reason", reason)
	return m
}

// RedeliverAll builds the record that sends all dead letters of a webhook again.
func RedeliverAll(j *edge.Judge, hook *wire.Webhook) (*wire.Delivery, error) {
	common, err := j.Recorded(hookFragment(hook, ""))
	return &wire.Delivery{Common: common, Op: wire.DeliveryAll, Webhook: hook.ID}, err
}

// RedeliverEvent builds the record that sends one event again: the n-th event of a leaf,
// counted from 0.
func RedeliverEvent(j *edge.Judge, hook *wire.Webhook, leaf uint64, n uint8) (*wire.Delivery, error) {
	common, err := j.Recorded(hookFragment(hook, ""))
	return &wire.Delivery{Common: common, Op: wire.DeliveryRevived, Webhook: hook.ID, Seq: leaf, N: n}, err
}

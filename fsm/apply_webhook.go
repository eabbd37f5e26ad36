package fsm

import (
	"slices"
	"strconv"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Webhooks and their cursors (decision 50). The leader keeps track of sending; the log holds
// only what a new leader must know: everything before a webhook's cursor was received or is a
// dead letter.

// eventsOfLeaf is how many events a leaf has at most.
const eventsOfLeaf = 16

func (m *keys) applyWebhook(b *wire.WebhookPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Op == wire.WebhookCreate {
		m.createWebhook(b, r)
		return
	}
	at, found := m.webhookAt(b.Webhook.ID)
	if !found {
		refuse(r, wire.RefusedNotFound)
		return
	}
	old := m.settings.Webhooks[at]
	if old.Rev != b.BaseRev {
		r.Value = uint64(old.Rev)
		refuse(r, wire.RefusedVersion)
		return
	}
	hook := *old
	op := ""
	switch b.Op {
	case wire.WebhookChange:
		op = "changed"
		hook.Name, hook.URL, hook.Types = b.Webhook.Name, b.Webhook.URL, b.Webhook.Types
		hook.SARAllowed, hook.Off = b.Webhook.SARAllowed, b.Webhook.Off
		if row, owner := m.askerOf(b.Key); owner == hook.Owner { // Another owner's change must not give the webhook more rights.
			hook.Key = row
		}
	case wire.WebhookRotate:
		op = "rotated"
		if len(b.Webhook.Secrets) != 1 || b.Overlap < 0 || b.Overlap > m.limits.Overlap {
			refuse(r, wire.RefusedMalformed)
			return
		}
		hook.Secrets = [][]byte{b.Webhook.Secrets[0], old.Secrets[0]}
		if hook.OlderUntil = m.now + b.Overlap; b.Overlap == 0 {
			hook.Secrets, hook.OlderUntil = hook.Secrets[:1], 0
		}
	case wire.WebhookDelete:
		m.deleteWebhook(at, b, r)
		return
	}
	if hook.Rev++; op == "" || !m.soundWebhook(&hook) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.putWebhook(at, &hook)
	m.writeWebhook(&hook, op, &b.Common, r)
}

func (m *keys) createWebhook(b *wire.WebhookPut, r *wire.Result) {
	hook := b.Webhook
	hook.ID, hook.CreatedAt, hook.Rev, hook.OlderUntil, hook.Key = m.settings.WebhookNext+1, m.now, 1, 0, 0
	hook.Key, hook.Owner = m.askerOf(b.Key)
	if !m.soundWebhook(&hook) || len(hook.Secrets) != 1 {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if webhookList.isFull(m.settings, m.limits, hook.Owner) {
		refuse(r, wire.RefusedFull)
		return
	}
	s := m.editSettings()
	s.Webhooks = append(slices.Clone(s.Webhooks), &hook)
	s.WebhookNext = hook.ID
	m.writeWebhook(&hook, "created", &b.Common, r)
	// The webhook gets events from now on, without its own creation.
	m.cursorAt[hook.ID] = m.cursors.Append(cursorRow{Webhook: hook.ID, Seq: m.size, At: m.now})
}

// askerOf returns the row and the owner of the key that a record came with.
func (m *keys) askerOf(by *wire.KeyRef) (row uint32, owner string) {
	if by == nil || by.Row == 0 {
		return 0, "" // The node itself acts for the institution.
	}
	return by.Row, m.settings.Keys[by.Row-1].Owner
}

func (m *keys) deleteWebhook(at int, b *wire.WebhookPut, r *wire.Result) {
	hook := m.settings.Webhooks[at]
	m.editSettings().Webhooks = slices.Delete(slices.Clone(m.settings.Webhooks), at, at+1)
	if row, known := m.cursorAt[hook.ID]; known {
		if last := m.cursors.Next() - 1; row != last {
			*m.cursors.Edit(row) = *m.cursors.At(last)
			m.cursorAt[m.cursors.At(row).Webhook] = row
		}
		m.cursors.DropBack()
		delete(m.cursorAt, hook.ID)
	}
	for i := m.deadLetters.First(); i < m.deadLetters.Next(); i++ {
		if m.deadLetters.At(i).Webhook == hook.ID {
			m.buryDead(i)
		}
	}
	m.writeWebhook(hook, "deleted", &b.Common, r)
}

func (m *keys) putWebhook(at int, hook *wire.Webhook) {
	s := m.editSettings()
	s.Webhooks = slices.Clone(s.Webhooks)
	s.Webhooks[at] = hook
}

func (m *keys) writeWebhook(hook *wire.Webhook, op string, common *wire.Common, r *wire.Result) {
	rev := uint64(hook.Rev)
	m.writeEvent(leaf.KindWebhook, leaf.WebhookChanged{WebhookID: WebhookID(hook.ID), Op: op, Rev: &rev}, common, r)
}

// WebhookID is the text of a webhook's id.
func WebhookID(id uint32) string { return webhookPrefix + strconv.FormatUint(uint64(id), 10) }

const webhookPrefix = "whk_"

// webhookAt finds a webhook in the list, which is in order of ids.
func (m *keys) webhookAt(id uint32) (int, bool) {
	return slices.BinarySearchFunc(m.settings.Webhooks, id, func(hook *wire.Webhook, id uint32) int {
		return int(int64(hook.ID) - int64(id))
	})
}

func (m *keys) soundWebhook(hook *wire.Webhook) bool {
	if len(hook.URL) == 0 || len(hook.URL) > m.limits.URLBytes || len(hook.Name) > m.limits.FieldBytes ||
		len(hook.Types) > m.limits.EventTypes || len(hook.Secrets) == 0 || len(hook.Secrets) > 2 {
		return false
	}
	for _, name := range hook.Types {
		if len(name) > m.limits.FieldBytes {
			return false
		}
	}
	for _, sealed := range hook.Secrets {
		if len(sealed) == 0 || len(sealed) > m.limits.SealedBytes {
			return false
		}
	}
	return true
}

// applyDelivery records the progress of a webhook.
func (m *keys) applyDelivery(b *wire.Delivery, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	at, known := m.webhookAt(b.Webhook)
	switch {
	case !known:
		refuse(r, wire.RefusedNotFound)
		return
	case b.Seq > m.size || b.N > eventsOfLeaf:
		refuse(r, wire.RefusedMalformed)
		return
	}
	r.Code = wire.Unchanged
	key := sendingKey{b.Webhook, b.Seq, b.N}
	switch b.Op {
	case wire.DeliveryCursor:
		row := m.cursors.Edit(m.cursorAt[b.Webhook])
		if b.Seq > row.Seq || b.Seq == row.Seq && b.N > row.N {
			row.Seq, row.N, row.At = b.Seq, b.N, m.now
		}
	case wire.DeliveryDead:
		m.noteDeadLetter(key, b, r)
	case wire.DeliverySent:
		if row, dead := m.deadAt[key]; dead {
			m.buryDead(row)
		}
	case wire.DeliveryRevived, wire.DeliveryAll:
		m.reviveDeadLetters(m.settings.Webhooks[at], key, b, r)
	case wire.DeliveryOff:
		if hook := *m.settings.Webhooks[at]; !hook.Off {
			hook.Off = true
			hook.Rev++
			m.putWebhook(at, &hook)
			m.writeWebhook(&hook, "gone", &b.Common, r)
		}
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

// noteDeadLetter notes a dead letter, once.
func (m *keys) noteDeadLetter(key sendingKey, b *wire.Delivery, r *wire.Result) {
	if b.Attempts == 0 {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, known := m.deadAt[key]
	switch {
	case known && m.deadLetters.At(at).Attempts != 0:
		return // A former leader gave it up already.
	case !known:
		at = m.appendDead(deadLetterRow{Webhook: key.webhook, Seq: key.seq, N: key.n})
	}
	row := m.deadLetters.Edit(at)
	row.Attempts, row.Status, row.At = b.Attempts, b.Status, m.now
	m.writeEvent(leaf.KindDeadLetter, leaf.DeadLetter{
		WebhookID: WebhookID(key.webhook), Seq: key.seq, N: uint64(key.n), Attempts: uint64(b.Attempts), Status: uint64(b.Status),
	}, &b.Common, r)
}

// reviveDeadLetters requests that one event, or all dead letters of the webhook, be sent
// again.
func (m *keys) reviveDeadLetters(hook *wire.Webhook, key sendingKey, b *wire.Delivery, r *wire.Result) {
	count := 0
	if b.Op == wire.DeliveryRevived {
		at, known := m.deadAt[key]
		if !known {
			at = m.appendDead(deadLetterRow{Webhook: key.webhook, Seq: key.seq, N: key.n, Attempts: 1})
		}
		if row := m.deadLetters.Edit(at); row.Attempts != 0 {
			row.Attempts, row.At, count = 0, m.now, 1
		}
	} else {
		for i := m.deadLetters.First(); i < m.deadLetters.Next(); i++ {
			if row := m.deadLetters.At(i); row.Webhook == key.webhook && row.Attempts != 0 {
				m.deadLetters.Edit(i).Attempts = 0
				count++
			}
		}
	}
	r.Value = uint64(count)
	event := leaf.WebhookChanged{WebhookID: WebhookID(hook.ID), Op: "redelivered", Count: &r.Value}
	if b.Op == wire.DeliveryRevived {
		seq, n := key.seq, uint64(key.n)
		event.Seq, event.N = &seq, &n
	}
	m.writeEvent(leaf.KindWebhook, event, &b.Common, r)
}

// appendDead adds a row, whose leaf is written next. In a full table it drops the oldest row
// of the owner that has the most, so that no owner pushes out another's. The dropped
// row's leaf stays.
func (m *keys) appendDead(row deadLetterRow) uint64 {
	if len(m.deadAt) >= m.limits.DeadLetters {
		m.buryDead(m.oldestDeadOf(m.mostDead()))
	}
	if m.deadLetters.Len() >= m.limits.DeadLetters*buriedFactor {
		m.packDead()
	}
	row.At = m.now
	at := m.deadLetters.Append(row)
	m.deadAt[sendingKey{row.Webhook, row.Seq, row.N}] = at
	m.deadOf[row.Webhook]++
	return at
}

// buriedFactor is how many times more rows than dead letters the table may have before packDead
// removes the empty rows. So packDead runs only after many additions, and its cost per addition
// is small.
const buriedFactor = 2

func (m *keys) buryDead(at uint64) {
	if row := *m.deadLetters.At(at); row.Webhook != 0 {
		delete(m.deadAt, sendingKey{row.Webhook, row.Seq, row.N})
		if m.deadOf[row.Webhook]--; m.deadOf[row.Webhook] == 0 {
			delete(m.deadOf, row.Webhook)
		}
		m.deadLetters.Edit(at).Webhook = 0
	}
}

// mostDead returns the owner whose webhooks have the most dead letters; "": the institution.
func (m *keys) mostDead() (owner string) {
	counts, most := map[string]int{}, 0
	for _, hook := range m.settings.Webhooks {
		counts[hook.Owner] += m.deadOf[hook.ID]
		if n := counts[hook.Owner]; n > most {
			owner, most = hook.Owner, n
		}
	}
	return owner
}

func (m *keys) oldestDeadOf(owner string) uint64 {
	for i := m.deadLetters.First(); i < m.deadLetters.Next(); i++ {
		if id := m.deadLetters.At(i).Webhook; id != 0 {
			if at, known := m.webhookAt(id); known && m.settings.Webhooks[at].Owner == owner {
				return i
			}
		}
	}
	return m.deadLetters.First()
}

// packDead removes the empty rows. The others keep their order.
func (m *keys) packDead() {
	to := m.deadLetters.First()
	for i := to; i < m.deadLetters.Next(); i++ {
		row := *m.deadLetters.At(i)
		if row.Webhook == 0 {
			continue
		}
		if to != i {
			*m.deadLetters.Edit(to) = row
			m.deadAt[sendingKey{row.Webhook, row.Seq, row.N}] = to
		}
		to++
	}
	for m.deadLetters.Next() > to {
		m.deadLetters.DropBack()
	}
}

// forgetDeadLetters drops rows that are empty or too old, from the front, a bounded number in
// each tick.
func (m *keys) forgetDeadLetters() {
	for n := 0; n < m.limits.ExpiredAtOneTick && m.deadLetters.Len() > 0; n++ {
		first := m.deadLetters.First()
		if row := m.deadLetters.At(first); row.Webhook != 0 && m.now < row.At+m.limits.DeadLetterKept {
			return
		}
		m.buryDead(first)
		m.deadLetters.DropFront()
	}
}

// Sending is one event that is to be sent to a webhook again, or a dead letter.
type Sending struct {
	Row      uint64 // Its position in the table.
	Seq      uint64
	N        uint8
	Attempts uint8 // Attempts before it was given up; 0: it is to be sent again.
	Status   uint16
	At       engine.Time
}

// Cursor returns a webhook's cursor and when it was noted. Everything before the cursor was
// received or is a dead letter. It returns false if there is no such webhook.
func (v *View) Cursor(webhook uint32) (seq uint64, n uint8, at engine.Time, found bool) {
	for i := v.cursors.First(); i < v.cursors.Next(); i++ {
		if row := v.cursors.At(i); row.Webhook == webhook {
			return row.Seq, row.N, row.At, true
		}
	}
	return 0, 0, 0, false
}

// Sendings calls visit with a webhook's dead letters and events to be sent again that stand
// before a row, newest first, until visit returns false.
func (v *View) Sendings(webhook uint32, before uint64, visit func(Sending) bool) {
	for i := min(before, v.deadLetters.Next()); i > v.deadLetters.First(); i-- {
		row := v.deadLetters.At(i - 1)
		if row.Webhook != webhook {
			continue
		}
		if !visit(Sending{Row: i - 1, Seq: row.Seq, N: row.N, Attempts: row.Attempts, Status: row.Status, At: row.At}) {
			return
		}
	}
}

// Asked calls visit with every event that is to be sent again, oldest asking first.
func (v *View) Asked(visit func(webhook uint32, seq uint64, n uint8)) {
	for i := v.deadLetters.First(); i < v.deadLetters.Next(); i++ {
		if row := v.deadLetters.At(i); row.Webhook != 0 && row.Attempts == 0 {
			visit(row.Webhook, row.Seq, row.N)
		}
	}
}

package fsm

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

func testHook(change ...func(*wire.Webhook)) wire.Webhook {
	hook := wire.Webhook{URL: "https://hooks.example.com/in", Secrets: [][]byte{{1}}, Types: []string{"screen.block"}}
	for _, do := range change {
		do(&hook)
	}
	return hook
}

func (w *world) hook(op uint8, base uint32, hook wire.Webhook, common ...wire.Common) wire.Result {
	body := &wire.WebhookPut{Op: op, BaseRev: base, Webhook: hook}
	if len(common) > 0 {
		body.Common = common[0]
	}
	return w.do(wire.KindWebhook, body)
}

func (w *world) delivered(op uint8, id uint32, seq uint64, n uint8) wire.Result {
	return w.do(wire.KindDelivery, &wire.Delivery{Op: op, Webhook: id, Seq: seq, N: n, Attempts: 10, Status: 503})
}

// sendings returns the events that are to be sent to a webhook again, and its dead letters.
func (w *world) sendings(id uint32) (pending, dead []uint64) {
	w.m.Freeze().Sendings(id, math.MaxUint64, func(s Sending) bool {
		if s.Attempts == 0 {
			pending = append(pending, s.Seq)
		} else {
			dead = append(dead, s.Seq)
		}
		return true
	})
	return pending, dead
}

func TestWebhookLife(t *testing.T) {
	w := newWorld(t)
	r := w.hook(wire.WebhookCreate, 0, testHook())
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"kind":"webhook.changed"`)
	require.Contains(t, string(r.Data), `"webhookId":"whk_1","op":"created","rev":1`)
	seq, n, _, found := w.m.Freeze().Cursor(1)
	require.True(t, found)
	require.EqualValues(t, w.m.size, seq, "what was before is not told, nor its own creation")
	require.Zero(t, n)

	require.Equal(t, wire.RefusedVersion, w.hook(wire.WebhookChange, 7, testHook(func(h *wire.Webhook) { h.ID = 1 })).Refusal)
	require.Equal(t, wire.RefusedNotFound, w.hook(wire.WebhookChange, 1, testHook(func(h *wire.Webhook) { h.ID = 2 })).Refusal)
	r = w.hook(wire.WebhookChange, 1, testHook(func(h *wire.Webhook) { h.ID, h.Off, h.Types = 1, true, nil }))
	require.Equal(t, wire.Applied, r.Code)
	require.True(t, w.m.settings.Webhooks[0].Off)
	require.Equal(t, [][]byte{{1}}, w.m.settings.Webhooks[0].Secrets, "a change is no rotation")

	rotate := func(base uint32, secret byte, overlap engine.Time) wire.Result {
		return w.do(wire.KindWebhook, &wire.WebhookPut{Op: wire.WebhookRotate, BaseRev: base, Overlap: overlap, Webhook: wire.Webhook{ID: 1, Secrets: [][]byte{{secret}}}})
	}
	require.Equal(t, wire.Applied, rotate(2, 2, engine.Hour).Code)
	require.Equal(t, [][]byte{{2}, {1}}, w.m.settings.Webhooks[0].Secrets)
	require.Equal(t, w.m.now+engine.Hour, w.m.settings.Webhooks[0].OlderUntil)
	require.Equal(t, wire.Applied, rotate(3, 3, 0).Code)
	require.Equal(t, [][]byte{{3}}, w.m.settings.Webhooks[0].Secrets, "without overlap the older one is gone at once")
	require.Equal(t, wire.RefusedMalformed, rotate(4, 3, 169*engine.Hour).Refusal)

	require.Equal(t, wire.Applied, w.hook(wire.WebhookDelete, 4, wire.Webhook{ID: 1}).Code)
	require.Empty(t, w.m.settings.Webhooks)
	require.Zero(t, w.m.keys.cursors.Len())
	w.hook(wire.WebhookCreate, 0, testHook())
	require.EqualValues(t, 2, w.m.settings.Webhooks[0].ID, "an id is never given twice")
	for name, hook := range map[string]wire.Webhook{
		"no url":      testHook(func(h *wire.Webhook) { h.URL = "" }),
		"long url":    testHook(func(h *wire.Webhook) { h.URL = string(make([]byte, 2049)) }),
		"no secret":   testHook(func(h *wire.Webhook) { h.Secrets = nil }),
		"two secrets": testHook(func(h *wire.Webhook) { h.Secrets = [][]byte{{1}, {2}} }),
		"types":       testHook(func(h *wire.Webhook) { h.Types = make([]string, 129) }),
	} {
		require.Equal(t, wire.RefusedMalformed, w.hook(wire.WebhookCreate, 0, hook).Refusal, name)
	}
	require.Equal(t, wire.RefusedMalformed, w.hook(9, 1, wire.Webhook{ID: 2}).Refusal)
}

// TestWebhookIsAKeys: a webhook belongs to the key that made it, within that key's operator.
// A change by another operator's key does not take it over.
func TestWebhookIsAKeys(t *testing.T) {
	w := newWorld(t)
	by := func(id, operator string) wire.Common {
		key := wire.APIKey{ID: id, Name: "n", Owner: operator, Hashes: [][]byte{append(make([]byte, 31), id[0])}}
		require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}).Code)
		return wire.Common{Key: &wire.KeyRef{Row: uint32(len(w.m.settings.Keys)), Rev: 1}}
	}
	acme, institution, other := by("a", "cal_acme"), by("i", ""), by("b", "cal_acme")
	w.hook(wire.WebhookCreate, 0, testHook(func(h *wire.Webhook) { h.Owner, h.Key = "cal_globex", 9 }), acme)
	require.Equal(t, "cal_acme", w.m.settings.Webhooks[0].Owner, "whose it is follows from the key alone")
	require.Equal(t, acme.Key.Row, w.m.settings.Webhooks[0].Key)
	change := func(base uint32, common wire.Common) uint32 {
		require.Equal(t, wire.Applied, w.hook(wire.WebhookChange, base, testHook(func(h *wire.Webhook) { h.ID = 1 }), common).Code)
		return w.m.settings.Webhooks[0].Key
	}
	require.Equal(t, acme.Key.Row, change(1, institution))
	require.Equal(t, acme.Key.Row, change(2, wire.Common{}))
	require.Equal(t, other.Key.Row, change(3, other))
	for range w.m.limits.WebhooksOfOperator - 1 {
		require.Equal(t, wire.Applied, w.hook(wire.WebhookCreate, 0, testHook(), acme).Code)
	}
	require.Equal(t, wire.RefusedFull, w.hook(wire.WebhookCreate, 0, testHook(), acme).Refusal)
	require.Equal(t, wire.Applied, w.hook(wire.WebhookCreate, 0, testHook(), institution).Code, "one operator does not fill the table")
}

func TestDeliveries(t *testing.T) {
	w := newWorld(t)
	w.hook(wire.WebhookCreate, 0, testHook())
	w.register("a")
	size := w.m.size
	require.Equal(t, wire.Unchanged, w.delivered(wire.DeliveryCursor, 1, size, 2).Code)
	for _, back := range [][2]uint64{{size - 1, 9}, {size, 1}} {
		w.delivered(wire.DeliveryCursor, 1, back[0], uint8(back[1]))
		seq, n, _, _ := w.m.Freeze().Cursor(1)
		require.Equal(t, [2]uint64{size, 2}, [2]uint64{seq, uint64(n)}, "a cursor never goes back")
	}
	require.Equal(t, size, w.m.size, "a cursor is no event: it would feed itself")
	require.Equal(t, wire.RefusedMalformed, w.delivered(wire.DeliveryCursor, 1, size+1, 0).Refusal)
	require.Equal(t, wire.RefusedNotFound, w.delivered(wire.DeliveryCursor, 2, size, 0).Refusal)

	r := w.delivered(wire.DeliveryDead, 1, 3, 1)
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"kind":"`+leaf.KindDeadLetter+`"`)
	require.Contains(t, string(r.Data), `"webhookId":"whk_1","seq":3,"n":1,"attempts":10,"status":503`)
	require.Equal(t, wire.Unchanged, w.delivered(wire.DeliveryDead, 1, 3, 1).Code, "given up once, whoever says so again")
	w.delivered(wire.DeliveryDead, 1, 4, 0)
	pending, dead := w.sendings(1)
	require.Empty(t, pending)
	require.Equal(t, []uint64{4, 3}, dead)

	require.EqualValues(t, 1, w.delivered(wire.DeliveryRevived, 1, 3, 1).Value)
	require.EqualValues(t, 0, w.delivered(wire.DeliveryRevived, 1, 3, 1).Value)
	require.EqualValues(t, 1, w.delivered(wire.DeliveryRevived, 1, 5, 0).Value, "also what was received")
	pending, dead = w.sendings(1)
	require.Equal(t, []uint64{5, 3}, pending)
	require.Equal(t, []uint64{4}, dead)
	w.delivered(wire.DeliverySent, 1, 3, 1)
	w.delivered(wire.DeliveryDead, 1, 5, 0)
	require.EqualValues(t, 2, w.delivered(wire.DeliveryAll, 1, 0, 0).Value)
	pending, dead = w.sendings(1)
	require.Equal(t, []uint64{5, 4}, pending)
	require.Empty(t, dead)

	require.Equal(t, wire.Applied, w.delivered(wire.DeliveryOff, 1, 0, 0).Code)
	require.Equal(t, wire.Unchanged, w.delivered(wire.DeliveryOff, 1, 0, 0).Code)
	require.True(t, w.m.settings.Webhooks[0].Off)
	w.now += w.m.limits.DeadLetterKept + engine.Second
	w.tick()
	require.Zero(t, w.m.keys.deadLetters.Len())
	require.Empty(t, w.m.keys.deadAt)
}

func TestDeadLettersMakeRoom(t *testing.T) {
	w := newWorld(t)
	limits := *w.m.limits
	limits.DeadLetters = 3
	w.m.limits = &limits
	w.hook(wire.WebhookCreate, 0, testHook())
	for seq := range uint64(5) {
		w.delivered(wire.DeliveryDead, 1, seq, 0)
	}
	_, dead := w.sendings(1)
	require.Equal(t, []uint64{4, 3, 2}, dead)
	require.Len(t, w.m.keys.deadAt, 3)
	w.hook(wire.WebhookDelete, 1, wire.Webhook{ID: 1})
	require.Empty(t, w.m.keys.deadAt)
	restoredFrom(t, w.m)
}

// TestDeadLettersOfOthersStay: in a full table the operator with the most dead letters makes
// room. Requesting events again without end leaves empty rows, but drops no dead letter of
// another operator.
func TestDeadLettersOfOthersStay(t *testing.T) {
	w := newWorld(t)
	limits := *w.m.limits
	limits.DeadLetters = 8
	w.m.limits = &limits
	for row, operator := range []string{"cal_acme", "cal_globex", "cal_globex"} {
		if row < 2 {
			key := wire.APIKey{ID: operator, Owner: operator, Hashes: key32(byte(100 + row))}
			require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}).Code)
		}
		by := wire.Common{Key: &wire.KeyRef{Row: uint32(len(w.m.settings.Keys)), Rev: 1}}
		require.Equal(t, wire.Applied, w.hook(wire.WebhookCreate, 0, testHook(), by).Code)
	}
	for range 40 {
		w.tick() // Ticks write leaves that the webhooks can name.
		w.register("a")
	}
	w.delivered(wire.DeliveryDead, 1, 1, 0)
	w.delivered(wire.DeliveryDead, 1, 2, 0)
	for seq := range uint64(30) {
		w.delivered(wire.DeliveryDead, 2+uint32(seq%2), seq, 0)
	}
	_, dead := w.sendings(1)
	require.Equal(t, []uint64{2, 1}, dead, "the other operator's")
	_, two := w.sendings(2)
	_, three := w.sendings(3)
	require.Equal(t, []uint64{28, 26, 24}, two)
	require.Equal(t, []uint64{29, 27, 25}, three)

	for seq := range uint64(30) { // Any event may be requested again and again.
		w.delivered(wire.DeliveryRevived, 2, seq, 1)
		w.delivered(wire.DeliverySent, 2, seq, 1)
	}
	_, dead = w.sendings(1)
	require.Equal(t, []uint64{2, 1}, dead)
	require.LessOrEqual(t, w.m.keys.deadLetters.Len(), buriedFactor*limits.DeadLetters)
	require.Equal(t, map[uint32]int{1: 2, 2: 2, 3: 3}, w.m.keys.deadOf)
	restoredFrom(t, w.m)
}

// TestWebhooksReplay: random webhooks and deliveries give the same state, wherever the
// Machine is restored.
func TestWebhooksReplay(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 5))
		codes := map[wire.Code]int{}
		for range 400 {
			w.now += engine.Time(random.Int64N(int64(6 * engine.Hour)))
			id := 1 + random.Uint32N(w.m.settings.WebhookNext+2)
			if random.IntN(3) == 0 {
				base := uint32(1)
				if at, known := w.m.keys.webhookAt(id); known {
					base = w.m.settings.Webhooks[at].Rev
				}
				op := []uint8{wire.WebhookCreate, wire.WebhookChange, wire.WebhookRotate, wire.WebhookCreate, wire.WebhookDelete}[random.IntN(5)]
				r := w.do(wire.KindWebhook, &wire.WebhookPut{Common: randomCommon(random), Op: op, BaseRev: base, Webhook: testHook(func(h *wire.Webhook) { h.ID = id })})
				codes[r.Code]++
				continue
			}
			if hooks := w.m.settings.Webhooks; len(hooks) > 0 && random.IntN(4) > 0 {
				id = hooks[random.IntN(len(hooks))].ID
			}
			r := w.do(wire.KindDelivery, &wire.Delivery{
				Op: 1 + uint8(random.IntN(6)), Webhook: id, Seq: random.Uint64N(w.m.size + 2), N: uint8(random.IntN(3)), Attempts: uint8(random.IntN(3)), Status: 500,
			})
			codes[r.Code]++
			if random.IntN(10) == 0 {
				w.tick()
			}
		}
		require.Greater(t, codes[wire.Applied], 50)
		require.NotZero(t, codes[wire.Refused])
		replayAgrees(t, w, seed)
	}
}

// TestRestoreRefusesBrokenWebhooks: Restore refuses webhooks without the rows that Apply
// relies on.
func TestRestoreRefusesBrokenWebhooks(t *testing.T) {
	for name, spoil := range map[string]func(*Machine){
		"no cursor":         func(m *Machine) { m.keys.cursors.DropBack() },
		"a stranger's":      func(m *Machine) { m.keys.cursors.Edit(1).Webhook = 7 },
		"beyond the end":    func(m *Machine) { m.keys.cursors.Edit(1).Seq = m.size + 1 },
		"twice":             func(m *Machine) { m.keys.cursors.Edit(1).Webhook = 2 },
		"dead of nobody":    func(m *Machine) { m.keys.deadLetters.Edit(0).Webhook = 9 },
		"dead twice":        func(m *Machine) { *m.keys.deadLetters.Edit(1) = *m.keys.deadLetters.At(0) },
		"id of the future":  func(m *Machine) { m.editSettings().WebhookNext = 1 },
		"no secret":         func(m *Machine) { m.settings.Webhooks[0].Secrets = nil },
		"key of the future": func(m *Machine) { m.settings.Webhooks[0].Key = 99 },
	} {
		w := newWorld(t)
		w.hook(wire.WebhookCreate, 0, testHook())
		w.hook(wire.WebhookCreate, 0, testHook())
		w.delivered(wire.DeliveryDead, 1, 1, 0)
		w.delivered(wire.DeliveryDead, 2, 1, 0)
		restoredFrom(t, w.m)
		spoil(w.m)
		var buffer bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&buffer)
		require.NoError(t, err)
		_, err = Restore(&buffer)
		require.ErrorIs(t, err, ErrSnapshot, name)
	}
}

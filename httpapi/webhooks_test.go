package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

const hookBody = `{"url":"https://hooks.example.com/in","types":["screen.block","hold.*"],"name":"ledger"}`

func TestWebhooksOverHTTP(t *testing.T) {
	n := newTestNode(t)
	w := n.do("admin", "POST", "/v1/webhooks", hookBody, "Idempotency-Key", "k1")
	made := answer(t, w, 201)
	require.Equal(t, "whk_1", textOf(made, "webhookId"))
	secret := textOf(made, "secret")
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	public := string(made.GetStringBytes("webhook", "publicKeys", "0"))
	require.True(t, strings.HasPrefix(public, "whpk_"))
	again := n.do("admin", "POST", "/v1/webhooks", hookBody, "Idempotency-Key", "k1")
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	require.Equal(t, w.Body.String(), again.Body.String(), "a retry learns the secret as well")
	n.stored("admin", secret)

	shown := answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200)
	require.Equal(t, "on", textOf(shown, "state"))
	require.Equal(t, "key_bootstrap", textOf(shown, "keyId"))
	require.Empty(t, textOf(shown, "secret"))
	changed := answer(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"off":true,"types":[],"reason":"a pause"}`), 200)
	require.Equal(t, "off", textOf(changed, "webhook", "state"))
	require.Equal(t, "https://hooks.example.com/in", textOf(changed, "webhook", "url"))
	require.False(t, changed.Exists("secret"))
	again = n.do("admin", "POST", "/v1/webhooks", hookBody, "Idempotency-Key", "k1")
	require.False(t, fastjson.MustParseBytes(again.Body.Bytes()).Exists("secret"), "not once something has changed")

	rotated := answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/rotate-secret", `{"overlapSeconds":60,"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`), 200)
	require.Equal(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", textOf(rotated, "secret"))
	require.Len(t, rotated.GetArray("webhook", "publicKeys"), 2)
	n.advance(61 * engine.Second)
	shown = answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200)
	require.Len(t, shown.GetArray("publicKeys"), 1)
	require.NotEqual(t, public, string(shown.GetStringBytes("publicKeys", "0")))
	drawn := answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/rotate-secret", ""), 200)
	require.Len(t, drawn.GetArray("webhook", "publicKeys"), 2)

	list := answer(t, n.do("admin", "GET", "/v1/webhooks", ""), 200)
	require.Len(t, list.GetArray("data"), 1)
	require.Equal(t, "deleted", textOf(answer(t, n.do("admin", "DELETE", "/v1/webhooks/whk_1", `{"reason":"over"}`), 200), "op"))
	for _, call := range [][2]string{
		{"GET", ""}, {"PATCH", ""}, {"DELETE", ""}, {"POST", "/rotate-secret"}, {"POST", "/test"}, {"GET", "/deliveries"},
	} {
		for _, id := range []string{"whk_1", "whk_01", "1", "whk_", "whk_99999999999"} {
			refused(t, n.do("admin", call[0], "/v1/webhooks/"+id+call[1], "{}"), 404, "not_found")
		}
	}
	refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", `{"all":true}`), 404, "not_found")
}

// stored fails the test if the log holds the secret.
func (n *testNode) stored(_ string, secret string) {
	n.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(n.t, err)
	for i := range n.store.Size() {
		data, err := n.store.Leaf(i)
		require.NoError(n.t, err)
		require.NotContains(n.t, string(data), secret)
	}
	for _, hook := range n.Settings().Webhooks {
		for _, sealed := range hook.Secrets {
			require.NotContains(n.t, string(sealed), string(raw))
		}
	}
}

func refused(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, code, textOf(fastjson.MustParseBytes(w.Body.Bytes()), "code"))
}

func TestBadWebhooks(t *testing.T) {
	n := newTestNode(t)
	for body, param := range map[string]string{
		`{}`: "url", `{"url":""}`: "url", `{"url":null}`: "url", `{"url":7}`: "url", `{"url":"http://10.0.0.1/"}`: "url", `{"url":"https://10.0.0.1/"}`: "url",
		`{"url":"https://a.example/#x"}`: "url", `{"url":"https://a.example/","types":["nothing"]}`: "types", `{"url":"https://a.example/","types":"x"}`: "types",
		`{"url":"https://a.example/","types":[""]}`: "types", `{"url":"https://a.example/","types":["sar.opened"]}`: "types",
		`{"url":"https://a.example/","types":["review.escalated"]}`: "types", `{"url":"https://a.example/","secret":"whsec_c2hvcnQ="}`: "secret",
		`{"url":"https://a.example/","sarAllowed":"yes"}`: "sarAllowed", `{"url":"https://a.example/","secrets":"x"}`: "secrets",
	} {
		w := n.do("admin", "POST", "/v1/webhooks", body)
		require.Equal(t, 422, w.Code, body)
		require.Equal(t, param, textOf(fastjson.MustParseBytes(w.Body.Bytes()), "param"), body)
	}
	require.Empty(t, n.Settings().Webhooks)
	answer(t, n.do("admin", "POST", "/v1/webhooks", `{"url":"https://a.example/","types":["sar.opened"],"sarAllowed":true}`), 201)
	refused(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"sarAllowed":false}`), 422, "invalid_field")
	refused(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"url":"https://127.0.0.1:1/","types":["x"]}`), 422, "invalid_field")
	refused(t, n.do("admin", "DELETE", "/v1/webhooks/whk_1", `{"reason":7}`), 422, "invalid_field")
	refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/rotate-secret", `{"overlapSeconds":-1}`), 422, "invalid_field")
	refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/test", `{"x":1}`), 422, "unknown_field")
	for _, body := range []string{`{}`, `{"all":false}`, `{"eventId":"evt_1_0","all":true}`, `{"eventId":"17"}`, `{"eventId":"x"}`} {
		refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", body), 422, "invalid_field")
	}
	refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", `{"eventId":"evt_99999_0"}`), 404, "not_found")
	n.reopen(func(d *Deps) { d.Webhooks = nil })
	refused(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 503, "overloaded")
}

// An operator's key manages its own webhooks and sees no other's.
func TestWebhooksOfTenants(t *testing.T) {
	n := newTenants(t)
	n.addKey(wire.APIKey{ID: "key_acme_admin", Owner: "Acme", Roles: wire.RoleOperator}, testSecret("acmeadmin"))
	n.addKey(wire.APIKey{ID: "key_globex_admin", Owner: "Globex", Roles: wire.RoleOperator}, testSecret("globexadmin"))
	answer(t, n.do("acmeadmin", "POST", "/v1/webhooks", hookBody), 201)
	answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 201)
	require.Len(t, answer(t, n.do("acmeadmin", "GET", "/v1/webhooks", ""), 200).GetArray("data"), 1)
	require.Empty(t, answer(t, n.do("globexadmin", "GET", "/v1/webhooks", ""), 200).GetArray("data"))
	require.Len(t, answer(t, n.do("admin", "GET", "/v1/webhooks", ""), 200).GetArray("data"), 2)
	for _, call := range [][3]string{
		{"GET", "", ""}, {"PATCH", "", "{}"}, {"DELETE", "", "{}"}, {"POST", "/rotate-secret", "{}"}, {"POST", "/test", "{}"}, {"POST", "/redeliver", `{"all":true}`},
	} {
		refused(t, n.do("globexadmin", call[0], "/v1/webhooks/whk_1"+call[1], call[2]), 404, "not_found")
		refused(t, n.do("acmeadmin", call[0], "/v1/webhooks/whk_2"+call[1], call[2]), 404, "not_found")
	}
	shown := answer(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"off":true}`), 200)
	require.Equal(t, "key_acme_admin", textOf(shown, "webhook", "keyId"), "the institution's change takes nothing over")
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_acme_admin"}})
	answer(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"off":false}`), 200)
	require.Equal(t, "key_gone", textOf(answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200), "state"))
}

// toldByWebhook returns the types and the bodies of all events that a webhook would be
// sent.
func (n *testNode) toldByWebhook(hook wire.Webhook) (names []string, bodies []string) {
	for at := (events.Position{}); at.Leaf < n.store.Size(); {
		event, next, err := n.api.evidence.Hooked.Next(context.Background(), &hook, at)
		require.NoError(n.t, err)
		if event != nil {
			names, bodies = append(names, event.Type), append(bodies, string(event.Body))
		}
		if at == next {
			break
		}
		at = next
	}
	return names, bodies
}

// A webhook is not sent what its key may not see in GET /v1/events. Events that reveal
// suspicion are sent only where that was allowed.
func TestWebhooksKeepTheWall(t *testing.T) {
	n := newTenants(t)
	n.history()
	keys := map[string]uint32{}
	for i, key := range n.Settings().Keys {
		keys[key.ID] = uint32(i + 1)
	}
	add := func(id, operator string, roles uint16) uint32 {
		n.addKey(wire.APIKey{ID: id, Owner: operator, Roles: roles}, testSecret(strings.TrimPrefix(id, "key_")))
		return uint32(len(n.Settings().Keys))
	}
	for _, owner := range []struct{ id, operator string }{{"key_one", ""}, {"key_two", "Acme"}, {"key_three", "Globex"}} {
		roles := wire.RoleAdmin
		if owner.operator != "" {
			roles = wire.RolesOfOutsiders
		}
		row := add(owner.id, owner.operator, roles)
		all, feed := n.told(strings.TrimPrefix(owner.id, "key_"), "")
		told, bodies := n.toldByWebhook(wire.Webhook{ID: 7, Key: row, Owner: n.Settings().Keys[row-1].Owner, SARAllowed: true})
		require.Equal(t, all, told, owner.id)
		for i, body := range bodies {
			require.JSONEq(t, feed[i].String(), "{"+body+"}")
		}
		walled, bodies := n.toldByWebhook(wire.Webhook{ID: 7, Key: row, Owner: n.Settings().Keys[row-1].Owner})
		for i, name := range walled {
			require.False(t, events.TellsOfSuspicion(name), name)
			require.NotContains(t, bodies[i], "ESCALATE_SAR")
			require.NotContains(t, bodies[i], `"sarEscalated":true`)
		}
		require.Equal(t, owner.operator == "", slices.Contains(told, "sar.opened"), "the institution alone is told of suspicion, whatever the webhook says")
		if owner.operator != "Globex" {
			require.Contains(t, walled, "review.dispositioned", "others' dispositions are told")
		}
	}
	row := add("key_narrow", "Acme", wire.RoleScreener)
	narrow, _ := n.told("narrow", "")
	told, _ := n.toldByWebhook(wire.Webhook{ID: 7, Key: row, Owner: n.operatorID("Acme"), SARAllowed: true})
	require.Equal(t, narrow, told, "a key that stands outside the wall has a webhook that does")
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_narrow"}})
	told, _ = n.toldByWebhook(wire.Webhook{ID: 7, Key: row, Owner: n.operatorID("Acme"), SARAllowed: true})
	require.Empty(t, told)
}

// The node that is called posts a test message, signed like any other.
func TestTestMessage(t *testing.T) {
	n := newTestNode(t)
	status := 204
	var head http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer server.Close()
	made := answer(t, n.do("admin", "POST", "/v1/webhooks", `{"url":"`+server.URL+`/in"}`), 201)
	key, err := seal.NewWebhookKey(textOf(made, "secret"))
	require.NoError(t, err)
	test := answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/test", "{}"), 200)
	require.True(t, test.GetBool("received"))
	require.Equal(t, textOf(test, "eventId"), head.Get("Webhook-Id"))
	at, err := strconv.ParseInt(head.Get("Webhook-Timestamp"), 10, 64)
	require.NoError(t, err)
	v1, _, _ := strings.Cut(key.Sign(head.Get("Webhook-Id"), at, body), " ")
	require.Contains(t, head.Get("Webhook-Signature"), v1+" v1a,")
	require.Equal(t, "webhook.test", textOf(fastjson.MustParseBytes(body), "type"))
	status = 500
	test = answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/test", ""), 200)
	require.False(t, test.GetBool("received"))
	require.Equal(t, 500, test.GetInt("status"))
	server.Close()
	test = answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/test", ""), 200)
	require.Equal(t, "connection", textOf(test, "failure"))
}

func TestDeliveriesOverHTTP(t *testing.T) {
	n := newTestNode(t)
	answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 201)
	n.screen("x", "")
	last := n.store.Size() - 1
	for i := range uint64(5) {
		n.must(wire.KindDelivery, &wire.Delivery{Op: wire.DeliveryDead, Webhook: 1, Seq: i, Attempts: 10, Status: 503})
	}
	var ids []string
	cursor := ""
	for range 3 {
		page := answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1/deliveries?limit=2"+cursor, ""), 200)
		for _, d := range page.GetArray("data") {
			require.Equal(t, "dead", textOf(d, "state"))
			ids = append(ids, textOf(d, "eventId"))
		}
		cursor = "&cursor=" + textOf(page, "nextCursor")
	}
	require.Equal(t, []string{"evt_4_0", "evt_3_0", "evt_2_0", "evt_1_0", "evt_0_0"}, ids)
	shown := answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200)
	require.Equal(t, 5, shown.GetInt("deadLetters"))

	refused(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", fmt.Sprintf(`{"eventId":"evt_%d_3"}`, last)), 404, "not_found")
	answer(t, n.do("admin", "PATCH", "/v1/webhooks/whk_1", `{"types":["screen.unknown"]}`), 200)
	one := answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", fmt.Sprintf(`{"eventId":"evt_%d_3"}`, last)), 200)
	require.Equal(t, 1, one.GetInt("count"))
	all := answer(t, n.do("admin", "POST", "/v1/webhooks/whk_1/redeliver", `{"all":true}`), 200)
	require.Equal(t, 5, all.GetInt("count"))
	page := answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1/deliveries", ""), 200)
	require.Len(t, page.GetArray("data"), 6)
	require.Equal(t, "redelivering", textOf(page, "data", "0", "state"))
	shown = answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200)
	require.Equal(t, [2]int{0, 6}, [2]int{shown.GetInt("deadLetters"), shown.GetInt("redelivering")})
}

// A full table of webhooks is reported as full.
func TestWebhooksFill(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_acme_admin", Owner: "Acme", Roles: wire.RoleOperator}, testSecret("acmeadmin"))
	for i := range 32 {
		answer(t, n.do("acmeadmin", "POST", "/v1/webhooks", `{"url":"https://hooks.example.com/`+strconv.Itoa(i)+`"}`), 201)
	}
	refused(t, n.do("acmeadmin", "POST", "/v1/webhooks", hookBody), 409, "limit_reached")
}

// A program that makes its webhook anew at each start is told the one that is there.
func TestWebhookIsMadeOnce(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_acme_admin", Owner: "Acme", Roles: wire.RoleOperator}, testSecret("acmeadmin"))
	first := answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 201)
	again := answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 409)
	require.Equal(t, "already_exists", textOf(again, "code"))
	require.Equal(t, textOf(first, "webhookId"), textOf(again, "webhookId"))
	answer(t, n.do("admin", "POST", "/v1/webhooks", `{"url":"https://hooks.example.com/in","types":["hold.*"]}`), 201)
	answer(t, n.do("acmeadmin", "POST", "/v1/webhooks", hookBody), 201)
	answer(t, n.do("admin", "DELETE", "/v1/webhooks/"+textOf(first, "webhookId"), ""), 200)
	answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 201)
}

// dialLoopback lets these tests connect to this machine only.
func dialLoopback(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(address, "127.0.0.1:") {
		return nil, errors.New("no such host here")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

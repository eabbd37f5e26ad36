package httpapi

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// told returns all events that a key may see, in order and read in pages of two, and their
// types.
func (n *testNode) told(role, types string) (names []string, all []*fastjson.Value) {
	n.t.Helper()
	query := url.Values{"limit": {"2"}}
	if types != "" {
		query.Set("types", types)
	}
	for {
		v := answer(n.t, n.do(role, "GET", "/v1/events?"+query.Encode(), ""), 200)
		for _, e := range v.GetArray("data") {
			names, all = append(names, textOf(e, "type")), append(all, e)
		}
		next := textOf(v, "nextCursor")
		require.NotEmpty(n.t, next)
		if len(v.GetArray("data")) == 0 && next == query.Get("after") {
			return names, all
		}
		query.Set("after", next)
	}
}

// history makes something happen for every kind of event. It returns the transactions by
// their outcome.
func (n *tenants) history() map[string]string {
	n.t.Helper()
	did := func(role, path, body string) *fastjson.Value {
		method := "POST"
		if path == "/v1/policy" {
			method = "PUT"
		}
		w := n.do(role, method, path, body)
		require.Less(n.t, w.Code, 300, "%s: %s", path, w.Body)
		return fastjson.MustParseBytes(w.Body.Bytes())
	}
	n.addSettler()
	n.advance(engine.DayLength) // So that the second key is old enough.
	proposed := did("policy", "/v1/policy", `{"policy":{"holds":{"onExpiry":"return"}},"reason":"the rail tells of each payment"}`)
	did("admin", "/v1/proposals/"+textOf(proposed, "proposalId")+"/confirm", ``)
	txns := map[string]string{"approved": n.txn}
	screen := func(name, fields string) {
		txns[name] = textOf(did("acme", "/v1/screen", `{"token":"`+n.token+`",`+fields+`}`), "txnId")
	}
	did("reviewer", "/v1/queue/"+n.txn+"/claim", `{"assignee":"Carla"}`)
	did("reviewer", "/v1/reviews/"+n.txn, `{"disposition":"APPROVED","reviewedBy":"Carla"}`)
	screen("suspicious", `"amount":7,"cpName":"Acme Counterparty"`)
	did("reviewer", "/v1/reviews/"+txns["suspicious"], `{"disposition":"ESCALATE_SAR","reviewedBy":"Carla","notes":"told to nobody"}`)
	did("acme", "/v1/fleets/"+n.fleet+"/agents", `{"agentIds":["`+n.agent+`"]}`)
	screen("eighty", `"amount":0.9`)
	for range 4 {
		screen("hundred", `"amount":0.9`)
	}
	screen("held", `"amount":0.1,"hold":{"ttlSeconds":30}`)
	screen("over", `"amount":0.01,"hold":{"ttlSeconds":30}`)
	n.advance(31 * engine.Second)
	did("settler", "/v1/transactions/"+txns["held"]+"/settle", `{"amount":0.2}`)
	screen("released", `"amount":0.01,"hold":{"ttlSeconds":30}`)
	did("settler", "/v1/transactions/"+txns["released"]+"/release", `{"reason":"payment_failed"}`)
	screen("full", `"amount":0.3`)
	did("settler", "/v1/transactions/"+txns["over"]+"/settle", `{"amount":0.5}`)
	did("admin", "/v1/agents/"+n.agent+"/suspend", `{"reason":"r"}`)
	screen("blocked", `"amount":0.1`)
	did("acme", "/v1/screen", `{"token":"x","amount":1}`)
	did("admin", "/v1/agents/"+n.agent+"/reinstate", `{"reason":"r"}`)
	did("acme", "/v1/agents/"+n.agent+"/ownership-transfer", `{"newOperatorLegalName":"Globex"}`)
	return txns
}

// Each kind of leaf becomes an event for those who may know of it, and for nobody else.
func TestEventsByAudience(t *testing.T) {
	n := newTenants(t)
	txns := n.history()
	admin, all := n.told("admin", "")
	for _, name := range []string{"review.claimed", "review.escalated", "sar.opened", "key.created", "list.activated"} {
		require.Contains(t, admin, name)
	}
	for role, may := range map[string]struct{ desk, parties, institution, sar bool }{
		"acme": {false, true, false, false}, "reviewer": {true, true, true, true}, "auditor": {true, true, true, true},
		"ops": {false, false, true, false}, "operator": {false, true, false, false}, "policy": {false, true, true, false},
	} {
		names, _ := n.told(role, "")
		require.Equal(t, may.desk, slices.Contains(names, "review.claimed"), role)
		require.Equal(t, may.parties, slices.Contains(names, "agent.suspended"), role)
		require.Equal(t, may.institution, slices.Contains(names, "list.activated"), role)
		require.Equal(t, may.sar, slices.Contains(names, "sar.opened"), role)
	}
	for _, e := range all {
		require.NotContains(t, e.String(), "Counterparty", "events tell no names of counterparties")
		require.NotContains(t, e.String(), "told to nobody")
	}
	names, _ := n.told("globex", "")
	require.Empty(t, names, "another operator's")

	n.addKey(wire.APIKey{ID: "key_acme_screener", Owner: "Acme", Roles: wire.RoleScreener | wire.RoleOperator}, testSecret("acmescreener"))
	names, all = n.told("acmescreener", "")
	require.Equal(t, []string{
		"agent.registered", "fleet.created", "user.registered", "screen.review", "review.dispositioned", "screen.review", "fleet.assigned",
		"fleet.limit_80", "hold.expired", "hold.expired", "hold.settled", "hold.late", "hold.released", "fleet.limit_100",
		"hold.settled", "hold.late", "hold.over_limit", "agent.suspended", "screen.block", "screen.unknown", "agent.reinstated", "agent.ownership_flagged",
	}, names)
	dispositions := 0
	for _, e := range all {
		if textOf(e, "type") != "screen.unknown" { // It names no agent, so it is shown to its caller alone.
			require.Equal(t, n.operatorID("Acme"), textOf(e, "tenant"))
		}
		require.False(t, strings.HasPrefix(textOf(e, "type"), "sar."))
		require.False(t, e.GetBool("data", "sarEscalated"))
		if textOf(e, "type") == "review.dispositioned" {
			dispositions++
			require.Equal(t, txns["approved"], textOf(e, "data", "txnId"))
		}
	}
	require.Equal(t, 1, dispositions, "as if the other had none yet")
}

// An event has its leaf's values: id, order, time, hash.
func TestEventEnvelope(t *testing.T) {
	n := newTenants(t)
	txns := n.history()
	names, all := n.told("admin", "")
	require.NotContains(t, names, "screen.proceed", "only for who names it")
	seq, number := int64(-1), 0
	for _, e := range all {
		at := e.GetInt64("seq")
		text := strings.Split(textOf(e, "id"), "_")
		require.Len(t, text, 3)
		require.Equal(t, e.Get("seq").String(), text[1])
		if at == seq {
			require.Greater(t, text[2], string(rune('0'+number)))
		} else {
			require.Greater(t, at, seq)
		}
		seq, number = at, int(text[2][0]-'0')
		data, err := n.store.Leaf(uint64(at))
		require.NoError(t, err)
		require.Equal(t, border.LeafHash(data), textOf(e, "leafHash"))
		stored, err := n.store.Record(uint64(at))
		require.NoError(t, err)
		require.Equal(t, engine.Time(stored.Time).String(), textOf(e, "time"))
		require.Contains(t, events.Types, textOf(e, "type"))
	}
	for _, c := range []struct{ types, txn, name string }{
		{"screen.proceed", "hundred", "screen.proceed"}, {"screen.*,screen.proceed", "eighty", "screen.proceed"}, {"hold.*", "held", "hold.late"}, {"hold.released", "released", "hold.released"},
		{"screen.block,screen.review", "suspicious", "screen.review"}, {"sar.opened", "suspicious", "sar.opened"}, {"fleet.limit_80", "hundred", "fleet.limit_80"},
	} {
		_, all := n.told("admin", c.types)
		require.True(t, slices.ContainsFunc(all, func(e *fastjson.Value) bool {
			return textOf(e, "type") == c.name && textOf(e, "data", "txnId") == txns[c.txn]
		}), "%s: %s", c.types, all)
	}
	for _, query := range []string{"types=none", "types=screen", "types=*", "limit=0", "limit=501", "wait=31", "wait=-1", "wait=1.5", "after=evt_1", "after=evt_1_16",
		"after=evt_01_0", "after=-1", "after=999999999", "after=x", "cursor=1"} {
		v := answer(t, n.do("admin", "GET", "/v1/events?"+query, ""), 400)
		require.Equal(t, "bad_request", textOf(v, "code"), query)
		require.Equal(t, strings.SplitN(query, "=", 2)[0], textOf(v, "param"), query)
	}
}

// A cursor is refused when the events after it are gone. Without a cursor a reader begins
// with the oldest events that are kept.
func TestEventsOfThirtyDays(t *testing.T) {
	n := newTestNode(t)
	n.register("")
	names, all := n.told("admin", "")
	require.Contains(t, names, "agent.registered")
	n.advance(31 * engine.DayLength)
	n.register("")
	v := answer(t, n.do("admin", "GET", "/v1/events?after="+textOf(all[0], "id"), ""), 400)
	require.Equal(t, "after", textOf(v, "param"))
	answer(t, n.do("admin", "GET", "/v1/events?after="+textOf(all[len(all)-1], "id"), ""), 200)
	names, _ = n.told("admin", "agent.*")
	require.Equal(t, []string{"agent.registered"}, names)
}

// A waiting call on another node is answered by the event.
func TestEventsLongPoll(t *testing.T) {
	n := newTestNode(t)
	cursor := textOf(answer(t, n.do("admin", "GET", "/v1/events?after=latest&limit=1", ""), 200), "nextCursor")
	got := make(chan *httptest.ResponseRecorder, 1)
	second := n.another(nil)
	go func() {
		r := httptest.NewRequest("GET", "/v1/events?wait=30&after="+cursor, nil)
		r.Header.Set("Authorization", "Bearer "+testAdminSecret)
		w := httptest.NewRecorder()
		second.Handler().ServeHTTP(w, r)
		got <- w
	}()
	require.Eventually(t, func() bool { return second.Running() == 1 }, 10*time.Second, time.Millisecond)
	id, _ := n.register("")
	v := answer(t, <-got, 200)
	require.Len(t, v.GetArray("data"), 1)
	require.Equal(t, id, textOf(v.GetArray("data")[0], "data", "agentId"))
	again := answer(t, n.do("admin", "GET", "/v1/events?after="+cursor, ""), 200)
	require.Equal(t, v.Get("data").String(), again.Get("data").String(), "the same bytes on any node")
}

// openStream opens a stream of events and returns its lines.
func openStream(ctx context.Context, t *testing.T, server *httptest.Server, query, last string) *bufio.Scanner {
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/v1/events"+query, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+testAdminSecret)
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	w, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Body.Close() })
	require.Equal(t, 200, w.StatusCode)
	require.Equal(t, "text/event-stream", w.Header.Get("Content-Type"))
	return bufio.NewScanner(w.Body)
}

// untilEvent reads a stream to the end of an event of that type.
func untilEvent(t *testing.T, lines *bufio.Scanner, name string) (id string, all []string) {
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = rest
			all = append(all, rest)
		}
		if line == "event: "+name {
			require.True(t, lines.Scan())
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			require.True(t, ok)
			v, err := fastjson.Parse(data)
			require.NoError(t, err)
			require.Equal(t, id, textOf(v, "id"))
			return id, all
		}
	}
	require.Fail(t, "the stream ended", "%v", lines.Err())
	return "", nil
}

// A broken stream continues on another node after the last event. A stream ends when its
// node is about to stop.
func TestEventStream(t *testing.T) {
	n := newTestNode(t)
	first, second := httptest.NewServer(n.api.Handler()), httptest.NewServer(n.another(nil).Handler())
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	ctx, cancel := context.WithCancel(t.Context())
	lines := openStream(ctx, t, first, "?types=agent.*", "")
	n.register("")
	one, seen := untilEvent(t, lines, "agent.registered")
	cancel()
	id, _ := n.register("")
	answer(t, n.do("admin", "POST", "/v1/agents/"+id+"/suspend", `{"reason":"r"}`), 200)
	lines = openStream(t.Context(), t, second, "?types=agent.*", one)
	_, more := untilEvent(t, lines, "agent.suspended")
	require.Len(t, append(seen, more...), 3, "every one, once")

	lines = openStream(t.Context(), t, first, "?types=agent.*&after=latest", "")
	n.api.SetLeaving()
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the end of a stream is an end, not a break")
}

// A stream that a node cannot begin is refused as a page is, not ended silently.
func TestEventStreamThatCannotBegin(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, 200, n.screen(token, "").Code)
	n.leafError = audit.ErrMissing
	for _, accept := range []string{"application/json", "text/event-stream"} {
		r := httptest.NewRequest("GET", "/v1/events?types=screen.proceed", nil)
		r.Header.Set("Authorization", "Bearer "+testAdminSecret)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		n.another(nil).Handler().ServeHTTP(w, r) // This API has cached no profile yet.
		require.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s", accept, w.Body)
		require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
	}
}

// A stream checks its key before each event: it does not send what a revoked key may no
// longer see.
func TestEventStreamEndsWithItsKey(t *testing.T) {
	n := newTestNode(t)
	server := httptest.NewServer(n.api.Handler())
	t.Cleanup(server.Close)
	lines := openStream(t.Context(), t, server, "?after=latest", "")
	require.True(t, lines.Scan())
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_bootstrap"}})
	for lines.Scan() {
		require.False(t, strings.HasPrefix(lines.Text(), "event:"), lines.Text())
	}
	require.NoError(t, lines.Err())
}

// GET of a REVIEW waits for its disposition. A disposition that the caller may not know of
// never ends the wait early.
func TestAuditWaitsForTheDisposition(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	review := func() string {
		return member(t, n.screen(token, `,"cpWallet":"not-an-address"`).Body.Bytes(), "txnId")
	}
	ask := func(role, txn, seconds string) chan *httptest.ResponseRecorder {
		got := make(chan *httptest.ResponseRecorder, 1)
		before := n.api.Running()
		go func() { got <- n.do(role, "GET", "/v1/audit/"+txn+"?wait="+seconds, "") }()
		require.Eventually(t, func() bool { return n.api.Running() > before }, 10*time.Second, time.Millisecond)
		return got
	}
	txn := review()
	waiting := ask("screener", txn, "30")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`), 200)
	require.Equal(t, "REJECTED", textOf(answer(t, <-waiting, 200), "disposition"))

	txn = review()
	inner, outer := ask("reviewer", txn, "30"), ask("screener", txn, "1")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"Carla","notes":"n"}`), 200)
	require.Equal(t, "ESCALATE_SAR", textOf(answer(t, <-inner, 200), "disposition"))
	v := answer(t, <-outer, 200)
	require.Empty(t, textOf(v, "disposition"))
	require.False(t, v.GetBool("sarEscalated"))
	for _, bad := range []string{"31", "x", "-1"} {
		require.Equal(t, "wait", textOf(answer(t, n.do("reviewer", "GET", "/v1/audit/"+txn+"?wait="+bad, ""), 400), "param"))
	}
	done := answer(t, n.do("reviewer", "GET", "/v1/audit/"+member(t, n.screen(token, "").Body.Bytes(), "txnId")+"?wait=30", ""), 200)
	require.Equal(t, "PROCEED", textOf(done, "verdict"), "nothing to wait for")
}

// Readers are bounded, in total and per key, and each returns its place.
func TestEventReadersAreBounded(t *testing.T) {
	n := newTestNode(t)
	ctx := context.Background()
	for range border.WatchesOfOneKey {
		require.NoError(t, n.api.Watchers.Enter(ctx, "key_bootstrap"))
	}
	v := answer(t, n.do("admin", "GET", "/v1/events", ""), 503)
	require.Equal(t, "overloaded", textOf(v, "code"))
	answer(t, n.do("auditor", "GET", "/v1/events", ""), 200)
	n.api.Watchers.Leave("key_bootstrap")
	for range 2 {
		answer(t, n.do("admin", "GET", "/v1/events", ""), 200)
	}
}

// The eventId of a write is the id of its event, wherever one meets it.
func TestEventIDIsOne(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered("")
	screened := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"hold":{"ttlSeconds":60}}`), 200)
	for kind, made := range map[string]*fastjson.Value{
		"hold.settled":    answer(t, n.do("admin", "POST", "/v1/transactions/"+textOf(screened, "txnId")+"/settle", `{}`), 200),
		"agent.suspended": answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"r"}`), 200),
	} {
		_, all := n.told("admin", kind)
		require.Len(t, all, 1, kind)
		require.Equal(t, textOf(made, "eventId"), textOf(all[0], "id"), kind)
		require.Empty(t, answer(t, n.do("admin", "GET", "/v1/events?types="+kind+"&after="+textOf(made, "eventId"), ""), 200).GetArray("data"), "it is a cursor, too")
	}
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(screened, "txnId"), ""), 200)
	_, settled := n.told("admin", "hold.settled")
	require.Equal(t, textOf(settled[0], "id"), textOf(record, "payment", "eventId"))
	require.Equal(t, "settled", textOf(record, "hold", "state"), "the hold's state follows the payment")
}

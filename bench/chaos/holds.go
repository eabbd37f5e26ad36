package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"railguard/engine"
)

// Holds and webhooks across killed leaders (C23, C24). Callers hold payments under one
// daily limit, settle some, release some and leave some to expire, while leaders die;
// a receiver is sent what happens and now and then refuses it.
const (
	holdLimit   = 400 * engine.Dollar
	holdCallers = 8
	holdEach    = 12 // Payments of a caller between two kills.
	refuseEvery = 13 // The receiver refuses each so-many-th message once.
	receivedIn  = 3 * time.Minute
	killAfter   = 200 * time.Millisecond // Of the callers' beginning.
)

// receiver keeps what it was sent.
type receiver struct {
	server  http.Server
	address string

	mutex    sync.Mutex
	received map[string]int // Messages by event.
	refused  map[string]bool
	wrong    []string
	calls    int
}

func openReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{address: "http://" + listener.Addr().String() + "/in", received: map[string]int{}, refused: map[string]bool{}}
	r.server.Handler = r
	r.server.ReadHeaderTimeout = answerPatience
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// ServeHTTP takes a message, or refuses it the first time.
func (r *receiver) ServeHTTP(w http.ResponseWriter, call *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(call.Body, leafBytesMax))
	var event struct {
		ID  string `json:"id"`
		Seq uint64 `json:"seq"`
	}
	id := call.Header.Get("webhook-id")
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls++
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case json.Unmarshal(raw, &event) != nil || event.ID != id || !strings.HasPrefix(id, fmt.Sprintf("evt_%d_", event.Seq)) || call.Header.Get("webhook-signature") == "":
		r.wrong = append(r.wrong, fmt.Sprintf("message %q: %.200q", id, raw))
	case r.calls%refuseEvery == 0 && !r.refused[id]:
		r.refused[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.received[id]++
	w.WriteHeader(http.StatusNoContent)
}

// missing are the events that never came.
func (r *receiver) missing(events []toldEvent) (ids []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, e := range events {
		if r.received[e.ID] == 0 {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// persist makes a keyed call, at one node after the other, until it has an answer.
func (s *stage) persist(ctx context.Context, path, key string, members map[string]any) (*answer, error) {
	deadline := time.Now().Add(settlePatience)
	var last error
	for i := 0; time.Now().Before(deadline) && ctx.Err() == nil; i++ {
		nodes := s.cluster.members()
		a, err := s.caller.post(ctx, nodes[i%len(nodes)].api+path, key, body(members))
		switch {
		case err != nil:
			last = err
		case a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusConflict && strings.Contains(string(a.body), "idempotency_in_flight"):
			last = fmt.Errorf("%d %.200s", a.status, a.body)
		default:
			return a, nil
		}
		time.Sleep(retryPause)
	}
	return nil, fmt.Errorf("%s: no answer: %w", path, last)
}

// heldPayment is what a caller was told of one payment.
type heldPayment struct {
	txn     string
	settled engine.USD // 0: it was not.
	end     string     // settled, released or expired; what must become of it.
}

// payHeld makes one payment and says what becomes of it; nil: it was held up.
func (s *stage) payHeld(ctx context.Context, token, key string, n int) (*heldPayment, error) {
	a, err := s.persist(ctx, "/v1/screen", key, map[string]any{"token": token, "amount": 10, "hold": map[string]any{"ttlSeconds": 3600}})
	if err != nil {
		return nil, err
	}
	var told struct{ Verdict, TxnID string }
	if err := a.decode(&told); err != nil || a.status != http.StatusOK {
		return nil, fmt.Errorf("a held payment: %d %.200s", a.status, a.body)
	}
	if told.Verdict != "PROCEED" {
		return nil, nil
	}
	p := &heldPayment{txn: told.TxnID, end: "expired"}
	path := "/v1/transactions/" + told.TxnID
	switch n % 3 {
	case 0:
		p.end, p.settled = "settled", engine.USD(n%10)*engine.Dollar
		a, err = s.persist(ctx, path+"/settle", key+"-s", map[string]any{"amount": n % 10})
	case 1:
		p.end = "released"
		a, err = s.persist(ctx, path+"/release", key+"-r", map[string]any{"reason": "payment_failed"})
	}
	if err == nil && a.status != http.StatusOK {
		s.findings.add("%s was to be %s: %d %.200s", p.txn, p.end, a.status, a.body)
	}
	return p, err
}

// holdsAndWebhooks is C23 and C24.
func holdsAndWebhooks(ctx context.Context, s *stage) error {
	s.inspected = true // Held amounts are not in the books of the other scenarios: counted here.
	r, err := openReceiver()
	if err != nil {
		return err
	}
	defer func() { _ = r.server.Close() }()
	if a, err := s.persist(ctx, "/v1/webhooks", randomHex(8), map[string]any{"url": r.address, "types": []string{"hold.*", "screen.*", "screen.proceed"}}); err != nil || a.status != http.StatusCreated {
		return errors.Join(err, fmt.Errorf("webhook: %+v", a))
	}
	g := s.newGroup(engine.NoLimit)
	c := s.client()
	c.patient = settlePatience
	agent, o := c.register(ctx, g, account{parent: -1, daily: holdLimit, single: engine.NoLimit})
	if agent == nil {
		return fmt.Errorf("agent: %s", o)
	}
	var made []*heldPayment
	kills, today := s.times(4, 50), time.Now().UTC().Day()
	for kill := range kills {
		if time.Now().UTC().Day() != today {
			return skipped("the UTC date changed meanwhile, and with it what counts")
		}
		more, err := s.holdRound(ctx, agent, kill)
		if err != nil {
			return fmt.Errorf("kill %d: %w", kill, err)
		}
		made = append(made, more...)
		if err := s.budgetIs(ctx, agent.id, made); err != nil {
			return err
		}
	}
	s.figure("leaders killed", kills)
	s.figure("held payments", len(made))
	if err := s.advance(ctx, time.Hour+time.Second); err != nil {
		return err
	}
	return s.endings(ctx, r, made)
}

// holdRound has callers pay while the leader dies.
func (s *stage) holdRound(ctx context.Context, agent *account, round int) (made []*heldPayment, err error) {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex
	var callers sync.WaitGroup
	for caller := range holdCallers {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for i := range holdEach {
				n := caller*holdEach + i
				p, failed := s.payHeld(ctx, agent.token, fmt.Sprintf("hold-%d-%d", round, n), n)
				mutex.Lock()
				if err = errors.Join(err, failed); p != nil {
					made = append(made, p)
				}
				mutex.Unlock()
			}
		}()
	}
	time.Sleep(killAfter)
	killed := leader.kill()
	callers.Wait()
	if err = errors.Join(err, killed); err != nil {
		return nil, err
	}
	return made, leader.restart(ctx)
}

// budgetIs demands that every node counts exactly what was settled and what is held.
func (s *stage) budgetIs(ctx context.Context, agent string, made []*heldPayment) error {
	var spent, held engine.USD
	for _, p := range made {
		spent += p.settled
		if p.end == "expired" {
			held += 10 * engine.Dollar
		}
	}
	if _, err := s.cluster.settle(ctx, s.caller); err != nil {
		return err
	}
	if spent+held > holdLimit {
		s.findings.add("spent %s and held %s are above the limit of %s", usd(spent), usd(held), usd(holdLimit))
	}
	for _, n := range s.cluster.nodes {
		var told struct{ SpentUSDC, HeldUSDC json.Number }
		if err := s.caller.read(ctx, n.api+"/v1/agents/"+agent+"/limits", &told); err != nil {
			return err
		}
		if told.SpentUSDC.String() != string(usd(spent)) || told.HeldUSDC.String() != string(usd(held)) {
			s.findings.add("%s counts %s spent and %s held, not %s and %s", n.id, told.SpentUSDC, told.HeldUSDC, usd(spent), usd(held))
		}
	}
	return nil
}

// toldEvent is one of GET /v1/events.
type toldEvent struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		TxnID string `json:"txnId"`
	} `json:"data"`
}

// events reads all there are of some types, at one node.
func (s *stage) events(ctx context.Context, n *node, types string) (all []toldEvent, err error) {
	for after := ""; ; {
		query := url.Values{"types": {types}, "limit": {"500"}}
		if after != "" {
			query.Set("after", after)
		}
		var page struct {
			Data       []toldEvent
			NextCursor string
		}
		if err := s.caller.read(ctx, n.api+"/v1/events?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if len(page.Data) == 0 && page.NextCursor == after {
			return all, nil
		}
		after = page.NextCursor
	}
}

// endings demands that every hold ended once, as it was told, and that every event came.
func (s *stage) endings(ctx context.Context, r *receiver, made []*heldPayment) error {
	const types = "hold.*,screen.*,screen.proceed"
	wanted := make(map[string]string, len(made))
	for _, p := range made {
		wanted[p.txn] = "hold." + p.end
	}
	var told []toldEvent
	ends := func() (map[string][]string, error) {
		var err error
		told, err = s.events(ctx, s.cluster.nodes[0], types)
		by := make(map[string][]string)
		for _, e := range told {
			if strings.HasPrefix(e.Type, "hold.") {
				by[e.Data.TxnID] = append(by[e.Data.TxnID], e.Type)
			}
		}
		return by, err
	}
	if err := until(ctx, settlePatience, func() bool { by, err := ends(); return err == nil && len(by) >= len(wanted) }); err != nil {
		return fmt.Errorf("holds that end: %w", err)
	}
	if _, err := s.cluster.settle(ctx, s.caller); err != nil {
		return err
	}
	by, err := ends()
	if err != nil {
		return err
	}
	for txn, types := range by {
		if len(types) != 1 || types[0] != wanted[txn] {
			s.findings.add("%s ended %v, not once %q", txn, types, wanted[txn])
		}
	}
	for _, n := range s.cluster.nodes[1:] {
		other, err := s.events(ctx, n, types)
		if err != nil {
			return err
		}
		if fmt.Sprint(other) != fmt.Sprint(told) {
			s.findings.add("%s tells other events than %s: %d and %d", n.id, s.cluster.nodes[0].id, len(other), len(told))
		}
	}
	if err := until(ctx, receivedIn, func() bool { return len(r.missing(told)) == 0 }); err != nil {
		s.findings.add("%d of %d events never reached the webhook, such as %v", len(r.missing(told)), len(told), r.missing(told)[:1])
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s.findings.join(r.wrong)
	s.figure("events", len(told))
	s.figure("messages received", r.calls)
	s.figure("refused once", len(r.refused))
	return nil
}

package chaos

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/engine"
)

// Holds and webhooks across killed leaders (C23, C24). In each round callers hold payments under
// the daily limit of a new agent. Half of them are redeemed, by two at once. A settler settles some and releases some; some are left, and are
// unresolved at their end. Meanwhile log time is moved on, so that the time of earlier rounds'
// holds is over, and the leader dies. A receiver gets the events by webhook, and now and then refuses one.
const (
	holdLimit   = 400 * engine.Dollar
	holdCallers = 8
	holdEach    = 12 // Payments that each caller makes between two kills.
	holdLasts   = 10 * time.Minute
	holdMoved   = 400 * time.Second // How far log time is moved in a round. A hold that a round leaves open is unresolved two rounds later.
	holdRounds  = 2                 // After so many further rounds the time of all holds of a round is over.
	dayMargin   = 5 * time.Second   // So long before midnight the counted amounts are not compared any more.
	refuseEvery = 89                // The receiver refuses every refuseEvery-th message at its first attempt. Then the node sends nothing to it for a second.
	receivedIn  = 3 * time.Minute
)

// receiver keeps what it was sent.
type receiver struct {
	server  http.Server
	address string
	secret  []byte // Set before the first message can come.

	mutex    sync.Mutex
	received map[string]int // By event: how many messages came.
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
	case json.Unmarshal(raw, &event) != nil || event.ID != id || !strings.HasPrefix(id, fmt.Sprintf("evt_%d_", event.Seq)) || !r.signed(call.Header, raw):
		r.wrong = append(r.wrong, fmt.Sprintf("message %q: %.200q", id, raw))
	case r.calls%refuseEvery == 0 && !r.refused[id]:
		r.refused[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.received[id]++
	w.WriteHeader(http.StatusNoContent)
}

// missing returns the events that never came.
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

// count returns how many messages came so far.
func (r *receiver) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.calls
}

// repeated counts events that came more than once. The caller holds the lock.
func (r *receiver) repeated() (count int) {
	for _, messages := range r.received {
		if messages > 1 {
			count++
		}
	}
	return count
}

// signed reports whether a message is signed with the shared secret.
func (r *receiver) signed(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, r.secret)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), header.Get("webhook-timestamp"), body)
	return slices.Contains(strings.Fields(header.Get("webhook-signature")), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// persist makes a keyed call, at one node after the other, until it has an answer.
func (s *stage) persist(ctx context.Context, c *caller, path, key string, members map[string]any) (*answer, error) {
	deadline := time.Now().Add(settlePatience)
	var last error
	for i := 0; time.Now().Before(deadline) && ctx.Err() == nil; i++ {
		nodes := s.cluster.members()
		a, err := c.post(ctx, nodes[i%len(nodes)].api+path, key, body(members))
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

// heldPayment is what a caller was told about one payment.
type heldPayment struct {
	txn     string
	verdict string
	settled engine.USD // 0: the payment was not settled.
	end     string     // What the hold must become: settled, released or unresolved; "": nothing was held.
	taken   bool       // It was redeemed.
}

// holdsOfRound are the payments of one agent.
type holdsOfRound struct {
	agent string
	day   string // UTC date of log time when they began; "" after the date has changed.
	made  []*heldPayment
}

// payHeld makes one payment. Then the settler settles its hold or releases it, or nobody ends it,
// which n decides.
func (s *stage) payHeld(ctx context.Context, settler *caller, token, key string, n int) (*heldPayment, error) {
	a, err := s.persist(ctx, s.caller, "/v1/screen", key, map[string]any{"token": token, "amount": 10, "hold": map[string]any{"ttlSeconds": int(holdLasts.Seconds())}})
	if err != nil {
		return nil, err
	}
	var told struct{ Verdict, TxnID string }
	if err := a.decode(&told); err != nil || a.status != http.StatusOK {
		return nil, fmt.Errorf("a held payment: %d %.200s", a.status, a.body)
	}
	p := &heldPayment{txn: told.TxnID, verdict: told.Verdict}
	if told.Verdict != "PROCEED" {
		return p, nil
	}
	path := "/v1/transactions/" + told.TxnID
	if p.taken = n%2 == 0; p.taken {
		if err := s.takeLeave(ctx, path, key); err != nil {
			return p, err
		}
	}
	switch n % 3 {
	case 0:
		p.end, p.settled = "settled", engine.USD(n%10)*engine.Dollar
		a, err = s.persist(ctx, settler, path+"/settle", key+"-s", map[string]any{"amount": n % 10})
	case 1:
		p.end = "released"
		a, err = s.persist(ctx, settler, path+"/release", key+"-r", map[string]any{"reason": "payment_failed"})
	default:
		p.end = "unresolved"
	}
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s was to be %s: %d %.200s", p.txn, p.end, a.status, a.body)
	}
	return p, err
}

// takeLeave redeems a payment twice at once, with a key each. One of the two gets it.
func (s *stage) takeLeave(ctx context.Context, path, key string) error {
	var answers [2]*answer
	var failed [2]error
	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() {
			answers[i], failed[i] = s.persist(ctx, s.caller, path+"/confirm", fmt.Sprintf("%s-%d", key, i), map[string]any{"redeem": true})
		})
	}
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return err
	}
	one, other := answers[0], answers[1]
	if one.status != http.StatusOK {
		one, other = other, one
	}
	if one.status != http.StatusOK || other.status != http.StatusConflict || !strings.Contains(string(other.body), "permit_used") {
		s.findings.add("%s was redeemed by two at once: %d %.200s, %d %.200s", path, one.status, one.body, other.status, other.body)
	}
	return nil
}

// holdsAndWebhooks is C23 and C24.
func holdsAndWebhooks(ctx context.Context, s *stage) error {
	s.inspected = true // The checks of the other scenarios know no held amounts, so this scenario checks them itself.
	r, err := openReceiver()
	if err != nil {
		return err
	}
	defer func() { _ = r.server.Close() }()
	if err := s.subscribe(ctx, r); err != nil {
		return err
	}
	_, secret, err := s.createKey(ctx, s.cluster.nodes[0], "settler")
	if err != nil {
		return err
	}
	settler := newCaller(secret)
	if err := s.keyKnown(ctx, settler); err != nil {
		return err
	}
	random := newRandom(s.seed, 0)
	kills, compared := s.times(4, 50), 0
	var rounds []*holdsOfRound
	for kill := range kills {
		one, err := s.holdRound(ctx, settler, kill, 1+random.IntN(holdCallers*holdEach-1))
		if err != nil {
			return fmt.Errorf("kill %d: %w", kill, err)
		}
		rounds = append(rounds, one)
		same, err := s.budgetIs(ctx, one)
		if err != nil {
			return err
		}
		if compared += same; kill >= holdRounds {
			same, err = s.budgetIs(ctx, rounds[kill-holdRounds])
			compared += same
		}
		if err != nil || len(s.findings.list) > 0 {
			return err
		}
	}
	if err := s.advance(ctx, holdLasts+time.Second); err != nil {
		return err
	}
	s.figure("leaders killed", kills)
	s.figure("messages received until then", r.count())
	s.figure("budgets compared with what callers were told", compared)
	return s.endings(ctx, r, rounds)
}

// subscribe makes the webhook.
func (s *stage) subscribe(ctx context.Context, r *receiver) error {
	a, err := s.persist(ctx, s.caller, "/v1/webhooks", randomHex(8), map[string]any{"url": r.address, "types": []string{"hold.*", "screen.*", "screen.proceed", "payment.*"}})
	if err != nil {
		return err
	}
	var made struct{ Secret string }
	if err := a.decode(&made); err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("webhook: %d %.200s", a.status, a.body)
	}
	r.secret, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(made.Secret, "whsec_"))
	return err
}

// holdRound has callers pay while log time moves and, once they have so many answers, the
// leader dies.
func (s *stage) holdRound(ctx context.Context, settler *caller, round, answers int) (*holdsOfRound, error) {
	c := s.client()
	c.patient = settlePatience
	agent, o := c.register(ctx, s.newGroup(engine.NoLimit), account{parent: -1, daily: holdLimit, single: engine.NoLimit})
	if agent == nil {
		return nil, fmt.Errorf("agent: %s", o)
	}
	one := &holdsOfRound{agent: agent.id, day: s.logDay(0)}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return nil, err
	}
	enough := make(chan struct{})
	var mutex sync.Mutex
	var callers sync.WaitGroup
	for caller := range holdCallers {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for i := range holdEach {
				n := caller*holdEach + i
				p, failed := s.payHeld(ctx, settler, agent.token, fmt.Sprintf("hold-%d-%d", round, n), n)
				mutex.Lock()
				err = errors.Join(err, failed)
				if one.made = append(one.made, p); len(one.made) == answers {
					close(enough)
				}
				mutex.Unlock()
			}
		}()
	}
	moved := s.advance(ctx, holdMoved)
	<-enough // Every caller ends, at the latest when ctx is done.
	killed := leader.Kill()
	callers.Wait()
	if err := errors.Join(err, moved, killed); err != nil {
		return nil, err
	}
	return one, leader.restart(ctx)
}

// logDay returns the UTC date of log time, as far as this process can know it. Around midnight it
// may already be the next date.
func (s *stage) logDay(later time.Duration) string {
	now := time.Now().Add(later)
	for _, a := range s.advances {
		now = now.Add(a.by)
	}
	return now.UTC().Format(time.DateOnly)
}

// budgetIs demands that every node counts exactly the settled amounts and, whether their time is
// over or not, those that nobody ended. It returns how many nodes it compared. If the UTC date has changed it
// stops, because then other amounts count.
func (s *stage) budgetIs(ctx context.Context, one *holdsOfRound) (compared int, err error) {
	var spent, held engine.USD
	for _, p := range one.made {
		spent += p.settled
		if p.end == "unresolved" {
			held += 10 * engine.Dollar
		}
	}
	limit := holdLimit
	if one.day != s.logDay(dayMargin) {
		limit *= 2 // The payments may be of two dates, and each date has the limit of its own.
	}
	if spent+held > limit {
		s.findings.add("spent %s and held %s are above the limit of %s", usd(spent), usd(held), usd(limit))
	}
	if _, err := s.cluster.settle(ctx, s.caller); err != nil {
		return 0, err
	}
	for _, n := range s.cluster.nodes {
		var told struct{ SpentUSDC, HeldUSDC json.Number }
		if err := s.caller.read(ctx, n.api+"/v1/agents/"+one.agent+"/limits", &told); err != nil {
			return 0, err
		}
		if one.day != s.logDay(dayMargin) {
			one.day = ""
			return compared, nil
		}
		compared++
		if told.SpentUSDC.String() != string(usd(spent)) || told.HeldUSDC.String() != string(usd(held)) {
			s.findings.add("%s counts %s spent and %s held, not %s and %s", n.id, told.SpentUSDC, told.HeldUSDC, usd(spent), usd(held))
		}
	}
	return compared, nil
}

// toldEvent is one event in the answer of GET /v1/events.
type toldEvent struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		TxnID string `json:"txnId"`
	} `json:"data"`
}

// events reads all events of some types at one node.
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

// happened returns the events of each payment, in order.
func happened(told []toldEvent) map[string][]string {
	by := make(map[string][]string)
	for _, e := range told {
		by[e.Data.TxnID] = append(by[e.Data.TxnID], e.Type)
	}
	return by
}

// endings demands that every payment was screened once and that every hold became one thing, once,
// as callers were told. All nodes must show the same events, and the receiver must have got
// each of them.
func (s *stage) endings(ctx context.Context, r *receiver, rounds []*holdsOfRound) error {
	const types = "hold.*,screen.*,screen.proceed,payment.*"
	wanted, events, holds := make(map[string][]string), 0, 0
	for _, one := range rounds {
		for _, p := range one.made {
			all := []string{"screen." + strings.ToLower(p.verdict)}
			if p.taken {
				all = append(all, "payment.confirmed", "payment.redeemed")
			}
			if p.end != "" {
				all = append(all, "hold."+p.end)
				holds++
			}
			wanted[p.txn] = all
			events += len(all)
		}
	}
	first := s.cluster.nodes[0]
	if err := until(ctx, settlePatience, func() bool { told, err := s.events(ctx, first, types); return err == nil && len(told) >= events }); err != nil {
		return fmt.Errorf("holds that end: %w", err)
	}
	if _, err := s.cluster.settle(ctx, s.caller); err != nil {
		return err
	}
	told, err := s.events(ctx, first, types)
	if err != nil {
		return err
	}
	by := happened(told)
	for txn, types := range by {
		if !slices.Equal(types, wanted[txn]) {
			s.findings.add("of %s is told %v, not %v", txn, types, wanted[txn])
		}
	}
	for txn, types := range wanted {
		if by[txn] == nil {
			s.findings.add("of %s nothing is told, not %v", txn, types)
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
	s.figure("payments", len(wanted))
	s.figure("holds", holds)
	s.figure("events", len(told))
	s.figure("messages received", r.calls)
	s.figure("refused once", len(r.refused))
	s.figure("received more than once", r.repeated())
	return nil
}

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	batchPayments = 100
	batchCallers  = 16
	recordsKept   = 4000
	recordReaders = 16
)

// rounds alternates between loads, so that other work on the machine falls on all, and
// adds every load's calls a second, p50 and p99.
func (t *target) rounds(ctx context.Context, count int, loads map[string]func() load, order ...string) error {
	for round := range count {
		for _, key := range order {
			l := loads[key]()
			l.name += fmt.Sprintf(", round %d", round+1)
			o, err := t.drive(ctx, l)
			if err != nil {
				return err
			}
			t.bench.add(key+".rate", "/s", more, o.perSecond())
			t.bench.add(key+".p50", "ms", less, o.quantile(50))
			t.bench.add(key+".p99", "ms", less, o.quantile(99))
		}
	}
	return nil
}

// mixed is a saturating load of another mix.
func (t *target) mixed(name string, change func(*Workload)) func() load {
	return func() load {
		l := t.screening(name, t.homes, t.bench.callers(), 0, t.bench.span(4*time.Second))
		w := t.bench.options.Workload
		change(&w)
		l.make = t.crew.payments(w)
		return l
	}
}

// runNames compares calls that each have a name never seen before with calls without a
// name.
func runNames(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	return t.rounds(ctx, b.times(2), map[string]func() load{
		"names.fresh": t.mixed("every call a fresh name", func(w *Workload) { w.NamedPermille, w.ListedPermille, w.FreshPermille = 0, 0, 1000 }),
		"names.none":  t.mixed("no call with a name", func(w *Workload) { w.NamedPermille, w.ListedPermille, w.FreshPermille = 0, 0, 0 }),
	}, "names.none", "names.fresh")
}

// runHot compares spread calls with those by one agent of one fleet to one whitelisted
// wallet.
func runHot(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	var fleet struct {
		ID string `json:"fleetId"`
	}
	run := t.crew.run + strconv.FormatUint(b.loads, 10)
	body := map[string]any{"fleetName": "hot fleet " + run, "operatorLegalName": operatorName, "dailyLimitUSDC": 1_000_000_000}
	if err := t.register(ctx, "/v1/fleets/create", body, &fleet); err != nil {
		return err
	}
	id, token, err := t.agent(ctx, "/v1/agents/register", map[string]any{
		"agentName": "hot agent " + run, "agentType": "supervised", "operatorLegalName": operatorName, "purpose": "load",
		"spendPolicy": map[string]any{}, "fleetId": fleet.ID,
	})
	if err != nil {
		return err
	}
	w := b.options.Workload
	w.Counterparties, w.ListedPermille, w.FreshPermille, w.NamedPermille = 1, 0, 0, 0
	list := map[string]any{"mode": "enforce", "entries": []any{map[string]any{"wallet": string(appendWallet(nil, w.Seed, 0))}}}
	if err := t.api.ask(ctx, http.MethodPut, t.homes[0].url+"/v1/agents/"+id+"/whitelist", list, nil); err != nil {
		return err
	}
	hot := *t.crew
	hot.tokens = []string{token}
	spread := t.mixed("spread over all agents", func(w *Workload) { w.ListedPermille, w.FreshPermille, w.NamedPermille = 0, 0, 0 })
	return t.rounds(ctx, b.times(2), map[string]func() load{
		"hot.spread": spread,
		"hot.one": func() load {
			l := spread()
			l.name, l.make = "one agent, one fleet, one pair", hot.payments(w)
			return l
		},
	}, "hot.spread", "hot.one")
}

// runFollower alternates between one caller at the leader and one at a follower.
func runFollower(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	var extra []float64
	for round := range b.times(4) {
		leader, _, err := t.leader(ctx)
		if err != nil {
			return err
		}
		other, err := t.follower(leader)
		if err != nil {
			return err
		}
		var p50s [2]float64
		for i, home := range []*endpoint{leader, other} {
			name := fmt.Sprintf("one caller at the %s, round %d", []string{"leader", "follower"}[i], round+1)
			o, err := t.drive(ctx, t.screening(name, []*endpoint{home}, 1, 0, b.span(2*time.Second)))
			if err != nil {
				return err
			}
			p50s[i] = o.quantile(50)
		}
		b.add("follower.p50", "ms", less, p50s[1])
		extra = append(extra, p50s[1]-p50s[0])
	}
	b.set("follower.extra", "ms", less, median(extra), extra)
	return nil
}

// runRead reads records that were just made, at any node.
func runRead(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	records, err := t.makeRecords(ctx)
	if err != nil {
		return err
	}
	reads := func(c *caller, _ uint64, out []byte) []byte {
		out = append(append(out, "GET /v1/audit/"...), records[c.random.IntN(len(records))]...)
		out = append(append(out, " HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer "...), t.crew.key...)
		return append(out, "\r\n\r\n"...)
	}
	for round := range b.times(2) {
		if _, err := b.echoRound(ctx, b.callers(), b.span(3*time.Second), t.crew.payments(b.options.Workload)); err != nil {
			return err
		}
		l := t.screening(fmt.Sprintf("audit records, round %d", round+1), t.homes, b.callers(), 0, b.span(5*time.Second))
		l.make, l.accept, l.verdict = reads, acceptVerdict, false
		o, err := t.drive(ctx, l)
		if err != nil {
			return err
		}
		b.add("read.rate", "/s", more, o.perSecond())
		b.add("read.p99", "ms", less, o.quantile(99))
		if o.err == nil {
			b.add("read.cpu", "µs", less, micros(o.used.cpu)/float64(o.done))
		}
	}
	return nil
}

// makeRecords screens payments and returns their ids once every node knows the last.
func (t *target) makeRecords(ctx context.Context) ([]string, error) {
	t.bench.loads++
	requests := t.crew.payments(t.bench.options.Workload)
	count := recordsKept
	if t.bench.options.Brief {
		count = 200
	}
	records := make([]string, count)
	err := each(recordReaders, func(at int) error {
		l := newLink(t.homes, at)
		defer l.close()
		c := &caller{number: at, load: t.bench.loads, link: l, random: newRandom(t.bench.loads, uint64(at))}
		for i := at; i < count && ctx.Err() == nil; i += recordReaders {
			c.buffer = requests(c, uint64(i), c.buffer[:0])
			got, err := l.exchange(c.buffer)
			if err != nil {
				return err
			}
			if failure := acceptVerdict(got); failure != "" {
				return errors.New("a record for reading: " + failure)
			}
			records[i] = member(got.body, "txnId")
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for _, home := range t.homes {
		err = errors.Join(err, until(ctx, readyPatience, func() bool {
			return t.api.ask(ctx, http.MethodGet, home.url+"/v1/audit/"+records[count-1], nil, nil) == nil
		}))
	}
	return records, err
}

// batches is a saturating load of payments in batches.
func (t *target) batches(name string, w Workload, span time.Duration) load {
	head := "POST /v1/screen/batch HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer " + t.crew.key + "\r\nContent-Type: application/json\r\nContent-Length: "
	l := t.screening(name, t.homes, batchCallers, 0, span)
	l.verdict = false
	l.make = func(c *caller, serial uint64, out []byte) []byte {
		body := append(c.scratch[:0], `{"payments":[`...)
		for i := range uint64(batchPayments) {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(body, t.crew.payment(w, c, serial*batchPayments+i)...)
		}
		c.scratch = append(body, "]}"...)
		out = strconv.AppendInt(append(out, head...), int64(len(c.scratch)), 10)
		return append(append(out, "\r\n\r\n"...), c.scratch...)
	}
	l.accept = func(got reply) string {
		if failure := acceptOK(got); failure != "" {
			return failure
		}
		if verdicts := bytes.Count(got.body, []byte(`"verdict":"`)); verdicts != batchPayments {
			return fmt.Sprintf("a batch with %d verdicts", verdicts)
		}
		return ""
	}
	return l
}

// runBatch compares payments in batches with single calls.
func runBatch(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	for round := range b.times(2) {
		single, err := t.drive(ctx, t.screening(fmt.Sprintf("single calls, round %d", round+1), t.homes, b.callers(), 0, b.span(4*time.Second)))
		if err != nil {
			return err
		}
		b.add("batch.single", "/s", more, single.perSecond())
		o, err := t.drive(ctx, t.batches(fmt.Sprintf("batches of %d, round %d", batchPayments, round+1), b.options.Workload, b.span(5*time.Second)))
		if err != nil {
			return err
		}
		b.add("batch.payments", "/s", more, o.perSecond()*batchPayments)
		b.add("batch.p99", "ms", less, o.quantile(99))
		if o.err == nil {
			b.add("batch.cpu", "µs", less, micros(o.used.cpu)/float64(o.done)/batchPayments)
		}
	}
	return nil
}

// runLight is the load that most users have, long enough to meet scrub and seal.
func runLight(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	for _, rate := range []int{200, 1000, 2000} {
		key := fmt.Sprintf("light.at%d", rate)
		o, err := t.traced(ctx, key, func() (*measured, error) {
			return t.drive(ctx, t.screening(fmt.Sprintf("light, %d/s", rate), t.homes, b.callers(), rate, b.span(60*time.Second)))
		})
		if err != nil {
			return err
		}
		b.set(key+".p50", "ms", less, o.quantile(50), o.quantiles(50))
		b.set(key+".p99", "ms", less, o.quantile(99), o.quantiles(99))
		b.set(key+".worst", "ms", less, o.worst(), o.quantiles(100))
		b.set(key+".failed", "", less, float64(o.failed), nil)
		o.noteUse(b, key, len(t.homes))
	}
	return nil
}

// runConnections compares a steady load with the same one beside thousands of open
// connections.
func runConnections(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	idle, busy, rate := 10_000, 2_000, 500
	if b.options.Brief {
		idle, busy = 200, 50
	}
	calm, err := t.drive(ctx, t.screening("500/s on 64 connections", t.homes, 64, rate, b.span(10*time.Second)))
	if err != nil {
		return err
	}
	held := make([]*link, idle)
	defer func() {
		for _, l := range held {
			if l != nil {
				l.close()
			}
		}
	}()
	err = each(idle, func(i int) error {
		held[i] = newLink(t.homes, i)
		got, err := held[i].exchange([]byte("GET /livez HTTP/1.1\r\nHost: railguard\r\n\r\n"))
		if err == nil && got.status != 200 {
			err = fmt.Errorf("livez answers %d", got.status)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%d idle connections: %w", idle, err)
	}
	o, err := t.drive(ctx, t.screening(fmt.Sprintf("500/s on %d connections, %d idle besides", busy, idle), t.homes, busy, rate, b.span(10*time.Second)))
	if err != nil {
		return err
	}
	b.set("connections.calm.p50", "ms", less, calm.quantile(50), calm.quantiles(50))
	b.set("connections.calm.p99", "ms", less, calm.quantile(99), calm.quantiles(99))
	b.set("connections.p50", "ms", less, o.quantile(50), o.quantiles(50))
	b.set("connections.p99", "ms", less, o.quantile(99), o.quantiles(99))
	b.set("connections.failed", "", less, float64(o.failed), nil)
	return nil
}

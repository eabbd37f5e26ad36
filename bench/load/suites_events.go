package load

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"railguard/ofac/listtest"
)

const (
	eventRate      = 500
	listParties    = 18_000
	listRounds     = 3
	killRetries    = 400 // Retries of one call, 20 ms apart, so that together they take longer than any election.
	uploadPatience = 3 * time.Minute
	calmPatience   = 30 * time.Second
	calmUse        = 0.25 // Part of one core. Idle nodes use a fifth of a core.
)

// during runs a steady load and does something in its course. It returns the load, and the
// seconds of the load in which that began and ended.
func (t *target) during(ctx context.Context, l load, after time.Duration, do func(context.Context) error) (o *measured, from, to int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := t.bench.warm(ctx, l.warmUp()); err != nil {
		return nil, 0, 0, err
	}
	l.warm = 0
	begin := time.Now()
	done := make(chan error, 1)
	go func() {
		select {
		case <-time.After(after):
		case <-ctx.Done():
		}
		from = int(time.Since(begin) / windowSpan)
		failed := do(ctx)
		to = int(time.Since(begin) / windowSpan)
		done <- failed
	}()
	o, err = t.drive(ctx, l)
	if err != nil {
		cancel()
	}
	return o, from, to, errors.Join(err, <-done)
}

// warmUp is the load that warms up for this one.
func (l load) warmUp() load {
	l.name, l.span, l.warm = l.name+", warm-up", max(l.warm, time.Millisecond), 0
	return l
}

// worstSecond is the highest p99 among the seconds of a range, in ms.
func (o *outcome) worstSecond(from, to int) float64 {
	worst := 0.0
	for i, w := range o.windows {
		if i >= from && i <= to && w.latency != nil {
			worst = max(worst, float64(w.latency.ValueAtQuantile(99))/1000)
		}
	}
	return worst
}

// calm is the median p99 of the seconds before a given one, in ms; 0: there are none.
func (o *outcome) calm(before int) float64 { return o.ordinarySecond(0, before-1) }

// ordinarySecond is the median p99 of the seconds of a range, in ms; 0: there are none.
func (o *outcome) ordinarySecond(from, to int) float64 {
	var all []float64
	for i, w := range o.windows {
		if i >= from && i <= to && w.latency != nil {
			all = append(all, float64(w.latency.ValueAtQuantile(99))/1000)
		}
	}
	return median(all)
}

// fullList is a ZIP with a list of that many made-up parties.
func fullList(parties int) ([]byte, error) {
	var entities []listtest.Entity
	for i := range parties {
		e := listtest.Entity{ID: 800_000 + i, Last: fmt.Sprintf("QUOR%dVEN ZARB%dAL HOLDING", i*7919%parties, i), Aliases: []string{fmt.Sprintf("VELD%dAN TRADE", i)}}
		if i%40 == 0 {
			e.Wallets = map[string]string{"ETH": string(appendWallet(nil, 0xbe7c, uint64(i)))}
		}
		entities = append(entities, e)
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for name, raw := range map[string][]byte{
		"SDN_ENHANCED.XML":  listtest.WriteEnhanced("SDN List", time.Now(), entities...),
		"CONS_ENHANCED.XML": listtest.WriteEnhanced("Consolidated List", time.Now(), listtest.Entity{ID: 799_999, Last: "BENCH PASSERBY HOLDING"}),
	} {
		part, err := archive.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(raw); err != nil {
			return nil, err
		}
	}
	err := archive.Close() // Writes the directory: the bytes are whole after it.
	return packed.Bytes(), err
}

// stage makes a list, uploads it at the first node and returns its id.
func (t *target) stage(ctx context.Context, parties int) (string, error) {
	raw, err := fullList(parties)
	if err != nil {
		return "", err
	}
	return t.upload(ctx, raw)
}

func (t *target) upload(ctx context.Context, raw []byte) (string, error) {
	patient := newAPI(t.api.key)
	patient.client.Timeout = uploadPatience
	defer patient.client.CloseIdleConnections()
	var staged struct {
		ID string `json:"snapshotId"`
	}
	err := patient.ask(ctx, http.MethodPost, t.group.nodes[0].admin+"/v1/ofac/snapshots?name=lists.zip", raw, &staged)
	return staged.ID, err
}

func (t *target) activate(ctx context.Context, list string) error {
	return t.api.ask(ctx, http.MethodPost, t.homes[0].url+"/v1/ofac/"+list+"/activate", map[string]any{"force": true, "reason": "load"}, nil)
}

// calm waits until the nodes have finished earlier work: together they use less than
// calmUse of a core. It does not wait for nodes that are not measured (those of others).
func (t *target) calm(ctx context.Context) {
	if _, err := t.usage(ctx); err != nil {
		return
	}
	err := until(ctx, t.bench.span(calmPatience), func() bool {
		before, err := t.usage(ctx)
		if err != nil {
			return true
		}
		select {
		case <-time.After(t.bench.span(time.Second)):
		case <-ctx.Done():
		}
		after, err := t.usage(ctx)
		return err != nil || float64(after.since(before).cpu) < calmUse*float64(after.at.Sub(before.at))
	})
	if err != nil {
		t.bench.say("the nodes did not come to rest: %v", err)
	}
}

func (b *bench) parties() int {
	if b.options.Brief {
		return 100
	}
	return listParties
}

// runLists activates lists of full size under load, one after another. The p99 of a second
// of 500 calls rests on five of them, so only the median of several activations tells
// much. Errors are counted over all.
func runLists(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	errs := int64(0)
	for round := range b.times(listRounds) {
		b.say("staging a list of %d parties", b.parties())
		began := time.Now()
		list, err := t.stage(ctx, b.parties()-round%2) // Two lists in turn.
		if err != nil {
			return err
		}
		b.add("lists.staged", "s", less, time.Since(began).Seconds())
		t.calm(ctx) // After the answer, nodes still make tables and write snapshots.
		l := t.screening("a list activated at 500/s", t.homes, b.callers(), eventRate, b.window(10*time.Second))
		o, from, to, err := t.during(ctx, l, l.span/2, func(ctx context.Context) error { return t.activate(ctx, list) })
		if err != nil {
			return err
		}
		errs += o.failed
		b.add("lists.calm", "ms", less, o.calm(from))
		b.add("lists.calm.worst", "ms", less, o.worstSecond(from-2-(to-from), from-1)) // The worst of as many seconds before the activation is the comparison.
		b.add("lists.p99", "ms", less, o.worstSecond(from, to+1))
	}
	b.set("lists.errors", "", less, float64(errs), nil)
	return nil
}

// runRetro has the leader screen past counterparties, each with a name of its own, against
// the active list under a steady load. Its cluster is new, since screening the past that
// other suites left takes minutes.
func runRetro(ctx context.Context, b *bench) error {
	t, err := b.openTarget(ctx, b.options.Spawn)
	if err != nil {
		return err
	}
	defer t.close()
	w := b.options.Workload
	w.NamedPermille, w.ListedPermille, w.FreshPermille = 0, 0, 1000
	past := t.batches("a past to screen", w, b.span(retroFill))
	past.warm = 0 // It is not measured.
	if err := b.warm(ctx, past); err != nil {
		return err
	}
	t.calm(ctx)
	l := t.screening("retro-screening at 500/s", t.homes, b.callers(), eventRate, b.window(60*time.Second))
	var looked uint64
	var took time.Duration
	o, from, to, err := t.during(ctx, l, max(l.span/4, windowSpan), func(ctx context.Context) (err error) {
		began := time.Now()
		looked, err = t.screenPast(ctx)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	b.set("retro.rate", "/s", more, float64(looked)/took.Seconds(), nil)
	b.set("retro.calm", "ms", less, o.calm(from), nil)
	b.set("retro.p99", "ms", less, o.ordinarySecond(from, to), nil)
	return nil
}

const (
	retroFill     = 10 * time.Second
	retroPatience = 10 * time.Minute
)

// screenPast asks for a screening of the past and waits for its end. It returns how many
// leaves of the log that covers.
func (t *target) screenPast(ctx context.Context) (looked uint64, err error) {
	if err := t.api.ask(ctx, http.MethodPost, t.homes[0].url+"/v1/ofac/retro", map[string]any{"days": 1}, nil); err != nil {
		return 0, err
	}
	return looked, until(ctx, retroPatience, func() bool {
		runs, err := t.retroRuns(ctx, 1)
		if err != nil || len(runs) == 0 {
			return false
		}
		looked = max(looked, runs[0].Progress.EndLeaf)
		return runs[0].State != "running" && looked > 0
	})
}

// retroRun is one screening of the past.
type retroRun struct {
	ID       string    `json:"retroId"`
	State    string    `json:"state"`
	Asked    bool      `json:"asked"` // By somebody; else because a list was activated.
	Started  time.Time `json:"startedAt"`
	Ended    time.Time `json:"endedAt"` // 0: it runs.
	Progress struct {
		EndLeaf uint64 `json:"endLeaf"`
	} `json:"progress"`
}

// took is how long it ran; 0: it runs.
func (r *retroRun) took() time.Duration {
	if r.Ended.IsZero() {
		return 0
	}
	return r.Ended.Sub(r.Started)
}

// retroRuns are the newest screenings of the past, the newest first.
func (t *target) retroRuns(ctx context.Context, limit int) ([]retroRun, error) {
	var runs struct {
		Data []retroRun `json:"data"`
	}
	err := t.api.ask(ctx, http.MethodGet, fmt.Sprintf("%s/v1/ofac/retro?limit=%d", t.homes[0].url, limit), nil, &runs)
	return runs.Data, err
}

// window is the span of a load with an event in it. Even the brief one has room for the
// event, and for seconds before and after it.
func (b *bench) window(full time.Duration) time.Duration {
	if b.options.Brief {
		return 4 * windowSpan
	}
	return full
}

// runSnapshot writes a snapshot at the leader under load.
func runSnapshot(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	leader, _, err := t.leader(ctx)
	if err != nil {
		return err
	}
	t.calm(ctx)
	l := t.screening("a snapshot at 500/s", t.homes, b.callers(), eventRate, b.window(16*time.Second))
	o, from, to, err := t.during(ctx, l, l.span/2, func(ctx context.Context) error {
		return t.api.ask(ctx, http.MethodPost, leader.url+"/v1/cluster/snapshot", map[string]any{}, nil)
	})
	if err != nil {
		return err
	}
	b.set("snapshot.errors", "", less, float64(o.failed), nil)
	b.set("snapshot.calm", "ms", less, o.calm(from), nil)
	b.set("snapshot.p99", "ms", less, o.worstSecond(from, to+1), nil)
	return nil
}

// keyed is a load whose calls have keys, so they may be sent again.
func (t *target) keyed(name string, span time.Duration, retries int) load {
	l := t.screening(name, t.homes, 64, eventRate, span)
	w := t.bench.options.Workload
	w.KeyedPermille = 1000
	l.make, l.retries = t.crew.payments(w), retries
	return l
}

// runKill kills the leader again and again and measures how long no verdict came back.
func runKill(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if len(t.homes) < 3 {
		return errors.New("one node's death stops a cluster of fewer than three")
	}
	var gaps []float64
	failed := int64(0)
	for round := range b.times(10) {
		l := t.keyed(fmt.Sprintf("leader killed, round %d", round+1), b.window(6*time.Second), killRetries)
		var events []event
		l.events = &events
		var killed time.Time
		var victim *node
		o, _, _, err := t.during(ctx, l, l.span/4, func(ctx context.Context) error {
			_, leads, err := t.leader(ctx)
			if err != nil {
				return err
			}
			victim, killed = leads, time.Now()
			return leads.kill(ctx)
		})
		if err != nil {
			return err
		}
		failed += o.failed
		gaps = append(gaps, longestGap(events, killed, o.start.Add(o.span)).Seconds())
		if err := errors.Join(victim.start(ctx), victim.ready(ctx)); err != nil {
			return err
		}
		b.say("no verdict for %.2f s", gaps[len(gaps)-1])
	}
	b.set("kill.median", "s", less, median(gaps), gaps)
	b.set("kill.worst", "s", less, slices.Max(gaps), gaps)
	b.set("kill.failed", "", less, float64(failed), nil)
	return nil
}

// longestGap is the longest time without an answer after an instant.
func longestGap(events []event, since, until time.Time) time.Duration {
	var answered []time.Time
	for _, e := range events {
		if e.failure == "" && e.done.After(since) {
			answered = append(answered, e.done)
		}
	}
	slices.SortFunc(answered, time.Time.Compare)
	longest, last := time.Duration(0), since
	for _, at := range answered {
		longest, last = max(longest, at.Sub(last)), at
	}
	return max(longest, until.Sub(last))
}

// runRoll restarts every node in turn, the leader last; a call may be sent twice.
func runRoll(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if len(t.homes) < 3 {
		return errors.New("a cluster of fewer than three does not stay up")
	}
	_, leads, err := t.leader(ctx)
	if err != nil {
		return err
	}
	order := slices.DeleteFunc(slices.Clone(t.group.nodes), func(n *node) bool { return n == leads })
	l := t.keyed("rolling restart at 500/s", b.window(30*time.Second), 1)
	began := time.Now()
	var took time.Duration
	o, from, to, err := t.during(ctx, l, 2*windowSpan, func(ctx context.Context) error {
		for _, n := range append(order, leads) {
			if err := errors.Join(n.stop(ctx), n.start(ctx), n.ready(ctx)); err != nil {
				return err
			}
		}
		took = time.Since(began)
		return nil
	})
	if err != nil {
		return err
	}
	b.set("roll.took", "s", less, took.Seconds(), nil)
	b.set("roll.failed", "", less, float64(o.failed), nil)
	b.set("roll.p99", "ms", less, o.worstSecond(from, to), nil)
	return nil
}

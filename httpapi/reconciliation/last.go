package reconciliation

import (
	"fmt"
	"io"
	"sync"

	"github.com/VictoriaMetrics/metrics"

	"railguard/audit"
	"railguard/audit/reconcile"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// The leaves say when each rail was last compared, and what was found. So every node tells the same,
// whichever node compared, and no state is kept for it. A node reads the leaves when it is asked:
// upwards those that are new, and once downwards those that were there when it started, until it has
// found each rail or has read all.

// lastRun is what the newest leaf of a rail says.
type lastRun struct {
	at      engine.Time // When the comparison ended, by log time.
	counts  map[string]uint64
	settled engine.Time // The end of the time that was compared.
}

// follower reads the leaves.
type follower struct {
	mutex    sync.Mutex
	begun    bool
	up, down uint64 // Leaves from down to up were read.
	whole    bool   // And so were those below down, as far as they matter.
	runs     map[string]lastRun
}

// olderSteps is how many of the older leaves, or filters of segments, are examined at most when
// somebody asks. A node that has more to read knows less until somebody asks again. Of new leaves
// there are as many as were written since.
const olderSteps = 8192

// leafValues bounds the values of a leaf's JSON.
const leafValues = 4096

// last returns the last comparison of each rail. known is false while older leaves are to be read.
func (r *Room) last() (runs map[string]lastRun, known bool) {
	f, history := &r.follower, r.deps.Records.Audit()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.begun {
		f.up = history.Size()
		f.down, f.begun, f.runs = f.up, true, map[string]lastRun{}
	}
	ofKind := []uint64{engine.FilterKey(engine.FilterKind, leaf.KindReconciled)}
	done, err := history.Scan(audit.Query{From: f.up, To: history.Size(), Keys: ofKind}, func(_ uint64, stored audit.Leaf) bool {
		f.take(stored.Data, true)
		return true
	})
	f.up = max(f.up, done.Next)
	if err == nil && !f.whole {
		done, err = history.Scan(audit.Query{To: f.down, Newest: true, Keys: ofKind, Examine: olderSteps}, func(_ uint64, stored audit.Leaf) bool {
			f.take(stored.Data, false)
			return len(f.runs) < len(rails)
		})
		f.down, f.whole = min(f.down, done.Next), err == nil && done.Done || len(f.runs) == len(rails)
	}
	runs = make(map[string]lastRun, len(f.runs))
	for rail, run := range f.runs {
		runs[rail] = run
	}
	return runs, err == nil && f.whole
}

// take keeps what a leaf says. A newer one takes the place of an older one.
func (f *follower) take(stored []byte, newer bool) {
	kind, event, err := leaf.Read(stored)
	said, ok := event.(leaf.Reconciled)
	if err != nil || !ok || kind != leaf.KindReconciled { // A key is a hash: it may be another kind's.
		return
	}
	var document strictjson.Document
	if err := document.Read(stored, leafValues); err != nil {
		return
	}
	fields := document.Fields()
	at, _ := fields.Instant("time")
	run := lastRun{at: at, settled: said.To, counts: map[string]uint64{}}
	if classes, ok := fields.Nested("classes"); ok {
		for _, class := range reconcile.Classes() {
			if one, found := classes.Nested(class); found {
				n, _ := one.Integer("count", 0, 1<<53)
				run.counts[class] = uint64(n)
			}
		}
	}
	if _, known := f.runs[said.Rail]; newer || !known {
		f.runs[said.Rail] = run
	}
}

// railAge is how a rail stands.
type railAge struct {
	rail    string
	last    lastRun
	found   bool
	known   bool        // false: older leaves are still to be read.
	every   engine.Time // As the policy demands; 0: nothing.
	age     engine.Time
	overdue bool
}

// railAges returns the rails that were compared or are to be.
func (r *Room) railAges() (all []railAge) {
	settings, now := r.deps.Published.Settings(), r.deps.Published.LogTime()
	if settings == nil || settings.Policy == nil {
		return nil
	}
	runs, known := r.last()
	for _, name := range rails {
		rail, _ := engine.ParseRailExact(name)
		s := railAge{rail: name, every: settings.Policy.ReconcileEvery(rail)}
		s.last, s.found = runs[name]
		s.known = s.found || known
		if !s.found && s.every == 0 {
			continue
		}
		if s.found {
			s.age = max(now-s.last.at, 0)
		}
		s.overdue = s.every != 0 && s.known && (!s.found || s.age > s.every)
		all = append(all, s)
	}
	return all
}

// Overdue says of each rail that was not compared for longer than the policy allows since when.
func (r *Room) Overdue() (warnings []string) {
	if settings := r.deps.Published.Settings(); settings == nil || settings.Policy == nil || len(settings.Policy.Reconcile) == 0 {
		return nil // Probes ask often.
	}
	for _, s := range r.railAges() {
		switch {
		case !s.overdue:
		case !s.found:
			warnings = append(warnings, fmt.Sprintf("%s was never reconciled: the policy demands it every %s", s.rail, hours(s.every)))
		default:
			warnings = append(warnings, fmt.Sprintf("%s was last reconciled %s ago, with payments up to %s: the policy demands it every %s", s.rail, hours(s.age), s.last.settled, hours(s.every)))
		}
	}
	return warnings
}

func hours(span engine.Time) string { return fmt.Sprintf("%d h", span/engine.Hour) }

// RegisterGauges registers the gauges about reconciliations.
func (r *Room) RegisterGauges(set *metrics.Set) { set.RegisterMetricsWriter(r.writeGauges) }

// writeGauges writes of each rail that was compared, or is to be, when that was last, what was found
// and whether it is overdue.
func (r *Room) writeGauges(w io.Writer) {
	all := r.railAges()
	gauge := func(name string, value func(s *railAge)) {
		fmt.Fprintf(w, "# HELP %s\n# TYPE %s gauge\n", name, name)
		for i := range all {
			value(&all[i])
		}
	}
	gauge("railguard_reconciliation_age_seconds", func(s *railAge) {
		age := int64(-1)
		if s.found {
			age = int64(s.age / engine.Second)
		}
		fmt.Fprintf(w, "railguard_reconciliation_age_seconds{rail=%q} %d\n", s.rail, age)
	})
	gauge("railguard_reconciliation_findings", func(s *railAge) {
		for _, class := range reconcile.Classes() {
			if s.found {
				fmt.Fprintf(w, "railguard_reconciliation_findings{rail=%q,class=%q} %d\n", s.rail, class, s.last.counts[class])
			}
		}
	})
	gauge("railguard_reconciliation_overdue", func(s *railAge) {
		overdue := 0
		switch {
		case s.every == 0:
			return
		case !s.known:
			overdue = -1
		case s.overdue:
			overdue = 1
		}
		fmt.Fprintf(w, "railguard_reconciliation_overdue{rail=%q} %d\n", s.rail, overdue)
	})
}

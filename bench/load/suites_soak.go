package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

const (
	soakShare     = 0.6                    // Part of saturation.
	soakRounds    = 8                      // Rounds of work, and lists made for them, at most.
	soakRuns      = 3                      // Screenings that a look asks for, the newest.
	soakLook      = 500 * time.Millisecond // A look costs a node some milliseconds.
	backtestReach = time.Minute            // How far back a backtest begins.
)

// soak is the work beside the soak's load. Every round uploads and activates a list, which makes
// the leader screen the past, writes a snapshot at every node, and asks for a backtest and for
// one more screening of the past. Screenings and backtests go on while the next round begins.
type soak struct {
	target *target
	diary  diary
	lists  [][]byte // Made before the load, because making one takes as much of the processors as a thousand verdicts.
	span   time.Duration

	asked   chan *job       // Screenings and backtests that were asked for, on their way to who looks.
	jobs    []*job          // Those whose end is not known yet. This and seen are the looking goroutine's.
	seen    map[string]bool // Screenings that were noted, or were over before the load; nil: nobody has looked yet.
	screens atomic.Bool     // The past is being screened.
}

// job is work that goes on after the answer to who asked for it.
type job struct {
	id    string
	work  *entry
	ended bool
}

// runSoak is an open loop at 60 % of saturation, with work beside it. Saturation is measured for
// a minute, since the segments of a load's first seconds are sealed later.
func runSoak(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	// A cluster that serves payments has a list of full size. What a first one costs is seen
	// in another suite ("lists").
	list, err := t.stage(ctx, b.parties()-1)
	if err == nil {
		err = t.activate(ctx, list)
	}
	if err != nil {
		return err
	}
	peak, err := t.drive(ctx, t.screening("saturation before the soak", t.homes, b.callers(), 0, b.span(time.Minute)))
	if err != nil {
		return err
	}
	rate := max(int(peak.perSecond()*soakShare), 1)
	s := &soak{target: t, span: b.options.Soak, asked: make(chan *job, 2*soakRounds)}
	if b.options.Brief {
		s.span = 3 * windowSpan
	}
	for round := range soakRounds {
		list, err := fullList(b.parties() + round)
		if err != nil {
			return err
		}
		s.lists = append(s.lists, list)
	}
	l := t.screening(fmt.Sprintf("soak, %d/s", rate), t.homes, 2*b.callers(), rate, s.span)
	l.watched = true
	o, _, _, err := t.during(ctx, l, 0, s.run)
	if err != nil {
		return err
	}
	b.set("soak.saturation", "/s", more, peak.perSecond(), nil)
	b.set("soak.rate", "/s", more, float64(rate), nil)
	b.set("soak.p50", "ms", less, o.quantile(50), o.quantiles(50))
	b.set("soak.p99", "ms", less, o.quantile(99), o.quantiles(99))
	b.set("soak.p999", "ms", less, o.quantile(99.9), o.quantiles(99.9))
	b.set("soak.worst", "ms", less, o.worst(), o.quantiles(100))
	b.set("soak.failed", "", less, float64(o.failed), nil)
	o.noteUse(b, "soak", len(t.homes))
	b.sayLate(o.outcome)
	c := o.course(s.diary.work(o.start, o.start.Add(o.span)))
	b.report.Courses = append(b.report.Courses, c)
	return b.countWork(&c)
}

// countWork sets how much work of each kind was done beside the soak. A soak without one kind of
// it is none.
func (b *bench) countWork(c *Course) error {
	done, failed := map[string]int{}, 0
	for i := range c.Work {
		if w := &c.Work[i]; w.Failed == "" {
			done[w.Kind]++
		} else {
			failed++
			b.report.Notes = append(b.report.Notes, fmt.Sprintf("soak: %s (%s) at %.0f s: %s", c.label(i), w.Name, w.Begin, w.Failed))
		}
	}
	var missing []error
	for _, kind := range workKinds {
		b.set("soak."+kind+"s", "", more, float64(done[kind]), nil)
		if done[kind] == 0 {
			missing = append(missing, fmt.Errorf("no %s in the soak", kind))
		}
	}
	b.set("soak.workFailed", "", less, float64(failed), nil)
	return errors.Join(missing...)
}

// run looks as long as the load lasts, and does the work from an eighth of it on, until an eighth
// is left. Work that fails is noted, and the soak goes on.
func (s *soak) run(ctx context.Context) error {
	begin := time.Now()
	looking, stop := context.WithDeadline(ctx, begin.Add(s.span))
	defer stop()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for ok := true; ok; ok = pause(looking, s.target.bench.span(soakLook)) {
			s.look(looking)
		}
	}()
	ok := pause(looking, s.span/8)
	for round := 0; ok && round < len(s.lists) && time.Since(begin) < s.span*7/8; round++ {
		s.round(ctx, round)
	}
	<-looked
	s.takeAsked()
	for _, j := range s.jobs {
		if j.work.kind == workBacktest { // It ends with the load. If it has just ended, it cannot be cancelled, and need not be.
			_ = s.target.api.ask(ctx, http.MethodPost, s.target.homes[0].url+"/v1/backtests/"+j.id+"/cancel", map[string]any{}, nil)
		}
	}
	return ctx.Err()
}

// pause waits, unless the context ends.
func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (s *soak) round(ctx context.Context, round int) {
	t := s.target
	work := s.diary.begins(workList, fmt.Sprintf("list %d", round+1), time.Now())
	list, err := t.upload(ctx, s.lists[round])
	if err == nil {
		s.diary.isStaged(work)
		err = t.activate(ctx, list)
	}
	s.diary.ends(work, err)
	for at, home := range t.homes {
		work := s.diary.begins(workSnapshot, fmt.Sprintf("node %d", at+1), time.Now())
		s.diary.ends(work, t.api.ask(ctx, http.MethodPost, home.url+"/v1/cluster/snapshot", map[string]any{}, nil))
	}
	from := time.Now().Add(-backtestReach).UTC().Format(time.RFC3339)
	s.ask(ctx, workBacktest, "/v1/backtests", map[string]any{"from": from, "policy": map[string]any{"rules": map[string]any{"R17": "shadow"}}})
	resting, rested := context.WithTimeout(ctx, s.span/10)
	defer rested()
	for done := false; pause(resting, t.bench.span(soakLook)); {
		if !done && !s.screens.Load() {
			done = s.ask(resting, workScreening, "/v1/ofac/retro", map[string]any{"days": 1})
		}
	}
}

// ask asks for a job, and tells whether that is settled: it runs, or was refused for good. While
// another job of its kind runs it waits its turn, which is no failure.
func (s *soak) ask(ctx context.Context, kind, path string, body map[string]any) bool {
	var answer struct {
		ID      string `json:"id"`
		RetroID string `json:"retroId"`
	}
	began := time.Now()
	err := s.target.api.ask(ctx, http.MethodPost, s.target.homes[0].url+path, body, &answer)
	if isConflict(err) || ctx.Err() != nil {
		return false
	}
	work := s.diary.begins(kind, "asked for", began)
	if err != nil {
		s.diary.ends(work, err)
		return true
	}
	s.asked <- &job{id: answer.ID + answer.RetroID, work: work} // It has one of them.
	return true
}

// takeAsked takes over the jobs that were asked for.
func (s *soak) takeAsked() {
	for {
		select {
		case j := <-s.asked:
			s.jobs = append(s.jobs, j)
		default:
			return
		}
	}
}

// look notes which jobs have ended, and screenings that nobody asked for. A node that does not
// answer is asked again at the next look.
func (s *soak) look(ctx context.Context) {
	s.takeAsked()
	if runs, err := s.target.retroRuns(ctx, soakRuns); err == nil {
		s.noteScreenings(runs, time.Now())
	}
	for _, j := range s.jobs {
		if j.work.kind == workBacktest {
			s.lookAtBacktest(ctx, j)
		}
	}
	s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool { return j.ended })
}

func (s *soak) noteScreenings(runs []retroRun, now time.Time) {
	first := s.seen == nil
	if first {
		s.seen = map[string]bool{}
	}
	screens := false
	for i := range runs {
		run := &runs[i]
		under := run.State == "running"
		screens = screens || under
		at := slices.IndexFunc(s.jobs, func(j *job) bool { return j.id == run.ID })
		if at < 0 && !s.seen[run.ID] && (first && under || !first && !run.Asked) {
			at = len(s.jobs)
			s.jobs = append(s.jobs, &job{id: run.ID, work: s.diary.begins(workScreening, "a list was activated", now.Add(-run.took()))})
		}
		s.seen[run.ID] = true
		if at >= 0 && !under {
			s.diary.ends(s.jobs[at].work, nil)
			s.jobs[at].ended = true
		}
	}
	s.screens.Store(screens)
}

func (s *soak) lookAtBacktest(ctx context.Context, j *job) {
	var report struct {
		State string `json:"state"`
		Error string `json:"error"`
	}
	if s.target.api.ask(ctx, http.MethodGet, s.target.homes[0].url+"/v1/backtests/"+j.id, nil, &report) != nil || report.State == "running" {
		return
	}
	j.ended = true
	if report.State == "done" {
		s.diary.ends(j.work, nil)
	} else {
		s.diary.ends(j.work, fmt.Errorf("%s: %s", report.State, report.Error))
	}
}

func isConflict(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.status == http.StatusConflict
}

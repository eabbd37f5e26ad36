package load

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCourseOfALoad: each second has its answers, latencies and failures by code, and work has
// its times in seconds of the load.
func TestCourseOfALoad(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newRecorder(start)
	call := func(due, took time.Duration, failure string, silent bool) {
		at := start.Add(due)
		r.record(int(due/time.Millisecond), event{due: at, sent: at.Add(took / 2), done: at.Add(took), failure: failure, silent: silent})
	}
	call(-time.Millisecond, 10*time.Millisecond, "", false)
	for i := range 100 {
		call(time.Duration(i)*time.Millisecond, 10*time.Millisecond, "", false)
	}
	call(300*time.Millisecond, 20*time.Millisecond, "503 overloaded", false)
	call(900*time.Millisecond, 1500*time.Millisecond, "", false)
	call(950*time.Millisecond, 1200*time.Millisecond, "503 overloaded", false)
	call(960*time.Millisecond, 1200*time.Millisecond, "connection: reset", true)
	o := r.sum(start.Add(3 * time.Second))
	o.name, o.rate, o.cores = "x", 50, []float64{1.5, 2}

	require.Equal(t, int64(2), o.long, "a refusal after a second is an answer; a broken connection is none")
	require.InDelta(t, 20, inMillis(o.refused, 50), 0.1)
	require.Equal(t, int64(2), o.refused.TotalCount())
	require.InDelta(t, 5, inMillis(o.served, 50), 0.1)
	require.InDelta(t, 10, o.quantile(50), 0.1)

	var d diary
	early := d.begins(workScreening, "before", start.Add(-time.Second))
	list := d.begins(workList, "l", start.Add(time.Second))
	list.staged, list.end = start.Add(1500*time.Millisecond), start.Add(2*time.Second)
	off := d.begins(workSnapshot, "s", start)
	d.ends(off, context.Canceled)
	failed := d.begins(workBacktest, "b", start)
	d.ends(failed, errors.New("full"))
	d.ends(failed, nil)
	c := o.course(d.work(start, start.Add(3*time.Second)))

	require.Len(t, c.Seconds, 3)
	require.Equal(t, int64(100), c.Seconds[0].Done)
	require.Equal(t, map[string]int64{"503 overloaded": 1}, c.Seconds[0].Failed)
	require.InDelta(t, 10, c.Seconds[0].P99, 0.2)
	require.InDelta(t, 1.5, c.Seconds[0].Cores, 0)
	require.Zero(t, c.Seconds[1].Done)
	require.Equal(t, int64(1), c.Seconds[2].Done)
	require.InDelta(t, 1500, c.Seconds[2].Max, 15)
	require.Equal(t, map[string]int64{"503 overloaded": 1, "connection: reset": 1}, c.Seconds[2].Failed)
	require.Equal(t, []int{1}, c.silentSeconds())

	require.True(t, early.end.IsZero())
	require.Equal(t, Work{Kind: workScreening, Name: "before", Begin: -1, End: 3, Open: true}, c.Work[0])
	require.Equal(t, Work{Kind: workList, Name: "l", Begin: 1, Staged: 1.5, End: 2}, c.Work[1])
	require.True(t, c.Work[2].Open, "what ends because the run ends has not ended")
	require.Equal(t, "full", c.Work[3].Failed, "the first end counts")
}

// TestKindsOfFailuresAreBounded: a server that answers something else each time fills no memory.
func TestKindsOfFailuresAreBounded(t *testing.T) {
	start := time.Now()
	r := newRecorder(start)
	for i := range 100 * recorderShards {
		r.record(i, event{due: start, sent: start, done: start, failure: time.Duration(i).String()})
	}
	o := r.sum(start.Add(time.Second))
	require.LessOrEqual(t, len(o.errors), errorKindsMax+1)
	require.LessOrEqual(t, len(o.windows[0].errors), errorKindsMax+1)
	sum := int64(0)
	for _, count := range o.windows[0].errors {
		sum += count
	}
	require.Equal(t, o.failed, sum)
}

// TestScreeningsAreNoted: those that a list's activation began, and those that were asked for,
// each once; those that were over before the load are none of it.
func TestScreeningsAreNoted(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	s := &soak{asked: make(chan *job, 2)}
	old := retroRun{ID: "old", State: "done", Started: at(-9), Ended: at(-1)}
	s.noteScreenings([]retroRun{old}, start)
	require.Empty(t, s.jobs)
	require.False(t, s.screens.Load())

	byList := retroRun{ID: "by list", State: "running", Started: at(1)}
	s.noteScreenings([]retroRun{byList, old}, at(1))
	s.noteScreenings([]retroRun{byList, old}, at(2))
	require.Len(t, s.jobs, 1)
	require.True(t, s.screens.Load())

	asked := retroRun{ID: "asked", State: "running", Asked: true, Started: at(3)}
	byList.State, byList.Ended = "done", at(3)
	s.noteScreenings([]retroRun{asked, byList, old}, at(3))
	require.True(t, s.jobs[0].ended)
	require.Len(t, s.jobs, 1, "who asked notes it")
	s.asked <- &job{id: "asked", work: s.diary.begins(workScreening, "asked for", at(3))}
	s.takeAsked()
	short := retroRun{ID: "short", State: "done", Started: at(4), Ended: at(5)}
	asked.State = "done"
	s.noteScreenings([]retroRun{short, asked, byList}, at(6))
	s.noteScreenings([]retroRun{short, asked, byList}, at(7))
	require.False(t, s.screens.Load())

	work := s.diary.work(start, at(9))
	require.Len(t, work, 3)
	for i := range work {
		require.False(t, work[i].Open, work[i].Name)
	}
	require.InDelta(t, 5, work[2].Begin, 1e-9, "it took a second and was seen at its end")
}

// TestLateLooksAreShared: who looks late at the machine's processors still tells of each second what
// was used, and never more than there are.
func TestLateLooksAreShared(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := coreCount{start: start, at: start, busy: time.Hour}
	look := func(after, busy time.Duration) { c.add(start.Add(after), time.Hour+busy) }
	require.Equal(t, start.Add(time.Second), c.next())
	look(time.Second, 2*time.Second)
	look(4999*time.Millisecond, 5999*time.Millisecond) // Three looks are missed, and the fourth is near.
	require.Equal(t, start.Add(5499*time.Millisecond), c.next(), "not after a millisecond")
	look(5499*time.Millisecond, 6999*time.Millisecond)
	require.Len(t, c.cores, 5)
	for second, want := range []float64{2, 1, 1, 1, 2} {
		require.InDelta(t, want, c.cores[second], 1e-3, second)
	}
}

// TestLateLoaderIsSaid: latencies beside a late loader come with a note.
func TestLateLoaderIsSaid(t *testing.T) {
	b := testBench()
	start := time.Now()
	note := func(late time.Duration) []string {
		r := newRecorder(start)
		r.record(0, event{due: start, sent: start.Add(late), done: start.Add(late + time.Millisecond)})
		o := r.sum(start.Add(time.Second))
		o.rate = 1
		b.report.Notes = nil
		b.sayLate(o)
		return b.report.Notes
	}
	require.Empty(t, note(time.Millisecond))
	require.Len(t, note(50*time.Millisecond), 1)
}

// TestSoakNeedsItsWork: a soak in which a kind of work was never done is none, and what failed is told.
func TestSoakNeedsItsWork(t *testing.T) {
	b := testBench()
	c := Course{}
	for _, kind := range workKinds {
		c.Work = append(c.Work, Work{Kind: kind})
	}
	require.NoError(t, b.countWork(&c))
	c.Work[1].Failed = "503 overloaded"
	require.ErrorContains(t, b.countWork(&c), workSnapshot)
	require.Len(t, b.report.Notes, 1)
	require.InDelta(t, 1, b.report.Measures["soak.workFailed"].Value, 0)
}

// TestOldReportsAreDrawn: a report without courses has no part about them.
func TestOldReportsAreDrawn(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&Report{}).WriteHTML(&out))
	require.NotContains(t, out.String(), "Second by second")
}

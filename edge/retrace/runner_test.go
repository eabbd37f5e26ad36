package retrace_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge/edgetest"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/strictjson"
)

// office is a runner over a world's history, with a policy to try.
type office struct {
	*edgetest.World
	runner *retrace.JobRunner
	policy *engine.Policy
	token  string
}

func newOffice(t *testing.T) *office {
	w := edgetest.New(t)
	policy := *w.Settings().Policy
	policy.Modes[10] = engine.ModeOff
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	o := &office{World: w, policy: &policy, token: token}
	o.open(t)
	return o
}

func (o *office) open(t *testing.T) {
	o.runner = retrace.NewJobRunner("n1", o.Store, o.Leaf, o.Judges.Retracing(), o.LogTime)
	o.runner.SetRest(0)
	t.Cleanup(o.runner.Close)
}

func (o *office) pay(amount int) {
	o.Screened(edgetest.Admin(), `{"token":"`+o.token+`","amount":`+strconv.Itoa(amount)+`}`)
}

func (o *office) order(kind retrace.Kind, from, to engine.Time) retrace.Order {
	return retrace.Order{
		Kind: kind, Terms: retrace.Terms{Policy: o.policy}, Document: []byte(`{"rules":{"R10":"off"}}`), From: from, To: to, By: "key_a", Now: o.LogTime(),
	}
}

func shown(t *testing.T, job *retrace.Job, whole bool) *fastjson.Value {
	t.Helper()
	var m strictjson.Members
	job.Write(&m, whole)
	v, err := fastjson.ParseBytes(m.Body())
	require.NoError(t, err)
	return v
}

func stateOf(t *testing.T, job *retrace.Job) string {
	return string(shown(t, job, false).GetStringBytes("state"))
}

// A backtest judges the records between two times, both included, and ends.
func TestBacktest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		for range 4 {
			o.pay(6)
			o.Advance(engine.Hour)
		}
		job, err := o.runner.Start(o.order(retrace.Backtest, edgetest.Start+engine.Hour, edgetest.Start+2*engine.Hour))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "done", stateOf(t, job))
		brief, whole := shown(t, job, false), shown(t, job, true)
		require.Equal(t, 2, brief.GetInt("records"))
		require.Equal(t, 2, brief.GetInt("changed"))
		require.True(t, brief.GetBool("policyGiven"))
		require.False(t, brief.Exists("matrix"))
		require.Equal(t, 2, whole.GetInt("changed"))
		require.Equal(t, `{"rules":{"R10":"off"}}`, whole.Get("policy").String())
		require.Equal(t, "key_a", string(whole.GetStringBytes("createdBy")))
		require.Equal(t, whole.GetInt("progress", "of"), whole.GetInt("progress", "leaves"))
		require.True(t, strings.HasPrefix(job.ID, "bt_"))
		require.Equal(t, "n1", retrace.NodeOf(retrace.Backtest, job.ID))
		require.Empty(t, retrace.NodeOf(retrace.Shadow, job.ID))
		for _, id := range []string{"", "bt_", "bt_0123456789ab", "bt_0123456789ab_", "bt_0123456789abxn1", "bt_0123456789_n1"} {
			require.Empty(t, retrace.NodeOf(retrace.Backtest, id), id)
		}
		require.Same(t, job, o.runner.Job(retrace.Backtest, job.ID))
		require.Nil(t, o.runner.Job(retrace.Shadow, job.ID))
		require.Nil(t, o.runner.Job(retrace.Backtest, "bt_x"))
		o.runner.Stop(job)
		require.Equal(t, "done", stateOf(t, job), "what has ended cannot be stopped")

		list := o.order(retrace.Backtest, edgetest.Start, o.LogTime()+engine.Hour) // It does not wait for later records.
		list.Document, list.Terms, list.ListID = nil, retrace.Terms{List: o.List()}, "snp_x"
		job, err = o.runner.Start(list)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "null", shown(t, job, true).Get("policy").String())
		require.Equal(t, "snp_x", string(shown(t, job, true).GetStringBytes("listSnapshotId")))
		require.Zero(t, shown(t, job, false).GetInt("changed"))
	})
}

// A shadow judges the records from now on, until it is stopped or its time is over. Only one
// job of a kind runs at a time.
func TestShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pay(6) // Recorded before the shadow began.
		o.Advance(engine.Second)
		job, err := o.runner.Start(o.order(retrace.Shadow, o.LogTime(), o.LogTime()+engine.Hour))
		require.NoError(t, err)
		_, err = o.runner.Start(o.order(retrace.Shadow, o.LogTime(), o.LogTime()+engine.Hour))
		require.ErrorIs(t, err, retrace.ErrBusy)
		_, err = o.runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.NoError(t, err, "a job of another kind")
		for n := 1; n < 4; n++ {
			o.pay(6)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, n, shown(t, job, false).GetInt("changed"))
		}
		require.Equal(t, "running", stateOf(t, job))
		o.runner.Stop(job)
		require.Equal(t, "done", stateOf(t, job), "a shadow that is stopped is done")
		require.Equal(t, o.LogTime().String(), string(shown(t, job, false).GetStringBytes("endedAt")))
		synctest.Wait()

		job, err = o.runner.Start(o.order(retrace.Shadow, o.LogTime(), o.LogTime()+engine.Hour))
		require.NoError(t, err)
		o.Advance(engine.Hour - engine.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "running", stateOf(t, job))
		o.Advance(engine.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "done", stateOf(t, job))
		require.Len(t, o.runner.Jobs(retrace.Shadow), 2)
		require.Same(t, job, o.runner.Jobs(retrace.Shadow)[0], "newest first")
	})
}

// A node that shuts down ends its jobs and begins no more. A job whose history cannot be read
// fails and says why.
func TestJobsThatEndBadly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pay(6)
		job, err := o.runner.Start(o.order(retrace.Shadow, o.LogTime(), o.LogTime()+engine.Hour))
		require.NoError(t, err)
		o.runner.Close()
		require.Equal(t, "cancelled", stateOf(t, job))
		require.Equal(t, retrace.ErrClosed.Error(), string(shown(t, job, false).GetStringBytes("error")))
		_, err = o.runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.ErrorIs(t, err, retrace.ErrClosed)

		runner := retrace.NewJobRunner("n1", holed{o.Store, 0, errors.New("the disk")}, o.Leaf, o.Judges.Retracing(), o.LogTime)
		defer runner.Close()
		job, err = runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "failed", stateOf(t, job))
		require.Equal(t, "history could not be read: the disk", string(shown(t, job, false).GetStringBytes("error")))

		gate := make(chan struct{})
		slow := retrace.NewJobRunner("n1", holed{o.Store, 0, audit.ErrMissing}, func(ctx context.Context, _ uint64) ([]byte, error) {
			select {
			case <-gate:
				return nil, errAway
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, o.Judges.Retracing(), o.LogTime)
		defer slow.Close()
		job, err = slow.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.NoError(t, err)
		synctest.Wait()
		slow.Stop(job)
		synctest.Wait()
		require.Equal(t, "cancelled", stateOf(t, job))
		require.False(t, shown(t, job, false).Exists("error"))
	})
}

// store keeps documents in memory.
type store struct {
	mutex sync.Mutex
	docs  map[string][]byte
	fails error
}

func (s *store) Put(name string, data []byte) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.fails == nil {
		s.docs[name] = append([]byte(nil), data...)
	}
	return s.fails
}

func (s *store) Drop(name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.docs, name)
	return s.fails
}

func (s *store) All() (map[string][]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.docs), s.fails
}

// resume opens a runner on a used store, as after a restart.
func (o *office) resume(t *testing.T, s *store, gone error) (told []string) {
	o.open(t)
	o.runner.Resume(s, func(context.Context, *retrace.Order) (retrace.Terms, error) {
		return retrace.Terms{Policy: o.policy}, gone
	},
		func(text string, err error) { told = append(told, text+": "+err.Error()) })
	return told
}

// A node remembers the last ended jobs of a kind, also across a restart. A job that was running
// is run again and gives the same result.
func TestJobsOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t), &store{docs: map[string][]byte{}}
		require.Empty(t, o.resume(t, s, nil))
		o.pay(6)
		o.Advance(engine.Second)
		var first *retrace.Job
		for n := range retrace.FinishedKept + 2 {
			job, err := o.runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
			require.NoError(t, err)
			synctest.Wait()
			if n == 2 {
				first = job
			}
			o.Advance(engine.Second)
		}
		require.Len(t, o.runner.Jobs(retrace.Backtest), retrace.FinishedKept+1, "those that had ended when the last one began, and that one")
		job, err := o.runner.Start(o.order(retrace.Shadow, o.LogTime(), o.LogTime()+engine.Hour))
		require.NoError(t, err)
		o.pay(6)
		time.Sleep(time.Second)
		synctest.Wait()
		before := shown(t, first, true).String()
		o.runner.Close()

		require.Empty(t, o.resume(t, s, nil))
		o.pay(6)
		time.Sleep(time.Second)
		synctest.Wait()
		jobs := o.runner.Jobs(retrace.Backtest)
		require.Len(t, jobs, retrace.FinishedKept)
		require.Equal(t, before, shown(t, o.runner.Job(retrace.Backtest, first.ID), true).String())
		require.Equal(t, 1, shown(t, o.runner.Job(retrace.Backtest, first.ID), false).GetInt("changed"))
		again := o.runner.Job(retrace.Shadow, job.ID)
		require.Equal(t, "running", stateOf(t, again))
		require.Equal(t, 2, shown(t, again, false).GetInt("changed"), "it is done again from its first leaf on")
		require.Len(t, s.docs, retrace.FinishedKept+1)
		o.runner.Close()

		// The policy or list of the job no longer exists.
		o.resume(t, s, retrace.ErrTermsGone)
		synctest.Wait()
		failed := o.runner.Job(retrace.Shadow, job.ID)
		require.Equal(t, "failed", stateOf(t, failed))
		require.Equal(t, retrace.ErrTermsGone.Error(), string(shown(t, failed, false).GetStringBytes("error")))
		o.runner.Close()
		require.Empty(t, o.resume(t, s, nil))
		require.Equal(t, "failed", stateOf(t, o.runner.Job(retrace.Shadow, job.ID)), "it is not tried again")
	})
}

// A document in the store that is no job of this node is reported and left alone. Errors of the
// store are reported too.
func TestStrangeShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t), &store{docs: map[string][]byte{}}
		o.resume(t, s, nil)
		job, err := o.runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.NoError(t, err)
		synctest.Wait()
		o.runner.Close()
		good := string(s.docs[job.ID])
		for name, c := range map[string]struct{ id, doc, told string }{
			"another name":                  {"bt_0123456789ab_n1", good, "holds the job"},
			"another node's":                {strings.Replace(job.ID, "_n1", "_n2", 1), strings.ReplaceAll(good, "_n1", "_n2"), "holds the job"},
			"another version":               {job.ID, strings.Replace(good, `"version":1`, `"version":2`, 1), "version 2 is not known"},
			"no JSON":                       {job.ID, good[1:], "invalid"},
			"a state that is none":          {job.ID, strings.Replace(good, `"state":1`, `"state":4`, 1), "its state is 4"},
			"one that runs and has ended":   {job.ID, strings.Replace(good, `"state":1`, `"state":0`, 1), "its state is 0"},
			"one that has ended unfinished": {job.ID, good[:strings.Index(good, `,"finished"`)] + `}`, "its state is 1"},
		} {
			s.docs = map[string][]byte{c.id: []byte(c.doc)}
			told := o.resume(t, s, nil)
			require.Len(t, told, 1, name)
			require.Contains(t, told[0], c.told, name)
			require.Empty(t, o.runner.Jobs(retrace.Backtest), name)
			require.Len(t, s.docs, 1)
			o.runner.Close()
		}
		s.fails = errors.New("the disk")
		var told []string
		o.open(t)
		o.runner.Resume(s, nil, func(text string, err error) { told = append(told, text+": "+err.Error()) })
		require.Contains(t, told[0], "cannot all be read: the disk")
		_, err = o.runner.Start(o.order(retrace.Backtest, 0, o.LogTime()))
		require.NoError(t, err, "a job is kept in memory all the same")
		synctest.Wait()
		require.Contains(t, told[len(told)-1], "kept in memory alone")
	})
}

// A resumed job waits until this node has the part of the log again that the job began with.
func TestJobWaitsForItsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t), &store{docs: map[string][]byte{}}
		o.resume(t, s, nil)
		o.pay(6)
		order := o.order(retrace.Backtest, 0, o.LogTime()+engine.Hour)
		order.Now += engine.Hour // The job was ordered when this node's log was longer.
		gate := retrace.NewJobRunner("n1", holed{o.Store, 0, audit.ErrMissing}, func(ctx context.Context, _ uint64) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, o.Judges.Retracing(), o.LogTime)
		gate.Resume(s, nil, func(string, error) {})
		job, err := gate.Start(order)
		require.NoError(t, err)
		gate.Close()
		o.resume(t, s, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "running", stateOf(t, o.runner.Job(retrace.Backtest, job.ID)))
		o.Advance(engine.Hour)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "done", stateOf(t, o.runner.Job(retrace.Backtest, job.ID)))
		require.Equal(t, 1, shown(t, o.runner.Job(retrace.Backtest, job.ID), false).GetInt("changed"))
	})
}

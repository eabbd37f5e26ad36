package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"railguard/engine"
)

const (
	overloadFactor  = 3
	overloadClients = 48                   // Clients that measure how much the cluster can do.
	overloadFlying  = 1500                 // Calls in progress at once. Without a bound the generator would measure itself.
	overloadBeat    = 2 * time.Millisecond // Time between two groups of calls.
)

// overloaded offers three times as many calls as the cluster can answer, in an open loop. Every
// answer must be a verdict, or a refusal that says that nothing happened. Rates and times are
// only reported, because the same small machine also has to make the calls.
func overloaded(ctx context.Context, s *stage) error {
	g := s.newGroup(engine.NoLimit)
	payer, o := s.client().register(ctx, g, account{parent: -1, daily: engine.NoLimit, single: engine.NoLimit})
	if payer == nil {
		return fmt.Errorf("%s", o)
	}
	storm := s.storm(ctx, load{clients: 2, pause: loadPause, calm: true})
	defer storm.stop()
	flood := newFlood(s, payer)
	defer flood.caller.close()
	rate := flood.capacity(ctx, s.span(time.Second, 10*time.Second))
	if rate == 0 {
		return fmt.Errorf("no call succeeds in peace: %v", flood.codes)
	}
	s.figure("verdicts a second with all clients busy", rate)
	flood.reset()
	elections := s.cluster.elections()
	flood.pour(ctx, overloadFactor*rate, s.span(2*time.Second, 20*time.Second))
	s.figure("offered a second", overloadFactor*rate)
	flood.tell(s)
	s.figure("elections meanwhile", s.cluster.elections()-elections)
	if flood.answered(http.StatusOK) == 0 {
		s.findings.add("under overload nothing succeeds any more")
	}
	began := s.history.now()
	if err := s.verdictAfter(ctx, began); err != nil {
		return fmt.Errorf("after the overload: %w", err)
	}
	s.sample("verdicts as before after", s.history.now()-began)
	return nil
}

// flood makes calls for one agent without limits. The history does not have them. They are
// counted in the log.
type flood struct {
	stage  *stage
	caller *caller
	body   []byte
	next   atomic.Int64

	mu    sync.Mutex
	codes map[string]int
	times map[int]*hdr.Histogram // Times by status; 0: there was no answer.
}

func newFlood(s *stage, a *account) *flood {
	f := &flood{stage: s, caller: newCaller(s.cluster.key), body: body(map[string]any{"token": a.token, "amount": usd(engine.Dollar)})}
	f.caller.client.Transport.(*http.Transport).MaxIdleConnsPerHost = overloadFlying
	f.reset()
	return f
}

func (f *flood) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.codes, f.times = map[string]int{}, map[int]*hdr.Histogram{}
}

// once makes one call at the next node.
func (f *flood) once(ctx context.Context) {
	n := f.stage.cluster.nodes[int(f.next.Add(1))%len(f.stage.cluster.nodes)]
	began := time.Now()
	a, err := f.caller.post(ctx, n.api+"/v1/screen", "", f.body)
	took := time.Since(began)
	status, code, wrong := 0, "no answer", ""
	if err == nil {
		var answer replyBody
		_ = json.Unmarshal(a.body, &answer) // If the body has no code, the status is enough.
		status, code = a.status, fmt.Sprintf("%d %s%s", a.status, answer.Code, answer.Verdict)
		switch {
		case status == http.StatusOK, status == http.StatusTooManyRequests:
		case status != http.StatusServiceUnavailable:
			wrong = fmt.Sprintf("under overload: %d %.200s", status, a.body)
		case a.header.Get("X-Railguard-Outcome") == "":
			wrong = "a 503 under overload without X-Railguard-Outcome"
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if wrong != "" {
		f.stage.findings.add("%s", wrong)
	}
	f.codes[code]++
	h := f.times[status]
	if h == nil {
		h = hdr.New(1, sampleMax.Microseconds(), 3)
		f.times[status] = h
	}
	_ = h.RecordValue(min(took, sampleMax).Microseconds()) // Limited to the histogram's range.
}

// capacity measures how many verdicts a second busy clients get.
func (f *flood) capacity(ctx context.Context, span time.Duration) int {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var clients sync.WaitGroup
	for range overloadClients {
		clients.Go(func() {
			for ctx.Err() == nil {
				f.once(context.WithoutCancel(ctx))
			}
		})
	}
	clients.Wait()
	return int(float64(f.answered(http.StatusOK)) / span.Seconds())
}

// pour offers calls at a rate, without waiting for their answers.
func (f *flood) pour(ctx context.Context, rate int, span time.Duration) {
	var flying atomic.Int64
	var calls sync.WaitGroup
	began := time.Now()
	held := 0
	for sent := 0; time.Since(began) < span && ctx.Err() == nil; {
		due := int(float64(rate) * time.Since(began).Seconds())
		for ; sent < due; sent++ {
			if flying.Load() >= overloadFlying {
				held++
				continue
			}
			flying.Add(1)
			calls.Go(func() {
				defer flying.Add(-1)
				f.once(context.WithoutCancel(ctx))
			})
		}
		pause(ctx, overloadBeat)
	}
	calls.Wait()
	if held > 0 {
		f.stage.figure("calls that the generator could not make", held)
	}
}

func (f *flood) answered(status int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.times[status]; h != nil {
		return int(h.TotalCount())
	}
	return 0
}

// tell reports which answers came, and how soon.
func (f *flood) tell(s *stage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, status := range sortedKeys(f.times) {
		h := f.times[status]
		at := func(q float64) time.Duration {
			return (time.Duration(h.ValueAtQuantile(q)) * time.Microsecond).Round(time.Millisecond)
		}
		s.figure(fmt.Sprintf("status %d", status), fmt.Sprintf("%d times, p50 %v p99 %v worst %v", h.TotalCount(), at(50), at(99), at(100)))
	}
	text, _ := json.Marshal(f.codes) // A map of strings and ints always encodes.
	s.figure("answers", string(text))
}

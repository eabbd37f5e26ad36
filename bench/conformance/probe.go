package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

// probe makes the calls and demands of one check, and remembers the last exchange for the failure
// text. It belongs to one goroutine; calls at the same time go through the method parallel.
type probe struct {
	*suite
	ctx      context.Context
	demands  int
	last     *answer
	failures []string
}

// stop ends the check after a failure that makes the rest pointless.
func (p *probe) stop(format string, args ...any) {
	p.demands++
	p.fail(format, args...)
	panic(stopCheck{})
}

// skip ends the check because the target lacks a tool.
func (p *probe) skip(format string, args ...any) {
	panic(stopCheck{skip: fmt.Sprintf(format, args...)})
}

func (p *probe) fail(format string, args ...any) {
	if len(p.failures) < failuresMax {
		p.failures = append(p.failures, fmt.Sprintf(format, args...))
	}
}

// expect makes a demand and goes on when it does not hold.
func (p *probe) expect(holds bool, format string, args ...any) bool {
	p.demands++
	if !holds {
		p.fail(format, args...)
	}
	return holds
}

// must makes a demand and ends the check when it does not hold.
func (p *probe) must(holds bool, format string, args ...any) {
	p.demands++
	if !holds {
		p.stop(format, args...)
	}
}

// call makes a call that has to be answered.
func (p *probe) call(method, path string, body any, options ...option) *answer {
	a, err := p.send(p.ctx, method, path, body, options...)
	if err != nil {
		p.stop("%v", err)
	}
	p.last = a
	return a
}

func (p *probe) get(path string, options ...option) *answer {
	return p.call(http.MethodGet, path, nil, options...)
}

func (p *probe) post(path string, body any, options ...option) *answer {
	return p.call(http.MethodPost, path, body, options...)
}

// status demands one of the status codes.
func (p *probe) status(a *answer, codes ...int) *answer {
	for _, code := range codes {
		if a.status == code {
			p.demands++
			return a
		}
	}
	p.stop("%s %s: status %d, want %v", a.method, a.path, a.status, codes)
	return a
}

// success demands a status of the 200 class and a JSON body.
func (p *probe) success(a *answer) *answer {
	p.must(a.ok(), "%s %s: status %d, want success", a.method, a.path, a.status)
	p.must(a.jsonErr == nil, "%s %s: body is not JSON: %v", a.method, a.path, a.jsonErr)
	return a
}

// refused demands an error status and its code, and goes on otherwise.
func (p *probe) refused(a *answer, status int, code string) bool {
	return p.expect(a.status == status && a.code() == code,
		"%s %s %s: got %d %q, want %d %q", a.method, a.path, cut(string(a.sent), 160), a.status, a.code(), status, code)
}

// refusedAnyhow demands some status of the 400 class, and that no credential came with it.
func (p *probe) refusedAnyhow(a *answer) bool {
	ok := a.status >= 400 && a.status < 500 && a.text("token") == ""
	return p.expect(ok, "%s %s %s: status %d, want a refusal (4xx)", a.method, a.path, cut(string(a.sent), 160), a.status)
}

// tool accepts the answer of an endpoint that the specification does not name. If the target
// lacks the endpoint, the check is skipped; in a strict run it fails.
func (p *probe) tool(a *answer) *answer {
	lacking := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed || a.status == http.StatusNotImplemented
	if lacking && !p.cfg.Strict {
		p.skip("the target lacks %s %s (status %d)", a.method, a.path, a.status)
	}
	return p.success(a)
}

// unshown accepts the answer of an endpoint whose body the specification does not show.
func (p *probe) unshown(a *answer) *answer {
	if a.status >= 400 && a.status < 500 && !p.cfg.Strict {
		p.skip("the target does not take the body of %s %s as ruled (status %d)", a.method, a.path, a.status)
	}
	return p.success(a)
}

// field demands that the member is there.
func (p *probe) field(a *answer, path string) any {
	value, there := a.at(path)
	p.must(there, "%s %s: no member %q in the answer", a.method, a.path, path)
	return value
}

// str demands a non-empty string at the path.
func (p *probe) str(a *answer, path string) string {
	text, ok := p.field(a, path).(string)
	p.must(ok && text != "", "%s %s: member %q is not a non-empty string", a.method, a.path, path)
	return text
}

// num demands a number at the path and returns its literal.
func (p *probe) num(a *answer, path string) string {
	number, ok := p.field(a, path).(json.Number)
	p.must(ok, "%s %s: member %q is not a number", a.method, a.path, path)
	return string(number)
}

// array demands an array at the path.
func (p *probe) array(a *answer, path string) []any {
	items, ok := p.field(a, path).([]any)
	p.must(ok, "%s %s: member %q is not an array", a.method, a.path, path)
	return items
}

// same demands that the member equals what is wanted; numbers are compared by value.
func (p *probe) same(a *answer, path string, want any) bool {
	got, there := a.at(path)
	if !p.expect(there, "%s %s: no member %q in the answer", a.method, a.path, path) {
		return false
	}
	wanted := plain(want)
	return p.expect(sameTree(got, wanted), "%s %s: %q is %s, want %s", a.method, a.path, path, show(got), show(wanted))
}

// absent demands that the member is not there.
func (p *probe) absent(a *answer, path string) bool {
	value, there := a.at(path)
	return p.expect(!there, "%s %s: %q must not be there, is %s", a.method, a.path, path, show(value))
}

var utcShape = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$`)

// utc demands an ISO 8601 UTC timestamp at the path and returns it.
func (p *probe) utc(a *answer, path string) time.Time {
	return p.utcText(p.str(a, path), path)
}

func (p *probe) utcText(text, what string) time.Time {
	p.must(utcShape.MatchString(text), "%s is %q, want an ISO 8601 UTC timestamp", what, text)
	moment, err := time.Parse(time.RFC3339Nano, text)
	p.must(err == nil, "%s is %q: %v", what, text, err)
	return moment
}

// parallel makes count calls of work over a bounded number of goroutines and demands
// that none returned an error.
func (p *probe) parallel(count, workers int, work func(i int) error) {
	var (
		next  atomic.Int64
		group sync.WaitGroup
		mutex sync.Mutex
		first error
		wrong int
	)
	for range min(workers, count) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if err := work(i); err != nil {
					mutex.Lock()
					wrong++
					if first == nil {
						first = err
					}
					mutex.Unlock()
				}
			}
		})
	}
	group.Wait()
	p.must(first == nil, "%d of %d parallel calls failed, the first: %v", wrong, count, first)
}

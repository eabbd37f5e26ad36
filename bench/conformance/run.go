package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// suite is what all checks of one run share.
type suite struct {
	cfg    Config
	client *http.Client
	run    string // Distinguishes this run's names from those of an earlier one.
	serial int    // Distinguishes names within the run.
	ledger ledger
	listed listedParties
	values map[string]any // What scripts begin with; nil: nothing.
}

// stopCheck ends a check early: a failed demand that makes the rest pointless,
// or a skip. It travels by panic from any depth of a check to runCheck.
type stopCheck struct{ skip string }

// Run examines the target and reports every result as soon as it is there.
// It returns when all selected checks ran or the context ended; checks that the
// context cut off are reported as failed.
func Run(ctx context.Context, cfg Config, report func(Result)) Summary {
	var summary Summary
	s := newSuite(cfg)
	defer s.client.CloseIdleConnections()
	for _, check := range Checks() {
		if !check.selected(&s.cfg) {
			continue
		}
		result := s.runCheck(ctx, check)
		summary.add(result)
		if report != nil {
			report(result)
		}
	}
	return summary
}

func newSuite(cfg Config) *suite {
	if cfg.DistinctCalls <= 0 {
		cfg.DistinctCalls = distinctDefault
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = parallelDefault
	}
	for i := range cfg.BaseURLs {
		cfg.BaseURLs[i] = strings.TrimRight(cfg.BaseURLs[i], "/")
	}
	cfg.AdminURL = strings.TrimRight(cfg.AdminURL, "/")
	s := &suite{cfg: cfg, client: cfg.Client, run: randomHex(4)}
	if s.client == nil {
		s.client = newClient(cfg.Parallel)
	}
	s.ledger.laws = map[string][]string{}
	s.ledger.secret = cfg.APIKey
	return s
}

// newClient makes a client that follows no redirect: a redirect is an answer to judge.
func newClient(parallel int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = parallel * 2
	transport.MaxIdleConns = parallel * 8
	transport.Proxy = nil
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // crypto/rand never fails: it ends the process instead.
	return hex.EncodeToString(raw)
}

// runCheck runs one check and makes a result, in whatever way the check ends.
func (s *suite) runCheck(ctx context.Context, check Check) (result Result) {
	start := time.Now()
	result = Result{ID: check.ID, Title: check.Title, Source: check.Source}
	if len(s.cfg.BaseURLs) == 0 {
		result.Outcome, result.Reason = Fail, "no base URL given"
		return result
	}
	if reason := check.lacking(&s.cfg); reason != "" {
		result.Outcome, result.Reason = Skipped, reason
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	p := &probe{suite: s, ctx: ctx}
	skip := p.guard(check.run)
	switch {
	case len(p.failures) > 0:
		result.Outcome, result.Reason = Fail, strings.Join(p.failures, "; ")
	case skip != "":
		result.Outcome, result.Reason = Skipped, skip
	case p.demands == 0:
		result.Outcome, result.Reason = Fail, "BUG: the check made no demand"
	default:
		result.Outcome = Pass
	}
	if result.Outcome == Fail && p.last != nil {
		result.Reason += " | last exchange: " + p.last.String()
	}
	result.Reason = s.redact(result.Reason)
	result.Duration = time.Since(start)
	return result
}

// guard runs the check, catches its early end and returns the reason of a skip.
func (p *probe) guard(run func(*probe)) (skip string) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopCheck:
			skip = end.skip
		default:
			p.failures = append(p.failures, fmt.Sprintf("BUG: the check panicked: %v\n%s", end, debug.Stack()))
		}
	}()
	run(p)
	return ""
}

// name makes a name that no other agent of any run has.
func (s *suite) name(stem string) string {
	s.serial++
	return fmt.Sprintf("%s %s-%d", stem, s.run, s.serial)
}

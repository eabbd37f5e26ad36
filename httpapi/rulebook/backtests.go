package rulebook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// Backtests judge recorded calls with another policy or another list (docs/foresight.md).

func (b *Room) backtestRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/backtests", Handle: b.startBacktest},
		{Method: http.MethodGet, Path: "/v1/backtests", Handle: b.listJobs(retrace.Backtest)},
		{Method: http.MethodGet, Path: "/v1/backtests/{id}", Handle: b.showJob(retrace.Backtest)},
		{Method: http.MethodPost, Path: "/v1/backtests/{id}/cancel", Handle: b.stopJob(retrace.Backtest)},
	}
}

// newJobRunner returns the runner of backtests and shadows.
func newJobRunner(b *Room) *retrace.JobRunner {
	records, published := b.deps.Records, b.deps.Published
	runner := retrace.NewJobRunner(b.deps.Node, records.Audit(), records.Leaf, b.deps.Judges.Retracing(), published.LogTime)
	runner.SetMakeWay(b.deps.MakeWay)
	if b.deps.Jobs != nil {
		runner.Resume(b.deps.Jobs, b.termsAgain, func(text string, err error) { b.deps.Logger.Warn(text, "error", err) })
	}
	return runner
}

// termsAgain reads the policy and list of a job that continues after a restart of this
// node.
func (b *Room) termsAgain(ctx context.Context, order *retrace.Order) (terms retrace.Terms, err error) {
	if order.Document != nil {
		var wrong []engine.FieldError
		if terms.Policy, wrong = engine.ParsePolicy(order.Document, order.From, b.deps.Published.Settings().Rules()); len(wrong) > 0 {
			return terms, fmt.Errorf("%w: the policy is not one any more: %s %s", retrace.ErrTermsGone, wrong[0].Param, wrong[0].Message)
		}
	}
	if order.ListID == "" {
		return terms, nil
	}
	settings := b.deps.Published.Settings()
	info := listNamed(settings, order.ListID)
	if info == nil {
		return terms, fmt.Errorf("%w: no node holds the list", retrace.ErrTermsGone)
	}
	if terms.List, err = b.deps.Judges.Retracing().List(ctx, info.Digest, settings.Matcher); err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: the list: %w", retrace.ErrTermsGone, err)
	}
	return terms, err
}

// startBacktest is POST /v1/backtests. It answers when the job has started.
func (b *Room) startBacktest(c *border.Request) (border.Answer, error) {
	order := retrace.Order{Kind: retrace.Backtest, By: c.KeyID(), Now: c.Published().LogTime()}
	f := c.ReadFields()
	var given bool
	if order.From, given = f.Instant("from"); !given {
		f.Missing("from")
	}
	if order.To, given = f.Instant("to"); !given {
		order.To = order.Now
	}
	order.To = min(order.To, order.Now)
	if order.From > order.To {
		f.Invalid("from", "must not be after to, nor in the future")
	}
	order.From = max(order.From, order.Now-engine.Retention, 0)
	if err := b.readTerms(c, &f, &order); err != nil {
		return border.Answer{}, err
	}
	return b.startJob(c, order)
}

// readTerms reads what to try: a policy, a list, or neither.
func (b *Room) readTerms(c *border.Request, f *strictjson.Fields, order *retrace.Order) error {
	if inner, given := f.Nested("policy"); given {
		order.Document = inner.JSON()
		if len(order.Document) > policyDocumentMax {
			return border.TooLarge(policyDocumentMax)
		}
		var wrong []engine.FieldError
		order.Terms.Policy, wrong = engine.ParsePolicy(order.Document, order.From, c.Settings().Rules()) // Hours are compiled for times from the first call on.
		inner.Report(wrong)
	}
	id := f.Text("listSnapshotId", engine.FieldMax)
	if err := f.Err(); err != nil || id == "" {
		return err
	}
	info, err := knownList(c, id)
	if err != nil {
		return border.InvalidField("listSnapshotId", "names no list that is known here")
	}
	order.ListID = ofac.SnapshotID(info.Digest)
	order.Terms.List, err = b.openList(c, info)
	var known *border.Error
	if errors.As(err, &known) && known.Status == http.StatusNotFound {
		return border.InvalidField("listSnapshotId", "names a list whose content no node that answers holds any more")
	}
	return err
}

func (b *Room) startJob(c *border.Request, order retrace.Order) (border.Answer, error) {
	job, err := b.Jobs.Start(order)
	switch {
	case errors.Is(err, retrace.ErrBusy):
		return border.Answer{}, border.Conflict("job_running", "a job of this kind runs on this node already: wait for it, stop it, or ask another node", nil)
	case err != nil:
		return border.Answer{}, border.Unavailable("shutting_down", "this node is going down")
	}
	b.writeJob(&c.Out, job, false)
	return c.Reply(http.StatusAccepted, c.Out), nil
}

// listJobs is GET /v1/backtests, or the same for shadows: the jobs that the nodes remember.
func (b *Room) listJobs(kind retrace.Kind) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		items, silent := b.askAllJobs(c, kind)
		m := c.Out[:0]
		m.List("data", items)
		m.Texts("unreachable", silent)
		c.Out = m
		return c.Reply(http.StatusOK, m), nil
	}
}

// showJob is GET /v1/backtests/{id}, or the same for shadows.
func (b *Room) showJob(kind retrace.Kind) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) { return b.aboutJob(c, kind, jobShow) }
}

// stopJob ends a job; an ended one is shown unchanged.
func (b *Room) stopJob(kind retrace.Kind) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) { return b.aboutJob(c, kind, jobStop) }
}

func (b *Room) aboutJob(c *border.Request, kind retrace.Kind, verb string) (border.Answer, error) {
	answer, err := b.askJob(c, jobQuestion{Verb: verb, Kind: kind, ID: c.PathValue("id")})
	if err != nil {
		return border.Answer{}, err
	}
	return c.Send(http.StatusOK, border.JSONType, answer), nil
}

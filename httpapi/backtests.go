package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// Backtests: what another policy or another list would have made of the calls that were
// recorded (docs/foresight.md).

const (
	triesPolicies = wire.RolePolicy | wire.RoleReviewer
	readsTrials   = triesPolicies | wire.RoleAuditor
)

func backtestRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/backtests", scope: scopeInstitution, roles: triesPolicies, body: bodyObject, handle: startBacktest},
		{method: http.MethodGet, path: "/v1/backtests", scope: scopeInstitution, roles: readsTrials, handle: listJobs(retrace.Backtest)},
		{method: http.MethodGet, path: "/v1/backtests/{id}", scope: scopeInstitution, roles: readsTrials, handle: showJob(retrace.Backtest)},
		{method: http.MethodPost, path: "/v1/backtests/{id}/cancel", scope: scopeInstitution, roles: triesPolicies, body: bodyOptional, handle: stopJob(retrace.Backtest)},
	}
}

// newDesk opens the desk of the jobs that judge history again.
func newDesk(a *API) *retrace.Desk {
	records, published := a.deps.Records, a.deps.Published
	desk := retrace.NewDesk(a.deps.Node, records.Audit(), records.Leaf, a.judges.Retracing(), published.LogTime)
	if a.deps.Jobs != nil {
		desk.Resume(a.deps.Jobs, a.termsAgain, func(text string, err error) { a.log.Warn(text, "error", err) })
	}
	return desk
}

// termsAgain reads what a job tries that goes on after a restart of this node.
func (a *API) termsAgain(ctx context.Context, order *retrace.Order) (terms retrace.Terms, err error) {
	if order.Document != nil {
		var wrong []engine.FieldError
		if terms.Policy, wrong = engine.ParsePolicy(order.Document, order.From, a.deps.Published.Settings().Rules()); len(wrong) > 0 {
			return terms, fmt.Errorf("%w: the policy is not one any more: %s %s", retrace.ErrTermsGone, wrong[0].Param, wrong[0].Message)
		}
	}
	if order.ListID == "" {
		return terms, nil
	}
	settings := a.deps.Published.Settings()
	info := listNamed(settings, order.ListID)
	if info == nil {
		return terms, fmt.Errorf("%w: no node holds the list", retrace.ErrTermsGone)
	}
	if terms.List, err = a.judges.Retracing().List(ctx, info.Digest, settings.Matcher); err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: the list: %w", retrace.ErrTermsGone, err)
	}
	return terms, err
}

// Close ends the jobs that run beside the calls and waits for them.
func (a *API) Close() { a.jobs.Close() }

// startBacktest is POST /v1/backtests. It is answered as soon as the job runs.
func startBacktest(c *call) (Answer, error) {
	order := retrace.Order{Kind: retrace.Backtest, By: c.key.ID, Now: c.api.deps.Published.LogTime()}
	f := c.fields()
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
	if err := readTerms(c, &f, &order); err != nil {
		return Answer{}, err
	}
	return startJob(c, order)
}

// readTerms reads what is to be tried: a policy, a list, or neither.
func readTerms(c *call, f *strictjson.Fields, order *retrace.Order) error {
	if inner, given := f.Nested("policy"); given {
		order.Document = inner.JSON()
		if len(order.Document) > policyDocumentMax {
			return tooLarge(policyDocumentMax)
		}
		var wrong []engine.FieldError
		order.Terms.Policy, wrong = engine.ParsePolicy(order.Document, order.From, c.judge.Terms.Settings.Rules()) // Hours are compiled from the first call on.
		inner.Report(wrong)
	}
	id := f.Text("listSnapshotId", engine.FieldMax)
	if err := f.Err(); err != nil || id == "" {
		return err
	}
	info, err := knownList(c, id)
	if err != nil {
		return invalidField("listSnapshotId", "names no list that is known here")
	}
	order.ListID = ofac.SnapshotID(info.Digest)
	order.Terms.List, err = openList(c, info)
	var known *Error
	if errors.As(err, &known) && known.Status == http.StatusNotFound {
		return invalidField("listSnapshotId", "names a list whose content no node that answers holds any more")
	}
	return err
}

func startJob(c *call, order retrace.Order) (Answer, error) {
	job, err := c.api.jobs.Start(order)
	switch {
	case errors.Is(err, retrace.ErrBusy):
		return Answer{}, conflict("job_running", "a job of this kind runs on this node already: wait for it, stop it, or ask another node", nil)
	case err != nil:
		return Answer{}, unavailable("shutting_down", "this node is going down")
	}
	c.api.writeJob(&c.out, job, false)
	return c.reply(http.StatusAccepted, c.out), nil
}

// listJobs is GET /v1/backtests and its like: the jobs that the nodes remember.
func listJobs(kind retrace.Kind) func(*call) (Answer, error) {
	return func(c *call) (Answer, error) {
		items, silent := askAllJobs(c, kind)
		m := c.out[:0]
		m.List("data", items)
		m.Texts("unreachable", silent)
		c.out = m
		return c.reply(http.StatusOK, m), nil
	}
}

// showJob is GET /v1/backtests/{id} and its like.
func showJob(kind retrace.Kind) func(*call) (Answer, error) {
	return func(c *call) (Answer, error) { return aboutJob(c, kind, jobShow) }
}

// stopJob ends a job; one that has ended is shown as it is.
func stopJob(kind retrace.Kind) func(*call) (Answer, error) {
	return func(c *call) (Answer, error) { return aboutJob(c, kind, jobStop) }
}

func aboutJob(c *call, kind retrace.Kind, verb string) (Answer, error) {
	answer, err := askJob(c, jobQuestion{Verb: verb, Kind: kind, ID: c.r.PathValue("id")})
	if err != nil {
		return Answer{}, err
	}
	return c.send(http.StatusOK, jsonType, answer), nil
}

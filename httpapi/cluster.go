package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// The cluster's verbs (decision 54), for keys with the role ops.

func (a *API) clusterRoutes() []route {
	get := func(path string, handle func(*call) (Answer, error)) route {
		return route{method: http.MethodGet, path: path, scope: scopeInstitution, roles: wire.RoleOps, reserved: true, always: true, handle: handle}
	}
	post := func(path string, body bodyKind, handle func(*call) (Answer, error)) route {
		return route{method: http.MethodPost, path: path, scope: scopeInstitution, roles: wire.RoleOps, body: body, reserved: true, always: true, stream: true, handle: handle}
	}
	keep := get("/v1/cluster/backup", saveBackup)
	keep.stream, keep.roles = true, wire.RoleAdmin
	save, take := get("/v1/cluster/snapshot", saveSnapshot), post("/v1/cluster/snapshot", bodyOptional, takeSnapshot)
	save.stream = true
	save.roles, take.roles = wire.RoleAdmin, wire.RoleAdmin // The state holds everybody's data, names and addresses.
	return []route{
		get("/v1/cluster/status", clusterStatus),
		get("/v1/cluster/peers", clusterPeers),
		get("/v1/cluster/leader", clusterLeader),
		save,
		take,
		keep,
		post("/v1/cluster/transfer-leader", bodyOptional, transferLeader),
		post("/v1/cluster/join", bodyObject, joinNode),
		post("/v1/cluster/remove", bodyObject, func(c *call) (Answer, error) { return takingVerb(c, c.api.deps.Operations.Remove) }),
		post("/v1/cluster/promote", bodyObject, func(c *call) (Answer, error) { return memberVerb(c, c.api.deps.Operations.Promote) }),
		post("/v1/cluster/demote", bodyObject, func(c *call) (Answer, error) { return takingVerb(c, c.api.deps.Operations.Demote) }),
		post("/v1/cluster/drain", bodyOptional, drain),
		{method: http.MethodPost, path: "/v1/cluster/matcher", scope: scopeInstitution, roles: wire.RoleOps, body: bodyObject, reserved: true, handle: raiseMatcher},
		{method: http.MethodPost, path: "/v1/cluster/format", scope: scopeInstitution, roles: wire.RoleOps, body: bodyObject, reserved: true, handle: raiseFormat},
	}
}

// replyJSON answers with a value that has JSON tags: operators' shapes alone.
func replyJSON(c *call, v any) (Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Answer{}, err
	}
	return c.send(http.StatusOK, jsonType, body), nil
}

func clusterStatus(c *call) (Answer, error) {
	status := c.api.deps.Operations.Status(c.ctx)
	status.Log, status.Secret = c.api.logStatus(c.ctx), secretStatus(c)
	return replyJSON(c, status)
}

func clusterPeers(c *call) (Answer, error) {
	status := c.api.deps.Operations.Status(c.ctx)
	return replyJSON(c, map[string]any{"clusterId": status.ClusterID, "peers": status.Nodes})
}

// clusterLeader answers null without a leader: that is a fact, not an error.
func clusterLeader(c *call) (Answer, error) {
	status := c.api.deps.Operations.Status(c.ctx)
	return replyJSON(c, map[string]any{"leader": status.Leader, "term": status.Term})
}

// operation bounds a cluster verb.
func operation(c *call) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, operationTimeout)
}

// operationError answers for a verb that the cluster refused or could not finish.
func operationError(err error) error {
	known := proposalError(err)
	var e *Error
	if errors.As(known, &e) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := unavailable("outcome_unknown", "the cluster did not finish in time; look at /v1/cluster/status")
		e.Outcome = outcomeUnknown
		return e
	}
	// Verbs speak to operators: the reason is theirs to read.
	return failure(http.StatusUnprocessableEntity, "invalid_field", err.Error())
}

func done(c *call) (Answer, error) {
	c.out.Bool("ok", true)
	c.out.Text("node", c.api.deps.Node)
	return c.reply(http.StatusOK, c.out), nil
}

func transferLeader(c *call) (Answer, error) {
	f := c.fields()
	to := f.Text("to", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	if err := c.api.deps.Operations.TransferLeader(ctx, to); err != nil {
		return Answer{}, operationError(err)
	}
	return done(c)
}

func joinNode(c *call) (Answer, error) {
	f := c.fields()
	id, addr := f.RequiredText("id", engine.FieldMax), f.RequiredText("addr", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	if err := c.api.deps.Operations.Join(ctx, id, addr); err != nil {
		return Answer{}, joinError(c, err)
	}
	return done(c)
}

// joinError answers a join that failed without a word of what came from the
// address: who may join nodes must not be able to look at other hosts with it. The
// node's log has the reason.
func joinError(c *call, err error) error {
	var known *Error
	if errors.As(operationError(err), &known) && known.Status == http.StatusServiceUnavailable {
		return known
	}
	c.api.log.Warn("join failed", "requestId", c.asked.RequestID, "error", err)
	return invalidField("addr", "does not lead to a node that can join; this node's log says why")
}

func memberVerb(c *call, verb func(ctx context.Context, id string) error) (Answer, error) {
	f := c.fields()
	return runVerb(c, &f, verb)
}

// takingVerb is a verb that takes a vote: with force also where too few would be left.
func takingVerb(c *call, verb func(ctx context.Context, id string, force bool) error) (Answer, error) {
	f := c.fields()
	force, _ := f.Flag("force")
	return runVerb(c, &f, func(ctx context.Context, id string) error { return verb(ctx, id, force) })
}

func runVerb(c *call, f *strictjson.Fields, verb func(ctx context.Context, id string) error) (Answer, error) {
	id := f.RequiredText("id", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	if err := verb(ctx, id); err != nil {
		return Answer{}, operationError(err)
	}
	return done(c)
}

// drain is POST /v1/cluster/drain {"grace"?, "drain"?}: not ready, leadership handed
// on, and after the grace new calls refused and the running ones ended. The answer to
// one with a grace comes at its beginning. {"drain":false} takes calls again, also
// while a grace runs.
func drain(c *call) (Answer, error) {
	f := c.fields()
	on, given := f.Flag("drain")
	text := f.Text("grace", engine.FieldMax)
	grace, readable := parseSpan(text)
	if text != "" && (!readable || grace < 0 || grace > drainGraceMax) {
		f.Invalid("grace", "must be a span such as 15s, at most 10m")
	}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	a := c.api
	if given && !on {
		a.deps.Operations.Undrain()
		a.SetDraining(false)
		return done(c)
	}
	ctx, cancel := operation(c)
	defer cancel()
	a.SetLeaving()
	a.deps.Operations.Leave(ctx)
	c.out.Bool("ok", true)
	c.out.Text("node", a.deps.Node)
	if grace > 0 {
		a.drainLater(time.Duration(grace))
		c.out.Int("refusesInSeconds", int64(grace/engine.Second))
		return c.reply(http.StatusOK, c.out), nil
	}
	a.SetDraining(true)
	c.out.Bool("idle", a.waitIdle(c.ctx, drainWait))
	if err := a.deps.Operations.Drain(ctx); err != nil {
		return Answer{}, operationError(err)
	}
	return c.reply(http.StatusOK, c.out), nil
}

// drainLater refuses calls after a grace, unless something else was said meanwhile.
func (a *API) drainLater(grace time.Duration) {
	said := a.drains.Load()
	time.AfterFunc(grace, func() {
		if !a.drains.CompareAndSwap(said, said+1) {
			return
		}
		a.draining.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), drainWait)
		defer cancel()
		a.waitIdle(ctx, drainWait)
		if err := a.deps.Operations.Drain(ctx); err != nil {
			a.deps.Logger.Warn("drain", "error", err)
		}
	})
}

// waitIdle waits until no ordinary call runs, at most for limit.
func (a *API) waitIdle(ctx context.Context, limit time.Duration) bool {
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	end := time.Now().Add(limit)
	for a.running.Load() > 0 {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
		<-ticker.C
	}
	return true
}

func takeSnapshot(c *call) (Answer, error) {
	info, err := c.api.deps.Operations.Snapshot(c.ctx)
	if err != nil {
		return Answer{}, operationError(err)
	}
	return replyJSON(c, info)
}

// saveSnapshot is GET /v1/cluster/snapshot: the newest snapshot. It holds
// personal data; the role admin guards it.
func saveSnapshot(c *call) (Answer, error) {
	c.header("Content-Disposition", `attachment; filename="railguard.snapshot"`)
	return streamAnswer(bytesType, func(out *Stream) error {
		return operationFailed(out, c.api.deps.Operations.SaveSnapshot(c.ctx, out))
	}), nil
}

// operationFailed is why a verb failed whose answer has not begun yet; one that has is broken off.
func operationFailed(out *Stream, err error) error {
	if err == nil || out.Begun() {
		return err
	}
	return operationError(err)
}

// saveBackup is GET /v1/cluster/backup: state, history and lists, for `railguard
// backup`, which encrypts and proves them on their way to a file.
func saveBackup(c *call) (Answer, error) {
	var from uint64
	var since int64
	var err error
	if text := c.query("from"); text != "" {
		if from, err = strconv.ParseUint(text, 10, 48); err != nil {
			return Answer{}, badQuery("from", "must be the index of a leaf")
		}
	}
	if text := c.query("since"); text != "" {
		if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
			return Answer{}, badQuery("since", "must be nanoseconds of log time")
		}
	}
	return streamAnswer(tarType, func(out *Stream) error {
		return operationFailed(out, c.api.deps.Backup(c.ctx, out, from, since))
	}), nil
}

var tarType = []string{"application/x-tar"}

// raiseMatcher is POST /v1/cluster/matcher: the last step of an upgrade whose binary
// brings another matcher. Until then every node judges with the version in force; from
// the log index of this call's record on all judge with the next one. It is refused
// while a voter could not.
func raiseMatcher(c *call) (Answer, error) {
	f := c.fields()
	to := uint16(0)
	if n, ok := f.Integer("to", 1, 65_535); ok {
		to = uint16(n)
	} else if f.Get("to") == nil {
		f.Missing("to")
	}
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindMatcher, record: func() (any, error) {
		if err := c.matcherProblem(to); err != nil {
			return nil, judged{err}
		}
		var m strictjson.Members
		m.Uint("previousMatcherVersion", uint64(c.judge.Terms.Settings.Matcher))
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		record := &wire.Matcher{To: to}
		var err error
		record.Common, err = c.judge.Recorded(m)
		return record, err
	}}, func(wire.Result) (Answer, error) {
		var m strictjson.Members
		m.Uint("matcherVersion", uint64(c.judge.Terms.Settings.Matcher))
		m.Bool("unchanged", true)
		return c.reply(200, m), nil
	})
}

// matcherProblem says why the version in force cannot become that one.
func (c *call) matcherProblem(to uint16) error {
	now := c.judge.Terms.Settings.Matcher
	switch {
	case to == now:
		return nil // The log says that nothing changes.
	case to != now+1:
		return invalidField("to", "must be one above the version in force: see matcherVersion in /v1/cluster/status")
	}
	if err := c.api.deps.Operations.MatcherReady(to); err != nil {
		return conflict("matcher_not_ready", strings.TrimPrefix(err.Error(), "cluster: "), nil)
	}
	return nil
}

// renderMatcher answers raiseMatcher.
func renderMatcher(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "matcherVersion", "previousMatcherVersion")
	m.Text("raisedAt", l.Text("time"))
	l.CopyTo(m, "reason", "actor", "eventId", "actorKeyId")
	return nil
}

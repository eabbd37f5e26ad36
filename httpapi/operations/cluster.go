package operations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The cluster's verbs (decision 54), for keys with the role ops.

func (o *Room) clusterRoutes() []border.Route {
	get := func(path string, handle func(*border.Request) (border.Answer, error)) border.Route {
		return border.Route{Method: http.MethodGet, Path: path, Reserved: true, Always: true, Handle: handle}
	}
	post := func(path string, handle func(*border.Request) (border.Answer, error)) border.Route {
		return border.Route{Method: http.MethodPost, Path: path, Reserved: true, Always: true, Stream: true, Handle: handle}
	}
	keep := get("/v1/cluster/backup", o.saveBackup)
	keep.Stream = true
	save := get("/v1/cluster/snapshot", o.saveSnapshot)
	save.Stream = true
	return []border.Route{
		get("/v1/cluster/status", o.showClusterStatus),
		get("/v1/cluster/peers", o.clusterPeers),
		get("/v1/cluster/leader", o.clusterLeader),
		save,
		post("/v1/cluster/snapshot", o.takeSnapshot),
		keep,
		post("/v1/cluster/transfer-leader", o.transferLeader),
		post("/v1/cluster/admit", o.admitNode),
		post("/v1/cluster/remove", func(c *border.Request) (border.Answer, error) {
			return takingVerb(c, o.deps.Operations.Remove)
		}),
		post("/v1/cluster/promote", func(c *border.Request) (border.Answer, error) {
			return memberVerb(c, o.deps.Operations.Promote)
		}),
		post("/v1/cluster/demote", func(c *border.Request) (border.Answer, error) {
			return takingVerb(c, o.deps.Operations.Demote)
		}),
		post("/v1/cluster/drain", o.drain),
		{Method: http.MethodPost, Path: "/v1/cluster/matcher", Reserved: true, Handle: o.raiseMatcher},
		{Method: http.MethodPost, Path: "/v1/cluster/format", Reserved: true, Handle: o.raiseFormat},
		{Method: http.MethodPost, Path: "/v1/cluster/confirm-time", Reserved: true, Always: true, Handle: confirmTime},
	}
}

// replyJSON answers with a value that has JSON tags. Only operators' answers use it.
func replyJSON(c *border.Request, v any) (border.Answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return border.Answer{}, err
	}
	return c.Send(http.StatusOK, border.JSONType, body), nil
}

func (o *Room) showClusterStatus(c *border.Request) (border.Answer, error) {
	status := o.deps.Operations.Status(c.Context())
	status.Log, status.Secret = o.deps.LogStatus(c.Context()), o.secretStatus(c)
	status.GatewayMap = o.deps.GatewayMap
	status.Warnings = append(slices.Clip(status.Warnings), append(o.deps.Overdue(), o.backupWarnings(c)...)...)
	return replyJSON(c, status)
}

func (o *Room) clusterPeers(c *border.Request) (border.Answer, error) {
	status := o.deps.Operations.Status(c.Context())
	return replyJSON(c, map[string]any{"clusterId": status.ClusterID, "peers": status.Nodes})
}

// clusterLeader answers null without a leader: that is a state, not an error.
func (o *Room) clusterLeader(c *border.Request) (border.Answer, error) {
	status := o.deps.Operations.Status(c.Context())
	return replyJSON(c, map[string]any{"leader": status.Leader, "term": status.Term})
}

// operation makes a context that bounds a cluster verb.
func operation(c *border.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Context(), operationTimeout)
}

// operationError makes the answer to a verb that the cluster refused or could not finish.
func operationError(err error) error {
	known := border.ProposalError(err)
	var e *border.Error
	if errors.As(known, &e) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		e := border.Unavailable("outcome_unknown", "the cluster did not finish in time; look at /v1/cluster/status")
		e.Outcome = border.OutcomeUnknown
		return e
	}
	// Verbs are for operators, who may read the reason.
	return border.NewError(http.StatusUnprocessableEntity, "invalid_field", err.Error())
}

func done(c *border.Request) (border.Answer, error) {
	c.Out.Bool("ok", true)
	c.Out.Text("node", c.NodeName())
	return c.Reply(http.StatusOK, c.Out), nil
}

func (o *Room) transferLeader(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	to := f.Text("to", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	if err := o.deps.Operations.TransferLeader(ctx, to); err != nil {
		return border.Answer{}, operationError(err)
	}
	return done(c)
}

// admitNode is POST /v1/cluster/admit {"id", "addr", "key"}: a node that asks to join, or waits at
// an address, becomes a member.
func (o *Room) admitNode(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	id, addr, key := f.RequiredText("id", engine.FieldMax), f.Text("addr", engine.FieldMax), f.Text("key", engine.FieldMax)
	by, err := readOrder(c, &f)
	if err != nil {
		return border.Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	err = o.deps.Operations.Admit(ctx, id, addr, key, by)
	switch {
	case err == nil:
		return done(c)
	case errors.Is(err, report.ErrNotWaiting):
		return border.Answer{}, border.NotFound("no node of this id asks to join: start it with --join, and admit it while it waits")
	case errors.Is(err, report.ErrOtherKey):
		return border.Answer{}, border.InvalidField("key", "is not the key of the node that asks to join")
	case addr == "":
		return border.Answer{}, operationError(err)
	}
	return border.Answer{}, joinError(c, err)
}

// joinError answers a failed join without any text from the address: a caller that may join
// nodes must not probe other hosts with it. The node's log has the reason.
func joinError(c *border.Request, err error) error {
	var known *border.Error
	if errors.As(operationError(err), &known) && known.Status == http.StatusServiceUnavailable {
		return known
	}
	c.Log().Warn("join failed", "requestId", c.Asked.RequestID, "error", err)
	return border.InvalidField("addr", "does not lead to a node that can join; this node's log says why")
}

// readOrder reads why a member is changed, and makes what the leaf of the change says of that and of
// who asked for it. Any error of the call's body comes back here.
func readOrder(c *border.Request, f *strictjson.Fields) (by wire.Common, err error) {
	grounds := edge.ReadGrounds(f)
	if err := f.Err(); err != nil {
		return by, err
	}
	return c.Judge.Order(grounds)
}

func memberVerb(c *border.Request, verb func(ctx context.Context, id string, by wire.Common) error) (border.Answer, error) {
	f := c.ReadFields()
	return runVerb(c, &f, verb)
}

// takingVerb makes a verb that removes a vote. With force it does so even if too few voters
// remain.
func takingVerb(c *border.Request, verb func(ctx context.Context, id string, force bool, by wire.Common) error) (border.Answer, error) {
	f := c.ReadFields()
	force, _ := f.Flag("force")
	return runVerb(c, &f, func(ctx context.Context, id string, by wire.Common) error { return verb(ctx, id, force, by) })
}

func runVerb(c *border.Request, f *strictjson.Fields, verb func(ctx context.Context, id string, by wire.Common) error) (border.Answer, error) {
	id := f.RequiredText("id", engine.FieldMax)
	by, err := readOrder(c, f)
	if err != nil {
		return border.Answer{}, err
	}
	ctx, cancel := operation(c)
	defer cancel()
	if err := verb(ctx, id, by); err != nil {
		return border.Answer{}, operationError(err)
	}
	c.Out.Bool("ok", true)
	c.Out.Text("node", id) // Of whom the verb was, not who answers: X-Railguard-Node says that.
	return c.Reply(http.StatusOK, c.Out), nil
}

// drain is POST /v1/cluster/drain {"grace"?, "drain"?}. It makes the node not ready, hands
// on the leadership, and after the grace refuses new calls and waits for the running ones.
// With a grace it answers at once. {"drain":false} takes calls again, also during a grace.
func (o *Room) drain(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	on, given := f.Flag("drain")
	text := f.Text("grace", engine.FieldMax)
	grace, readable := edge.ParseSpan(text)
	if text != "" && (!readable || grace < 0 || grace > drainGraceMax) {
		f.Invalid("grace", "must be a span such as 15s, at most 10m")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if given && !on {
		o.deps.Operations.Undrain()
		o.deps.Intake.SetDraining(false)
		return done(c)
	}
	ctx, cancel := operation(c)
	defer cancel()
	o.deps.Intake.SetLeaving()
	o.deps.Operations.Leave(ctx)
	c.Out.Bool("ok", true)
	c.Out.Text("node", c.NodeName())
	if grace > 0 {
		o.DrainLater(time.Duration(grace))
		c.Out.Int("refusesInSeconds", int64(grace/engine.Second))
		return c.Reply(http.StatusOK, c.Out), nil
	}
	o.deps.Intake.SetDraining(true)
	c.Out.Bool("idle", waitIdle(c.Context(), o.deps.Intake, drainWait))
	if err := o.deps.Operations.Drain(ctx); err != nil {
		return border.Answer{}, operationError(err)
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// DrainLater refuses calls after a grace, unless the state was changed meanwhile.
func (o *Room) DrainLater(grace time.Duration) {
	drain := o.deps.Intake.DrainLater()
	time.AfterFunc(grace, func() {
		if !drain() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), drainWait)
		defer cancel()
		waitIdle(ctx, o.deps.Intake, drainWait)
		if err := o.deps.Operations.Drain(ctx); err != nil {
			o.deps.Logger.Warn("drain", "error", err)
		}
	})
}

// waitIdle waits until no ordinary call runs, but at most for limit.
func waitIdle(ctx context.Context, intake Intake, limit time.Duration) bool {
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	end := time.Now().Add(limit)
	for intake.Running() > 0 {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
		<-ticker.C
	}
	return true
}

func (o *Room) takeSnapshot(c *border.Request) (border.Answer, error) {
	info, err := o.deps.Operations.Snapshot(c.Context())
	if err != nil {
		return border.Answer{}, operationError(err)
	}
	return replyJSON(c, info)
}

// saveSnapshot is GET /v1/cluster/snapshot: the newest snapshot. It holds
// personal data; the role admin guards it.
func (o *Room) saveSnapshot(c *border.Request) (border.Answer, error) {
	c.SetHeader("Content-Disposition", `attachment; filename="railguard.snapshot"`)
	return border.StreamAnswer(border.BytesType, func(out *border.Stream) error {
		return operationFailed(out, o.deps.Operations.SaveSnapshot(c.Context(), out))
	}), nil
}

// operationFailed returns the error of a verb whose answer has not begun yet. An answer
// that has begun is broken off.
func operationFailed(out *border.Stream, err error) error {
	if err == nil || out.Begun() {
		return err
	}
	return operationError(err)
}

// saveBackup is GET /v1/cluster/backup: state, history and lists. `railguard backup`
// encrypts and verifies them while it writes its file.
func (o *Room) saveBackup(c *border.Request) (border.Answer, error) {
	var from uint64
	var since int64
	var err error
	if text := c.Query("from"); text != "" {
		if from, err = strconv.ParseUint(text, 10, 48); err != nil {
			return border.Answer{}, border.BadQuery("from", "must be the index of a leaf")
		}
	}
	if text := c.Query("since"); text != "" {
		if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
			return border.Answer{}, border.BadQuery("since", "must be nanoseconds of log time")
		}
	}
	return border.StreamAnswer(tarType, func(out *border.Stream) error {
		return operationFailed(out, o.deps.Backup(c.Context(), out, from, since))
	}), nil
}

var tarType = []string{"application/x-tar"}

// raiseMatcher is POST /v1/cluster/matcher, the last step of an upgrade whose binary brings
// another matcher. Until then every node judges with the version in force; from the log
// index of this call's record on, all judge with the next one. It is refused while a voter
// lacks that version.
func (o *Room) raiseMatcher(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	to := uint16(0)
	if n, ok := f.Integer("to", 1, 65_535); ok {
		to = uint16(n)
	} else if f.Get("to") == nil {
		f.Missing("to")
	}
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindMatcher, Record: func() (any, error) {
		if err := o.matcherProblem(c, to); err != nil {
			return nil, border.ChangeableRefusal{Cause: err}
		}
		return rulebook.RaisedMatcher(&c.Judge, to, grounds)
	}}, func(wire.Result) (border.Answer, error) {
		var m strictjson.Members
		m.Uint("matcherVersion", uint64(c.Settings().Matcher))
		m.Bool("unchanged", true)
		return c.Reply(200, m), nil
	})
}

// matcherProblem says why the version in force cannot become that one.
func (o *Room) matcherProblem(c *border.Request, to uint16) error {
	now := c.Settings().Matcher
	switch {
	case to == now:
		return nil // The log will answer that nothing changes.
	case to != now+1:
		return border.InvalidField("to", "must be one above the version in force: see matcherVersion in /v1/cluster/status")
	}
	if err := o.deps.Operations.MatcherReady(to); err != nil {
		return border.Conflict("matcher_not_ready", strings.TrimPrefix(err.Error(), "cluster: "), nil)
	}
	return nil
}

// confirmTime is POST /v1/cluster/confirm-time: a person says that it is not later than an instant.
// When a second one has said the same, log time may leap up to it, if the clocks of a quorum say
// so. It works while no leader opens its term because nobody has confirmed the clocks.
func confirmTime(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	notAfter, given := f.Instant("notAfter")
	if !given && f.Get("notAfter") == nil {
		f.Missing("notAfter")
	}
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindTime, Record: func() (any, error) {
		return rulebook.ConfirmedTime(&c.Judge, notAfter, grounds)
	}}, func(wire.Result) (border.Answer, error) {
		var m strictjson.Members
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// renderTime answers confirmTime.
func renderTime(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "leapExpiresAt", "logTime")
	m.Text("confirmedAt", l.Text("time"))
	l.CopyTo(m, "persons", "alone", "reason", "actor", "eventId", "actorKeyId")
	return nil
}

// renderMatcher answers raiseMatcher.
func renderMatcher(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "matcherVersion", "previousMatcherVersion")
	m.Text("raisedAt", l.Text("time"))
	l.CopyTo(m, "reason", "actor", "eventId", "actorKeyId")
	return nil
}

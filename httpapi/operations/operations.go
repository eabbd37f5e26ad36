package operations

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/exposition"
	"railguard/strictjson"
)

// adminRoutes are the admin listener's routes. Most need no API key, so that listener is
// bound to a Unix socket or to loopback, never to a public address.
func (o *Room) adminRoutes() []border.Route {
	plain := func(path string, handler http.HandlerFunc) border.Route {
		return border.Route{Method: http.MethodGet, Path: path, Scope: border.ScopePublic, Always: true, Reserved: true, Stream: true, Handle: func(*border.Request) (border.Answer, error) {
			return border.AnswerWith(handler), nil
		}}
	}
	routes := []border.Route{
		{Method: http.MethodGet, Path: "/admin/log-level", Scope: border.ScopeInstitution, Roles: wire.RoleOps, Always: true, Handle: o.showLogLevel},
		{Method: http.MethodPost, Path: "/admin/log-level", Scope: border.ScopeInstitution, Roles: wire.RoleOps, Always: true, Body: border.BodyObject, Handle: o.setLogLevel},
		plain("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = exposition.Write(w, o.deps.Gauges) // An error means that the scraper has disconnected.
		}),
		plain("/debug/pprof/profile", pprof.Profile),
		plain("/debug/pprof/trace", pprof.Trace),
		plain("/debug/pprof/cmdline", pprof.Cmdline),
		plain("/debug/pprof/symbol", pprof.Symbol),
	}
	for _, name := range []string{"goroutine", "heap", "allocs", "block", "mutex", "threadcreate"} {
		routes = append(routes, plain("/debug/pprof/"+name, pprof.Handler(name).ServeHTTP))
	}
	for _, shared := range o.healthRoutes() {
		if shared.Path == "/livez" || shared.Path == "/readyz" {
			routes = append(routes, shared)
		}
	}
	return border.ConcatRoutes(routes, o.flightRoutes(), o.keyRoutes(), o.peopleRoutes())
}

// logLevels are the names of the log levels.
var logLevels = []string{"debug", "info", "warn", "error"}

// showLogLevel is GET /admin/log-level: the level of this node.
func (o *Room) showLogLevel(c *border.Request) (border.Answer, error) {
	if o.deps.LogLevel == nil {
		return border.Answer{}, border.NotFound("no such path")
	}
	c.Out.Text("node", c.NodeName())
	c.Out.Text("level", strings.ToLower(o.deps.LogLevel.Level().String()))
	return c.Reply(http.StatusOK, c.Out), nil
}

// setLogLevel is POST /admin/log-level {"level"}. It sets this node's level, until the next
// call or the end of the process.
func (o *Room) setLogLevel(c *border.Request) (border.Answer, error) {
	level := o.deps.LogLevel
	if level == nil {
		return border.Answer{}, border.NotFound("no such path")
	}
	f := c.ReadFields()
	word := f.RequiredText("level", engine.FieldMax)
	if word != "" && !slices.Contains(logLevels, word) {
		f.Invalid("level", "must be debug, info, warn or error")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	var to slog.Level
	if err := to.UnmarshalText([]byte(word)); err != nil {
		return border.Answer{}, err
	}
	level.Set(to)
	c.Log().Warn("log level changed", "to", word, "requestId", c.Asked.RequestID) // Logged at any level but error, so that readers of the log learn of it.
	return o.showLogLevel(c)
}

// advanceClock is POST /v1/test/clock {"advance":"25h"}. It moves log time forward, never
// back, in a cluster that was bootstrapped with a test clock. In any other cluster the path
// does not exist.
func advanceClock(c *border.Request) (border.Answer, error) {
	if !c.Settings().Genesis.TestClock {
		return border.Answer{}, border.NotFound("no such path")
	}
	f := c.ReadFields()
	advance, err := rulebook.ReadClockAdvance(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindClock, Record: func() (any, error) {
		return advance.Record(&c.Judge)
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedMalformed {
			return border.InvalidField("advance", "goes beyond what the test clock can do")
		}
		return nil
	}}, nil)
}

func renderClock(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "logTime")
	l.CopyTo(m, "advance", "eventId")
	return nil
}

// testClockRoute is always mounted; the genesis decides whether it exists for callers.
func testClockRoute() border.Route {
	return border.Route{Method: http.MethodPost, Path: "/v1/test/clock", Handle: advanceClock}
}

// Operations are the cluster's verbs, and its state for people and load balancers.
type Operations interface {
	NodeID() string
	Status(ctx context.Context) report.ClusterStatus
	Ready(ctx context.Context, query report.ReadyQuery) report.Readiness
	TransferLeader(ctx context.Context, to string) error
	Leave(ctx context.Context)
	Drain(ctx context.Context) error
	Undrain()
	Snapshot(ctx context.Context) (report.SnapshotInfo, error)
	SaveSnapshot(ctx context.Context, w io.Writer) error
	Admit(ctx context.Context, id, addr, key string, by wire.Common) error
	Remove(ctx context.Context, id string, force bool, by wire.Common) error
	Promote(ctx context.Context, id string, by wire.Common) error
	Demote(ctx context.Context, id string, force bool, by wire.Common) error
	MatcherReady(to uint16) error // Why the matcher cannot be raised to that version; nil: it can.
}

// BackupSaver writes the parts of a backup (GET /v1/cluster/backup): history from a leaf
// on, and lists in use since a log time in nanoseconds.
type BackupSaver func(ctx context.Context, w io.Writer, from uint64, since int64) error

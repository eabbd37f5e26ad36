package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/exposition"
	"railguard/strictjson"
)

// operationRoutes are the admin listener's: no API key guards them, so that
// listener is bound to a Unix socket or to loopback, never to the world.
func (a *API) operationRoutes() []route {
	set := metrics.NewSet()
	a.registerGauges(set)
	plain := func(path string, handler http.HandlerFunc) route {
		return route{method: http.MethodGet, path: path, scope: scopePublic, always: true, reserved: true, stream: true, handle: func(*call) (Answer, error) {
			return Answer{handler: handler}, nil
		}}
	}
	routes := []route{
		{method: http.MethodGet, path: "/admin/log-level", scope: scopeInstitution, roles: wire.RoleOps, always: true, handle: showLogLevel},
		{method: http.MethodPost, path: "/admin/log-level", scope: scopeInstitution, roles: wire.RoleOps, always: true, body: bodyObject, handle: setLogLevel},
		plain("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = exposition.Write(w, set) // Whoever scrapes has gone.
		}),
		plain("/debug/pprof/profile", pprof.Profile),
		plain("/debug/pprof/trace", pprof.Trace),
		plain("/debug/pprof/cmdline", pprof.Cmdline),
		plain("/debug/pprof/symbol", pprof.Symbol),
	}
	for _, name := range []string{"goroutine", "heap", "allocs", "block", "mutex", "threadcreate"} {
		routes = append(routes, plain("/debug/pprof/"+name, pprof.Handler(name).ServeHTTP))
	}
	for _, shared := range a.healthRoutes() {
		if shared.path == "/livez" || shared.path == "/readyz" {
			routes = append(routes, shared)
		}
	}
	return routes
}

// logLevels are the words for the levels of the log.
var logLevels = []string{"debug", "info", "warn", "error"}

// showLogLevel is GET /admin/log-level: of this node.
func showLogLevel(c *call) (Answer, error) {
	if c.api.deps.LogLevel == nil {
		return Answer{}, notFound("no such path")
	}
	c.out.Text("node", c.api.deps.Node)
	c.out.Text("level", strings.ToLower(c.api.deps.LogLevel.Level().String()))
	return c.reply(http.StatusOK, c.out), nil
}

// setLogLevel is POST /admin/log-level {"level"}: of this node, until it is said anew
// or the node ends.
func setLogLevel(c *call) (Answer, error) {
	level := c.api.deps.LogLevel
	if level == nil {
		return Answer{}, notFound("no such path")
	}
	f := c.fields()
	word := f.RequiredText("level", engine.FieldMax)
	if word != "" && !slices.Contains(logLevels, word) {
		f.Invalid("level", "must be debug, info, warn or error")
	}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	var to slog.Level
	if err := to.UnmarshalText([]byte(word)); err != nil {
		return Answer{}, err
	}
	level.Set(to)
	c.api.log.Warn("log level changed", "to", word, "requestId", c.asked.RequestID) // At any level but error: who looks for lines must know.
	return showLogLevel(c)
}

// advanceClock is POST /v1/test/clock {"advance":"25h"}: log time of a cluster
// that was bootstrapped with a test clock goes forward, never back. Anywhere else
// the path does not exist.
func advanceClock(c *call) (Answer, error) {
	if !c.judge.Terms.Settings.Genesis.TestClock {
		return Answer{}, notFound("no such path")
	}
	f := c.fields()
	text := f.RequiredText("advance", engine.FieldMax)
	span, ok := parseSpan(text)
	if text != "" && (!ok || span <= 0 || span > 1000*engine.DayLength) {
		f.Invalid("advance", "must be a span such as 25h or 91d, at most 1000d")
	}
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindClock, record: func() (any, error) {
		var m strictjson.Members
		m.Text("advance", text)
		record := &wire.Clock{Advance: span}
		var err error
		record.Common, err = c.judge.Recorded(m)
		return record, err
	}, refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedMalformed {
			return invalidField("advance", "goes beyond what the test clock can do")
		}
		return nil
	}}, nil)
}

func renderClock(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "logTime")
	m.Text("advanced", l.Text("advance"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// testClockRoute is mounted always; whether it exists is the genesis' question.
func testClockRoute() route {
	return route{method: http.MethodPost, path: "/v1/test/clock", scope: scopeInstitution, roles: wire.RoleOps, body: bodyObject, handle: advanceClock}
}

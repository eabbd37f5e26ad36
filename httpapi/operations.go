package httpapi

import (
	"net/http"
	"net/http/pprof"

	"github.com/VictoriaMetrics/metrics"
)

// operationRoutes are the admin listener's: no API key guards them, so that
// listener is bound to a Unix socket or to loopback, never to the world.
func (a *API) operationRoutes() []route {
	set := metrics.NewSet()
	a.registerGauges(set)
	plain := func(path string, handler http.HandlerFunc) route {
		return route{method: http.MethodGet, path: path, always: true, reserved: true, stream: true, handle: func(c *call) error {
			c.status, c.wrote = http.StatusOK, true
			handler(c.w, c.r)
			return nil
		}}
	}
	routes := []route{
		plain("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			metrics.WritePrometheus(w, true)
			set.WritePrometheus(w)
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

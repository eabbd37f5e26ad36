package border

import (
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"
)

// refusalsMax bounds the pairs of code and route that have a counter of their own.
const refusalsMax = 4096

type refusalKind struct{ code, route string }

// refused counts refused calls by code and route. Both are words of the program, so there are few.
var refused struct {
	counters sync.Map // *metrics.Counter by refusalKind.
	count    atomic.Int64
}

func countRefusal(code, route string) {
	kind := refusalKind{code, route}
	if counter, known := refused.counters.Load(kind); known {
		counter.(*metrics.Counter).Inc() //nolint:forcetypeassert // Nothing else is in it.
		return
	}
	if refused.count.Add(1) > refusalsMax {
		kind = refusalKind{"others", ""}
	}
	counter := metrics.GetOrCreateCounter(`railguard_http_refused_total{code="` + kind.code + `",route="` + kind.route + `"}`)
	refused.counters.Store(kind, counter)
	counter.Inc()
}

package load

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	overloadShare = 1.2 // Of saturation.
	overloadLinks = 8   // Connections for each caller that saturated; if all of them wait, the loader is a queue itself.
	loaderLate    = 5.0 // In ms: with a 99th percentile above this, latencies from when calls were due say much of the loader.
)

// runOverload measures saturation and then offers a fifth more, in an open loop. What is above
// capacity must be refused early, so that what is admitted is answered as if it were alone.
func runOverload(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	t.calm(ctx)
	peak, err := t.drive(ctx, t.screening("saturation before the overload", t.homes, b.callers(), 0, b.span(8*time.Second)))
	if err != nil {
		return err
	}
	rate := max(int(peak.perSecond()*overloadShare), 1)
	l := t.screening(fmt.Sprintf("overload, %d/s", rate), t.homes, overloadLinks*b.callers(), rate, b.span(15*time.Second))
	l.watched = true
	var o *measured
	err = b.whileProfiled(ctx, t, "overload", func() (err error) {
		o, err = t.drive(ctx, l)
		return err
	})
	if err != nil {
		return err
	}
	b.set("overload.saturation", "/s", more, peak.perSecond(), peak.rates())
	b.set("overload.offered", "/s", more, float64(o.done+o.failed)/o.span.Seconds(), nil)
	b.set("overload.rate", "/s", more, o.perSecond(), o.rates())
	b.set("overload.p50", "ms", less, o.quantile(50), o.quantiles(50))
	b.set("overload.p99", "ms", less, o.quantile(99), o.quantiles(99))
	b.set("overload.p999", "ms", less, o.quantile(99.9), o.quantiles(99.9))
	b.set("overload.sent.p99", "ms", less, inMillis(o.served, 99), nil)
	b.set("overload.refused.p99", "ms", less, inMillis(o.refused, 99), nil)
	b.set("overload.late.p99", "ms", less, inMillis(o.lag, 99), nil)
	b.set("overload.long", "", less, float64(o.long), nil)
	overloaded := int64(0)
	for failure, count := range o.errors {
		if strings.HasPrefix(failure, "503 overloaded") {
			overloaded += count
		}
	}
	b.set("overload.refused", "/s", less, float64(overloaded)/o.span.Seconds(), nil)
	b.set("overload.failed", "", less, float64(o.failed-overloaded), nil)
	b.report.Courses = append(b.report.Courses, o.course(nil))
	b.sayLate(o.outcome)
	return nil
}

// sayLate adds a note about a loader that could not keep its own plan.
func (b *bench) sayLate(o *outcome) {
	late := inMillis(o.lag, 99)
	if late <= loaderLate {
		return
	}
	note := fmt.Sprintf("%s: the loader was late: 99 %% of the calls were sent within %s ms of when they were due", o.name, number(late))
	if planned := float64(o.rate) * o.span.Seconds(); float64(o.done+o.failed) < 0.98*planned {
		note += fmt.Sprintf(", and %.0f %% of them at all", 100*float64(o.done+o.failed)/planned)
	}
	if o.full > 0 {
		note += fmt.Sprintf("; %d calls found that all %d connections waited for answers", o.full, o.callers)
	}
	note += fmt.Sprintf("; from when it was sent, an admitted call took %s ms at p99", number(inMillis(o.served, 99)))
	b.report.Notes = append(b.report.Notes, note)
}

package main

import (
	"io"
	"log/slog"

	"railguard/cluster/recorder"
)

// logs is a node's log. Its level can be changed while the node runs.
type logs struct {
	*slog.Logger
	level  *slog.LevelVar
	newest *recorder.LogRing // The newest ones.
}

// newLogs makes the log of --log-level and --log-format.
func newLogs(out io.Writer, level, format string) (*logs, error) {
	l := &logs{level: new(slog.LevelVar), newest: recorder.NewLogRing()}
	if err := l.level.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level: %w", err)
	}
	spans := &slog.HandlerOptions{Level: l.level, ReplaceAttr: plainSpans}
	var handler slog.Handler
	switch format {
	case "text":
		handler = slog.NewTextHandler(out, &slog.HandlerOptions{Level: l.level})
	case "json":
		handler = slog.NewJSONHandler(out, spans)
	default:
		return nil, usageError("--log-format must be text or json")
	}
	l.Logger = slog.New(recorder.Keep(handler, l.newest, spans))
	return l, nil
}

// plainSpans writes durations in seconds and adds the unit to their names, as metrics do. In
// JSON a Go duration would be a number of nanoseconds without a unit.
func plainSpans(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"Seconds", a.Value.Duration().Seconds())
	}
	return a
}

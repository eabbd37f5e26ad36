package main

import (
	"io"
	"log/slog"
)

// logs is a node's log. Its level can be changed while the node runs.
type logs struct {
	*slog.Logger
	level *slog.LevelVar
}

// newLogs makes the log of --log-level and --log-format.
func newLogs(out io.Writer, level, format string) (*logs, error) {
	l := &logs{level: new(slog.LevelVar)}
	if err := l.level.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: l.level}
	switch format {
	case "text":
		l.Logger = slog.New(slog.NewTextHandler(out, options))
	case "json":
		options.ReplaceAttr = plainSpans
		l.Logger = slog.New(slog.NewJSONHandler(out, options))
	default:
		return nil, usageError("--log-format must be text or json")
	}
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

package main

import (
	"io"
	"log/slog"
)

// logs is where a node's lines go: its level may be changed while it runs.
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

// plainSpans writes spans in seconds, by the same name with its unit, as metrics do: the
// JSON of a Go duration is a bare count of nanoseconds.
func plainSpans(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"Seconds", a.Value.Duration().Seconds())
	}
	return a
}

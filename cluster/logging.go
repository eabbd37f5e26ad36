package cluster

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger carries raft's lines into our log. Raft is chatty about ordinary
// life (elections, retries), so its levels are kept and its text marked.
type raftLogger struct {
	hclog.Logger // Answers what is not overridden: a null logger.
	to           *slog.Logger
}

func newRaftLogger(to *slog.Logger) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), to: to.With("room", "raft")}
}

var slogLevels = map[hclog.Level]slog.Level{
	hclog.Trace: slog.LevelDebug, hclog.Debug: slog.LevelDebug, hclog.Info: slog.LevelInfo,
	hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError,
}

// Log implements hclog.Logger.
func (l *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	l.to.Log(context.Background(), slogLevels[level], msg, args...)
}

func (l *raftLogger) Trace(string, ...any)           {}
func (l *raftLogger) Debug(msg string, args ...any)  { l.to.Debug(msg, args...) }
func (l *raftLogger) Info(msg string, args ...any)   { l.to.Info(msg, args...) }
func (l *raftLogger) Warn(msg string, args ...any)   { l.to.Warn(msg, args...) }
func (l *raftLogger) Error(msg string, args ...any)  { l.to.Error(msg, args...) }
func (l *raftLogger) IsTrace() bool                  { return false }
func (l *raftLogger) IsDebug() bool                  { return l.enabled(slog.LevelDebug) }
func (l *raftLogger) IsInfo() bool                   { return l.enabled(slog.LevelInfo) }
func (l *raftLogger) IsWarn() bool                   { return l.enabled(slog.LevelWarn) }
func (l *raftLogger) IsError() bool                  { return l.enabled(slog.LevelError) }
func (l *raftLogger) With(args ...any) hclog.Logger  { return &raftLogger{l.Logger, l.to.With(args...)} }
func (l *raftLogger) Named(string) hclog.Logger      { return l }
func (l *raftLogger) ResetNamed(string) hclog.Logger { return l }
func (l *raftLogger) enabled(level slog.Level) bool  { return l.to.Enabled(context.Background(), level) }
func (l *raftLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return io.Discard
}
func (l *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

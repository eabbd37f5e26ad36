package cluster

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// raftLogger writes raft's log lines into our log, marked with their room.
//
// Raft logs ordinary events (elections, a peer that is being restarted) at a high level, and
// again at each try. Those lines get a level of ours. Every other line keeps raft's level, so
// that its lines about a disk, and new lines of a later version, stay as loud as they are.
type raftLogger struct {
	hclog.Logger // A null logger, for the methods that are not overridden.
	to           *slog.Logger
}

func newRaftLogger(to *slog.Logger) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), to: to.With("room", "raft")}
}

var slogLevels = map[hclog.Level]slog.Level{
	hclog.Trace: slog.LevelDebug, hclog.Debug: slog.LevelDebug, hclog.Info: slog.LevelInfo,
	hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError,
}

// raftLevels has our levels for lines to which raft gives too high a level, by their text.
var raftLevels = map[string]slog.Level{
	// A peer is away, restarted or busy. Raft logs these lines at each try. "failed to contact"
	// says it once, and status, readiness and metrics show for how long.
	"failed to appendEntries to":                                slog.LevelDebug,
	"failed to pipeline appendEntries":                          slog.LevelDebug,
	"failed to start pipeline replication to":                   slog.LevelDebug,
	"failed to heartbeat to":                                    slog.LevelDebug,
	"failed to make requestVote RPC":                            slog.LevelDebug,
	"failed to decode incoming command":                         slog.LevelDebug,
	"failed to flush response":                                  slog.LevelDebug,
	"target does not support pre-vote RPC, treating as granted": slog.LevelDebug,
	"appendEntries rejected, sending older logs":                slog.LevelDebug,
	"previous log term mis-match":                               slog.LevelDebug,
	"failed to get previous log":                                slog.LevelDebug, // The leader is ahead; for a failing disk raft logs "failed to get log".
	"skipping application of old log":                           slog.LevelDebug, // After a start from a snapshot raft counts commits from zero, so the first entries it applies may be in the snapshot.
	"failed to contact":                                         slog.LevelInfo,
	"failed to send snapshot to":                                slog.LevelInfo,
	"installSnapshot rejected to":                               slog.LevelInfo,
	"peer has newer term, stopping replication":                 slog.LevelInfo,

	// Elections, with one or two lines each.
	"heartbeat timeout reached, starting election":                                                                   slog.LevelInfo,
	"heartbeat timeout reached, not part of a stable configuration or a non-voter, not triggering a leader election": slog.LevelInfo,
	"Election timeout reached, restarting election":                                                                  slog.LevelInfo,
	"not part of stable configuration, aborting election":                                                            slog.LevelInfo,
	"no known peers, aborting election":                                                                              slog.LevelInfo,
	"new leader elected, stepping down":                                                                              slog.LevelInfo,
	"duplicate requestVote from":                                                                                     slog.LevelInfo,
	"clearing log suffix":                                                                                            slog.LevelInfo,
}

// raftFamilies has the levels of lines by how they begin.
var raftFamilies = map[string]slog.Level{
	"rejecting vote request":     slog.LevelInfo,
	"rejecting pre-vote request": slog.LevelInfo,
	"Shutdown node at ":          slog.LevelInfo,
}

// levelOfRaft returns our level for one of raft's lines.
func levelOfRaft(level slog.Level, msg string) slog.Level {
	if level <= slog.LevelInfo {
		return level
	}
	if ours, known := raftLevels[msg]; known {
		return ours
	}
	for beginning, ours := range raftFamilies {
		if strings.HasPrefix(msg, beginning) {
			return ours
		}
	}
	return level
}

// raftKeys are keys of raft's lines that every line of ours has, with the keys that we give them.
var raftKeys = map[string]string{"time": "after", "node": "self", "level": "raftLevel", "msg": "raftMsg", "room": "raftRoom"}

// plainValues formats values that raft leaves to its own logger: formats, members, errors. It
// gives keys that our lines have another name: a line that has a key twice loses one of them.
func plainValues(args []any) []any {
	plain := make([]any, len(args))
	for i, arg := range args {
		if key, is := arg.(string); is && i%2 == 0 && raftKeys[key] != "" {
			plain[i] = raftKeys[key]
			continue
		}
		switch v := arg.(type) {
		case hclog.Format:
			plain[i] = ""
			if len(v) > 0 {
				plain[i] = fmt.Sprintf(fmt.Sprint(v[0]), v[1:]...)
			}
		case raft.Server:
			plain[i] = string(v.ID)
		case time.Duration:
			plain[i] = v
		case error:
			plain[i] = v.Error()
		case fmt.Stringer:
			plain[i] = v.String()
		default:
			plain[i] = arg
		}
	}
	return plain
}

func (l *raftLogger) writeLine(level slog.Level, msg string, args []any) {
	if level = levelOfRaft(level, msg); l.isEnabled(level) {
		l.to.Log(context.Background(), level, msg, plainValues(args)...)
	}
}

// Log implements hclog.Logger.
func (l *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	l.writeLine(slogLevels[level], msg, args)
}

func (l *raftLogger) Trace(string, ...any)          {}
func (l *raftLogger) Debug(msg string, args ...any) { l.writeLine(slog.LevelDebug, msg, args) }
func (l *raftLogger) Info(msg string, args ...any)  { l.writeLine(slog.LevelInfo, msg, args) }
func (l *raftLogger) Warn(msg string, args ...any)  { l.writeLine(slog.LevelWarn, msg, args) }
func (l *raftLogger) Error(msg string, args ...any) { l.writeLine(slog.LevelError, msg, args) }
func (l *raftLogger) IsTrace() bool                 { return false }
func (l *raftLogger) IsDebug() bool                 { return l.isEnabled(slog.LevelDebug) }
func (l *raftLogger) IsInfo() bool                  { return l.isEnabled(slog.LevelInfo) }
func (l *raftLogger) IsWarn() bool                  { return l.isEnabled(slog.LevelWarn) }
func (l *raftLogger) IsError() bool                 { return l.isEnabled(slog.LevelError) }
func (l *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{l.Logger, l.to.With(plainValues(args)...)}
}
func (l *raftLogger) Named(string) hclog.Logger      { return l }
func (l *raftLogger) ResetNamed(string) hclog.Logger { return l }
func (l *raftLogger) isEnabled(level slog.Level) bool {
	return l.to.Enabled(context.Background(), level)
}
func (l *raftLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return io.Discard
}
func (l *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}

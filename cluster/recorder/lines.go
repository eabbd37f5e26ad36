package recorder

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

const (
	linesKept = 1024
	lineMax   = 1024 // Bytes; a longer line is cut.
)

// LogRing keeps a node's last log lines, as JSON, whatever form the log itself has.
type LogRing struct {
	mu   sync.Mutex
	kept ring[string]
}

// NewLogRing makes a ring of lines.
func NewLogRing() *LogRing { return &LogRing{kept: newRing[string](linesKept)} }

// Write takes a line from a handler of slog, which writes each line with one call.
func (r *LogRing) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line[:min(len(line), lineMax)]), "\n")
	r.mu.Lock()
	r.kept.add(text)
	r.mu.Unlock()
	return len(line), nil
}

// All returns the lines, oldest first.
func (r *LogRing) All() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.all()
}

// handler gives each line to the log and keeps it. In every line each key stands once: who reads
// lines as objects would see the last of two and never know of the first.
type handler struct {
	log, keep slog.Handler
	keys      []string // Of what all lines have.
}

// Keep returns a handler that writes to log, and keeps lines from INFO on in newest.
func Keep(log slog.Handler, newest *LogRing, options *slog.HandlerOptions) slog.Handler {
	kept := *options
	kept.Level = slog.LevelInfo
	return &handler{log: log, keep: slog.NewJSONHandler(newest, &kept), keys: []string{slog.TimeKey, slog.LevelKey, slog.MessageKey}}
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.log.Enabled(ctx, level) || h.keep.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	once := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	keys := h.keys[:len(h.keys):len(h.keys)]
	record.Attrs(func(a slog.Attr) bool {
		a.Key = h.freeKey(keys, a.Key)
		keys = append(keys, a.Key)
		once.AddAttrs(a)
		return true
	})
	if h.keep.Enabled(ctx, record.Level) {
		_ = h.keep.Handle(ctx, once) // LogRing.Write never fails.
	}
	if !h.log.Enabled(ctx, record.Level) {
		return nil
	}
	return h.log.Handle(ctx, once)
}

// freeKey returns a key, with a number behind it if the line has it already.
func (h *handler) freeKey(keys []string, key string) string {
	free := key
	for number := 2; h.has(keys, free); number++ {
		free = key + string(rune('0'+number%10))
		if number >= 9 {
			return free
		}
	}
	return free
}

func (h *handler) has(keys []string, key string) bool {
	for _, one := range keys {
		if one == key {
			return true
		}
	}
	return false
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.keys = h.keys[:len(h.keys):len(h.keys)]
	once := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		a.Key = h.freeKey(next.keys, a.Key)
		next.keys = append(next.keys, a.Key)
		once[i] = a
	}
	next.log, next.keep = h.log.WithAttrs(once), h.keep.WithAttrs(once)
	return &next
}

func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.keys, next.log, next.keep = nil, h.log.WithGroup(name), h.keep.WithGroup(name)
	return &next
}

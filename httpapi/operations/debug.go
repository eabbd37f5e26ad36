package operations

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/exposition"
)

// Flight is what a node keeps for those who look for the cause of an incident.
type Flight struct {
	Recorder *recorder.Recorder
	Newest   *recorder.LogRing // Of the log; nil: none are kept.
	Settings [][3]string       // Name, value and origin of each setting; of a secret only whether it is set.
	Commit   string
}

// Asker asks other members; see rulebook.Relay.
type Asker interface {
	Others() []string
	Ask(ctx context.Context, node string, question []byte) (answer []byte, err error)
}

const (
	profileMax     = 5                // Seconds of a profile of the processors.
	goroutinesMax  = 2 << 20          // Bytes of the text about goroutines.
	reportPatience = 10 * time.Second // How long another node may take for its report, beside the profile.
)

func (o *Room) flightRoutes() []border.Route {
	return []border.Route{{
		Method: http.MethodGet, Path: "/admin/debug", Scope: border.ScopeInstitution, Roles: wire.RoleOps, Always: true, Reserved: true, Stream: true, Handle: o.showReport,
	}}
}

// showReport is GET /admin/debug?node=&cpu=: the report of this node, or of another one, which this
// one asks.
func (o *Room) showReport(c *border.Request) (border.Answer, error) {
	seconds := 0
	if text := c.Query("cpu"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > profileMax {
			return border.Answer{}, border.BadQuery("cpu", "must be a number of seconds up to "+strconv.Itoa(profileMax))
		}
		seconds = n
	}
	node := c.Query("node")
	if node == "" || node == c.NodeName() {
		body, err := json.Marshal(o.makeReport(c.Context(), seconds))
		if err != nil {
			return border.Answer{}, err
		}
		return c.Send(http.StatusOK, border.JSONType, body), nil
	}
	asker := o.deps.Asker
	if asker == nil || !slices.Contains(asker.Others(), node) {
		return border.Answer{}, border.NotFound("no such node in this cluster")
	}
	ctx, cancel := context.WithTimeout(c.Context(), reportPatience+time.Duration(seconds)*time.Second)
	defer cancel()
	body, err := asker.Ask(ctx, node, DebugQuestion(seconds))
	if err != nil || len(body) == 0 {
		c.Log().Info("a node was not asked for its report", "peer", node, "error", err)
		return border.Answer{}, border.Unavailable("node_away", "the node "+node+" does not answer this one")
	}
	return c.Send(http.StatusOK, border.JSONType, body), nil
}

// DebugQuestion is what a node asks another one for its report.
func DebugQuestion(seconds int) []byte { return append(debugMark, byte('0'+seconds)) }

// debugMark begins no question about jobs, which is a JSON object.
var debugMark = []byte("debug ")

// AnswerDebug answers another node that asks for this one's report; ok is false for any other
// question.
func (o *Room) AnswerDebug(ctx context.Context, question []byte) (answer []byte, ok bool) {
	text, is := bytes.CutPrefix(question, debugMark)
	if !is || len(text) != 1 {
		return nil, false
	}
	body, err := json.Marshal(o.makeReport(ctx, min(int(text[0]-'0'), profileMax)))
	if err != nil {
		return nil, true
	}
	return body, true
}

func (o *Room) makeReport(ctx context.Context, seconds int) *recorder.Report {
	flight := &o.deps.Flight
	r := &recorder.Report{
		Node: o.deps.Node, Version: o.deps.Version, Commit: flight.Commit, Go: runtime.Version(), StartedAt: o.started.UnixMilli(),
		Now: time.Now().UnixMilli(), LogTime: int64(o.deps.Published.LogTime() / engine.Millisecond),
		Entries: flight.Recorder.Entries(), Lines: flight.Newest.All(), Settings: flight.Settings, Missing: []string{},
	}
	status := o.deps.Operations.Status(ctx)
	status.Log = o.deps.LogStatus(ctx)
	var err error
	if r.Status, err = json.Marshal(status); err != nil {
		r.Missing = append(r.Missing, "status: "+err.Error())
	}
	var text bytes.Buffer
	if err := exposition.Write(&text, o.deps.Gauges); err != nil {
		r.Missing = append(r.Missing, "metrics: "+err.Error())
	}
	r.Metrics = text.String()
	gatherProfiles(ctx, r, seconds)
	return r
}

// gatherProfiles adds what the process does: its goroutines, its memory and, for so many seconds,
// its processors.
func gatherProfiles(ctx context.Context, r *recorder.Report, seconds int) {
	var goroutines, heap, cpu bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&goroutines, 1); err != nil {
		r.Missing = append(r.Missing, "goroutines: "+err.Error())
	}
	r.Goroutines = string(goroutines.Bytes()[:min(goroutines.Len(), goroutinesMax)])
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		r.Missing = append(r.Missing, "heap: "+err.Error())
	}
	r.Heap = heap.Bytes()
	if seconds == 0 {
		return
	}
	if err := pprof.StartCPUProfile(&cpu); err != nil { // Somebody makes one already.
		r.Missing = append(r.Missing, "cpu: "+err.Error())
		return
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-ctx.Done():
	}
	pprof.StopCPUProfile()
	r.CPU = cpu.Bytes()
}

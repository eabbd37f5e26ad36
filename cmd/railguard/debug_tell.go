package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"railguard/cluster/recorder"
	"railguard/cluster/report"
)

// event is an entry of one node's recorder at the time of the cluster: the node's clock, less what
// it is off from the others'.
type event struct {
	recorder.Entry
	Node string `json:"node"`
	Time string `json:"time"`
}

// incident is what the nodes of a group recorded, merged by time.
type incident struct {
	reports []*recorder.Report
	silent  []string // Members that gave no report.
	events  []event
	status  report.ClusterStatus // Of the node whose state is the newest.
}

// Spans of time by which events belong together, in milliseconds.
const (
	causeBefore = 20_000 // A cause is looked for so long before a leader was lost.
	echoAfter   = 1_000  // Calls are answered with the end of an election for so long after it.
)

const (
	changesOfLeaderTold = 4 // The newest ones.
	partsTold           = 4 // Of a list within a sentence.
)

// mergeReports merges reports by time.
func mergeReports(reports []*recorder.Report, silent []string) *incident {
	m := &incident{reports: reports, silent: silent}
	for _, r := range reports {
		var status report.ClusterStatus
		skew := int64(0)
		if json.Unmarshal(r.Status, &status) == nil {
			for i := range status.Nodes {
				if status.Nodes[i].ID == r.Node {
					skew = status.Nodes[i].ClockSkewMs
				}
			}
			if status.Term > m.status.Term || status.Term == m.status.Term && status.Index.Applied >= m.status.Index.Applied {
				m.status = status
			}
		}
		for _, entry := range r.Entries {
			entry.At -= skew
			m.events = append(m.events, event{Entry: entry, Node: r.Node, Time: timeText(entry.At)})
		}
	}
	slices.SortStableFunc(m.events, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	return m
}

func timeText(at int64) string {
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
}

func spanText(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

// tell says what happened, in sentences.
func (m *incident) tell() []string {
	says := []string{m.tellAsked(), m.tellNow()}
	says = append(says, m.tellLeaders()...)
	for _, one := range []string{m.tellStalls(), m.tellStarts(), m.tellRefusals(), m.tellKind(recorder.Change, "Somebody changed"), m.tellKind(recorder.Member, "Members"), m.tellKind(recorder.List, "Lists"), m.tellKind(recorder.Clock, "Clocks"), m.tellMachines(), m.tellMissing()} {
		if one != "" {
			says = append(says, one)
		}
	}
	return says
}

func (m *incident) tellAsked() string {
	var names []string
	for _, r := range m.reports {
		names = append(names, r.Node+" (release "+r.Version+")")
	}
	text := "Told by " + strings.Join(names, ", ")
	if len(m.silent) > 0 {
		return text + "; NOT by " + strings.Join(m.silent, ", ") + ": asked, and no answer came."
	}
	return text + ": that is every member."
}

func (m *incident) tellNow() string {
	s := &m.status
	leader := "nobody leads"
	if s.Leader != nil {
		leader = fmt.Sprintf("%s leads in term %d", s.Leader.ID, s.Term)
	}
	return fmt.Sprintf("Now %s, writes are %s, %d of %d voters are healthy, and the loss of %d is survived.", leader, cmp.Or(s.Writes.State, "not known"), s.Quorum.Healthy, s.Quorum.Voters, s.Quorum.FailureTolerance)
}

// tellLeaders tells each change of the leader: since when, why, for how long, and what callers
// were answered meanwhile.
func (m *incident) tellLeaders() (says []string) {
	var before *event
	for i := range m.events {
		led := &m.events[i]
		if led.Kind != recorder.Leading {
			continue
		}
		if before == nil {
			says = append(says, fmt.Sprintf("%s led at %s in term %d.", led.Node, led.Time, led.Term))
		} else {
			says = append(says, m.tellChange(before, led))
		}
		before = led
	}
	if len(says) > changesOfLeaderTold {
		left := len(says) - changesOfLeaderTold
		says = append([]string{fmt.Sprintf("%d earlier changes of the leader are in events.jsonl.", left)}, says[left:]...)
	}
	return says
}

func (m *incident) tellChange(before, led *event) string {
	lost := m.lostAt(before, led)
	who := led.Node + " was elected"
	if before.Node == led.Node {
		who = "it was elected again"
	}
	text := fmt.Sprintf("%s lost its leadership at %s, %s; %s after %s in term %d", before.Node, timeText(lost), m.causeOf(before, led, lost), who, spanText(led.At-lost), led.Term)
	if refused := m.refusedBetween(lost-echoAfter, led.At+echoAfter); refused != "" {
		text += "; meanwhile calls were answered: " + refused
	}
	return text + "."
}

// lostAt returns when a leader was lost: when it said so itself, or the first of the others knew of
// none, whichever is first.
func (m *incident) lostAt(before, led *event) int64 {
	for i := range m.events {
		e := &m.events[i]
		if e.At <= before.At || e.At > led.At {
			continue
		}
		own := e.Node == before.Node && (e.Kind == recorder.Lost || e.Kind == recorder.Stopping || e.Kind == recorder.Ending || e.Kind == recorder.Started)
		if own || e.Kind == recorder.Leader && e.Text == "" || e.Kind == recorder.Election {
			return e.At
		}
	}
	return led.At
}

// causeOf says why a leader was lost, as far as the nodes know.
func (m *incident) causeOf(before, led *event, lost int64) string {
	cause := "and no node recorded why"
	rank := 0
	better := func(of int, text string) {
		if of > rank {
			rank, cause = of, text
		}
	}
	for i := range m.events {
		e := &m.events[i]
		if e.At < max(before.At, lost-causeBefore) {
			continue
		}
		own := e.Node == before.Node
		switch {
		case own && e.Kind == recorder.Stall && e.TookMs > 0 && e.At-e.TookMs <= led.At:
			better(9, "because its disk stalled for "+spanText(e.TookMs))
		case e.At > led.At:
		case own && e.Kind == recorder.Stall:
			better(8, "because its disk stalled and had not answered by then")
		case own && e.Kind == recorder.Ending:
			better(7, "because it ended by itself: "+e.Text)
		case own && e.Kind == recorder.Stopping:
			better(6, "because it was taken out of service")
		case own && e.Kind == recorder.Lost:
			better(3, "because "+e.Text)
		case e.Kind == recorder.Election:
			better(2, "because "+e.Text)
		}
	}
	if rank >= 6 {
		return cause
	}
	for i := range m.events {
		e := &m.events[i]
		if e.Kind == recorder.Started && e.Node == before.Node && e.At > before.At && e.At > lost-causeBefore {
			return "because its process ended (it started again at " + e.Time + ")"
		}
	}
	if slices.Contains(m.silent, before.Node) {
		return cause + ", and it does not answer now"
	}
	return cause
}

// refusedBetween counts the calls that the service could not answer in a span of time.
func (m *incident) refusedBetween(from, to int64) string {
	counts := map[string]uint64{}
	for i := range m.events {
		if e := &m.events[i]; e.Kind == recorder.Refused && e.At >= from && e.At <= to && isOutage(e.Code) {
			counts[e.Code] += e.Count
		}
	}
	return countsText(counts, "503 ")
}

// isOutage reports whether a code says that the service could not answer, and not that the call
// was wrong.
func isOutage(code string) bool {
	return slices.Contains([]string{"no_leader", "no_quorum", "overloaded", "outcome_unknown", "shutting_down", "storage_low", "time_uncertain", "node_away", "sanctions_data_unavailable"}, code)
}

// countsText lists counts, the largest first.
func countsText(counts map[string]uint64, prefix string) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, key := range keys[:min(len(keys), partsTold)] {
		parts = append(parts, fmt.Sprintf("%d %s%s", counts[key], prefix, key))
	}
	if len(keys) > partsTold {
		parts = append(parts, fmt.Sprintf("and %d other codes", len(keys)-partsTold))
	}
	return strings.Join(parts, ", ")
}

func (m *incident) tellStalls() string {
	worst, count := (*event)(nil), 0
	for i := range m.events {
		if e := &m.events[i]; e.Kind == recorder.Stall && e.TookMs > 0 {
			count++
			if worst == nil || e.TookMs > worst.TookMs {
				worst = e
			}
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("Disks stalled %d times; the longest was %s on %s until %s.", count, spanText(worst.TookMs), worst.Node, worst.Time)
}

func (m *incident) tellStarts() string {
	var parts []string
	for i := range m.events {
		if e := &m.events[i]; e.Kind == recorder.Started {
			parts = append(parts, e.Node+" at "+e.Time)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Started: " + strings.Join(parts, ", ") + "; what a process recorded before is lost with it."
}

func (m *incident) tellRefusals() string {
	counts, total, first := map[string]uint64{}, uint64(0), ""
	for i := range m.events {
		if e := &m.events[i]; e.Kind == recorder.Refused {
			if first == "" {
				first = e.Time
			}
			counts[strings.TrimSpace(e.Code+" "+e.Route)] += e.Count
			total += e.Count
		}
	}
	if total == 0 {
		return "No refused call is recorded."
	}
	return fmt.Sprintf("%d refused calls are recorded since %s: %s.", total, first, countsText(counts, ""))
}

// tellKind tells how many events of a kind there were, and the newest.
func (m *incident) tellKind(kind, what string) string {
	count, last := 0, ""
	for i := range m.events {
		if e := &m.events[i]; e.Kind == kind {
			count++
			last = fmt.Sprintf("%s (on %s at %s)", e.Text, e.Node, e.Time)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d times, the last: %s.", what, count, last)
}

// tellMachines tells the room on the disks and the clocks, by the node with the newest state.
func (m *incident) tellMachines() string {
	var parts []string
	for i := range m.status.Nodes {
		n := &m.status.Nodes[i]
		parts = append(parts, fmt.Sprintf("%s has %d %% of its disk free, its clock is off by %d ms, it lags %d entries", n.ID, n.DiskFreePct, n.ClockSkewMs, n.Lag))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Machines: " + strings.Join(parts, "; ") + "."
}

func (m *incident) tellMissing() string {
	var parts []string
	for _, r := range m.reports {
		for _, one := range r.Missing {
			parts = append(parts, r.Node+": "+one)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not gathered: " + strings.Join(parts, "; ") + "."
}

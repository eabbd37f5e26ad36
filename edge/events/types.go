package events

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
)

// origin is what becomes of the leaves of one kind.
type origin struct {
	*leaf.Kind
	kind    string   // As a leaf says it: of what is due leaf.KindDue.
	members []string // Of the leaf, that stand in data. Texts that people wrote are not among them.
}

// screenMembers are the members of a screening record that are shown in data.
var screenMembers = []string{"txnId", "verdict", "rule", "reason", "screenedAt", "agentId", "userId", "fleetId", "operatorLegalName", "hold"}

// origins are the kinds of leaves that events come of, by the name of their row in the
// registry. A kind that is not here is none of its readers' affair, or not known to this release.
var origins = func() map[string]*origin {
	all := make(map[string]*origin)
	for i := range leaf.Kinds {
		row := &leaf.Kinds[i]
		if len(row.Events) == 0 {
			continue
		}
		kind, _, _ := strings.Cut(row.Name, ":")
		all[row.Name] = &origin{row, kind, leaf.EventMembers(row.Name)}
	}
	all[leaf.KindScreen].members = screenMembers
	return all
}()

// Types are the names of all types, sorted.
var Types = func() []string {
	var names []string
	for _, o := range origins {
		names = append(names, o.Events...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}()

// optIn are the types that only who names them gets: one comes with every payment.
var optIn = []string{"screen.proceed"}

// Selection is the types that a reader wants.
type Selection map[string]bool

// Everything is what a reader gets that names no types.
var Everything = func() Selection {
	s := make(Selection, len(Types))
	for _, name := range Types {
		s[name] = !slices.Contains(optIn, name)
	}
	return s
}()

// ParseSelection reads types, each a name or a group ("review.*"); unknown is the first
// that names nothing. A group does not take in what must be named.
func ParseSelection(names []string) (s Selection, unknown string) {
	s = make(Selection, len(names))
	for _, name := range names {
		group, whole := strings.CutSuffix(name, "*")
		found := false
		for _, known := range Types {
			if known == name || whole && strings.HasSuffix(group, ".") && strings.HasPrefix(known, group) && Everything[known] {
				s[known], found = true, true
			}
		}
		if !found {
			return nil, name
		}
	}
	return s, ""
}

// Kind is the kind of leaf that all of a selection come of; "": of more than one.
func (s Selection) Kind() string {
	kind := ""
	for _, o := range origins {
		if !slices.ContainsFunc(o.Events, func(name string) bool { return s[name] }) {
			continue
		}
		if kind != "" && kind != o.kind {
			return ""
		}
		kind = o.kind
	}
	return kind
}

// originOf is where the events of a leaf come from; nil: it has none.
func originOf(l *edge.Leaf) *origin {
	kind := l.Kind()
	if kind == leaf.KindDue {
		kind += ":" + l.Text("type")
	}
	return origins[kind]
}

// appliesTo reports whether this leaf is an event of that type, one of its origin's.
func appliesTo(l *edge.Leaf, name string) bool {
	switch name {
	case "screen.proceed", "screen.review", "screen.block", "screen.unknown":
		return name == "screen."+strings.ToLower(l.Text("verdict"))
	case "fleet.limit_80":
		return passesMark(l, 4)
	case "fleet.limit_100":
		return passesMark(l, 5)
	case "review.escalated", "sar.opened":
		return l.Text("disposition") == leaf.WordEscalateSAR
	case "hold.late":
		return l.Flag("late")
	case "hold.over_limit":
		return l.Flag("overLimit")
	case "agent.registered_with_match":
		return l.Flag("nameMatched") || l.Flag("walletMatched")
	case "sar.filed":
		return strings.EqualFold(l.Text("to"), "filed")
	}
	return true
}

// passesMark reports whether a PROCEED took what its fleet spent today from below so many
// fifths of the daily limit to that mark or above it.
func passesMark(l *edge.Leaf, fifths engine.USD) bool {
	x := l.Record
	if x == nil || !x.Judged || !x.InFleet || x.Verdict != engine.Proceed || x.Agent == nil || x.Agent.Fleet == nil {
		return false
	}
	limit := x.Agent.Fleet.DailyLimit
	if limit == engine.NoLimit {
		return false
	}
	mark := limit - limit/5*(5-fifths)
	before := x.FleetSpent + x.FleetHeld
	return before < mark && before+x.Amount >= mark
}

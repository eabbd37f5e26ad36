package events

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
)

// origin says which events come from the leaves of one kind.
type origin struct {
	*leaf.Kind
	kind    string   // The leaf's kind; for something that became due it is leaf.KindDue.
	members []string // The leaf's members that go into data. None of them is a text that a person wrote.
}

// screenMembers are the members of a screening record that are shown in data.
var screenMembers = []string{"txnId", "verdict", "rule", "reason", "screenedAt", "agentId", "userId", "fleetId", "operatorId", "operatorLegalName", "hold"}

// origins are the kinds of leaves that have events, by the name of their row in the registry.
// Any other kind has no events, or this release does not know it.
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

// Types holds the names of all event types, sorted.
var Types = func() []string {
	var names []string
	for _, o := range origins {
		names = append(names, o.Events...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}()

// optIn are the types that a reader gets only by naming them, because every payment has one.
var optIn = []string{"screen.proceed"}

// Selection is the types that a reader wants.
type Selection map[string]bool

// Everything is the selection of a reader that names no types.
var Everything = func() Selection {
	s := make(Selection, len(Types))
	for _, name := range Types {
		s[name] = !slices.Contains(optIn, name)
	}
	return s
}()

// ParseSelection reads a list of types, each a name or a group ("review.*"). unknown is the
// first entry that names no type. A group does not include the types of optIn.
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

// Kind returns the kind of leaf that all types of the selection come from, "" if there are
// several.
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

// originOf returns the origin of a leaf, nil if the leaf has no events.
func originOf(l *edge.Leaf) *origin {
	kind := l.Kind()
	if kind == leaf.KindDue {
		kind += ":" + l.Text("type")
	}
	return origins[kind]
}

// appliesTo reports whether this leaf is an event of the type, which is one of its origin's.
func appliesTo(l *edge.Leaf, name string) bool {
	switch name {
	case "screen.proceed", "screen.review", "screen.block", "screen.unknown":
		return name == "screen."+strings.ToLower(l.Text("verdict"))
	case "fleet.limit_80":
		return passesMark(l, 4)
	case "fleet.limit_100":
		return passesMark(l, 5)
	case "review.escalated":
		return l.Text("disposition") == leaf.WordEscalateSAR
	case "sar.opened":
		return l.Kind() == leaf.KindSAROpened || l.Text("disposition") == leaf.WordEscalateSAR && !l.Flag("hadReport")
	case "hold.unresolved", "hold.expired":
		return name == "hold."+l.Text("state")
	case leaf.KindPaymentRedeemed:
		return l.Text("state") == "redeemed"
	case "hold.late":
		return l.Flag("late")
	case "hold.over_limit":
		return l.Flag("overLimit")
	case "agent.registered_with_match":
		return l.Flag("nameMatched") || l.Flag("walletMatched") || l.Flag("taxMatched")
	case "sar.filed":
		return strings.EqualFold(l.Text("to"), "filed")
	}
	return true
}

// passesMark reports whether a PROCEED took the fleet's spending of today from below a mark to
// the mark or above it. The mark is fifths/5 of the daily limit.
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

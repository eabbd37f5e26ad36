package events

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
)

// audience says who may know of an event.
type audience uint8

const (
	ofPayment     audience = iota + 1 // Who may read the payment's record.
	ofDesk                            // Of those, who stand on the inner side of the wall.
	ofParty                           // Who may read the agent, fleet, user or operator.
	ofInstitution                     // Keys without an operator's scope.
	ofAlerts                          // Of those, who stand on the inner side of the wall.
)

// origin is what becomes of the leaves of one kind.
type origin struct {
	audience audience
	kind     string   // The leaf's.
	types    []string // All that may come of it, by n. What does not apply keeps its number.
	members  []string // Of the leaf, that stand in data. Texts that people wrote are not among them.
}

// Members of a leaf that are shown in data.
var (
	screenMembers  = []string{"txnId", "verdict", "rule", "reason", "screenedAt", "agentId", "userId", "fleetId", "operatorLegalName", "hold"}
	paymentMembers = []string{"txnId", "state", "amountUSDC", "countedUSDC", "expiredAt", "late", "overLimit", "notAllowed"}
	reviewMembers  = []string{"txnId", "disposition", "reviewedAt", "sarEscalated", "overLimitApproved"}
	deskMembers    = []string{"txnId", "dueAt", "disposition", "assignee", "leaseUntil", "from", "to", "listVersion", "against", "entries", "hits"}
	alertMembers   = []string{"alert", "alertId", "listVersion", "against", "txnId", "agentId", "userId", "operatorId", "amountUSDC", "entries"}
	partyMembers   = []string{
		"agentId", "userId", "fleetId", "operatorId", "operatorLegalName", "agentType", "parentAgentId", "credentialId", "credentialVersion",
		"issuedAt", "expiresAt", "previousStatus", "credentialStatus", "changedAt", "flaggedAt", "effectiveAt",
		"attestedAt", "validUntil", "agentIds", "agentCount", "rev",
	}
	ownMembers = []string{
		"policyVersion", "keyId", "prefix", "kid", "activateAt", "listDigest", "previousDigest", "listVersion", "entries", "syncedAt",
		"matcherVersion", "clearedId", "expiredAt", "expiresAt", "webhookId", "op", "seq", "n", "attempts", "status", "against", "hits",
	}
)

// origins is every kind of leaf that events come of. A kind that is not here is none
// of its readers' affair, or not written by any release yet.
var origins = func() map[string]*origin {
	all := make(map[string]*origin)
	add := func(who audience, members []string, kind string, types ...string) {
		all[kind] = &origin{audience: who, kind: kind, types: types, members: members}
	}
	add(ofPayment, screenMembers, "screen", "screen.proceed", "screen.review", "screen.block", "screen.unknown", "fleet.limit_80", "fleet.limit_100")
	add(ofPayment, reviewMembers, "review.dispositioned", "review.dispositioned", "review.escalated", "sar.opened")
	add(ofPayment, paymentMembers, leaf.KindHoldSettled, leaf.KindHoldSettled, "hold.late", "hold.over_limit")
	add(ofPayment, paymentMembers, leaf.KindHoldReleased, leaf.KindHoldReleased)
	for _, kind := range []string{"review.claimed", "review.released", "review.assigned", "review.commented", leaf.KindProposed, leaf.KindWithdrawn} {
		add(ofDesk, deskMembers, kind, kind)
	}
	for _, kind := range []string{leaf.KindAlertOpened, leaf.KindAcknowledged, leaf.KindRetroHit} {
		add(ofAlerts, alertMembers, kind, kind)
	}
	add(ofDesk, deskMembers, leaf.KindSARMoved, leaf.KindSARMoved, "sar.filed")
	add(ofParty, partyMembers, "agent.registered", "agent.registered", "agent.registered_with_match")
	add(ofParty, partyMembers, "delegate.created", "agent.registered", "agent.registered_with_match")
	add(ofParty, partyMembers, "ownership.flagged", "agent.ownership_flagged")
	add(ofParty, partyMembers, "ownership.cancelled", "agent.ownership_cancelled")
	for _, kind := range []string{
		"agent.reissued", "agent.suspended", "agent.reinstated", "agent.revoked", "agent.settings", "agent.whitelist", "agent.model_changed",
		"attestation.recorded", "fleet.created", "fleet.updated", "fleet.whitelist", "fleet.assigned", "fleet.removed",
		"user.registered", "user.reissued", "user.suspended", "user.reinstated", "user.revoked", "operator.suspended", "operator.reinstated",
	} {
		add(ofParty, partyMembers, kind, kind)
	}
	for _, kind := range []string{
		"policy.activated", "policy.whitelist", "list.staged", "list.activated", "list.synced", "matcher.raised", "format.raised", "cleared.added", "cleared.removed",
		"key.created", "key.rotated", "key.revoked", "signing_key.added", "signing_key.revoked", leaf.KindRetroBegun, leaf.KindRetroEnded,
		leaf.KindWebhook, leaf.KindDeadLetter,
	} {
		add(ofInstitution, ownMembers, kind, kind)
	}
	return all
}()

// dues are what falls due, by the type that its leaf names.
var dues = func() map[string]*origin {
	all := make(map[string]*origin)
	for due := leaf.DueHold; due.String() != ""; due++ {
		name := due.String()
		o := &origin{audience: ofInstitution, kind: leaf.KindDue, types: []string{name}, members: ownMembers}
		switch {
		case strings.HasPrefix(name, "hold."):
			o.audience, o.members = ofPayment, paymentMembers
		case strings.HasPrefix(name, "review."), strings.HasPrefix(name, "sar."):
			o.audience, o.members = ofDesk, deskMembers
		case strings.HasPrefix(name, "agent."), strings.HasPrefix(name, "attestation."), strings.HasPrefix(name, "user."):
			o.audience, o.members = ofParty, partyMembers
		}
		all[name] = o
	}
	return all
}()

// Types are the names of all types, sorted.
var Types = func() []string {
	var names []string
	for _, from := range []map[string]*origin{origins, dues} {
		for _, o := range from {
			names = append(names, o.types...)
		}
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
	for _, from := range []map[string]*origin{origins, dues} {
		for _, o := range from {
			if !slices.ContainsFunc(o.types, func(name string) bool { return s[name] }) {
				continue
			}
			if kind != "" && kind != o.kind {
				return ""
			}
			kind = o.kind
		}
	}
	return kind
}

// originOf is where the events of a leaf come from; nil: it has none.
func originOf(l *edge.Leaf) *origin {
	kind := l.Kind()
	if kind == leaf.KindDue {
		return dues[l.Text("type")]
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
		return l.Text("disposition") == "ESCALATE_SAR"
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

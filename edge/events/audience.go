package events

import (
	"errors"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// The roles that may read parties, and those that may read events of the institution.
const (
	readsParties     = wire.RoleOperator | wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy | wire.RoleViewer
	readsInstitution = wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy | wire.RoleOps
)

// subject is what a leaf is about: as much as is needed to tell who may see it.
type subject struct {
	admitted bool   // The caller may see the leaf; events behind the wall are checked apart.
	operator string // Its id; "": only the institution may see it.
	name     string // Its legal name.
	agent    string
	user     string
}

// findSubject finds out what a leaf is about and whether the caller may see it.
func (r *Reader) findSubject(o *origin, l *edge.Leaf, keys []uint64) (subject, error) {
	switch o.Audience {
	case leaf.OfPayment, leaf.OfDesk:
		return r.aboutPayment(o, l)
	case leaf.OfParty:
		return r.aboutParty(l, keys)
	case leaf.OfAlerts:
		return subject{admitted: r.caller.Institution() && r.caller.SeesAll()}, nil
	}
	return subject{admitted: r.caller.Institution() && r.caller.May(readsInstitution)}, nil
}

// aboutPayment decides by the screening record that a leaf refers to. An event whose record is
// past its 90 days is shown to nobody.
func (r *Reader) aboutPayment(o *origin, l *edge.Leaf) (subject, error) {
	if o.Audience == leaf.OfDesk && !r.caller.SeesAll() {
		return subject{}, nil
	}
	if l.Kind() == leaf.KindScreen {
		return r.subjectOf(l), nil
	}
	for _, name := range []string{"reviewedLeaf", "screenedLeaf"} {
		if !l.Has(name) {
			continue
		}
		record, err := r.judge.LoadLeaf(l.Number(name))
		if refused := (*edge.Refusal)(nil); errors.As(err, &refused) && refused.Code == "not_found" {
			return subject{}, nil
		}
		if err != nil {
			return subject{}, err
		}
		defer r.judge.DropLeaf()
		return r.subjectOf(&record), nil
	}
	return subject{admitted: r.caller.Institution() && r.caller.SeesAll()}, nil
}

func (r *Reader) subjectOf(record *edge.Leaf) subject {
	return subject{
		admitted: r.judge.Terms.MayRead(r.caller, record),
		operator: record.Text("operatorId"), name: record.Text("operatorLegalName"), agent: record.Text("agentId"), user: record.Text("userId"),
	}
}

// aboutParty decides by the operator of the party. A key of an operator sees a leaf only if the
// party was its operator's when the leaf was written and still is. So after a transfer neither
// side sees what the other did.
func (r *Reader) aboutParty(l *edge.Leaf, keys []uint64) (subject, error) {
	s := subject{operator: l.Text("operatorId"), name: l.Text("operatorLegalName"), admitted: r.caller.May(readsParties)}
	now := r.ownerNow(l)
	if s.operator == "" {
		s.operator = now
	}
	if r.caller.Institution() || !s.admitted {
		return s, nil
	}
	own := r.caller.OwnerOperator()
	named := slices.Contains(keys, engine.FilterKey(engine.FilterOperator, own))
	if now == "" && s.operator == "" && named { // The party was retired or erased.
		s.operator = own
	}
	s.admitted = (named || l.Kind() == leaf.KindDue) && own != "" && s.operator == own && (now == own || now == "" && (named || l.Has("operatorId")))
	return s, nil
}

// ownerNow returns the id of the operator that now has the leaf's party. It returns "" if there
// is no party or it is not known any more.
func (r *Reader) ownerNow(l *edge.Leaf) string {
	if slot, ok := r.judge.Terms.ParseAgent(l.Text("agentId")); ok {
		if profile := r.published.Agent(slot); profile != nil {
			return r.judge.OperatorID(profile.Operator)
		}
	}
	if slot, ok := r.judge.Terms.ParseUser(l.Text("userId")); ok {
		if profile := r.published.User(slot); profile != nil {
			return r.judge.OperatorID(profile.Operator)
		}
	}
	if slot, ok := r.judge.Terms.ParseFleet(l.Text("fleetId")); ok {
		if profile := r.published.Fleet(slot); profile != nil {
			return r.judge.OperatorID(profile.Operator)
		}
	}
	return ""
}

// behindWall reports whether an event reveals a suspicion, so that only reviewer, auditor and
// admin may see it.
func behindWall(l *edge.Leaf, name string) bool {
	return TellsOfSuspicion(name) || l.Text("disposition") == leaf.WordEscalateSAR || l.Flag("sarEscalated") ||
		strings.HasPrefix(name, "act.") && (l.Has("txnId") || l.Has("caseId")) // The step of a report or of a sanctions case waits for a second person.
}

// TellsOfSuspicion reports whether the name of an event type alone reveals a suspicion.
func TellsOfSuspicion(name string) bool {
	return strings.HasPrefix(name, "sar.") || strings.HasPrefix(name, "sanctions.") || name == "review.escalated" || name == "agent.registered_with_match"
}

package operations

import (
	"net/http"

	"railguard/edge"
	"railguard/edge/keys"
	"railguard/engine/passkey"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Persons and their passkeys are looked after on the admin listener, as keys are, and on the
// console's pages, which reach these routes with a session.

// passkeyRoles are the roles whose holders may sign something.
const passkeyRoles = wire.RoleReviewer | wire.RolePolicy

func (o *Room) peopleRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/admin/keys/{id}/reinstate", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: reinstatePerson},
		{Method: http.MethodPost, Path: "/admin/keys/{id}/end-person", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyOptional, Handle: endPerson},
		{Method: http.MethodGet, Path: "/admin/passkeys", Scope: border.ScopeInstitution, Roles: passkeyRoles, Handle: listPasskeys},
		{Method: http.MethodPost, Path: "/admin/passkeys", Scope: border.ScopeInstitution, Roles: passkeyRoles, Body: border.BodyObject, Handle: addPasskey},
		{Method: http.MethodDelete, Path: "/admin/passkeys/{id}", Scope: border.ScopeInstitution, Roles: passkeyRoles, Handle: removePasskey},
	}
}

// reinstatePerson is POST /admin/keys/{id}/reinstate: a person who was ended may sign in again.
func reinstatePerson(c *border.Request) (border.Answer, error) {
	change := keys.Reinstate(c.PathValue("id"))
	return answerKey(c, &change, http.StatusOK)
}

// endPerson is POST /admin/keys/{id}/end-person: whoever the key names acts here no more.
func endPerson(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	end, err := keys.ReadPersonEnd(&f, c.PathValue("id"))
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{Kind: wire.KindPersonEnd, Record: func() (any, error) { return end.Record(&c.Judge) }, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedTransition {
			return border.Conflict("invalid_transition", "the person was ended before", nil)
		}
		return nil
	}}, nil)
}

func renderPersonEnd(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "subject", "ofKey", "person", "keyIds", "keys", "passkeys", "claims", "proposals", "persons", "alone")
	m.Text("endedAt", l.Text("time"))
	l.CopyTo(m, "reason", "eventId")
	return nil
}

// listPasskeys is GET /admin/passkeys: the caller's own, and for an admin everybody's.
func listPasskeys(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("passkeys")
	if err != nil {
		return border.Answer{}, err
	}
	all, now := c.Judge.Terms.Settings.Passkeys, c.Published().LogTime()
	mine := c.Judge.Subject()
	var items []strictjson.Members
	next := p.Scan(uint64(len(all)), func(row uint64) bool {
		one := all[row-1]
		if one.Subject != mine && !c.Judge.Caller().May(0) {
			return false
		}
		var m strictjson.Members
		m.Text("passkeyId", passkey.Encode(one.ID))
		m.Text("name", one.Name)
		m.Text("subject", one.Subject)
		m.Bool("own", one.Subject == mine)
		m.Text("site", one.Site)
		m.Time("addedAt", one.AddedAt)
		m.Time("countsFrom", one.CountsFrom)
		m.Bool("counts", now >= one.CountsFrom)
		items = append(items, m)
		return true
	})
	return c.AnswerList(items, next)
}

// addPasskey is POST /admin/passkeys {"name","passkeyId","publicKey","proof"}.
func addPasskey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	registration, err := keys.ReadRegistration(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{Kind: wire.KindPasskey, Record: func() (any, error) { return registration.Record(&c.Judge) }, Refused: passkeyRefused}, nil)
}

// removePasskey is DELETE /admin/passkeys/{id}.
func removePasskey(c *border.Request) (border.Answer, error) {
	id, err := passkey.Decode(c.PathValue("id"), passkey.IDMax)
	if err != nil {
		return border.Answer{}, border.NotFound("no such passkey")
	}
	return c.AnswerProposal(border.Proposal{Kind: wire.KindPasskey, Record: func() (any, error) { return keys.RemovePasskey(&c.Judge, id) }, Refused: passkeyRefused}, nil)
}

func passkeyRefused(r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return border.NotFound("no such passkey")
	case wire.RefusedNoPerson:
		return border.Conflict("invalid_transition", "a passkey is a person's: use a key that names its person, or sign in", nil)
	case wire.RefusedFull:
		return border.Conflict("limit_reached", "a person has at most eight passkeys", nil)
	}
	return nil
}

func renderPasskey(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	if l.Kind() == leaf.KindPasskeyAdded {
		c.Status = http.StatusCreated
	}
	l.CopyTo(m, "passkeyId", "name", "subject", "countsFrom", "eventId")
	return nil
}

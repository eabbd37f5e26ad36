package casework

import (
	"net/http"
	"slices"

	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Proposals are acts that wait for a second person (decision 96). Whoever may do an act sees
// its proposals, and so do auditors.

func proposalRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/proposals", Reserved: true, Handle: listProposals},
		{Method: http.MethodGet, Path: "/v1/proposals/{id}", Reserved: true, Handle: showProposal},
		{Method: http.MethodPost, Path: "/v1/proposals/{id}/confirm", Reserved: true, Handle: confirmProposal},
		{Method: http.MethodPost, Path: "/v1/proposals/{id}/withdraw", Reserved: true, Handle: withdrawAct},
	}
}

// seesProposal tells whether the caller may know of a proposal. One about a review may reveal
// a suspicion.
func seesProposal(c *border.Request, waiting *fsm.Waiting) bool {
	if waiting.Leaf != 0 {
		return c.Key.SeesAll()
	}
	return c.Key.May(fsm.ActRoles(waiting.Kind) | wire.RoleAuditor)
}

// listProposals is GET /v1/proposals, newest first.
func listProposals(c *border.Request) (border.Answer, error) {
	p, err := c.ReadListQuery("proposals", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	after := ^uint64(0)
	if p.Ascending {
		after = 0
	}
	if p.After != nil {
		after = p.After[0]
	}
	var rows []fsm.Waiting
	looked, next := 0, ""
	view.Proposals(after, p.Ascending, func(waiting fsm.Waiting) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, waiting.Later
		if seesProposal(c, &waiting) {
			rows = append(rows, waiting)
		}
		return true
	})
	border.ChargeLooked(c, len(rows))
	items := make([]strictjson.Members, len(rows))
	for i := range rows {
		if err := writeWaiting(c, &items[i], view, &rows[i]); err != nil {
			return border.Answer{}, err
		}
	}
	c.Judge.Index = view.Index
	return c.AnswerList(items, next)
}

// pathProposal returns the open proposal of the path, and the state that it was read in.
func pathProposal(c *border.Request) (*fsm.View, *fsm.Waiting, error) {
	at, ok := idsOf(c).ParseProposal(c.PathValue("id"))
	if !ok {
		return nil, nil, noProposal()
	}
	return findRow(c, noProposal, func(view *fsm.View) (fsm.Waiting, bool) {
		waiting, open := view.Proposal(at)
		return waiting, open && seesProposal(c, &waiting)
	})
}

func noProposal() *border.Error {
	return border.NotFound("no such proposal: it was confirmed, withdrawn, or has lapsed")
}

// showProposal is GET /v1/proposals/{id}.
func showProposal(c *border.Request) (border.Answer, error) {
	view, waiting, err := pathProposal(c)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	if err := writeWaiting(c, &m, view, waiting); err != nil {
		return border.Answer{}, err
	}
	c.Judge.Index = view.Index
	return c.Reply(http.StatusOK, m), nil
}

// seconding says in words why a caller may not second a proposal.
var seconding = map[wire.Refusal]string{
	wire.RefusedSamePerson: "the proposer cannot confirm", wire.RefusedNoPerson: "the admin token names no person",
	wire.RefusedYoung:   "this key, its person or its newest secret is younger than 24 hours, or a secret before it was good until then",
	wire.RefusedMaker:   "one of the two persons made or changed the other's key",
	wire.RefusedUnnamed: "one of the two keys names a person and the other does not",
	wire.RefusedOwnEnd:  "it ends you",
}

// writeWaiting writes an open proposal, and whether the caller may confirm it.
func writeWaiting(c *border.Request, m *strictjson.Members, view *fsm.View, waiting *fsm.Waiting) error {
	l, err := c.Judge.LoadLeaf(waiting.Later)
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	writeProposal(m, &l)
	why := maySecond(c, view, waiting)
	m.Bool("mayConfirm", why == "")
	m.TextOrNull("why", why)
	return nil
}

// ownKey returns the caller's key as the state has it; nil: the machine.
func ownKey(c *border.Request, view *fsm.View) *wire.APIKey {
	if row := c.Key.Caller.Key.Row; row != 0 {
		return view.Settings().Keys[row-1]
	}
	return nil
}

// ownProposals returns the records on which the caller has proposed a disposition that is still open.
func ownProposals(c *border.Request, view *fsm.View) map[uint64]bool {
	key, own := ownKey(c, view), map[uint64]bool{}
	if key == nil {
		return own // The machine proposes nothing.
	}
	view.Proposals(0, true, func(waiting fsm.Waiting) bool {
		if waiting.Disposition != 0 && waiting.Key.Subject() == key.Subject() {
			own[waiting.Leaf] = true
		}
		return true
	})
	return own
}

// shownOfProposal are the members of a proposal's leaf that are shown beside its content.
var shownOfProposal = []string{"proposalId", "twoPersons", "act", "txnId", "disposition", "caseId", "keyId", "from", "to", "proposedBy"}

// writeProposal writes what is proposed, from its leaf. The content is what the edge wrote
// into the leaf: what the act's own leaf will hold.
func writeProposal(m *strictjson.Members, l *edge.Leaf) {
	l.CopyTo(m, shownOfProposal...)
	m.Text("proposedByKey", l.Text("actorKeyId"))
	m.Raw("proposedAt", l.Raw("time"))
	m.Raw("expiresAt", l.Raw("lapsesAt"))
	l.CopyTo(m, "proposalHash")
	known := []string{"kind", "eventId", "time", "index", "leaf", "salt", "actorKeyId", "node", "idempotencyKeyHash", "requestHash", "reviewedByKey"}
	for _, member := range leaf.MembersOf(l.Kind()) {
		if !member.Edge {
			known = append(known, member.Name)
		}
	}
	var content strictjson.Members
	object, _ := l.Value.Object() // A leaf is an object.
	object.Visit(func(name []byte, value *fastjson.Value) {
		if !slices.Contains(known, string(name)) {
			content.Raw(string(name), strictjson.AppendValue(nil, value))
		}
	})
	m.Object("content", content)
}

// renderAct answers an act that waits for a second person, and one that was withdrawn.
func renderAct(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	if l.Kind() == leaf.KindActProposed {
		c.Status = http.StatusAccepted
		m.Text("state", "proposed")
	} else {
		m.Text("state", "withdrawn")
	}
	writeProposal(m, l)
	return nil
}

// confirmProposal is POST /v1/proposals/{id}/confirm: the act is done, and answered as if the
// caller had done it. A disposition is sent anew, so that its payment is judged again.
func confirmProposal(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	confirmation, err := desk.ReadConfirmation(&f)
	if err != nil {
		return border.Answer{}, err
	}
	_, waiting, err := pathProposal(c)
	if err != nil {
		return c.AnswerReplay(err)
	}
	if roles := fsm.ActRoles(waiting.Kind); !c.Key.May(roles) {
		return border.Answer{}, border.Forbidden(roles)
	}
	if waiting.Kind != wire.KindDisposition {
		return c.AnswerChangeable(border.Proposal{
			Kind: wire.KindConfirm, Record: func() (any, error) {
				return confirmation.Record(&c.Judge, waiting.Later, c.PathValue("id"), waiting.Hash)
			},
		}, nil)
	}
	proposal, err := c.Judge.LoadLeaf(waiting.Later)
	if err != nil {
		return border.Answer{}, err
	}
	l, err := c.Judge.Record(proposal.Text("txnId"))
	if err != nil {
		return border.Answer{}, err
	}
	decision := confirmation.Review(&c.Judge, waiting.Disposition)
	return c.AnswerProposal(border.Proposal{
		Kind:    wire.KindDisposition,
		Record:  func() (any, error) { return decision.Record(&c.Judge, &l) },
		Refused: func(r wire.Result) error { return dispositionRefused(c, &l, r) },
	}, nil)
}

// withdrawAct is POST /v1/proposals/{id}/withdraw.
func withdrawAct(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	confirmation, err := desk.ReadConfirmation(&f)
	if err != nil {
		return border.Answer{}, err
	}
	_, waiting, err := pathProposal(c)
	if err != nil {
		return c.AnswerReplay(err)
	}
	if roles := fsm.ActRoles(waiting.Kind); !c.Key.May(roles) {
		return border.Answer{}, border.Forbidden(roles)
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindWithdraw, Record: func() (any, error) { return confirmation.Withdrawal(&c.Judge, waiting.Later) },
	}, nil)
}

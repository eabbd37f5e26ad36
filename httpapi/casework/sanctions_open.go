package casework

import (
	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// openCase is POST /v1/sanctions/cases {"txnId","by","reason","uid" or "place"}: a case of a payment
// that went ahead, of which an officer knows by now whom it was to.
func openCase(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	opening, err := desk.ReadCaseOpening(&f)
	if err != nil {
		return border.Answer{}, err
	}
	l, err := judgeOf(c).Record(opening.TxnID())
	if err != nil {
		return border.Answer{}, err
	}
	c.TxnID = l.Text("txnId")
	if !knowsParty(c, &l, opening.UID()) {
		return border.Answer{}, edge.InvalidField("uid", "neither the list in force nor the record names such a party")
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindSanctions,
		Record: func() (any, error) {
			newest, err := judgeOf(c).NewestAbout(l.Index, c.Published().Disposition) // Before what rests on it is read, so that nothing newer is missed.
			if err != nil {
				return nil, err
			}
			paid, ahead, err := wentAhead(c, &l)
			if err != nil {
				return nil, err
			}
			if !ahead {
				return nil, border.Conflict("did_not_go_ahead", "this payment did not go ahead: a BLOCK by a sanctions rule has a case already, and a review is decided", nil)
			}
			return opening.Record(judgeOf(c), &l, paid, newest)
		},
		Refused: func(r wire.Result) error {
			if r.Refusal != wire.RefusedExists {
				return nil
			}
			var extra strictjson.Members
			extra.Text("caseId", idsOf(c).CaseID(r.Value))
			return border.Conflict("already_open", "this payment has a case with the same party already", extra)
		},
	}, nil)
}

// wentAhead tells whether a payment was made or may have been, and how much it is.
func wentAhead(c *border.Request, l *edge.Leaf) (engine.USD, bool, error) {
	d, err := judgeOf(c).Disposition(l, true)
	if err != nil {
		return 0, false, err
	}
	paid, ahead := d.WentAhead(l)
	return paid, ahead, nil
}

// knowsParty tells whether the list in force or a record's hits name a listed party; 0 is a place.
func knowsParty(c *border.Request, l *edge.Leaf, uid uint32) bool {
	if uid == 0 {
		return true
	}
	if list := c.Published().List(); list != nil {
		if _, known := list.Entry(uid); known {
			return true
		}
	}
	for _, match := range l.Value.GetArray("matches") {
		if string(match.GetStringBytes("uid")) == border.UintText(uint64(uid)) {
			return true
		}
	}
	return false
}

// renderCaseOpened answers with the case that an officer opened.
func renderCaseOpened(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	l.CopyTo(m, "caseId", "txnId")
	m.Text("state", fsm.SanctionsState(wire.SanctionsOpen))
	m.Raw("openedAt", l.Raw("time"))
	l.CopyTo(m, "dueAt", "agentId", "userId")
	if uid := l.Number("uid"); uid != 0 {
		m.Text("uid", border.UintText(uid))
	}
	l.CopyTo(m, "place", "amount", "wentAhead", "caseBefore", "openedBy", "reason", "eventId")
	return nil
}

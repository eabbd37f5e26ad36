package payments

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// listUnresolved is GET /v1/transactions/unresolved: payments whose hold or approval has ended
// and of which nobody has said what became of them, the newest first.
func listUnresolved(c *border.Request) (border.Answer, error) {
	agent := engine.AgentSlot(0)
	if text := c.Query("agentId"); text != "" {
		var known bool
		if agent, known = c.Judge.Terms.ParseAgent(text); !known {
			return border.Answer{}, border.BadQuery("agentId", "is not an agent's id")
		}
	}
	p, err := c.ReadListQuery("unresolved", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	after := ^uint64(0)
	if p.Ascending {
		after = 0 // No payment becomes unresolved at leaf 0, the genesis.
	}
	if p.After != nil {
		after = p.After[0]
	}
	var rows []fsm.UnresolvedRow
	looked, next := 0, ""
	view.Unresolved(after, p.Ascending, func(row fsm.UnresolvedRow) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, row.Later
		if (agent == 0 || row.Agent == agent) && c.Judge.Terms.MaySettle(c.Asked.Caller, row.Screener) {
			rows = append(rows, row)
		}
		return true
	})
	items := make([]strictjson.Members, 0, len(rows))
	border.ChargeLooked(c, len(rows))
	for i := range rows {
		var m strictjson.Members
		known, err := writeUnresolved(c, &m, &rows[i])
		if err != nil {
			return border.Answer{}, err
		}
		if known {
			items = append(items, m)
		}
	}
	c.Judge.Index = view.Index
	return c.AnswerList(items, next)
}

// writeUnresolved writes one line of the list; false: its record is gone, or not this
// caller's.
func writeUnresolved(c *border.Request, m *strictjson.Members, row *fsm.UnresolvedRow) (known bool, err error) {
	held := edge.LeavesHeld(&c.Judge)
	defer func() { edge.DropLeaves(&c.Judge, held) }()
	l, err := c.Judge.LoadLeaf(row.Leaf)
	if err != nil || !c.Judge.MayRead(&l) {
		if edge.IsGone(err) {
			err = nil
		}
		return false, err
	}
	later, err := c.Judge.LoadLeaf(row.Later)
	if err != nil {
		return false, err
	}
	l.CopyTo(m, "txnId")
	m.Text("state", fsm.HoldUnresolved.String())
	m.USD("amount", row.Amount)
	l.CopyTo(m, "agentId", "agentName", "operatorLegalName", "screenedAt")
	m.Text("countsOn", string(row.Day.AppendDate(nil)))
	m.Raw("unresolvedSince", later.Raw("expiredAt"))
	m.Bool("approved", row.Approved)
	m.Bool("redeemed", later.Flag("redeemed"))
	l.CopyTo(m, "keyId")
	for _, name := range []string{"chain", "rail", "protocol", "paymentRef"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
	return true, nil
}

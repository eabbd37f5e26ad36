package casework

import (
	"errors"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Second looks (decision 156): another officer says what he would have decided. Of an open look these
// calls tell nothing by which its record could be found; whoever has it in hand reads the record as it
// was before it was decided, and nothing else (border/blind.go).

func secondLookRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/learning/second-looks", Reserved: true, Handle: listSecondLooks},
		{Method: http.MethodGet, Path: "/v1/learning/second-looks/{lookId}", Reserved: true, Handle: showSecondLook},
		{Method: http.MethodPost, Path: "/v1/learning/second-looks/{lookId}", Reserved: true, Handle: answerSecondLook},
	}
}

// lookStates are the states of a look, in the order of their numbers.
var lookStates = []string{fsm.SecondLookOpen: "open", fsm.SecondLookAnswered: "answered", fsm.SecondLookLapsed: "lapsed"}

func noLook() *border.Error {
	return border.NotFound("no such second look, or past its 90 days")
}

// pathLook returns the disposition whose look the path names.
func pathLook(c *border.Request) (uint64, error) {
	decision, is := idsOf(c).ParseLook(c.PathValue("lookId"))
	if !is {
		return 0, noLook()
	}
	return decision, nil
}

// listSecondLooks is GET /v1/learning/second-looks, newest first. A cursor has the id of a look, since
// its leaf would name the record.
func listSecondLooks(c *border.Request) (border.Answer, error) {
	state := c.Query("state")
	if state != "" && !slices.Contains(lookStates, state) {
		return border.Answer{}, border.BadQuery("state", "must be open, answered or lapsed")
	}
	p, err := c.ReadListQuery("looks", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := judgeOf(c).View()
	if err != nil {
		return border.Answer{}, err
	}
	ids, after := idsOf(c), ^uint64(0)
	if p.Ascending {
		after = 0
	}
	if p.After != nil {
		var is bool
		if after, is = ids.LookOfNumber(p.After[0]); !is {
			return border.Answer{}, border.NoCursor()
		}
	}
	var rows []fsm.SecondLookRow
	looked, next := 0, ""
	view.SecondLooks(after, p.Ascending, func(row fsm.SecondLookRow) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(ids.LookNumber(after))
			return false
		}
		looked, after = looked+1, row.Decision
		if state == "" || lookStates[row.State] == state {
			rows = append(rows, row)
		}
		return true
	})
	border.ChargeLooked(c, len(rows))
	items := make([]strictjson.Members, len(rows))
	for i := range rows {
		if err := writeLook(c, &items[i], view, &rows[i]); err != nil {
			return border.Answer{}, err
		}
	}
	judgeOf(c).Index = view.Index
	return c.AnswerList(items, next)
}

// showSecondLook is GET /v1/learning/second-looks/{lookId}. Whoever has it in hand reads the record,
// and when it has ended everybody who may read looks does.
func showSecondLook(c *border.Request) (border.Answer, error) {
	decision, err := pathLook(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, row, err := findRow(c, noLook, func(view *fsm.View) (fsm.SecondLookRow, bool) { return view.SecondLook(decision) })
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	if err := writeLook(c, &m, view, row); err != nil {
		return border.Answer{}, err
	}
	held := view.Settings().HeldBy(ownKey(c, view), view.Time)
	if row.State == fsm.SecondLookOpen && (held == nil || held.Decision != decision) {
		m.Null("record")
		m.Null("explained")
	} else if err := writeUndecided(c, &m, row.Leaf); err != nil {
		return border.Answer{}, err
	}
	c.TxnID = ""
	judgeOf(c).Index = view.Index
	return c.Reply(http.StatusOK, m), nil
}

// writeUndecided writes a record as it was when it began to wait, and what became of every rule: without
// what officers said about it, and without what became of its payment.
func writeUndecided(c *border.Request, m *strictjson.Members, record uint64) error {
	l, err := judgeOf(c).LoadLeaf(record)
	if err != nil {
		return err
	}
	defer judgeOf(c).DropLeaf()
	var inner strictjson.Members
	if err := c.WriteRecord(&inner, &l, &edge.Disposition{}); err != nil {
		return err
	}
	c.Judges().Parties(&l, &inner)
	m.Object("record", inner)
	var ladder strictjson.Members
	if err := judgeOf(c).Explain(&l, &ladder); err != nil {
		if refusal := (*edge.Refusal)(nil); !errors.As(err, &refusal) {
			return err
		}
		m.Null("explained") // This node has the record's list no more.
		return nil
	}
	m.Object("explained", ladder)
	return nil
}

// writeLook writes what may be known of a look: of an open one its day, its clock and who has it.
func writeLook(c *border.Request, m *strictjson.Members, view *fsm.View, row *fsm.SecondLookRow) error {
	ids := idsOf(c)
	m.Text("lookId", ids.LookID(row.Decision))
	m.Text("state", lookStates[row.State])
	m.Time("openedAt", row.At.Day().Start())
	m.Time("dueAt", view.SecondLookEnds(row))
	writeHolder(m, view, row)
	why := lookingAgain(c, view, row)
	m.Bool("mayTake", row.State == fsm.SecondLookOpen && why == "")
	m.TextOrNull("why", why)
	if row.State == fsm.SecondLookOpen {
		m.Null("txnId")
		m.Null("decided")
		m.Null("answered")
		m.Null("agrees")
		return nil
	}
	m.Text("txnId", ids.TxnID(row.Leaf))
	decided, err := judgeOf(c).LoadLeaf(row.Decision)
	if err != nil {
		return err
	}
	writeSaid(m, "decided", &decided, "disposition", "notes")
	judgeOf(c).DropLeaf()
	if row.State == fsm.SecondLookLapsed {
		m.Null("answered")
		m.Null("agrees")
		return nil
	}
	answered, err := judgeOf(c).LoadLeaf(row.Ended)
	if err != nil {
		return err
	}
	writeSaid(m, "answered", &answered, "secondDisposition", "reason")
	m.Bool("agrees", answered.Flag("agrees"))
	judgeOf(c).DropLeaf()
	return nil
}

// writeSaid writes what one officer said: his answer and his reason are members of the leaf.
func writeSaid(m *strictjson.Members, name string, l *edge.Leaf, answer, reason string) {
	m.BeginObject(name)
	m.Text("disposition", l.Text(answer))
	m.TextOrNull("actor", l.Text("reviewedBy"))
	m.Raw("time", l.Raw("time"))
	m.TextOrNull("reason", l.Text(reason))
	m.EndObject()
}

// writeHolder writes who has a look in hand.
func writeHolder(m *strictjson.Members, view *fsm.View, row *fsm.SecondLookRow) {
	held := view.Settings().HolderOf(row.Decision, view.Time)
	if held == nil {
		m.Null("assignee")
		m.Null("leaseExpiresAt")
		return
	}
	m.Text("assignee", held.Who)
	m.Time("leaseExpiresAt", held.Until)
}

// lookingAgain says why the caller may not take a look; "": he may. It does not say whether somebody
// has it in hand.
func lookingAgain(c *border.Request, view *fsm.View, row *fsm.SecondLookRow) string {
	if !c.Key.May(wire.RoleReviewer) {
		return "this key lacks the role"
	}
	why, known := view.MayLook(row, ownKey(c, view)), ""
	switch why {
	case 0:
	case wire.RefusedSamePerson:
		known = "you decided or proposed it, commented on it, or had it in hand before"
	default:
		known = seconding[why]
	}
	return known
}

// answerSecondLook is POST /v1/learning/second-looks/{lookId}.
func answerSecondLook(c *border.Request) (border.Answer, error) {
	decision, err := pathLook(c)
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	answer, err := desk.ReadLookAnswer(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindSecondLook, Record: func() (any, error) { return answer.Record(judgeOf(c), decision) }, Refused: lookRefused,
	}, nil)
}

func lookRefused(r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noLook()
	case wire.RefusedNotOpen:
		return border.Conflict("invalid_transition", "this second look was answered, or has lapsed", nil)
	case wire.RefusedClaimed:
		return border.Conflict("claimed_by_other", "somebody else has this second look in hand, or you have another one, or had this one for too long", nil)
	case wire.RefusedSamePerson:
		return border.Conflict("invalid_transition", "nobody looks again at what he decided, proposed or commented on, or had in hand before", nil)
	case wire.RefusedFull:
		return border.Conflict("limit_reached", "as many second looks are in hand as there may be, or too many persons had this one in hand", nil)
	}
	return nil
}

// renderLookAnswer is the answer to an answered look. It names what was decided: the caller has said
// what he thinks.
func renderLookAnswer(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	l.CopyTo(m, lookMembers...)
	l.CopyAs(m, "time", "reviewedAt")
	return nil
}

var lookMembers = leaf.Select([]string{leaf.KindLookAnswered}, "lookId", "txnId", "firstDisposition", "secondDisposition", "agrees", "reviewedBy", "reason", "eventId")

// collectLooks adds the open looks that the caller may take, or has in hand. Those of others are
// nothing that waits for him.
func collectLooks(c *border.Request, view *fsm.View, add func(work) bool) {
	looked := 0
	view.SecondLooks(0, true, func(row fsm.SecondLookRow) bool {
		if looked++; looked > border.RowScanMax {
			return false
		}
		if row.State != fsm.SecondLookOpen || lookingAgain(c, view, &row) != "" {
			return true
		}
		w := work{kind: workLook, leaf: idsOf(c).LookNumber(row.Decision), at: row.At.Day().Start(), due: view.SecondLookEnds(&row)}
		if held := view.Settings().HolderOf(row.Decision, view.Time); held != nil {
			w.claim = &fsm.Claim{Assignee: held.Who, LeaseUntil: held.Until}
		}
		w.lookID = idsOf(c).LookID(row.Decision)
		return add(w)
	})
}

package casework

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// queueFilter holds a caller's filters of the queue.
type queueFilter struct {
	state       string        // "": every undecided review.
	rule        engine.RuleID // Any of the rules that triggered.
	agent       engine.AgentSlot
	party       *engine.PartyKey    // nil: anybody is paid.
	operator    engine.OperatorSlot // 0: any.
	min, max    engine.USD
	from, to    engine.Time
	assignee    string
	text        string
	bySLA       bool // Whether to filter by slaBreached.
	slaBreached bool
	wait        engine.Time // The policy's review.sla; 0: not set.
	sort        string
	freeFor     string          // Only reviews that nobody else holds; "": all.
	skipped     []uint64        // Leaves of reviews to skip, at most BulkMax.
	proposed    map[uint64]bool // Leaves of reviews on which the caller has proposed something; nil: all count.
}

var queueStates = []string{"open", "claimed", "dispositioned", "escalated"}

// readQueueFilter reads the filters from the query or, for "next", from the body. bad makes
// the refusal of a wrong filter.
func readQueueFilter(c *border.Request, get func(string) string, bad func(param, message string) *border.Error) (*queueFilter, error) {
	q := &queueFilter{state: get("state"), assignee: get("assignee"), text: strings.ToLower(get("q")), max: engine.AmountMax, sort: get("sort")}
	if q.state != "" && !slices.Contains(queueStates, q.state) {
		return nil, bad("state", "must be one of "+strings.Join(queueStates, ", "))
	}
	if q.sort != "" && q.sort != "age" && q.sort != "amount" && q.sort != "priority" {
		return nil, bad("sort", "must be age, amount or priority")
	}
	if text := get("rule"); text != "" {
		var ok bool
		if q.rule, ok = engine.RuleByCode(text); !ok {
			return nil, bad("rule", "must be a rule id")
		}
	}
	if text := get("agentId"); text != "" {
		var ok bool
		if q.agent, ok = c.Judge.Terms.ParseAgent(text); !ok {
			return nil, bad("agentId", "must be an agent id")
		}
	}
	if text := get("payeeOf"); text != "" {
		party, err := payeeOf(c, text, bad)
		if err != nil {
			return nil, err
		}
		q.party = party
	}
	q.wait = c.Published().Settings().Policy.ReviewSLA
	operator, err := c.NamedOperator(get("operator"), bad)
	switch {
	case err != nil:
		return nil, err
	case operator != nil:
		q.operator = operator.Slot
	case !c.Key.Institution():
		q.operator, _ = c.Judge.ParseOperator(c.Key.OwnerOperator())
	}
	switch get("slaBreached") {
	case "":
	case "true", "false":
		q.bySLA, q.slaBreached = true, get("slaBreached") == "true"
	default:
		return nil, bad("slaBreached", "must be true or false")
	}
	return q, q.ranges(get, bad)
}

func (q *queueFilter) ranges(get func(string) string, bad func(param, message string) *border.Error) error {
	for _, bound := range []struct {
		name string
		into *engine.USD
	}{{"minAmount", &q.min}, {"maxAmount", &q.max}} {
		if text := get(bound.name); text != "" {
			amount, err := engine.ParseUSD(text)
			if err != nil {
				return bad(bound.name, "must be a number from 0 to 1e12")
			}
			*bound.into = amount
		}
	}
	for _, bound := range []struct {
		name string
		into *engine.Time
	}{{"from", &q.from}, {"to", &q.to}} {
		if text := get(bound.name); text != "" {
			at, ok := strictjson.ParseTime(text)
			if !ok {
				return bad(bound.name, "must be an ISO 8601 time")
			}
			*bound.into = at
		}
	}
	return nil
}

// payeeOf returns who is paid in a review, so that others to the same party are found.
func payeeOf(c *border.Request, text string, bad func(param, message string) *border.Error) (*engine.PartyKey, error) {
	view, err := c.Judge.View()
	if err != nil {
		return nil, err
	}
	at, known := idsOf(c).ParseTxn(text)
	row, found := view.Review(at)
	if !known || !found {
		return nil, bad("payeeOf", "must be a transaction that was under review")
	}
	if row.Party == (engine.PartyKey{}) {
		return nil, bad("payeeOf", "the payment does not say who is paid")
	}
	return &row.Party, nil
}

// queueMatch judges one row; the cheap conditions come first.
func queueMatch(c *border.Request, view *fsm.View, q *queueFilter, item *queueItem) (bool, error) {
	row := &item.row
	if q.bySLA && q.slaBreached != overdue(row, q.wait, view.Time) {
		return false, nil
	}
	done := row.State == fsm.ReviewDone
	switch q.state {
	case "":
		if done {
			return false, nil
		}
	case "open":
		if done || item.claimed {
			return false, nil
		}
	case "claimed":
		if done || !item.claimed {
			return false, nil
		}
	default:
		if !done {
			return false, nil
		}
	}
	if q.rule != 0 && row.Rules&(1<<q.rule) == 0 || q.party != nil && row.Party != *q.party || q.agent != 0 && row.Agent != q.agent || row.Amount < q.min || row.Amount > q.max {
		return false, nil
	}
	if row.At < q.from || q.to != 0 && row.At > q.to || q.assignee != "" && (!item.claimed || row.Claim.Assignee != q.assignee) {
		return false, nil
	}
	if q.operator != 0 {
		_, profile, ok := view.Agent(row.Agent)
		if !ok || profile.Operator != q.operator {
			return false, nil
		}
	}
	item.escalated = q.state == "escalated"
	return queueLeafMatch(c, q, row)
}

// queueLeafMatch judges the filters that need the leaf.
func queueLeafMatch(c *border.Request, q *queueFilter, row *fsm.ReviewRow) (bool, error) {
	if q.state == "escalated" || q.state == "dispositioned" {
		d, err := c.Judge.LoadLeaf(row.Disposition)
		if err != nil {
			return false, err
		}
		defer c.Judge.DropLeaf()
		view, err := edge.ReadDisposition(&d)
		if err != nil || view.Said.Escalates() != (q.state == "escalated") {
			return false, err
		}
	}
	if q.text == "" {
		return true, nil
	}
	l, err := c.Judge.LoadLeaf(row.Leaf)
	if err != nil {
		return false, err
	}
	defer c.Judge.DropLeaf()
	texts := []string{l.Text("agentName"), l.Text("operatorLegalName"), l.Text("_request", "cpName"), l.Text("_request", "cpWallet"), l.Text("txnId")}
	for _, text := range append(texts, engine.NewestRules.Codes(row.Rules)...) {
		if strings.Contains(strings.ToLower(text), q.text) {
			return true, nil
		}
	}
	return false, nil
}

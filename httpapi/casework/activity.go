package casework

import (
	"net/http"
	"strconv"
	"strings"

	"railguard/audit"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Activity lists all changes, newest first, with who made each and why. Events list the
// same changes for other systems, without persons and their words; activity is for those
// who answer for the changes. It reaches back as far as records do.

func activityRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/activity", Handle: listActivity},
	}
}

// changes are the types of events for a caller that names no types: all changes, but no payments,
// which are in the audit log.
var changes = func() events.Selection {
	s := make(events.Selection, len(events.Everything))
	for name, told := range events.Everything {
		s[name] = told && !strings.HasPrefix(name, "screen.") && !strings.HasPrefix(name, "fleet.limit_")
	}
	return s
}()

// Members of leaves that name who acted, and why. The first member that exists counts.
var (
	actorMembers  = []string{"reviewedBy", "attestedBy", "clearedBy", "by", "actor"}
	reasonMembers = []string{"reason", "notes", "note", "comment"}
)

// listActivity is GET /v1/activity, newest first.
func listActivity(c *border.Request) (border.Answer, error) {
	wanted, by := changes, strings.ToLower(c.Query("by"))
	if text := c.Query("types"); text != "" {
		var unknown string
		if wanted, unknown = events.ParseSelection(strings.Split(text, ",")); unknown != "" || len(wanted) == 0 {
			return border.Answer{}, border.BadQuery("types", "must be names of types or groups, divided by commas: "+strconv.Quote(unknown)+" is none")
		}
	}
	about, err := border.PartyQuery(c, "about")
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadListQuery("activity", 2)
	if err != nil {
		return border.Answer{}, err
	}
	from, to, err := border.TimeRange(c, engine.Retention)
	if err != nil {
		return border.Answer{}, err
	}
	store := c.Records().Audit()
	q := audit.Query{Newest: true, Examine: border.LeafScanMax, From: store.FindTime(int64(from - engine.Millisecond)), To: store.FindTime(int64(to + engine.Millisecond))}
	if p.After != nil {
		q.From, q.To = p.After[0], p.After[1]
	}
	if kind := wanted.Kind(); kind != "" {
		q.Keys = []uint64{engine.FilterKey(engine.FilterKind, kind)}
	}
	if about != "" {
		q.Keys = append(q.Keys, engine.FilterKey(engine.FilterAgent, about))
	}
	reader := events.NewReader(&c.Judge, c.Asked.Caller, c.Published(), store, wanted)
	items := []strictjson.Members{}
	scanned, err := reader.Walk(q, func(e *events.Event) bool {
		if about != "" && e.Leaf.Text("agentId") != about && e.Leaf.Text("userId") != about {
			return true
		}
		if item := writeAct(c, e, by); item != nil {
			items = append(items, item)
		}
		return len(items) < p.Limit
	})
	border.ChargeLooked(c, scanned.Examined)
	if err != nil && len(items) == 0 {
		return border.Answer{}, err
	}
	next := ""
	if !scanned.Done {
		next = p.Cursor(q.From, scanned.Next)
	}
	return c.AnswerList(items, next)
}

// writeAct adds who acted and why. It returns nil if that is not the person the caller asked for.
// What an officer wrote about a payment is shown only to keys that may see what reveals a
// suspicion.
func writeAct(c *border.Request, e *events.Event, by string) strictjson.Members {
	keyID, person, why := e.Leaf.Text("actorKeyId"), firstOf(e, actorMembers), firstOf(e, reasonMembers)
	name := border.KeyName(c.Settings().Keys, keyID)
	if by != "" && !strings.Contains(strings.ToLower(keyID+"\n"+name+"\n"+person), by) {
		return nil
	}
	if !c.Key.SeesAll() && e.Leaf.Has("txnId") {
		why = ""
	}
	m := append(strictjson.Members(nil), e.Body...)
	m.TextOrNull("actor", person)
	m.TextOrNull("actorKeyId", keyID)
	m.TextOrNull("actorKeyName", name)
	m.TextOrNull("reason", why)
	return m
}

func firstOf(e *events.Event, names []string) string {
	for _, name := range names {
		if text := e.Leaf.Text(name); text != "" {
			return text
		}
	}
	return ""
}

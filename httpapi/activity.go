package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"railguard/audit"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Activity: what anybody changed, newest first, with who did it and why. Events tell the
// same far from here and leave persons and their words out; this is for those who answer
// for what happened, and goes as far back as records do.

func activityRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/activity", scope: scopeInstitution, roles: wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy, handle: listActivity},
	}
}

// changes are the types that a caller gets who names none: payments themselves are found
// in the audit log.
var changes = func() events.Selection {
	s := make(events.Selection, len(events.Everything))
	for name, told := range events.Everything {
		s[name] = told && !strings.HasPrefix(name, "screen.") && !strings.HasPrefix(name, "fleet.limit_")
	}
	return s
}()

// Members of leaves that say who did it, and why, the first that is there.
var (
	actorMembers  = []string{"reviewedBy", "attestedBy", "clearedBy", "by", "actor"}
	reasonMembers = []string{"reason", "notes", "note", "comment"}
)

// listActivity is GET /v1/activity, newest first.
func listActivity(c *call) (Answer, error) {
	wanted, by := changes, strings.ToLower(c.query("by"))
	if text := c.query("types"); text != "" {
		var unknown string
		if wanted, unknown = events.ParseSelection(strings.Split(text, ",")); unknown != "" || len(wanted) == 0 {
			return Answer{}, badQuery("types", "must be names of types or groups, divided by commas: "+strconv.Quote(unknown)+" is none")
		}
	}
	about, err := partyQuery(c, "about")
	if err != nil {
		return Answer{}, err
	}
	p, err := c.keyPage("activity", 2)
	if err != nil {
		return Answer{}, err
	}
	from, to, err := timeRange(c, engine.Retention)
	if err != nil {
		return Answer{}, err
	}
	store := c.api.deps.Records.Audit()
	q := audit.Query{Newest: true, Examine: leafScanMax, From: store.FindTime(int64(from - engine.Millisecond)), To: store.FindTime(int64(to + engine.Millisecond))}
	if p.after != nil {
		q.From, q.To = p.after[0], p.after[1]
	}
	if kind := wanted.Kind(); kind != "" {
		q.Keys = []uint64{engine.FilterKey(engine.FilterKind, kind)}
	}
	if about != "" {
		q.Keys = append(q.Keys, engine.FilterKey(engine.FilterAgent, about))
	}
	reader := events.NewReader(&c.judge, c.asked.Caller, c.api.deps.Published, store, wanted)
	items := []strictjson.Members{}
	page, err := reader.Walk(q, func(e *events.Event) bool {
		if about != "" && e.Leaf.Text("agentId") != about && e.Leaf.Text("userId") != about {
			return true
		}
		if item := writeAct(c, e, by); item != nil {
			items = append(items, item)
		}
		return len(items) < p.limit
	})
	looked(c, page.Examined)
	if err != nil && len(items) == 0 {
		return Answer{}, err
	}
	next := ""
	if !page.Done {
		next = p.cursor(q.From, page.Next)
	}
	return c.list(items, next)
}

// partyQuery reads a parameter that is the id of an agent or of a user.
func partyQuery(c *call, name string) (string, error) {
	id := c.query(name)
	_, agent := c.judge.Terms.ParseAgent(id)
	if _, user := c.judge.Terms.ParseUser(id); id != "" && !agent && !user {
		return "", badQuery(name, "must be an agent's or a user's id")
	}
	return id, nil
}

// writeAct adds who did it and why; nil: it was not whom the caller asked for. What an
// officer wrote about a payment is for the inner side of the wall.
func writeAct(c *call, e *events.Event, by string) strictjson.Members {
	keyID, person, why := e.Leaf.Text("actorKeyId"), firstOf(e, actorMembers), firstOf(e, reasonMembers)
	name := keyName(c.judge.Terms.Settings.Keys, keyID)
	if by != "" && !strings.Contains(strings.ToLower(keyID+"\n"+name+"\n"+person), by) {
		return nil
	}
	if !c.key.SeesAll() && e.Leaf.Has("txnId") {
		why = ""
	}
	m := append(strictjson.Members(nil), e.Body...)
	m.TextOrNull("by", person)
	m.TextOrNull("keyId", keyID)
	m.TextOrNull("keyName", name)
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

// keyName is what a key is called; "" for one that is not known any more, or none.
func keyName(keys []*wire.APIKey, id string) string {
	for _, key := range keys {
		if key.ID == id {
			return key.Name
		}
	}
	return ""
}

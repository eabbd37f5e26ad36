package operations

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

func (o *Room) healthRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/health", Reserved: true, Always: true, Handle: o.health},
		{Method: http.MethodGet, Path: "/v1/.well-known/jwks.json", Reserved: true, Always: true, Handle: jwks},
		{Method: http.MethodGet, Path: "/livez", Reserved: true, Always: true, Handle: live},
		{Method: http.MethodGet, Path: "/readyz", Reserved: true, Always: true, Handle: o.ready},
		{Method: http.MethodGet, Path: "/contexts/kya/v1", Reserved: true, Always: true, Handle: kyaContext},
	}
}

// healthCache keeps the cluster's status for a moment: health is public, and many load
// balancers may ask at once.
type healthCache struct {
	survey resealSurvey // Counts the values to seal again, for the cluster's status.
	mutex  sync.Mutex
	until  time.Time
	status report.ClusterStatus
	told   atomic.Pointer[string] // Why the node was not ready at the last question; nil: nobody has asked yet.
	full   bool                   // The review queue is full. Its size is not public.
}

const healthKept = 500 * time.Millisecond

func (o *Room) clusterStatus(c *border.Request) (status report.ClusterStatus, queueFull bool) {
	h := &o.toldHealth
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if now := time.Now(); now.After(h.until) {
		h.status = o.deps.Operations.Status(c.Context())
		if view, err := c.Records().View(c.Context(), 0); err == nil {
			h.full = view.OpenReviews() >= engine.OpenReviewsMax
		}
		h.until = now.Add(healthKept)
	}
	return h.status, h.full
}

// health is GET /v1/health. Everybody hears the members of specification 4.9, and the
// institution more.
func (o *Room) health(c *border.Request) (border.Answer, error) {
	settings := c.Settings()
	status, full := o.clusterStatus(c)
	connected := status.Writes.State == "ok" || status.Writes.State == "transferring"
	signing := o.signingState(c)
	loaded := settings.List != nil && settings.List.Entries > 0
	m := &c.Out
	if connected && loaded && signing != "unavailable" && !c.IsLeaving() {
		m.Text("status", "ok")
	} else {
		m.Text("status", "degraded")
	}
	m.Text("version", o.deps.Version)
	ofHouse := c.FromHouse()
	writeListHealth(c, m, ofHouse)
	if connected {
		m.Text("kv", "connected")
	} else {
		m.Text("kv", "disconnected")
	}
	m.Text("signingKey", signing)
	if !ofHouse {
		return c.Reply(http.StatusOK, c.Out), nil
	}
	m.Text("node", c.NodeName())
	m.Text("role", status.Role)
	if status.Leader != nil {
		m.Text("leader", status.Leader.ID)
	} else {
		m.Null("leader")
	}
	var quorum strictjson.Members
	quorum.Int("voters", int64(status.Quorum.Voters))
	quorum.Int("healthy", int64(status.Quorum.Healthy))
	quorum.Int("failureTolerance", int64(status.Quorum.FailureTolerance))
	m.Object("quorum", quorum)
	m.Uint("index", c.Published().Applied())
	m.Int("uptimeSeconds", int64(time.Since(o.started)/time.Second))
	m.Bool("draining", c.IsLeaving())
	m.Bool("reviewQueueFull", full)
	return c.Reply(http.StatusOK, c.Out), nil
}

func writeListHealth(c *border.Request, m *strictjson.Members, ofHouse bool) {
	settings := c.Settings()
	var list strictjson.Members
	if settings.List == nil {
		list.Text("source", "none")
		list.Int("count", 0)
		list.Null("syncedAt")
		m.Object("ofac", list)
		return
	}
	age := c.Published().LogTime() - settings.ListSynced
	list.Text("source", edge.ListSource(settings.List))
	list.Uint("count", uint64(settings.List.Entries))
	list.Time("syncedAt", settings.ListSynced)
	if !ofHouse {
		m.Object("ofac", list)
		return
	}
	list.Uint("listVersion", settings.ListVersion)
	list.Int("ageSeconds", int64(max(age, 0)/engine.Second))
	list.Texts("missing", append([]string{}, judge.Missing(settings.List)...))
	list.Uint("quarantined", uint64(settings.List.Quarantined))
	published := judge.PublicationAge(settings.List, c.Published().LogTime())
	if published >= 0 {
		list.Int("publicationAgeSeconds", int64(published/engine.Second))
	}
	list.Bool("stale", settings.Policy != nil && settings.Policy.ListAgeMax > 0 && age > settings.Policy.ListAgeMax || published > judge.PublicationStale)
	m.Object("ofac", list)
}

// signingState returns production when the key is replicated and this node can use it,
// ephemeral on a throw-away development node, and unavailable when the node cannot use the
// key.
func (o *Room) signingState(c *border.Request) string {
	if c.Judge.Terms.Signing == nil || c.Judge.Terms.Signing.Err != nil {
		return "unavailable"
	}
	if o.deps.Ephemeral {
		return "ephemeral"
	}
	return "production"
}

// jwks is GET /v1/.well-known/jwks.json: the same bytes on every node.
func jwks(c *border.Request) (border.Answer, error) {
	if c.Judge.Terms.Signing == nil || c.Judge.Terms.Signing.Verify == nil {
		return border.Answer{}, border.Unavailable("no_leader", "the cluster is not bootstrapped")
	}
	c.AllowCaching("public, max-age=3600", c.Judge.Terms.Signing.JWKSETag)
	if border.CallerHas(c, c.Judge.Terms.Signing.JWKSETag) {
		return border.NotModified(), nil
	}
	return c.Send(http.StatusOK, border.JSONType, c.Judge.Terms.Signing.JWKS), nil
}

// live is GET /livez: the process answers.
func live(c *border.Request) (border.Answer, error) {
	return c.Send(http.StatusOK, border.JSONType, []byte(`{"status":"ok"}`)), nil
}

// tellReadiness logs that the node is ready, or why not, when that has changed since the
// last question.
func (o *Room) tellReadiness(readiness *report.Readiness) {
	var names, why []string
	for _, check := range readiness.Checks {
		if !check.OK {
			names, why = append(names, check.Name), append(why, strings.TrimSpace(check.Name+" "+check.Text))
		}
	}
	now := strings.Join(names, ",")
	if was := o.toldHealth.told.Swap(&now); was != nil && *was == now {
		return
	}
	if now == "" {
		o.deps.Logger.Info("ready")
	} else {
		o.deps.Logger.Info("not ready", "checks", strings.Join(why, "; "))
	}
}

// ready is GET /readyz. The institution reads one line per check, in rqlite's form, and
// strangers read whether the node is ready.
func (o *Room) ready(c *border.Request) (border.Answer, error) {
	query, err := readReadyQuery(c)
	if err != nil {
		return border.Answer{}, err
	}
	readiness := o.deps.Operations.Ready(c.Context(), query)
	for _, check := range o.ownChecks(c) {
		if excluded(query.Exclude, check.Name) {
			continue
		}
		readiness.Checks = append(readiness.Checks, check)
		readiness.Ready = readiness.Ready && check.OK
	}
	if !c.HasAnyQuery() { // A query may add or exclude checks, so its answer is not logged.
		o.tellReadiness(&readiness)
	}
	status, said := http.StatusOK, "ready\n"
	if !readiness.Ready {
		status, said = http.StatusServiceUnavailable, "not ready\n"
		c.SetHeader("Retry-After", "1")
		c.SetHeader(border.HeaderOutcome, border.OutcomeNone)
	}
	if c.FromHouse() {
		said = listChecks(readiness.Checks)
	}
	return c.Send(status, border.TextType, []byte(said)), nil
}

func listChecks(checks []report.ReadyCheck) string {
	var text strings.Builder
	for _, check := range checks {
		sign := "[-]"
		if check.OK {
			sign = "[+]"
		}
		text.WriteString(sign + check.Name)
		if check.Text != "" {
			text.WriteString(" " + check.Text)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func readReadyQuery(c *border.Request) (report.ReadyQuery, error) {
	query := report.ReadyQuery{NoLeader: c.HasQuery("noleader"), Sync: c.HasQuery("sync"), Leader: c.HasQuery("leader")}
	for _, text := range c.QueryValues("exclude") {
		query.Exclude = append(query.Exclude, strings.Split(text, ",")...)
	}
	if text := c.Query("maxlag"); text != "" {
		lag, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return query, border.BadQuery("maxlag", "must be a number of log entries")
		}
		query.MaxLag = lag
	}
	return query, nil
}

func excluded(names []string, name string) bool {
	for _, excluded := range names {
		if excluded == name {
			return true
		}
	}
	return false
}

// ownChecks returns this room's readiness checks; the cluster has the others.
func (o *Room) ownChecks(c *border.Request) []report.ReadyCheck {
	settings := c.Settings()
	key := report.ReadyCheck{Name: "signingkey", OK: o.signingState(c) != "unavailable", Text: o.signingState(c)}
	list := report.ReadyCheck{Name: "list", Text: "none"}
	if settings.List != nil {
		opened := c.Published().List()
		compiled := opened != nil && opened.Digest() == settings.List.Digest && opened.Matcher() == settings.Matcher
		list.OK = compiled && (!settings.List.Sample || settings.Genesis.Dev)
		list.Text = edge.ListSource(settings.List) + " version " + strconv.FormatUint(settings.ListVersion, 10)
		if !compiled {
			list.Text += ", not compiled here"
		}
		for _, family := range judge.Missing(settings.List) {
			list.Text += ", WITHOUT the " + family + " list"
		}
		if warning := judge.AgeWarning(settings.List, c.Published().LogTime()); warning != "" {
			list.Text += ", WARNING: " + warning
		}
		if settings.List.Quarantined > 0 {
			list.Text += ", " + strconv.Itoa(int(settings.List.Quarantined)) + " malformed entities left out"
		}
	}
	drain := report.ReadyCheck{Name: "drain", OK: !c.IsLeaving(), Text: "serving"}
	if !drain.OK {
		drain.Text = "draining"
	}
	checks := []report.ReadyCheck{key, list, drain}
	if warning := o.deps.Quorum(c.Context()); warning != "" { // No verdict waits for witnesses.
		checks = append(checks, report.ReadyCheck{Name: "witnesses", OK: true, Text: "WARNING: " + warning})
	}
	if overdue := o.deps.Overdue(); len(overdue) > 0 { // Nor for reconciliations.
		checks = append(checks, report.ReadyCheck{Name: "reconciliation", OK: true, Text: "WARNING: " + strings.Join(overdue, "; ")})
	}
	return checks
}

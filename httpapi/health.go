package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/engine"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

func (a *API) healthRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/health", scope: scopePublic, reserved: true, always: true, handle: health},
		{method: http.MethodGet, path: "/v1/.well-known/jwks.json", scope: scopePublic, reserved: true, always: true, handle: jwks},
		{method: http.MethodGet, path: "/livez", scope: scopePublic, reserved: true, always: true, handle: live},
		{method: http.MethodGet, path: "/readyz", scope: scopePublic, reserved: true, always: true, handle: ready},
		{method: http.MethodGet, path: "/contexts/kya/v1", scope: scopePublic, reserved: true, always: true, handle: kyaContext},
	}
}

// healthCache keeps the cluster's status for a moment: health is public and may
// be asked by every balancer at once.
type healthCache struct {
	survey resealSurvey // Of sealed values, for the cluster's status.
	mutex  sync.Mutex
	until  time.Time
	status report.ClusterStatus
	told   atomic.Pointer[string] // What readiness failed on when it was asked last; nil: not asked yet.
	full   bool                   // The queue of reviews takes no more. How many there are is nobody's to count.
}

const healthKept = 500 * time.Millisecond

func (a *API) clusterStatus(c *call) (status report.ClusterStatus, queueFull bool) {
	h := &a.health
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if now := time.Now(); now.After(h.until) {
		h.status = a.deps.Operations.Status(c.ctx)
		if view, err := a.deps.Records.View(c.ctx, 0); err == nil {
			h.full = view.OpenReviews() >= engine.OpenReviewsMax
		}
		h.until = now.Add(healthKept)
	}
	return h.status, h.full
}

// health is GET /v1/health: the shape of specification 4.9, and more besides.
func health(c *call) (Answer, error) {
	settings := c.judge.Terms.Settings
	status, full := c.api.clusterStatus(c)
	connected := status.Writes.State == "ok" || status.Writes.State == "transferring"
	signing := signingState(c)
	loaded := settings.List != nil && settings.List.Entries > 0
	m := &c.out
	if connected && loaded && signing != "unavailable" && !c.api.leaving.Load() {
		m.Text("status", "ok")
	} else {
		m.Text("status", "degraded")
	}
	m.Text("version", c.api.deps.Version)
	writeListHealth(c, m)
	if connected {
		m.Text("kv", "connected")
	} else {
		m.Text("kv", "disconnected")
	}
	m.Text("signingKey", signing)
	m.Text("node", c.api.deps.Node)
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
	m.Uint("index", c.api.deps.Published.Applied())
	m.Int("uptimeSeconds", int64(time.Since(c.api.started)/time.Second))
	m.Bool("draining", c.api.leaving.Load())
	m.Bool("reviewQueueFull", full)
	return c.reply(http.StatusOK, c.out), nil
}

func writeListHealth(c *call, m *strictjson.Members) {
	settings := c.judge.Terms.Settings
	var list strictjson.Members
	if settings.List == nil {
		list.Text("source", "none")
		list.Int("count", 0)
		list.Null("syncedAt")
		m.Object("ofac", list)
		return
	}
	age := c.api.deps.Published.LogTime() - settings.ListSynced
	list.Text("source", edge.ListSource(settings.List))
	list.Uint("count", uint64(settings.List.Entries))
	list.Time("syncedAt", settings.ListSynced)
	list.Uint("listVersion", settings.ListVersion)
	list.Int("ageSeconds", int64(max(age, 0)/engine.Second))
	list.Texts("missing", append([]string{}, judge.Missing(settings.List)...))
	list.Uint("quarantined", uint64(settings.List.Quarantined))
	list.Bool("stale", settings.Policy != nil && settings.Policy.ListAgeMax > 0 && age > settings.Policy.ListAgeMax)
	m.Object("ofac", list)
}

// signingState is production when the key is replicated and this node can use
// it, ephemeral in throw-away development, unavailable when it cannot.
func signingState(c *call) string {
	if c.judge.Terms.Signing == nil || c.judge.Terms.Signing.Err != nil {
		return "unavailable"
	}
	if c.api.deps.Ephemeral {
		return "ephemeral"
	}
	return "production"
}

// jwks is GET /v1/.well-known/jwks.json: the same bytes on every node.
func jwks(c *call) (Answer, error) {
	if c.judge.Terms.Signing == nil || c.judge.Terms.Signing.Verify == nil {
		return Answer{}, unavailable("no_leader", "the cluster is not bootstrapped")
	}
	c.cacheable("public, max-age=3600", c.judge.Terms.Signing.JWKSETag)
	if hasVersion(c, c.judge.Terms.Signing.JWKSETag) {
		return notModified(), nil
	}
	return c.send(http.StatusOK, jsonType, c.judge.Terms.Signing.JWKS), nil
}

func (c *call) cacheable(control, etag string) {
	c.header("Cache-Control", control)
	c.header("ETag", etag)
}

// notModified answers 304.
func notModified() Answer { return Answer{status: http.StatusNotModified, bodyless: true} }

// hasVersion tells whether the caller has this version already.
func hasVersion(c *call, etag string) bool {
	for _, have := range strings.Split(c.r.Header.Get("If-None-Match"), ",") {
		have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
		if have == etag || have == "*" {
			return true
		}
	}
	return false
}

// live is GET /livez: the process answers.
func live(c *call) (Answer, error) {
	return c.send(http.StatusOK, jsonType, []byte(`{"status":"ok"}`)), nil
}

// isProbe reports whether the call asks how this node is for somebody who acts by it: it is
// none of the service, and no error where the answer is no.
func isProbe(c *call) bool {
	return c.route != nil && (c.route.path == "/livez" || c.route.path == "/readyz")
}

// tellReadiness logs that the node is ready, or why not, when that has changed since it was
// asked last.
func (a *API) tellReadiness(readiness *report.Readiness) {
	var names, why []string
	for _, check := range readiness.Checks {
		if !check.OK {
			names, why = append(names, check.Name), append(why, strings.TrimSpace(check.Name+" "+check.Text))
		}
	}
	now := strings.Join(names, ",")
	if was := a.health.told.Swap(&now); was != nil && *was == now {
		return
	}
	if now == "" {
		a.log.Info("ready")
	} else {
		a.log.Info("not ready", "checks", strings.Join(why, "; "))
	}
}

// ready is GET /readyz, in rqlite's form: one line a check.
func ready(c *call) (Answer, error) {
	query, err := readReadyQuery(c)
	if err != nil {
		return Answer{}, err
	}
	readiness := c.api.deps.Operations.Ready(c.ctx, query)
	for _, check := range ownChecks(c) {
		if excluded(query.Exclude, check.Name) {
			continue
		}
		readiness.Checks = append(readiness.Checks, check)
		readiness.Ready = readiness.Ready && check.OK
	}
	if len(c.parameters) == 0 { // What is left out or added is another question.
		c.api.tellReadiness(&readiness)
	}
	var text strings.Builder
	for _, check := range readiness.Checks {
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
	status := http.StatusOK
	if !readiness.Ready {
		status = http.StatusServiceUnavailable
		c.header("Retry-After", "1")
		c.header(headerOutcome, outcomeNone)
	}
	return c.send(status, textType, []byte(text.String())), nil
}

func readReadyQuery(c *call) (report.ReadyQuery, error) {
	query := report.ReadyQuery{NoLeader: c.hasQuery("noleader"), Sync: c.hasQuery("sync"), Leader: c.hasQuery("leader")}
	for _, p := range c.parameters {
		if p.name == "exclude" {
			query.Exclude = append(query.Exclude, strings.Split(p.value, ",")...)
		}
	}
	if text := c.query("maxlag"); text != "" {
		lag, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return query, badQuery("maxlag", "must be a number of log entries")
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

// ownChecks are what this room knows of readiness: the cluster knows the rest.
func ownChecks(c *call) []report.ReadyCheck {
	settings := c.judge.Terms.Settings
	key := report.ReadyCheck{Name: "signingkey", OK: signingState(c) != "unavailable", Text: signingState(c)}
	list := report.ReadyCheck{Name: "list", Text: "none"}
	if settings.List != nil {
		opened := c.api.deps.Published.List()
		compiled := opened != nil && opened.Digest() == settings.List.Digest && opened.Matcher() == settings.Matcher
		list.OK = compiled && (!settings.List.Sample || settings.Genesis.Dev)
		list.Text = edge.ListSource(settings.List) + " version " + strconv.FormatUint(settings.ListVersion, 10)
		if !compiled {
			list.Text += ", not compiled here"
		}
		for _, family := range judge.Missing(settings.List) {
			list.Text += ", WITHOUT the " + family + " list"
		}
		if settings.List.Quarantined > 0 {
			list.Text += ", " + strconv.Itoa(int(settings.List.Quarantined)) + " malformed entities left out"
		}
	}
	drain := report.ReadyCheck{Name: "drain", OK: !c.api.leaving.Load(), Text: "serving"}
	if !drain.OK {
		drain.Text = "draining"
	}
	return []report.ReadyCheck{key, list, drain}
}

// nodeRole caches this node's raft role for the header of every answer: asking
// the cluster thousands of times a second would cost more than the word is worth.
type nodeRole struct {
	word  atomic.Pointer[string]
	until atomic.Int64 // Wall nanoseconds.
}

const roleKept = 200 * time.Millisecond

// roler is what Operations may offer besides: the role without the whole status.
type roler interface{ Role() string }

func (n *nodeRole) text(a *API) string {
	now := time.Now().UnixNano()
	until := n.until.Load()
	if word := n.word.Load(); word != nil && now < until {
		return *word
	}
	if !n.until.CompareAndSwap(until, now+int64(roleKept)) {
		if word := n.word.Load(); word != nil {
			return *word // Somebody else is asking.
		}
	}
	word := a.askRole()
	n.word.Store(&word)
	return word
}

func (a *API) askRole() string {
	if operations, ok := a.deps.Operations.(roler); ok {
		return operations.Role()
	}
	ctx, cancel := context.WithTimeout(context.Background(), roleKept)
	defer cancel()
	return a.deps.Operations.Status(ctx).Role
}

package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"railguard/engine"

	"railguard/cluster/timing"
	"railguard/edge"
	"railguard/edge/retrace"
	"railguard/fsm/wire"
	"railguard/httpapi/cosigning"
	"railguard/httpapi/lanes"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
	"railguard/webhooks"
)

// Deps is everything the border needs from the rest of the house.
type Deps struct {
	Proposer   Proposer
	Published  Published
	Records    Records
	Lists      Lists
	Operations Operations
	Secrets    *seal.Secrets
	Sync       Syncer // nil: this node cannot fetch lists.

	Node           string // Shown in X-Railguard-Node and in records.
	Version        string // Semantic version of the binary.
	Logger         *slog.Logger
	LogLevel       *slog.LevelVar   // Of Logger, to be changed while the node runs; nil: it cannot.
	TrustedProxies []netip.Prefix   // Whose X-Forwarded-For is believed.
	WriteDeadline  time.Duration    // 0: engine.WriteDeadline.
	AdminToken     string           // Secret that counts as an admin key on the admin listener; "": none.
	Relay          Relay            // nil: this node's jobs are all there are.
	Jobs           retrace.Shelf    // nil: backtests and shadows end with the process.
	Neighbours     Neighbours       // nil: rates hold for this node alone.
	ListFiles      ListFiles        // nil: GET of a list's entities finds none.
	LoadList       ListLoader       // nil: this node takes no list uploads.
	Backup         BackupSaver      // nil: this server gives no backups.
	Webhooks       *webhooks.Sender // nil: this node sends none.
	Ephemeral      bool             // Throw-away development: health says so of the signing key.

	Witnesses      []cosigning.Witness // Asked to cosign checkpoints while this node leads.
	WitnessEvery   time.Duration       // At most so often; 0: as often as may be.
	WitnessTimeout time.Duration       // Longest wait for one; 0: cosigning.DefaultTimeout.

	Now func() time.Time // This node's clock; nil: time.Now.
}

// API answers HTTP. It is safe for concurrent use; what changes is behind atomics.
type API struct {
	deps      Deps
	log       *slog.Logger
	deadline  time.Duration
	started   time.Time
	public    *listener
	admin     *listener
	renderers map[string]renderer
	signed    checkpoints
	cosigned  cosignedPoints
	statuses  statusTokens
	health    healthCache

	upload atomic.Pointer[ofac.Index] // The newest list staged, where a call had to compile it.

	scans     scans            // Turns of what computes long.
	streams   *lanes.Lane      // Places of what lasts long.
	watchers  *lanes.Lane      // Places of who waits for what comes.
	addresses *lanes.Addresses // Rates of callers without a key.

	share    fairShare
	refusals *rate.Limiter // Of log lines about refused calls.

	judges     *edge.Judges
	hooked     *webhooks.Reader
	keys       atomic.Pointer[heldKeys]
	keysMutex  sync.Mutex // Serialises rebuilding the table; readers never take it.
	role       nodeRole
	running    atomic.Int64  // Ordinary calls in flight.
	leaving    atomic.Bool   // Not ready; calls are served.
	draining   atomic.Bool   // Calls are refused.
	drains     atomic.Uint64 // Counts the changes, so that a grace that is over changes nothing that was said since.
	idempotent inFlight
	batches    batchBytes

	jobs *retrace.Desk // What judges history again.
}

// bodyKind says what a route does with a request body.
type bodyKind uint8

const (
	bodyNone     bodyKind = iota // Not read.
	bodyObject                   // One JSON object.
	bodyOptional                 // One JSON object or nothing.
	bodyRaw                      // Bytes; the handler reads them.
	bodyBatch                    // A list of screening calls; the handler takes it apart.
)

// anyRole admits every valid key.
const anyRole = wire.RoleOperator | wire.RoleScreener | wire.RoleReviewer | wire.RoleAuditor |
	wire.RolePolicy | wire.RoleOps | wire.RoleAdmin

// route is one line of the route table: the whole contract of an endpoint
// except what it does.
type route struct {
	method string
	path   string // ServeMux pattern without a method.
	scope  scope  // Whose affair it is.
	roles  uint8  // Any of them will do; admin always does. 0: public.
	body   bodyKind
	max    int64 // Body bytes; 0: engine.BodyMax.

	shape      strictjson.Shape // Members of the body; see members.go, which fills these.
	late       bool             // The handler asks for them itself.
	parameters []string         // Of the query.

	charge    charge // What a call counts, and its lane; set by newListener.
	admin     bool   // On the admin listener; set by newListener.
	reserved  bool   // Not counted against inFlightMax: reviews, health, cluster verbs.
	always    bool   // Answers before bootstrap and while draining.
	registers bool   // Counts against the registration rate.
	stream    bool   // Writes its answer piecewise: no deadline over the whole.

	handle func(*call) (Answer, error)
}

// New checks deps and builds the API. The error says what is missing.
func New(deps Deps) (*API, error) {
	if deps.Proposer == nil || deps.Published == nil || deps.Records == nil || deps.Operations == nil {
		return nil, errors.New("httpapi: proposer, published, records and operations are required")
	}
	if deps.Secrets == nil {
		return nil, errors.New("httpapi: secrets are required")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.WriteDeadline == 0 {
		deps.WriteDeadline = time.Duration(engine.WriteDeadline)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	a := &API{deps: deps, log: deps.Logger, deadline: deps.WriteDeadline, started: time.Now()}
	a.judges = judgesOf(deps)
	a.jobs = newDesk(a)
	if deps.Relay != nil {
		deps.Relay.Answer(a.answerRelayed)
	}
	a.hooked = webhooks.NewReader(struct {
		Published
		Records
	}{deps.Published, deps.Records}, a.judges)
	a.scans.Lane = lanes.NewLane(scanPlaces(), laneWaitingMax, scansOfOneKey)
	a.streams = lanes.NewLane(streamPlaces, laneWaitingMax, streamsOfOneKey)
	a.watchers = lanes.NewLane(watchPlaces, laneWaitingMax, watchesOfOneKey)
	a.scans.pace = timing.NewPace(runtime.GOMAXPROCS(0), timing.Slice, deps.Published.Applied)
	a.addresses = lanes.NewAddresses(keylessRate, burstFactor*keylessRate, addressesKnown)
	a.refusals = rate.NewLimiter(refusalLines, refusalLinesBurst)
	a.idempotent.running = make(map[[16]byte]struct{})
	a.renderers = a.allRenderers()
	a.makeAsker()
	public, admin := a.publicRoutes(), a.adminRoutes()
	for _, r := range slices.Concat(public, admin) {
		if r.scope == scopeNone || (r.scope == scopePublic) != (r.roles == 0) {
			return nil, errors.New("httpapi: " + r.method + " " + r.path + " does not say whose affair it is")
		}
		if !r.declare() {
			return nil, errors.New("httpapi: " + r.method + " " + r.path + " does not say which members its body has")
		}
	}
	a.public = newListener(a, public, false)
	a.admin = newListener(a, admin, true)
	return a, nil
}

func judgesOf(deps Deps) *edge.Judges {
	return edge.New(edge.Deps{
		Published: deps.Published, Records: deps.Records, Secrets: deps.Secrets, Node: deps.Node, Version: deps.Version, Logger: deps.Logger,
	})
}

// Handler serves the public API.
func (a *API) Handler() http.Handler { return a.public }

// AdminHandler serves the admin listener: metrics, profiles, keys, list
// uploads. The public API is not on it.
func (a *API) AdminHandler() http.Handler { return a.admin }

// SetLeaving makes the node unready while calls are served as before, each on a
// connection that ends with it: who balances load looks elsewhere meanwhile.
func (a *API) SetLeaving() {
	a.drains.Add(1)
	a.leaving.Store(true)
}

// SetDraining makes the node refuse new calls with shutting_down, or be ready and take them again.
func (a *API) SetDraining(on bool) {
	a.drains.Add(1)
	a.leaving.Store(on)
	a.draining.Store(on)
}

// Running returns the number of ordinary calls in flight.
func (a *API) Running() int64 { return a.running.Load() }

// publicRoutes is the table of contents of the public API.
func (a *API) publicRoutes() []route {
	var all []route
	for _, group := range [][]route{
		a.screenRoutes(), a.auditRoutes(), a.reviewRoutes(), a.queueRoutes(), a.alertRoutes(), a.sarRoutes(),
		a.healthRoutes(), a.logRoutes(), a.clusterRoutes(), a.documentRoutes(),
		a.registryRoutes(), a.eventRoutes(), activityRoutes(), backtestRoutes(), shadowRoutes(), retroRoutes(), a.webhookRoutes(), statusListRoutes(),
	} {
		all = append(all, group...)
	}
	return all
}

// adminRoutes is the table of contents of the admin listener.
func (a *API) adminRoutes() []route {
	return append(a.operationRoutes(), a.registryAdminRoutes()...)
}

// listener is one mux and its border checks.
type listener struct {
	api   *API
	mux   *http.ServeMux
	retro *http.ServeMux // Of the paths below retroReports.
}

// resource is all methods of one path.
type resource struct {
	api    *API
	path   string
	routes []route
	allow  string
}

func newListener(a *API, routes []route, admin bool) *listener {
	l := &listener{api: a, mux: http.NewServeMux(), retro: http.NewServeMux()}
	byPath := make(map[string]*resource)
	var order []*resource
	for _, r := range routes {
		r.admin, r.charge = admin, chargeOf(&r)
		if r.max == 0 {
			r.max = engine.BodyMax
		}
		r.declare()
		known := byPath[r.path]
		if known == nil {
			known = &resource{api: a, path: r.path}
			byPath[r.path] = known
			order = append(order, known)
		}
		known.routes = append(known.routes, r)
	}
	for _, res := range order {
		res.allow = allowed(res.routes)
		if strings.HasPrefix(res.path, retroReports) {
			l.retro.Handle(res.path, res)
			continue
		}
		l.mux.Handle(res.path, res)
	}
	l.mux.Handle("/", &resource{api: a, path: ""})
	l.retro.Handle("/", &resource{api: a, path: ""})
	return l
}

func allowed(routes []route) string {
	var methods []string
	for _, r := range routes {
		methods = append(methods, r.method)
		if r.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return strings.Join(methods, ", ")
}

// ServeHTTP refuses what no proxy and server may read in two ways, and every
// path that is not exactly one of ours: ServeMux would answer those with a
// redirect.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := checkBorder(r); err != nil {
		w.Header().Set("Connection", "close") // What follows on it may be read in two ways as well.
		l.api.refuse(w, r, err)
		return
	}
	if !exactPath(r) {
		l.api.refuse(w, r, notFound("no such path"))
		return
	}
	if strings.HasPrefix(r.URL.Path, retroReports) {
		if id := r.URL.Path[len(retroReports):]; !strings.Contains(id, "/") {
			l.retro.ServeHTTP(w, r)
			return
		}
	}
	l.mux.ServeHTTP(w, r)
}

// ServeHTTP finds the method's route and runs the call.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(res.routes) == 0 {
		res.api.refuse(w, r, notFound("no such path"))
		return
	}
	for i := range res.routes {
		route := &res.routes[i]
		if route.method == r.Method || route.method == http.MethodGet && r.Method == http.MethodHead {
			res.api.serve(w, r, route)
			return
		}
	}
	refused := failure(http.StatusMethodNotAllowed, "method_not_allowed", "this path does not take "+safeMethod(r.Method))
	refused.Allow = res.allow
	res.api.refuse(w, r, refused)
}

func safeMethod(method string) string {
	if len(method) > 16 {
		return "this method"
	}
	return method
}

// checkBorder refuses ambiguous requests (decision 61, no. 18).
func checkBorder(r *http.Request) error {
	size := 0
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	if size > engine.HeaderMax {
		return failure(http.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "the headers are larger than 16 KiB")
	}
	if r.Method == http.MethodConnect || r.RequestURI != "" && r.RequestURI[0] != '/' {
		return failure(http.StatusBadRequest, "bad_request", "the request target must be a path")
	}
	if len(r.Header["Authorization"]) > 1 || len(r.Header["Content-Type"]) > 1 || len(r.Header["Host"]) > 0 {
		return failure(http.StatusBadRequest, "bad_request", "a header that must be single stands twice")
	}
	return nil
}

// exactPath refuses escapes, doubled slashes, dot segments and trailing
// slashes: no path of ours needs them.
func exactPath(r *http.Request) bool {
	path := r.URL.Path
	if r.URL.RawPath != "" || len(path) == 0 || path[0] != '/' || len(path) > 1 && path[len(path)-1] == '/' {
		return false
	}
	if strings.Contains(r.URL.EscapedPath(), "%") || strings.Contains(path, "//") {
		return false
	}
	return !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

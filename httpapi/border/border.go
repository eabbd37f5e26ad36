package border

import (
	"errors"
	"fmt"
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

	"railguard/cluster/recorder"
	"railguard/cluster/timing"
	"railguard/edge"
	"railguard/fsm/wire"
	"railguard/httpapi/description"
	"railguard/httpapi/lanes"
	"railguard/httpapi/tracing"
	"railguard/seal"
	"railguard/strictjson"
)

// Deps is what the border needs from the rest of the program.
type Deps struct {
	Proposer  Proposer
	Published Published
	Records   Records
	Secrets   *seal.Secrets
	Role      func() string // This node's raft role.

	Node           string // Shown in X-Railguard-Node and in records.
	Version        string // Semantic version of the binary.
	Logger         *slog.Logger
	TrustedProxies []netip.Prefix // Proxies whose X-Forwarded-For is believed.
	WriteDeadline  time.Duration  // 0: engine.WriteDeadline.
	AdminToken     string         // Secret that counts as an admin key on the admin listener; "": none.
	Authorities    []string       // Under which the service is known, beside its public address; possession.NormalAuthority.
	Addresses      AddressForm    // How the log shows the addresses of refused callers.
	Recorder       *recorder.Recorder
	Neighbours     Neighbours       // nil: rates hold for this node alone.
	Now            func() time.Time // This node's clock.
	Tracer         *tracing.Tracer  // nil: no call is traced.
	Calls          *timing.Calls    // Those that wait for a verdict; nil: nobody else looks at them.
}

// Border receives the calls and sends their answers, for the public and the admin listener.
// It is safe for concurrent use: its changing fields are atomics.
type Border struct {
	deps      Deps
	log       *slog.Logger
	Deadline  time.Duration
	started   time.Time
	public    *listener
	admin     *listener
	renderers map[string]Renderer

	Scans     scans            // Turns of long computations.
	Streams   *lanes.Lane      // Places of long-lasting calls.
	Duplexes  *lanes.Lane      // Places of streams of payments.
	Watchers  *lanes.Lane      // Places of calls that wait for events.
	Addresses *lanes.Addresses // Rates of callers without a key.
	WrongKeys *lanes.Addresses // Rates of callers with a wrong key.

	Share      fairShare
	refusals   *rate.Limiter // Limits log lines about refused calls.
	addressKey []byte        // Under which addresses are hashed.

	judges     *edge.Judges
	keys       atomic.Pointer[heldKeys]
	keysMutex  sync.Mutex // Serialises rebuilding the table; readers never take it.
	role       nodeRole
	InFlight   atomic.Int64  // Ordinary calls in flight.
	Calls      *timing.Calls // Those that wait for a verdict.
	leaving    atomic.Bool   // Not ready; calls are served.
	draining   atomic.Bool   // Calls are refused.
	drains     atomic.Uint64 // Counts changes of leaving and draining: DrainLater compares it.
	Idempotent inFlight
	Large      largeBytes
	looks      *Looks
}

// New makes a border without rooms.
func New(deps Deps) *Border {
	b := &Border{deps: deps, log: deps.Logger, Deadline: deps.WriteDeadline, started: time.Now(), addressKey: deps.Secrets.HashKey("addresses in logs")}
	b.judges = edge.New(edge.Deps{
		Published: deps.Published, Records: deps.Records, Secrets: deps.Secrets, Node: deps.Node, Version: deps.Version, Logger: deps.Logger, Authorities: deps.Authorities,
	})
	b.Scans.Lane = lanes.NewLane(ScanPlaces(), laneWaitingMax, scansOfOneKey)
	b.Streams = lanes.NewLane(streamPlaces, laneWaitingMax, StreamsOfOneKey)
	b.Duplexes = lanes.NewLane(duplexPlaces, laneWaitingMax, DuplexesOfOneKey)
	b.Watchers = lanes.NewLane(watchPlaces, laneWaitingMax, WatchesOfOneKey)
	if b.Calls = deps.Calls; b.Calls == nil {
		b.Calls = timing.NewCalls(nil)
	}
	b.Scans.Pace = timing.NewPace(runtime.GOMAXPROCS(0), timing.Slice, deps.Published.Applied, b.Calls)
	b.Addresses = lanes.NewAddresses(keylessRate, BurstFactor*keylessRate, addressesKnown)
	b.WrongKeys = lanes.NewAddresses(wrongKeyRate, wrongKeyBurst, addressesKnown)
	b.refusals = rate.NewLimiter(refusalLines, refusalLinesBurst)
	b.looks = newLooks(b)
	b.Idempotent.Running = make(map[[16]byte]struct{})
	return b
}

// Room is what a room gives the border: its routes, the members and parameters that they
// take, and the renderers of its leaves.
type Room struct {
	Public    []Route
	Admin     []Route                     // On the admin listener.
	Bodies    map[string]strictjson.Shape // Admin listener: members of every JSON body, by "METHOD path".
	Queries   map[string][]string         // Admin listener: query parameters, by "METHOD path"; a name that ends in ? is a flag.
	Renderers map[string]Renderer         // By kind of leaf.
}

// Open builds both listeners from the routes of the rooms. The error names a route whose
// declaration is incomplete.
func (b *Border) Open(rooms []Room) error {
	var public, admin []Route
	b.renderers = make(map[string]Renderer)
	for i := range rooms {
		room := &rooms[i]
		for kind, render := range room.Renderers {
			if b.renderers[kind] != nil {
				return errors.New("httpapi: two rooms render leaves of kind " + kind)
			}
			b.renderers[kind] = render
		}
		for _, group := range [][]Route{room.Public, room.Admin} {
			for at := range group {
				if err := room.declareRoute(&group[at]); err != nil {
					return err
				}
			}
		}
		public, admin = append(public, room.Public...), append(admin, room.Admin...)
	}
	b.public = newListener(b, public, false)
	b.admin = newListener(b, admin, true)
	return nil
}

// declareRoute fills in a route from its description, or from the tables of its room.
func (t *Room) declareRoute(r *Route) error {
	key := r.Method + " " + r.Path
	shape, told := t.Bodies[key]
	r.Parameters, r.Shape = t.Queries[key], shape
	if operation := description.FindOperation(r.Method, r.Path); operation != nil {
		if r.Scope != ScopeNone || r.Roles != 0 {
			return fmt.Errorf("httpapi: %s says itself whose affair it is: httpapi/description does", key)
		}
		r.Scope, r.Roles = scopeOf(operation.Scope), rolesOf(operation.Roles)
		r.Outsiders, r.Look = rolesOf(operation.Outsiders), operation.Look
		if r.Body == BodyNone && operation.Body != nil {
			r.Body = BodyObject
			if operation.Body.Optional {
				r.Body = BodyOptional
			}
		}
		r.Parameters, r.Shape, told = operation.QueryNames(), shapeOf(operation.BodyMembers()), true
	}
	switch {
	case r.Scope == ScopeNone || (r.Scope == ScopePublic) != (r.Roles == 0):
		return fmt.Errorf("httpapi: %s does not say whose affair it is", key)
	case !told && (r.Body == BodyObject || r.Body == BodyOptional):
		return fmt.Errorf("httpapi: %s does not say which members its body has", key)
	}
	return nil
}

// scopeOf converts a scope of the API's description.
func scopeOf(described description.Scope) Scope {
	for scope := ScopePublic; scope <= ScopeInstitution; scope++ {
		if scope.Text() == string(described) {
			return scope
		}
	}
	return ScopeNone
}

// rolesOf reads names of roles with spaces between them.
func rolesOf(names string) (roles uint16) {
	if names == "any" {
		return AnyRole
	}
	for name := range strings.FieldsSeq(names) {
		roles |= edge.ParseRole(name)
	}
	return roles
}

// ConcatRoutes joins the routes of a room.
func ConcatRoutes(groups ...[]Route) []Route { return slices.Concat(groups...) }

// PublicHandler serves the public API.
func (b *Border) PublicHandler() http.Handler { return b.public }

// AdminHandler serves the admin listener: metrics, profiles, keys, list
// uploads. The public API is not on it.
func (b *Border) AdminHandler() http.Handler { return b.admin }

// Judges returns the judges of unchangeable facts, which all calls share.
func (b *Border) Judges() *edge.Judges { return b.judges }

// IsLeader tells whether this node leads. The answer may be RoleKept old.
func (b *Border) IsLeader() bool { return b.role.roleText(b) == "leader" }

// SetLeaving makes the node unready while it still serves calls. Each answer closes its
// connection, so that load balancers move to other nodes.
func (b *Border) SetLeaving() {
	b.drains.Add(1)
	b.leaving.Store(true)
}

// SetDraining makes the node refuse new calls with shutting_down when on is true. Else it makes
// the node ready, and the node takes calls again.
func (b *Border) SetDraining(on bool) {
	b.drains.Add(1)
	b.leaving.Store(on)
	b.draining.Store(on)
}

// DrainLater returns a function that makes the node refuse new calls; the caller runs it at
// the end of a grace. It does nothing and returns false if the state was changed meanwhile.
func (b *Border) DrainLater() (drain func() bool) {
	said := b.drains.Load()
	return func() bool {
		if !b.drains.CompareAndSwap(said, said+1) {
			return false
		}
		b.draining.Store(true)
		return true
	}
}

// Running returns the number of ordinary calls in flight.
func (b *Border) Running() int64 { return b.InFlight.Load() }

// BodyKind says how a route reads a request body.
type BodyKind uint8

const (
	BodyNone     BodyKind = iota // Not read.
	BodyObject                   // One JSON object.
	BodyOptional                 // One JSON object or nothing.
	BodyRaw                      // Any bytes; the handler reads them.
	BodyBatch                    // A list of screening calls; the handler splits it.
)

// AnyRole admits every valid key but that of a gateway, which may ask for its requests and no more.
const AnyRole = wire.RoleOperator | wire.RoleScreener | wire.RoleReviewer | wire.RoleAuditor |
	wire.RolePolicy | wire.RoleOps | wire.RoleAdmin | wire.RoleSettler | wire.RoleViewer

// Route is one line of the route table: everything about an endpoint except its handler's
// work.
type Route struct {
	Method    string
	Path      string   // ServeMux pattern without a method.
	Scope     Scope    // Who may call it. httpapi/description gives Scope and Roles of its operations.
	Roles     uint16   // Any one of them is enough; admin always is. 0: public.
	Outsiders uint16   // Roles that are also enough for a key of an operator or a caller. httpapi/description gives them.
	Body      BodyKind // httpapi/description gives it, unless the body is not one JSON object.
	Max       int64    // Largest body in bytes; 0: engine.BodyMax.

	Look       string           // What a call of it looks at, if that is kept; httpapi/description gives it.
	Shape      strictjson.Shape // Members of the body; declareRoute sets it.
	Late       bool             // The handler calls CheckMembers itself.
	Parameters []string         // Of the query; declareRoute sets it.

	charge    charge // Cost and lane of a call; set by newListener.
	ground    Ground // What its answers rest on; set by newListener.
	admin     bool   // On the admin listener; set by newListener.
	Reserved  bool   // Not counted against InFlightMax: reviews, health, cluster verbs.
	Always    bool   // Answers before bootstrap and while draining.
	Registers bool   // Counts against the registration rate.
	Stream    bool   // Writes its answer piece by piece: no deadline for the whole call.

	Handle func(*Request) (Answer, error)
}

package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/httpapi/casework"
	"railguard/httpapi/cosigning"
	"railguard/httpapi/evidence"
	"railguard/httpapi/operations"
	"railguard/httpapi/payments"
	"railguard/httpapi/reconciliation"
	"railguard/httpapi/registry"
	"railguard/httpapi/rulebook"
	"railguard/httpapi/tracing"
	"railguard/seal"
	"railguard/webhooks"
)

// Deps is everything the API needs from the rest of the program.
type Deps struct {
	Proposer   border.Proposer
	Published  border.Published
	Records    border.Records
	Lists      rulebook.Lists
	Operations operations.Operations
	Secrets    *seal.Secrets
	Sync       rulebook.Syncer // nil: this node cannot fetch lists.

	Node           string // Shown in X-Railguard-Node and in records.
	Version        string // Semantic version of the binary.
	Logger         *slog.Logger
	LogLevel       *slog.LevelVar         // Logger's level, changeable at run time; nil: fixed.
	TrustedProxies []netip.Prefix         // Proxies whose X-Forwarded-For is believed.
	WriteDeadline  time.Duration          // 0: engine.WriteDeadline.
	Authorities    []string               // Authorities that a message signature may name, beside the public address; possession.NormalAuthority.
	AdminToken     string                 // Secret that counts as an admin key on the admin listener; "": none.
	Flight         operations.Flight      // What the node keeps for those who look for the cause of an incident.
	Addresses      border.AddressForm     // How the log shows the addresses of refused callers.
	Relay          rulebook.Relay         // nil: this node knows its own jobs only.
	Jobs           retrace.JobStore       // nil: backtests and shadows are lost when the process ends.
	Neighbours     NodeNeighbours         // nil: rates hold for this node alone.
	ListFiles      rulebook.ListFiles     // nil: the route for a list's entities finds no list.
	JoinList       rulebook.ListJoiner    // nil: this node changes no lists beside OFAC's.
	LoadList       rulebook.ListLoader    // nil: this node takes no list uploads.
	Backup         operations.BackupSaver // nil: this server gives no backups.
	BackupProblems func() []string        // Says why the cluster's own backups fail; nil: this server runs none.
	Webhooks       *webhooks.Sender       // nil: this node sends none.
	GatewayMap     string                 // SHA-256 of this node's map for gateways, in hex; "": none.
	Ephemeral      bool                   // This is a throw-away development node. Its health answer says that the signing key will not last.

	Witnesses      []cosigning.Witness // They cosign checkpoints while this node leads.
	LogPolicy      *cosigning.Policy   // If set, cosigned checkpoints meet its quorum; its witnesses are Witnesses.
	WitnessEvery   time.Duration       // Shortest time between two rounds; 0: cosigning.EveryMin.
	WitnessTimeout time.Duration       // Longest wait for one witness; 0: cosigning.DefaultTimeout.

	Now func() time.Time // This node's clock; nil: time.Now.

	Tracer *tracing.Tracer // Sends the walk of sampled calls; nil: no call is traced.
	Calls  *timing.Calls   // The calls that wait for a verdict: the node's background work makes way for them. nil: nobody else looks at them.
}

// NodeNeighbours carries two things between nodes: how much each API key is used, and what
// witnesses cosigned.
type NodeNeighbours interface {
	border.Neighbours
	evidence.CosignedTellers
}

// API answers HTTP: the border, and the rooms behind it. It is safe for concurrent use.
type API struct {
	*border.Border
	evidence *evidence.Room
	rulebook *rulebook.Room
	rails    *reconciliation.Room
	casework *casework.Room
	house    *operations.Room

	answering atomic.Pointer[operations.Room] // The room of operations, when the whole API is made: other nodes may ask before.
	rooms     []border.Room
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
	front := border.New(border.Deps{
		Proposer: deps.Proposer, Published: deps.Published, Records: deps.Records, Secrets: deps.Secrets, Role: roleOf(deps.Operations),
		Node: deps.Node, Version: deps.Version, Logger: deps.Logger, TrustedProxies: deps.TrustedProxies, WriteDeadline: deps.WriteDeadline,
		Authorities: deps.Authorities, AdminToken: deps.AdminToken, Neighbours: deps.Neighbours, Now: deps.Now, Tracer: deps.Tracer, Calls: deps.Calls, Recorder: deps.Flight.Recorder, Addresses: deps.Addresses,
	})
	a := &API{Border: front}
	a.evidence = evidence.Open(evidence.Deps{
		Published: deps.Published, Records: deps.Records, Secrets: deps.Secrets, Judges: front.Judges(), Logger: deps.Logger,
		Leads: front.IsLeader, Tellers: deps.Neighbours, Webhooks: deps.Webhooks,
		Witnesses: deps.Witnesses, LogPolicy: deps.LogPolicy, WitnessEvery: deps.WitnessEvery, WitnessTimeout: deps.WitnessTimeout,
	})
	a.rulebook = rulebook.Open(rulebook.Deps{
		Published: deps.Published, Records: deps.Records, Judges: front.Judges(), Logger: deps.Logger, Node: deps.Node,
		Lists: deps.Lists, Sync: deps.Sync, LoadList: deps.LoadList, JoinList: deps.JoinList, ListFiles: deps.ListFiles, Relay: a.forkRelay(deps.Relay), Jobs: deps.Jobs, MakeWay: deps.Calls.MakeWay,
	})
	a.casework = casework.Open(front, deps.Published, deps.Records)
	a.rails = reconciliation.Open(reconciliation.Deps{Published: deps.Published, Records: deps.Records, Proposer: deps.Proposer, Calls: deps.Calls})
	gauges := metrics.NewSet()
	a.house = operations.Open(operations.Deps{
		Operations: deps.Operations, Proposer: deps.Proposer, Published: deps.Published, Records: deps.Records, Node: deps.Node, Secrets: deps.Secrets, Logger: deps.Logger, Intake: front, Gauges: gauges, LogStatus: a.evidence.LogStatus, Quorum: a.evidence.QuorumWarning, Overdue: a.rails.Overdue,
		Version: deps.Version, Flight: deps.Flight, Asker: deps.Relay, LogLevel: deps.LogLevel, Backup: deps.Backup, BackupProblems: deps.BackupProblems, GatewayMap: deps.GatewayMap, Ephemeral: deps.Ephemeral,
	})
	front.RegisterGauges(gauges)
	a.evidence.RegisterGauges(gauges)
	a.rulebook.RegisterGauges(gauges)
	a.rails.RegisterGauges(gauges)
	casework.RegisterGauges(gauges, deps.Published, deps.Records)
	a.rooms = []border.Room{
		payments.Table(), registry.Table(), a.casework.Table(), a.evidence.Table(), a.rulebook.Table(), a.rails.Table(), a.house.Table(),
	}
	if err := front.Open(a.rooms); err != nil {
		return nil, err
	}
	a.answering.Store(a.house)
	return a, nil
}

// Handler serves the public API.
func (a *API) Handler() http.Handler { return a.PublicHandler() }

// SignIn lets a person in whom an identity provider named, and returns the secret of the session.
func (a *API) SignIn(ctx context.Context, person operations.Person, longest time.Duration) (secret string, err error) {
	return a.house.SignIn(ctx, person, longest)
}

// Witnesses returns the asker that collects cosignatures between its Start and its Stop.
func (a *API) Witnesses() *cosigning.Asker { return a.evidence.Asker() }

// Close ends the background jobs and waits for them.
func (a *API) Close() { a.rulebook.EndJobs(); a.rails.Close(); a.casework.Close() }

// NewRetro makes the leader's duty that screens past payments against newly activated
// lists. It does nothing until it is started.
func NewRetro(a *API, cluster retrace.Cluster) *retrace.Retro {
	return a.rulebook.NewRetro(cluster)
}

// roler is an optional part of Operations: it returns the role without the whole status.
type roler interface{ Role() string }

// roleOf returns a function that reads this node's role.
func roleOf(operations operations.Operations) func() string {
	if with, ok := operations.(roler); ok {
		return with.Role
	}
	return func() string {
		ctx, cancel := context.WithTimeout(context.Background(), border.RoleKept)
		defer cancel()
		return operations.Status(ctx).Role
	}
}

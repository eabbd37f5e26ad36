package operations

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/report"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/seal"
)

// Deps is what the room needs from the rest of the program.
type Deps struct {
	Operations     Operations
	Proposer       border.Proposer
	Published      border.Published
	Records        border.Records
	Node           string
	Secrets        *seal.Secrets
	Logger         *slog.Logger
	Intake         Intake
	Gauges         *metrics.Set
	LogStatus      func(ctx context.Context) *report.LogStatus // The log's part of the cluster's status.
	Quorum         func(ctx context.Context) string            // Says that the log's quorum of witnesses is not met; "": it is, or none is demanded.
	Overdue        func() []string                             // Says which rails were not reconciled for longer than the policy allows.
	Version        string
	LogLevel       *slog.LevelVar // Logger's level, changeable at run time; nil: fixed.
	GatewayMap     string         // SHA-256 of this node's map for gateways, in hex; "": none.
	Flight         Flight
	Asker          Asker           // nil: there are no other nodes.
	Backup         BackupSaver     // nil: this server gives no backups.
	BackupProblems func() []string // Says why the cluster's own backups fail; nil: this server runs none.
	Ephemeral      bool            // This is a throw-away development node. Its health answer says that the signing key will not last.
}

// Intake admits calls; the node closes it before it stops.
type Intake interface {
	SetLeaving()
	SetDraining(on bool)
	DrainLater() (drain func() bool)
	Running() int64
}

// Room is the state that calls of operators and probes share.
type Room struct {
	deps       Deps
	started    time.Time
	statuses   statusTokens
	toldHealth healthCache
}

// Open makes the room.
func Open(deps Deps) *Room {
	return &Room{deps: deps, started: time.Now()}
}

// Table returns what the room gives the border.
func (o *Room) Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(o.healthRoutes(), o.clusterRoutes(), documentRoutes(), o.backupRoutes(), o.statusListRoutes(), []border.Route{testClockRoute()}, ownKeyRoutes()), Admin: o.adminRoutes(), Bodies: operationsBodies, Queries: operationsQueries,
		Renderers: map[string]border.Renderer{"matcher.raised": renderMatcher, "format.raised": renderFormat, "clock.advanced": renderClock, "clock.confirmed": renderTime, leaf.KindBackupSchedule: renderBackups, "key.created": renderKey, "key.rotated": renderKey, "key.reinstated": renderKey, leaf.KindPasskeyAdded: renderPasskey, leaf.KindPasskeyRemoved: renderPasskey, leaf.KindPersonEnded: renderPersonEnd},
	}
}

func ownKeyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/key", Handle: showOwnKey},
		{Method: http.MethodPost, Path: "/v1/key/end-sessions", Handle: endOwnSessions},
	}
}

// keyRoutes are served on the admin listener: API keys, signing keys and the cluster
// secret, which no call of the public API issues.
func (o *Room) keyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/admin/keys", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyObject, Handle: createKey},
		{Method: http.MethodGet, Path: "/admin/keys", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: listKeys},
		{Method: http.MethodDelete, Path: "/admin/keys/{id}", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: revokeKey},
		{Method: http.MethodPost, Path: "/admin/keys/{id}/rotate", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyOptional, Handle: rotateKey},
		{Method: http.MethodPost, Path: "/admin/keys/{id}/end-sessions", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: endKeySessions},
		{Method: http.MethodGet, Path: "/admin/cluster-secret", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: o.showSecret},
		{Method: http.MethodPost, Path: "/admin/cluster-secret/reseal", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyObject, Handle: reseal},
		{Method: http.MethodPost, Path: "/admin/signing-key/rotate", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyOptional, Handle: rotateSigningKey},
		{Method: http.MethodGet, Path: "/admin/signing-keys", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Handle: listSigningKeys},
		{Method: http.MethodPost, Path: "/admin/signing-keys/{kid}/revoke", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyObject, Handle: revokeSigningKey},
	}
}

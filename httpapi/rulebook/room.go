package rulebook

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"railguard/edge"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/ofac/judge"
)

// Deps is what the room needs from the rest of the program.
type Deps struct {
	Published border.Published
	Records   border.Records
	Judges    *edge.Judges
	Logger    *slog.Logger
	Node      string
	Lists     Lists
	Sync      Syncer           // nil: this node cannot fetch lists.
	LoadList  ListLoader       // nil: this node takes no list uploads.
	JoinList  ListJoiner       // nil: this node changes no lists beside OFAC's.
	ListFiles ListFiles        // nil: GET of a list's entities finds none.
	Relay     Relay            // nil: this node knows its own jobs only.
	Jobs      retrace.JobStore // nil: backtests and shadows are lost when the process ends.
	MakeWay   func()           // What jobs do between two steps to make way for verdicts that wait, for a bounded time.
}

// Room is the state that calls about policy and lists share: the jobs that judge history
// again, and the list that was uploaded last.
type Room struct {
	deps   Deps
	Jobs   *retrace.JobRunner
	upload atomic.Pointer[ofac.Index] // The newest staged list, if a call had to compile it.

	// Uploading is held while an upload is read: each may take hundreds of MiB until then.
	Uploading sync.Mutex
}

// Open makes the room.
func Open(deps Deps) *Room {
	b := &Room{deps: deps}
	b.Jobs = newJobRunner(b)
	if deps.Relay != nil {
		deps.Relay.Answer(b.answerRelayed)
	}
	return b
}

// EndJobs ends the background jobs and waits for them.
func (b *Room) EndJobs() { b.Jobs.Close() }

// Table returns what the room gives the border.
func (b *Room) Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(policyRoutes(), b.listRoutes(), b.matchRoutes(), b.backtestRoutes(), b.shadowRoutes(), retroRoutes()), Admin: b.uploadRoutes(), Queries: map[string][]string{"POST /v1/ofac/snapshots": {"name", "asOf", "replace", "list", "listName", "authority", "effect", "format", "families", "maxAge", "remove"}},
		Renderers: map[string]border.Renderer{
			"policy.activated": renderPolicy, "list.staged": renderStaged, "list.activated": renderActivation, "list.synced": renderSynced,
			"cleared.added": renderCleared, "cleared.removed": renderCleared, "retro.begun": renderRetro,
		},
	}
}

// RegisterGauges registers the age and completeness of the sanctions list.
func (b *Room) RegisterGauges(set *metrics.Set) {
	published := b.deps.Published
	set.NewGauge("railguard_ofac_age_seconds", func() float64 {
		settings := published.Settings()
		if settings.List == nil {
			return -1
		}
		return float64(published.LogTime()-settings.ListSynced) / float64(engine.Second)
	})
	set.NewGauge("railguard_ofac_publication_age_seconds", func() float64 {
		settings := published.Settings()
		if settings.List == nil {
			return -1
		}
		return float64(judge.PublicationAge(settings.List, published.LogTime())) / float64(engine.Second)
	})
	set.NewGauge("railguard_ofac_quarantined", func() float64 {
		if list := published.Settings().List; list != nil {
			return float64(list.Quarantined)
		}
		return 0
	})
	set.NewGauge("railguard_ofac_families_missing", func() float64 {
		if list := published.Settings().List; list != nil {
			return float64(len(judge.Missing(list)))
		}
		return 0
	})
	set.RegisterMetricsWriter(b.writeFurther)
}

// writeFurther writes of each list beside OFAC's how old it is and whether it is late. Their numbers,
// which GET /v1/lists tells, are the labels: ids are not for whoever runs the cluster.
func (b *Room) writeFurther(w io.Writer) {
	list, now := b.deps.Published.Settings().List, b.deps.Published.LogTime()
	for _, family := range [...]struct {
		name  string
		value func(*wire.ListSource) int64
	}{
		{"railguard_list_age_seconds", func(s *wire.ListSource) int64 { return int64((now - s.SyncedAt) / engine.Second) }},
		{"railguard_list_late", func(s *wire.ListSource) int64 {
			if s.IsLate(now) {
				return 1
			}
			return 0
		}},
	} {
		fmt.Fprintf(w, "# HELP %s\n# TYPE %s gauge\n", family.name, family.name)
		for i := 0; list != nil && i < len(list.Others); i++ {
			if other := &list.Others[i]; other.Further != nil {
				fmt.Fprintf(w, "%s{number=\"%d\"} %d\n", family.name, other.Further.Number, family.value(other))
			}
		}
	}
}

// NewRetro makes the duty that screens past payments against activated lists.
func (b *Room) NewRetro(cluster retrace.Cluster) *retrace.Retro {
	records := b.deps.Records
	retro := retrace.NewRetro(cluster, records.Audit(), records.Leaf, b.deps.Judges.Retracing(), b.deps.Logger)
	retro.SetMakeWay(b.deps.MakeWay)
	return retro
}

func policyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/policy", Handle: getPolicy},
		{Method: http.MethodPut, Path: "/v1/policy", Body: border.BodyRaw, Handle: putPolicy},
		{Method: http.MethodGet, Path: "/v1/policy/versions", Handle: listPolicies},
		{Method: http.MethodPost, Path: "/v1/policy/validate", Body: border.BodyRaw, Handle: validatePolicy},
	}
}

func (b *Room) listRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/lists", Handle: b.getListStatus},
		{Method: http.MethodPost, Path: "/v1/lists/{id}/entries", Stream: true, Handle: b.changeEntries},
		{Method: http.MethodGet, Path: "/v1/ofac", Handle: b.getLists},
		{Method: http.MethodPost, Path: "/v1/ofac/sync", Handle: b.syncLists},
		{Method: http.MethodGet, Path: "/v1/ofac/{id}", Handle: b.getList},
		{Method: http.MethodGet, Path: "/v1/ofac/{id}/diff", Handle: b.diffLists},
		{Method: http.MethodGet, Path: "/v1/ofac/{id}/entities", Stream: true, Handle: b.listEntities},
		{Method: http.MethodPost, Path: "/v1/ofac/{id}/activate", Handle: b.activateList},
		{Method: http.MethodPost, Path: "/v1/ofac/{id}/rollback", Stream: true, Handle: b.rollbackList},
		{Method: http.MethodPost, Path: "/v1/ofac/rollback", Stream: true, Handle: b.rollbackList},
	}
}

func (b *Room) matchRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/match", Handle: b.matchName},
		{Method: http.MethodPost, Path: "/v1/match", Handle: border.AskByBody(b.matchName)},
		{Method: http.MethodGet, Path: "/v1/cleared", Handle: listCleared},
		{Method: http.MethodPost, Path: "/v1/cleared", Handle: clearPair},
		{Method: http.MethodDelete, Path: "/v1/cleared/{id}", Handle: removeCleared},
	}
}

// uploadRoutes are served on the admin listener: an uploaded list is larger than the public
// API allows.
func (b *Room) uploadRoutes() []border.Route {
	return []border.Route{
		{
			Method: http.MethodPost, Path: "/v1/ofac/snapshots", Scope: border.ScopeInstitution, Roles: wire.RolePolicy, Body: border.BodyRaw, Max: engine.ListUploadMax,
			Stream: true, Handle: b.uploadList,
		},
		{Method: http.MethodPost, Path: "/v1/ofac/{id}/activate", Handle: b.activateList},
	}
}

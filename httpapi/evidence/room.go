package evidence

import (
	"context"
	"log/slog"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
	"railguard/httpapi/cosigning"
	"railguard/seal"
	"railguard/strictjson"
	"railguard/webhooks"
)

// Deps is what the room needs from the rest of the program.
type Deps struct {
	Published border.Published
	Records   border.Records
	Secrets   *seal.Secrets
	Judges    *edge.Judges
	Logger    *slog.Logger
	Leads     func() bool      // Whether this node leads.
	Tellers   CosignedTellers  // nil: cosignatures are not shared between nodes.
	Webhooks  *webhooks.Sender // nil: this node sends none.

	Witnesses      []cosigning.Witness // They cosign checkpoints while this node leads.
	LogPolicy      *cosigning.Policy   // If set, cosigned checkpoints meet its quorum.
	WitnessEvery   time.Duration       // Shortest time between two rounds; 0: cosigning.EveryMin.
	WitnessTimeout time.Duration       // Longest wait for one witness; 0: cosigning.DefaultTimeout.
}

// CosignedTellers carries the witnesses' cosignatures between nodes.
type CosignedTellers interface {
	TellCosigned(cosigned report.Cosigned) // The value is offered to the other nodes until the next call.
	OthersCosigned() []report.Cosigned     // Returns the latest value of each other node that answers.
}

// Room is the state that evidence calls share: the signed and cosigned checkpoints, and the
// reader of webhook events.
type Room struct {
	deps     Deps
	signed   checkpoints
	cosigned cosignedPoints
	Hooked   *webhooks.Reader
}

// Open makes the room.
func Open(deps Deps) *Room {
	e := &Room{deps: deps}
	e.Hooked = webhooks.NewReader(struct {
		border.Published
		border.Records
	}{deps.Published, deps.Records}, deps.Judges)
	e.makeAsker()
	return e
}

// Table returns what the room gives the border.
func (e *Room) Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(e.auditRoutes(), e.logRoutes(), eventRoutes(), e.webhookRoutes()), Admin: logKeyRoutes(), Bodies: map[string]strictjson.Shape{"POST /admin/log-key/rotate": strictjson.Names("reason", "actor")},
		Renderers: map[string]border.Renderer{leaf.KindWebhook: renderWebhook},
	}
}

// RegisterGauges registers the gauges of the log and its witnesses.
func (e *Room) RegisterGauges(set *metrics.Set) {
	set.NewGauge("railguard_log_witnesses", func() float64 { return float64(len(e.deps.Witnesses)) })
	set.NewGauge("railguard_log_cosignatures", func() float64 {
		if cosigned, err := e.newestCosigned(context.Background()); err == nil && cosigned != nil {
			return float64(len(cosigned.names))
		}
		return 0
	})
	set.NewGauge("railguard_log_cosigned_age_seconds", func() float64 { return e.cosignedAge(context.Background()) })
	set.NewGauge("railguard_log_quorum_met", func() float64 { met, _ := e.quorumGauges(context.Background()); return met })
	set.NewGauge("railguard_log_quorum_age_seconds", func() float64 { _, age := e.quorumGauges(context.Background()); return age })
	set.NewGauge("railguard_log_tree_size", func() float64 { return float64(e.treeSize()) })
}

var witnessCosigned = metrics.NewCounter(`railguard_log_witness_answers_total{outcome="cosigned"}`)

var witnessFailed = metrics.NewCounter(`railguard_log_witness_answers_total{outcome="failed"}`)

// countWitness counts one witness's answer, or missing answer.
func countWitness(cosigned bool) {
	if cosigned {
		witnessCosigned.Inc()
		return
	}
	witnessFailed.Inc()
}

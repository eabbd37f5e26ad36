package reconciliation

import (
	"context"
	"fmt"
	"time"

	"railguard/audit/reconcile"
	"railguard/edge"
	"railguard/fsm/wire"
)

// Bounds of the alerts about one comparison. The summary counts all faults, and the findings name
// them.
const (
	alertsMax      = 1000
	alertsAtOnce   = 100              // Records proposed together, so that screening calls fit between.
	alertsPatience = 30 * time.Second // How long the log may refuse to take one.
	alertsPause    = 200 * time.Millisecond
)

// openAlerts opens an alert for each of the first faults of a comparison that the log holds. What
// the log does not take is proposed again: an alert that is there already is not opened twice. It
// returns what an officer must know if some could not be opened.
func (r *Room) openAlerts(ctx context.Context, j *job, result *reconcile.Result) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, alertsPatience)
	defer cancel()
	var left [][]byte
	for _, fault := range result.FirstFaults(alertsMax) {
		left = append(left, wire.Encode(edge.ReconciliationAlert(&edge.ReconciledFault{
			ReconciliationID: j.ID, Rail: j.order.settings.Rail, Class: fault.Class, Settlement: fault.Settlement, TxnIDs: fault.TxnIDs,
			Gap: fault.Gap, Statement: fault.Statement, Hash: fault.Hash(&j.order.settings),
		})))
	}
	for len(left) > 0 {
		some := left[:min(len(left), alertsAtOnce)]
		failed, err := r.proposeAlerts(ctx, j, some)
		left = append(failed, left[len(some):]...)
		if len(failed) == 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Sprintf("the log did not take the alerts of %d faults (%v): run it again", len(left), err)
		case <-time.After(alertsPause):
		}
	}
	return ""
}

// proposeAlerts proposes alerts, and returns those that the log did not take, and why.
func (r *Room) proposeAlerts(ctx context.Context, j *job, bodies [][]byte) (failed [][]byte, why error) {
	results, errs := r.deps.Proposer.ProposeMany(ctx, wire.KindAlert, bodies)
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for i, body := range bodies {
		switch {
		case errs[i] != nil:
			failed, why = append(failed, body), errs[i]
		case results[i].Code == wire.Applied:
			j.alerts.opened++
		case results[i].Code == wire.Unchanged:
			j.alerts.known++
		default:
			failed, why = append(failed, body), fmt.Errorf("code %d, refusal %d", results[i].Code, results[i].Refusal)
		}
	}
	return failed, why
}

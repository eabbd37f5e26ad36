// Package schedule runs the cluster's own backups.
//
// Purpose: on the node that leads, copies, tails and rehearsals as the replicated schedule says
// (docs/decisions/0166, 0167); what became of them, told to the log, to metrics and to the node's log.
//
// May import: VictoriaMetrics/metrics, backup, datadir, audit, engine, fsm, fsm/wire. Never: cluster, HTTP. It
// decides nothing about payments and serves nobody.
package schedule

// Package reconciliation is the part of the API that compares a rail's extract with the log.
//
// Purpose: takes an extract (POST /v1/reconciliations on the admin listener), compares it in the
// background with the records of a time (audit/reconcile), and shows what was found. The bytes of
// summary and findings are those of `railguard reconcile` with an export of the same time.
//
//	room.go     routes, and the jobs that this node remembers
//	ask.go      what a caller asks for
//	job.go      one comparison
//	alerts.go   an alert for each fault that it found
//	last.go     the last comparison of each rail, for metrics and warnings
//
// May import: audit, audit/reconcile, audit/reconcile/formats, cluster/timing, engine, fsm/leaf, fsm/wire, httpapi/border, httpapi/x402, strictjson.
// Never: write to the log but that a comparison ended, and its alerts.
package reconciliation

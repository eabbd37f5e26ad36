// Package httpapi is HTTP in, HTTP out.
//
// Purpose: bytes to requests and back; API keys, roles, limits, errors, the
// token cache, JWKS; judging what cannot change (static rules) and proposing
// records to the log; rendering answers from audit leaves by role.
//
// May import: engine, engine/credential, ofac, fsm (View, Settings), fsm/wire,
// audit, audit/note, cluster/report, ofac/judge, fastjson, VictoriaMetrics/metrics, golang.org/x/time/rate.
// Never: raft, the rest of cluster, bbolt, fsm.Machine.
package httpapi

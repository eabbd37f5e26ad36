// Package httpapi is HTTP in, HTTP out.
//
// Purpose: bytes to calls and back; API keys, roles, rates, deadlines, idempotency;
// handing calls to the edge and their records to the log; rendering answers from
// audit leaves by role; the status that each code of a refusal has.
//
// Map: api.go is the listeners and the route tables, call.go one call on its way,
// keys.go who calls, errors.go and answer.go what is answered, propose.go
// the way into the log, record.go answers from leaves, batch.go many payments at once; the other files
// are the endpoints, a noun each.
//
// May import: edge, strictjson, seal, engine, engine/credential, ofac, ofac/judge, fsm
// (View, Settings), fsm/wire, audit, audit/note, cluster/report; fastjson,
// VictoriaMetrics/metrics, golang.org/x/time/rate.
// Never: raft, the rest of cluster, bbolt, fsm.Machine.
package httpapi

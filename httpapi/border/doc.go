// Package border is where calls come in and go out.
//
// Purpose: bytes to calls and back; API keys, roles, rates, lanes, deadlines, idempotency;
// the way of a record into the log; the status that each code of a refusal has; what a
// caller may see of a record. A handler of a room is func(*Request) (Answer, error): it
// reads the Request, and the border writes the Answer.
//
// Map: border.go is the routes and the listeners' state, listener.go finds the route, call.go
// is one call on its way, request.go what a handler sees, keys.go who calls, scope.go what
// calls cost, errors.go and answer.go what is answered, propose.go the way into the log,
// record.go answers from leaves, server.go the connections.
//
// May import: edge, strictjson, seal, engine, ofac, fsm (View, Settings), fsm/leafjson, fsm/wire, audit,
// cluster/report, cluster/timing, httpapi/description, httpapi/guest, httpapi/lanes;
// VictoriaMetrics/metrics, golang.org/x/time/rate.
// Never: a room of the API, raft, the rest of cluster, fsm.Machine.
package border

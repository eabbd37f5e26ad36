// Package edge judges what cannot change: a signed token, a request, one version
// of the list and of the policy. It makes the record that the log judges the rest of.
//
// Purpose: Judges is what one node judges with, Judge judges one Call after another
// in the same working space and gives a record (wire.Screen, wire.Register, ...) or a
// Refusal. Whoever has calls to judge comes through here: HTTP, a batch, a test bench.
//
// Map: judge.go holds Judges and Judge, terms.go what is made of the replicated settings,
// tokencache.go and credential.go tokens in and out. request.go reads a screening call,
// screen.go gathers its facts, record.go writes its record, cleared.go and match.go ask
// about names, payments.go is about holds and references. ladder.go, replay.go and
// recheck.go judge again, leaf.go reads what was judged, and caller.go says who may read
// it. registration.go, delegation.go, renewal.go and user.go make the records of who may
// act, with settings_input.go and whitelist_input.go; profiles.go looks parties up.
//
// May import: edge/retrace, edge/turns, engine, engine/credential, ofac, ofac/wallet, fsm (View, Settings, IDs),
// fsm/wire, fsm/leaf, fsm/leafjson, audit (its errors), strictjson, seal; fastjson,
// VictoriaMetrics/metrics.
// Never: net/http, header names, status codes; httpapi, cluster.
package edge

// Package rulebook builds the records that change what payments are judged by: the policy, the
// active sanctions list, pairs that were cleared, runs of retro-screening, the versions of
// matcher and format, and the test clock.
//
// Purpose: for each change a type or function that builds its record, or refuses it.
//
// Map: policy.go, lists.go, cleared.go, and versions.go for what all nodes change together.
//
// May import: edge, engine, ofac, ofac/judge, fsm/wire, strictjson. Never: net/http, httpapi, cluster.
package rulebook

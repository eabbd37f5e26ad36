// Package recorded judges one recorded call again, from its own evidence: the request, the
// profiles and the counters that its judges saw. It is the one way of doing so: replay,
// backtests, shadows (edge/retrace) and the examiner's two judges (audit/bundle) are its
// callers. It is a room of its own so that a browser can run it: no store, no state, no clock.
//
// May import: engine, ofac, fsm/leaf, fsm/leafjson.
// Never: audit, fsm, anything with a goroutine.
package recorded

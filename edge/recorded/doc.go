// Package recorded judges one recorded call again, from its own evidence: the request, the
// profiles and the counters that its judges saw. It is the one way of doing so: replay,
// backtests, shadows (edge/retrace) and the examiner's two judges (audit/bundle) are its
// callers. Of a payment that was confirmed or redeemed it judges the judgement in that leaf, and
// whether the leaf, the judgement and the payment's own record say the same. It is a room of its own so that a browser can run it: no store, no state, no clock.
//
// May import: engine, ofac, fsm/leaf, fsm/leafjson.
// Never: audit, fsm, anything with a goroutine.
package recorded

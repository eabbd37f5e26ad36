// Package turns gives a node's processors to the owners of calls in turns.
//
// Purpose: judging is the dearest work that a caller can cause, and one name may cost a
// hundred times as much as another. Whoever sends many dear names waits behind itself: of
// the owners that wait, the one that had the least work done comes next.
//
// May import: nothing of the house.
// Never: knows what is judged, or waits without a context.
package turns

// Package lanes bounds how much of a node one caller may have at once: turns that
// are handed out fairly among keys, and a rate for every address that shows no key.
//
// May import: nothing of the house.
// Never: knows HTTP, waits without a context, or holds more than its bounds.
package lanes

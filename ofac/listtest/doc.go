// Package listtest writes small sanctions lists in the format of the published files.
//
// Purpose: tests and benches give a server a list of their own. No published list is copied.
//
// May import: the standard library, ofac/list, testify.
// Never: production code imports it.
package listtest

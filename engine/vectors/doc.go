// Package vectors finds published vectors, against which others' libraries were held, for tests.
//
// Purpose: they stand beside the project, not in it; a test without them is skipped.
//
// May import: the standard library, testify. Never: production code imports it.
package vectors

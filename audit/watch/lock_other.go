//go:build !unix

package watch

import "os"

// lockFile does nothing: this system has no such lock, so the operator must make sure that a
// folder has one watcher.
func lockFile(*os.File) error { return nil }

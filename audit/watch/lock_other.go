//go:build !unix

package watch

import "os"

// lockFile does nothing: this system has no such lock, and the operator must see to it that a
// folder has one watcher.
func lockFile(*os.File) error { return nil }

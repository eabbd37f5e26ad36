//go:build !unix

package watch

import "os"

// lockFile: this system gives no lock; one watcher a folder is the operator's care.
func lockFile(*os.File) error { return nil }

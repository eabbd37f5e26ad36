//go:build !unix

package chaos

import "errors"

// freeBytes always fails: on this system the package cannot read how many bytes are free.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }

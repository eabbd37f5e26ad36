//go:build !unix

package conformance

import "errors"

const canPause = false

func pauseProcess(int, bool) error { return errors.ErrUnsupported }

package report

import "errors"

// ErrNotWaiting: an admin admits a node that does not ask to join.
var ErrNotWaiting = errors.New("cluster: no node of this id asks to join: start it with --join, and admit it while it waits")

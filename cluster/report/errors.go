package report

import "errors"

// ErrNotWaiting: an admin admits a node that does not ask to join.
var ErrNotWaiting = errors.New("cluster: no node of this id asks to join: start it with --join, and admit it while it waits")

// ErrOtherKey: an admin admits a node by its key, and the node that asks has another one.
var ErrOtherKey = errors.New("cluster: the node that asks to join has another key than the one given: compare it with what the node itself says, and find out who asks")

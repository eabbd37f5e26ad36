package operations

import (
	"time"

	"railguard/engine"
)

const drainWait = 10 * time.Second

const drainGraceMax = 10 * engine.Minute

const drainPoll = 20 * time.Millisecond

const operationTimeout = 10 * time.Second // Time limit of a cluster verb.

package evidence

import (
	"time"
)

// Events.
const watchWaitMax = 30 * time.Second

const watchPoll = 50 * time.Millisecond // How soon what is new is seen.

const watchStep = 512 // Leaves looked at in one turn.

const watchStepsMax = 8 // Turns of one call that does not wait.

const eventsOfStep = 100

const streamLife = 10 * time.Minute // Then its caller comes again, to this node or another.

const streamSilence = 10 * time.Second // A sign of life, and where the reader stands.

const streamRetryMax = 1000 // Milliseconds until it comes again, as it is told.

const exportPageMax = 512 // Leaves between two flushes of an export.

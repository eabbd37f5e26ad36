package evidence

import (
	"time"
)

// Longest wait for events.
const watchWaitMax = 30 * time.Second

const watchPoll = 50 * time.Millisecond // How often to look for new events.

const watchStep = 512 // How many leaves one turn looks at.

const watchStepsMax = 8 // How many turns a call takes that does not wait.

const eventsOfStep = 100

const streamLife = 10 * time.Minute // The stream ends, and its caller reconnects to this node or another.

const streamSilence = 10 * time.Second // After this silence the stream sends a keep-alive with the reader's place.

const streamRetryMax = 1000 // Milliseconds until a reader should reconnect, at most.

const exportPageMax = 512 // Leaves between two flushes of an export.

const laterMax = 256 // Leaves about a record in one proof.

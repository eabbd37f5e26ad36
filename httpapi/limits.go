package httpapi

import (
	"time"

	"railguard/engine"
)

// Bounds of the HTTP border alone; what the whole service is bound by stands in
// engine/limits.go.
const (
	// Server. Measured for net/http: the read-header timeout ends a slow-loris,
	// the read timeout a slow body.
	readHeaderTimeout = 3 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 60 * time.Second
	pingAfter         = 10 * time.Second // Of silence: after 3 s, 2,000 idle callers cost 90 ms of CPU a second.
	pingTimeout       = 10 * time.Second // A ping of HTTP/2: longer than a caller without a processor is silent.
	chunkWriteTimeout = 10 * time.Second // One piece of a streamed answer.
	connectionsMax    = 16_384
	headerBytesHard   = 32 << 10
	lingerTime        = 2 * time.Second // For the rest of a body that was answered before its end,
	lingerBytes       = 8 << 20         // and how much of it.
	streamsMax        = 100             // HTTP/2 streams of one connection.

	// Calls.
	requestIDMax     = 128
	parameterNameMax = 64
	inFlightMax      = 16_384   // Ordinary calls at once; reviews, health and cluster verbs are not counted.
	pageRoomKept     = 4 << 20  // The room of a larger page is not kept for the next.
	bodyBufferKept   = 64 << 10 // A larger buffer is not kept for the next call.
	batchBodyKept    = 512 << 10
	batchBytesMax    = 256 << 20 // Bodies of batches at once.
	drainWait        = 10 * time.Second
	drainGraceMax    = 10 * engine.Minute
	drainPoll        = 20 * time.Millisecond
	operationTimeout = 10 * time.Second // A cluster verb.

	// Rates (decision 55). The burst of registrations is ours: wide enough for
	// a program that sets up its agents, far below what a flood needs.
	rateDefault       = 10_000
	burstFactor       = 2
	registrationRate  = 50
	registrationBurst = 500

	// Lanes (decision 55).
	laneWaitingMax  = 64 // Calls that wait for a turn or place in one lane.
	scansOfOneKey   = 8  // Running and waiting.
	streamPlaces    = 8  // Exports, snapshots, changes of lists at once.
	streamsOfOneKey = 2
	watchPlaces     = 256 // Readers of events and waiters for dispositions at once.
	watchesOfOneKey = 32
	scanStep        = 1024 // Leaves or cases looked at between two turns.
	keylessRate     = 2000 // Calls a second without a key from one address.
	addressesKnown  = 65_536

	// Log lines about refused calls, a second and at once.
	refusalLines      = 20
	refusalLinesBurst = 200

	// Events.
	watchWaitMax   = 30 * time.Second
	watchPoll      = 50 * time.Millisecond // How soon what is new is seen.
	watchStep      = 512                   // Leaves looked at in one turn.
	watchStepsMax  = 8                     // Turns of one call that does not wait.
	eventsOfStep   = 100
	streamLife     = 10 * time.Minute // Then its caller comes again, to this node or another.
	streamSilence  = 10 * time.Second // A sign of life, and where the reader stands.
	streamRetryMax = 1000             // Milliseconds until it comes again, as it is told.

	// Audit.
	leafScanMax     = 4096 // Leaves one list call looks at.
	exportPageMax   = 512  // Leaves between two flushes of an export.
	queueNextMax    = 64   // Candidates one "next" offers to the log.
	similarCountMax = 65_536
)

// queueScanMax is how many cases of the queue one call looks at for what only leaves
// know. A variable for tests alone.
var queueScanMax = 65_536

package border

import (
	"time"
)

// Bounds of the HTTP border alone; what the whole service is bound by stands in
// engine/limits.go.
const (
	// Server. Measured for net/http: the read-header timeout ends a slow-loris,
	// the read timeout a slow body.
	ReadHeaderTimeout = 3 * time.Second
	ReadTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 60 * time.Second
	pingAfter         = 10 * time.Second // Of silence: after 3 s, 2,000 idle callers cost 90 ms of CPU a second.
	pingTimeout       = 10 * time.Second // A ping of HTTP/2: longer than a caller without a processor is silent.
	chunkWriteTimeout = 10 * time.Second // One piece of a streamed answer.
	connectionsMax    = 16_384
	HeaderBytesHard   = 32 << 10
	lingerTime        = 2 * time.Second // For the rest of a body that was answered before its end,
	lingerBytes       = 8 << 20         // and how much of it.
	streamsMax        = 100             // HTTP/2 streams of one connection.

	// Calls.
	RequestIDMax     = 128
	parameterNameMax = 64
	InFlightMax      = 16_384   // Ordinary calls at once; reviews, health and cluster verbs are not counted.
	pageRoomKept     = 4 << 20  // The room of a larger page is not kept for the next.
	bodyBufferKept   = 64 << 10 // A larger buffer is not kept for the next call.
	BatchBodyKept    = 512 << 10
	BatchBytesMax    = 256 << 20 // Bodies of batches at once.

	// Rates (decision 55). The burst of registrations is ours: wide enough for
	// a program that sets up its agents, far below what a flood needs.
	BurstFactor       = 2
	registrationRate  = 50
	RegistrationBurst = 500

	// Lanes (decision 55).
	laneWaitingMax  = 64 // Calls that wait for a turn or place in one lane.
	scansOfOneKey   = 8  // Running and waiting.
	streamPlaces    = 8  // Exports, snapshots, changes of lists at once.
	StreamsOfOneKey = 2
	watchPlaces     = 256 // Readers of events and waiters for dispositions at once.
	WatchesOfOneKey = 32
	ScanStep        = 1024 // Leaves or cases looked at between two turns.
	keylessRate     = 2000 // Calls a second without a key from one address.
	addressesKnown  = 65_536

	// Log lines about refused calls, a second and at once.
	refusalLines      = 20
	refusalLinesBurst = 200

	// Audit.
	LeafScanMax = 4096 // Leaves one list call looks at.

)

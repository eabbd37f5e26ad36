package border

import (
	"time"
)

// Bounds of the HTTP border alone. The bounds of the whole service are in engine/limits.go.
const (
	// Server timeouts, measured with net/http: the read-header timeout ends a slow-loris,
	// the read timeout a slow body.
	ReadHeaderTimeout = 3 * time.Second
	ReadTimeout       = 10 * time.Second
	writeTimeout      = 15 * time.Second
	idleTimeout       = 60 * time.Second
	pingAfter         = 10 * time.Second // Of silence. At 3 s, 2,000 idle callers cost 90 ms of CPU a second.
	pingTimeout       = 10 * time.Second // Of an HTTP/2 ping: longer than a caller without a processor stays silent.
	chunkWriteTimeout = 10 * time.Second // For one piece of a streamed answer.
	connectionsMax    = 16_384
	HeaderBytesHard   = 32 << 10
	lingerTime        = 2 * time.Second // Draining a body that was answered before its end: longest time,
	lingerBytes       = 8 << 20         // and most bytes.
	streamsMax        = 100             // HTTP/2 streams of one connection.

	// Calls.
	RequestIDMax     = 128
	parameterNameMax = 64
	InFlightMax      = 16_384   // Ordinary calls at once; reviews, health and cluster verbs are not counted.
	pageRoomKept     = 4 << 20  // A page with a larger buffer does not keep it.
	bodyBufferKept   = 64 << 10 // A larger buffer is not kept for the next call.
	BatchBodyKept    = 512 << 10
	BatchBytesMax    = 256 << 20 // Memory of all batch bodies at once.

	// Rates (decision 55). We chose the burst of registrations: wide enough for a program
	// that sets up its agents, far below what a flood needs.
	BurstFactor       = 2
	registrationRate  = 50
	RegistrationBurst = 500

	// Lanes (decision 55).
	laneWaitingMax  = 64 // Calls that wait for a turn or place in one lane.
	scansOfOneKey   = 8  // Of one key, running and waiting.
	streamPlaces    = 8  // Exports, snapshots and changes of lists at once.
	StreamsOfOneKey = 2
	watchPlaces     = 256 // Readers of events and waiters for dispositions at once.
	WatchesOfOneKey = 32
	ScanStep        = 1024 // Leaves or cases looked at between two turns.
	keylessRate     = 2000 // Calls a second without a key from one address.
	addressesKnown  = 65_536

	// Log lines about refused calls: per second, and as a burst.
	refusalLines      = 20
	refusalLinesBurst = 200

	// Audit.
	LeafScanMax = 4096 // Leaves one list call looks at.

)

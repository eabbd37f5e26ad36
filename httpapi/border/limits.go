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
	pingAfter         = 10 * time.Second // A ping is sent after so long without a frame. With 3 s, 2,000 idle callers would cost 90 ms of CPU a second.
	pingTimeout       = 10 * time.Second // How long the answer to an HTTP/2 ping may take. A caller whose machine is busy must be able to answer in this time.
	chunkWriteTimeout = 10 * time.Second // For one piece of a streamed answer.
	streamKeyEvery    = time.Second      // How often a streamed answer looks whether its key is still good.
	connectionsMax    = 16_384
	HeaderBytesHard   = 32 << 10
	lingerTime        = 2 * time.Second // If a call is answered before its body has arrived: the longest time for reading the rest of the body.
	lingerBytes       = 8 << 20         // If a call is answered before its body has arrived: the most bytes to read of the rest.
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
	laneWaitingMax   = 64 // Calls that wait for a turn or place in one lane.
	scansOfOneKey    = 8  // Scans of one key, running and waiting.
	streamPlaces     = 8  // Exports, snapshots and changes of lists at once.
	StreamsOfOneKey  = 2
	watchPlaces      = 256 // Readers of events and waiters for dispositions at once.
	WatchesOfOneKey  = 32
	duplexPlaces     = 256 // Streams of payments at once.
	DuplexesOfOneKey = 64
	paceMax          = 30 * time.Second // The longest time that a part of a stream waits for the rate of its key.
	duplexBytes      = 1 << 20          // Memory that a stream of payments may need; it counts among the bodies of batches.
	ScanStep         = 1024             // Leaves or cases looked at between two turns.
	keylessRate      = 2000             // Calls a second without a key from one address.
	addressesKnown   = 65_536
	wrongKeyRate     = 1   // Calls a second with a wrong key from one address,
	wrongKeyBurst    = 100 // after so many at once.

	// Log lines about refused calls: how many a second, and how many at once.
	refusalLines      = 20
	refusalLinesBurst = 200

	// Audit.
	LeafScanMax = 4096 // Leaves one list call looks at.

)

package casework

const queueNextMax = 64 // Candidates that one "next" call offers to the log.

const similarCountMax = 65_536

// QueueScanMax is how many cases one call examines when only their leaves can answer it. It
// is a variable for tests alone.
var QueueScanMax = 65_536

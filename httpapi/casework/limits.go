package casework

const queueNextMax = 64 // Candidates one "next" offers to the log.

const similarCountMax = 65_536

// QueueScanMax is how many cases of the queue one call looks at for what only leaves
// know. A variable for tests alone.
var QueueScanMax = 65_536

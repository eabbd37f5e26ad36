package chaos

import "time"

// Bounds of a run. Every wait of this package has one.
const (
	readyPatience  = 90 * time.Second // For a node to become ready after it was started.
	settlePatience = 60 * time.Second // For the cluster after the last fault was mended, until all nodes are in step and calls succeed.
	callPatience   = 30 * time.Second // For one operation of a client with all its retries.
	answerPatience = 4 * time.Second  // For one exchange. The service promises an answer in 2 s.
	readPatience   = 60 * time.Second // For a whole export.
	resolveTries   = 40               // Retries, after all faults were mended, of a call whose outcome is not known.
	pollEvery      = 25 * time.Millisecond
	observeEvery   = 250 * time.Millisecond
	retryPause     = 20 * time.Millisecond

	answerBytesMax  = 4 << 20
	exportBytesMax  = 1 << 30
	leafBytesMax    = 4 << 20 // Size of one line of an export.
	violationsKept  = 20
	spawnTries      = 3
	accountsMax     = 16               // Agents of one group. The state of the model is an array of so many.
	reviewsKept     = 64               // Open reviews of a group that clients pick from.
	porcupineBudget = 15 * time.Second // Time for Porcupine to check a history. If it is not enough, the replay of the log still checks it, and that always ends.
	porcupineLong   = 2 * time.Minute
	blameBudget     = 5 * time.Second
)

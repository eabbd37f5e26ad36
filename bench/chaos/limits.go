package chaos

import "time"

// Bounds of a run. Nothing here waits for ever.
const (
	readyPatience  = 90 * time.Second // A node that starts, or comes back.
	settlePatience = 60 * time.Second // After the last heal: all nodes in step, calls succeed.
	callPatience   = 30 * time.Second // One operation of a client with all its retries.
	answerPatience = 4 * time.Second  // One exchange; the service promises an answer in 2 s.
	readPatience   = 60 * time.Second // A whole export.
	resolveTries   = 40               // Retries of a call whose outcome is not known, after healing.
	pollEvery      = 25 * time.Millisecond
	observeEvery   = 250 * time.Millisecond
	retryPause     = 20 * time.Millisecond

	answerBytesMax  = 4 << 20
	exportBytesMax  = 1 << 30
	leafBytesMax    = 4 << 20 // One line of an export.
	violationsKept  = 20
	spawnTries      = 3
	accountsMax     = 16               // Agents of one group: the model's state is an array.
	reviewsKept     = 64               // Open reviews of a group that clients pick from.
	porcupineBudget = 15 * time.Second // The replay of the log decides too, and always comes to an end.
	porcupineLong   = 2 * time.Minute
	blameBudget     = 5 * time.Second
)

package conformance

import (
	"context"
	"net/http"
	"time"
)

// Bounds of the suite itself.
const (
	answerBytesMax   = 32 << 20         // A longer answer is cut and will not parse.
	callTimeout      = 15 * time.Second // Time limit of one request with its answer.
	checkTimeout     = 4 * time.Minute  // Time limit of one check.
	rateLimitRetries = 40               // How often one call is retried after a 429.
	rateLimitWaitMax = 2 * time.Second  // The longest wait for one of them.
	healMax          = 30 * time.Second // The longest time until a group whose nodes are back gives verdicts again.
	quorumLossMax    = 10 * time.Second // The longest time until a node notices that its group has no quorum.
	failuresMax      = 8                // Failure lines kept of one check.
	exchangeCharsMax = 900              // Characters of an answer shown in a failure.
	sentCharsMax     = 300              // Characters of a request shown in a failure.
	distinctDefault  = 20_000           // Calls of T043 unless Config says otherwise.
	parallelDefault  = 32               // Connections of the parallel checks.
	ledgerMax        = 40               // Violations of one standing law that are kept.
	tokensMax        = 256              // Tokens remembered for the log scan.
	presentMax       = time.Minute      // The largest permitted difference between the target's clock and the examiner's.
	pagesMax         = 4000             // Pages of one list that a check follows.
	spreadMax        = 2 * time.Second  // The longest a write may take to be known on every node (statement C01: one second).
)

// Config says what to examine and what the examiner may do to it.
type Config struct {
	BaseURLs []string // One API address per node; statements about several nodes need two.
	APIKey   string   // A key that may do everything.
	AdminURL string   // Address of the admin listener; empty when there is none.

	OnlySpec bool     // Leave out statements that are our rulings (source "us").
	IDs      []string // Run only checks whose ID has one of these prefixes; empty runs all.
	Strict   bool     // A ruled endpoint that the target lacks is a failure, not a skip.

	AllowTestClock  bool // The clock of the target may be moved forward by months.
	AllowListSwitch bool // Sanctions lists may be uploaded, activated and rolled back.
	MeasureLatency  bool // Judge the 50 ms target; leave off on a loaded machine.
	Slow            bool // Run probes that wait for time-outs.
	EgressCut       bool // The harness vouches that the target cannot reach any other network.

	ListedWallet     string // An EVM address on the active list; empty tries well-known ones.
	ListedIndividual string // A listed person as "LAST, First"; empty tries well-known ones.
	ListedCompany    string // A listed organisation of two words or more; empty tries well-known ones.

	LogFiles    []string                    // Logs of the target, scanned for tokens and names.
	Version     string                      // The version that the target's binary prints.
	NoQuorumURL string                      // A node of another group, one that lost its quorum.
	LoseQuorum  QuorumLoss                  // Makes the target itself lose its quorum for a while.
	Restart     func(context.Context) error // Stops and starts the target on the same data.

	DistinctCalls int          // Screening calls of T043.
	Parallel      int          // Connections of the parallel checks.
	Client        *http.Client // Nil makes one.
}

// QuorumLoss makes the target lose its quorum. It returns the address of a node that still
// answers, and a function that gives the quorum back.
type QuorumLoss func(context.Context) (url string, restore func() error, err error)

// Outcome is the end of a check.
type Outcome string

// The three ends a check can have.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Skipped Outcome = "skipped"
)

// Result is the result of one check. It can be printed, because secrets are redacted.
type Result struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Source   Source        `json:"source"`
	Outcome  Outcome       `json:"outcome"`
	Reason   string        `json:"reason,omitempty"`
	Duration time.Duration `json:"durationNs"`
}

// Summary counts the results of a run, and has them in the order in which the checks ran.
type Summary struct {
	Pass    int      `json:"pass"`
	Fail    int      `json:"fail"`
	Skipped int      `json:"skipped"`
	Results []Result `json:"results"`
}

func (s *Summary) add(r Result) {
	switch r.Outcome {
	case Pass:
		s.Pass++
	case Fail:
		s.Fail++
	case Skipped:
		s.Skipped++
	}
	s.Results = append(s.Results, r)
}

// OK tells whether no check failed and at least one passed.
func (s Summary) OK() bool { return s.Fail == 0 && s.Pass > 0 }

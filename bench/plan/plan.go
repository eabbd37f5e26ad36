package plan

import (
	"errors"
	"fmt"
	"math"
)

// Load is what the cluster must carry.
type Load struct {
	Rate     float64 // Verdicts a second in the busiest hour.
	Mean     float64 // Verdicts a second over the whole day; 0: as Rate.
	Days     float64 // How long history is kept.
	Years    float64 // For how long the cluster is planned: hashes are kept for ever.
	Agents   float64
	Keyed    float64 // Part of the calls with an Idempotency-Key.
	Failures int     // Nodes that may be gone at once.
	Reserve  float64 // Part of a processor that stays free in the busiest hour, with Failures nodes gone.
}

// Costs that were measured on two cores (AMD EPYC); each names its source.
const (
	onceMicros  = 72.0   // CPU of the node that is called, a verdict, saturated: scale.md, "What a verdict costs".
	eachMicros  = 9.0    // CPU of every node, a verdict, saturated: the same.
	leafBytes   = 199.0  // A leaf on disk, sealed, with filters: scale.md, over 5 million.
	hashBytes   = 32.0   // A leaf's hash, for ever.
	entryBytes  = 390.0  // A record in the raft log: scale.md.
	writeBytes  = 1120.0 // To disk, a verdict and node, log and history together: PERFORMANCE.md, "The table".
	framing     = 1.5    // What frames, acknowledgements and heartbeats add on the wire: an allowance.
	agentBytes  = 700.0  // Heap of an agent that screens: PERFORMANCE.md.
	snapBytes   = 423.0  // An agent in a snapshot: PERFORMANCE.md.
	baseMemory  = 1e9    // A node with full lists and without agents: OPERATING.md.
	baseDisk    = 3e9    // Log, lists and files: OPERATING.md.
	keyBytes    = 18.0   // A keyed call, for 24 hours: OPERATING.md, "Limits".
	fetchLeaves = 55_000.0
	applyMicros = 3.7 // One goroutine applies: scale.md.
	snapshots   = 3
	diskFree    = 0.2 // Below this the node warns.
)

// lowRates are measured costs of verdicts that share no entry: all three nodes together, by verdicts a second
// (PERFORMANCE.md, "The table"). Between them the cost is interpolated.
var lowRates = []struct{ rate, micros float64 }{{100, 2440}, {1000, 1000}, {13_828, 114}}

// Need is what each node needs.
type Need struct {
	Nodes         int
	Cores         int
	CPU           float64 // Processors busy at Load.Rate on each of the nodes that are left.
	MemoryBytes   float64
	DiskBytes     float64 // After Load.Years, with a fifth free.
	HistoryBytes  float64
	HashBytes     float64
	KeyBytes      float64
	SnapshotBytes float64
	LeaderOut     float64 // Bits a second that the leader sends.
	NodeIn        float64 // Bits a second that a follower receives.
	WriteBytes    float64 // Bytes a second to each disk.
	FetchHours    float64 // How long a wiped node fetches history. It votes and answers after seconds.
	Warnings      []string
}

// Compute returns the need of a load. The error says what is not possible.
func Compute(l Load) (Need, error) {
	if l.Mean == 0 {
		l.Mean = l.Rate
	}
	switch {
	case !(l.Rate > 0) || !(l.Mean > 0) || l.Mean > l.Rate || math.IsInf(l.Rate, 0):
		return Need{}, errors.New("the rate must be above 0, and the mean not above the rate")
	case !(l.Days > 0 && l.Years > 0) || l.Days > 36_600 || l.Years > 100:
		return Need{}, errors.New("days and years must be above 0, and at most a hundred years")
	case !(l.Agents >= 0) || l.Agents > 16_777_216:
		return Need{}, errors.New("a cluster has at most 16,777,216 agents")
	case !(l.Keyed >= 0 && l.Keyed <= 1) || !(l.Reserve >= 0 && l.Reserve < 1):
		return Need{}, errors.New("the keyed part must be 0 to 1, and the reserve below 1")
	case l.Failures < 1 || l.Failures > 4:
		return Need{}, errors.New("one to four nodes may be gone: a cluster has three to nine")
	case l.Rate*applyMicros/1e6 > 1-l.Reserve:
		return Need{}, fmt.Errorf("%.0f verdicts a second are more than one goroutine applies with that reserve: divide the load among clusters", l.Rate)
	}
	n := Need{Nodes: 2*l.Failures + 1}
	left := float64(n.Nodes - l.Failures)
	perVerdict := max(onceMicros/left+eachMicros, lowRate(l.Rate)/3)
	n.CPU = l.Rate * perVerdict / 1e6
	n.Cores = max(2, int(math.Ceil(n.CPU/(1-l.Reserve))))
	perDay := l.Mean * 86_400
	n.HistoryBytes = perDay * l.Days * leafBytes
	n.HashBytes = perDay * 365.25 * l.Years * hashBytes
	n.KeyBytes = perDay * l.Keyed * keyBytes
	n.SnapshotBytes = snapshots * l.Agents * snapBytes
	n.DiskBytes = (n.HistoryBytes + n.HashBytes + n.KeyBytes + n.SnapshotBytes + baseDisk) / (1 - diskFree)
	n.MemoryBytes = baseMemory + 2*l.Agents*agentBytes // Twice: a restore keeps the old state.
	n.NodeIn = l.Rate * entryBytes * framing * 8
	n.LeaderOut = n.NodeIn * float64(n.Nodes-1)
	n.WriteBytes = l.Rate * writeBytes
	n.FetchHours = perDay * l.Days / fetchLeaves / 3600
	if n.FetchHours > 24 {
		n.Warnings = append(n.Warnings, "a wiped node fetches history for more than a day: copy a healthy node's backup to it first, or keep fewer days")
	}
	if l.Agents > 5e6 {
		n.Warnings = append(n.Warnings, "a restart takes most of a minute or more with so many agents (docs/scale.md): consider two clusters")
	}
	return n, nil
}

// lowRate returns what a verdict costs three nodes together at a rate at which few share an entry; 0: at this
// rate it costs what it costs saturated.
func lowRate(rate float64) float64 {
	if rate <= lowRates[0].rate {
		return lowRates[0].micros
	}
	for i := 1; i < len(lowRates); i++ {
		from, to := lowRates[i-1], lowRates[i]
		if rate <= to.rate {
			part := math.Log(rate/from.rate) / math.Log(to.rate/from.rate)
			return math.Exp(math.Log(from.micros) + part*math.Log(to.micros/from.micros))
		}
	}
	return 0
}

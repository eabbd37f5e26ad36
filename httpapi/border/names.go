package border

import (
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"railguard/edge"
)

// A name that costs more than a call does is charged twice: against the key's rate, as everything
// is, and against the key's share of names (decision 108). The rate alone does not protect the
// neighbours. It has a burst of two seconds on each node, for callers that send all at once, and
// that is half a second of a processor when it is spent on names.

const (
	// namesPart is which part of its rate a key may spend on names beyond what its calls cost. A
	// real name takes 22 µs on average and one in a hundred more than 90 (docs/PERFORMANCE.md),
	// which counts three calls: a key that screens nothing but new names stays far below.
	namesPart = 10

	// namesBurst is which part of a second's share may be spent at once on each node.
	namesBurst = 8

	// namesOf is appended to a key's id to name its dear names among the uses that nodes exchange.
	namesOf = " names"
)

// NameShare is what a key may spend on names, in screening calls. It holds for the cluster: the
// nodes divide it as they divide rates.
type NameShare struct {
	limit  float64 // Of the cluster, a second.
	tokens *rate.Limiter
	asked  keyUse
	owes   atomic.Bool // Set when something was charged; without it a call need not ask for tokens.
}

// newNameShare returns the share of a key with a rate.
func newNameShare(perSecond int) *NameShare {
	limit := max(1, perSecond/namesPart)
	return &NameShare{limit: float64(limit), tokens: rate.NewLimiter(rate.Limit(limit), max(1, limit/namesBurst))}
}

// chargeJudging charges the key for what the call's names really took beyond an ordinary
// call (decision 100).
func (c *Request) chargeJudging() {
	more := edge.CallsOf(c.Judge.Steps)
	if more <= 0 || c.Key == nil {
		return
	}
	judgingCharged.Add(more)
	c.Key.Charge(more)
	if c.Key.Names != nil {
		c.Key.Names.Charge(more)
	}
}

// Charge charges the share for names that were judged.
func (s *NameShare) Charge(more int) {
	s.asked.asked.Add(int64(more))
	chargeLater(s.tokens, more, int(s.limit))
	s.owes.Store(true)
}

// admitNames refuses a call that asks the matcher while its key owes for names before. What the
// call's own names cost is only known when they are judged.
func (c *Request) admitNames(key *Key) error {
	share := key.Names
	if share == nil || !c.route.judgesNames() || !share.owes.Swap(false) {
		return nil
	}
	if share.tokens.AllowN(time.Now(), 0) {
		return nil
	}
	share.owes.Store(true)
	return c.refuseRate(share.tokens, int(share.limit), "the names of this key cost more than "+strconv.Itoa(int(share.limit))+" calls a second beyond the calls themselves; send fewer dear names")
}

// judgesNames tells whether calls of the route ask the matcher. An officer's disposition is never
// refused for it.
func (r *Route) judgesNames() bool {
	if r.Reserved {
		return false
	}
	switch r.charge.Name {
	case Charges[KindScreening].Name, Charges[KindDuplex].Name, Charges[KindNames].Name, Charges[KindIssue].Name:
		return true
	}
	return false
}

// chargeLater takes tokens that are used already. Later calls wait for them. The debt is bounded,
// because otherwise a long export would shut its key out for an hour.
func chargeLater(tokens *rate.Limiter, more, debtMax int) {
	burst := tokens.Burst()
	for more = min(more, debtMax+int(tokens.Tokens())); more > 0; more -= burst {
		tokens.ReserveN(time.Now(), min(more, burst))
	}
}

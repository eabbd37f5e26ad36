package lanes

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Addresses limits the rate of every client address (for IPv6, of its /64). Its memory is
// bounded: an address starts with a full burst again when it was not seen for two periods,
// or when many others came since. It is safe for concurrent use.
type Addresses struct {
	perSecond, burst int
	most             int           // Addresses in one period.
	period           time.Duration // Length of one period. It is at least as long as a burst takes to refill.

	mutex       sync.Mutex
	since       time.Time
	now, before map[netip.Addr]*rate.Limiter
}

// NewAddresses limits each address to perSecond and burst, both in cost. It remembers at
// most twice most addresses.
func NewAddresses(perSecond, burst, most int) *Addresses {
	return &Addresses{
		perSecond: perSecond, burst: burst, most: most,
		period: time.Duration(burst/perSecond+1) * time.Second, now: make(map[netip.Addr]*rate.Limiter),
	}
}

// Allow charges a call's cost to its address and reports whether it is within the rate. All
// calls without an address share one rate.
func (a *Addresses) Allow(address netip.Addr, cost int, now time.Time) bool {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		prefix, _ := address.Prefix(64)
		address = prefix.Addr()
	}
	a.mutex.Lock()
	if now.Sub(a.since) >= a.period || len(a.now) >= a.most {
		a.before, a.now, a.since = a.now, make(map[netip.Addr]*rate.Limiter), now
	}
	limiter := a.now[address]
	if limiter == nil {
		if limiter = a.before[address]; limiter == nil {
			limiter = rate.NewLimiter(rate.Limit(a.perSecond), a.burst)
		}
		a.now[address] = limiter
	}
	a.mutex.Unlock()
	return limiter.AllowN(now, min(cost, a.burst))
}

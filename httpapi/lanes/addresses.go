package lanes

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Addresses limits the rate of every client address; of IPv6 it takes the /64. Its memory is
// bounded: an address that was not seen for two periods, or since many others came, begins
// with a whole burst again. It is safe for concurrent use.
type Addresses struct {
	perSecond, burst int
	most             int           // Addresses in one period.
	period           time.Duration // At least the time in which a burst fills again.

	mutex       sync.Mutex
	since       time.Time
	now, before map[netip.Addr]*rate.Limiter
}

// NewAddresses returns a rate for each address, its burst (both in cost), and how
// many addresses it knows at once: twice most.
func NewAddresses(perSecond, burst, most int) *Addresses {
	return &Addresses{
		perSecond: perSecond, burst: burst, most: most,
		period: time.Duration(burst/perSecond+1) * time.Second, now: make(map[netip.Addr]*rate.Limiter),
	}
}

// Allow counts a call of this cost against its address and reports whether it is within the
// rate. Calls without an address share one.
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

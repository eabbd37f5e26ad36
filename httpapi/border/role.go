package border

import (
	"sync/atomic"
	"time"
)

// nodeRole caches this node's raft role for the header of every answer, since asking the
// cluster thousands of times a second would be too expensive.
type nodeRole struct {
	word  atomic.Pointer[string]
	until atomic.Int64 // Wall-clock nanoseconds.
}

const RoleKept = 200 * time.Millisecond

func (n *nodeRole) roleText(b *Border) string {
	now := time.Now().UnixNano()
	until := n.until.Load()
	if word := n.word.Load(); word != nil && now < until {
		return *word
	}
	if !n.until.CompareAndSwap(until, now+int64(RoleKept)) {
		if word := n.word.Load(); word != nil {
			return *word // Another call is asking.
		}
	}
	word := b.deps.Role()
	n.word.Store(&word)
	return word
}

package httpapi

import (
	"context"
	"sync/atomic"
	"time"
)

// nodeRole caches this node's raft role for the header of every answer: asking
// the cluster thousands of times a second would cost more than the word is worth.
type nodeRole struct {
	word  atomic.Pointer[string]
	until atomic.Int64 // Wall nanoseconds.
}

const roleKept = 200 * time.Millisecond

// roler is what Operations may offer besides: the role without the whole status.
type roler interface{ Role() string }

func (n *nodeRole) text(a *API) string {
	now := time.Now().UnixNano()
	until := n.until.Load()
	if word := n.word.Load(); word != nil && now < until {
		return *word
	}
	if !n.until.CompareAndSwap(until, now+int64(roleKept)) {
		if word := n.word.Load(); word != nil {
			return *word // Somebody else is asking.
		}
	}
	word := a.askRole()
	n.word.Store(&word)
	return word
}

func (a *API) askRole() string {
	if operations, ok := a.deps.Operations.(roler); ok {
		return operations.Role()
	}
	ctx, cancel := context.WithTimeout(context.Background(), roleKept)
	defer cancel()
	return a.deps.Operations.Status(ctx).Role
}

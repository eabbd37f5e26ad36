package cluster

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/report"
)

// useFresh is how long what was told of the use of API keys holds.
const useFresh = 2 * time.Second

// keyUse is what this node tells the others of the use of API keys.
type keyUse struct{ told atomic.Pointer[toldUse] }

type toldUse struct {
	use []report.KeyUse
	at  time.Time
}

// lately returns what was told not long ago.
func (u *keyUse) lately() []report.KeyUse {
	told := u.told.Load()
	if told == nil || time.Since(told.at) > useFresh {
		return nil
	}
	return told.use
}

// TellUse says how much API keys are used here: it rides on the answers to pings.
func (n *Node) TellUse(use []report.KeyUse) {
	n.use.told.Store(&toldUse{use[:min(len(use), report.KeyUseMax)], time.Now()})
}

// OthersUse sums up what the other members told, those that answer, in calls in
// 1,000 seconds by key.
func (n *Node) OthersUse() map[string]uint64 {
	sums := map[string]uint64{}
	for _, server := range n.replica.servers() {
		s, fresh := n.peers.fresh(string(server.ID))
		if server.ID == raft.ServerID(n.config.ID) || !fresh || s.silent {
			continue
		}
		for i, use := range s.pong.Use {
			if i >= report.KeyUseMax {
				break
			}
			sums[use.Key] += uint64(use.Milli)
		}
	}
	return sums
}

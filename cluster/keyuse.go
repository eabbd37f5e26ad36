package cluster

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/report"
)

// useFresh is how long what was told of the use of API keys holds.
const useFresh = 2 * time.Second

// keyUse is what this node tells the others, on its answers to pings: of the use of API
// keys, and what witnesses cosigned.
type keyUse struct {
	told     atomic.Pointer[toldUse]
	cosigned atomic.Pointer[report.Cosigned]
}

type toldUse struct {
	use []report.KeyUse
	at  time.Time
}

// recentUse returns the uses of keys that peers reported lately.
func (u *keyUse) recentUse() []report.KeyUse {
	told := u.told.Load()
	if told == nil || time.Since(told.at) > useFresh {
		return nil
	}
	return told.use
}

// Neighbours carries what nodes tell each other beside the log.
type Neighbours struct{ node *Node }

// Neighbours is what this node tells the others, and they it.
func (n *Node) Neighbours() *Neighbours { return &Neighbours{n} }

// TellUse says how much API keys are used here.
func (b *Neighbours) TellUse(use []report.KeyUse) {
	b.node.use.told.Store(&toldUse{use[:min(len(use), report.KeyUseMax)], time.Now()})
}

// OthersUse sums up what the other members told, those that answer, in calls in
// 1,000 seconds by key.
func (b *Neighbours) OthersUse() map[string]uint64 {
	sums := map[string]uint64{}
	for _, s := range b.newestAnswers() {
		for i, use := range s.pong.Use {
			if i >= report.KeyUseMax {
				break
			}
			sums[use.Key] += uint64(use.Milli)
		}
	}
	return sums
}

// TellCosigned says what witnesses cosigned; one that is too large is not told.
func (b *Neighbours) TellCosigned(cosigned report.Cosigned) {
	if cosigned.Sound() {
		b.node.use.cosigned.Store(&cosigned)
	}
}

// OthersCosigned is what the other members told of that last, those that answer.
func (b *Neighbours) OthersCosigned() (all []report.Cosigned) {
	for _, s := range b.newestAnswers() {
		if told := s.pong.Cosigned; told != nil && told.Sound() {
			all = append(all, *told)
		}
	}
	return all
}

// newestAnswers returns the newest answer of each member that answers.
func (b *Neighbours) newestAnswers() (answers []sample) {
	n := b.node
	for _, server := range n.replica.listServers() {
		s, fresh := n.peers.freshSample(string(server.ID))
		if server.ID != raft.ServerID(n.config.ID) && fresh && !s.silent {
			answers = append(answers, s)
		}
	}
	return answers
}

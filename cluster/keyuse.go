package cluster

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/report"
)

// useFresh is how long a report of the use of API keys is valid.
const useFresh = 2 * time.Second

// keyUse is what this node tells the others in its answers to pings: the use of API keys here,
// what witnesses cosigned, and why backups fail.
type keyUse struct {
	told     atomic.Pointer[toldUse]
	cosigned atomic.Pointer[report.Cosigned]
	backup   atomic.Pointer[string] // Why the cluster's own backups fail here.
}

type toldUse struct {
	use []report.KeyUse
	at  time.Time
}

// recentUse returns the use of keys that TellUse reported lately, or nil.
func (u *keyUse) recentUse() []report.KeyUse {
	told := u.told.Load()
	if told == nil || time.Since(told.at) > useFresh {
		return nil
	}
	return told.use
}

// backupProblemMax bounds what the others are told, in bytes.
const backupProblemMax = 1 << 10

func (u *keyUse) backupProblem() string {
	if said := u.backup.Load(); said != nil {
		return *said
	}
	return ""
}

// TellBackup sets why the cluster's own backups fail on this node, which the others are told; "":
// they do not.
func (n *Node) TellBackup(problem string) {
	problem = strings.ToValidUTF8(problem[:min(len(problem), backupProblemMax)], "")
	n.use.backup.Store(&problem)
}

// BackupProblems says why the cluster's own backups fail, by this node and by the others that
// answer.
func (b *Neighbours) BackupProblems() (all []string) {
	if said := b.node.use.backupProblem(); said != "" {
		all = append(all, said)
	}
	for _, s := range b.newestAnswers() {
		if said := s.pong.Backup; said != "" && len(said) <= backupProblemMax {
			all = append(all, said)
		}
	}
	return all
}

// Neighbours exchanges data between nodes outside the log.
type Neighbours struct{ node *Node }

// Neighbours returns what this node and the others tell each other.
func (n *Node) Neighbours() *Neighbours { return &Neighbours{n} }

// TellUse sets the use of API keys on this node, which the others are told.
func (b *Neighbours) TellUse(use []report.KeyUse) {
	b.node.use.told.Store(&toldUse{use[:min(len(use), report.KeyUseMax)], time.Now()})
}

// OthersUse sums up the use of keys on the other members that answer: calls in 1,000 seconds by
// key.
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

// TellCosigned sets what witnesses cosigned, which the others are told. It ignores a value that
// is too large.
func (b *Neighbours) TellCosigned(cosigned report.Cosigned) {
	if cosigned.Sound() {
		b.node.use.cosigned.Store(&cosigned)
	}
}

// OthersCosigned returns what the other members that answer last told of witnesses'
// cosignatures.
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

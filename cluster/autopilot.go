package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/report"
)

// The leader tends the membership: a node that has caught up gets a vote
// (promoteCaughtUp), and a voter that has not answered for long loses its vote
// where that makes the group safer, and gets it back when it returns. A lost node
// so counts against the quorum for some minutes and not for ever.
//
// No more is done by itself: no node is removed, and never fewer than votersKept
// voters are left, since of those each counts whether it answers or not.
const votersKept = 3

// watchDead is a duty: it follows how long each voter has not answered, and takes
// one vote at a time.
func (m *membership) watchDead(now time.Time) {
	if !m.replica.leads() || m.replica.opened.Load() == 0 {
		m.forgetSilent()
		return
	}
	voters, dead := 0, ""
	present := map[string]bool{}
	for _, server := range m.replica.servers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		id := string(server.ID)
		present[id] = true
		if since, silent := m.noteSilence(id, m.peers.answers(id), now); silent && now.Sub(since) >= m.deadAfter && (dead == "" || id < dead) {
			dead = id
		}
	}
	m.keepSilent(present)
	answering, _ := m.peers.reachable()
	if dead == "" || m.deadAfter <= 0 || voters <= votersKept || answering < (voters-1)/2+1 {
		return
	}
	m.life.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), membershipPatience)
		defer cancel()
		if err := m.retireDead(ctx, dead); err != nil {
			m.life.log.Warn("a voter that does not answer keeps its vote", "peer", dead, "error", err)
		}
	})
}

// retireDead takes the vote of a voter that still does not answer. It is not held
// without one: when it answers again it gets its vote back like any other.
func (m *membership) retireDead(ctx context.Context, id string) error {
	if err := m.changing.enter(ctx); err != nil {
		return err
	}
	defer m.changing.leave()
	server, known := m.replica.find(raft.ServerID(id))
	if !known || server.Suffrage != raft.Voter || m.peers.answers(id) || m.replica.voterCount() <= votersKept {
		return nil
	}
	m.life.log.Warn("a voter has not answered for long and loses its vote until it does", "peer", id, "after", m.deadAfter)
	votesRetired.Inc()
	return m.change(func() raft.IndexFuture { return m.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
}

// noteSilence returns since when a voter has been silent, as this leader knows it.
func (m *membership) noteSilence(id string, answers bool, now time.Time) (since time.Time, silent bool) {
	m.silentMu.Lock()
	defer m.silentMu.Unlock()
	if answers {
		delete(m.silent, id)
		return time.Time{}, false
	}
	if m.silent == nil {
		m.silent = make(map[string]time.Time)
	}
	since, known := m.silent[id]
	if !known {
		since = now
		m.silent[id] = now
	}
	return since, true
}

// keepSilent forgets who is no voter any more.
func (m *membership) keepSilent(voters map[string]bool) {
	m.silentMu.Lock()
	defer m.silentMu.Unlock()
	for id := range m.silent {
		if !voters[id] {
			delete(m.silent, id)
		}
	}
}

func (m *membership) forgetSilent() {
	m.silentMu.Lock()
	m.silent = nil
	m.silentMu.Unlock()
}

// autopilot describes what the leader does by itself; only the leader knows who is
// silent.
func (m *membership) autopilot(nodes []report.NodeStatus) report.Autopilot {
	a := report.Autopilot{
		DeadAfterSeconds: int64(m.deadAfter / time.Second), StableSeconds: int64(promoteStable / time.Second),
		VotersKept: votersKept, Silent: []string{},
	}
	m.silentMu.Lock()
	defer m.silentMu.Unlock()
	for _, node := range nodes {
		if _, silent := m.silent[node.ID]; silent {
			a.Silent = append(a.Silent, node.ID)
		}
	}
	return a
}

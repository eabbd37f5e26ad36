package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/cluster/report"
)

// The leader tends the membership. A node that has caught up gets a vote (promoteCaughtUp). A
// voter that has not answered for long loses its vote where that makes the group safer, and gets
// it back when it returns. So a lost node counts against the quorum for some minutes only.
//
// The leader does nothing more by itself: it removes no node, and never leaves fewer than
// votersKept voters.
const votersKept = 3

// watchDead is a duty: it tracks how long each voter has not answered, and takes at most one
// vote at a time.
func (m *membership) watchDead(now time.Time) {
	if !m.replica.isLeader() || m.replica.opened.Load() == 0 {
		m.forgetSilent()
		return
	}
	voters, dead := 0, ""
	present := map[string]bool{}
	for _, server := range m.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		id := string(server.ID)
		present[id] = true
		if since, silent := m.noteSilence(id, m.peers.isAnswering(id), now); silent && now.Sub(since) >= m.deadAfter && (dead == "" || id < dead) {
			dead = id
		}
	}
	m.keepSilent(present)
	answering, _ := m.peers.countReachable()
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

// retireDead takes the vote of a voter that still does not answer. The node may get it back:
// when it answers again, it is promoted like any other.
func (m *membership) retireDead(ctx context.Context, id string) error {
	if err := m.changing.enterGate(ctx); err != nil {
		return err
	}
	defer m.changing.leaveGate()
	server, known := m.replica.findServer(raft.ServerID(id))
	if !known || server.Suffrage != raft.Voter || m.peers.isAnswering(id) || m.replica.voterCount() <= votersKept {
		return nil
	}
	m.life.log.Warn("a voter has not answered for long and loses its vote until it does", "peer", id, "after", m.deadAfter)
	votesRetired.Inc()
	m.life.note(recorder.Member, id+" has not answered for long and loses its vote until it does")
	return m.changeMembership(func() raft.IndexFuture { return m.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
}

// refuseCrowding returns an error if one more voter would be one too many. That is so if two or
// more voters are silent and those that answer would be no majority of the larger group without
// the newcomer: if that newcomer, a new and untried machine, failed as well, nothing could be
// written any more. If only one voter is silent, the newcomer counts as its replacement. A voter
// that has been silent long enough to lose its vote is no reason to refuse, because it loses the
// vote right after.
func (m *membership) refuseCrowding(now time.Time) error {
	var silent []string
	voters, retired := 0, false
	for _, server := range m.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		id := string(server.ID)
		if m.peers.isAnswering(id) {
			continue
		}
		silent = append(silent, id)
		since, _ := m.noteSilence(id, false, now)
		retired = retired || m.deadAfter > 0 && now.Sub(since) >= m.deadAfter
	}
	if len(silent) < 2 || hasMajority(voters-len(silent), voters+1) || retired && voters >= votersKept {
		return nil
	}
	return fmt.Errorf("cluster: %s do not answer, and the others would be no majority without the newcomer: start one again, or remove one", strings.Join(silent, ", "))
}

func hasMajority(answering, voters int) bool { return answering >= voters/2+1 }

// noteSilence records whether a voter answers, and returns since when this leader has found it
// silent.
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

// keepSilent forgets the nodes that are no longer voters.
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

// describeAutopilot describes what the leader does by itself. Only the leader knows which
// voters are silent.
func (m *membership) describeAutopilot(nodes []report.NodeStatus) report.Autopilot {
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

// waitingWarnings names the nodes that have caught up and get no vote. Only the leader returns
// any.
func (m *membership) waitingWarnings() (warnings []string) {
	if !m.replica.isLeader() {
		return nil
	}
	crowded := m.refuseCrowding(time.Now())
	if crowded == nil {
		return nil
	}
	for _, server := range m.replica.listServers() {
		address, err := port.ParseAddress(string(server.Address))
		if server.Suffrage != raft.Voter && err == nil && !address.Hold && m.keepsUp(string(server.ID)) {
			warnings = append(warnings, fmt.Sprintf("%s gets no vote: %s", server.ID, strings.TrimPrefix(crowded.Error(), "cluster: ")))
		}
	}
	return warnings
}

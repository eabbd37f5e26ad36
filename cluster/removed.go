package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// A node that is removed, or comes back with another data folder, leaves an incarnation that no
// node admits again. It is in the replicated state, which every node keeps: the folder of a
// removed node may be started years later, by a supervisor or from a copy, with flags that name
// the group. No node ends only because it is told so. It asks the nodes that it knows as
// members, over connections that it dials itself, and ends when one of them says that its
// incarnation is gone.

func wasRemoved(id string) string {
	return fmt.Sprintf("node %q was removed from the cluster, or superseded by a node with another data folder: this folder is not admitted again", id)
}

// refuseOutvoting refuses to remove a voter if the remaining voters could not commit any more.
// It pings each of them now, as a last answer may be from before a voter died.
func (m *membership) refuseOutvoting(ctx context.Context, leaving raft.Server, force bool) error {
	if leaving.Suffrage != raft.Voter || force {
		return nil
	}
	var asked sync.WaitGroup
	var stay []string
	for _, server := range m.replica.listServers() {
		if server.Suffrage != raft.Voter || server.ID == leaving.ID {
			continue
		}
		id := string(server.ID)
		stay = append(stay, id)
		if server.ID == m.replica.self {
			continue
		}
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, pingTimeout)
			defer cancel()
			_ = m.peers.pingNode(ctx, id) // The sample that the ping stores is read below.
		})
	}
	asked.Wait()
	silent := slices.DeleteFunc(slices.Clone(stay), m.peers.isAnswering)
	if len(stay)-len(silent) >= len(stay)/2+1 {
		return nil
	}
	return fmt.Errorf("cluster: without %s no majority of the voters would answer: silent is %s. Start it, or remove it instead; with force it is done all the same, and nothing can be written until a majority answers",
		leaving.ID, strings.Join(silent, ", "))
}

// buryMember records in the replicated state that an incarnation of a node is gone for good.
func (m *membership) buryMember(ctx context.Context, gone *wire.Member) error {
	if isGone(m.state, gone.ID, gone.Incarnation) {
		return nil
	}
	return m.writeMember(ctx, gone)
}

// writeChange writes the leaf of a change that a caller asks for, right before it is made. Without a
// verb the cluster makes the change by itself, and there is none.
func (m *membership) writeChange(ctx context.Context, v *port.VerbCall, change string) error {
	if v.Verb == "" {
		return nil
	}
	return m.writeMember(ctx, &wire.Member{Common: v.By, ID: v.ID, Change: change})
}

func (m *membership) writeMember(ctx context.Context, member *wire.Member) error {
	result, err := m.propose(ctx, wire.KindMember, wire.Encode(member))
	switch {
	case err != nil:
		return fmt.Errorf("cluster: the change of %s is not written down, so it is not made: %w", member.ID, err)
	case result.Code != wire.Applied && result.Code != wire.Unchanged:
		return fmt.Errorf("cluster: the state machine refuses to write down the change of %s (%d, %d)", member.ID, result.Code, result.Refusal)
	}
	return nil
}

// isBuried reports whether an incarnation was removed. A present member never is, whatever the
// state says: its removal was not finished.
func (m *membership) isBuried(id, incarnation string) bool {
	return isGone(m.state, id, incarnation) && !isMember(m.replica, id, incarnation)
}

func isGone(s *state, id, incarnation string) bool {
	for _, removed := range s.Settings().Removed {
		if removed.ID == id && removed.Incarnation == incarnation {
			return true
		}
	}
	return false
}

func isMember(r *replica, id, incarnation string) bool {
	known, err := r.addressOf(raft.ServerID(id))
	return err == nil && known.Incarnation == incarnation
}

// hearRemoved handles a peer's message that this node may no longer be a member.
func (f *finder) hearRemoved(q *port.RemovedCall) error {
	own := f.folder.Identity()
	if q.ID != own.ID || q.Incarnation != own.Incarnation {
		return fmt.Errorf("cluster: this is node %q with another data folder than the one that was removed", own.ID)
	}
	f.askBeside()
	return nil
}

// askBeside asks the group, on a goroutine of its own, whether this node is still a member. A
// node that knows of the removal refuses the connection, which the greeter handles.
func (f *finder) askBeside() {
	if !f.asking.CompareAndSwap(false, true) {
		return
	}
	f.life.running.Go(func() {
		defer f.asking.Store(false)
		for _, host := range f.knownHosts() {
			conn, err := f.greeter.dialNode(host, port.ProtocolCalls, "", "", pingTimeout)
			if err == nil {
				err = conn.Close()
			}
			if err != nil && !errors.Is(err, port.ErrRefused) {
				f.life.log.Info("asked whether this node is a member still, in vain", "addr", host, "error", err)
			}
		}
	})
}

// endRemoved ends a node after a peer that it dialled refused it as removed. It marks the
// folder first.
func endRemoved(f *datadir.Folder, l *life, by string) {
	reason := "this node was removed from the cluster, or superseded by one with another data folder (so says " + by + "): its folder is of no use any more; wipe it to let a node of this name join anew"
	if err := f.Supersede(reason); err != nil {
		l.log.Error("not written down that this node was removed", "error", err)
	}
	l.endProcess(reason)
}

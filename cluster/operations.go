package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// membershipPatience bounds one step of a membership change.
const membershipPatience = 5 * time.Second

// Snapshot takes a raft snapshot now and cuts the log behind it. A caller who waits no longer does
// not end it: the disk may hang.
func (n *Node) Snapshot(ctx context.Context) (report.SnapshotInfo, error) {
	if n.adapter.installing.underWay() {
		return report.SnapshotInfo{}, errRestoring
	}
	if err := n.compaction.gate.enterGate(ctx); err != nil {
		return report.SnapshotInfo{}, err
	}
	type taken struct {
		meta *raft.SnapshotMeta
		err  error
	}
	done := make(chan taken, 1)
	n.life.running.Go(func() {
		defer n.compaction.gate.leaveGate()
		meta, err := n.compaction.takeSnapshot()
		done <- taken{meta, err}
	})
	select {
	case t := <-done:
		if t.err != nil {
			return report.SnapshotInfo{}, fmt.Errorf("cluster: snapshot: %w", t.err)
		}
		return report.SnapshotInfo{
			ID: t.meta.ID, Index: t.meta.Index, Term: t.meta.Term, Size: t.meta.Size,
			Time: time.Now().UTC().Format(datadir.TimeFormat),
		}, nil
	case <-ctx.Done():
		return report.SnapshotInfo{}, fmt.Errorf("cluster: snapshot: it goes on without its caller: %w", ctx.Err())
	}
}

// Members returns the members of the group, as this node knows them.
func (n *Node) Members() []datadir.Member {
	servers := n.replica.listServers()
	members := make([]datadir.Member, 0, len(servers))
	for _, server := range servers {
		address, err := port.ParseAddress(string(server.Address))
		if err != nil {
			address.Host = string(server.Address)
		}
		members = append(members, datadir.Member{
			ID: string(server.ID), Addr: address.Host, Incarnation: address.Incarnation,
			Voter: server.Suffrage == raft.Voter, Self: server.ID == n.replica.self,
		})
	}
	return members
}

// EachEntry visits the commands in this node's log from one entry to another, both included. Where
// the log does not go back so far any more, it returns an error before it visits any.
func (n *Node) EachEntry(from, to uint64, visit func(index, term uint64, data []byte) error) error {
	first, err := n.guarded.FirstIndex()
	if err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	if first > from {
		return fmt.Errorf("cluster: the raft log begins at %d, behind entry %d", first, from)
	}
	for index := from; index <= to; index++ {
		var entry raft.Log
		if err := n.guarded.GetLog(index, &entry); err != nil {
			return fmt.Errorf("cluster: log entry %d: %w", index, err)
		}
		if entry.Type != raft.LogCommand {
			continue
		}
		if err := visit(entry.Index, entry.Term, entry.Data); err != nil {
			return err
		}
	}
	return nil
}

// SaveSnapshot writes the newest snapshot on this node's disk to w. If there is none, it takes
// one first. It reads the file and not the state in memory: with a slow receiver the latter
// would keep every page that is replaced meanwhile.
func (n *Node) SaveSnapshot(ctx context.Context, w io.Writer) (err error) {
	metas, err := n.snaps.List()
	if err != nil {
		return fmt.Errorf("cluster: snapshots: %w", err)
	}
	if len(metas) == 0 {
		if _, err := n.Snapshot(ctx); err != nil {
			return err
		}
		if metas, err = n.snaps.List(); err != nil || len(metas) == 0 {
			return fmt.Errorf("cluster: no snapshot: %w", err)
		}
	}
	_, source, err := n.snaps.Open(metas[0].ID)
	if err != nil {
		return fmt.Errorf("cluster: snapshot %s: %w", metas[0].ID, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if _, err = io.Copy(w, source); err != nil {
		return fmt.Errorf("cluster: snapshot %s: %w", metas[0].ID, err)
	}
	return ctx.Err()
}

// TransferLeader hands leadership to another voter; "" lets raft choose. Any node
// may be asked.
func (n *Node) TransferLeader(ctx context.Context, to string) error {
	return n.membership.toLeader(ctx, port.VerbCall{Verb: verbTransfer, ID: to})
}

// Leave begins a planned stop: the node is not ready and hands leadership on. It still takes
// proposals, so that callers who have not looked at readiness yet lose nothing.
func (n *Node) Leave(ctx context.Context) {
	if !n.draining.Swap(true) {
		n.life.note(recorder.Stopping, "the node leaves service: it hands leadership on")
	}
	if n.replica.isLeader() && !n.replica.alone.Load() {
		if err := n.TransferLeader(ctx, ""); err != nil && !errors.Is(err, port.ErrNotLeader) {
			n.life.log.Warn("draining: leadership not handed on", "error", err)
		}
	}
}

// Drain ends what Leave began: it takes no new proposals, and waits until those made before are
// answered.
func (n *Node) Drain(ctx context.Context) error {
	n.Leave(ctx)
	n.waiters.refuseNew(wire.ErrShuttingDown)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for n.waiters.countWaiting() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Undrain takes back a Leave or a Drain: proposals are admitted again. A node that is stopping
// for good stays closed.
func (n *Node) Undrain() {
	select {
	case <-n.life.stop:
		return
	default:
	}
	if n.life.dead.Load() == nil {
		n.draining.Store(false)
		n.waiters.refuseNew(nil)
	}
}

// By says who asks for a change of a member and why. It stands in the change's leaf, which is written
// right before the change; a change whose leaf the log does not take is not made.

// Admit takes in a node that asks to join, or one that runs and waits at a cluster address, which
// Admit asks who it is. Where a key is given, the node must have that one. It gets a vote when it
// has caught up.
func (n *Node) Admit(ctx context.Context, id, addr, key string, by wire.Common) error {
	if addr == "" {
		return n.admit(ctx, port.VerbCall{Verb: verbAdmit, ID: id, Key: key, By: by})
	}
	l := n.peers.linkToAddress(addr)
	defer l.Close()
	p, err := port.Ask(ctx, l, port.PingCall{})
	if err != nil {
		return fmt.Errorf("cluster: node at %s: %w", addr, err)
	}
	if p.ID != id {
		return fmt.Errorf("cluster: the node at %s is %q, not %q", addr, p.ID, id)
	}
	return n.admit(ctx, port.VerbCall{Verb: verbAdmit, ID: id, Addr: p.Address, Key: key, By: by})
}

// admit asks the leader to admit a node. Then this node knows the member too, and its key.
func (n *Node) admit(ctx context.Context, call port.VerbCall) error {
	if err := n.membership.toLeader(ctx, call); err != nil {
		return err
	}
	_, _ = n.ReadIndex(ctx) // The node is admitted, whether or not this node hears of it in time.
	return nil
}

// Remove takes a node out of the group for good: its folder is not admitted again. Remove is
// refused if no majority of the remaining voters answers, unless force is set.
func (n *Node) Remove(ctx context.Context, id string, force bool, by wire.Common) error {
	return n.membership.toLeader(ctx, port.VerbCall{Verb: verbRemove, ID: id, Force: force, By: by})
}

// Promote gives a member that has caught up a vote.
func (n *Node) Promote(ctx context.Context, id string, by wire.Common) error {
	return n.membership.toLeader(ctx, port.VerbCall{Verb: verbPromote, ID: id, By: by})
}

// Demote takes a member's vote and keeps it without one. It is refused like Remove.
func (n *Node) Demote(ctx context.Context, id string, force bool, by wire.Common) error {
	return n.membership.toLeader(ctx, port.VerbCall{Verb: verbDemote, ID: id, Force: force, By: by})
}

// formatWarnings names members whose release is too old for the format in force, and says when
// an upgrade can be finished.
func formatWarnings(s *report.ClusterStatus) (warnings []string) {
	least := uint16(0)
	for i, node := range s.Nodes {
		if node.FormatMax != 0 && node.FormatMax < s.FeatureLevel {
			warnings = append(warnings, fmt.Sprintf("%s runs a release that is too old: feature level %d is in force and it knows up to %d; upgrade it", node.ID, s.FeatureLevel, node.FormatMax))
		}
		if i == 0 || node.FormatMax < least {
			least = node.FormatMax
		}
	}
	if least > s.FeatureLevel && s.FeatureLevel > 0 {
		warnings = append(warnings, fmt.Sprintf("every node knows feature level %d, and %d is in force: finish the upgrade with `railguard cluster upgrade finalize`", s.FeatureLevel+1, s.FeatureLevel))
	}
	return warnings
}

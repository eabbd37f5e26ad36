package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/engine"
)

const (
	askingMax  = 16              // Nodes that are remembered.
	askingKept = 5 * time.Second // A node that waits asks several times a second.
)

// askingNodes are the nodes that ask this leader to join and that no admin has admitted. An admin
// so admits a node that is there, at its address, and not whoever takes its name later. A new
// leader hears from them within a moment.
type askingNodes struct {
	mu    sync.Mutex
	nodes map[string]askingNode
}

type askingNode struct {
	call port.JoinCall
	at   time.Time
}

// note remembers what a node asks, if there is room, and reports whether it is a new one.
func (a *askingNodes) note(q *port.JoinCall, now time.Time) (isNew bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, node := range a.nodes {
		if now.Sub(node.at) > askingKept {
			delete(a.nodes, id)
		}
	}
	if a.nodes == nil {
		a.nodes = make(map[string]askingNode)
	}
	_, known := a.nodes[q.ID]
	if !known && len(a.nodes) >= askingMax {
		return false
	}
	a.nodes[q.ID] = askingNode{*q, now}
	return !known
}

// find returns what the node of an id asks; nil: none does.
func (a *askingNodes) find(id string, now time.Time) *port.JoinCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	node, known := a.nodes[id]
	if !known || now.Sub(node.at) > askingKept {
		return nil
	}
	return &node.call
}

// admitNode takes in a node that an admin has admitted: one that asks to join, or one that waits
// at an address.
func (m *membership) admitNode(ctx context.Context, v *port.VerbCall) error {
	q := &port.JoinCall{ID: v.ID, Address: v.Addr, Format: uint16(engine.FormatNewest)}
	if v.Addr == "" {
		if q = m.asking.find(v.ID, time.Now()); q == nil {
			return m.checkMember(ctx, v)
		}
	}
	if err := checkKey(q.Address, v.Key); err != nil {
		return err
	}
	return m.takeIn(ctx, q, true, v)
}

// checkMember returns nil if a node that does not ask needs not ask: it is a member, with the key
// given, and answers. A member that does not answer may have been wiped, and may ask in a moment.
func (m *membership) checkMember(ctx context.Context, v *port.VerbCall) error {
	server, known := m.replica.findServer(raft.ServerID(v.ID))
	if !known || checkKey(string(server.Address), v.Key) != nil {
		return report.ErrNotWaiting
	}
	if server.ID == m.replica.self {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if m.peers.pingNode(ctx, v.ID) != nil {
		return report.ErrNotWaiting
	}
	return nil
}

// checkKey refuses a node that has another key than the one that its admin has seen.
func checkKey(address, key string) error {
	to, err := port.ParseAddress(address)
	if err == nil && key != "" && to.Incarnation != key {
		return report.ErrOtherKey
	}
	return err
}

// isAdmitted reports whether a node was admitted before: it is a member with this key. With
// another key somebody else may have taken its name, unless an authority proves names.
func (m *membership) isAdmitted(id raft.ServerID, to port.Address) bool {
	known, err := m.replica.addressOf(id)
	return err == nil && (m.named || known.Incarnation == to.Incarnation)
}

// refuseTwin refuses a node if a member of its name with another folder is alive.
func (m *membership) refuseTwin(id string, to port.Address) error {
	known, err := m.replica.addressOf(raft.ServerID(id))
	if err != nil || known.Incarnation == to.Incarnation {
		return nil //nolint:nilerr // It is no member.
	}
	if _, alive := m.peers.freshSample(id); alive || id == string(m.replica.self) {
		return fmt.Errorf("cluster: a node %q with another data folder is alive: stop that one to replace it, or give this one an --id of its own", id)
	}
	return nil
}

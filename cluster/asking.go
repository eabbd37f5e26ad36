package cluster

import (
	"sync"
	"time"

	"railguard/cluster/port"
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

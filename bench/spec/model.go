package spec

import (
	"fmt"
	"strings"
)

// Bounds of the states. Whatever is smaller is set by the scope.
const (
	nodesMax    = 3
	callsMax    = 3
	termsMax    = 3
	logMax      = 7
	messagesMax = 6
)

// Entry is one entry of raft's log.
type Entry struct {
	Call, Proposal, Attempt uint8 // Call counts from 1; 0: a tick.
	Sealed                  uint8 // The term that its sequencer believed in.
	Raft                    uint8 // The term that raft gave it.
	Time                    uint8
	Judged                  Verdict
}

// Phase is where a call stands, as its caller and its node see it.
type Phase uint8

// The phases.
const (
	Idle    Phase = iota // It has not been made.
	Queued               // It waits at its node; no attempt is open.
	Sent                 // An attempt is open.
	Told                 // The caller has an answer.
	Unknown              // The caller was told that the outcome is unknown.
	None                 // The caller was told that nothing happened.
)

// Answer is what a caller was told.
type Answer struct {
	Leaf    uint8 // Counts from 1; 0: there is no answer yet.
	Verdict Verdict
}

// Caller is one call with its proposals. A proposal is made at one node, in attempts. An attempt
// is bound to a term.
type Caller struct {
	Phase                   Phase
	Node                    uint8
	Proposal, Attempt, Term uint8
	None                    uint8 // The proposals, as bits, of which the caller was told that nothing happened.
	First, Last             Answer
}

// Message is an attempt on its way to the log: a frame to the leader of a term, or an entry that
// a leader has sealed and not yet given to raft.
type Message struct {
	Call, Proposal, Attempt uint8
	Node                    uint8 // The leader.
	Term                    uint8
	Sealed                  bool
	Judged                  Verdict
}

// State is one state of the model. Two states are the same if they are equal.
type State struct {
	Term      uint8 // The newest term.
	Leaders   [termsMax + 1]uint8
	Log       [logMax]Entry
	Length    uint8
	Committed uint8 // So many entries are on a quorum, and stay.
	Applied   [nodesMax]uint8
	Callers   [callsMax]Caller
	Messages  [messagesMax]Message // Without gaps, in an order that depends on nothing but them.
}

// Call is what a caller of a scope wants.
type Call struct {
	Kind   Kind
	Amount int64
	Key    bool // The caller sends a key, and so may try again whatever the outcome.
	Hold   int64
	Of     int // For all but a payment: the call (from 0) whose payment it is about.
	Listed bool
}

// Scope bounds a search.
type Scope struct {
	Name      string
	Nodes     int
	Calls     []Call
	Limit     int64
	Day       int64
	Terms     int  // So many terms there are.
	Proposals int  // So many proposals a call has.
	Attempts  int  // So many attempts a proposal has.
	Log       int  // So many entries the log has.
	Time      int  // Log time ends here.
	Leap      int  // So far a term may leap.
	Patient   bool // Callers wait for an answer for as long as it takes.
}

// purse is the one purse of a scope.
const purse = "agent"

// Move is one step from a state to the next.
type Move struct {
	What       string // Formatted with N and At, by their places.
	Call, Node uint8  // From 1; 0: it is of no call, or of no node.
	N, At      uint8
}

// String tells a move in words.
func (m Move) String() string {
	text := m.What
	if strings.Contains(text, "%") {
		text = fmt.Sprintf(text, m.N, m.At)
	}
	if m.Call > 0 {
		text = fmt.Sprintf("call %d: %s", m.Call, text)
	}
	if m.Node > 0 {
		text = fmt.Sprintf("node %d: %s", m.Node, text)
	}
	return text
}

// add adds a message in its place. It returns false if there is no room for it.
func (s *State) add(m Message) bool {
	at := 0
	for at < messagesMax && s.Messages[at] != (Message{}) && before(s.Messages[at], m) {
		at++
	}
	if s.Messages[messagesMax-1] != (Message{}) {
		return false
	}
	copy(s.Messages[at+1:], s.Messages[at:messagesMax-1])
	s.Messages[at] = m
	return true
}

// drop removes a message.
func (s *State) drop(at int) {
	copy(s.Messages[at:], s.Messages[at+1:])
	s.Messages[messagesMax-1] = Message{}
}

func before(a, b Message) bool {
	if a.Call != b.Call {
		return a.Call < b.Call
	}
	if a.Proposal != b.Proposal {
		return a.Proposal < b.Proposal
	}
	return a.Attempt < b.Attempt
}

// waits tells whether the proposal of an attempt still waits for it.
func (c *Caller) waits(proposal, attempt uint8) bool {
	return c.Phase == Sent && c.Proposal == proposal && c.Attempt == attempt
}

// isOpen tells whether a term's leader has opened it: the term's first entry is committed, and so
// all of older terms is applied there.
func (s *State) isOpen(term uint8) bool {
	for i := range s.Committed {
		if e := &s.Log[i]; e.Call == 0 && e.Raft == term && e.Sealed == term {
			return true
		}
	}
	return false
}

// termOf returns the highest term of which a node has applied an entry.
func (s *State) termOf(node uint8) uint8 {
	if n := s.Applied[node-1]; n > 0 {
		return s.Log[n-1].Raft
	}
	return 0
}

// forget drops what no move depends on any more: where a call was that waits no longer, and what
// a node has applied that no call waits for. Such a node may as well have been started again.
func (s *State) forget() {
	var awaited [nodesMax]bool
	for c := range s.Callers {
		caller := &s.Callers[c]
		if caller.Phase == Queued || caller.Phase == Sent {
			awaited[caller.Node-1] = true
			continue
		}
		caller.Node, caller.Attempt, caller.Term = 0, 0, 0
	}
	for n := range s.Applied {
		if !awaited[n] {
			s.Applied[n] = 0
		}
	}
}

// renamed returns the state with its nodes named in the order in which they appear: nothing depends
// on which node is which.
func (s *State) renamed(nodes int) State {
	var name [nodesMax + 1]uint8
	named := uint8(0)
	call := func(node *uint8) {
		if *node == 0 {
			return
		}
		if name[*node] == 0 {
			named++
			name[*node] = named
		}
		*node = name[*node]
	}
	alike := *s
	for term := range alike.Leaders {
		call(&alike.Leaders[term])
	}
	for c := range alike.Callers {
		call(&alike.Callers[c].Node)
	}
	for at := range alike.Messages {
		call(&alike.Messages[at].Node)
	}
	alike.Applied = [nodesMax]uint8{} // A node that does not appear has applied nothing that matters.
	for n := range nodes {
		if name[n+1] != 0 {
			alike.Applied[name[n+1]-1] = s.Applied[n]
		}
	}
	return alike
}

package spec

import "slices"

// moves are the moves of one state. Each may be made or not, in any order: a message that never
// arrives is one whose move is never made.
type moves struct {
	*search
	from State
	out  func(Move, State)
}

// all gives every move out of a state.
func (m *moves) all() {
	for c := range m.scope.Calls {
		m.call(c)
		m.take(c)
		m.giveUp(c)
		m.askArrivals(c)
		m.reply(c)
	}
	for at := 0; at < messagesMax && m.from.Messages[at] != (Message{}); at++ {
		m.arrive(at)
		m.submit(at)
	}
	m.commit()
	m.elect()
	m.tick()
	for n := range m.scope.Nodes {
		m.apply(uint8(n + 1))
	}
}

// call: a caller makes its call at a node, for the first time or again. Without a key it tries
// again only if it was told that nothing happened. With one it also asks for the answer again.
func (m *moves) call(c int) {
	now, wanted := m.from.Callers[c], m.scope.Calls[c]
	again := now.Phase == Idle || now.Phase == None || wanted.Key && (now.Phase == Unknown || now.Phase == Told)
	if !again || int(now.Proposal) >= m.scope.Proposals {
		return
	}
	if wanted.Kind != Pay && m.from.Callers[wanted.Of].First.Verdict != Proceed {
		return // Nobody asks anything of a payment that did not go through.
	}
	for n := range m.scope.Nodes {
		next := m.from
		caller := &next.Callers[c]
		caller.Phase, caller.Node, caller.Attempt, caller.Term = Queued, uint8(n+1), 0, 0
		caller.Proposal++
		m.out(Move{What: "the caller asks, proposal %[1]d", Call: uint8(c + 1), Node: uint8(n + 1), N: caller.Proposal}, next)
	}
}

// take: a node begins an attempt in a term that it knows, which may be over by now.
func (m *moves) take(c int) {
	now := m.from.Callers[c]
	if now.Phase != Queued || int(now.Attempt) >= m.scope.Attempts {
		return
	}
	for term := max(m.from.termOf(now.Node), 1); term <= m.from.Term; term++ {
		next := m.from
		caller := &next.Callers[c]
		leader := next.Leaders[term]
		if leader == 0 || leader == now.Node && !m.from.isOpen(term) {
			continue
		}
		caller.Attempt++
		caller.Phase, caller.Term = Sent, term
		message := Message{
			Call: uint8(c + 1), Proposal: caller.Proposal, Attempt: caller.Attempt, Node: leader, Term: term,
			Sealed: leader == now.Node, Judged: m.judgeAtEdge(c, now.Node),
		}
		if next.add(message) {
			m.out(Move{What: "attempt %[2]d begins in term %[1]d", Call: uint8(c + 1), Node: now.Node, N: term, At: caller.Attempt}, next)
		}
	}
}

// judgeAtEdge is the verdict that a node would give by what it has applied. It is used only if
// the rule is off that the log judges.
func (m *moves) judgeAtEdge(c int, node uint8) Verdict {
	if m.off != RuleDebit {
		return NoVerdict
	}
	if m.read(&m.from, m.from.Applied[node-1]).machine.hasRoom([]string{purse}, m.scope.Calls[c].Amount) {
		return Proceed
	}
	return Block
}

// giveUp: a caller's patience ends. What waits at its node certainly did not happen.
func (m *moves) giveUp(c int) {
	if m.scope.Patient {
		return
	}
	next := m.from
	caller := &next.Callers[c]
	switch {
	case caller.Phase == Queued, caller.Phase == Sent && m.off == RuleQueued:
		caller.Phase = None
		caller.None |= 1 << caller.Proposal
		m.out(Move{What: "the caller is told that nothing happened", Call: uint8(c + 1)}, next)
	case caller.Phase == Sent:
		caller.Phase = Unknown
		m.out(Move{What: "the caller is told that the outcome is unknown", Call: uint8(c + 1)}, next)
	}
}

// askArrivals: the connection to the leader broke. The leader says that the frame did not
// arrive, and refuses it from then on; so the node tries again at once.
func (m *moves) askArrivals(c int) {
	now := m.from.Callers[c]
	for at := range messagesMax {
		frame := m.from.Messages[at]
		if frame.Sealed || frame.Call != uint8(c+1) || !now.waits(frame.Proposal, frame.Attempt) {
			continue
		}
		next := m.from
		next.Callers[c].Phase = Queued
		if m.off != RuleArrivals {
			next.drop(at)
		}
		m.out(Move{What: "its frame has not arrived and is given up", Call: frame.Call}, next)
	}
}

// arrive: a frame reaches the leader of its term, which may lead no more without knowing it.
func (m *moves) arrive(at int) {
	frame := m.from.Messages[at]
	if frame.Sealed {
		return
	}
	if m.from.isOpen(frame.Term) {
		next := m.from
		next.Messages[at].Sealed = true
		m.out(Move{What: "the frame arrives and is sealed in term %[1]d", Call: frame.Call, Node: frame.Node, N: frame.Term}, next)
	}
	if m.off == RuleFrame && frame.Term < m.from.Term && m.from.isOpen(m.from.Term) && m.from.Leaders[m.from.Term] == frame.Node {
		next := m.from
		next.Messages[at].Sealed, next.Messages[at].Term = true, m.from.Term
		m.out(Move{What: "a frame of an older term arrives and is sealed in term %[1]d", Call: frame.Call, Node: frame.Node, N: m.from.Term}, next)
	}
	if frame.Term < m.from.Term { // The leader knows of another term, and refuses.
		next := m.from
		next.drop(at)
		m.requeue(&next, frame)
		m.out(Move{What: "the frame is refused in term %[1]d", Call: frame.Call, Node: frame.Node, N: m.from.Term}, next)
	}
}

// requeue: an attempt certainly came to nothing.
func (m *moves) requeue(s *State, frame Message) {
	if caller := &s.Callers[frame.Call-1]; caller.waits(frame.Proposal, frame.Attempt) {
		caller.Phase = Queued
	}
}

// submit: raft takes a sealed entry if its node leads now, in whatever term.
func (m *moves) submit(at int) {
	sealed := m.from.Messages[at]
	if !sealed.Sealed {
		return
	}
	next := m.from
	next.drop(at)
	if m.from.Leaders[m.from.Term] != sealed.Node {
		m.requeue(&next, sealed)
		m.out(Move{What: "raft refuses the entry", Call: sealed.Call, Node: sealed.Node}, next)
		return
	}
	entry := Entry{
		Call: sealed.Call, Proposal: sealed.Proposal, Attempt: sealed.Attempt,
		Sealed: sealed.Term, Raft: m.from.Term, Time: next.lastStamp(), Judged: sealed.Judged,
	}
	if !m.append(&next, entry) {
		return
	}
	if m.off == RuleQuorum { // The answer is given before a quorum has the entry.
		caller := &next.Callers[sealed.Call-1]
		if caller.waits(sealed.Proposal, sealed.Attempt) {
			read := m.read(&next, next.Length)
			caller.tell(read.results[len(read.results)-1])
		}
	}
	m.out(Move{What: "raft appends the entry in term %[1]d", Call: sealed.Call, Node: sealed.Node, N: m.from.Term}, next)
}

func (s *State) lastStamp() uint8 {
	if s.Length == 0 {
		return 0
	}
	return s.Log[s.Length-1].Time
}

func (m *moves) append(s *State, e Entry) bool {
	if int(s.Length) >= m.scope.Log {
		return false
	}
	s.Log[s.Length] = e
	s.Length++
	return true
}

// commit: a quorum has the log up to an entry of the present term.
func (m *moves) commit() {
	next := m.from
	if next.Length > next.Committed && next.Log[next.Length-1].Raft == next.Term {
		next.Committed++
		m.out(Move{What: "a quorum has entry %[1]d", N: next.Committed}, next)
	}
}

// elect: a node leads a new term. It has all that is committed and some of the rest; what it has
// not is lost. Its first entry says when the term begins.
func (m *moves) elect() {
	if int(m.from.Term) >= m.scope.Terms {
		return
	}
	for n := range m.scope.Nodes {
		for kept := m.from.Committed; kept <= m.from.Length; kept++ {
			next := m.from
			next.Term++
			next.Leaders[next.Term] = uint8(n + 1)
			clear(next.Log[kept:])
			next.Length = kept
			m.openAt(next, uint8(n+1), kept)
		}
	}
}

// openAt gives a term's first entry every stamp that it may have: the clocks may be wrong.
func (m *moves) openAt(s State, node, kept uint8) {
	last := int(s.lastStamp())
	earliest, latest := last, min(last+m.scope.Leap, m.scope.Time)
	if m.off == RuleForward {
		earliest = 0
	}
	if m.off == RuleLeap {
		latest = m.scope.Time
	}
	for stamp := earliest; stamp <= latest; stamp++ {
		next := s
		if m.append(&next, Entry{Sealed: s.Term, Raft: s.Term, Time: uint8(stamp)}) {
			m.out(Move{What: "leads a new term from time %[2]d, and has kept %[1]d entries", Node: node, N: kept, At: uint8(stamp)}, next)
		}
	}
}

// tick: time passes at the leader.
func (m *moves) tick() {
	next := m.from
	if next.Term == 0 || int(next.lastStamp()) >= m.scope.Time || !m.from.isOpen(next.Term) {
		return
	}
	stamp := next.lastStamp() + 1
	if m.append(&next, Entry{Sealed: next.Term, Raft: next.Term, Time: stamp}) {
		m.out(Move{What: "time passes, to %[1]d", N: stamp}, next)
	}
}

// tell gives a caller its answer. One that changed nothing names no leaf.
func (c *Caller) tell(r Result) {
	c.Phase, c.Last = Told, Answer{}
	if r.Code == Applied || r.Code == Replayed {
		c.Last = Answer{uint8(r.Leaf + 1), r.Verdict}
	}
	if c.First == (Answer{}) {
		c.First = c.Last
	}
}

// learn: a node sees what became of an attempt.
func (c *Caller) learn(r Result) {
	if r.Code == Fenced {
		c.Phase = Queued
		return
	}
	c.tell(r)
}

// reply: the leader's answer about a committed entry reaches the node of the call.
func (m *moves) reply(c int) {
	now := m.from.Callers[c]
	for i := range m.from.Committed {
		if e := &m.from.Log[i]; e.Call == uint8(c+1) && now.waits(e.Proposal, e.Attempt) {
			next := m.from
			next.Callers[c].learn(m.read(&m.from, m.from.Committed).results[i])
			m.out(Move{What: "the leader's reply comes", Call: e.Call}, next)
			return
		}
	}
}

// apply: a node applies the next entry. Then it knows what became of all attempts of older terms.
func (m *moves) apply(node uint8) {
	awaited := slices.ContainsFunc(m.from.Callers[:], func(c Caller) bool {
		return c.Node == node && (c.Phase == Queued || c.Phase == Sent)
	})
	if !awaited || m.from.Applied[node-1] >= m.from.Committed {
		return
	}
	next := m.from
	at := next.Applied[node-1]
	next.Applied[node-1]++
	e := next.Log[at]
	for c := range m.scope.Calls {
		caller := &next.Callers[c]
		if caller.Node != node || caller.Phase != Sent {
			continue
		}
		if e.Call == uint8(c+1) && caller.waits(e.Proposal, e.Attempt) {
			caller.learn(m.read(&m.from, at+1).results[at])
		} else if e.Raft > caller.Term {
			caller.Phase = Queued
		}
	}
	m.out(Move{What: "applies entry %[1]d", Node: node, N: at + 1}, next)
}

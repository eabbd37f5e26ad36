package chaos

// What a node has applied, and what it said was committed, never goes back: not
// while a process runs, and not over restarts (invariant 8).

// reach is how far a node was seen to be.
type reach struct {
	process         int // Id of the process that said so.
	applied, commit uint64
}

// sawReach keeps what a node said of itself. Called with mu held, for one node in
// the order in which it was asked.
func (o *observer) sawReach(node string, now reach) {
	before := o.reached[node]
	if before.process == now.process && (now.applied < before.applied || now.commit < before.commit) {
		o.wrong.add("node %s went back while it ran: applied %d to %d, committed %d to %d",
			node, before.applied, now.applied, before.commit, now.commit)
	}
	o.reached[node] = now
	o.highest = max(o.highest, now.applied, now.commit)
}

// seenHighest is the highest index that any node said was applied or committed.
func (o *observer) seenHighest() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.highest
}

// end is how far a node is after healing.
type end struct {
	node    string
	applied uint64
}

// checkReached: after healing every node has applied whatever any node ever said
// was applied or committed, and whatever index a caller was told.
func (in *inspection) checkReached() []string {
	var f findings
	told, by := in.highest, "a status"
	for _, o := range in.operations {
		if o.outcome == answered && max(o.seen, o.index) > told {
			told, by = max(o.seen, o.index), o.String()
		}
	}
	for _, e := range in.ends {
		if e.applied < told {
			f.add("node %s has applied %d after healing, and index %d was told before: %s", e.node, e.applied, told, by)
		}
	}
	return f.all()
}

// checkIndices: the index that an answer names as applied is not before its own
// record's, and a read that asked for an index at least is not answered from an
// older one; so no client sees a disposition go away again (invariant 6).
func (in *inspection) checkIndices() []string {
	var f findings
	type name struct {
		client int
		txn    string
	}
	shown := make(map[name]*operation)
	for _, o := range in.operations { // By invocation; a client does one at a time.
		if !o.done() || o.back == never { // Settled from the log: nobody was told.
			continue
		}
		if o.kind == opScreen && o.seen < o.index {
			f.add("an answer names index %d as applied, and its record is at %d: %s", o.seen, o.index, o)
		}
		if o.kind == opRead && o.seen < o.floor {
			f.add("a read from index %d at least was answered from %d: %s", o.floor, o.seen, o)
		}
		if o.kind != opRead && o.kind != opReview {
			continue
		}
		key := name{o.client, o.subject}
		if before := shown[key]; before != nil && o.kind == opRead && o.shown == "" && o.floor >= before.seen {
			f.add("a client saw a disposition go away again: %s, then %s", before, o)
		}
		if o.kind == opReview || o.shown != "" {
			shown[key] = o
		}
	}
	return f.all()
}

package chaos

// These checks test invariant 8: the index that a node reports as applied, and the one that it
// reports as committed, never go back, neither while a process runs nor with a restart.

// reach is the progress that a node last reported.
type reach struct {
	process         int // Id of the process that reported it.
	applied, commit uint64
}

// sawReach keeps the progress that a node reported. The caller holds mu, and calls it in the
// order in which that node was asked.
func (o *observer) sawReach(node string, now reach) {
	before := o.reached[node]
	if before.process == now.process && (now.applied < before.applied || now.commit < before.commit) {
		o.wrong.add("node %s went back while it ran: applied %d to %d, committed %d to %d",
			node, before.applied, now.applied, before.commit, now.commit)
	}
	o.reached[node] = now
	o.highest = max(o.highest, now.applied, now.commit)
}

// seenHighest returns the highest index that any node reported as applied or committed.
func (o *observer) seenHighest() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.highest
}

// end is how far a node is after all faults were mended.
type end struct {
	node    string
	applied uint64
}

// checkReached checks that in the end every node has applied the highest index that any node ever
// reported as applied or committed, and every index that a caller was told.
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

// checkIndices checks invariant 6: no client sees a disposition disappear. The index that an
// answer names as applied must not be before that of its own record, and a read that demanded an
// index must not be answered from an older state.
func (in *inspection) checkIndices() []string {
	var f findings
	type name struct {
		client int
		txn    string
	}
	shown := make(map[name]*operation)
	for _, o := range in.operations { // They are sorted by invocation, and a client makes one at a time.
		if !o.done() || o.back == never { // Its outcome was found in the log, so no caller was told an index.
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

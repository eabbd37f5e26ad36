package examine

import (
	"fmt"

	"railguard/audit/note"
	"railguard/fsm/leaf"
)

// Chain is what an export of one agent shows of the records about the agent: decisions, what
// became of them, and changes of the agent. Each has its number among them and names the leaf of
// the one before, so that a missing one shows in the next, whoever made the file and whoever
// signed it.
type Chain struct {
	First, Last   uint64 // Numbers of the first and last record about the agent in the range; 0: none.
	Before, After *Edge  // Those just before and after the time; nil: not in the file.
	Erased        bool   // The cluster says that the one before is past its retention.

	first, previous uint64 // Index of the first one's leaf, and of the leaf that it names.
	last            uint64 // Index of the last one's leaf.
}

// Edge is the record about the agent just before or just after the time of an export.
type Edge struct {
	Sequence uint64 `json:"sequence"`
	Index    uint64 `json:"index"`
	Time     string `json:"time"`

	previous uint64
}

// followRecord checks that a record of an agent's export follows the one before it.
func (x *examiner) followRecord(r *Record, w *walk) error {
	if x.Agent == "" {
		return nil
	}
	if w.edges {
		return fmt.Errorf("%w: record %d stands behind the records beside the time", ErrProof, r.Index)
	}
	if r.sequence == 0 && r.Kind != leaf.KindScreen {
		return nil // Alerts and leaves that name several agents have no number.
	}
	if r.AgentID != x.Agent || r.sequence == 0 {
		return fmt.Errorf("%w: record %d is not one about agent %s", ErrProof, r.Index, x.Agent)
	}
	c := &x.Chain
	if c.Last == 0 {
		c.First, c.first, c.previous = r.sequence, r.Index, r.previous
	} else if err := demandNext(x.Agent, c.Last, c.last, r.sequence, r.previous, r.Index); err != nil {
		return err
	}
	c.Last, c.last = r.sequence, r.Index
	return nil
}

// demandNext returns an error unless a record is the next one about the agent after another.
func demandNext(agent string, last, at, sequence, previous, index uint64) error {
	switch {
	case sequence > last+1:
		return fmt.Errorf("%w: missing before record %d: %s of the records about agent %s", ErrProof, index, nameNumbers(last+1, sequence-1), agent)
	case sequence <= last:
		return fmt.Errorf("%w: record %d is number %d about agent %s, and stands behind number %d", ErrProof, index, sequence, agent, last)
	case previous != at:
		return fmt.Errorf("%w: record %d names record %d as the one before it about the agent, record %d stands here: spliced", ErrProof, index, previous, at)
	}
	return nil
}

func nameNumbers(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("number %d", first)
	}
	return fmt.Sprintf("numbers %d to %d", first, last)
}

// verifyEdge verifies the record about the agent just before or after the time of its export.
func (x *examiner) verifyEdge(e *envelope, side string, w *walk) error {
	index := e.takeNumber("index")
	if e.err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, e.err)
	}
	record, err := x.verifyLeaf(e, index)
	if err != nil {
		return err
	}
	if err := e.refuseRest(); err != nil {
		return err
	}
	to := &x.Chain.Before
	beside := index < x.First && record.Time < x.From
	if side == "after" {
		to, beside = &x.Chain.After, index >= x.End && record.Time > x.To
	}
	switch {
	case x.Agent == "" || record.AgentID != x.Agent || record.sequence == 0:
		return fmt.Errorf("%w: record %d is not one about the agent of this export", ErrProof, index)
	case !beside:
		return fmt.Errorf("%w: record %d of %s does not stand %s the time of the export", ErrProof, index, record.Time, side)
	case *to != nil || side == "before" && x.Chain.After != nil:
		return fmt.Errorf("%w: a second record %s the time, or in the wrong order: record %d", ErrProof, side, index)
	}
	*to, w.edges = &Edge{Sequence: record.sequence, Index: index, Time: record.Time, previous: record.previous}, true
	return nil
}

// verifyEnds compares the first and the last record about the agent with the ones beside the
// time, and with the end line.
func (x *examiner) verifyEnds(said *note.Chain) error {
	if x.Agent == "" {
		return nil
	}
	c := &x.Chain
	first, previous, index := c.First, c.previous, c.first // Number, predecessor and leaf of the first one in the file after the one that came before the time.
	if c.Last == 0 && c.After != nil {
		first, previous, index = c.After.Sequence, c.After.previous, c.After.Index
	}
	c.Erased = said.Before == note.EdgeErased
	switch {
	case (said.Before == note.EdgeHere) != (c.Before != nil) || (said.After == note.EdgeHere) != (c.After != nil):
		return fmt.Errorf("%w: the end line speaks of records beside the time that are not those in the file", ErrProof)
	case said.After != note.EdgeHere && said.After != note.EdgeNone || said.Before != note.EdgeHere && said.Before != note.EdgeNone && !c.Erased:
		return fmt.Errorf("%w: the end line's before or after", ErrFormat)
	case first > 1 && c.Before == nil && !c.Erased:
		return fmt.Errorf("%w: missing: %s of the records about agent %s, which shows that none of the time was left out in front", ErrProof, nameNumbers(first-1, first-1), x.Agent)
	case first == 1 && (c.Before != nil || c.Erased):
		return fmt.Errorf("%w: a record before number 1 about agent %s", ErrProof, x.Agent)
	}
	if c.Before != nil && first > 0 {
		if err := demandNext(x.Agent, c.Before.Sequence, c.Before.Index, first, previous, index); err != nil {
			return err
		}
	}
	if c.After != nil && c.Last > 0 {
		return demandNext(x.Agent, c.Last, c.last, c.After.Sequence, c.After.previous, c.After.Index)
	}
	return nil
}

// describeSelection says by what the export was selected.
func (r *Report) describeSelection() string {
	if r.Agent != "" {
		return "agent " + r.Agent
	}
	return fmt.Sprintf("operator %q", r.Operator)
}

// listShown says what the numbers of the records about an agent prove.
func (c *Chain) listShown(agent string) []string {
	var said []string
	if c.Last > 0 {
		said = append(said, fmt.Sprintf("%s of all records about agent %s (decisions, what became of them, changes of the agent) stand here without a gap: each names the one before it", nameNumbers(c.First, c.Last), agent))
	}
	switch {
	case c.Before != nil:
		said = append(said, fmt.Sprintf("the one before is number %d, of %s", c.Before.Sequence, c.Before.Time))
	case c.First == 1:
		said = append(said, "its first one is the first ever about the agent")
	}
	if c.After != nil {
		said = append(said, fmt.Sprintf("the one after is number %d, of %s: by the numbers alone none of the time was left out", c.After.Sequence, c.After.Time))
	}
	return said
}

// notShown says what the numbers do not prove.
func (c *Chain) notShown() []string {
	var open []string
	if c.After == nil {
		open = append(open, "by the numbers, that none was left out at the end of the time: none follows yet; for that there is the cluster's signature, or an export made after the next one about the agent")
	}
	if c.Erased {
		open = append(open, "by the numbers, that the one before is older than the time: it is past its retention; for that there is the cluster's signature")
	}
	return append(open, "by the numbers, that no alert and no change of a fleet or an operator was left out: these have none; for that there is the cluster's signature")
}

package examine

import (
	"fmt"

	"railguard/audit/note"
	"railguard/fsm/leaf"
)

// Chain is what an export of one agent shows of the agent's decisions. Each decision has its
// number among them and names the leaf of the one before, so that a missing one shows in the
// next, whoever made the file and whoever signed it.
type Chain struct {
	First, Last   uint64 // Numbers of the first and last decision in the range; 0: none.
	Before, After *Edge  // The decisions just before and after the time; nil: not in the file.
	Erased        bool   // The cluster says that the decision before is past its retention.

	first, previous uint64 // Index of the first decision's leaf, and of the leaf that it names.
	last            uint64 // Index of the last decision's leaf.
}

// Edge is the decision just before or just after the time of an export.
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
		return fmt.Errorf("%w: record %d stands behind the decisions beside the time", ErrProof, r.Index)
	}
	if r.Kind != leaf.KindScreen {
		return nil
	}
	if r.AgentID != x.Agent || r.sequence == 0 {
		return fmt.Errorf("%w: record %d is no decision about agent %s", ErrProof, r.Index, x.Agent)
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

// demandNext returns an error unless a decision is the agent's next one after another.
func demandNext(agent string, last, at, sequence, previous, index uint64) error {
	switch {
	case sequence > last+1:
		return fmt.Errorf("%w: missing before record %d: %s of agent %s", ErrProof, index, nameDecisions(last+1, sequence-1), agent)
	case sequence <= last:
		return fmt.Errorf("%w: record %d is decision %d of agent %s, and stands behind decision %d", ErrProof, index, sequence, agent, last)
	case previous != at:
		return fmt.Errorf("%w: record %d names record %d as the decision before it, record %d stands here: spliced", ErrProof, index, previous, at)
	}
	return nil
}

func nameDecisions(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("decision %d", first)
	}
	return fmt.Sprintf("decisions %d to %d", first, last)
}

// verifyEdge verifies the decision just before or after the time of an agent's export.
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
	case x.Agent == "" || record.AgentID != x.Agent || record.Kind != leaf.KindScreen || record.sequence == 0:
		return fmt.Errorf("%w: record %d is no decision about the agent of this export", ErrProof, index)
	case !beside:
		return fmt.Errorf("%w: record %d of %s does not stand %s the time of the export", ErrProof, index, record.Time, side)
	case *to != nil || side == "before" && x.Chain.After != nil:
		return fmt.Errorf("%w: a second decision %s the time, or in the wrong order: record %d", ErrProof, side, index)
	}
	*to, w.edges = &Edge{Sequence: record.sequence, Index: index, Time: record.Time, previous: record.previous}, true
	return nil
}

// verifyEnds compares the first and the last decision with the ones beside the time, and with
// the end line.
func (x *examiner) verifyEnds(said *note.Chain) error {
	if x.Agent == "" {
		return nil
	}
	c := &x.Chain
	first, previous, index := c.First, c.previous, c.first // Number, predecessor and leaf of the first decision in the file after the decision that came before the time.
	if c.Last == 0 && c.After != nil {
		first, previous, index = c.After.Sequence, c.After.previous, c.After.Index
	}
	c.Erased = said.Before == note.EdgeErased
	switch {
	case (said.Before == note.EdgeHere) != (c.Before != nil) || (said.After == note.EdgeHere) != (c.After != nil):
		return fmt.Errorf("%w: the end line speaks of decisions beside the time that are not those in the file", ErrProof)
	case said.After != note.EdgeHere && said.After != note.EdgeNone || said.Before != note.EdgeHere && said.Before != note.EdgeNone && !c.Erased:
		return fmt.Errorf("%w: the end line's before or after", ErrFormat)
	case first > 1 && c.Before == nil && !c.Erased:
		return fmt.Errorf("%w: missing: %s of agent %s, which shows that none of the time was left out in front", ErrProof, nameDecisions(first-1, first-1), x.Agent)
	case first == 1 && (c.Before != nil || c.Erased):
		return fmt.Errorf("%w: a decision before number 1 of agent %s", ErrProof, x.Agent)
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

// listShown says what the numbers of an agent's decisions prove.
func (c *Chain) listShown(agent string) []string {
	var said []string
	if c.Last > 0 {
		said = append(said, fmt.Sprintf("%s of agent %s stand here without a gap: each names the one before it", nameDecisions(c.First, c.Last), agent))
	}
	switch {
	case c.Before != nil:
		said = append(said, fmt.Sprintf("the decision before is number %d, of %s", c.Before.Sequence, c.Before.Time))
	case c.First == 1:
		said = append(said, "its first decision is the agent's first ever")
	}
	if c.After != nil {
		said = append(said, fmt.Sprintf("the decision after is number %d, of %s: by the numbers alone no decision of the time was left out", c.After.Sequence, c.After.Time))
	}
	return said
}

// notShown says what the numbers do not prove.
func (c *Chain) notShown() []string {
	var open []string
	if c.After == nil {
		open = append(open, "by the numbers, that no later decision of the time was left out: none follows yet; for that there is the cluster's signature, or an export made after the agent's next decision")
	}
	if c.Erased {
		open = append(open, "by the numbers, that the decision before is older than the time: its record is past its retention; for that there is the cluster's signature")
	}
	return append(open, "by the numbers, that no disposition, comment or change of the agent was left out: these have none; for that there is the cluster's signature")
}

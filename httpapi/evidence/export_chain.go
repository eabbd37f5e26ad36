package evidence

import (
	"errors"

	"railguard/audit"
	"railguard/audit/note"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
)

// Exports of one agent (?agentId=). Every leaf about an agent (a decision, what became of it, a
// change of the agent) holds its number among them and the leaf before it. An export of a period
// has all of the period, the last one before it and the first one after it. So the numbers prove
// that nothing is left out, whoever made the export.

// agentChain is what an export of one agent has seen of the leaves about the agent.
type agentChain struct {
	id      string // "": the export is not of one agent.
	slot    engine.AgentSlot
	retired uint64 // The last leaf about an agent that was retired; noLeaf: it was not.

	first, last uint64 // Numbers of the leaves in the range; 0: none.
	previous    uint64 // The leaf before the first one, unless the first one has number 1.
	found       note.Chain
}

// settleAgent reads agentId.
func (x *Exporter) settleAgent() error {
	id := x.Request.Query("agentId")
	if id == "" {
		return nil
	}
	if x.Request.Query("format") == "csv" {
		return border.BadQuery("agentId", "is for ndjson: a table has no proofs")
	}
	if _, agent := x.Request.Judge.Terms.ParseAgent(id); !agent {
		return border.BadQuery("agentId", "must be an agent's id")
	}
	profile, err := x.Request.Judge.KnownAgent(id)
	if profile != nil {
		x.agent = agentChain{id: id, slot: profile.Slot, retired: noLeaf}
		return nil
	}
	if refused := (*edge.Refusal)(nil); !errors.As(err, &refused) || refused.Code != "not_found" {
		return err
	}
	last, failed := x.findRetired(id)
	if failed != nil || last == noLeaf {
		return errors.Join(failed, err)
	}
	x.agent = agentChain{id: id, retired: last}
	return nil
}

// findRetired returns the leaf that says that an agent was retired; noLeaf: there is none. The state
// knows no retired agents any more. Only the institution makes exports, so its operator is not asked.
func (x *Exporter) findRetired(id string) (found uint64, err error) {
	const kind = "agent.retired"
	found = noLeaf
	query := audit.Query{To: x.Store.Size(), Newest: true, Keys: []uint64{engine.FilterKey(engine.FilterAgent, id), engine.FilterKey(engine.FilterKind, kind)}}
	err = x.scanLeaves(query, func(index uint64, l *edge.Leaf) bool {
		if l.Kind() != kind || l.Text("agentId") != id {
			return true
		}
		found = index
		return false
	})
	return found, err
}

// scanLeaves calls visit with the leaves of a query until it returns false. Others have their turn
// in between.
func (x *Exporter) scanLeaves(q audit.Query, visit func(index uint64, l *edge.Leaf) bool) error {
	q.Examine = exportPageMax
	for more := true; more && q.From < q.To; {
		var scanned audit.ScanResult
		var failed error
		err := border.TakeTurn(x.Request, func() (err error) {
			scanned, err = x.Store.Scan(q, func(index uint64, stored audit.Leaf) bool {
				l, err := x.Request.Judge.OpenLeaf(index, stored.Data)
				if err != nil {
					failed = err
					return false
				}
				defer x.Request.Judge.DropLeaf()
				more = visit(index, &l)
				return more
			})
			return err
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		border.ChargeLooked(x.Request, scanned.Examined)
		if more = more && !scanned.Done; q.Newest {
			q.To = scanned.Next
		} else {
			q.From = scanned.Next
		}
	}
	return nil
}

// placeOf returns a leaf's place among those about the agent, and false for any other leaf.
func (a *agentChain) placeOf(l *edge.Leaf) (place leaf.Link, ofAgent bool) {
	if l.Record != nil {
		place = leaf.Link{AgentSequence: l.Record.Sequence, AgentPrevious: l.Record.Previous}
		return place, place.AgentSequence > 0 && l.Record.AgentID() == a.id
	}
	place = leaf.Link{AgentSequence: l.Number("agentSequence"), AgentPrevious: l.Number("agentPrevious")}
	return place, place.AgentSequence > 0 && l.Text("agentId") == a.id
}

// followLeaf notes a leaf of the range.
func (a *agentChain) followLeaf(l *edge.Leaf) {
	place, ofAgent := a.placeOf(l)
	if !ofAgent {
		return
	}
	if a.first == 0 {
		a.first, a.previous = place.AgentSequence, place.AgentPrevious
	}
	a.last = place.AgentSequence
}

// ofAgent reports whether a leaf belongs to an export of one agent: those about the agent, and
// those that name it.
func (a *agentChain) ofAgent(l *edge.Leaf) bool {
	if l.Record != nil {
		_, ofAgent := a.placeOf(l)
		return ofAgent
	}
	return l.Text("agentId") == a.id
}

// writeEdges writes the leaves about the agent just before and after the range, and notes which
// of them exist.
func (x *Exporter) writeEdges() error {
	if x.agent.id == "" {
		return nil
	}
	before, after, err := x.findNeighbours()
	if err != nil {
		return err
	}
	chain := &x.agent.found
	*chain = note.Chain{First: x.agent.first, Last: x.agent.last, Before: note.EdgeNone, After: note.EdgeNone}
	for _, side := range []struct {
		name string
		leaf uint64
		told *string
	}{{"before", before, &chain.Before}, {"after", after, &chain.After}} {
		if side.leaf == noLeaf {
			continue
		}
		data, err := x.Request.Records().Leaf(x.Request.Context(), side.leaf)
		if errors.Is(err, audit.ErrPruned) && side.name == "before" {
			*side.told = note.EdgeErased
			continue
		}
		if err != nil {
			return edge.LeafError(err)
		}
		l, err := x.Request.Judge.OpenLeaf(side.leaf, data)
		if err != nil {
			return err
		}
		err = x.edgeLine(side.name, &l)
		x.Request.Judge.DropLeaf()
		if err != nil {
			return err
		}
		*side.told = note.EdgeHere
	}
	return nil
}

const noLeaf = ^uint64(0)

func (x *Exporter) edgeLine(kind string, l *edge.Leaf) error {
	m := &x.line
	*m = (*m)[:0]
	m.Text("type", kind)
	if err := writePath(x.Request, m, l, x.Point.Size); err != nil {
		return err
	}
	if err := writeProfiles(x.Request, m, l, x.Point.Size, nil); err != nil {
		return err
	}
	return x.writeLine()
}

// findNeighbours returns the last leaf about the agent before the range and the first one after
// it; noLeaf: there is none.
func (x *Exporter) findNeighbours() (before, after uint64, err error) {
	before, after = noLeaf, noLeaf
	if x.agent.first > 1 {
		before = x.agent.previous
	}
	query := audit.Query{From: x.End, To: x.Point.Size, Keys: []uint64{engine.FilterKey(engine.FilterAgent, x.agent.id)}}
	err = x.scanLeaves(query, func(index uint64, l *edge.Leaf) bool {
		place, ofAgent := x.agent.placeOf(l)
		if !ofAgent {
			return true
		}
		if after = index; x.agent.first == 0 && place.AgentSequence > 1 {
			before = place.AgentPrevious
		}
		return false
	})
	if err != nil {
		return before, after, err
	}
	if x.agent.first == 0 && after == noLeaf {
		before, err = x.lastBefore()
	}
	return before, after, err
}

// lastBefore returns the last leaf about the agent before the range, when there is none in or
// after the range. It starts at the newest one in the state and skips those after the export's
// tree.
func (x *Exporter) lastBefore() (uint64, error) {
	at := x.agent.retired
	if at == noLeaf {
		view, err := x.Request.Judge.View()
		if err != nil {
			return noLeaf, err
		}
		row, _, found := view.Agent(x.agent.slot)
		if !found || row.Sequence == 0 {
			return noLeaf, nil
		}
		at = row.LastLeaf
	}
	for at >= x.first {
		l, err := x.Request.Judge.LoadLeaf(at)
		if err != nil {
			return noLeaf, err
		}
		place, ofAgent := x.agent.placeOf(&l)
		x.Request.Judge.DropLeaf()
		if !ofAgent || place.AgentSequence <= 1 {
			return noLeaf, nil
		}
		at = place.AgentPrevious
	}
	return at, nil
}

package reconcile

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"railguard/engine"
)

// What no text names is matched by payee, amount, payer and time, where that leads to one record
// and to one settlement. Candidates of a settlement are a range of a sorted list; how many
// settlements a record is a candidate of is counted with the ends of those ranges. So a million
// equal payments cost no more than a million different ones.

// inference is the sorted lists of the records that no settlement names.
type inference struct {
	run     *Run
	ordered [2]candidates // By payer within payee and amount, and without regard to the payer.
}

// candidates are records in one order.
type candidates struct {
	rows    []int32
	place   []int32 // By record: where it stands in rows.
	uses    []int32 // By place: how many settlements have it for a candidate; until sum only where that changes.
	doubts  []int32 // Likewise: how many are in doubt about it.
	byPayer bool
}

// span is a range of candidates.
type span struct{ start, end int }

func (c *candidates) count(s span) { c.uses[s.start]++; c.uses[s.end]-- }
func (c *candidates) doubt(s span) { c.doubts[s.start]++; c.doubts[s.end]-- }

func sum(changes []int32) {
	for i := 1; i < len(changes); i++ {
		changes[i] += changes[i-1]
	}
}

func (r *Run) newInference() *inference {
	f := &inference{run: r}
	var free []int32
	for at := range r.records {
		if row := &r.records[at]; row.isOpen() && row.payee != (key{}) {
			free = append(free, int32(at))
		}
	}
	for i := range f.ordered {
		c := &f.ordered[i]
		c.byPayer, c.rows = i == 0, slices.Clone(free)
		c.place = make([]int32, len(r.records))
		c.uses, c.doubts = make([]int32, len(free)+1), make([]int32, len(free)+1)
		slices.SortFunc(c.rows, func(a, b int32) int { return c.compare(&r.records[a], &r.records[b], a, b) })
		for place, record := range c.rows {
			c.place[record] = int32(place)
		}
	}
	return f
}

func (c *candidates) compare(a, b *recordRow, x, y int32) int {
	if order := bytes.Compare(a.payee[:], b.payee[:]); order != 0 {
		return order
	}
	if a.amount != b.amount {
		return cmp.Compare(a.amount, b.amount)
	}
	if c.byPayer {
		if order := bytes.Compare(a.payer[:], b.payer[:]); order != 0 {
			return order
		}
	}
	if a.since() != b.since() {
		return cmp.Compare(a.since(), b.since())
	}
	return cmp.Compare(x, y)
}

// between returns the records like another one whose leave began in a time.
func (f *inference) between(c *candidates, like recordRow, first, last engine.Time) span {
	search := func(at engine.Time, index int32) int {
		like.screenedAt, like.disposedAt = at, 0
		return sort.Search(len(c.rows), func(i int) bool {
			return c.compare(&f.run.records[c.rows[i]], &like, c.rows[i], index) >= 0
		})
	}
	start := search(first, -1)
	return span{start, max(start, search(last, int32(len(f.run.records))))}
}

// visit calls visit with the ranges of a settlement's candidates.
func (f *inference) visit(s *settlementRow, visit func(*candidates, span)) {
	if s.payee == (key{}) || s.amount.Fine != 0 {
		return
	}
	like := recordRow{payee: s.payee, amount: s.amount.Micro, payer: s.payer}
	first, last := s.first-f.run.settings.SettleWithin, s.last+f.run.settings.Skew
	if s.payer == (key{}) {
		visit(&f.ordered[1], f.between(&f.ordered[1], like, first, last))
		return
	}
	visit(&f.ordered[0], f.between(&f.ordered[0], like, first, last))
	like.payer = key{} // A record that names no payer fits any.
	visit(&f.ordered[0], f.between(&f.ordered[0], like, first, last))
}

// infer matches what no text names, and says what nobody allowed.
func (r *Run) infer() error {
	f := r.newInference()
	for at := range r.settlements {
		if s := &r.settlements[at]; s.ending == endOpen && !s.twice {
			f.visit(s, (*candidates).count)
		}
	}
	for i := range f.ordered {
		sum(f.ordered[i].uses)
	}
	for at := range r.settlements {
		if s := &r.settlements[at]; s.ending == endOpen && !s.twice {
			if err := f.decide(int32(at), s); err != nil {
				return err
			}
		}
	}
	for i := range f.ordered {
		c := &f.ordered[i]
		sum(c.doubts)
		for place, record := range c.rows {
			if c.doubts[place] > 0 {
				r.records[record].doubt = true
			}
		}
	}
	return nil
}

// decide settles one settlement that no text matched.
func (f *inference) decide(at int32, s *settlementRow) error {
	r, found, rows := f.run, 0, []int32(nil)
	f.visit(s, func(c *candidates, among span) {
		found += among.end - among.start
		rows = append(rows, c.rows[among.start:min(among.end, among.start+namedMax)]...)
	})
	if found == 0 {
		s.ending = endFound
		return r.say(finding{class: Unscreened, settlement: at, list: -1, record: -1})
	}
	if found == 1 && f.ordered[0].uses[f.ordered[0].place[rows[0]]]+f.ordered[1].uses[f.ordered[1].place[rows[0]]] == 1 {
		s.ending, s.way, s.record = endMatched, byInference, rows[0]
		s.sameRail = r.records[rows[0]].railRef == key{}
		if err := r.hit(rows[0], at); err != nil {
			return err
		}
		return r.say(finding{class: Inferred, settlement: at, record: rows[0], list: -1})
	}
	f.visit(s, (*candidates).doubt)
	s.ending = endFound
	rows = rows[:min(len(rows), namedMax)]
	list := r.keepList(rows, false)
	r.lists[list].more += found - len(rows)
	return r.say(finding{class: Ambiguous, settlement: at, list: list, record: -1})
}

package names

import (
	"slices"
	"time"

	"railguard/ofac"
)

// Verdict is the result of one row. Score and Strict are those of the expected entry for
// positives, the highest for negatives; 0 if nothing came near.
type Verdict struct {
	Outcome       ofac.Outcome
	Exact         ofac.Outcome // what the exact forms alone led to
	Score, Strict int32
	Alias, Form   string
	UID           uint32
}

// Outcomes holds a verdict for each row of Data, in order.
type Outcomes struct {
	Positives, Negatives, Collisions, Pairs []Verdict
	Tightened                               []Verdict       // the negatives, then the collisions, at the lowest block threshold
	Latencies                               []time.Duration // Latencies of the negatives, sorted.
	BuildTime                               time.Duration
	CompiledBytes                           int
}

// The lowest thresholds are asked for, so that one run serves every threshold of the curves.
const (
	lowestReview = 7500
	lowestBlock  = 8500
)

// Run screens every row.
func Run(d *Data) (*Outcomes, error) {
	o := &Outcomes{Positives: make([]Verdict, len(d.Positives))}
	scratch := ofac.NewScratch()
	for _, mode := range d.Modes() {
		start := time.Now()
		list, err := compile(d.entities(mode))
		if err != nil {
			return nil, err
		}
		if mode == "full" {
			o.BuildTime, o.CompiledBytes = time.Since(start), list.Size()
		}
		for i, positive := range d.Positives {
			if positive.Mode == mode {
				o.Positives[i] = screen(list, scratch, positive.Query, positive.UID)
			}
		}
		if mode == "full" {
			o.full(d, list, scratch)
		}
	}
	return o, o.pairs(d, scratch)
}

// latencyRounds is how often every negative is timed. The shortest time counts, so that
// other work on the machine does not. All others run between two rounds of one name.
const latencyRounds = 3

// full screens what belongs to the whole list, and times the negatives.
func (o *Outcomes) full(d *Data, list *ofac.Index, scratch *ofac.Scratch) {
	for _, negative := range d.Negatives {
		o.Negatives = append(o.Negatives, screen(list, scratch, negative.Query, 0))
		o.Tightened = append(o.Tightened, screenAt(list, scratch, negative.Query, 0, lowestBlock))
	}
	for _, collision := range d.Collisions {
		o.Collisions = append(o.Collisions, screen(list, scratch, collision.Query, collision.UID))
		o.Tightened = append(o.Tightened, screenAt(list, scratch, collision.Query, collision.UID, lowestBlock))
	}
	o.Latencies = make([]time.Duration, len(d.Negatives))
	for round := range latencyRounds {
		for i := range d.Negatives {
			query := ofac.Query{Name: d.Negatives[i].Query, NonSDNPossible: true}
			start := time.Now()
			list.Screen(&query, scratch)
			if took := time.Since(start); round == 0 || took < o.Latencies[i] {
				o.Latencies[i] = took
			}
		}
	}
	slices.Sort(o.Latencies)
}

// screen judges one name by its best match, or by that of the entry uid unless it is 0.
func screen(list *ofac.Index, scratch *ofac.Scratch, name string, uid uint32) Verdict {
	return screenAt(list, scratch, name, uid, ofac.BlockDefault)
}

func screenAt(list *ofac.Index, scratch *ofac.Scratch, name string, uid uint32, block int32) Verdict {
	result := list.Screen(&ofac.Query{Name: name, Review: lowestReview, Block: block, NonSDNPossible: true}, scratch)
	var verdict Verdict
	for _, match := range result.Matches {
		if uid != 0 && match.UID != uid || match.Outcome == ofac.Clear {
			continue
		}
		if match.Form != "possible" {
			verdict.Exact = max(verdict.Exact, match.Outcome)
		}
		if match.Score > verdict.Score {
			verdict.Alias, verdict.Form, verdict.UID = match.Alias, match.Form, match.UID
		}
		verdict.Outcome = max(verdict.Outcome, match.Outcome)
		verdict.Score, verdict.Strict = max(verdict.Score, match.Score), max(verdict.Strict, blocking(&match))
	}
	if uid != 0 && verdict.UID == 0 {
		// The entry may be flagged and yet not be among the ten that are shown, if hundreds of
		// entries have the same score.
		query := ofac.Query{Name: name, Review: lowestReview, Block: block, NonSDNPossible: true}
		if match, ok := list.ScreenEntry(uid, &query, scratch); ok && match.Outcome != ofac.Clear {
			verdict = Verdict{Outcome: match.Outcome, Score: match.Score, Strict: blocking(&match), Alias: match.Alias, Form: match.Form, UID: uid}
			if match.Form != "possible" {
				verdict.Exact = match.Outcome
			}
		}
	}
	return verdict
}

// blocking returns the strict score of a match that may block; 0: it may not.
func blocking(match *ofac.Match) int32 {
	if match.Outcome == ofac.Listed {
		return match.Strict
	}
	return 0
}

// Flagged reports whether the row is flagged at a review threshold.
func (v *Verdict) Flagged(review int32) bool {
	return v.Exact >= ofac.Possible || v.Score >= review
}

// Blocked reports whether the row blocks at a block threshold.
func (v *Verdict) Blocked(block int32) bool {
	return v.Exact == ofac.Listed || v.Strict >= block
}

// pairs screens each labelled pair's query against its target, which is added to the list as one
// more entry. So words have the same weights as in the real list.
func (o *Outcomes) pairs(d *Data, scratch *ofac.Scratch) error {
	list, at, err := d.pairIndex()
	if err != nil {
		return err
	}
	for _, pair := range d.Pairs {
		var verdict Verdict
		query := ofac.Query{Name: pair.Query, Review: lowestReview, NonSDNPossible: true}
		if match, ok := list.ScreenEntry(at[[2]string{pair.Target, pair.Schema}], &query, scratch); ok {
			verdict = Verdict{Outcome: match.Outcome, Score: match.Score, Strict: blocking(&match), Alias: match.Alias, Form: match.Form}
			if match.Form != "possible" {
				verdict.Exact = match.Outcome
			}
		}
		o.Pairs = append(o.Pairs, verdict)
	}
	return nil
}

// pairIndex compiles the list with each pair's target as one more entry, and returns their uids.
func (d *Data) pairIndex() (list *ofac.Index, at map[[2]string]uint32, err error) {
	entities := d.entities("full")
	at = map[[2]string]uint32{}
	uid := uint32(1 << 27)
	for _, pair := range d.Pairs {
		key := [2]string{pair.Target, pair.Schema}
		if _, ok := at[key]; ok || pair.Target == "" {
			continue
		}
		uid++
		at[key] = uid
		entities = append(entities, ofac.Entity{
			UID: uid, Type: schemaType(pair.Schema), Lists: ofac.ListSDN,
			Names: []ofac.Name{{ID: uid, Primary: true, Script: "Latin", Full: pair.Target}},
		})
	}
	list, err = compile(entities)
	return list, at, err
}

func schemaType(schema string) ofac.EntityType {
	switch schema {
	case "Person":
		return ofac.Individual
	case "Vessel":
		return ofac.Vessel
	}
	return ofac.Company
}

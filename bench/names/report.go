package names

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"railguard/ofac"
)

// Share counts rows and how many of them were flagged and blocked.
type Share struct{ Rows, Flagged, Blocked int }

func (s *Share) add(v *Verdict, review, block int32) {
	s.Rows++
	if v.Flagged(review) {
		s.Flagged++
	}
	if v.Blocked(block) {
		s.Blocked++
	}
}

// FlaggedPercent is the share of rows flagged, in percent.
func (s Share) FlaggedPercent() float64 { return percent(s.Flagged, s.Rows) }

// BlockedPercent is the share of rows blocked, in percent.
func (s Share) BlockedPercent() float64 { return percent(s.Blocked, s.Rows) }

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// Summary is the result at one pair of thresholds.
type Summary struct {
	Must, Should               Share
	NaturalMust, UNMust        Share // aliases OFAC lists itself; the UN's spellings
	Exact                      Share // exact_primary, exact_strong_alias, name order, punctuation, diacritics
	Added                      Share // listed names of two words or more among other words
	Ordinary, Hard             Share
	Innocent, Same             Share // collisions labelled different_company, same_entity
	Precision, Recall, F1      float64
	categories, kinds          map[string]*Share
	categoryOrder, kindOrderBy []string
}

// Summarise counts the outcomes at the given thresholds.
func Summarise(d *Data, o *Outcomes, review, block int32) *Summary {
	s := &Summary{categories: map[string]*Share{}, kinds: map[string]*Share{}}
	for i := range d.Positives {
		row, verdict := &d.Positives[i], &o.Positives[i]
		count(s.categories, &s.categoryOrder, row.Category+" "+row.Tier).add(verdict, review, block)
		switch row.Tier {
		case "MUST":
			s.Must.add(verdict, review, block)
			switch row.Category {
			case "natural_alias_loo":
				s.NaturalMust.add(verdict, review, block)
			case "un_list_variant":
				s.UNMust.add(verdict, review, block)
			case "exact_primary", "exact_strong_alias", "name_order", "punctuation", "diacritics_added", "diacritics_dropped", "nonlatin_exact":
				s.Exact.add(verdict, review, block)
			}
		case "SHOULD":
			s.Should.add(verdict, review, block)
		case tierAdded:
			s.Added.add(verdict, review, block)
		}
	}
	for i := range d.Negatives {
		kind := d.Negatives[i].Kind
		count(s.kinds, &s.kindOrderBy, kind).add(&o.Negatives[i], review, block)
		if strings.HasPrefix(kind, "hard_") {
			s.Hard.add(&o.Negatives[i], review, block)
		} else {
			s.Ordinary.add(&o.Negatives[i], review, block)
		}
	}
	for i := range d.Collisions {
		switch d.Collisions[i].Label {
		case "different_company":
			s.Innocent.add(&o.Collisions[i], review, block)
		case "same_entity":
			s.Same.add(&o.Collisions[i], review, block)
		}
	}
	s.judgePairs(d, o, review)
	return s
}

func count(table map[string]*Share, order *[]string, key string) *Share {
	share, ok := table[key]
	if !ok {
		share = &Share{}
		table[key] = share
		*order = append(*order, key)
	}
	return share
}

// judgePairs computes precision, recall and F1 on name_bench.
func (s *Summary) judgePairs(d *Data, o *Outcomes, review int32) {
	quality := pairQuality(d, func(i int) bool { return o.Pairs[i].Flagged(review) })
	s.Precision, s.Recall, s.F1 = quality.Precision, quality.Recall, quality.F1
}

// Write prints the table, the curve over thresholds and the latencies.
func Write(w io.Writer, d *Data, o *Outcomes) {
	s := Summarise(d, o, ofac.ReviewDefault, ofac.BlockDefault)
	fmt.Fprintf(w, "thresholds: review %.4f, block %.4f\n\n", float64(ofac.ReviewDefault)/10000, float64(ofac.BlockDefault)/10000)
	fmt.Fprintf(w, "%-28s %7s %9s %9s\n", "positives", "rows", "flagged %", "blocked %")
	slices.Sort(s.categoryOrder)
	for _, key := range s.categoryOrder {
		writeShare(w, key, *s.categories[key])
	}
	fmt.Fprintf(w, "\n%-28s %7s %9s %9s\n", "negatives", "rows", "flagged %", "blocked %")
	slices.Sort(s.kindOrderBy)
	for _, key := range s.kindOrderBy {
		writeShare(w, key, *s.kinds[key])
	}
	fmt.Fprintln(w)
	for _, row := range []struct {
		name  string
		share Share
	}{
		{"exact forms", s.Exact}, {"all MUST", s.Must}, {"all SHOULD", s.Should}, {"natural alias MUST", s.NaturalMust},
		{"UN spelling MUST", s.UNMust}, {"names among other words", s.Added}, {"ordinary negatives", s.Ordinary}, {"hard negatives", s.Hard},
		{"collisions, innocent", s.Innocent}, {"collisions, same", s.Same},
	} {
		writeShare(w, row.name, row.share)
	}
	fmt.Fprintf(w, "%-28s P %.3f R %.3f F1 %.3f\n\n", "name_bench pairs", s.Precision, s.Recall, s.F1)
	writeRomanised(w, d, o)
	writeCurve(w, d, o)
	writeLatency(w, o)
}

func writeShare(w io.Writer, name string, s Share) {
	fmt.Fprintf(w, "%-28s %7d %9.2f %9.3f\n", name, s.Rows, s.FlaggedPercent(), s.BlockedPercent())
}

// writeCurve prints what each review threshold finds and flags, and what each
// block threshold blocks of those it should not. The ones shipped are marked.
func writeCurve(w io.Writer, d *Data, o *Outcomes) {
	fmt.Fprintf(w, "%-8s %7s %7s %9s %7s %6s\n", "review", "MUST %", "SHOULD%", "ordinary%", "hard %", "F1")
	for review := int32(8000); review <= 9600; review += 100 {
		reviewRow(w, d, o, review)
		if ofac.ReviewDefault > review && ofac.ReviewDefault < review+100 {
			reviewRow(w, d, o, ofac.ReviewDefault)
		}
	}
	tightened := *o
	if len(o.Tightened) == len(d.Negatives)+len(d.Collisions) {
		tightened.Negatives, tightened.Collisions = o.Tightened[:len(d.Negatives)], o.Tightened[len(d.Negatives):]
	}
	fmt.Fprintf(w, "\n%-8s %9s %7s %8s\n", "block", "ordinary%", "hard %", "innocent")
	for block := int32(lowestBlock); block <= 9700; block += 100 {
		s := Summarise(d, &tightened, ofac.ReviewDefault, block)
		fmt.Fprintf(w, "%-7.4f%s %9.3f %7.2f %8d\n", float64(block)/10000, shipped(block == ofac.BlockDefault),
			s.Ordinary.BlockedPercent(), s.Hard.BlockedPercent(), s.Innocent.Blocked)
	}
	fmt.Fprintln(w, "* the thresholds shipped")
}

func reviewRow(w io.Writer, d *Data, o *Outcomes, review int32) {
	s := Summarise(d, o, review, ofac.BlockDefault)
	fmt.Fprintf(w, "%-7.4f%s %7.2f %7.2f %9.3f %7.2f %6.3f\n", float64(review)/10000, shipped(review == ofac.ReviewDefault), s.Must.FlaggedPercent(),
		s.Should.FlaggedPercent(), s.Ordinary.FlaggedPercent(), s.Hard.FlaggedPercent(), s.F1)
}

func shipped(is bool) string {
	if is {
		return "*"
	}
	return " "
}

// writeRomanised prints how the pairs of romanised.go fared.
func writeRomanised(w io.Writer, d *Data, o *Outcomes) {
	type tally struct{ same, found, other, flagged int }
	tallies, order := map[string]*tally{}, []string(nil)
	for i := range d.Pairs {
		source, own := strings.CutPrefix(d.Pairs[i].Source, ownSource)
		if !own {
			continue
		}
		t := tallies[source]
		if t == nil {
			t = &tally{}
			tallies[source], order = t, append(order, source)
		}
		flagged := 0
		if o.Pairs[i].Flagged(ofac.ReviewDefault) {
			flagged = 1
		}
		if d.Pairs[i].Expected == expectedMatch {
			t.same, t.found = t.same+1, t.found+flagged
		} else {
			t.other, t.flagged = t.other+1, t.flagged+flagged
		}
	}
	for _, source := range order {
		t := tallies[source]
		fmt.Fprintf(w, "own pairs: %-17s found %d of %d, others flagged %d of %d\n", source, t.found, t.same, t.flagged, t.other)
	}
	fmt.Fprintln(w)
}

func writeLatency(w io.Writer, o *Outcomes) {
	total := time.Duration(0)
	for _, latency := range o.Latencies {
		total += latency
	}
	n := len(o.Latencies)
	if n == 0 {
		return
	}
	at := func(perMille int) time.Duration { return o.Latencies[min(n-1, n*perMille/1000)] }
	fmt.Fprintf(w, "\nlatency of one name, one core: mean %v, p50 %v, p99 %v, p99.9 %v, max %v\n", total/time.Duration(n), at(500), at(990), at(999), o.Latencies[n-1])
	fmt.Fprintf(w, "compile %v, %d bytes\n", o.BuildTime.Round(time.Millisecond), o.CompiledBytes)
}

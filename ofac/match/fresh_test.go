package match

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// wholeList returns the SDN and CONS lists of the labelled data, compiled as one.
func wholeList(t testing.TB) *Index {
	if compiled, ok := realLists.Load("SDN and CONS"); ok {
		return compiled.(*Index)
	}
	at, items := map[string]int{}, []list.Entity(nil)
	kinds := map[string]list.EntityType{"Individual": list.Individual, "Vessel": list.Vessel, "Aircraft": list.Aircraft}
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "names", "index_names.tsv.gz")) {
		i, ok := at[f[0]]
		if !ok {
			i, at[f[0]] = len(items), len(items)
			kind, special := kinds[f[1]]
			if !special {
				kind = list.Company
			}
			items = append(items, list.Entity{UID: listtest.ParseUID(t, f[0]), Type: kind})
		}
		if f[8] == "CONS" {
			items[i].Lists |= list.ListCONS
		} else {
			items[i].Lists |= list.ListSDN
		}
		items[i].Names = append(items[i].Names, list.Name{
			ID: listtest.ParseUID(t, f[2]), AliasType: f[3], Primary: f[4] == "1", Weak: f[5] == "1", Script: f[6], Full: f[7],
		})
	}
	compiled := mustBuild(t, items)
	realLists.Store("SDN and CONS", compiled)
	return compiled
}

// freshNamesMost is about how many names of a class are timed. Between two turns of one name all others run.
const freshNamesMost = 2000

// freshNames returns names that no list has, by class. Those of other scripts cross the halves of listed
// names, because no labelled names of nobody are written so.
func freshNames(t testing.TB, x *Index) map[string][]string {
	names := map[string][]string{}
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "names", "dev_negatives.tsv.gz")) {
		class := "latin-long"
		switch words := len(strings.Fields(f[3])); {
		case strings.HasPrefix(f[1], "company") || f[1] == "merchant":
			class = "company"
		case words <= 2:
			class = "latin-short"
		}
		names[class] = append(names[class], f[3])
		names["all"] = append(names["all"], f[3])
	}
	scripts := map[string]string{"Cyrillic": "cyrillic", "Arabic": "arabic", "Chinese Simplified": "chinese", "Korean": "korean"}
	written := map[string][]string{}
	for _, entity := range x.Entities() {
		for _, name := range entity.Names {
			if class := scripts[name.Script]; class != "" {
				written[class] = append(written[class], name.Full)
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(written)) {
		list := written[class]
		for i, name := range list {
			head, tail := []rune(name), []rune(list[(i*7919+1)%len(list)])
			names[class] = append(names[class], string(head[:(len(head)+1)/2])+string(tail[len(tail)/2:]))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(names)) {
		list := names[class]
		step := max(len(list)/freshNamesMost, 1)
		names[class] = nil
		for i := 0; i < len(list); i += step {
			names[class] = append(names[class], list[i])
		}
	}
	for i, class := range []string{"latin-short", "company", "cyrillic", "latin-long", "arabic", "latin-short", "chinese", "company"} {
		for k := range freshNamesMost / 8 {
			names["mixed"] = append(names["mixed"], names[class][(i*freshNamesMost/8+k)*31%len(names[class])])
		}
	}
	return names
}

// timeNames screens each name in some rounds, the shortest of which counts, and returns the mean and the
// percentiles.
func timeNames(x *Index, names []string, scratch *Scratch, rounds int) (mean, median, p90, p99 time.Duration) {
	took := make([]time.Duration, len(names))
	for round := range rounds {
		for i, name := range names {
			q := Query{Name: name, Brief: true, NonSDNPossible: true}
			began := time.Now()
			x.Screen(&q, scratch)
			if one := time.Since(began); round == 0 || one < took[i] {
				took[i] = one
			}
		}
	}
	total := time.Duration(0)
	for _, one := range took {
		total += one
	}
	slices.Sort(took)
	at := func(share int) time.Duration { return took[min(len(took)*share/100, len(took)-1)] }
	return total / time.Duration(len(took)), at(50), at(90), at(99)
}

// The aims for a name that was never seen, and for 500 characters of a foreign script.
const (
	freshAim   = 12 * time.Microsecond
	foreignAim = 50 * time.Microsecond
)

// BenchmarkFreshName screens names that were never seen against the whole SDN and CONS, by class.
func BenchmarkFreshName(b *testing.B) {
	x := wholeList(b)
	names, scratch := freshNames(b, x), NewScratch()
	require.NotEmpty(b, names["chinese"])
	for _, class := range slices.Sorted(maps.Keys(names)) {
		b.Run(class, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mean, median, p90, p99 := timeNames(x, names[class], scratch, 12)
				b.ReportMetric(float64(mean), "mean-ns")
				b.ReportMetric(float64(median), "p50-ns")
				b.ReportMetric(float64(p90), "p90-ns")
				b.ReportMetric(float64(p99), "p99-ns")
				b.ReportMetric(float64(mean)/float64(freshAim), "of-aim")
			}
		})
	}
}

// BenchmarkForeignName screens 500 characters of one script, none of which is a listed name.
func BenchmarkForeignName(b *testing.B) {
	x, scratch := wholeList(b), NewScratch()
	for _, script := range []string{"Arabic", "Armenian", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew", "Hiragana", "Katakana", "Khmer", "Lao", "Myanmar", "Thai", "combining marks"} {
		b.Run(script, func(b *testing.B) {
			names := []string{dearNames[script](500)}
			b.ReportAllocs()
			for b.Loop() {
				mean, _, _, _ := timeNames(x, names, scratch, 100)
				b.ReportMetric(float64(mean), "least-ns")
				b.ReportMetric(float64(mean)/float64(foreignAim), "of-aim")
			}
		})
	}
}

package names_test

import (
	"testing"

	"railguard/bench/names"
	"railguard/ofac"
)

// BenchmarkScreen screens the labelled negatives, one after another, against
// the whole list: what a payment's fresh counterparty name costs.
func BenchmarkScreen(b *testing.B) {
	data := load(b)
	list, err := data.Index("full")
	if err != nil {
		b.Fatal(err)
	}
	scratch := ofac.NewScratch()
	run := func(names func(i int) string) func(b *testing.B) {
		return func(b *testing.B) {
			for i := range 2000 { // let the scratch grow
				query := ofac.Query{Name: names(i), NonSDNPossible: true}
				list.Screen(&query, scratch)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				query := ofac.Query{Name: names(i), NonSDNPossible: true}
				list.Screen(&query, scratch)
			}
		}
	}
	b.Run("negatives", run(func(i int) string { return data.Negatives[i%len(data.Negatives)].Query }))
	b.Run("positives", run(func(i int) string { return data.Positives[i%len(data.Positives)].Query }))
}

// BenchmarkBuild compiles the whole list.
func BenchmarkBuild(b *testing.B) {
	data := load(b)
	entities := names.Entities(data)
	for range b.N {
		if _, err := ofac.Build(entities, ofac.Meta{Source: "benchmark"}); err != nil {
			b.Fatal(err)
		}
	}
}

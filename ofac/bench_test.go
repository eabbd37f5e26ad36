package ofac_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/listtest"
)

func mustBuild(b *testing.B, entities []ofac.Entity) *ofac.Index {
	list, err := ofac.Build(entities, ofac.Meta{Source: "test", PublishedAt: 1})
	require.NoError(b, err)
	return list
}

// BenchmarkWallet looks up a listed and an unlisted address in the real list.
func BenchmarkWallet(b *testing.B) {
	list := mustBuild(b, listtest.RealEntities(b, "2025-11-19"))
	for name, address := range map[string]string{
		"listed":   "0x098B716B8Aaf21512996dC57EB0615e2383E2f96",
		"unlisted": "0x00000000219ab540356cBB839Cbe05303d7705Fa",
		"base58":   "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list.Wallet(address)
			}
		})
	}
}

// BenchmarkNormalise normalises an ordinary name into a reused buffer.
func BenchmarkNormalise(b *testing.B) {
	room := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		room = ofac.AppendNormalised(room[:0], "Acme Payments International, L.L.C.")
	}
}

// BenchmarkScreen screens five kinds of names against the real list: listed, near,
// ordinary, and of another script.
func BenchmarkScreen(b *testing.B) {
	list := mustBuild(b, listtest.RealEntities(b, "2025-11-19"))
	for name, query := range map[string]string{
		"listed":   "Nicolas Maduro Moros",
		"near":     "Nicolaas Madurro Moros",
		"person":   "Johanna Mitchell Anderson",
		"company":  "Acme Payments International, L.L.C.",
		"cyrillic": "Сергей Викторович Железняк",
	} {
		b.Run(name, func(b *testing.B) {
			scratch, q := ofac.NewScratch(), ofac.Query{Name: query}
			b.ReportAllocs()
			for b.Loop() {
				list.Screen(&q, scratch)
			}
		})
	}
}

// BenchmarkCompile compiles two lists of full size, the real one and one of numbered words:
// each alone, and after a former list that has one party more and lacks another.
func BenchmarkCompile(b *testing.B) {
	for name, entities := range map[string][]ofac.Entity{
		"real":     listtest.RealEntities(b, "2025-11-19"),
		"numbered": listtest.NumberedEntities(18_001),
	} {
		data, err := ofac.EncodeEntities(entities[1:], ofac.Meta{Source: "test", PublishedAt: 1})
		require.NoError(b, err)
		former := mustBuild(b, entities[:len(entities)-1])
		for how, help := range map[string]ofac.Help{"alone": {}, "after": {Former: former}} {
			b.Run(name+"/"+how, func(b *testing.B) {
				for b.Loop() {
					_, err := ofac.Carried().CompileWith(help, data, ofac.MatcherVersion)
					require.NoError(b, err)
				}
			})
		}
	}
}

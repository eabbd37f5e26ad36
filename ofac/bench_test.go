package ofac

import (
	"fmt"
	"testing"
)

// BenchmarkWallet looks up a listed and an unlisted address in the real list.
func BenchmarkWallet(b *testing.B) {
	list := realList(b, "2025-11-19")
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
		room = AppendNormalised(room[:0], "Acme Payments International, L.L.C.")
	}
}

// numberedEntities are made-up parties whose words are near to one another by the
// hundred: the list of the load suites, which is harder to compile than OFAC's.
func numberedEntities(parties int) []Entity {
	entities := make([]Entity, 0, parties)
	for i := range parties {
		entities = append(entities, named(uint32(800_000+i), Company, ListSDN,
			fmt.Sprintf("QUOR%dVEN ZARB%dAL HOLDING", i*7919%parties, i), fmt.Sprintf("VELD%dAN TRADE", i)))
	}
	return entities
}

// BenchmarkCompile makes the tables of a list of full size, the real one and one of
// numbered words: alone, and after the list before it, which had a party more and
// another less.
func BenchmarkCompile(b *testing.B) {
	for name, entities := range map[string][]Entity{
		"real":     realEntities(b, "2025-11-19"),
		"numbered": numberedEntities(18_001),
	} {
		data := encoded(b, entities[1:])
		former := mustBuild(b, entities[:len(entities)-1])
		for how, help := range map[string]Help{"alone": {}, "after": {Former: former}} {
			b.Run(name+"/"+how, func(b *testing.B) {
				for b.Loop() {
					compiled(b, help, data)
				}
			})
		}
	}
}

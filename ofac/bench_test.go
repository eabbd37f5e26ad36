package ofac

import "testing"

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

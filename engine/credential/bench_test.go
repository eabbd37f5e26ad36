package credential

import "testing"

func BenchmarkOpen(b *testing.B) {
	keys := testKeys(b)
	token, _, err := Mint(agentCredential(), rfcKey(b), testKid)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.Open(token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMint(b *testing.B) {
	c, key := agentCredential(), rfcKey(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Mint(c, key, testKid); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStripPrefix(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := StripPrefix("Bearer a.b.c"); !ok {
			b.Fatal("not stripped")
		}
	}
}

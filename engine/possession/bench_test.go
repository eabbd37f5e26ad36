package possession

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// What a proof costs, its canonical request counted (statement P40).
func BenchmarkVerifyJWS(b *testing.B) {
	for alg, private := range both(b, "agent A") {
		b.Run(alg, func(b *testing.B) {
			claims := testClaims(b)
			raw, err := Sign(claims, private)
			require.NoError(b, err)
			want := wantOf(publicKey(b, private), claims)
			document := withProof(testRequest, raw)
			var c Canonicaliser
			b.ReportAllocs()
			for b.Loop() {
				want.Request, err = c.RequestHash(document, engine.JSONDepthMax)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := VerifyJWS(raw, want); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerifyMessage(b *testing.B) {
	for alg, private := range both(b, "agent A") {
		b.Run(alg, func(b *testing.B) {
			s := testSent()
			s.sign(b, private, usualComponents+usualTimes+`;keyid="KEY";tag="railguard"`, "guard.example.org")
			s.Header = headers(s.pairs...)
			key := publicKey(b, private)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := VerifyMessage(&s.Message, key, Window{Now: testNow}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRequestHash(b *testing.B) {
	var c Canonicaliser
	b.SetBytes(int64(len(testRequest)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.RequestHash(testRequest, engine.JSONDepthMax); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenKey(b *testing.B) {
	for alg, private := range both(b, "agent A") {
		b.Run(alg, func(b *testing.B) {
			form := publicKey(b, private).AppendForm(nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := OpenKey(form); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSigned is the part of both that is not ours.
func BenchmarkSigned(b *testing.B) {
	for alg, private := range both(b, "agent A") {
		b.Run(alg, func(b *testing.B) {
			key := publicKey(b, private)
			signature, err := sign(testRequest, private)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if !key.signed(testRequest, signature) {
					b.Fatal("not signed")
				}
			}
		})
	}
}

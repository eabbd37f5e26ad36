package edge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
)

func FuzzSpan(f *testing.F) {
	for _, seed := range []string{"25h", "90d", "1d12h", "d", "-1d", "1dd", "99999999999999999999d", "1.5h", "1d-1h", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if span, ok := edge.ParseSpan(text); ok && span < 0 {
			t.Fatalf("%q is %d", text, span)
		}
	})
}

func TestSpan(t *testing.T) {
	cases := []struct {
		text string
		span engine.Time
		ok   bool
	}{
		{"25h", 25 * engine.Hour, true}, {"90d", 90 * engine.DayLength, true}, {"1d12h", 36 * engine.Hour, true}, {"0d", 0, true},
		{"30m", 30 * engine.Minute, true}, {"", 0, false}, {"d", 0, false}, {"5", 0, false}, {"-1h", 0, false}, {"-1d", 0, false},
		{"1d-1h", 0, false}, {"1d1d", 0, false}, {"65536d", 0, false},
	}
	for _, c := range cases {
		span, ok := edge.ParseSpan(c.text)
		require.Equal(t, c.ok, ok, c.text)
		require.Equal(t, c.span, span, c.text)
	}
}

package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRunReportsWhatItCannotDo(t *testing.T) {
	var results []Result
	summary, err := Run(t.Context(), Options{Only: []string{"n1/REPEATED"}}, func(r Result) { results = append(results, r) })
	require.NoError(t, err)
	require.Equal(t, Summary{Skipped: 1}, summary)
	require.Len(t, results, 1)
	require.Equal(t, Skipped, results[0].Outcome)
	require.Contains(t, results[0].String(), "how often")

	_, err = Run(t.Context(), Options{Only: []string{"C99"}}, func(Result) { t.Error("nothing to report") })
	require.ErrorContains(t, err, "C99")
}

func TestRunFailsWithoutBinary(t *testing.T) {
	options := Options{Binary: "no-such-binary", Folder: t.TempDir(), Only: []string{"A1"}}
	var result Result
	summary, err := Run(t.Context(), options, func(r Result) { result = r })
	require.NoError(t, err)
	require.Equal(t, Summary{Fail: 1}, summary)
	require.Contains(t, result.Reason, "no-such-binary")
}

func TestScenariosAreNamedOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range scenarios {
		require.False(t, seen[s.id], s.id)
		seen[s.id] = true
		require.NotEmpty(t, s.statement, s.id)
		require.NotNil(t, s.run, s.id)
		require.False(t, strings.HasSuffix(s.statement, "."), s.id)
	}
}

func TestGap(t *testing.T) {
	at := func(millis ...int) *history {
		h := newHistory()
		for _, m := range millis {
			o := &operation{kind: opScreen, outcome: answered, back: time.Duration(m) * time.Millisecond}
			o.status = 200
			h.all = append(h.all, o)
		}
		return h
	}
	window := func(h *history) time.Duration { return h.gap(100*time.Millisecond, 1000*time.Millisecond) }
	for _, c := range []struct {
		name string
		h    *history
		want time.Duration
	}{
		{"none at all", at(), 900 * time.Millisecond},
		{"only before", at(50, 90), 900 * time.Millisecond},
		{"at its edges", at(100, 1000), 900 * time.Millisecond},
		{"in the middle", at(120, 200, 700, 990, 1100), 500 * time.Millisecond},
		{"begins with the window", at(90, 450, 500, 990, 1001), 490 * time.Millisecond},
		{"ends after the window", at(110, 300, 2000), 1700 * time.Millisecond},
		{"ends with the window", at(110, 300), 700 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, window(c.h)) })
	}
}

// If there are two releases, both run in a new cluster, and a node changes to the other release
// with every start. A node to which a scenario gave a binary keeps that binary.
func TestMixedReleasesTakeTurns(t *testing.T) {
	c := &cluster{programs: programs{"this", "next"}, folder: t.TempDir(), shape: shape{nodes: 3}}
	require.NoError(t, c.lay())
	defer c.wires.close()
	var started [3][]string
	for i, n := range c.nodes {
		for range 3 {
			started[i] = append(started[i], n.program())
			n.turned()
		}
	}
	require.Equal(t, [3][]string{{"this", "next", "this"}, {"next", "this", "next"}, {"this", "next", "this"}}, started)
	require.Equal(t, [2]int{5, 4}, c.starts)
	c.nodes[0].binary = "wrong"
	require.Equal(t, "wrong", c.nodes[0].program())
	require.Equal(t, "this", (&node{cluster: &cluster{programs: programs{release: "this"}}}).program())
}

package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestFaultsRepeat: a seed draws the same faults in each run, whatever the nodes do meanwhile.
func TestFaultsRepeat(t *testing.T) {
	run := func(t *testing.T, seed uint64) (done []string) {
		synctest.Test(t, func(t *testing.T) {
			schedule(t, seed, func(what string) {
				_, what, _ = strings.Cut(strings.TrimLeft(what, " "), " ")
				if slices.ContainsFunc(faults, func(f fault) bool { return slices.Contains(f.names(), what) }) {
					done = append(done, what)
				}
			})
		})
		return done
	}
	for seed := range uint64(4) {
		first := run(t, 77_000+seed)
		require.NotEmpty(t, first)
		require.Equal(t, first, run(t, 77_000+seed), "seed %d", 77_000+seed)
	}
}

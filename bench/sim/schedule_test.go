package sim

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Schedules. A seed decides how many nodes there are, what clients do, and which faults come
// when. It does not decide what raft's own random timers and the scheduler of goroutines do. So a
// seed that failed will probably fail again, but not certainly; run it several times (-count=20).
//
//	RAILGUARD_SIM_SEEDS=N   how many schedules to run; seeds that are not fixed are new each run
//	RAILGUARD_SIM_SEED=S    run this one alone
//	RAILGUARD_SIM_LOG=info  the nodes' own lines, with virtual time; warn: the faults and what went wrong
const (
	seedsEnv = "RAILGUARD_SIM_SEEDS"
	seedEnv  = "RAILGUARD_SIM_SEED"
	keptFile = "testdata/seeds.txt"

	schedulesShort = 400 // Number of schedules if RAILGUARD_SIM_SEEDS is not set.
	seedsFixed     = 50  // So many seeds are the same in each run; they come first.
)

func TestMain(m *testing.M) {
	prepareProcess()
	os.Exit(m.Run())
}

// keptSeeds are those that once failed.
func keptSeeds(t *testing.T) (kept []uint64) {
	file, err := os.Open(keptFile)
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, keptFile)
		kept = append(kept, seed)
	}
	return kept
}

// seedsToRun returns the kept seeds, then the fixed ones, then new ones.
func seedsToRun(t *testing.T) []uint64 {
	if one, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		return []uint64{one}
	}
	list := keptSeeds(t)
	count := len(list) + wanted(schedulesShort)
	for i := 0; len(list) < count && i < seedsFixed; i++ {
		list = append(list, uint64(i+1))
	}
	for len(list) < count {
		list = append(list, 1_000_000+rand.Uint64N(1<<40))
	}
	return list
}

// wanted returns a count from the environment, or else the fallback, of which the short form
// takes a part.
func wanted(fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(seedsEnv)); err == nil {
		return n
	}
	if testing.Short() {
		return fallback / 25
	}
	return fallback
}

// TestSchedules runs the schedules, each in a bubble of its own. As many run at once as there are
// processors.
func TestSchedules(t *testing.T) {
	var mu sync.Mutex
	sum, runs := map[string]int{}, 0
	t.Cleanup(func() { // All schedules together must have had every kind of fault and event.
		t.Logf("%d schedules: %v", runs, sum)
		if runs == 1 {
			return // The run repeats one seed, whose faults may have let few calls through.
		}
		require.GreaterOrEqual(t, sum["reads"], 5*runs, "reads that all fail show nothing: %v", sum)
		require.GreaterOrEqual(t, sum["acknowledged"], 50*runs, "%v", sum)
		require.GreaterOrEqual(t, sum["PROCEED"], 20*runs, "%v", sum)
		for _, what := range []string{"PROCEED", "REVIEW", "BLOCK", "approved", "of a delegate", "suspended", "revoked", "held", "settled", "released", "unresolved", "settled late", "again PROCEED held", "again PROCEED redeemed", "again BLOCK released", "redeemed and silent"} {
			require.GreaterOrEqual(t, sum[what], runs/20, "%s: %v", what, sum)
		}
		// The weights are such that two hundred schedules have every fault in every scope, and every
		// event for which a fault is made.
		for _, f := range faults {
			for _, name := range f.names() {
				require.GreaterOrEqual(t, sum[name], runs/200, "%s: %v", name, sum)
			}
		}
		for _, what := range []string{bytesOfTheDead, "of a fleet", "nodes upgraded", "matcher raised", "backups taken", "backup restored", "majority recovered", "expired", "again REVIEW held", "found in files", "the glutton refused", "beside a glutton"} { // Lost names of files are not in this list: only a mutant of the product forgets to sync a name.
			require.GreaterOrEqual(t, sum[what], runs/200, "%s: %v", what, sum)
		}
	})
	for _, seed := range seedsToRun(t) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			var told []string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("what was done:\n%s", strings.Join(told, "\n"))
					t.Logf("replay: %s=%d go -C bench test ./sim -run '^TestSchedules$' -count=20", seedEnv, seed)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				// A panic anywhere in the bubble names its seed, with GODEBUG=tracebacklabels=1.
				pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("seed", strconv.FormatUint(seed, 10))))
				counts := schedule(t, seed, func(what string) { told = append(told, what) })
				mu.Lock()
				defer mu.Unlock()
				runs++
				for what, count := range counts {
					sum[what] += count
				}
			})
		})
	}
}

// TestCalm is the base line: without faults no call is refused and none has an unknown outcome.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		for i := range 500 {
			host := w.Hosts()[i%3]
			op := h.Screen(t.Context(), host, payment{name: fmt.Sprintf("calm-%d", i), agent: spender, amount: 1})
			require.NoError(t, op.Err)
			h.Read(t.Context(), host)
		}
		w.AwaitEqual(10 * time.Second)
		h.CheckAll(t, w, spendLimits)
		h.CheckReads(t, 500)
	})
}

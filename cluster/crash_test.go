package cluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// crashDir is the environment variable with the folder on which this test binary runs as a node
// that will be killed.
const crashDir = "RAILGUARD_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := runUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if line := os.Getenv(endsCase); line != "" {
		if err := playNodes(line); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runUntilKilled proposes from many goroutines and prints every acknowledged leaf.
func runUntilKilled(dir string) error {
	n, err := Open(Config{
		ID: "n1", DataDir: dir, BootstrapExpect: 1, Genesis: testGenesis,
		Timing:   Timing{Heartbeat: 30 * time.Millisecond, Commit: 5 * time.Millisecond},
		Snapshot: SnapshotPolicy{LogBytes: 64 << 10, Interval: 20 * time.Millisecond, TrailingBytes: 16 << 10},
		Fatal: func(reason string) {
			fmt.Fprintln(os.Stderr, "gave up:", reason)
			os.Exit(3)
		},
	})
	if err != nil {
		return err
	}
	for !n.Ready(context.Background(), report.ReadyQuery{}).Ready {
		time.Sleep(time.Millisecond)
	}
	go func() {
		for { // Snapshots are taken more often than the duty would, so that kills hit the middle of one.
			time.Sleep(15 * time.Millisecond)
			_, _ = n.Snapshot(context.Background())
		}
	}()
	lines := make(chan string, 256)
	for c := range 16 {
		go func() {
			for i := 0; ; i++ {
				r, err := n.Propose(context.Background(), wire.KindRegister, register(fmt.Sprintf("p%d-%d-%d", os.Getpid(), c, i)))
				if err == nil && r.Code == wire.Applied {
					sum := sha256.Sum256(r.Data)
					lines <- fmt.Sprintf("%d %d %x", r.Leaf, r.Index, sum)
				}
			}
		}()
	}
	for line := range lines {
		fmt.Println(line)
	}
	return nil
}

// acknowledged collects the leaves that the killed process acknowledged.
type acknowledged struct {
	mu     sync.Mutex
	leaves map[uint64]string
	index  uint64
}

func (a *acknowledged) read(t *testing.T, out io.Reader, seen chan<- struct{}) {
	lines := bufio.NewScanner(out)
	once := sync.OnceFunc(func() { close(seen) })
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || len(fields[2]) != 2*sha256.Size {
			continue // The kill cut the line.
		}
		leaf, err := strconv.ParseUint(fields[0], 10, 64)
		require.NoError(t, err)
		index, err := strconv.ParseUint(fields[1], 10, 64)
		require.NoError(t, err)
		a.mu.Lock()
		_, twice := a.leaves[leaf]
		require.False(t, twice, "leaf %d acknowledged twice", leaf)
		a.leaves[leaf] = fields[2]
		a.index = max(a.index, index)
		a.mu.Unlock()
		once()
	}
}

// TestKilledAtAnyMoment kills a node again and again, on one folder, and checks that everything
// it ever acknowledged is there with the same bytes.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	said := &acknowledged{leaves: map[uint64]string{}}
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashDir+"="+dir)
		var complaints strings.Builder
		child.Stderr = &complaints
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		seen := make(chan struct{})
		var reader sync.WaitGroup
		reader.Go(func() { said.read(t, out, seen) })
		select {
		case <-seen:
		case <-time.After(20 * time.Second):
			require.NoError(t, child.Process.Kill())
			t.Fatalf("round %d: nothing acknowledged: %s", round, complaints.String())
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		require.NoError(t, child.Process.Kill())
		reader.Wait()
		_ = child.Wait()
		require.Empty(t, complaints.String())
		if round%4 == 3 || round == rounds-1 {
			requireKept(t, dir, said)
		}
	}
	t.Logf("%d acknowledged leaves over %d kills", len(said.leaves), rounds)
}

func requireKept(t *testing.T, dir string, said *acknowledged) {
	n := openAlone(t, dir)
	require.NoError(t, n.WaitApplied(t.Context(), said.index))
	for leaf, sum := range said.leaves {
		data, err := n.Leaf(t.Context(), leaf)
		require.NoError(t, err, "leaf %d", leaf)
		have := sha256.Sum256(data)
		require.Equal(t, sum, hex.EncodeToString(have[:]), "leaf %d", leaf)
	}
	view, err := n.View(t.Context(), said.index)
	require.NoError(t, err)
	require.Equal(t, view.Root, mustRoot(t, n, view.Size))
	require.NoError(t, n.Close())
}

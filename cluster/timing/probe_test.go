package timing

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A probe takes as long as the process has no processor for who reads it, and says so while it is
// still under way.
func TestProbeMeetsABusyProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p, err := NewProbe()
	require.NoError(t, err)
	busy := false
	for began := time.Now(); !busy && time.Since(began) < 10*time.Second; {
		busy = p.Wait() >= 5*time.Millisecond
	}
	require.True(t, busy, "this goroutine has held the only processor")
	require.Eventually(t, func() bool { return p.Wait() < 5*time.Millisecond }, 10*time.Second, 10*time.Millisecond)
}

// A probe that is under way has taken at least as long as it is under way, and what was measured
// long ago says nothing of now.
func TestProbeTellsWhatIsKnown(t *testing.T) {
	p, err := NewProbe()
	require.NoError(t, err)
	now := 5 * time.Hour
	p.now = func() time.Duration { return now }
	p.came, p.took = now-time.Millisecond, 50*time.Millisecond
	require.Equal(t, 50*time.Millisecond, p.Wait())
	p.sent = now - 80*time.Millisecond
	require.Equal(t, 80*time.Millisecond, p.Wait(), "one that is under way")
	p.sent = 0
	now += probeValid
	require.Zero(t, p.Wait(), "too long ago")
	require.Zero(t, (*Probe)(nil).Wait())
}

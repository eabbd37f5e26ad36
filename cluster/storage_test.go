package cluster

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The metrics say that a write hangs, although nothing that measures the node might come back
// from the disk.
func TestAHangingDiskIsMeasured(t *testing.T) {
	stands := newGauges("of-a-hanging-disk").stalled
	l := newLife(slog.New(slog.DiscardHandler), func(string) {})
	s := newStorage(&Config{Timing: Timing{Stall: 8 * time.Millisecond, StallEnds: time.Minute, StallNever: time.Hour}}, l, newReplica("n1", time.Now()), stands)
	before := diskStalls.Get()
	s.Watch("a short write")()
	require.Zero(t, stands.Get())
	done := s.Watch("a long write")
	require.Eventually(t, func() bool { return stands.Get() == 1 }, groupPatience, time.Millisecond)
	require.Equal(t, before+1, diskStalls.Get())
	done()
	require.Eventually(t, func() bool { return stands.Get() == 0 }, groupPatience, time.Millisecond)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmallHeapsMayGrow(t *testing.T) {
	for live, want := range map[uint64]int{
		0: collectMax, 1 << 20: collectMax, 32 << 20: 400, 64 << 20: 200, 128 << 20: 100, 10 << 30: 100, 1 << 62: 100,
	} {
		require.Equal(t, want, collectPercent(live), "%d", live)
	}
}

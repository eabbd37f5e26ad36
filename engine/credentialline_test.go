package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestCredentialLine: EpochOf returns the epoch that a version's credential id must name.
func TestCredentialLine(t *testing.T) {
	var line *engine.CredentialEpochs
	line = line.WithIssued(1, 0)
	require.Nil(t, line)
	line = line.WithIssued(2, 0)
	require.Zero(t, line.EpochOf(2))
	line = line.WithIssued(3, 1) // The first version that is issued after a restore.
	require.Equal(t, uint16(0), line.EpochOf(2))
	require.Equal(t, uint16(1), line.EpochOf(3))
	line = line.WithIssued(4, 1)
	require.Equal(t, uint16(1), line.EpochOf(3))
	line = line.WithIssued(5, 4) // The first one after a second restore.
	require.Equal(t, uint16(1), line.EpochOf(4))
	require.Equal(t, uint16(4), line.EpochOf(5))
	line = line.WithIssued(1, 2) // A party that is registered after a restore.
	require.Equal(t, uint16(2), line.EpochOf(1))
}

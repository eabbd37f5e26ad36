package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestCredentialLine: which epoch a version's credential id must name.
func TestCredentialLine(t *testing.T) {
	var line *engine.CredentialLine
	line = line.Issued(1, 0)
	require.Nil(t, line)
	line = line.Issued(2, 0)
	require.Zero(t, line.EpochOf(2))
	line = line.Issued(3, 1) // The first one after a restore,
	require.Equal(t, uint16(0), line.EpochOf(2))
	require.Equal(t, uint16(1), line.EpochOf(3))
	line = line.Issued(4, 1)
	require.Equal(t, uint16(1), line.EpochOf(3))
	line = line.Issued(5, 4) // and after another.
	require.Equal(t, uint16(1), line.EpochOf(4))
	require.Equal(t, uint16(4), line.EpochOf(5))
	line = line.Issued(1, 2) // A party registered after a restore.
	require.Equal(t, uint16(2), line.EpochOf(1))
}

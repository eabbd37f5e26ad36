package fsm

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkProceed reads a PROCEED's own evidence and demands that amount and what
// was spent before stay within every level's and the fleet's limit.
func checkProceed(t testing.TB, leaf []byte) {
	var record struct {
		Evidence struct {
			Amount int64
			Levels []struct{ Limit, Spent int64 }
			Fleet  *struct{ Limit, Spent int64 }
		}
	}
	require.NoError(t, json.Unmarshal(leaf, &record))
	e := record.Evidence
	require.NotEmpty(t, e.Levels)
	for _, level := range e.Levels {
		require.True(t, level.Limit < 0 || level.Spent+e.Amount <= level.Limit, string(leaf))
	}
	if e.Fleet != nil {
		require.LessOrEqual(t, e.Fleet.Spent+e.Amount, e.Fleet.Limit, string(leaf))
	}
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A word that a list does not know is answered with those that it knows.
func TestKnownValuesAreNamed(t *testing.T) {
	_, errors := CompileHours([]byte(`{"timezone": "UTC", "windows": [{"days": ["Monday"], "from": "08:00", "to": "18:00"}]}`), someday)
	require.Equal(t, "operatingHours.windows[0].days[0]", errors[0].Param)
	require.Equal(t, "must be one of MON, TUE, WED, THU, FRI, SAT, SUN", errors[0].Message)
	_, errors = ParsePartyTypes([]byte(`["person"]`))
	require.Equal(t, "must be one of individual, business, exchange", errors[0].Message)
	_, errors = ParsePartyTypes([]byte(`[""]`))
	require.Equal(t, "must be one of individual, business, exchange", errors[0].Message)
}

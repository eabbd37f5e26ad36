package edge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
)

// TestCredentialsThatEndedByTheClocks (line K16): log time is behind the clocks. A credential that
// has ended by the clocks gets no verdict, one that goes on does, and one that has ended by log time
// too is what it always was.
func TestCredentialsThatEndedByTheClocks(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	refused := func(ahead engine.Time) (code string) {
		t.Helper()
		w.Ahead = ahead
		j := w.BeginCall(w.NewCall(edgetest.Admin(), payment(token, `,"chain":"BASE"`)))
		require.NoError(t, j.Read())
		_, err := j.Screen()
		if err == nil {
			return ""
		}
		var refusal *edge.Refusal
		require.ErrorAs(t, err, &refusal)
		return refusal.Code
	}
	require.Empty(t, refused(2*engine.Hour))
	w.Advance(91*engine.DayLength - engine.Hour)
	require.Empty(t, refused(0))
	require.Empty(t, refused(engine.Hour-engine.Minute), "it goes on by the clocks too")
	require.Equal(t, "time_uncertain", refused(2*engine.Hour))
	w.Advance(2 * engine.Hour)
	require.Empty(t, refused(2*engine.Hour), "it has ended by log time: the log says R2")
}

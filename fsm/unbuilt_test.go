package fsm

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestRowsOfTheDeskComeBack: each row reads back as it was written, and a truncated row is
// refused.
func TestRowsOfTheDeskComeBack(t *testing.T) {
	back(t, dueRow{At: -5, Kind: 3, Subject: 1 << 40, Mark: 7}, codeDueRow)
	back(t, proposalRow{Leaf: 9, Later: 10, At: 11, Topic: [16]byte{1, 15: 2}, Hash: [32]byte{31: 3}, Key: 70_000, Acts: 4, Kind: 5, Disposition: 1, Act: &keptAct{Body: []byte{1}}}, codeProposalRow)
	back(t, AlertRow{Leaf: 9, At: 300, Subject: 1 << 60, List: 3, Later: 1 << 33, Kind: 2, Owner: 1 << 33}, codeAlertRow)
	back(t, SARRow{Leaf: 1, Later: 2, DueAt: 3, First: 400, State: 4, Two: true, Finished: true, Narrative: [32]byte{31: 5}}, codeSARRow)
	back(t, cursorRow{Webhook: 1000, Seq: 1 << 50, N: 3, At: 4}, codeCursorRow)
	back(t, deadLetterRow{Webhook: 7, Seq: 8, N: 1, Attempts: 10, Status: 504, At: 9}, codeDeadLetterRow)
	back(t, holdRow{Leaf: 1 << 33, ExpiresAt: 5, Amount: 12_500_000, Reference: engine.ReferenceKey{1, 15: 2}, Agent: 7, Fleet: 8, Operator: 9, Day: 20_000, Screener: 3, Unresolved: 1 << 34, Approved: true, Redeemed: 1 << 35, Newest: 1 << 34, Confirms: 16, Given: true, Spent: true, Counts: true}, codeHoldRow)
	back(t, outcomeRow{Leaf: 1, Later: 200, Late: 3, At: -4, State: HoldReleased, Before: 2}, codeOutcomeRow)
	back(t, referenceRow{Key: engine.ReferenceKey{15: 9}, Leaf: 1 << 40, Told: 1 << 41, At: 77, Free: true}, codeReferenceRow)
}

func back[R any](t *testing.T, want R, code func(*coder, *R)) {
	t.Helper()
	fields := reflect.ValueOf(want)
	for i := range fields.NumField() {
		require.False(t, fields.Field(i).IsZero(), "%T.%s", want, fields.Type().Field(i).Name)
	}
	var written coder
	code(&written, &want)
	read := func(data []byte) (R, *coder) {
		var row R
		c := &coder{data: data, reading: true}
		code(c, &row)
		return row, c
	}
	row, c := read(written.data)
	require.Equal(t, want, row)
	require.NoError(t, c.endReading())
	for cut := range written.data {
		_, c := read(written.data[:cut])
		require.True(t, c.bad, "%T cut at %d", want, cut)
	}
}

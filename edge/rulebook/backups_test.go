package rulebook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
)

// A schedule of backups has a folder that every node sees, and spans that fit each other; what is not
// said has its usual value.
func TestSchedulesOfBackupsFit(t *testing.T) {
	w := edgetest.New(t)
	read := func(body string) (*wire.Backups, error) {
		j, f := w.Begin(edgetest.Admin(), body)
		change := rulebook.ReadBackupChange(f)
		if err := f.Err(); err != nil {
			return nil, err
		}
		return change.Record(j)
	}
	for body, param := range map[string]string{
		`{}`:                                    "folder",
		`{"folder":""}`:                         "folder",
		`{"folder":"copies"}`:                   "folder",
		`{"folder":"/c","keep":0}`:              "keep",
		`{"folder":"/c","full":"1s"}`:           "full",
		`{"folder":"/c","full":"soon"}`:         "full",
		`{"folder":"/c","tail":"1.5s"}`:         "tail",
		`{"folder":"/c","increment":"48h"}`:     "increment",
		`{"folder":"/c","drill":"30s"}`:         "drill",
		`{"folder":"/c","full":"1000000h"}`:     "full",
		`{"folder":"/c","increment":"-1h"}`:     "increment",
		`{"off":"yes","folder":"/c"}`:           "off",
		`{"folder":"/c","keep":"7","off":true}`: "keep",
	} {
		_, err := read(body)
		require.Error(t, err, body)
		require.ErrorContains(t, err, param, body)
	}
	record, err := read(`{"folder":"/copies","reason":"as agreed"}`)
	require.NoError(t, err)
	require.Equal(t, wire.BackupsSet, record.Op)
	require.Equal(t, &wire.BackupSchedule{Folder: "/copies", Full: 86_400, Increment: 3_600, Tail: 10, Drill: 86_400, Keep: 7}, record.Schedule)
	require.Contains(t, string(record.Fragment), `"reason":"as agreed"`)
	record, err = read(`{"folder":"/c","full":"2h","increment":"2h","tail":"1s","drill":"0s","keep":3}`)
	require.NoError(t, err)
	require.Equal(t, &wire.BackupSchedule{Folder: "/c", Full: 7_200, Increment: 7_200, Tail: 1, Keep: 3}, record.Schedule)
	record, err = read(`{"off":true}`)
	require.NoError(t, err)
	require.Equal(t, wire.BackupsOff, record.Op)
	require.Nil(t, record.Schedule)
}

// A list that becomes active again is no upload, whatever it was.
func TestRolledBackListIsNoUpload(t *testing.T) {
	info := wire.ListInfo{Source: "s", Uploaded: true, Brings: "x", Version: 3}
	require.Equal(t, wire.ListInfo{Source: "s", Version: 3}, rulebook.RollbackTo(&info))
	require.True(t, info.Uploaded, "the history keeps what it was")
}

// A person says until when it is at most.
func TestTimeIsConfirmedUpToAnInstant(t *testing.T) {
	j, _ := edgetest.New(t).Begin(edgetest.Admin(), `{}`)
	record, err := rulebook.ConfirmedTime(j, edgetest.Start+engine.Hour, edge.Grounds{Reason: "I looked at two clocks"})
	require.NoError(t, err)
	require.Equal(t, edgetest.Start+engine.Hour, record.NotAfter)
	require.Contains(t, string(record.Fragment), `"reason":"I looked at two clocks"`)
	require.Contains(t, string(record.Fragment), `"notAfter":`)
}

package fsm

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	cli "flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

var update = cli.Bool("update", false, "write golden files that do not exist; the others are for ever")

// The golden log has one entry in each line, with the outcome that every binary with format 1
// must compute, for ever. The fields, separated by spaces:
//
//	raft term, entry (base64), state digest, number of leaves, tree head
const (
	goldenLog      = "log-v1.txt"
	goldenSnapshot = "snapshot-v1.bin"
)

func golden(name string) string { return filepath.Join("testdata", name) }

// writeOnce writes a golden file if it does not exist and -update is given.
func writeOnce(t *testing.T, name string, data func() []byte) {
	if _, err := os.Stat(golden(name)); err == nil || !*update {
		return
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(golden(name), data(), 0o644))
}

func outcome(v *View) string {
	digest := v.Digest()
	return hex.EncodeToString(digest[:]) + " " + strconv.FormatUint(v.Size, 10) + " " + hex.EncodeToString(v.Root[:])
}

func TestGoldenLog(t *testing.T) {
	writeOnce(t, goldenLog, func() []byte {
		w := history(t, 4711, 260)
		m := New()
		var out Effects
		var text bytes.Buffer
		for i, entry := range w.entries {
			m.Apply(uint64(i+1), w.terms[i], entry, &out)
			fmt.Fprintln(&text, w.terms[i], base64.StdEncoding.EncodeToString(entry), outcome(m.Freeze()))
		}
		return text.Bytes()
	})
	file, err := os.Open(golden(goldenLog))
	require.NoError(t, err)
	defer file.Close()
	m := New()
	var out Effects
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, engine.EntryMax*2)
	index := uint64(0)
	for lines.Scan() {
		index++
		fields := strings.SplitN(lines.Text(), " ", 3)
		require.Len(t, fields, 3)
		term, err := strconv.ParseUint(fields[0], 10, 64)
		require.NoError(t, err)
		entry, err := base64.StdEncoding.DecodeString(fields[1])
		require.NoError(t, err)
		m.Apply(index, term, entry, &out)
		require.Empty(t, out.Stop)
		require.Equal(t, fields[2], outcome(m.Freeze()), "entry %d", index)
		if index%50 == 0 {
			m = restoredFrom(t, m)
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, index, uint64(200))
}

func TestGoldenSnapshot(t *testing.T) {
	writeOnce(t, goldenSnapshot, func() []byte {
		w := furnished(t)
		w.activateList([]byte("the golden list"))
		var data bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&data)
		require.NoError(t, err)
		return data.Bytes()
	})
	data, err := os.ReadFile(golden(goldenSnapshot))
	require.NoError(t, err)
	m, err := Restore(bytes.NewReader(data))
	require.NoError(t, err)
	view := m.Freeze()
	require.Equal(t, 3, view.Agents())
	require.Equal(t, 2, view.Operators())
	require.Equal(t, 1, view.Fleets())
	require.Equal(t, 2, view.OpenReviews())
	_, user, held := view.User(1)
	require.True(t, held)
	require.Equal(t, "Nia", user.LegalName)
	require.Equal(t, "c-test", view.Settings().Genesis.ClusterID)
	require.EqualValues(t, 2, view.Settings().ListVersion)
	require.Equal(t, "the golden list", string(view.listData))
	if m.format == engine.Format1 { // Without a newer format the snapshot is also what this binary writes.
		var again bytes.Buffer
		_, err = view.WriteTo(&again)
		require.NoError(t, err)
		require.Equal(t, data, again.Bytes())
	}
}

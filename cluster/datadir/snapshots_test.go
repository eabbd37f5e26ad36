package datadir

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// failingState is a state whose writing ends with an error.
type failingState struct{}

func (failingState) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(make([]byte, 2*snapshotStep))
	return int64(n), errors.Join(err, io.ErrUnexpectedEOF)
}

// piecewise is a state that is written in pieces, as snapshots of the state machine are.
type piecewise []byte

func (p piecewise) WriteTo(w io.Writer) (int64, error) {
	for at := 0; at < len(p); at += 100_000 {
		if n, err := w.Write(p[at:min(at+100_000, len(p))]); err != nil {
			return int64(at + n), err
		}
	}
	return int64(len(p)), nil
}

// TestSnapshotWrittenInSteps: pauses and syncs change no byte of a snapshot, whether it is
// shorter than a step, some steps long, or a step and a byte.
func TestSnapshotWrittenInSteps(t *testing.T) {
	store, err := OpenSnapshots(SystemDisk{}, t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	_, transport := raft.NewInmemTransport("")
	create := func(index uint64) raft.SnapshotSink {
		sink, err := store.Create(1, index, 1, raft.Configuration{}, 1, transport)
		require.NoError(t, err)
		return sink
	}
	random := rand.NewChaCha8([32]byte{1})
	for index, size := range []int{0, 1000, snapshotStep + 1, 3 * engine.MiB} {
		data := make([]byte, size)
		random.Read(data)
		asked := 0
		sink := create(uint64(index + 1))
		require.NoError(t, WriteGently(sink, piecewise(data), func() bool { asked++; return asked%2 == 0 }))
		require.NoError(t, sink.Close())
		_, source, err := store.Open(sink.ID())
		require.NoError(t, err)
		read, err := io.ReadAll(source)
		require.NoError(t, err)
		require.NoError(t, source.Close())
		require.True(t, bytes.Equal(data, read), "%d bytes", size)
	}
	sink := create(9)
	require.ErrorIs(t, WriteGently(sink, failingState{}, func() bool { return true }), io.ErrUnexpectedEOF)
	require.NoError(t, sink.Cancel())
	require.NoError(t, WriteGently(&raft.DiscardSnapshotSink{}, piecewise("x"), nil), "a sink of another make")
}

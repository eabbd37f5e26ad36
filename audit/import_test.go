package audit_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// wiped returns a store on an empty disk that knows only the tree head of a peer's history and
// the roots of its segments.
func wiped(t tester, peer *audit.Store, d audit.Dir) *audit.Store {
	size := peer.Size()
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	roots, err := peer.SegmentRoots(size)
	require.NoError(t, err)
	s := open(t, d, small)
	require.NoError(t, s.Adopt(size, frontier))
	require.NoError(t, s.ImportRoots(roots))
	return s
}

// slowPeer sends half a file, and the rest only when the test says so.
type slowPeer struct {
	io.Reader
	left    int64
	reached chan struct{}
	goOn    chan error
}

func (p *slowPeer) Read(b []byte) (int, error) {
	if p.left <= 0 && p.reached != nil {
		close(p.reached)
		p.reached = nil
		if err := <-p.goOn; err != nil {
			return 0, err
		}
	}
	n, err := p.Reader.Read(b[:min(len(b), 512)])
	p.left -= int64(n)
	return n, err
}

// TestSlowPeerHoldsUpNothing: while the transfer of a segment hangs, leaves are appended,
// segments sealed and other segments imported. After a crash nothing of the unfinished file
// remains. The same segment is not imported twice at once.
func TestSlowPeerHoldsUpNothing(t *testing.T) {
	const size = 2*smallSegment + 70
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	d := audittest.NewMemDir()
	s := wiped(t, peer, d)
	file, err := peer.ExportSegment(0)
	require.NoError(t, err)
	defer file.Close()
	slow := &slowPeer{Reader: file, left: file.Size() / 2, reached: make(chan struct{}), goOn: make(chan error)}
	reached, imported := slow.reached, make(chan error)
	go func() { imported <- s.ImportSegment(0, slow, file.Size()) }()
	<-reached

	fill(t, s, 5*smallSegment) // With the options in small, Append seals the segment itself, so it would wait here.
	_, err = s.ExportSegment(4)
	require.NoError(t, err, "sealed meanwhile")
	require.True(t, importWhole(t, s, peer, audit.Range{First: smallSegment, End: 2 * smallSegment}))
	other, err := peer.ExportSegment(0)
	require.NoError(t, err)
	defer other.Close()
	require.ErrorIs(t, s.ImportSegment(0, other, other.Size()), audit.ErrLimit, "it is on its way")
	require.NoError(t, s.SyncTo(s.Size()))
	crashed := d.CrashClone(audittest.LoseNone, nil)
	again := open(t, crashed, small)
	for name := range crashed.Files() {
		require.False(t, strings.HasSuffix(name, ".tmp"), "%s is left of an import that a crash ended", name)
	}
	requireLeaves(t, again, smallSegment, 2*smallSegment)
	_, err = again.Leaf(5)
	require.ErrorIs(t, err, audit.ErrMissing)

	slow.goOn <- nil
	require.NoError(t, <-imported)
	requireLeaves(t, s, 0, 2*smallSegment)
}

// TestPeerDiesHalfWay: nothing of a file that breaks off is used or left on the disk. The file
// of the next peer is imported.
func TestPeerDiesHalfWay(t *testing.T) {
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, smallSegment+3)
	d := audittest.NewMemDir()
	s := wiped(t, peer, d)
	file, err := peer.ExportSegment(0)
	require.NoError(t, err)
	defer file.Close()
	dead := errors.New("connection reset")
	slow := &slowPeer{Reader: file, left: file.Size() / 2, reached: make(chan struct{}), goOn: make(chan error, 1)}
	slow.goOn <- dead
	require.ErrorIs(t, s.ImportSegment(0, slow, file.Size()), dead)
	require.NoError(t, s.Broken())
	for name := range d.Files() {
		require.False(t, strings.HasSuffix(name, ".tmp"), name)
	}
	require.True(t, importWhole(t, s, peer, audit.Range{First: 0, End: smallSegment}))
	requireLeaves(t, s, 0, smallSegment)
}

// TestImportOnAFullDisk: if there is no room for a segment, only its import fails. It succeeds
// when there is room.
func TestImportOnAFullDisk(t *testing.T) {
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, smallSegment+3)
	d := audittest.NewMemDir()
	s := wiped(t, peer, d)
	full := errors.New("no space left on device")
	d.Hook = func(operation, name string) error {
		if full != nil && operation == "write" && strings.HasSuffix(name, ".tmp") {
			return full
		}
		return nil
	}
	fetch := func() error {
		file, err := peer.ExportSegment(0)
		require.NoError(t, err)
		defer file.Close()
		return s.ImportSegment(0, file, file.Size())
	}
	require.ErrorIs(t, fetch(), full)
	require.NoError(t, s.Broken())
	fill(t, s, s.Size()+10)
	full = nil
	require.NoError(t, fetch())
	requireLeaves(t, s, 0, smallSegment)
}

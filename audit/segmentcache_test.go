package audit

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var firstSegment = segmentName(0, segmentSuffix)

// heldDir is a disk that can delay the opening of files until the test releases them.
type heldDir struct {
	Dir
	mu     sync.Mutex
	held   map[string]*heldFile
	opened map[string]int
}

type heldFile struct {
	asked, let chan struct{}
	err        error
}

func (d *heldDir) hold(name string) *heldFile {
	h := &heldFile{asked: make(chan struct{}, 8), let: make(chan struct{})}
	d.mu.Lock()
	d.held[name] = h
	d.mu.Unlock()
	return h
}

func (d *heldDir) Open(name string) (File, error) {
	d.mu.Lock()
	d.opened[name]++
	h := d.held[name]
	d.mu.Unlock()
	if h != nil {
		h.asked <- struct{}{}
		if <-h.let; h.err != nil {
			return nil, h.err
		}
	}
	return d.Dir.Open(name)
}

// sealedCache returns a cache over three sealed segments, none of which is open.
func sealedCache(t *testing.T) (*segmentCache, *heldDir) {
	disk := &heldDir{Dir: OSDir(t.TempDir()), held: map[string]*heldFile{}, opened: map[string]int{}}
	s, err := Open(disk, Options{SegmentLevel: 9, SealInline: true})
	require.NoError(t, err)
	for i := range uint64(3<<9 + 1) {
		require.NoError(t, s.Append(i, []Leaf{{Time: int64(i) + 1, Data: []byte{byte(i), byte(i >> 8)}}}))
	}
	require.NoError(t, s.Close())
	clear(disk.opened)
	return newSegmentCache(disk, geometry{9}), disk
}

// TestSlowSegmentHoldsUpNoOther: while the file of one segment is being opened, other segments
// are read, and open segments are released and dropped.
func TestSlowSegmentHoldsUpNoOther(t *testing.T) {
	c, disk := sealedCache(t)
	slow := disk.hold(firstSegment)
	var waiting sync.WaitGroup
	var failed atomic.Int32
	for range 4 {
		waiting.Go(func() {
			s, err := c.acquire(0, false)
			if err != nil {
				failed.Add(1)
				return
			}
			c.release(s)
		})
	}
	<-slow.asked
	other, err := c.acquire(1, false)
	require.NoError(t, err)
	c.release(other)
	c.dropSegment(1)
	close(slow.let)
	waiting.Wait()
	require.Zero(t, failed.Load())
	require.Equal(t, 1, disk.opened[firstSegment], "opened once for all who asked")
	c.closeAll()
}

// TestSegmentReplacedWhileItIsOpened: a reader that was opening the old file reads it to its
// end. The old file does not stay in the cache for later readers.
func TestSegmentReplacedWhileItIsOpened(t *testing.T) {
	c, disk := sealedCache(t)
	slow := disk.hold(firstSegment)
	got := make(chan *openSegment)
	go func() {
		s, _ := c.acquire(0, false)
		got <- s
	}()
	<-slow.asked
	c.dropSegment(0)
	disk.mu.Lock()
	delete(disk.held, firstSegment)
	disk.mu.Unlock()
	later, err := c.acquire(0, false)
	require.NoError(t, err)
	close(slow.let)
	old := <-got
	require.NotNil(t, old)
	require.NotSame(t, old, later)
	_, err = old.readBundle(0)
	require.NoError(t, err, "still readable")
	c.release(old)
	_, err = old.readBundle(0)
	require.Error(t, err, "closed with its last reader")
	again, err := c.acquire(0, false)
	require.NoError(t, err)
	require.Same(t, later, again)
	c.closeAll()
}

// TestSegmentThatCannotBeOpened: all readers that waited for the segment get the error. The
// next reader tries again.
func TestSegmentThatCannotBeOpened(t *testing.T) {
	c, disk := sealedCache(t)
	slow := disk.hold(firstSegment)
	slow.err = errors.New("unreadable")
	close(slow.let)
	_, err := c.acquire(0, false)
	require.ErrorIs(t, err, slow.err)
	disk.held = map[string]*heldFile{}
	s, err := c.acquire(0, false)
	require.NoError(t, err)
	c.release(s)
	c.closeAll()
}

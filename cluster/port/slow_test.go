package port

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// slowPeer is a link to a peer that answers pings late or never, and all other calls at once.
type slowPeer struct {
	*Link
	dialled int
}

func newSlowPeer(t *testing.T, late time.Duration) *slowPeer {
	p := &slowPeer{}
	service := NewService()
	Handle(service, func(ctx context.Context, _ string, _ *PingCall) (*Pong, error) {
		time.Sleep(late)
		return &Pong{ID: "n2"}, nil
	})
	Handle(service, func(context.Context, string, *TermCall) (*TermReply, error) { return &TermReply{Term: 7}, nil })
	p.Link = NewLink(func(time.Duration) (net.Conn, error) {
		p.dialled++
		near, far := net.Pipe()
		go service.Serve(Peer{ID: "n1"}, far)
		return near, nil
	})
	t.Cleanup(p.Close)
	return p
}

// ask asks with a time limit. It returns nil if an answer came.
func ask[A any](p *slowPeer, q Request[A], patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := Ask(ctx, p.Link, q)
	return err
}

// TestLateAnswersKeepTheConnection: a busy peer answers pings after the caller has given up.
// That costs no new handshake and ends no other calls.
func TestLateAnswersKeepTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSlowPeer(t, 600*time.Millisecond)
		for range 20 {
			require.ErrorIs(t, ask(p, PingCall{}, 400*time.Millisecond), context.DeadlineExceeded)
			require.NoError(t, ask(p, TermCall{}, time.Second))
		}
		require.Equal(t, 1, p.dialled)
		time.Sleep(time.Second)
		p.Close()
		synctest.Wait()
	})
}

// TestSilentPeerIsDialledAnew: a peer that sends nothing for a second counts as gone.
func TestSilentPeerIsDialledAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newSlowPeer(t, time.Minute)
		start := time.Now()
		for p.dialled < 2 {
			require.Error(t, ask(p, PingCall{}, 400*time.Millisecond))
		}
		require.Equal(t, 1600*time.Millisecond, time.Since(start), "the fourth ping goes over a new connection")
		p.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}

// thinConn is the slowest supported link.
type thinConn struct{ net.Conn }

func (c thinConn) Write(p []byte) (written int, err error) {
	const second, piece = 20_000_000 / 8, 16 * engine.KiB
	for len(p) > 0 && err == nil {
		var n int
		time.Sleep(time.Second * time.Duration(min(len(p), piece)) / second)
		n, err = c.Conn.Write(p[:min(len(p), piece)])
		written += n
		p = p[n:]
	}
	return written, err
}

// TestAppendsComeThroughASlowLink: however many large entries a peer is behind, the slowest
// supported link and disk can handle each append in time, and raft sees how many entries went.
func TestAppendsComeThroughASlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := transportPairOver(t, func(c net.Conn) net.Conn { return thinConn{c} })
		var got []uint64
		var taking sync.WaitGroup
		end := make(chan struct{})
		taking.Go(func() {
			for {
				var rpc raft.RPC
				select {
				case rpc = <-to.Consumer():
				case <-end:
					return
				}
				size := 0
				for _, entry := range rpc.Command.(*raft.AppendEntriesRequest).Entries {
					got = append(got, entry.Index)
					size += len(entry.Data)
				}
				time.Sleep(time.Second * time.Duration(size) / 5_000_000) // This is the slowest disk.
				rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
			}
		})
		const behind = 32
		for next := uint64(1); next <= behind; {
			request := &raft.AppendEntriesRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n1"), Addr: []byte("127.0.0.1:2/bb")}, Term: 5,
			}
			for index := next; index <= behind; index++ {
				request.Entries = append(request.Entries, &raft.Log{Index: index, Data: make([]byte, engine.EntryMax)})
			}
			var response raft.AppendEntriesResponse
			require.NoError(t, from.AppendEntries("n2", "127.0.0.1:1/aa", request, &response))
			require.True(t, response.Success)
			require.NotEmpty(t, request.Entries)
			next = request.Entries[len(request.Entries)-1].Index + 1
		}
		close(end)
		taking.Wait()
		require.Len(t, got, behind)
		for i, index := range got {
			require.EqualValues(t, i+1, index)
		}
		require.NoError(t, from.Close())
		require.NoError(t, to.Close())
	})
}

// TestOneEntryAlwaysFits: an entry larger than the bound of an append goes alone, and small
// entries are not held back.
func TestOneEntryAlwaysFits(t *testing.T) {
	huge := &raft.Log{Data: make([]byte, appendBytesMax+1)}
	small := &raft.Log{Data: make([]byte, 1024)}
	require.Len(t, fittingEntries([]*raft.Log{huge, huge}), 1)
	require.Len(t, fittingEntries([]*raft.Log{small, huge, small}), 1)
	require.Len(t, fittingEntries([]*raft.Log{small, small, small}), 3)
	require.Empty(t, fittingEntries(nil))
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/port"
	"railguard/engine"
)

// fetchStep is how much of a segment file one call carries. Both sides hold several copies of a
// piece on its way, so it is small compared with the file.
const fetchStep = engine.MiB

var errOffset = errors.New("cluster: no such place in the segment's file")

// answerPeers returns the calls that this node answers its peers.
func (n *Node) answerPeers() *port.Service {
	s := port.NewService()
	s.Guard = n.greeter.refuseStranger
	port.HandleInOrder(s, n.arrivals.takeForwarded)
	port.HandleInOrder(s, n.arrivals.takeGiveUp)
	port.Handle(s, func(context.Context, string, *port.PingCall) (*port.Pong, error) { return n.makePong(), nil })
	port.Handle(s, func(ctx context.Context, _ string, _ *port.ReadIndexCall) (*port.ReadIndexReply, error) {
		index, term, err := n.reads.askReadIndexHere(ctx)
		return &port.ReadIndexReply{Index: index, Term: term}, err
	})
	port.Handle(s, func(context.Context, string, *port.TermCall) (*port.TermReply, error) {
		return &port.TermReply{Term: n.replica.raft.CurrentTerm()}, nil
	})
	port.Handle(s, func(ctx context.Context, _ string, q *port.JoinCall) (*port.Done, error) {
		return &port.Done{}, n.membership.hearJoin(ctx, q)
	})
	port.Handle(s, func(ctx context.Context, peer string, q *port.VerbCall) (*port.Done, error) {
		if _, known := n.replica.findServer(raft.ServerID(peer)); !known { // A node must not admit itself.
			return nil, fmt.Errorf("cluster: node %q is no member", peer)
		}
		return &port.Done{}, n.membership.doVerb(ctx, q)
	})
	port.Handle(s, func(_ context.Context, _ string, q *port.RemovedCall) (*port.Done, error) {
		return &port.Done{}, n.finder.hearRemoved(q)
	})
	port.Handle(s, func(_ context.Context, peer string, q *port.PromiseCall) (*port.Done, error) {
		if q.ID != peer { // The promise is given once for ever, so nobody may ask for it in another node's name.
			return nil, fmt.Errorf("cluster: node %q asks for a promise to %q", peer, q.ID)
		}
		return &port.Done{}, n.finder.givePromise(q)
	})
	port.Handle(s, n.answerTime)
	port.Handle(s, n.greeter.secret.answerChallenge)
	port.Handle(s, n.greeter.answerVouch)
	port.Handle(s, n.history.answerLeaf)
	port.Handle(s, func(_ context.Context, _ string, q *port.RootsCall) (*port.RootsReply, error) {
		roots, err := n.audit.SegmentRoots(q.Size)
		return &port.RootsReply{Roots: hashesTo(roots)}, err
	})
	port.Handle(s, n.history.answerBundle)
	port.Handle(s, n.history.answerSegment)
	port.Handle(s, n.lists.answerList)
	port.Handle(s, n.digester.answerDigest)
	port.Handle(s, func(ctx context.Context, _ string, q *port.RelayCall) (*port.RelayReply, error) {
		if do := n.peers.relayed.Load(); do != nil {
			return &port.RelayReply{Body: (*do)(ctx, q.Body)}, nil
		}
		return nil, errNotYetRelayed
	})
	return s
}

// errNotYetRelayed says that this node has just started. An empty answer would wrongly say that
// it has none.
var errNotYetRelayed = errors.New("cluster: this node does not answer such questions yet")

// relayed answers another node's question.
type relayed func(ctx context.Context, question []byte) []byte

// OnRelay sets do as the function that answers the questions other members send with Relay.
func OnRelay(n *Node, do func(ctx context.Context, question []byte) []byte) {
	answer := relayed(do)
	n.peers.relayed.Store(&answer)
}

// Relay asks another member what its OnRelay function answers. It returns no bytes if that
// answers nothing, and an error if the member could not be asked.
func Relay(ctx context.Context, n *Node, to string, question []byte) ([]byte, error) {
	if n.peers.hasNoPort() {
		return nil, errNoPort
	}
	r, err := port.Ask(ctx, n.peers.linkTo(to, linkRelay), &port.RelayCall{Body: question})
	if err != nil {
		return nil, fmt.Errorf("cluster: relay to %q: %w", to, err)
	}
	return r.Body, nil
}

// Others returns the ids of all members but this node.
func Others(n *Node) (ids []string) {
	for _, id := range n.replica.otherIDs() {
		ids = append(ids, string(id))
	}
	return ids
}

func (h *history) answerLeaf(_ context.Context, _ string, q *port.LeafCall) (*port.LeafReply, error) {
	data, err := h.audit.Leaf(q.Leaf)
	switch {
	case errors.Is(err, audit.ErrPruned):
		return &port.LeafReply{Code: port.CodePruned}, nil
	case errors.Is(err, audit.ErrNotYet):
		return &port.LeafReply{Code: port.CodeNotYet}, nil
	case err != nil:
		return &port.LeafReply{Code: port.CodeMissing}, nil //nolint:nilerr // The peer asks another node; scrubbing here names the damage.
	}
	return &port.LeafReply{Data: data}, nil
}

func (h *history) answerBundle(ctx context.Context, _ string, m *port.BundleCall) (*port.BundleReply, error) {
	for h.audit.Size() < m.Size { // The asker may be ahead by an entry or two.
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	leaves, err := h.audit.Bundle(m.Number, m.Width)
	if err != nil {
		return nil, err
	}
	path, err := h.audit.BundleProof(m.Number, m.Width, m.Size)
	if err != nil {
		return nil, err
	}
	data, err := audit.AppendBundle(nil, leaves)
	return &port.BundleReply{Data: data, Path: path}, err
}

func (h *history) answerSegment(_ context.Context, _ string, m *port.SegmentCall) (*port.SegmentReply, error) {
	file, err := h.audit.ExportSegment(m.Segment)
	if errors.Is(err, audit.ErrMissing) {
		return &port.SegmentReply{Code: port.CodeMissing}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if m.Offset < 0 || m.Offset > file.Size() {
		return nil, errOffset
	}
	// The file's own bytes are sent: nothing is unpacked or packed again for a peer.
	data := make([]byte, min(fetchStep, file.Size()-m.Offset))
	if _, err := file.ReadAt(data, m.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &port.SegmentReply{Data: data, Total: file.Size()}, nil
}

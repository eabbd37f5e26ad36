package cluster

import (
	"context"
	"errors"
	"io"
	"time"

	"railguard/audit"
	"railguard/engine"
)

// fetchStep is how much of a segment file one call takes. Every piece is held some
// times over on its way, on both sides, so it is small against the file.
const fetchStep = engine.MiB

var errOffset = errors.New("cluster: no such place in the segment's file")

// Codes of numberReply.
const (
	codeMissing uint8 = 1 // Not here; another peer may have it.
	codePruned  uint8 = 2
	codeNotYet  uint8 = 3
)

// answerHistory answers what peers ask of history, states and lists.
func (n *Node) answerHistory(ctx context.Context, kind call, payload []byte) (any, error) {
	var m numberCall
	if err := decodeMessage(payload, &m); err != nil {
		return nil, err
	}
	switch kind {
	case callLeaf:
		return n.answerLeaf(m.Number)
	case callRoots:
		roots, err := n.audit.SegmentRoots(m.Size)
		return &numberReply{Hashes: hashesTo(roots)}, err
	case callBundle:
		return n.answerBundle(ctx, &m)
	case callSegment:
		return n.answerSegment(&m)
	case callList:
		return n.answerList(&m)
	case callDigest:
		return n.answerDigest(&m), nil
	}
	return nil, errUnknownCall
}

func (n *Node) answerLeaf(index uint64) (any, error) {
	data, err := n.audit.Leaf(index)
	switch {
	case errors.Is(err, audit.ErrPruned):
		return &numberReply{Code: codePruned}, nil
	case errors.Is(err, audit.ErrNotYet):
		return &numberReply{Code: codeNotYet}, nil
	case err != nil:
		return &numberReply{Code: codeMissing}, nil
	}
	return &numberReply{Data: data}, nil
}

func (n *Node) answerBundle(ctx context.Context, m *numberCall) (any, error) {
	for n.audit.Size() < m.Size { // The asker may be ahead by an entry or two.
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	leaves, err := n.audit.Bundle(m.Number, m.Width)
	if err != nil {
		return nil, err
	}
	path, err := n.audit.BundleProof(m.Number, m.Width, m.Size)
	if err != nil {
		return nil, err
	}
	data, err := audit.AppendBundle(nil, leaves)
	return &numberReply{Data: data, Hashes: path}, err
}

func (n *Node) answerSegment(m *numberCall) (any, error) {
	file, err := n.audit.ExportSegment(m.Number)
	if errors.Is(err, audit.ErrMissing) {
		return &numberReply{Code: codeMissing}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if m.Offset < 0 || m.Offset > file.Size() {
		return nil, errOffset
	}
	// The file's own bytes: nothing is unpacked or packed again for a peer.
	data := make([]byte, min(fetchStep, file.Size()-m.Offset))
	if _, err := file.ReadAt(data, m.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &numberReply{Data: data, Total: file.Size()}, nil
}

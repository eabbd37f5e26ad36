package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/audit"
	"railguard/cluster/port"
)

var piecesRefused = metrics.NewCounter("railguard_cluster_history_pieces_refused_total")

// When the connection breaks, only the piece that was on its way is asked for again.
const (
	pieceTries = 4
	pieceRetry = 200 * time.Millisecond
)

var errFileChanged = errors.New("cluster: the peer's file changed while it was fetched")

// segmentSource reads a peer's segment file piece by piece.
type segmentSource struct {
	life   *life
	link   *port.Link
	number uint64
	offset int64
	total  int64
	piece  bytes.Reader
}

// fetchPiece fetches the next piece.
func (s *segmentSource) fetchPiece() (err error) {
	for try := range pieceTries {
		if try > 0 && !s.pauseFetching() {
			return errHalted
		}
		if err = s.fetchOnce(); err == nil || !errors.Is(err, port.ErrLinkDown) && !errors.Is(err, port.ErrNotSent) {
			return err
		}
		if s.offset == 0 {
			return err // This file has no pieces yet, so nothing is lost by asking the next peer.
		}
	}
	return err
}

// pauseFetching waits before a piece is asked for again. It returns false if the node stops.
func (s *segmentSource) pauseFetching() bool {
	timer := time.NewTimer(pieceRetry)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.life.stop:
		return false
	}
}

func (s *segmentSource) fetchOnce() error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	r, err := port.Ask(ctx, s.link, &port.SegmentCall{Segment: s.number, Offset: s.offset})
	switch {
	case err != nil:
		return err
	case r.Code == port.CodeMissing:
		return audit.ErrMissing
	case len(r.Data) == 0:
		return io.ErrUnexpectedEOF
	case s.offset > 0 && r.Total != s.total:
		return errFileChanged
	}
	s.total = r.Total
	s.offset += int64(len(r.Data))
	s.piece.Reset(r.Data)
	return nil
}

// Read implements io.Reader.
func (s *segmentSource) Read(p []byte) (int, error) {
	if s.life.hasEnded() {
		return 0, errHalted
	}
	if s.piece.Len() == 0 {
		if s.offset >= s.total {
			return 0, io.EOF
		}
		if err := s.fetchPiece(); err != nil {
			return 0, err
		}
	}
	return s.piece.Read(p)
}

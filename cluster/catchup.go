package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
)

// A node that installed a snapshot has the state but not the history before it.
// It takes the tree head's compact range from a peer (and believes it only if it
// gives the snapshot's root), goes on appending behind it, and fetches what is
// missing while it serves: each piece is believed only if it leads to a root
// that the replicated state vouches for.
const (
	segmentLeaves  = 1 << audit.SegmentLevelMax
	bundleLeaves   = 256
	fetchStep      = 4 * engine.MiB // Of a segment file, in one call.
	fetchPatience  = 10 * time.Second
	adoptPatience  = 10 * time.Second
	catchUpEvery   = time.Second // Between two looks at what is missing.
	missingLookups = 64
)

// catchUp is the state of fetching.
type catchUp struct {
	busy atomic.Bool   // History before the snapshot is not all here.
	wake chan struct{} // Look again now.
}

// adopt holds history on disk to the tree head of a state that was restored, and
// declares a hole where some is missing.
func (n *Node) adopt(view *fsm.View) error {
	defer n.audit.Prune(view.Oldest)
	if n.audit.Size() >= view.Size {
		// Fetching may have been interrupted: the root can be known and leaves not.
		n.catchup.busy.Store(len(n.audit.Missing(1)) > 0)
		root, err := n.audit.Root(view.Size)
		switch {
		case errors.Is(err, audit.ErrMissing):
			return nil
		case err != nil:
			return fmt.Errorf("history on disk: %w", err)
		case root != view.Root:
			return fmt.Errorf("history on disk is not that of the snapshot at index %d: its tree head differs", view.Index)
		}
		return nil
	}
	frontier, err := n.fetchFrontier(view)
	if err != nil {
		return fmt.Errorf("history on disk has %d leaves and the snapshot %d: %w", n.audit.Size(), view.Size, err)
	}
	if err := n.audit.Adopt(view.Size, frontier); err != nil {
		return fmt.Errorf("history on disk: %w", err)
	}
	if err := n.folder.adopt(view.Size); err != nil {
		return err
	}
	n.catchup.busy.Store(true)
	n.log.Warn("history before the snapshot is fetched from peers", "leaves", view.Size)
	return nil
}

// fetchFrontier asks peers for the compact range of a tree until one gives the
// right one.
func (n *Node) fetchFrontier(view *fsm.View) ([]audit.Hash, error) {
	ctx, cancel := context.WithTimeout(context.Background(), adoptPatience)
	defer cancel()
	err := error(errNoPort)
	for ctx.Err() == nil && n.mux != nil {
		for _, l := range n.historyPeers() {
			var r numberReply
			if err = l.call(ctx, callFrontier, &numberCall{Size: view.Size}, &r); err != nil {
				continue
			}
			var frontier []audit.Hash
			if frontier, err = hashesFrom(r.Hashes); err != nil {
				continue
			}
			if rootOf(frontier) == view.Root {
				return frontier, nil
			}
			err = errors.New("a peer's compact range does not give the snapshot's root")
		}
		select {
		case <-time.After(redialPause):
		case <-n.stop:
			return nil, errHalted
		}
	}
	return nil, err
}

// rootOf folds a compact range, right to left (RFC 6962, section 2.1).
func rootOf(frontier []audit.Hash) audit.Hash {
	if len(frontier) == 0 {
		return sha256.Sum256(nil)
	}
	root := frontier[len(frontier)-1]
	for i := len(frontier) - 2; i >= 0; i-- {
		root = sha256.Sum256(append(append([]byte{1}, frontier[i][:]...), root[:]...))
	}
	return root
}

// historyPeers are links to those who may have history, the leader first. Before
// the first configuration is known these are the addresses to join through.
func (n *Node) historyPeers() []*link {
	var links []*link
	leader, _ := n.remoteLeader()
	if leader != "" {
		links = append(links, n.peers.link(string(leader), linkFetch))
	}
	for _, server := range n.servers() {
		if id := string(server.ID); id != n.config.ID && server.ID != leader {
			links = append(links, n.peers.link(id, linkFetch))
		}
	}
	if len(links) == 0 {
		for _, host := range n.hostsOnDisk() {
			links = append(links, n.peers.linkTo(host))
		}
	}
	return links
}

// hostsOnDisk are where peers may be while raft is not up yet: the addresses to
// join through, and those of the newest snapshot's configuration.
func (n *Node) hostsOnDisk() []string {
	hosts := append([]string(nil), n.config.Join...)
	metas, err := n.snaps.List()
	if err != nil || len(metas) == 0 {
		return hosts
	}
	for _, server := range metas[0].Configuration.Servers {
		if string(server.ID) != n.config.ID {
			hosts = append(hosts, hostOf(string(server.Address)))
		}
	}
	return hosts
}

func hashesFrom(data [][]byte) ([]audit.Hash, error) {
	hashes := make([]audit.Hash, len(data))
	for i, h := range data {
		if len(h) != len(hashes[i]) {
			return nil, errors.New("a peer's hash has a wrong length")
		}
		copy(hashes[i][:], h)
	}
	return hashes, nil
}

func hashesTo(hashes []audit.Hash) [][]byte {
	data := make([][]byte, len(hashes))
	for i := range hashes {
		data[i] = hashes[i][:]
	}
	return data
}

// fetchHistory is the goroutine that fills holes, also those that damage on the
// own disk has made.
func (n *Node) fetchHistory() {
	defer n.running.Done()
	ticker := time.NewTicker(catchUpEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-ticker.C:
		case <-n.catchup.wake:
		}
		if !n.catchup.busy.Load() && len(n.audit.Damage()) == 0 {
			continue
		}
		if err := n.fillHoles(); err != nil {
			n.log.Warn("history is still incomplete", "error", err)
		}
	}
}

// fillHoles fetches until nothing is missing or nothing can be had.
func (n *Node) fillHoles() error {
	for {
		select {
		case <-n.stop:
			return nil
		default:
		}
		missing := n.audit.Missing(missingLookups)
		if len(missing) == 0 {
			if n.catchup.busy.Swap(false) {
				n.log.Info("history is complete")
			}
			return nil
		}
		for _, stretch := range missing {
			if err := n.fetchStretch(stretch); err != nil {
				return fmt.Errorf("leaves %d to %d: %w", stretch.First, stretch.End-1, err)
			}
		}
	}
}

// fetchStretch fetches one stretch from the first peer that has it.
func (n *Node) fetchStretch(stretch audit.Range) error {
	whole := stretch.First%segmentLeaves == 0 && stretch.End-stretch.First == segmentLeaves
	err := error(errNoPort)
	for _, l := range n.historyPeers() {
		if whole {
			if err = n.fetchSegment(l, stretch.First/segmentLeaves); err == nil {
				return nil
			}
			if stretch.HashesOnly {
				continue
			}
		}
		if err = n.fetchBundles(l, stretch); err == nil {
			return nil
		}
	}
	return err
}

// fetchBundles fetches a stretch bundle by bundle.
func (n *Node) fetchBundles(l *link, stretch audit.Range) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	view, err := n.View(ctx, 0)
	cancel()
	if err != nil {
		return err
	}
	trust := audit.Trust{Size: view.Size, Root: view.Root}
	for first := stretch.First - stretch.First%bundleLeaves; first < min(stretch.End, view.Size); first += bundleLeaves {
		width := int(min(bundleLeaves, view.Size-first))
		ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
		var r numberReply
		err := l.call(ctx, callBundle, &numberCall{Number: first / bundleLeaves, Width: width, Size: view.Size}, &r)
		cancel()
		if err != nil {
			return err
		}
		leaves, err := audit.ParseBundle(r.Data, width)
		if err != nil {
			return err
		}
		if err := n.audit.ImportBundle(first/bundleLeaves, leaves, trust, r.Hashes); err != nil {
			return err
		}
	}
	return nil
}

// fetchSegment fetches a sealed segment's file. Its root must be known first.
func (n *Node) fetchSegment(l *link, number uint64) error {
	source := &segmentSource{node: n, link: l, number: number}
	if err := source.fill(); err != nil {
		return err
	}
	err := n.audit.ImportSegment(number, source, source.total)
	if !errors.Is(err, audit.ErrMissing) {
		return err
	}
	if err := n.fetchRoots(l); err != nil {
		return err
	}
	source = &segmentSource{node: n, link: l, number: number}
	if err := source.fill(); err != nil {
		return err
	}
	return n.audit.ImportSegment(number, source, source.total)
}

func (n *Node) fetchRoots(l *link) error {
	size := n.folder.adopted()
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	var r numberReply
	if err := l.call(ctx, callRoots, &numberCall{Size: size}, &r); err != nil {
		return err
	}
	roots, err := hashesFrom(r.Hashes)
	if err != nil {
		return err
	}
	return n.audit.ImportRoots(roots)
}

// segmentSource reads a peer's segment file piece by piece.
type segmentSource struct {
	node   *Node
	link   *link
	number uint64
	offset int64
	total  int64
	piece  bytes.Reader
}

// fill fetches the next piece.
func (s *segmentSource) fill() error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	var r numberReply
	err := s.link.call(ctx, callSegment, &numberCall{Number: s.number, Offset: s.offset}, &r)
	switch {
	case err != nil:
		return err
	case r.Code == codeMissing:
		return audit.ErrMissing
	case len(r.Data) == 0:
		return io.ErrUnexpectedEOF
	}
	s.total = r.Total
	s.offset += int64(len(r.Data))
	s.piece.Reset(r.Data)
	return nil
}

// Read implements io.Reader.
func (s *segmentSource) Read(p []byte) (int, error) {
	if s.piece.Len() == 0 {
		if s.offset >= s.total {
			return 0, io.EOF
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	return s.piece.Read(p)
}

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
	case callFrontier:
		hashes, err := n.audit.Frontier(m.Size)
		return &numberReply{Hashes: hashesTo(hashes)}, err
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
	data := make([]byte, min(fetchStep, max(file.Size()-m.Offset, 0)))
	if _, err := file.ReadAt(data, m.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &numberReply{Data: data, Total: file.Size()}, nil
}

// Leaf returns a leaf's bytes: this node's own, and where these are not here (not
// yet applied, still being fetched, damaged) a peer's.
func (n *Node) Leaf(ctx context.Context, index uint64) ([]byte, error) {
	data, err := n.audit.Leaf(index)
	if err == nil || errors.Is(err, audit.ErrPruned) || n.mux == nil {
		return data, err
	}
	for _, l := range n.historyPeers() {
		var r numberReply
		if l.call(ctx, callLeaf, &numberCall{Number: index}, &r) != nil {
			continue
		}
		switch r.Code {
		case 0:
			return r.Data, nil
		case codePruned:
			return nil, audit.ErrPruned
		}
	}
	return nil, err
}

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm"
)

// A node that installed a snapshot has the state but not the history before it. The state has
// the tree head's compact range, so the node appends behind it at once, and fetches what is
// missing while it serves. It accepts a piece only if it leads to a root that the replicated
// state vouches for.
//
// What was fetched stays: a broken connection costs one piece of a file, and a restart costs
// the files that are on their way. A peer whose piece does not lead to the root is not asked
// for that piece again; another one is.
const (
	fetchPatience = 10 * time.Second
	leafPatience  = 500 * time.Millisecond // How long one peer may take to give a leaf.
	catchUpEvery  = time.Second            // Pause between two looks at what is missing.
	// catchUpPauseMax is the longest such pause, after looks that brought nothing.
	catchUpPauseMax = 16 * time.Second
	missingLookups  = 16_384 // How many stretches one pass may have; enough for a billion leaves.
	// fetchAhead is how many segments are fetched at once: while one is hashed, the next one
	// comes. More would take processor time from screening.
	fetchAhead = 2
)

// history is this node's copy of the audit log. It fetches what is missing here, and gives
// other nodes what they miss.
type history struct {
	life    *life
	folder  *datadir.Folder
	audit   *audit.Store
	state   *state
	replica *replica
	peers   *peers
	disk    *disk

	busy atomic.Bool   // History before the snapshot is not complete here.
	wake chan struct{} // Asks for a look at what is missing.
}

// adoptView compares history on disk with the tree head of a restored state, and declares a
// hole where some is missing. It needs no peer: a node restores its snapshot before it knows
// the members.
func (h *history) adoptView(view *fsm.View) error {
	defer h.audit.Prune(view.Oldest)
	if h.audit.Size() >= view.Size {
		// Fetching may have been interrupted: then the root is known, and leaves can be
		// missing.
		h.busy.Store(len(h.audit.Missing(1)) > 0)
		root, err := h.audit.Root(view.Size)
		switch {
		case errors.Is(err, audit.ErrMissing):
			return nil
		case errors.Is(err, audit.ErrCorrupt): // What is damaged is fetched again like what is missing.
			h.life.log.Error("history on disk is damaged where the snapshot's tree head is", "error", err)
			h.busy.Store(true)
			return nil
		case err != nil:
			return fmt.Errorf("history on disk: %w", err)
		case root != view.Root:
			return fmt.Errorf("history on disk is not that of the snapshot at index %d: its tree head differs", view.Index)
		}
		return nil
	}
	frontier, err := hashesFrom(view.Frontier())
	if err != nil {
		return err
	}
	h.busy.Store(true)
	// The size for which roots are asked is stored before the hole is declared: a crash between
	// the two leaves neither a hole nor a size without use.
	if err := h.folder.Adopt(view.Size); err != nil {
		return err
	}
	if err := h.audit.Adopt(view.Size, frontier); err != nil {
		return fmt.Errorf("history on disk: %w", err)
	}
	h.busy.Store(true) // Set again: somebody may have looked before the hole was declared, found none and cleared it.
	h.life.log.Warn("history before the snapshot is fetched from peers", "leaves", view.Size)
	return nil
}

// fetchPeers returns links to the other members, in the order in which to ask them: first those
// with whole history, then the leader, which has other work, then those that fetch history
// themselves.
func (h *history) fetchPeers() []*port.Link {
	leader, _ := h.replica.remoteLeader()
	burden := func(id raft.ServerID) int {
		s, fresh := h.peers.freshSample(string(id))
		switch {
		case !fresh || s.silent:
			return 3
		case s.pong.Missing:
			return 2
		case id == leader:
			return 1
		}
		return 0
	}
	members := h.replica.otherIDs()
	slices.SortStableFunc(members, func(a, b raft.ServerID) int { return cmp.Compare(burden(a), burden(b)) })
	return h.peers.linksTo(members, linkFetch)
}

func hashesFrom(data [][]byte) ([]audit.Hash, error) {
	hashes := make([]audit.Hash, len(data))
	for i, from := range data {
		if len(from) != len(hashes[i]) {
			return nil, errors.New("a hash has a wrong length")
		}
		copy(hashes[i][:], from)
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

// fillHistory is the goroutine that fills holes, also those made by damage on the own disk.
// After each pass that brought nothing it waits longer, so that pieces that no peer has whole
// are not carried over the network again and again.
func (h *history) fillHistory() {
	pause, told := catchUpEvery, ""
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-h.life.stop:
			return
		case <-timer.C:
		case <-h.wake:
		}
		wait := pause
		pause = catchUpEvery
		if h.busy.Load() || len(h.audit.Damage()) > 0 {
			got, err := h.fillHoles()
			if got == 0 && err != nil && !errors.Is(err, errNoRoom) {
				pause = min(2*wait, catchUpPauseMax)
			}
			if text := fmt.Sprint(err); err != nil && (text != told || !h.isAlone()) { // A node that is alone would say the same for ever.
				told = text
				h.life.log.Warn("history is still incomplete", "error", err, "again", pause)
			}
		}
		timer.Reset(pause)
	}
}

// fillHoles fetches until nothing is missing, or until a pass over all that is missing brought
// nothing. It returns how many stretches it fetched.
func (h *history) fillHoles() (got int, err error) {
	for {
		missing := h.audit.Missing(missingLookups)
		if len(missing) == 0 {
			if !h.busy.Load() {
				return got, nil
			}
			if err := h.audit.SyncTo(h.audit.Size()); err != nil { // This node may be the one that outlives the others.
				h.life.endProcess(fmt.Sprintf("history that was fetched cannot be made durable: %v", err))
				return got, err
			}
			h.busy.Store(false)
			if len(h.audit.Missing(1)) > 0 { // A snapshot was installed between the look and clearing busy.
				h.busy.Store(true)
				continue
			}
			h.life.log.Info("history is complete")
			return got, nil
		}
		came, err := h.fetchStretches(missing)
		if got += came; h.life.hasEnded() || came == 0 {
			return got, err
		}
	}
}

// fetchStretches fetches stretches, several at once. One that nobody has does not hold up the
// others. It returns how many were fetched, and the error of the first that was not.
func (h *history) fetchStretches(missing []audit.Range) (got int, err error) {
	next := make(chan audit.Range)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range fetchAhead {
		all.Go(func() {
			for stretch := range next {
				failed := h.fetchStretch(stretch)
				mu.Lock()
				if failed == nil {
					got++
				} else if err == nil {
					err = fmt.Errorf("leaves %d to %d: %w", stretch.First, stretch.End-1, failed)
				}
				mu.Unlock()
			}
		})
	}
	for _, stretch := range missing {
		if h.life.hasEnded() || h.disk.isLow() {
			break
		}
		next <- stretch
	}
	close(next)
	all.Wait()
	if h.disk.isLow() && err == nil {
		err = errNoRoom
	}
	return got, err
}

// errNoRoom says that the last room on the disk is for the log, not for history that others
// have.
var errNoRoom = errors.New("cluster: the disk is nearly full: fetching waits for room")

// fetchStretch fetches one stretch: a whole segment as a file from the first peer
// that has it sealed, anything else bundle by bundle.
func (h *history) fetchStretch(stretch audit.Range) error {
	if h.isAlone() {
		return errAlone
	}
	peers := h.fetchPeers()
	err := errNoPort
	segmentLeaves := h.audit.SegmentLeaves()
	if stretch.First%segmentLeaves == 0 && stretch.End-stretch.First == segmentLeaves {
		for _, l := range peers {
			if h.life.hasEnded() {
				return errHalted
			}
			if err = h.fetchSegment(l, stretch.First/segmentLeaves); err == nil {
				return nil
			}
			if errors.Is(err, audit.ErrUnproven) {
				piecesRefused.Inc()
				h.life.log.Error("a peer's segment does not lead to the root of the log: it is refused", "leaves", stretch.First, "error", err)
			}
		}
		if stretch.HashesOnly {
			return err
		}
	}
	return h.fetchBundles(peers, stretch)
}

// fetchBundles fetches a stretch bundle by bundle, each from the first peer whose bundle leads
// to the root. It asks the peer that gave the last bundle first.
func (h *history) fetchBundles(peers []*port.Link, stretch audit.Range) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	view, err := h.state.View(ctx, 0)
	cancel()
	if err != nil {
		return err
	}
	trust := audit.Trust{Size: view.Size, Root: view.Root}
	for first := stretch.First - stretch.First%audit.BundleLeaves; first < min(stretch.End, view.Size); first += audit.BundleLeaves {
		err := errNoPort
		for i, l := range peers {
			if h.life.hasEnded() {
				return errHalted
			}
			if err = h.fetchBundle(l, first, trust); err == nil {
				peers[0], peers[i] = peers[i], peers[0]
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *history) fetchBundle(l *port.Link, first uint64, trust audit.Trust) error {
	width := int(min(audit.BundleLeaves, trust.Size-first))
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	r, err := port.Ask(ctx, l, &port.BundleCall{Number: first / audit.BundleLeaves, Width: width, Size: trust.Size})
	if err != nil {
		return err
	}
	leaves, err := audit.ParseBundle(r.Data, width)
	if err == nil {
		err = h.audit.ImportBundle(first/audit.BundleLeaves, leaves, trust, r.Path)
	}
	if errors.Is(err, audit.ErrUnproven) {
		piecesRefused.Inc()
		h.life.log.Error("a peer's bundle does not lead to the root of the log: it is refused", "leaves", first, "error", err)
	}
	return err
}

// fetchSegment fetches a sealed segment's file. Its root must be known first.
func (h *history) fetchSegment(l *port.Link, number uint64) error {
	err := h.importFrom(l, number)
	if !errors.Is(err, errRootUnknown) {
		return err
	}
	if err := h.fetchRoots(l); err != nil {
		return err
	}
	return h.importFrom(l, number)
}

// errRootUnknown says that this node does not know yet to which root a segment's file must
// lead.
var errRootUnknown = errors.New("cluster: the segment's root is not known yet")

func (h *history) importFrom(l *port.Link, number uint64) error {
	source := &segmentSource{life: h.life, link: l, number: number}
	if err := source.fetchPiece(); err != nil {
		return err
	}
	err := h.audit.ImportSegment(number, source, source.total)
	if errors.Is(err, audit.ErrMissing) {
		return errRootUnknown
	}
	return err
}

func (h *history) fetchRoots(l *port.Link) error {
	size := h.folder.Adopted()
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	r, err := port.Ask(ctx, l, &port.RootsCall{Size: size})
	if err != nil {
		return err
	}
	roots, err := hashesFrom(r.Roots)
	if err != nil {
		return err
	}
	return h.audit.ImportRoots(roots)
}

// fetchLeaf returns a leaf's bytes from this node, or from a peer if they are not here (not yet
// applied, still being fetched, damaged). A silent peer costs leafPatience.
func (h *history) fetchLeaf(ctx context.Context, index uint64) ([]byte, error) {
	data, err := h.audit.Leaf(index)
	if err == nil || errors.Is(err, audit.ErrPruned) || h.peers.hasNoPort() {
		return data, err
	}
	for _, l := range h.peers.leaderFirst(linkRead) {
		limit, cancel := context.WithTimeout(ctx, leafPatience)
		r, asked := port.Ask(limit, l, &port.LeafCall{Leaf: index})
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case asked != nil:
			continue
		}
		switch r.Code {
		case 0:
			return r.Data, nil
		case port.CodePruned:
			return nil, audit.ErrPruned
		}
	}
	return nil, err
}

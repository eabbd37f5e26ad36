package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

const (
	listSuffix      = ".list"
	listsOpenMax    = 4                // Old lists kept open for replays and diffs.
	listKept        = engine.Retention // After a list's last day as the active one.
	listWriteQueue  = 4                // Activated lists waiting to be written.
	listRecordSlack = 4 * engine.KiB   // A chunk record's fields beside its data.
	openPatience    = 300 * time.Millisecond
	openLook        = 5 * time.Millisecond // Between two looks at whether a staged list is open.
	policyRecordMax = engine.PolicyRecordMax
)

// ErrNoList says that this node has no list of that digest (any more).
var ErrNoList = errors.New("cluster: no list of that digest")

// listKeeper keeps every list that was active in the last 90 days by its digest,
// so that a past verdict can be judged again with the very list it saw. Files
// carry log time as their modification time: the last time they were in use.
type listKeeper struct {
	dir     string
	life    *life
	state   *state
	peers   *peers
	staging gate // One list at a time.
	queue   chan keptList
	asked   [32]byte                   // Digest of the list last sent to be opened ahead. Of the apply goroutine.
	ahead   atomic.Pointer[ofac.Index] // The staged list, opened before it is activated.

	mu   sync.Mutex
	open []*ofac.Index // Most recently asked last.
}

type keptList struct {
	digest [32]byte
	data   []byte
	at     engine.Time
	staged bool // To be opened, not yet to be written.
}

func newListKeeper(dir string, l *life, s *state, p *peers) *listKeeper {
	return &listKeeper{dir: dir, life: l, state: s, peers: p, staging: newGate(), queue: make(chan keptList, listWriteQueue)}
}

func (k *listKeeper) path(digest [32]byte) string {
	return filepath.Join(k.dir, hex.EncodeToString(digest[:])+listSuffix)
}

// keep has the bytes written beside the apply goroutine. When the queue is full
// the list is not written here; replays then ask a peer's copy.
func (k *listKeeper) keep(index *ofac.Index, data []byte, at engine.Time) bool {
	select {
	case k.queue <- keptList{digest: index.Digest(), data: data, at: at}:
		return true
	default:
		return false
	}
}

// openStaged makes a staged list ready. One that cannot be opened is told when it is
// activated.
func (k *listKeeper) openStaged(list keptList) {
	if index, err := ofac.Open(list.data); err == nil {
		k.ahead.Store(index)
	}
}

// opened returns the list of a digest if it was opened ahead, and forgets it.
func (k *listKeeper) opened(digest [32]byte) *ofac.Index {
	index := k.ahead.Load()
	if index == nil || index.Digest() != digest {
		return nil
	}
	k.ahead.Store(nil)
	return index
}

// write puts one list on disk.
func (k *listKeeper) write(list keptList) error {
	path := k.path(list.digest)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := datadir.ReplaceFile(k.dir, filepath.Base(path), list.data); err != nil {
			return fmt.Errorf("list %x: %w", list.digest[:4], err)
		}
	}
	return k.used(list.digest, list.at)
}

// used marks a list as in use at log time.
func (k *listKeeper) used(digest [32]byte, at engine.Time) error {
	stamp := time.Unix(0, int64(at))
	err := os.Chtimes(k.path(digest), stamp, stamp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// prune deletes lists that left their 90 days.
func (k *listKeeper) prune(active [32]byte, now engine.Time) error {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(k.dir, name)
		info, err := entry.Info()
		if err != nil || path == k.path(active) || !strings.HasSuffix(name, listSuffix) {
			continue
		}
		if engine.Time(info.ModTime().UnixNano())+listKept < now {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// find opens a kept list and checks that its bytes are those of the digest.
func (k *listKeeper) find(digest [32]byte) (*ofac.Index, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, index := range k.open {
		if index.Digest() == digest {
			return index, nil
		}
	}
	data, err := os.ReadFile(k.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoList
	}
	if err != nil {
		return nil, fmt.Errorf("list %x: %w", digest[:4], err)
	}
	if ofac.Digest(data) != digest { // A peer's copy takes its place.
		return nil, errors.Join(ErrNoList, fmt.Errorf("list %x: the bytes on disk are damaged", digest[:4]), os.Remove(k.path(digest)))
	}
	index, err := ofac.Open(data)
	if err != nil {
		return nil, fmt.Errorf("list %x: %w", digest[:4], err)
	}
	if len(k.open) >= listsOpenMax {
		k.open = k.open[1:]
	}
	k.open = append(k.open, index)
	return index, nil
}

// byDigest returns any list that was active in the last 90 days; ErrNoList when
// neither this node nor one that answers has it.
func (k *listKeeper) byDigest(digest [32]byte) (*ofac.Index, error) {
	if active := k.state.List(); active != nil && active.Digest() == digest {
		return active, nil
	}
	index, err := k.find(digest)
	if !errors.Is(err, ErrNoList) || k.peers.portless() {
		return index, err
	}
	if err := k.fetchList(digest); err != nil {
		return nil, err
	}
	return k.find(digest)
}

// fetchList takes a list from a peer: this node joined after it was in use.
func (k *listKeeper) fetchList(digest [32]byte) error {
	for _, l := range k.peers.leaderFirst(linkFetch) {
		data, err := readList(l, digest)
		if err != nil || ofac.Digest(data) != digest {
			continue
		}
		return k.write(keptList{digest: digest, data: data, at: k.state.LogTime()})
	}
	return ErrNoList
}

// readList reads all of a list that a peer gives in pieces.
func readList(l *port.Link, digest [32]byte) ([]byte, error) {
	var data []byte
	for {
		ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
		r, err := port.Ask(ctx, l, &port.ListCall{Digest: digest[:], Offset: int64(len(data))})
		cancel()
		switch {
		case err != nil:
			return nil, err
		case r.Code != 0, len(r.Data) == 0, r.Total > engine.ListMax:
			return nil, ErrNoList
		}
		if data = append(data, r.Data...); int64(len(data)) >= r.Total {
			return data, nil
		}
	}
}

// answerList gives a peer a piece of a kept list.
func (k *listKeeper) answerList(_ context.Context, _ string, m *port.ListCall) (*port.ListReply, error) {
	if len(m.Digest) != sha256.Size || m.Offset < 0 {
		return &port.ListReply{Code: port.CodeMissing}, nil
	}
	file, err := os.Open(k.path([32]byte(m.Digest)))
	if errors.Is(err, fs.ErrNotExist) {
		return &port.ListReply{Code: port.CodeMissing}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(fetchStep, max(info.Size()-m.Offset, 0)))
	if _, err := file.ReadAt(data, m.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &port.ListReply{Data: data, Total: info.Size()}, nil
}

// run is the list keeper's goroutine.
func (k *listKeeper) run() {
	for {
		select {
		case list := <-k.queue:
			if list.staged {
				k.openStaged(list)
				continue
			}
			if err := k.write(list); err != nil {
				k.life.log.Error("compiled list not kept on disk", "error", err)
			}
		case <-k.life.stop:
			return
		}
	}
}

// openAhead has a list that an entry made whole opened beside the apply goroutine:
// checking its bytes takes tens of milliseconds, and by the time of its activation
// they should be over, so that the switch holds up no verdict. A list that is not
// ready by then is opened at its activation.
func (k *listKeeper) openAhead(out *fsm.Effects) {
	if out.Settings == nil || len(out.Settings.Staged) == 0 || out.Settings.Staged[0].Digest == k.asked {
		return
	}
	digest, data, whole := k.state.views.freeze().Staged()
	if !whole {
		return
	}
	select {
	case k.queue <- keptList{digest: digest, data: data, staged: true}:
		k.asked = digest
	default:
	}
}

// openList gives the list that an entry activated. Bytes that cannot be opened (the
// edge checked them before they were staged) leave no list: no verdict is given.
func (k *listKeeper) openList(out *fsm.Effects) *ofac.Index {
	if out.ListData == nil {
		return nil
	}
	var index *ofac.Index
	if out.Settings != nil && out.Settings.List != nil {
		index = k.opened(out.Settings.List.Digest)
	}
	k.asked = [32]byte{}
	if index == nil {
		var err error
		if index, err = ofac.Open(out.ListData); err != nil {
			k.life.log.Error("the activated list cannot be opened: no verdicts until another one is activated", "error", err)
			return nil
		}
	}
	if !k.keep(index, out.ListData, out.Time) {
		k.life.log.Error("compiled list not kept on disk: too many wait")
	}
	return index
}

// awaitOpened waits a moment for a staged list to be opened here, and so, more or
// less, on the other nodes: they began at the same entry.
func (k *listKeeper) awaitOpened(ctx context.Context, digest [32]byte) {
	for range openPatience / openLook {
		if index := k.ahead.Load(); index != nil && index.Digest() == digest {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(openLook):
		}
	}
}

// ListByDigest returns any list that was active in the last 90 days; ErrNoList when
// neither this node nor one that answers has it.
func (n *Node) ListByDigest(digest [32]byte) (*ofac.Index, error) { return n.lists.byDigest(digest) }

// Stage replicates a compiled list in chunks through the log, one after another
// so that screening goes on between them. The result is the last chunk's: its
// leaf says that the list is staged. One list is staged at a time.
func (n *Node) Stage(ctx context.Context, compiled []byte, info wire.ListInfo, common wire.Common) (wire.Result, error) {
	if len(compiled) == 0 || len(compiled) > engine.ListMax {
		return wire.Result{}, fmt.Errorf("compiled list of %d bytes: %w", len(compiled), wire.ErrTooLarge)
	}
	if err := n.lists.staging.enter(ctx); err != nil {
		return wire.Result{}, err
	}
	defer n.lists.staging.leave()
	chunk := wire.ListChunk{Digest: ofac.Digest(compiled), Total: uint32(len(compiled))}
	info.Digest = chunk.Digest
	for at := 0; ; at += len(chunk.Data) {
		chunk.Offset = uint32(at)
		chunk.Data = compiled[at:min(at+engine.ListChunkMax, len(compiled))]
		last := at+len(chunk.Data) == len(compiled)
		if last {
			chunk.Info, chunk.Common = &info, common
		}
		result, err := n.Propose(ctx, wire.KindListChunk, wire.Encode(&chunk))
		if last && err == nil && result.Code == wire.Applied {
			n.lists.awaitOpened(ctx, chunk.Digest)
		}
		if err != nil || last || result.Code != wire.Unchanged {
			return result, err
		}
	}
}

// recordMax is the largest body of a kind.
func recordMax(kind wire.Kind) int {
	switch kind {
	case wire.KindListChunk:
		return engine.ListChunkMax + listRecordSlack
	case wire.KindPolicy, wire.KindWhitelist, wire.KindGenesis,
		wire.KindSettings, wire.KindFleetUpdate, wire.KindReissue, wire.KindRegister:
		return policyRecordMax // They may carry a whole whitelist.
	}
	return engine.RecordMax
}

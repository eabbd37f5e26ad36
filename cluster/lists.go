package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

const (
	listSuffix      = ".entities"
	stagedSuffix    = ".staged"        // The entities of a list that may become the active one.
	listsOpenMax    = 4                // How many old lists are kept open for replays and diffs.
	listKept        = engine.Retention // How long a list is kept after the last day on which it was active.
	stagedKept      = engine.DayLength // How long a list is kept after it was staged.
	listWriteQueue  = 4                // How many activated lists may wait to be written.
	listRecordSlack = 16 * engine.KiB  // A chunk record's fields beside its data.
	policyRecordMax = engine.PolicyRecordMax
)

// ErrNoList says that this node does not have a list of that digest, or not any more.
var ErrNoList = errors.New("cluster: no list of that digest")

// listKeeper keeps the entities of every list that was active in the last 90 days, by digest,
// so that a past verdict can be judged again with the very list it saw. It makes the tables of
// lists that are asked for, in memory. The modification time of a file is the log time of its
// last use.
type listKeeper struct {
	dir      string
	matchers ofac.Matchers
	life     *life
	state    *state
	peers    *peers
	pace     *timing.Pace // Slows down compiling that nobody waits for.
	staging  gate         // Only one list is staged at a time.
	queue    chan keptList
	wake     chan struct{} // Signals that other tables are wanted.
	replays  func() bool   // Whether the node still reads its log; nil: it does not.

	mu      sync.Mutex // Guards the fields down to failed:
	active  wantedList
	staged  []wantedList
	former  [32]byte            // The list active before this one, until retro-screening of the added entries has finished; else zero.
	matcher uint16              // The matcher version in force.
	ready   []*ofac.Index       // Tables of the active list and of staged ones, for at most two matcher versions each, and those of former if they were made.
	ahead   *ofac.Index         // Tables of the list that Stage is replicating; else nil.
	failed  map[tablesKey]error // Why tables of active and staged cannot be compiled.
	rotten  map[string]bool     // Names of files that are damaged and of which nobody has given a whole copy.

	mending sync.Mutex    // Only one file is mended at a time.
	finding sync.Mutex    // Only one old list is compiled at a time.
	open    []*ofac.Index // Most recently compiled last.
}

type keptList struct {
	digest [32]byte
	data   []byte // The list's entities.
	at     engine.Time
}

func newListKeeper(dir string, matchers ofac.Matchers, l *life, s *state, p *peers, calls *timing.Calls) *listKeeper {
	return &listKeeper{
		dir: dir, matchers: matchers, life: l, state: s, peers: p, staging: newGate(),
		pace:  timing.NewPace(runtime.GOMAXPROCS(0), timing.Slice, s.Applied, calls),
		queue: make(chan keptList, listWriteQueue), wake: make(chan struct{}, 1), failed: map[tablesKey]error{}, rotten: map[string]bool{},
	}
}

func (k *listKeeper) listPath(digest [32]byte) string {
	return filepath.Join(k.dir, hex.EncodeToString(digest[:])+listSuffix)
}

func (k *listKeeper) stagedPath(digest [32]byte) string {
	return filepath.Join(k.dir, hex.EncodeToString(digest[:])+stagedSuffix)
}

// queueWrite queues a list to be written outside the apply goroutine. When the queue is full,
// the list is not written; a replay then fetches a peer's copy.
func (k *listKeeper) queueWrite(list keptList) bool {
	select {
	case k.queue <- list:
		return true
	default:
		return false
	}
}

// keepStaged writes and syncs a staged list, so that its file is only renamed when it becomes
// the active one: in that second no node writes megabytes beside its log. A list that does not
// become active is deleted a day later.
func (k *listKeeper) keepStaged(list wantedList) {
	if _, err := os.Stat(k.listPath(list.digest)); err == nil {
		return // The list was active before.
	}
	if err := k.writeFile(k.stagedPath(list.digest), list.entities, list.at, k.life.hasEnded); err != nil {
		k.tell(slog.LevelError, "staged list not kept on disk", "error", err)
	}
}

// writeList puts a list on disk that became the active one. It renames the file of the staged
// list. If there is none, it writes the list in steps, since the log must not wait for
// megabytes.
func (k *listKeeper) writeList(list keptList) error {
	if _, err := os.Stat(k.listPath(list.digest)); errors.Is(err, fs.ErrNotExist) {
		err := datadir.Rename(k.dir, filepath.Base(k.stagedPath(list.digest)), filepath.Base(k.listPath(list.digest)))
		if err == nil {
			return touchFile(k.listPath(list.digest), list.at)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return k.writeFile(k.listPath(list.digest), list.data, list.at, k.life.hasEnded)
}

// writeFile writes a file unless it is there, and marks it as in use at log time. When hurry
// returns true, it writes without pauses.
func (k *listKeeper) writeFile(path string, data []byte, at engine.Time, hurry func() bool) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := datadir.ReplaceGently(k.dir, filepath.Base(path), data, hurry); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return touchFile(path, at)
}

// touchFile marks a file as in use at log time.
func touchFile(path string, at engine.Time) error {
	stamp := time.Unix(0, int64(at))
	err := os.Chtimes(path, stamp, stamp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// touchActive marks the active list as in use at log time.
func (k *listKeeper) touchActive(digest [32]byte, at engine.Time) error {
	return touchFile(k.listPath(digest), at)
}

// pruneLists deletes lists whose 90 days are over, and staged lists older than a day.
func (k *listKeeper) pruneLists(active [32]byte, now engine.Time) error {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		info, err := entry.Info()
		if err != nil {
			continue
		}
		kept := listKept
		switch digest, isList := strings.CutSuffix(name, listSuffix); {
		case strings.HasSuffix(name, stagedSuffix):
			kept = stagedKept
		case !isList, digest == hex.EncodeToString(active[:]):
			continue
		}
		if engine.Time(info.ModTime().UnixNano())+kept < now {
			if err := os.Remove(filepath.Join(k.dir, name)); err != nil {
				return err
			}
			k.forgetRotten(name)
		}
	}
	return nil
}

// findKept compiles a kept list, unless its tables are still in memory.
func (k *listKeeper) findKept(key tablesKey) (*ofac.Index, error) {
	k.finding.Lock()
	defer k.finding.Unlock()
	for _, index := range k.open {
		if keyOf(index) == key {
			return index, nil
		}
	}
	index, err := k.compileKept(key)
	if err != nil {
		return nil, fmt.Errorf("list %x: %w", key.digest[:4], err)
	}
	if len(k.open) >= listsOpenMax {
		k.open = k.open[1:]
	}
	k.open = append(k.open, index)
	return index, nil
}

// compileKept makes the tables of a list whose entities are on disk.
func (k *listKeeper) compileKept(key tablesKey) (*ofac.Index, error) {
	path := k.listPath(key.digest)
	entities, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoList
	}
	if err != nil {
		return nil, err
	}
	if ofac.Digest(entities) != key.digest {
		k.noteRotten(filepath.Base(path))
		return nil, errors.Join(ErrNoList, errors.New("the bytes on disk are damaged"))
	}
	return k.compileTables(key, entities, nil)
}

// listOf returns the staged list, or any list that was active in the last 90 days, with the
// tables of that matcher version. It returns ErrNoList if neither this node nor one that
// answers has the list. It also does so if the tables of the active or staged list are not made
// yet: a caller who needs them goes to another node.
func (k *listKeeper) listOf(digest [32]byte, matcher uint16) (*ofac.Index, error) {
	key := tablesKey{digest, matcher}
	if active := k.state.List(); active != nil && keyOf(active) == key {
		return active, nil
	}
	if !k.matchers.Carries(matcher) {
		return nil, fmt.Errorf("%w %d: this node has %v", ofac.ErrMatcherVersion, matcher, []uint16(k.matchers))
	}
	k.mu.Lock()
	index, coming, failed := k.readyList(key), k.wantsTables(key), k.failed[key]
	k.mu.Unlock()
	switch {
	case index != nil:
		return index, nil
	case failed != nil:
		return nil, fmt.Errorf("list %x: %w: %w", digest[:4], ErrNoList, failed)
	case coming:
		return nil, fmt.Errorf("list %x: %w: %w", digest[:4], ErrNoList, ofac.ErrBeingCompiled)
	}
	index, err := k.findKept(key)
	if !errors.Is(err, ErrNoList) {
		return index, err
	}
	if err := k.mendFile(filepath.Base(k.listPath(digest)), digest); err != nil {
		return nil, err
	}
	return k.findKept(key)
}

// answerList gives a peer a piece of a kept list.
func (k *listKeeper) answerList(_ context.Context, _ string, m *port.ListCall) (*port.ListReply, error) {
	if len(m.Digest) != sha256.Size || m.Offset < 0 {
		return &port.ListReply{Code: port.CodeMissing}, nil
	}
	file, err := os.Open(k.listPath([32]byte(m.Digest)))
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

// keepLists is the list keeper's goroutine. While the node reads its log it makes no tables: the
// lists that are active and staged on the way will not be when it has read it.
func (k *listKeeper) keepLists() {
	var later <-chan time.Time
	for {
		select {
		case list := <-k.queue:
			if err := k.writeList(list); err != nil {
				k.tell(slog.LevelError, "list not kept on disk", "error", err)
			}
		case <-k.wake:
			later = time.After(0)
		case <-later:
			if k.replays != nil && k.replays() {
				later = time.After(tablesLook)
				continue
			}
			for k.prepareTables() {
				if k.life.hasEnded() {
					return
				}
			}
		case <-k.life.stop:
			return
		}
	}
}

// ListByDigest returns any list that was active in the last 90 days, with the tables of the
// matcher in force. It returns ErrNoList if neither this node nor one that answers has it.
func (n *Node) ListByDigest(digest [32]byte) (*ofac.Index, error) {
	return n.lists.listOf(digest, n.Settings().Matcher)
}

// ListAs is ListByDigest with the tables of another matcher version, as an old record was
// judged with those. It returns ofac.ErrMatcherVersion if this binary does not carry the
// version.
func (n *Node) ListAs(digest [32]byte, matcher uint16) (*ofac.Index, error) {
	return n.lists.listOf(digest, matcher)
}

// recordMax returns the largest body of a record of a kind.
func recordMax(kind wire.Kind) int {
	switch kind {
	case wire.KindListChunk:
		return engine.ListChunkMax + listRecordSlack
	case wire.KindPolicy, wire.KindWhitelist, wire.KindGenesis,
		wire.KindSettings, wire.KindFleetUpdate, wire.KindReissue, wire.KindRegister:
		return policyRecordMax // These records may carry a whole whitelist.
	}
	return engine.RecordMax
}

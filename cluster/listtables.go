package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// The log has only the entities of a list. Each node compiles them into tables that can be
// asked, for the matcher version in force, and for the next one if its binary carries that.
// Tables are only in memory: a node that starts makes them again. Making them takes one to two
// seconds, so it is done outside the apply goroutine: for a staged list before it is activated,
// and for the active one as soon as its tables are found missing.

const (
	tablesPatience = 90 * time.Second      // How long staging waits for the tables of other nodes.
	tablesLook     = 20 * time.Millisecond // Pause between two looks at whether they are made.

	// compileDue is how long after its start a compile still rests and makes way for verdicts.
	// Those who wait for a staged list (the upload that brought it and whoever will activate it)
	// get its tables later by this at most, well within tablesPatience.
	compileDue = time.Minute
)

// ErrMatcherNotReady says that not every voter can judge with a version of the matcher.
var ErrMatcherNotReady = errors.New("cluster: not every voter can judge with that matcher yet")

// wantedList is a list whose tables this node makes.
type wantedList struct {
	digest   [32]byte
	entities []byte
	at       engine.Time
}

// tablesKey names the tables of one list.
type tablesKey struct {
	digest  [32]byte
	matcher uint16
}

func keyOf(index *ofac.Index) tablesKey { return tablesKey{index.Digest(), index.Matcher()} }

// followEntry takes over an entry's lists. It returns the active list if its tables are made.
// If it returns nil, the former list stays published, but no verdict is given from it, because
// the settings name another. The apply goroutine calls it.
func (k *listKeeper) followEntry(out *fsm.Effects) *ofac.Index {
	settings := out.Settings
	if settings == nil {
		return nil
	}
	k.mu.Lock()
	active, staged := k.active, k.staged
	k.mu.Unlock()
	if out.ListData != nil && settings.List != nil {
		active = wantedList{settings.List.Digest, out.ListData, out.Time}
		if !k.queueWrite(keptList{digest: active.digest, data: active.entities, at: active.at}) {
			k.tell(slog.LevelError, "list not kept on disk: too many wait")
		}
	}
	if !slices.EqualFunc(settings.Staged, staged, func(info *wire.ListInfo, list wantedList) bool { return info.Digest == list.digest }) {
		view := k.state.views.freeze()
		staged = nil
		for _, info := range settings.Staged {
			if entities := view.Staged(info.Digest); entities != nil {
				staged = append(staged, wantedList{info.Digest, entities, info.StagedAt})
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if active.digest != k.active.digest {
		k.former = k.active.digest
	}
	if !pastOwed(settings) {
		k.former = [32]byte{}
	}
	k.active, k.staged, k.matcher = active, staged, settings.Matcher
	k.ready = slices.DeleteFunc(k.ready, func(index *ofac.Index) bool { return !k.keepsTables(keyOf(index)) })
	for key := range k.failed {
		if !k.wantsTables(key) {
			delete(k.failed, key)
		}
	}
	return k.readyList(tablesKey{active.digest, settings.Matcher})
}

// publishReady publishes tables that became ready while the entry was published, and wakes the
// keeper's goroutine to look at what is wanted now.
func (k *listKeeper) publishReady(out *fsm.Effects) {
	if out.Settings == nil {
		return
	}
	k.mu.Lock()
	index := k.readyList(tablesKey{k.active.digest, k.matcher})
	k.mu.Unlock()
	if index != nil && k.state.List() != index {
		k.state.published.Load().bringIndex(index)
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// pastOwed reports whether the past must still be screened against the active list. The leader
// asks the former list for that, too. Compiling it again would take a second of processor time
// beside verdicts, just when the list becomes active.
func pastOwed(s *fsm.Settings) bool {
	if s.Retro == nil {
		return s.ListVersion > 1
	}
	return s.Retro.EndedAt == 0 || s.Retro.Covered < s.ListVersion
}

// keepsTables reports whether tables stay in memory once they are made. Called with mu held.
func (k *listKeeper) keepsTables(key tablesKey) bool {
	return k.wantsTables(key) || key == tablesKey{k.former, k.matcher}
}

// wantsTables reports whether these tables should be in memory. Called with mu held.
func (k *listKeeper) wantsTables(key tablesKey) bool {
	return key.digest != [32]byte{} && (key.digest == k.active.digest || k.isStaged(key.digest)) &&
		(key.matcher == k.matcher || key.matcher == k.matcher+1)
}

// isStaged reports whether a list is staged. Called with mu held.
func (k *listKeeper) isStaged(digest [32]byte) bool {
	return slices.ContainsFunc(k.staged, func(list wantedList) bool { return list.digest == digest })
}

// readyList returns the list with these tables, or nil if they are not made. Called with mu
// held.
func (k *listKeeper) readyList(key tablesKey) *ofac.Index {
	for _, index := range k.ready {
		if keyOf(index) == key {
			return index
		}
	}
	return nil
}

// nextWanted returns the list to make tables for next. The matcher version in force comes
// first.
func (k *listKeeper) nextWanted() (wantedList, uint16, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, matcher := range []uint16{k.matcher, k.matcher + 1} {
		for _, list := range append([]wantedList{k.active}, k.staged...) {
			key := tablesKey{list.digest, matcher}
			if k.matchers.Carries(matcher) && k.wantsTables(key) && k.failed[key] == nil && k.readyList(key) == nil {
				return list, matcher, true
			}
		}
	}
	return wantedList{}, 0, false
}

// prepareTables makes the tables of one wanted list, and reports whether there was one.
func (k *listKeeper) prepareTables() bool {
	list, matcher, any := k.nextWanted()
	if !any {
		return false
	}
	key := tablesKey{list.digest, matcher}
	k.mu.Lock()
	index, err := k.ahead, error(nil)
	k.mu.Unlock()
	if index == nil || keyOf(index) != key {
		index, err = k.compileTables(key, list.entities, k.restBetween(key))
	}
	k.mu.Lock()
	if !k.wantsTables(key) {
		k.mu.Unlock()
		return true
	}
	if err != nil {
		k.failed[key] = err
		k.mu.Unlock()
		k.life.note(recorder.List, "cannot be compiled: "+ofac.SnapshotID(key.digest))
		k.life.log.Error("a list cannot be compiled: no verdicts from it", "snapshot", ofac.SnapshotID(key.digest), "matcher", matcher, "error", err)
		return true
	}
	k.ready = append(k.ready, index)
	staged := k.isStaged(key.digest)
	k.mu.Unlock()
	k.state.published.Load().bringIndex(index)
	if staged {
		k.keepStaged(list)
	}
	return true
}

// restBetween returns a function for the pauses between two pieces of a compile. It rests while
// the node is busy with verdicts, unless verdicts wait for the tables or they are late.
func (k *listKeeper) restBetween(key tablesKey) func() {
	work, told := k.pace.Begin(time.Now(), compileDue), false
	return func() {
		switch {
		case work.IsLate() && !told:
			told = true
			compilesLate.Inc()
			k.life.log.Warn("the tables of a list are not made in their time, because verdicts use the processors: they are made without rests now",
				"snapshot", ofac.SnapshotID(key.digest), "due", compileDue)
		case !told && !k.tablesAwaited(key):
			work.Between()
		}
	}
}

// tablesAwaited reports whether verdicts wait for these tables: for those of the active list in
// force, or for any if the node can give no verdict. A staged list can become active in the
// middle of its compile, if somebody activates it before its upload ends.
func (k *listKeeper) tablesAwaited(key tablesKey) bool {
	if k.life.hasEnded() {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return key == tablesKey{k.active.digest, k.matcher} || k.readyList(tablesKey{k.active.digest, k.matcher}) == nil
}

// similarList returns a list whose tables are made for that version, or nil. It prefers the
// active one. Most of its tables can be reused for another list.
func (k *listKeeper) similarList(matcher uint16) *ofac.Index {
	k.mu.Lock()
	defer k.mu.Unlock()
	similar := [][32]byte{k.active.digest, k.former}
	for _, list := range k.staged {
		similar = append(similar, list.digest)
	}
	for _, digest := range similar {
		if index := k.readyList(tablesKey{digest, matcher}); index != nil {
			return index
		}
	}
	return nil
}

// compileTables makes tables. It calls step between two pieces of the work; a nil step means
// that somebody waits for the tables.
func (k *listKeeper) compileTables(key tablesKey, entities []byte, step func()) (*ofac.Index, error) {
	began := time.Now()
	index, err := k.matchers.CompileWith(ofac.Help{Former: k.similarList(key.matcher), Step: step}, entities, key.matcher)
	if err != nil {
		return nil, err
	}
	if keyOf(index) != key {
		return nil, fmt.Errorf("%w: the entities are of another digest", ofac.ErrEntities)
	}
	k.life.record.Note(recorder.Entry{Kind: recorder.List, Text: "compiled: " + ofac.SnapshotID(key.digest), TookMs: time.Since(began).Milliseconds()})
	k.life.log.Info("list compiled", "snapshot", ofac.SnapshotID(key.digest), "matcher", key.matcher,
		"entities_bytes", len(entities), "compiled_bytes", index.Size(), "took", time.Since(began).Round(time.Millisecond))
	return index, nil
}

// compileAhead makes the tables of a list that is about to be staged, and keeps them until
// then, so that they are made only once.
func (k *listKeeper) compileAhead(key tablesKey, entities []byte) error {
	k.mu.Lock()
	index := k.readyList(key)
	k.mu.Unlock()
	if index == nil {
		var err error
		if index, err = k.compileTables(key, entities, k.restBetween(key)); err != nil {
			return fmt.Errorf("%w: it cannot be compiled: %w", ofac.ErrEntities, err)
		}
	}
	k.keepAhead(index)
	return nil
}

// keepAhead keeps the tables of a list that is about to be staged; nil drops them.
func (k *listKeeper) keepAhead(index *ofac.Index) {
	k.mu.Lock()
	k.ahead = index
	k.mu.Unlock()
}

// nameTables returns the names of the tables made of the active and staged list, for other
// nodes.
func (k *listKeeper) nameTables() []port.ListTables {
	k.mu.Lock()
	defer k.mu.Unlock()
	var tables []port.ListTables
	for _, index := range k.ready {
		if key := keyOf(index); k.wantsTables(key) {
			tables = append(tables, port.ListTables{Digest: key.digest, Matcher: key.matcher, Sample: index.SampleDigest()})
		}
	}
	return tables
}

// whyMissing says why no verdict can be given from the active list, or "" if it can.
func (k *listKeeper) whyMissing(settings *fsm.Settings) string {
	list := k.state.List()
	key := tablesKey{settings.List.Digest, settings.Matcher}
	if list != nil && keyOf(list) == key {
		return ""
	}
	if !k.matchers.Carries(settings.Matcher) {
		return fmt.Sprintf("matcher version %d is in force and this binary carries %v: upgrade it", settings.Matcher, []uint16(k.matchers))
	}
	k.mu.Lock()
	err := k.failed[key]
	k.mu.Unlock()
	if err != nil {
		return fmt.Sprintf("the active list cannot be compiled: %v", err)
	}
	return "the active list is being compiled"
}

// awaitTables waits until this node and every voter that answers has made the tables, so that
// the entry that needs them holds up no verdict. A voter that does not answer makes them when
// it is back. The wait ends after tablesPatience.
func (k *listKeeper) awaitTables(ctx context.Context, key tablesKey) {
	for range tablesPatience / tablesLook {
		k.mu.Lock()
		failed := k.failed[key] != nil // A list that fails here fails elsewhere, too.
		k.mu.Unlock()
		if failed || k.isEverywhere(key) {
			return
		}
		select {
		case k.peers.pingNow <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-k.life.stop:
			return
		case <-time.After(tablesLook):
		}
	}
}

// tablesNamed returns the tables of a list for a version of the matcher among those that a node has
// finished, or nil.
func tablesNamed(tables []port.ListTables, key tablesKey) *port.ListTables {
	at := slices.IndexFunc(tables, func(t port.ListTables) bool { return t.Digest == key.digest && t.Matcher == key.matcher })
	if at < 0 {
		return nil
	}
	return &tables[at]
}

// judgesOtherwise names a node that answers sample questions otherwise than this one although it has
// the same list and version of the matcher, or returns "".
func (k *listKeeper) judgesOtherwise() string {
	for _, own := range k.nameTables() {
		for _, id := range k.peers.replica.otherIDs() {
			s, fresh := k.peers.freshSample(string(id))
			if theirs := tablesNamed(s.pong.Tables, tablesKey{own.Digest, own.Matcher}); fresh && theirs != nil && theirs.Sample != own.Sample {
				return fmt.Sprintf("%s (release %s) judges names otherwise than this node with version %d of the matcher and list %s: the two were not built from the same sources, or one of the machines computes wrong. Stop the one that is wrong",
					id, s.pong.Release, own.Matcher, ofac.SnapshotID(own.Digest))
			}
		}
	}
	return ""
}

// isEverywhere reports whether every voter that answers has made the tables.
func (k *listKeeper) isEverywhere(key tablesKey) bool {
	if tablesNamed(k.nameTables(), key) == nil {
		return false
	}
	if k.peers.hasNoPort() {
		return true
	}
	for _, server := range k.peers.replica.listServers() {
		if server.Suffrage != raft.Voter || server.ID == k.peers.replica.self {
			continue
		}
		if s, fresh := k.peers.freshSample(string(server.ID)); fresh && !s.silent && tablesNamed(s.pong.Tables, key) == nil {
			return false
		}
	}
	return true
}

// MatcherReady says whether the matcher version in force may be raised to that one. It returns
// nil once every voter has the active list's tables for it, so that all judge with it from one
// log index on. The error names a voter that does not answer, or that does not have those
// tables: that voter's calls would be 503 until it is upgraded.
func (n *Node) MatcherReady(to uint16) error {
	settings := n.Settings()
	if other := n.lists.judgesOtherwise(); other != "" {
		return fmt.Errorf("%w: %s", ErrMatcherNotReady, other)
	}
	for _, server := range n.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		id, carried, tables := string(server.ID), []uint16(n.lists.matchers), n.lists.nameTables()
		if server.ID != n.replica.self {
			s, fresh := n.peers.freshSample(id)
			if !fresh || s.silent {
				return fmt.Errorf("%w: %s does not answer", ErrMatcherNotReady, id)
			}
			carried, tables = s.pong.Matchers, s.pong.Tables
		}
		switch {
		case !slices.Contains(carried, to):
			return fmt.Errorf("%w: %s carries %v, not %d", ErrMatcherNotReady, id, carried, to)
		case settings.List != nil && tablesNamed(tables, tablesKey{settings.List.Digest, to}) == nil:
			return fmt.Errorf("%w: %s has not compiled the active list for version %d yet", ErrMatcherNotReady, id, to)
		}
	}
	return nil
}

// Stage replicates an encoded list of entities in chunks through the log, one after another so
// that screening goes on between them. It returns the last chunk's result: its leaf says that
// the list is staged, and by then the voters that answer have its tables. One list is replicated
// at a time. With replace an older staged list gives way where no more may be staged. A list that cannot be compiled here is not replicated: the error wraps
// ofac.ErrEntities.
func (n *Node) Stage(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (wire.Result, error) {
	if len(entities) == 0 || len(entities) > engine.ListMax {
		return wire.Result{}, fmt.Errorf("list of entities of %d bytes: %w", len(entities), wire.ErrTooLarge)
	}
	if err := n.lists.staging.enterGate(ctx); err != nil {
		return wire.Result{}, err
	}
	defer n.lists.staging.leaveGate()
	if err := n.lists.compileAhead(tablesKey{ofac.Digest(entities), n.Settings().Matcher}, entities); err != nil {
		return wire.Result{}, err
	}
	defer n.lists.keepAhead(nil)
	for try := 0; ; try++ {
		result, err := n.stageOnce(ctx, entities, info, replace, common)
		if !errors.Is(err, wire.ErrUnknown) || try == stageRetries || ctx.Err() != nil {
			return result, err
		}
	}
}

// stageRetries is how often a list is sent again because the fate of one of its hundred chunks
// is unknown. The first chunk begins the list anew, whatever was there.
const stageRetries = 5

func (n *Node) stageOnce(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (wire.Result, error) {
	chunk := wire.ListChunk{Digest: ofac.Digest(entities), Total: uint32(len(entities))}
	info.Digest = chunk.Digest
	for at := 0; ; at += len(chunk.Data) {
		chunk.Offset = uint32(at)
		chunk.Data = entities[at:min(at+engine.ListChunkMax, len(entities))]
		last := at+len(chunk.Data) == len(entities)
		if last {
			chunk.Info, chunk.Common, chunk.Replace = &info, common, replace
		}
		result, err := n.Propose(ctx, wire.KindListChunk, wire.Encode(&chunk))
		if last && err == nil && result.Code == wire.Applied {
			n.lists.awaitTables(ctx, tablesKey{chunk.Digest, n.Settings().Matcher})
		}
		if err != nil || last || result.Code != wire.Unchanged {
			return result, err
		}
	}
}

package cluster

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/engine"
	"railguard/fsm"
)

// This file restores a snapshot that a leader sent beside raft (decision 124). Raft's main loop
// waits for Restore, and a large state takes a minute and more; all that time the node would
// answer no heartbeat, grant no vote and confirm no entry, so that a group which needs it would
// stand still. So Restore only begins the installation. What raft does next rests on what is
// durable, and the snapshot is: it was written and synced before Restore was called.
//
// Until the state is there, and all that raft has given to Apply meanwhile is applied,
//   - entries are not applied but noted, and are read from the log later: they are committed and
//     this disk has them, and nothing cuts them off, because no snapshot is taken;
//   - the applied index stays where it was, so reads wait and the node says that it is behind;
//   - the node asks for no votes (port.Silenced), because a leader needs the state.
//
// If the snapshot cannot be restored the node ends, for raft has forgotten the log before it. A
// node that ends on the way begins again from the stored snapshot.

// errRestoring is the answer to raft while a snapshot is being restored.
var errRestoring = errors.New("cluster: this node is restoring a snapshot")

// postponedMax is how many entries may wait once the state is there. Then raft waits, as it does
// for a state that applies too slowly.
const postponedMax = 4096

// installing knows whether a snapshot is being installed. Raft's goroutine begins installations
// and postpones entries; the installation ends itself.
type installing struct {
	count atomic.Uint64 // Installations begun.
	wait  *sync.Cond    // Its lock guards now and the fields of an install that say so.
	now   *install      // nil: none.

	build func(io.Reader) (*fsm.Machine, error) // Makes the state of a snapshot.
}

func newInstalling(build func(io.Reader) (*fsm.Machine, error)) *installing {
	return &installing{wait: sync.NewCond(new(sync.Mutex)), build: build}
}

// install is the installation of one snapshot.
type install struct {
	meta  *raft.SnapshotMeta
	since time.Time
	read  atomic.Int64  // Bytes of the snapshot that were read.
	done  chan struct{} // Closed when it has ended.

	// Guarded by installing.wait.L.
	until   uint64 // The newest entry that raft has given to Apply.
	applied uint64
	follows bool // The state is there.
	overrun bool // Another snapshot was installed, or the node ended: it need not go on.
}

// postpone reports whether an entry waits for an installation, which then applies it.
func (i *installing) postpone(index uint64) bool {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	for i.now != nil && i.now.follows && !i.now.overrun && index > i.now.applied+postponedMax {
		i.wait.Wait()
	}
	if i.now == nil {
		return false
	}
	i.now.until = index
	return true
}

// begin makes an installation the present one, in place of the one before.
func (i *installing) begin(next *install) (before *install) {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	before, i.now = i.now, next
	if before != nil {
		before.overrun = true
	}
	i.count.Add(1)
	return before
}

// begun returns how many installations have begun, and whether one is under way.
func (i *installing) begun() (count uint64, underWay bool) {
	return i.count.Load(), i.present() != nil
}

// present returns the installation under way, or nil.
func (i *installing) present() *install {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	return i.now
}

func (i *installing) underWay() bool { return i.present() != nil }

// isOverrun reports whether an installation need not go on.
func (i *installing) isOverrun(one *install) bool {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	return one.overrun
}

// endBy makes an installation stop because the node ends, and lets raft's goroutine go.
func (i *installing) endBy(one *install) {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	one.overrun = true
	i.wait.Broadcast()
}

// next notes that an installation has applied everything up to an entry, and reports whether
// there is more. If there is not, the installation has ended, and raft's goroutine has the state.
func (i *installing) next(one *install, applied uint64) (more bool) {
	i.wait.L.Lock()
	defer i.wait.L.Unlock()
	one.applied, one.follows = applied, true
	switch {
	case one.overrun:
		return false
	case applied < one.until:
		if applied%(postponedMax/4) == 0 {
			i.wait.Broadcast()
		}
		return true
	}
	i.now = nil
	i.wait.Broadcast()
	return false
}

// describe says how far an installation is; "" if there is none.
func (i *installing) describe() string {
	one := i.present()
	if one == nil {
		return ""
	}
	return fmt.Sprintf("restoring a snapshot: %d of %d MiB after %v", one.read.Load()/engine.MiB, one.meta.Size/engine.MiB, time.Since(one.since).Round(time.Second/10))
}

// beginInstall begins to restore the snapshot that raft has just stored, which is the newest.
// The reader that raft gives to Restore is closed when Restore returns.
func (a *adapter) beginInstall() error {
	metas, err := a.snaps.List()
	if err != nil || len(metas) == 0 {
		return errors.Join(errors.New("restore of a snapshot: it is not there"), err)
	}
	meta, source, err := a.snaps.Open(metas[0].ID)
	if err != nil {
		return fmt.Errorf("restore of a snapshot: %w", err)
	}
	one := &install{meta: meta, since: time.Now(), done: make(chan struct{}), until: meta.Index}
	before := a.installing.begin(one)
	go a.installBeside(one, before, source)
	return nil
}

// installBeside is the goroutine of an installation. It ends by itself, also when the node does:
// endInstall waits for it.
func (a *adapter) installBeside(one, before *install, source io.ReadCloser) {
	defer close(one.done)
	if before != nil {
		<-before.done // It had the state.
	}
	err := a.install(one, source)
	_ = source.Close() // It was only read.
	switch {
	case err == nil:
		restoreSeconds.Observe(time.Since(one.since))
		return
	case a.life.hasEnded() || a.installing.isOverrun(one):
	default:
		a.halted.Store(true)
		a.life.endProcess(fmt.Sprintf("the snapshot that the leader sent cannot be restored: %s: %v. "+
			"Keep the data folder aside and let the node join anew with an empty one", a.snaps.StateOf(one.meta.ID), err))
	}
	a.installing.endBy(one)
}

// install restores a snapshot and applies what raft has given to Apply meanwhile.
func (a *adapter) install(one *install, source io.Reader) error {
	machine, err := a.installing.build(readerFunc(func(into []byte) (int, error) {
		if a.life.hasEnded() || a.installing.isOverrun(one) {
			return 0, errRestoring
		}
		n, err := source.Read(into)
		one.read.Add(int64(n))
		return n, err
	}))
	if err != nil {
		return err
	}
	if a.life.hasEnded() || a.installing.isOverrun(one) {
		return errRestoring
	}
	if err := a.adoptMachine(machine); err != nil {
		return err
	}
	a.noteConfiguration(one.meta.Index) // Behind the state's last entry there may be changes of the members.
	for at := one.meta.Index; a.installing.next(one, at); at++ {
		if err := a.applyStored(at + 1); err != nil {
			return err
		}
	}
	return nil
}

// applyStored applies an entry that raft has given to Apply before, from the log.
func (a *adapter) applyStored(index uint64) error {
	if a.life.hasEnded() {
		return errRestoring
	}
	var log raft.Log
	if err := a.log.GetLog(index, &log); err != nil {
		return fmt.Errorf("log entry %d: %w", index, err)
	}
	switch log.Type {
	case raft.LogCommand:
		if err, failed := a.applyEntry(&log).(error); failed {
			return err
		}
	case raft.LogConfiguration:
		a.noteConfiguration(index)
	}
	return nil
}

// endInstall waits for an installation that the end of the node stops.
func (a *adapter) endInstall() {
	if one := a.installing.present(); one != nil {
		<-one.done
	}
}

type readerFunc func(into []byte) (int, error)

func (r readerFunc) Read(into []byte) (int, error) { return r(into) }

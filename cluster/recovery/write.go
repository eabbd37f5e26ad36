package recovery

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
)

const (
	BackupSpare     = 256 * engine.MiB // Free space that the copy must leave.
	backupUnended   = ".unended"
	lineageBytes    = 8
	BackupNameStart = datadir.BackupNameStart
)

// Recoverer does a recovery step by step. Every step can be repeated. The file recovery.json,
// written before the first step, keeps any node from starting on a folder that is changed in
// part.
type Recoverer struct {
	Now  func() time.Time
	Free func(dir string) (free, total uint64, err error)
	// After is called behind each step. If it returns an error, the recovery ends there, as a
	// kill would end it. Tests use it.
	After func(step string) error
}

// Recover makes a stopped survivor the whole group. After an error before the first change the
// folder is as it was. After a later error the same call goes on where it ended. The report
// describes the folder before the recovery.
func Recover(source Source, order Order) (*Report, error) {
	return RecoverStepwise(source, order, func(string) error { return nil })
}

// RecoverStepwise is Recover, and calls after behind each step. If after returns an error, it
// ends there, as a kill would. Tests use it.
func RecoverStepwise(source Source, order Order, after func(step string) error) (*Report, error) {
	r := &Recoverer{Now: time.Now, Free: datadir.FreeSpace, After: after}
	return r.Run(source, order)
}

func (c *Recoverer) Run(source Source, order Order) (report *Report, err error) {
	f, err := openStill(source.Dir, source.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	report, err = inspectFolder(f, source)
	if err != nil {
		return nil, err
	}
	order.Keep = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(order.Keep))), func(id string) bool { return id == report.Node })
	if err := order.checkAgainst(report); err != nil {
		return report, err
	}
	if f.record.Begun() && f.record.Node != report.Node {
		return report, fmt.Errorf("%w: this folder was about to follow the recovery of %s: finish that", ErrOrder, f.record.Node)
	}
	if f.lock == nil { // The folder is a copy, without the lock file.
		if f.lock, err = datadir.Lock(f.fullPath(datadir.LockFile)); err != nil {
			return report, fmt.Errorf("cluster: %s: %w (%w)", f.dir, ErrFolderInUse, err)
		}
	}
	if err := f.store.Close(); err != nil { // The lock on the folder stays.
		return report, err
	}
	f.store = nil
	plan, err := c.planRecovery(f, report, &order)
	if err != nil {
		return report, err
	}
	if err := c.changeFolder(f, plan); err != nil {
		return report, fmt.Errorf("%w: the recovery is not finished and no node starts on %s: run the same command again", err, f.dir)
	}
	state := stateOf(plan)
	report.Earlier = &state
	return report, c.verifyFolder(f, plan)
}

// planRecovery makes the record of a recovery, or returns that of a recovery that was killed.
func (c *Recoverer) planRecovery(f *stillFolder, report *Report, order *Order) (*datadir.Record, error) {
	plan := f.record
	if !plan.Begun() {
		var random [lineageBytes]byte
		rand.Read(random[:])
		lineage := hex.EncodeToString(random[:])
		plan = &datadir.Record{
			Format: datadir.Format, State: datadir.RecoveryBegun, Recovery: f.identity.Recovery + 1, Lineage: lineage,
			ClusterID: report.ClusterID, Node: report.Node,
			Former: report.Members, LastIndex: report.LastIndex, LastTerm: report.LastTerm, LastTime: report.LastTime,
			CommittedIndex: report.CommittedIndex, TakenOver: report.Uncertain.Entries, TakenLeaves: report.Uncertain.Leaves,
			AuditLeaves: report.AuditLeaves, TreeHead: report.TreeHead, Survivors: report.Survivors,
			NewTerm: max(report.Term, report.LastTerm) + 1, Kept: order.Keep,
		}
		plan.Backup = fmt.Sprintf("%s%d-%s", BackupNameStart, plan.Recovery, lineage)
	}
	plan.By, plan.Second, plan.Reason = strings.TrimSpace(order.By), strings.TrimSpace(order.Second), order.Reason
	if f.record.Begun() && !slices.Equal(plan.Kept, order.Keep) {
		return nil, fmt.Errorf("%w: the recovery that was begun keeps %v", ErrOrder, plan.Kept)
	}
	plan.DecidedAt, plan.Forced = instantOf(c.Now()), report.Behind
	return plan, c.checkFreeSpace(f, plan)
}

// checkFreeSpace refuses a disk without room for the copy of the changed files.
func (c *Recoverer) checkFreeSpace(f *stillFolder, plan *datadir.Record) error {
	if _, err := os.Stat(f.fullPath(plan.Backup)); err == nil {
		return nil
	}
	copied, _, err := datadir.LogFiles(f.fullPath(datadir.RaftFolder))
	if err != nil {
		return err
	}
	size := int64(0)
	for _, path := range copied {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		size += info.Size()
	}
	free, _, err := c.Free(f.dir)
	if err != nil {
		return fmt.Errorf("cluster: free space: %w", err)
	}
	if needed := uint64(size) + BackupSpare; free < needed {
		return fmt.Errorf("%w: the copy of the raft log needs %d bytes with what must stay free, and %d are free under %s: make room first",
			ErrOrder, needed, free, f.dir)
	}
	return nil
}

// changeFolder does the steps of a recovery in order. Steps that were done before a kill change
// nothing when they are repeated.
func (c *Recoverer) changeFolder(f *stillFolder, plan *datadir.Record) error {
	steps := []struct {
		name string
		do   func(*stillFolder, *datadir.Record) error
	}{
		{"begun", func(f *stillFolder, plan *datadir.Record) error { return plan.Save(f.dir) }},
		{"backup", c.copyChangedFiles},
		{"membership", c.rewriteMembership},
		{"identity", c.rewriteIdentity},
		{"waiting", func(f *stillFolder, plan *datadir.Record) error {
			plan.State = datadir.RecoveryWaiting
			return plan.Save(f.dir)
		}},
	}
	for _, step := range steps {
		if err := step.do(f, plan); err != nil {
			return fmt.Errorf("cluster: recovery, step %s: %w", step.name, err)
		}
		if err := c.After(step.name); err != nil {
			return err
		}
	}
	return nil
}

// copyChangedFiles copies the files that the recovery will change. The folder of copies gets
// its name when it is complete, so a folder with that name was made before the first change.
func (c *Recoverer) copyChangedFiles(f *stillFolder, plan *datadir.Record) error {
	whole := f.fullPath(plan.Backup)
	if _, err := os.Stat(whole); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unended := whole + backupUnended
	if err := os.RemoveAll(unended); err != nil {
		return err
	}
	if err := os.Mkdir(unended, 0o700); err != nil {
		return err
	}
	copied, linked, err := datadir.LogFiles(f.fullPath(datadir.RaftFolder))
	if err != nil {
		return err
	}
	for _, path := range linked { // These files are never written to again, so a hard link is enough.
		if err := os.Link(path, filepath.Join(unended, filepath.Base(path))); err != nil {
			copied = append(copied, path)
		}
	}
	for _, path := range append([]string{f.fullPath(datadir.IdentityFile)}, copied...) {
		if err := copyFile(path, filepath.Join(unended, filepath.Base(path))); err != nil {
			return err
		}
		if err := c.After("copy of " + filepath.Base(path)); err != nil {
			return err
		}
	}
	if err := datadir.SyncFolder(unended); err != nil {
		return err
	}
	if err := os.Rename(unended, whole); err != nil {
		return err
	}
	return datadir.SyncFolder(f.dir)
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(target, source); err == nil {
		err = target.Sync()
	}
	return errors.Join(err, target.Close())
}

// rewriteMembership raises the term and writes, behind the last entry, a membership of this
// node and those that are kept. A leader would have written the same. The term is new, so the
// entry cannot be taken for one of the old group.
func (c *Recoverer) rewriteMembership(f *stillFolder, plan *datadir.Record) (err error) {
	store, err := datadir.OpenLog(f.fullPath(datadir.RaftFolder))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	term, err := store.GetUint64(datadir.RaftTermKey)
	if err != nil {
		return err
	}
	if term < plan.NewTerm {
		if err := store.SetUint64(datadir.RaftTermKey, plan.NewTerm); err != nil {
			return err
		}
	}
	if err := c.After("term"); err != nil {
		return err
	}
	return appendMembership(store, plan, f.identity.Incarnation)
}

// appendMembership writes the entry unless it is there already.
func appendMembership(store datadir.LogStore, plan *datadir.Record, incarnation string) error {
	entry, err := membershipEntry(plan, incarnation)
	if err != nil {
		return err
	}
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	switch {
	case err != nil:
		return err
	case last == entry.Index:
		var there raft.Log
		if err := store.GetLog(last, &there); err != nil {
			return err
		}
		if there.Type != entry.Type || there.Term != entry.Term || !bytes.Equal(there.Data, entry.Data) {
			return fmt.Errorf("log entry %d is not the one this recovery wrote", last)
		}
		return nil
	case last > entry.Index:
		return fmt.Errorf("the log goes on to %d, behind the entry of this recovery at %d", last, entry.Index)
	case last != 0 && last < plan.LastIndex:
		// A crash left entries there from before an installed snapshot. Raft removes them
		// before it goes on behind the snapshot, and so must we.
		if err := store.DeleteRange(first, last); err != nil {
			return err
		}
	}
	return store.StoreLogs([]*raft.Log{entry})
}

// membershipEntry returns the log entry by which this node and the kept ones are the group.
func membershipEntry(r *datadir.Record, incarnation string) (*raft.Log, error) {
	host := ""
	for _, m := range r.Former {
		if m.Self {
			host = m.Addr
		}
	}
	if host == "" {
		host = r.Node // The node was no member; it gives its address when it starts.
	}
	members := raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: raft.ServerID(r.Node),
		Address: raft.ServerAddress(port.Address{Host: host, Incarnation: incarnation}.String()),
	}}}
	for _, m := range r.Former {
		if slices.Contains(r.Kept, m.ID) {
			members.Servers = append(members.Servers, raft.Server{
				Suffrage: raft.Voter, ID: raft.ServerID(m.ID),
				Address: raft.ServerAddress(port.Address{Host: m.Addr, Incarnation: m.Incarnation}.String()),
			})
		}
	}
	decided, err := time.Parse(datadir.TimeFormat, r.DecidedAt)
	if err != nil {
		return nil, err
	}
	return &raft.Log{
		Index: r.LastIndex + 1, Term: r.NewTerm, Type: raft.LogConfiguration,
		Data: raft.EncodeConfiguration(members), AppendedAt: decided,
	}, nil
}

// rewriteIdentity writes the new lineage into node.json.
func (c *Recoverer) rewriteIdentity(f *stillFolder, plan *datadir.Record) error {
	if f.identity.Lineage == plan.Lineage {
		return nil
	}
	var err error
	f.identity, err = datadir.Inherit(f.dir, f.identity, plan.Recovery, plan.Lineage)
	return err
}

// verifyFolder reads the folder as a start of the node will, and compares the membership that
// it finds with the decided one.
func (c *Recoverer) verifyFolder(f *stillFolder, plan *datadir.Record) error {
	again := &stillFolder{dir: f.dir}
	var err error
	if again.snapshot, err = datadir.NewestSnapshot(f.dir); err != nil {
		return err
	}
	if again.store, err = datadir.OpenLogToRead(f.fullPath(datadir.RaftFolder)); err != nil {
		return err
	}
	err = again.readLog()
	if servers := again.configuration.Servers; err == nil && (len(servers) != 1+len(plan.Kept) || string(servers[0].ID) != f.identity.ID) {
		err = errors.New("BUG: the recovered folder's membership is not the one that was decided")
	}
	return errors.Join(err, again.close())
}

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/engine"
	"railguard/fsm"
	"railguard/ofac"
)

// newDump is `railguard dump PATH`: it describes files on disk to a person.
func newDump() *cobra.Command {
	return &cobra.Command{
		Use: "dump PATH", Short: "Say what a file of a node holds, and whether it is whole", GroupID: "operation",
		Long: `Read a file or folder of a stopped node and say what it is:
  the whole data folder: all that follows
  raft: each snapshot, and the log behind it, entry by entry
  raft/snapshots/ID/state.bin: index, counts, tree head, list
  audit: every leaf read, hashed, and compared with what snapshot and log give
  lists, lists/DIGEST.entities: source, date, counts; the content is that of the name

What is damaged is named by file and byte. Exit codes: 0 whole, 1 damaged, 64 not readable.`,
		Example: "  railguard dump /var/lib/railguard\n  railguard dump /var/lib/railguard/audit",
		Args:    exactArgs(1, "one file or folder of a node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &dump{cmd: cmd, out: cmd.OutOrStdout()}
			if err := d.describePath(args[0]); err != nil {
				return err
			}
			if d.damaged > 0 {
				return fmt.Errorf("%d damaged place(s): keep the folder as it is; where a quorum answers, the node fetches what it lacks from its peers when it starts; where none does, `railguard backup create --folder` takes what history and log still have", d.damaged)
			}
			if d.alone {
				fmt.Fprintln(d.out, "what is here is whole")
				return nil
			}
			fmt.Fprintln(d.out, "whole")
			return nil
		},
	}
}

// dump describes what it reads, and counts what is damaged.
type dump struct {
	cmd     *cobra.Command
	out     io.Writer
	damaged int
	alone   bool // History was compared with no log, so its end may be missing.
}

func (d *dump) tellDamage(format string, args ...any) {
	d.damaged++
	fmt.Fprintf(d.out, "DAMAGED: "+format+"\n", args...)
}

func (d *dump) describePath(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return usageError("%w", err)
	}
	if !info.IsDir() {
		return d.describeFile(path)
	}
	path = filepath.Clean(path)
	if _, err := os.Stat(filepath.Join(path, datadir.IdentityFile)); err == nil {
		d.describeLog(path)
		if err := d.describeLists(filepath.Join(path, datadir.ListFolder)); err != nil {
			return err
		}
		return d.describeHistory(filepath.Join(path, datadir.AuditFolder))
	}
	switch filepath.Base(path) {
	case datadir.RaftFolder:
		d.describeLog(filepath.Dir(path))
		return nil
	case datadir.ListFolder:
		return d.describeLists(path)
	}
	return d.describeHistory(path)
}

// describeLog reads a folder's snapshots and its raft log.
func (d *dump) describeLog(dir string) {
	states, _ := filepath.Glob(filepath.Join(dir, datadir.RaftFolder, datadir.SnapshotFolder, "*", datadir.SnapshotStateFile)) // The pattern is right.
	for _, state := range states {
		if err := d.describeFile(state); err != nil {
			d.tellDamage("%s: %v", state, err)
		}
	}
	still, err := recovery.Committed(dir)
	if err != nil {
		d.tellDamage("%v", err)
		return
	}
	fmt.Fprintf(d.out, "raft log\nentries   %d to %d, behind the snapshot at %d\ncommitted %d, as far as this disk knows\ntree head %x, of %d leaves\n",
		still.FirstIndex, still.LastIndex, still.SnapshotIndex, still.View.Index, still.View.Root, still.View.Size)
	if err := still.Close(); err != nil {
		d.tellDamage("%v", err)
	}
}

func (d *dump) describeLists(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.entities"))
	for _, file := range files {
		if err := d.describeFile(file); err != nil {
			d.tellDamage("%s: %v", file, err)
		}
	}
	return err
}

func (d *dump) describeFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return usageError("%w", err)
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, 1<<20)
	if head, _ := reader.Peek(8); string(head) == "RGSNAP01" || filepath.Base(path) == datadir.SnapshotStateFile {
		machine, err := fsm.Restore(reader)
		if err == nil {
			err = datadir.CheckSnapshotFile(path)
		}
		if err != nil {
			d.tellDamage("%s: %v", path, err)
			return nil
		}
		dumpSnapshot(d.out, machine.Freeze())
		return nil
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(reader, engine.ListMax+1)); err != nil {
		return err
	}
	named, isList := strings.CutSuffix(filepath.Base(path), ".entities")
	if is := sha256.Sum256(data.Bytes()); isList && hex.EncodeToString(is[:]) != named {
		d.tellDamage("%s: its %d bytes have the digest %x, which is not its name: they were changed, or are another list", path, data.Len(), is)
		return nil
	}
	index, err := ofac.Compile(data.Bytes(), ofac.MatcherVersion)
	if err != nil {
		return usageError("%s: neither a snapshot nor a list: %w", filepath.Base(path), err)
	}
	meta, counts := index.Meta(), index.Counts()
	fmt.Fprintf(d.out, "list of entities\ndigest    %x\nmatcher   %d\nsource    %s\nentries   %d (SDN %d, CONS %d)\nnames     %d\nwallets   %d\nbytes     %d\n",
		index.Digest(), index.Matcher(), meta.Source, counts.Entries, counts.Lists[ofac.SDN], counts.Lists[ofac.CONS], counts.Names, counts.Wallets, data.Len())
	return nil
}

func dumpSnapshot(out io.Writer, v *fsm.View) {
	s := v.Settings()
	fmt.Fprintf(out, "snapshot\nindex     %d, term %d, format %d\nlog time  %s\nleaves    %d, first kept %d\ntree head %x\ndigest    %x\n",
		v.Index, v.Term, v.Format, v.Time, v.Size, v.Oldest, v.Root, v.Digest())
	fmt.Fprintf(out, "agents    %d\nusers     %d\nfleets    %d\noperators %d\nreviews   %d open\nAPI keys  %d\n",
		v.Agents(), v.Users(), v.Fleets(), v.Operators(), v.OpenReviews(), len(s.Keys))
	if s.Genesis != nil {
		fmt.Fprintf(out, "cluster   %s\n", s.Genesis.ClusterID)
	}
	if s.List != nil {
		fmt.Fprintf(out, "list      version %d, %x, %s\n", s.ListVersion, s.List.Digest, s.List.Source)
	}
}

// describeHistory reads and hashes everything in an audit folder, and compares it with what the
// snapshot and the log beside it give. Bytes that end a file unread may be the half of a leaf that
// a crash left, or the rest of history behind a flipped byte: only the log tells which.
func (d *dump) describeHistory(path string) (err error) {
	store, err := audit.OpenReadOnly(audit.OSDir(path), audit.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir := filepath.Dir(path)
	still, logErr := recovery.Committed(dir)
	if logErr == nil {
		defer func() { err = errors.Join(err, still.Close()) }()
		store.Prune(still.View.Oldest)
	}
	for _, tail := range store.Report().Tails {
		if tail.Cut > 0 || tail.Damaged > 0 {
			d.tellDamage("%s from byte %d: what follows is no leaf (%d damaged places, %d bytes at the end unread)", filepath.Join(path, tail.File), tail.At, tail.Damaged, tail.Cut)
		}
	}
	summary, err := store.Verify(d.cmd.Context(), func(damage *audit.DamageError) { d.tellDamage("%v", damage) })
	if err != nil {
		return err
	}
	for _, stretch := range store.Missing(missingTold) {
		d.tellDamage("leaves %d to %d are not in %s, or cannot be read", stretch.First, stretch.End-1, path)
	}
	fmt.Fprintf(d.out, "audit log\nleaves    %d read, %d in all, first kept %d\nsegments  %d\n", summary.Leaves, store.Size(), store.Oldest(), summary.Segments)
	if root, err := store.Root(store.Size()); err != nil {
		d.tellDamage("the tree head of %d leaves cannot be computed: %v", store.Size(), err)
	} else {
		fmt.Fprintf(d.out, "tree head %x\n", root)
	}
	switch {
	case logErr == nil:
		return d.compareWithLog(store, still, path)
	case errors.Is(logErr, recovery.ErrFolderInUse):
		d.alone = true
		fmt.Fprintln(d.out, "NOT compared with the log: a node runs on the folder")
	case !fileExists(filepath.Join(dir, datadir.IdentityFile)):
		d.alone = true
		fmt.Fprintln(d.out, "NOT compared with a log: there is none beside it")
	default:
		d.tellDamage("history cannot be compared with the log: %v", logErr)
	}
	return nil
}

// missingTold bounds how many missing stretches of history are told.
const missingTold = 1 << 10

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compareWithLog compares history with a stopped node's state: every leaf that the log gives, and
// the tree head.
func (d *dump) compareWithLog(store *audit.Store, still *recovery.Still, path string) error {
	view := still.View
	if err := still.EachLeaf(func(index uint64, leaf audit.Leaf) error {
		have, err := store.Record(index)
		if err == nil && !bytes.Equal(have.Data, leaf.Data) {
			d.tellDamage("leaf %d in %s is not the one that the log gives", index, path)
		}
		return nil // Missing and damaged leaves are told already.
	}); err != nil {
		d.tellDamage("%v", err)
		return nil
	}
	switch {
	case store.Size() < view.Size:
		d.tellDamage("%s holds %d leaves, and the log gives %d: leaves %d to %d stand in the log alone, and a start writes them again", path, store.Size(), view.Size, store.Size(), view.Size-1)
	case store.Size() > view.Size:
		d.tellDamage("%s holds %d leaves, and the log gives %d: committed entries are gone from the log, which was cut or put back", path, store.Size(), view.Size)
	default:
		if root, err := store.Root(view.Size); err == nil && root != view.Root {
			d.tellDamage("%s leads to the tree head %x, and the log to %x", path, root, view.Root)
		}
	}
	return nil
}

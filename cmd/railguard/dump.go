package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
	"railguard/ofac"
)

// newDump is `railguard dump FILE`: it describes a file on disk to a person.
func newDump() *cobra.Command {
	return &cobra.Command{
		Use: "dump PATH", Short: "Say what a file of a node holds, and whether it is whole", GroupID: "operation",
		Long: `Read a file of a stopped node and say what it is:
  a raft snapshot (raft/snapshots/ID/state.bin): index, counts, tree head, list
  a sanctions list (lists/DIGEST.entities): source, date, counts
  a node's audit folder (audit): every leaf read and hashed; damage is named

Exit codes: 0 whole, 1 damaged, 64 not readable.`,
		Args: exactArgs(1, "one file, or a node's audit folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			if err != nil {
				return usageError("%w", err)
			}
			if _, err := os.Stat(filepath.Join(args[0], "node.json")); err == nil {
				return usageError("%s is a node's whole folder: name what of it, e.g. %s", args[0], filepath.Join(args[0], "audit"))
			}
			if info.IsDir() {
				return dumpAudit(cmd, args[0])
			}
			return dumpFile(cmd.OutOrStdout(), args[0])
		},
	}
}

func dumpFile(out io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return usageError("%w", err)
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, 1<<20)
	head, _ := reader.Peek(8)
	if string(head) == "RGSNAP01" {
		machine, err := fsm.Restore(reader)
		if err != nil {
			return err
		}
		dumpSnapshot(out, machine.Freeze())
		return nil
	}
	var data bytes.Buffer
	if _, err := io.Copy(&data, io.LimitReader(reader, engine.ListMax+1)); err != nil {
		return err
	}
	index, err := ofac.Compile(data.Bytes(), ofac.MatcherVersion)
	if err != nil {
		return usageError("%s: neither a snapshot nor a list: %w", filepath.Base(path), err)
	}
	meta, counts := index.Meta(), index.Counts()
	fmt.Fprintf(out, "list of entities\ndigest    %x\nmatcher   %d\nsource    %s\nentries   %d (SDN %d, CONS %d)\nnames     %d\nwallets   %d\nbytes     %d\n",
		index.Digest(), index.Matcher(), meta.Source, counts.Entries, counts.Lists[ofac.SDN], counts.Lists[ofac.CONS], counts.Names, counts.Wallets, data.Len())
	return nil
}

func dumpSnapshot(out io.Writer, v *fsm.View) {
	s := v.Settings()
	fmt.Fprintf(out, "snapshot, whole\nindex     %d, term %d, format %d\nlog time  %s\nleaves    %d, first kept %d\ntree head %x\ndigest    %x\n",
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

// dumpAudit reads and hashes everything in an audit folder.
func dumpAudit(cmd *cobra.Command, path string) (err error) {
	out := cmd.OutOrStdout()
	store, err := audit.OpenReadOnly(audit.OSDir(path), audit.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	summary, err := store.Verify(cmd.Context(), func(d *audit.DamageError) { fmt.Fprintln(out, "DAMAGED:", d) })
	if err != nil {
		return err
	}
	root, err := store.Root(store.Size())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "audit log\nleaves    %d read, %d in all, first kept %d\nsegments  %d\ntree head %x\n", summary.Leaves, store.Size(), store.Oldest(), summary.Segments, root)
	if summary.Damaged > 0 || summary.Missing > 0 {
		return fmt.Errorf("%d damaged place(s), %d missing stretch(es): the node fetches them from its peers when it starts", summary.Damaged, summary.Missing)
	}
	fmt.Fprintln(out, "whole")
	return nil
}

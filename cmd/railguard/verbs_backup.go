package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/backup"
	"railguard/cluster/recovery"
)

// backupSuffix ends the names of backup files in the directory of --directory.
const backupSuffix = ".rgbackup"

func newBackup() *cobra.Command {
	cmd := &cobra.Command{Use: "backup", Short: "Take, prove and restore backups", GroupID: "operation", RunE: helpOnly}
	cmd.AddCommand(newBackupCreate(), newBackupVerify(), newBackupInspect(), newBackupRestore(), newBackupRevocations())
	cmd.AddCommand(commandTree(backupVerbs, describeBackups)...)
	return cmd
}

// backupKeys are the flags for encrypting or decrypting a backup.
type backupKeys struct {
	recipients []string
	identity   string
}

func (k *backupKeys) defineFlags(cmd *cobra.Command, write bool) {
	if write {
		cmd.Flags().StringSliceVar(&k.recipients, "recipient", nil, "public key of age to encrypt to (age1…; repeatable); else the passphrase in RAILGUARD_BACKUP_PASSPHRASE or a file named by RAILGUARD_BACKUP_PASSPHRASE_FILE")
		return
	}
	cmd.Flags().StringVar(&k.identity, "identity", "", "file with the private key of age; else the passphrase in RAILGUARD_BACKUP_PASSPHRASE or a file named by RAILGUARD_BACKUP_PASSPHRASE_FILE; else, for the cluster's own backups, RAILGUARD_CLUSTER_SECRET or its file")
}

func (k *backupKeys) readKeys() (*backup.Keys, error) {
	keys := &backup.Keys{Recipients: k.recipients}
	if len(k.recipients) > 0 {
		return keys, keys.Check()
	}
	if k.identity != "" {
		data, err := os.ReadFile(k.identity)
		if err != nil {
			return nil, usageError("--identity: %w", err)
		}
		keys.Identities = data
		return keys, nil
	}
	passphrase, err := secretOf("RAILGUARD_BACKUP_PASSPHRASE")
	if err == nil && passphrase == "" {
		err = usageError("say what the backup is encrypted with: --recipient or --identity, or the passphrase in RAILGUARD_BACKUP_PASSPHRASE_FILE")
	}
	keys.Passphrase = passphrase
	return keys, err
}

type backupRun struct {
	client
	backupKeys
	file, directory, hook string
	folder                string // Folder of a stopped node; "": a server is asked.
	from                  uint64
	reason                string
	every                 time.Duration

	now   func() time.Time
	after func(time.Duration) <-chan time.Time
}

func newBackupCreate() *cobra.Command {
	return (&backupRun{now: time.Now, after: time.After}).makeCommand()
}

func (b *backupRun) makeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create", Short: "Take a backup of a running cluster, or of a stopped node, into one encrypted file", Args: cobra.NoArgs,
		Long: `Take a backup: state, history and lists, through a key of the institution with the
role admin. On its way to the file everything is proven: the state is restored into
a scratch machine, and its digest, tree head and key set are compared; the key set
also with the one that the server publishes. The file has its name only when it is
whole and proven.

With --folder it is taken from a stopped node's data folder, and no server is asked: of
what was certainly committed by what that disk knows. Nothing in the folder is changed.

With --every it goes on until it is stopped, and writes a new file to --directory
each time; --hook is run for each finished file, with its path behind its words. A
failed round is told and tried again at the next.`,
		Example: `  railguard backup create --file monday.rgbackup --recipient age1...
  railguard backup create --directory /backups --every 24h --hook "rclone copyto"
  railguard backup create --file tuesday.rgbackup --after-leaf 81920
  railguard backup create --file last.rgbackup --folder /var/lib/railguard`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.checkFlags(cmd); err != nil {
				return err
			}
			keys, err := b.readKeys()
			if err == nil {
				err = keys.Check()
			}
			if err != nil {
				return usageError("%w", err)
			}
			return b.runRounds(cmd, keys)
		},
	}
	b.client.defineFlags(cmd, false)
	b.backupKeys.defineFlags(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&b.file, "file", "", "the file to write; it must not exist")
	flags.StringVar(&b.directory, "directory", "", "where to write a file named by its time, railguard-20260322T020000Z.rgbackup")
	flags.StringVar(&b.folder, "folder", "", "take it from this stopped node's data folder, and ask no server")
	flags.Uint64Var(&b.from, "after-leaf", 0, "incremental: history from this leaf on (treeSize of the backup before); restoring needs both")
	flags.DurationVar(&b.every, "every", 0, "go on, and take one so often (at least 1m)")
	flags.StringVar(&b.reason, "reason", "", "why: it stands in the leaf that says who took it")
	flags.StringVar(&b.hook, "hook", "", "command run for each finished file, its path behind it")
	return cmd
}

func (b *backupRun) checkFlags(cmd *cobra.Command) error {
	switch {
	case (b.file == "") == (b.directory == "") || b.every != 0 && b.directory == "":
		return usageError("give --file, or --directory (with --every: --directory)")
	case b.every != 0 && b.every < time.Minute:
		return usageError("--every must be at least 1m")
	case b.reason != "" && b.folder != "":
		return usageError("--reason and --folder exclude each other: a stopped node writes no leaf")
	case b.every != 0 && b.folder != "":
		return usageError("--every and --folder exclude each other: a stopped node does not change")
	case b.folder != "":
		if b.output != "table" && b.output != "json" {
			return usageError("--output must be table or json")
		}
		return nil
	}
	if err := b.findServer(cmd, false); err != nil {
		return err
	}
	b.readAsStream()
	return nil
}

// reasonQuery returns the further query of a call that says why data of the institution is given out.
func reasonQuery(reason string) string {
	if reason == "" {
		return ""
	}
	return "&reason=" + url.QueryEscape(reason)
}

func (b *backupRun) runRounds(cmd *cobra.Command, keys *backup.Keys) error {
	for {
		err := b.runRound(cmd, keys)
		if b.every == 0 {
			return err
		}
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "NO BACKUP this time:", err)
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-b.after(b.every):
		}
	}
}

func (b *backupRun) runRound(cmd *cobra.Command, keys *backup.Keys) error {
	path := b.file
	if path == "" {
		path = filepath.Join(b.directory, "railguard-"+b.now().UTC().Format(backupNameTime)+backupSuffix)
	}
	report, err := b.takeBackup(cmd, path, keys)
	if err != nil {
		return err
	}
	if err := showBackup(cmd.OutOrStdout(), b.output, path, report); err != nil || b.hook == "" {
		return err
	}
	words := append(strings.Fields(b.hook), path)
	hook := exec.CommandContext(cmd.Context(), words[0], words[1:]...)
	hook.Stdout, hook.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := hook.Run(); err != nil {
		return fmt.Errorf("the backup %s is whole, and the hook failed: %w", path, err)
	}
	return nil
}

func (b *backupRun) takeBackup(cmd *cobra.Command, path string, keys *backup.Keys) (*backup.Report, error) {
	if b.folder != "" {
		return b.takeStopped(cmd, path, keys)
	}
	response, err := b.openAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/backup?from=" + strconv.FormatUint(b.from, 10) + reasonQuery(b.reason)})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return backup.Create(path, keys, response.Body, func(report *backup.Report) error { return b.compareKeySet(cmd, report) })
}

// takeStopped writes a backup file from a stopped node's folder.
func (b *backupRun) takeStopped(cmd *cobra.Command, path string, keys *backup.Keys) (report *backup.Report, err error) {
	still, err := recovery.Committed(b.folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, still.Close()) }()
	if left := still.LastIndex - still.View.Index; left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d entries at the end of its log are not in the backup: this disk does not know that they were committed\n", left)
	}
	save := backup.Stopped(still, b.folder, "", func(said string) { fmt.Fprintln(cmd.ErrOrStderr(), said) })
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		in.CloseWithError(save(in, b.from))
	}()
	report, err = backup.Create(path, keys, out)
	err = errors.Join(err, out.Close())
	<-ended // The goroutine reads the folder, so it must end before the folder is released.
	return report, err
}

// compareKeySet compares the key set in the backup with the published one.
func (b *backupRun) compareKeySet(cmd *cobra.Command, report *backup.Report) error {
	jwks, err := b.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/.well-known/jwks.json"})
	if err != nil {
		return err
	}
	if backup.Digest(jwks) != report.JWKS {
		return errors.New("the key set in the backup is not the one that the server publishes: take it again")
	}
	return nil
}

func newBackupVerify() *cobra.Command {
	k, output := &backupKeys{}, "table"
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Prove a backup file: restore it in memory, compare everything", Args: exactArgs(1, "one file"),
		Long: `Read a backup file whole. Its state is restored into a scratch machine, its history
hashed; digest, tree head, key set and the checksum of every part must be right. What
is not is named by its part. Of a tail (.rgtail) every entry is read; that they lead to
its tree head, a restore shows. It asks no server. Exit codes: 0 whole, 1 not.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := k.readOpeningKeys()
			if err != nil {
				return err
			}
			if isTail(args[0]) {
				return showTail(cmd.OutOrStdout(), output, args[0], keys)
			}
			report, err := backup.Verify(args[0], keys)
			if err != nil {
				return err
			}
			return showBackup(cmd.OutOrStdout(), output, args[0], report)
		},
	}
	k.defineFlags(cmd, false)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func newBackupInspect() *cobra.Command {
	k := &backupKeys{}
	cmd := &cobra.Command{
		Use: "inspect FILE", Short: "Print what a backup file says of itself, unproven", Args: exactArgs(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := k.readOpeningKeys()
			if err != nil {
				return err
			}
			var says any
			if isTail(args[0]) {
				says, err = backup.InspectTail(args[0], keys)
			} else {
				says, err = backup.Inspect(args[0], keys)
			}
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), says)
		},
	}
	k.defineFlags(cmd, false)
	return cmd
}

func newBackupRestore() *cobra.Command {
	k, order, without, directory := &backupKeys{}, backup.Order{}, false, ""
	cmd := &cobra.Command{
		Use: "restore [FILE...]", Short: "Make an empty folder the first node of a new lineage", Args: cobra.ArbitraryArgs,
		Long: `Restore a backup into an empty data folder; of a full backup and its incremental ones
name all, the full one first, and behind them the log's tails, oldest first; or name with --directory the folder of the cluster's own backups:
the newest full one, its increments and the log's tail behind them are taken. No server may run on the folder. Afterwards start the node
with the same cluster secret, public URL and flags as before; the others join it with
empty folders.

The restored cluster is a new lineage: ids and credentials that the old one gave out
after the backup are unknown to it and are never given out again. Two lineages must not
serve side by side: before its first start the node asks the members that the backup
names, those of --join here and those of serve's --join, and does not start while one of
them answers as the old group. Stop them and wipe them, or give the restore up. A member
that cannot be reached then is refused later, and ends if no majority stands behind it.

What was revoked, suspended or renewed after the backup must not come back with it: name
the file that "backup revocations" kept, or the data folder of a node that was lost, with
--revocations. Each event in it ends the same again, before anybody is served. A folder that
--confirm moves aside is read too. --without-revocations restores without them: keys,
credentials and suspensions are then as good as they were at the backup.

If this backup, or an older one, was restored before and served, or a lost majority was
recovered since, give --epoch a number above that of the last restore or recovery: what
that lineage gave out must not be given out again.

Where there are data it refuses; --confirm CLUSTER-ID moves them aside.`,
		Example: `  railguard backup restore monday.rgbackup --data /var/lib/railguard --id n1 --cluster 10.0.0.1:8280 --revocations revocations.ndjson`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (directory == "") {
				return usageError("name the files of a backup, or --directory")
			}
			if order.Dir == "" || order.ID == "" {
				return usageError("--data and --id are required")
			}
			if (len(order.Revocations) > 0) == without {
				return usageError("say what was revoked after the backup: --revocations with the file that backup revocations kept or with the data folder of a lost node; if there is none, --without-revocations, and what was revoked since is good again")
			}
			keys, err := k.readOpeningKeys()
			if err != nil {
				return err
			}
			order.Now = time.Now()
			return restoreBackup(cmd, args, directory, keys, order)
		},
	}
	k.defineFlags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&directory, "directory", "", "folder of backups: take the newest full one, what continues it, and the log's tail")
	flags.StringSliceVar(&order.Revocations, "revocations", nil, "file that backup revocations kept, or data folder of a lost node (repeatable)")
	flags.BoolVar(&without, "without-revocations", false, "there is none: what was revoked after the backup is good again")
	flags.StringVar(&order.Dir, "data", "", "the new node's data folder, empty (required)")
	flags.StringVar(&order.ID, "id", "", "the new node's id (required)")
	flags.StringVar(&order.Address, "cluster", "", "address of its port between nodes (default: it tells when it starts)")
	flags.StringVar(&order.Confirm, "confirm", "", "the cluster's id, typed: move data that are there aside")
	flags.StringSliceVar(&order.Ask, "join", nil, "addresses of further nodes that may be alive: its first start asks them, and the members of the backup")
	flags.Uint16Var(&order.Epoch, "epoch", 0, "number of the epoch of ids (default: the one after the backup's)")
	return cmd
}

// restoreBackup restores files, or what a directory holds.
func restoreBackup(cmd *cobra.Command, files []string, directory string, keys *backup.Keys, order backup.Order) error {
	if directory != "" {
		chain, err := backup.FindChain(directory, keys)
		if err != nil {
			return err
		}
		files, order.Tails = chain.Files, chain.Tails
	} else if first := slices.IndexFunc(files, isTail); first >= 0 {
		if last := slices.IndexFunc(files[first:], func(path string) bool { return !isTail(path) }); last >= 0 {
			return usageError("name the tails (%s) behind all backups", backup.TailSuffix)
		}
		files, order.Tails = files[:first], files[first:]
	}
	restored, err := backup.Restore(files, keys, order)
	if err != nil {
		return err
	}
	for _, refused := range restored.Revoked.Refused {
		fmt.Fprintln(cmd.ErrOrStderr(), "NOT ended again, do it yourself before callers come:", refused)
	}
	return printJSON(cmd.OutOrStdout(), restored)
}

func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func showBackup(out io.Writer, output, path string, r *backup.Report) error {
	if output == "json" {
		return printJSON(out, r)
	}
	fmt.Fprintf(out, "%s is whole: cluster %s, log index %d, log time %s\n", path, r.ClusterID, r.Index, r.LogTime)
	fmt.Fprintf(out, "history: %d leaves from leaf %d on; tree size %d (the next --after-leaf), tree head %s\n", r.TreeSize-r.From, r.From, r.TreeSize, r.TreeHead)
	fmt.Fprintf(out, "agents %d, users %d, fleets %d, open reviews %d, API keys %d, lists %d\n",
		r.Counts.Agents, r.Counts.Users, r.Counts.Fleets, r.Counts.OpenReviews, r.Counts.APIKeys, len(r.Lists))
	for _, left := range r.LeftOut {
		fmt.Fprintln(out, "not in it:", left)
	}
	return nil
}

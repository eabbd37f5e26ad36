package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railguard/cluster/backup"
	"railguard/engine"
	"railguard/httpapi/description"
	"railguard/seal"
)

// backupVerbs are the verbs of the cluster's own backups.
var backupVerbs = []verb{
	{
		path: "schedule set", short: "Let the cluster copy itself: the node that leads writes, verifies, thins and rehearses by itself", call: "POST /v1/cluster/backups",
		long: `Set the schedule of the cluster's own backups. The node that leads writes to a folder, which
each node sees under the same path: a mount that all share, or one on each machine that is
copied away. A folder on the disk of the nodes alone is lost with them. The files are
encrypted with a key made from the cluster secret: a restore needs that secret and nothing else.`,
		fields: []field{
			{flag: "folder", required: true, help: "absolute path, as each node sees it"},
			{flag: "full", help: "how often a full copy (default 24h)"}, {flag: "increment", help: "how often an increment (default 1h)"},
			{flag: "tail", help: "how often the newest entries of the log: what is lost at most (default 10s; 1s to 1m)"},
			{flag: "drill", help: "how often a restore is rehearsed (default 24h; 0s: never)"}, {flag: "keep", help: "so many full copies stay, each with what continues it (default 7)"},
		},
		omit:    "off",
		example: `  railguard backup schedule set --folder /mnt/backups --full 24h --increment 1h --tail 10s --keep 7 --reason "from the first day on"`,
	},
	{path: "schedule show", short: "Show the schedule, the newest verified copies and the last rehearsal", call: "GET /v1/cluster/backups"},
	{path: "schedule off", short: "End the schedule; the files stay", call: "POST /v1/cluster/backups", omit: "folder full increment tail drill keep off", preset: map[string]string{"off": "true"}, fields: []field{{flag: "off", kind: description.TruthField}}},
}

var describeBackups = map[string]string{"schedule": "The cluster's own backups"}

// clusterKeys are the keys of the cluster's own backups: they are made from the cluster secret, and
// from the older ones where a backup is older than an exchange.
func clusterKeys() (*backup.Keys, error) {
	secret, err := secretOf("RAILGUARD_CLUSTER_SECRET")
	if err != nil || secret == "" {
		return nil, err
	}
	also, old, err := (&serveFlags{}).readAcceptedSecrets()
	if err != nil {
		return nil, err
	}
	passphrases, err := seal.NewSecrets([]byte(secret), slices.Concat(also, old)...).BackupPassphrases()
	return &backup.Keys{Derived: passphrases}, err
}

// readOpeningKeys returns the keys that a backup is opened with: those of the flags, else the
// passphrase, else those made from the cluster secret.
func (k *backupKeys) readOpeningKeys() (*backup.Keys, error) {
	passphrase, err := secretOf("RAILGUARD_BACKUP_PASSPHRASE")
	if err != nil || passphrase != "" || k.identity != "" {
		return k.readKeys()
	}
	own, err := clusterKeys()
	if own == nil && err == nil {
		return nil, usageError("say what opens the backup: --identity, or the passphrase in RAILGUARD_BACKUP_PASSPHRASE_FILE; for the cluster's own backups the secret in RAILGUARD_CLUSTER_SECRET_FILE")
	}
	return own, err
}

func isTail(path string) bool { return strings.HasSuffix(path, backup.TailSuffix) }

// showTail reads a tail whole and prints what it is.
func showTail(out io.Writer, output, path string, keys *backup.Keys) error {
	entries := 0
	head, err := backup.ReadTail(path, keys, func(uint64, uint64, []byte) error { entries++; return nil })
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(out, head)
	}
	fmt.Fprintf(out, "%s is whole: cluster %s, log entries %d to %d (%d of them records), log time %s\n", path, head.ClusterID, head.First, head.Last, entries, engine.Time(head.LogNanos))
	fmt.Fprintf(out, "they lead to tree size %d, tree head %s\n", head.TreeSize, head.TreeHead)
	return nil
}

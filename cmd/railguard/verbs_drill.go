package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/backup"
)

// drillRun is one `railguard drill`.
type drillRun struct {
	backupKeys
	directory, file, scratch string
	maxAge, patience         time.Duration
	output                   string
	secret                   string // Of the cluster.
}

// drillReport is what it found.
type drillReport struct {
	Sleep    bool             `json:"sleep"` // Whether tonight you could.
	Says     string           `json:"says"`  // The same, in one sentence.
	Files    []string         `json:"files"`
	AgeHours float64          `json:"ageHours"` // Of the state: all since then would be lost.
	Seconds  float64          `json:"seconds"`
	Steps    []string         `json:"steps"` // What was found right, in order.
	Why      []string         `json:"why"`   // What was not.
	Restored *backup.Restored `json:"restored,omitempty"`
}

// newDrill is `railguard drill`.
func newDrill() *cobra.Command {
	d := &drillRun{}
	cmd := &cobra.Command{
		Use: "drill", Short: "Restore the newest backup here, start a node on it, and say whether tonight you could sleep", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Restore the newest backup of a directory into a scratch folder on this machine, as onto
an empty one, and start a node on it, with ports of its own on loopback alone. Digest,
tree head, key set and counts must be those of the backup, and the node must answer a dry
run. Afterwards it is stopped and the folder is removed. It joins nobody, tells nobody, and
reaches no other machine.

The cluster secret is needed as in a real restore: RAILGUARD_CLUSTER_SECRET, or a file
named by RAILGUARD_CLUSTER_SECRET_FILE.

Exit codes: 0 you could sleep, 1 you could not, and why; 2 wrong flags.`,
		Example: "  railguard drill --directory /backups --identity key.txt --max-age 26h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := d.check()
			if err != nil {
				return err
			}
			report := d.run(cmd.Context(), keys)
			if err := d.show(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if !report.Sleep {
				return errors.New("do not sleep on this backup")
			}
			return nil
		},
	}
	d.flags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&d.directory, "directory", "", "where `backup create --directory` writes; the newest file is taken, with those it continues")
	flags.StringVar(&d.file, "file", "", "one full backup instead")
	flags.StringVar(&d.scratch, "scratch", "", "where the scratch folder is made (default: the system's folder for such)")
	flags.DurationVar(&d.maxAge, "max-age", backupAgeMax, "an older backup is not good enough (0: any)")
	flags.DurationVar(&d.patience, "patience", 10*time.Minute, "how long the started node may take to be ready")
	flags.StringVarP(&d.output, "output", "o", "table", "table or json")
	return cmd
}

func (d *drillRun) check() (*backup.Keys, error) {
	switch {
	case (d.directory == "") == (d.file == ""):
		return nil, usage("give --directory or --file")
	case d.output != "table" && d.output != "json":
		return nil, usage("--output must be table or json")
	case d.maxAge < 0 || d.patience <= 0:
		return nil, usage("--max-age and --patience must be spans of time")
	}
	var err error
	if d.secret, err = secretOf("RAILGUARD_CLUSTER_SECRET"); err != nil {
		return nil, err
	}
	if d.secret == "" {
		return nil, usage("the cluster secret is needed, as in a real restore: set RAILGUARD_CLUSTER_SECRET_FILE (without it no token can be issued or read)")
	}
	return d.keys()
}

// run restores, starts and judges. What goes wrong is a reason, not an error.
func (d *drillRun) run(ctx context.Context, keys *backup.Keys) *drillReport {
	r := &drillReport{Files: []string{}, Steps: []string{}, Why: []string{}}
	started := time.Now()
	err := d.rehearse(ctx, keys, r)
	if err != nil {
		r.Why = append(r.Why, err.Error())
	}
	if r.Restored != nil {
		age := started.Sub(time.Unix(0, r.Restored.LogNanos))
		r.AgeHours = age.Hours()
		if d.maxAge > 0 && age > d.maxAge {
			r.Why = append(r.Why, fmt.Sprintf("the newest backup is too old, %s: all since then would be lost; see why `backup create --every` stopped", age.Round(time.Second)))
		}
	}
	r.Seconds, r.Sleep = time.Since(started).Round(10*time.Millisecond).Seconds(), len(r.Why) == 0
	if r.Sleep {
		r.Says = fmt.Sprintf("Tonight you could sleep: the backup of %s came back in %.1f s and gives verdicts.", r.Restored.LogTime, r.Seconds)
	} else {
		r.Says = "Tonight you could NOT sleep: " + r.Why[0]
	}
	return r
}

func (d *drillRun) rehearse(ctx context.Context, keys *backup.Keys, r *drillReport) (err error) {
	if r.Files, err = d.files(keys); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(d.scratch, "railguard-drill-")
	if err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	restored, err := backup.Restore(r.Files, keys, backup.Order{Dir: filepath.Join(scratch, "data"), ID: drillNode, Now: time.Now()})
	if err != nil {
		return err
	}
	r.Restored = restored
	r.Steps = append(r.Steps, fmt.Sprintf("restored: %d leaves, %d agents, %d users, %d open reviews; tree head, digest and counts are the manifest's",
		restored.TreeSize, restored.Counts.Agents, restored.Counts.Users, restored.Counts.OpenReviews))
	if err := backup.ReadBack(restored); err != nil {
		return err
	}
	r.Steps = append(r.Steps, "read back from the scratch folder: the same digest")
	node := drillServer{dir: scratch, secret: d.secret, patience: d.patience, restored: restored}
	if err := node.rehearse(ctx, r); err != nil {
		return err
	}
	if err := backup.HistoryHolds(restored); err != nil {
		return err
	}
	r.Steps = append(r.Steps, "stopped in order: history leads to the backup's tree head")
	return nil
}

// files are the newest backup and, where it continues others, those: oldest first.
func (d *drillRun) files(keys *backup.Keys) ([]string, error) {
	if d.file != "" {
		return []string{d.file}, nil
	}
	all, err := backupsIn(d.directory)
	if err != nil {
		return nil, err
	}
	var chain []string
	for i := len(all) - 1; i >= 0; i-- {
		manifest, err := backup.Inspect(all[i].path, keys)
		if err != nil {
			return nil, err
		}
		if chain = append(chain, all[i].path); manifest.From == 0 {
			slices.Reverse(chain)
			return chain, nil
		}
	}
	return nil, fmt.Errorf("%s holds incremental backups alone: the full one before them is missing", d.directory)
}

func (d *drillRun) show(out io.Writer, r *drillReport) error {
	if d.output == "json" {
		return printJSON(out, r)
	}
	for _, file := range r.Files {
		fmt.Fprintln(out, "file:", file)
	}
	for _, step := range r.Steps {
		fmt.Fprintln(out, "ok:", step)
	}
	for _, why := range r.Why {
		fmt.Fprintln(out, "NOT:", why)
	}
	_, err := fmt.Fprintln(out, r.Says)
	return err
}

package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// How bad a finding is.
const (
	levelOK   = "ok"
	levelWarn = "warn" // Nothing is broken, and something will be.
	levelBad  = "bad"
)

// exitWarn: nothing is bad, and something will be.
const exitWarn = 4

// finding is one thing that `railguard doctor` looked at.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"` // Empty where all is well.
}

// doctor collects findings.
type doctor struct {
	client
	backups      string
	certificates []string
	maxAge       time.Duration
	now          func() time.Time
	found        []finding
}

// newDoctor is `railguard doctor`.
func newDoctor() *cobra.Command {
	d := &doctor{now: time.Now}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at a cluster, this machine's node, certificates and backups, and say what to do", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Look at whatever is named, and say of each thing how it is and what to do:

  --url, --key       the cluster: quorum, nodes, clocks, disks, versions, the list's age;
                     of https addresses the certificate too (the key needs the role ops)
  --admin            each node named here: durable writes, certificates between nodes,
                     how full the state's tables are
  --data             a node's folder on this machine: whose it is, room, how long its disk
                     takes to make 4 KiB durable
  --certificate      certificate files and their dates
  --backups          the age of the newest backup in a directory

It changes nothing. Exit codes: 0 all is well, 4 warnings alone, 1 something is bad.`,
		Example: `  railguard doctor --data /var/lib/railguard --certificate /etc/railguard/cert.pem --backups /backups
  railguard doctor --url https://guard.example.org --admin http://127.0.0.1:8180 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := d.settle(cmd, false)
			alone := errors.Is(err, errNoServer)
			if err != nil && !alone {
				return err
			}
			folders := d.folders(cmd)
			if alone && len(folders) == 0 && d.backups == "" && len(d.certificates) == 0 && len(d.admin) == 0 {
				return usage("%w, nor anything else to look at: see `railguard doctor --help`", err)
			}
			if !alone {
				d.cluster(cmd.Context())
			}
			for _, address := range d.admin {
				d.node(cmd.Context(), address)
			}
			for _, folder := range folders {
				d.folder(folder)
			}
			for _, path := range d.certificates {
				d.certificateFile(path)
			}
			if d.backups != "" {
				d.backup()
			}
			return d.tell(cmd.OutOrStdout())
		},
	}
	d.client.flags(cmd, false)
	cmd.Flags().StringSliceVar(&d.admin, "admin", nil, "addresses of admin listeners, comma-separated (RAILGUARD_ADMIN)")
	cmd.Flags().StringSliceVar(&d.certificates, "certificate", nil, "certificate files to look at (repeatable)")
	cmd.Flags().StringVar(&d.backups, "backups", "", "directory that `railguard backup create --directory` writes to")
	cmd.Flags().DurationVar(&d.maxAge, "max-age", backupAgeMax, "the newest backup must not be older")
	return cmd
}

// say notes a finding; what to do is left out where all is well.
func (d *doctor) say(check, level, do, format string, args ...any) {
	f := finding{Check: check, Level: level, Says: fmt.Sprintf(format, args...)}
	if level != levelOK {
		f.Do = do
	}
	d.found = append(d.found, f)
}

// when is bad or warn where it applies, ok else.
func when(bad, warn bool) string {
	switch {
	case bad:
		return levelBad
	case warn:
		return levelWarn
	}
	return levelOK
}

// tell prints what was found; its error has the exit code of the worst.
func (d *doctor) tell(out io.Writer) error {
	worst := levelOK
	for _, f := range d.found {
		if f.Level == levelBad || f.Level == levelWarn && worst == levelOK {
			worst = f.Level
		}
	}
	if d.output == "json" {
		if err := printJSON(out, map[string]any{"worst": worst, "findings": d.found}); err != nil {
			return err
		}
	} else {
		for _, f := range d.found {
			fmt.Fprintf(out, "%-4s  %-16s  %s\n", f.Level, f.Check, f.Says)
			if f.Do != "" {
				fmt.Fprintf(out, "%-4s  %-16s  -> %s\n", "", "", f.Do)
			}
		}
	}
	switch worst {
	case levelBad:
		return errors.New("something is bad")
	case levelWarn:
		return &exitError{code: exitWarn, err: errors.New("there are warnings")}
	}
	return nil
}

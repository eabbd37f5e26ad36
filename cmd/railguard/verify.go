package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/examine"
)

// newVerify is `railguard verify`: it needs no server and imports none.
func newVerify() *cobra.Command {
	keysFile, quiet := "", false
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Prove a record or an export offline, without any server", GroupID: "compliance",
		Long: `Check that every record in FILE is a leaf of the log whose tree head the
cluster signed: FILE is what ` + "`railguard audit proof`" + ` or ` + "`railguard audit export`" + `
saved ("-" is standard input).

Without --keys the verifier keys inside the file are used. That shows that the
file is whole and consistent; that it comes from your cluster it shows only if
the fingerprint below equals the one you know (GET /log/keys).

Exit codes: 0 proven, 1 not proven, 2 not readable.`,
		Example: "  railguard audit proof txn_1a2B3c4D > proof.json\n  railguard verify proof.json --keys keys.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("expected one FILE (or - for standard input)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			keys := ""
			if keysFile != "" {
				data, err := os.ReadFile(keysFile)
				if err != nil {
					return usage("--keys: %w", err)
				}
				keys = string(data)
			}
			file := io.Reader(os.Stdin)
			if args[0] != "-" {
				opened, err := os.Open(args[0])
				if err != nil {
					return usage("%w", err)
				}
				defer opened.Close()
				file = opened
			}
			report, err := examine.File(file, keys)
			if errors.Is(err, examine.ErrFormat) {
				return &exitError{code: exitUsage, err: err}
			}
			if err != nil {
				return err
			}
			printReport(cmd.OutOrStdout(), &report, quiet)
			return nil
		},
	}
	cmd.Flags().StringVar(&keysFile, "keys", "", "file with the log's verifier keys (from GET /log/keys, received another way)")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but the verdict")
	return cmd
}

func printReport(out io.Writer, r *examine.Report, quiet bool) {
	fmt.Fprintf(out, "PROVEN: %d record(s), %d screening call(s), in the tree of %d leaves of %s\n", r.Leaves, r.Screens, r.Checkpoint.Size, r.Checkpoint.Origin)
	if quiet {
		return
	}
	if r.Checkpoint.Time != 0 {
		fmt.Fprintf(out, "tree head signed (classical and ML-DSA-44) at %s\n", time.Unix(r.Checkpoint.Time, 0).UTC().Format(time.RFC3339))
	}
	whose := "from the file itself: compare this fingerprint with one you got another way"
	if r.KeysGiven {
		whose = "given by you"
	}
	fmt.Fprintf(out, "verifier keys %s, %s\n", r.Fingerprint(), whose)
	if r.Leaves <= 2 {
		fmt.Fprintf(out, "record: %s\n", r.Last)
	}
}

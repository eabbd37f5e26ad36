package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"railguard"
	"railguard/audit/bundle/judge"
	"railguard/engine"
)

// version is the semantic version; `make release VERSION=` sets another one.
var version = railguard.Version

// Exit codes, shown by `railguard --help`.
const (
	exitOK     = 0
	exitFailed = 1  // The service refused, or a check failed.
	exitAway   = 3  // The service could not be reached or cannot answer now.
	exitWarn   = 4  // Nothing failed, but a person has to look: warnings of doctor, evidence of which nothing shows whose log it is from, a permit that was not compared.
	exitNewer  = 5  // Evidence written by a newer release: neither proven nor altered.
	exitFaults = 6  // A reconciliation was made, and found faults.
	exitUsage  = 64 // Wrong flags or arguments. Not 2: with that every panic of Go ends, and a supervisor must start such a node again.
	exitFatal  = 70 // A node stopped for good: disk error, divergence, or data of a newer release.
)

// exitError carries an exit code up to main.
type exitError struct {
	code   int
	err    error
	status int // Status of the HTTP answer that caused the error; 0: there was none.
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func main() {
	easeTimers(os.Args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second Ctrl-C then kills the process at once.
	root := newRoot()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "railguard:", err)
	var coded *exitError
	if errors.As(err, &coded) {
		os.Exit(coded.code)
	}
	os.Exit(exitFailed)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "railguard",
		Short: "Decides, in milliseconds and with proof, whether an AI agent's payment may go ahead",
		Long: `Railguard checks an agent's signed credential, OFAC sanctions, spend limits and
other rules in order, and answers PROCEED, REVIEW, BLOCK or UNKNOWN with an audit
record nobody can alter.

First minute:      railguard dev
A real node:       railguard serve --help
Against a server:  set RAILGUARD_URL and RAILGUARD_KEY, then e.g. railguard screen --help

Exit codes: 0 done, 1 refused or failed, 3 server not reachable or not able to answer
now, 4 warnings of doctor, evidence without --keys (verify), or a permit without --aud
or --pay (permit verify), 5 evidence of a newer release, 6 faults that reconcile found,
64 wrong flags, 70 the node gave up (disk, divergence, newer data).`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // helpOnly checks them.
		RunE:          helpOnly,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w%s\nsee `%s --help`", err, meantFlag(cmd, err), cmd.CommandPath())
	})
	root.AddGroup(
		&cobra.Group{ID: "server", Title: "Servers:"},
		&cobra.Group{ID: "payments", Title: "Agents and payments:"},
		&cobra.Group{ID: "compliance", Title: "Compliance and evidence:"},
		&cobra.Group{ID: "operation", Title: "Operation:"},
	)
	root.AddCommand(newServe(), newDev(), newConfig(), newVersion())
	root.AddCommand(clientCommands()...)
	giveExamples(root)
	judgeArguments(root)
	return root
}

// meantFlag names the flags that a misspelt one resembles; "" if there are none.
func meantFlag(cmd *cobra.Command, err error) string {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return ""
	}
	return likeFlags(cmd, none.GetSpecifiedName())
}

// likeFlags names the flags of a command that a name resembles; "" if there are none.
func likeFlags(cmd *cobra.Command, name string) string {
	if len(name) < 2 || len(name) > flagNameMax {
		return ""
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2} // Uses cobra's suggestions, which work on command names.
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	close := flags.SuggestionsFor(name)
	if len(close) == 0 || len(close) > 3 {
		return ""
	}
	return "; did you mean --" + strings.Join(close, " or --") + "?"
}

// flagNameMax is the longest name that is compared, in bytes.
const flagNameMax = 64

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: "operation", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\ncommit %s\nformat %d\n", version, commit(), engine.FormatNewest)
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
				Version string  `json:"version"`
				Commit  string  `json:"commit"`
				Format  uint16  `json:"format"`
				Judge   *string `json:"judge"`
			}{version, commit(), uint16(engine.FormatNewest), namedJudge()})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `as JSON, with "judge": the SHA-256 of the second judge in bundles' pages; null: built without it`)
	return cmd
}

// namedJudge returns the SHA-256 of the second judge; nil if this program was built without it.
func namedJudge() *string {
	digest := judge.Digest()
	if digest == "" {
		return nil
	}
	return &digest
}

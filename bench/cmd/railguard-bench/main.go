package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // A second Ctrl-C then ends the process at once.
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "railguard-bench:", err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailed)
}

// newRoot is the root command, which measures, with its subcommands.
func newRoot() *cobra.Command {
	root := newRun()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nsee `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(newCompare(), newReport(), newConformance(), newNames(), newHost(), newServeEcho(), newServeRaft(), newServeFloods(), newProve(), newPlan())
	return root
}

// fillFlags sets flags that are not on the command line from the environment: --key from
// RAILGUARD_KEY.
func fillFlags(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		variable := "RAILGUARD_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := os.Getenv(variable)
		if value == "" || cmd.Flags().Changed(name) {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return usage("%s: %w", variable, err)
		}
	}
	return nil
}

// findProduct finds the railguard to measure or examine, and asks for its version. If none
// is named, it takes the one beside this program, else the one in the PATH.
func findProduct(ctx context.Context, named string) (path, version string, err error) {
	if path = named; path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", "", err
		}
		path = filepath.Join(filepath.Dir(self), "railguard")
		if _, err := os.Stat(path); err != nil {
			path = "railguard"
		}
	}
	if path, err = exec.LookPath(path); err != nil {
		return "", "", err
	}
	said, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s version: %w", path, err)
	}
	release, _, _ := strings.Cut(string(said), "\n") // The commit and the format follow.
	return path, strings.TrimSpace(release), nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newConfig is `railguard config`: the settings of a server, without starting it.
func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check and show the settings of a server", GroupID: "server",
		Long: `Read flags, environment and --config as ` + "`railguard serve`" + ` would, and start nothing.
It takes the flags of serve. Nothing is written, and no address is bound.`,
		RunE: helpOnly,
	}
	cmd.AddCommand(newConfigShow(), newConfigCheck())
	return cmd
}

func newConfigShow() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "show", Short: "Print every setting, its value and where that comes from", Args: cobra.NoArgs,
		Example: "  railguard config show --config /etc/railguard/railguard.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			origins, err := settleOrigins(cmd, serverEnvironment)
			if err != nil {
				return err
			}
			rows := describeSettings(cmd.Flags(), origins)
			for _, row := range rows {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-24s %-12s %s\n", row[0], row[2], row[1]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.defineFlags(cmd.Flags())
	return cmd
}

func newConfigCheck() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "check", Short: "Say whether a server would start with these settings", Args: cobra.NoArgs,
		Long: `Say whether a server would start with these settings: that each can be read, that
they go together, that files of certificates can be used and are good now, that the folder
of lists and the secrets are there.
RAILGUARD_ variables that name no setting are told; they may be misspelt.

Exit code 0: it would start; 64: it would not.`,
		Example: "  set -a; . /etc/railguard/railguard.env; railguard config check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range strangeVariables(cmd.Flags(), os.Environ()) {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s names no setting\n", name)
			}
			if err := errors.Join(settleFlags(cmd), f.checkAll()); err != nil {
				return &exitError{code: exitUsage, err: err}
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return err
		},
	}
	f.defineFlags(cmd.Flags())
	return cmd
}

// checkAll reports every error in the settings that a start would find. It writes nothing.
func (f *serveFlags) checkAll() error {
	_, logErr := newLogs(os.Stderr, f.logLevel, f.logFormat)
	_, proxiesErr := readProxies(f.trustedProxies)
	firstKey, keyErr := secretOf("RAILGUARD_BOOTSTRAP_KEY")
	if firstKey != "" && len(firstKey) < bootstrapKeyMin {
		keyErr = usageError("RAILGUARD_BOOTSTRAP_KEY: at least %d characters", bootstrapKeyMin)
	}
	_, secretErr := givenSecret(f)
	_, _, otherErr := f.readAcceptedSecrets()
	var itself error
	if f.bootstrapExpect > 0 && f.data != "" {
		itself = f.namesItself()
	}
	return errors.Join(f.checkSettings(), logErr, proxiesErr, keyErr, secretErr, otherErr, itself, f.checkDates(time.Now()), f.checkListFolder())
}

// checkDates refuses certificates of listeners that are not good now. A node starts with them, and
// clients refuse it.
func (f *serveFlags) checkDates(now time.Time) (failed error) {
	for _, files := range []doorFiles{{cert: f.tlsCert, key: f.tlsKey}, f.adminTLS} {
		if files.cert == "" || files.key == "" {
			continue
		}
		_, config, err := files.loadConfig()
		if err == nil && !isGoodAt(config.Certificates[0].Leaf, now) { // An error of the files is that of checkSettings.
			failed = errors.Join(failed, usageError("%w", notGood(files.cert, config.Certificates[0].Leaf)))
		}
	}
	return failed
}

// checkListFolder refuses a folder of lists that is not there. A node starts without it, if its
// cluster has a list.
func (f *serveFlags) checkListFolder() error {
	if f.ofacDir == "" {
		return nil
	}
	info, err := os.Stat(f.ofacDir)
	switch {
	case err != nil:
		return usageError("--ofac-dir: %w", err)
	case !info.IsDir():
		return usageError("--ofac-dir: %s is no folder", f.ofacDir)
	}
	return nil
}

// secretVariables are settings without a flag, because everybody on the machine can read a
// process's flags.
var secretVariables = []string{"RAILGUARD_CLUSTER_SECRET", "RAILGUARD_CLUSTER_SECRET_ALSO", "RAILGUARD_CLUSTER_SECRET_OLD", "RAILGUARD_BOOTSTRAP_KEY", upstreamTokenName, signInSecretName}

// otherVariables are used by verbs, not by a server.
var otherVariables = []string{"RAILGUARD_URL", "RAILGUARD_KEY", "RAILGUARD_KEY_FILE", "RAILGUARD_CA", "RAILGUARD_CERT", "RAILGUARD_CERT_KEY", "RAILGUARD_OUTPUT", "RAILGUARD_TIMEOUT"}

// describeSettings returns name, value and origin of every setting of a server. Of a secret it
// shows only whether it is set.
func describeSettings(flags *pflag.FlagSet, origins map[string]string) [][3]string {
	var rows [][3]string
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "help" || flag.Hidden && !flag.Changed {
			return
		}
		origin := origins[flag.Name]
		if origin == "" {
			origin = "default"
		}
		rows = append(rows, [3]string{flag.Name, userInfo.ReplaceAllString(flag.Value.String(), "://(hidden)@"), origin})
	})
	for _, name := range secretVariables {
		row := [3]string{name, "not set", "default"}
		if os.Getenv(name) != "" {
			row = [3]string{name, "(hidden)", "environment"}
		} else if path := os.Getenv(name + "_FILE"); path != "" {
			row = [3]string{name, "(hidden) " + path, "file"}
		}
		rows = append(rows, row)
	}
	return rows
}

// userInfo is a name and a password in an address.
var userInfo = regexp.MustCompile(`://[^/@\s,]+@`)

// strangeVariables returns the variables of an environment that look like settings but are
// none.
func strangeVariables(flags *pflag.FlagSet, environment []string) []string {
	var strange []string
	known := slices.Clone(otherVariables)
	for _, name := range secretVariables {
		known = append(known, name, name+"_FILE")
	}
	flags.VisitAll(func(flag *pflag.Flag) { known = append(known, envName(flag.Name)) })
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "RAILGUARD_") && !slices.Contains(known, name) {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	return strange
}

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"railguard/bench/load"
)

const (
	secretVariable = "RAILGUARD_BENCH_SECRET"
	secretBytesMax = 4096
)

// newHost is `railguard-bench host`: the attendant of a host that nodes run on.
func newHost() *cobra.Command {
	var o load.HostOptions
	var secretFile string
	cmd := &cobra.Command{
		Use: "host", Short: "Run nodes on this host for a loader on another one", Args: cobra.NoArgs,
		Long: fmt.Sprintf(`Wait for a loader (railguard-bench --hosts) and run nodes for it: one of each
group, and the base lines. It runs nothing else, ends everything with the loader (also
when that vanishes), and removes the folder of the run.

The loader and all its hosts have the same secret, of at least 16 bytes, from
%s or --secret-file. Whoever has it can start nodes here. The attendant
and the nodes speak plain HTTP, and the nodes' admin listeners ask for no key: use a
network that has only these machines. The %d ports behind the one of --listen are for
the nodes and the base lines; all hosts and the loader must reach them.`, secretVariable, load.HostPorts),
		Example: "  railguard-bench host --listen 10.0.0.1:9000 --folder /var/lib/bench --secret-file secret",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Listen == "" || o.Folder == "" {
				return usage("--listen and --folder are needed")
			}
			if o.Secret, err = benchSecret(secretFile); err != nil {
				return err
			}
			if o.Binary, o.Version, err = findProduct(cmd.Context(), o.Binary); err != nil {
				return usage("--binary: %w", err)
			}
			if o.Self, err = os.Executable(); err != nil {
				return err
			}
			o.Say = cmd.ErrOrStderr()
			if err = load.ServeHost(cmd.Context(), o); errors.Is(err, load.ErrHostOptions) {
				return usage("%w", err)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Listen, "listen", "", "ADDRESS:PORT of this host, an IP address that the loader and the other hosts reach")
	flags.StringVar(&o.Folder, "folder", "", "where the folder of a run is made and removed: on the disk to be measured")
	flags.StringVar(&o.Binary, "binary", "", "the railguard whose nodes run here (default: the one beside this program, else that of the PATH)")
	flags.StringVar(&secretFile, "secret-file", "", "file with the secret (default: "+secretVariable+")")
	return cmd
}

// benchSecret reads the secret of attendants and their loader from a file or the environment,
// which no process of ours inherits.
func benchSecret(file string) (string, error) {
	secret := os.Getenv(secretVariable)
	if err := os.Unsetenv(secretVariable); err != nil {
		return "", err
	}
	if file == "" {
		return strings.TrimSpace(secret), nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", usage("--secret-file: %w", err)
	}
	if len(raw) > secretBytesMax {
		return "", usage("--secret-file: more than %d bytes", secretBytesMax)
	}
	return strings.TrimSpace(string(raw)), nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/bench/load"
)

// benchFlags are the flags of a run.
type benchFlags struct {
	options                 load.Options
	targetsFile, secretFile string
	out, html, output       string
	quiet                   bool
}

// newRun is `railguard-bench` without a verb: it measures.
func newRun() *cobra.Command {
	f := &benchFlags{options: load.Options{Workload: load.StandardWorkload()}}
	cmd := &cobra.Command{
		Use: "railguard-bench", Short: "Measure a cluster under load and hold the figures against targets", Args: cobra.NoArgs,
		Long: `Measure Railguard under load, in the same run with this machine's own floor (syncing
a file, bare HTTP, bare raft), and hold the figures against targets. The nodes are
spawned on the loopback in a folder that is removed; or, with --hosts, on hosts where
"railguard-bench host" waits; or, with --targets, a cluster that runs is loaded, unless
it has agents that no bench has made (--foreign).

Suites:
` + load.DescribeSuites() + `
Exit codes: 0 done, 1 a target is missed or could not be measured, a figure is worse,
or a statement does not hold, 2 wrong flags.`,
		Example: `  railguard-bench                                    # everything but the soak, 15 minutes
  railguard-bench --suite cluster,light --out a.json # two suites, kept
  railguard-bench compare a.json b.json              # is b faster than a?
  railguard-bench report a.json > a.html             # with latency curves, and a soak second by second
  railguard-bench --hosts 10.0.0.1:9000,10.0.0.2:9000,10.0.0.3:9000 --suite cluster,kill
  railguard-bench --targets http://10.0.0.1:8080,http://10.0.0.2:8080 --key rg_live_... --suite read`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd, "key", "output"); err != nil {
				return err
			}
			if len(f.options.Hosts) > 0 && cmd.Flags().Changed("spawn") {
				return usage("--spawn: with --hosts each host runs one node")
			}
			if len(f.options.Hosts) > 0 && cmd.Flags().Changed("binary") {
				return usage("--binary: with --hosts each host runs its own: give the flag there")
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.options.Suites, "suite", nil, "suites to run (default: all but cpu, spec, keys and soak)")
	flags.StringVar(&f.options.Binary, "binary", "", "the railguard that is spawned (default: the one beside this program, else that of the PATH)")
	flags.StringSliceVar(&f.options.Hosts, "hosts", nil, "addresses where railguard-bench host waits on hosts of their own, each for one node, e.g. 10.0.0.1:9000,10.0.0.2:9000,10.0.0.3:9000")
	flags.StringVar(&f.secretFile, "secret-file", "", "file with the secret of --hosts (default: "+secretVariable+")")
	flags.StringSliceVar(&f.options.Targets, "targets", nil, "addresses of a cluster that runs, e.g. http://127.0.0.1:8080,http://127.0.0.1:8081")
	flags.StringVar(&f.options.Key, "key", "", "its API key, which may do everything (better: RAILGUARD_KEY)")
	flags.BoolVar(&f.options.Foreign, "foreign", false, "load it although it has agents that no bench has made")
	flags.IntVar(&f.options.Spawn, "spawn", 3, "nodes to spawn where no --targets and no --hosts are given")
	flags.StringVar(&f.options.Folder, "folder", "", "where the run's own folder is made and removed: on the disk to be measured (default: the system's folder for temporary files)")
	flags.StringVar(&f.targetsFile, "targets-file", "", "JSON file with other targets than the built-in ones")
	flags.DurationVar(&f.options.Soak, "soak", 10*time.Minute, "how long the soak lasts")
	flags.StringVar(&f.out, "out", "", "file to keep the report in, as JSON")
	flags.StringVar(&f.html, "html", "", "file to draw the report into, with latency curves, and soak and overload second by second")
	flags.StringVar(&f.options.Profiles, "profiles", "", "folder for CPU profiles of every node: saturated, at 1,000 and 100 a second, idle, overloaded; of light, for execution traces of the seconds with a slow call")
	flags.BoolVar(&f.options.Brief, "brief", false, "seconds instead of minutes: shows that the program works, the figures mean nothing and no target is judged")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	w := &f.options.Workload
	flags.Uint64Var(&w.Seed, "seed", w.Seed, "of the workload: the same seed, the same calls")
	flags.IntVar(&w.Agents, "agents", w.Agents, "agents that pay (a cluster takes 50 registrations a second after the first 500)")
	flags.IntVar(&w.Delegates, "delegates", w.Delegates, "delegates besides")
	flags.IntVar(&w.Fleets, "fleets", w.Fleets, "fleets; every second agent is in one")
	flags.IntVar(&w.Counterparties, "counterparties", w.Counterparties, "counterparties that are paid")
	flags.IntVar(&w.NamedPermille, "named", w.NamedPermille, "calls in 1,000 with the name of a known counterparty")
	flags.IntVar(&w.FreshPermille, "fresh", w.FreshPermille, "calls in 1,000 with a name never seen before")
	flags.IntVar(&w.ListedPermille, "listed", w.ListedPermille, "calls in 1,000 to a listed wallet")
	flags.IntVar(&w.KeyedPermille, "keyed", w.KeyedPermille, "calls in 1,000 with an Idempotency-Key")
	return cmd
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	if f.output != "table" && f.output != "json" {
		return usage("--output must be table or json")
	}
	var err error
	if f.options.Goals, err = load.LoadTargets(f.targetsFile); err != nil {
		return usage("--targets-file: %w", err)
	}
	if f.options.Brief {
		f.options.Goals = nil
	}
	if f.options.Self, err = os.Executable(); err != nil {
		return err
	}
	if len(f.options.Hosts) > 0 {
		if f.options.Secret, err = benchSecret(f.secretFile); err != nil {
			return err
		}
	} else if len(f.options.Targets) == 0 {
		if f.options.Binary, f.options.Version, err = findProduct(cmd.Context(), f.options.Binary); err != nil {
			return usage("--binary: %w", err)
		}
	}
	if !f.quiet {
		f.options.Progress = cmd.ErrOrStderr()
		f.options.OneLine = isTerminal(cmd.ErrOrStderr())
	}
	report, err := load.Run(cmd.Context(), f.options)
	if errors.Is(err, load.ErrHosts) {
		return err
	}
	if report == nil {
		return usage("%w", err)
	}
	if err := errors.Join(err, f.show(cmd.OutOrStdout(), report)); err != nil {
		return err
	}
	if misses := len(report.Misses()); misses > 0 {
		return fmt.Errorf("%d of %d targets not met", misses, len(report.Rows))
	}
	if f.options.Brief && len(report.Skipped) > 0 {
		return fmt.Errorf("suites that could not run: %v", report.Skipped)
	}
	return nil
}

// isTerminal tells whether the writer is a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// show prints the report and writes it into the files that flags name.
func (f *benchFlags) show(out io.Writer, report *load.Report) error {
	if f.out != "" {
		if err := report.Write(f.out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if f.html != "" {
		if err := drawReport(f.html, report); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if f.output == "json" {
		return report.Encode(out)
	}
	report.WriteTable(out)
	return nil
}

func drawReport(path string, report *load.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteHTML(file), file.Close())
}

// newCompare is `railguard-bench compare A B`.
func newCompare() *cobra.Command {
	return &cobra.Command{
		Use: "compare A B", Short: "Say which figures of run B differ from run A's", Args: cobra.ExactArgs(2),
		Long: `Hold the report B against the earlier report A, both made with --out. Figures are
compared by Mann-Whitney's test over their samples (a sample is a round or a second):
P is the chance that the two runs differ so much although nothing has changed; below
0.05 the change counts. Few samples cannot show much: three rounds each never go below
0.1; repeat the run. A warning comes first where the two runs were made on different
numbers of machines. Seconds of one run are not independent of each other: before you
believe a small change make each run twice. Exit code 1 when a figure is worse.`,
		Example: "  railguard-bench --suite cluster --out before.json\n  railguard-bench --suite cluster --out after.json\n  railguard-bench compare before.json after.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := load.ReadReport(args[0])
			if err != nil {
				return usage("%w", err)
			}
			after, err := load.ReadReport(args[1])
			if err != nil {
				return usage("%w", err)
			}
			if warning := load.OtherPlacement(before, after); warning != "" {
				fmt.Fprintln(cmd.OutOrStdout(), warning)
			}
			if worse := load.WriteChanges(cmd.OutOrStdout(), load.Compare(before, after)); worse > 0 {
				return fmt.Errorf("%d figure(s) worse", worse)
			}
			return nil
		},
	}
}

// newReport is `railguard-bench report FILE`.
func newReport() *cobra.Command {
	return &cobra.Command{
		Use: "report FILE", Short: "Draw a report as one HTML page, with latency curves, and a soak second by second", Args: cobra.ExactArgs(1),
		Example: "  railguard-bench report run.json > run.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := load.ReadReport(args[0])
			if err != nil {
				return usage("%w", err)
			}
			return report.WriteHTML(cmd.OutOrStdout())
		},
	}
}

// newServeEcho is a child of a run: bare net/http.
func newServeEcho() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve-echo", Short: "Answer every call with its own body (a base line)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return load.ServeEcho(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address")
	return cmd
}

// newServeFloods is a child of a run: it sends the floods beside which another key is measured.
func newServeFloods() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve-floods", Short: "Send floods when told to", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return load.ServeFloods(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address where it is told to")
	return cmd
}

// newServeRaft is a child of a run: bare raft.
func newServeRaft() *cobra.Command {
	var o load.RaftOptions
	var peers string
	cmd := &cobra.Command{
		Use: "serve-raft", Short: "One process of a bare raft group (a base line)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Peers = strings.Split(peers, ",")
			return load.ServeRaft(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "address where it is told to measure")
	cmd.Flags().StringVar(&peers, "peers", "", "raft addresses of all, the leader's first")
	cmd.Flags().IntVar(&o.At, "at", 0, "which of them this is")
	cmd.Flags().StringVar(&o.Store, "store", "wal", "wal or bolt")
	cmd.Flags().StringVar(&o.Folder, "folder", "", "folder of its log")
	return cmd
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/bench/conformance"
	"railguard/bench/load"
)

// benchFlags are the flags of `railguard bench`.
type benchFlags struct {
	options                        load.Options
	targetsFile, out, html, output string
	quiet                          bool
}

// newBench is `railguard bench` with what it needs: comparing, drawing, and two
// hidden base lines that a run starts as children.
func newBench() *cobra.Command {
	f := &benchFlags{options: load.Options{Workload: load.StandardWorkload(), Version: version}}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure a cluster under load and hold the figures against targets", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Measure Railguard under load, in the same run with this machine's own floor (syncing
a file, bare HTTP, bare raft), and hold the figures against targets. Without --targets
the nodes are spawned on the loopback in a folder that is removed; with it a cluster
that runs is loaded, unless it has agents that no bench has made (--foreign).

Suites:
` + load.DescribeSuites() + `
Exit code 1 when a target is missed or could not be measured.`,
		Example: `  railguard bench                                    # everything but the soak, 15 minutes
  railguard bench --suite cluster,light --out a.json # two suites, kept
  railguard bench compare a.json b.json              # is b faster than a?
  railguard bench report a.json > a.html             # with latency curves
  railguard bench --targets http://10.0.0.1:8080,http://10.0.0.2:8080 --key rg_live_... --suite read`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settleVerb(cmd); err != nil {
				return err
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.options.Suites, "suite", nil, "suites to run (default: all but cpu and soak)")
	flags.StringSliceVar(&f.options.Targets, "targets", nil, "addresses of a cluster that runs, e.g. http://127.0.0.1:8080,http://127.0.0.1:8081")
	flags.StringVar(&f.options.Key, "key", "", "its API key, which may do everything (better: RAILGUARD_KEY)")
	flags.BoolVar(&f.options.Foreign, "foreign", false, "load it although it has agents that no bench has made")
	flags.IntVar(&f.options.Spawn, "spawn", 3, "nodes to spawn where no --targets are given")
	flags.StringVar(&f.options.Folder, "folder", "", "where the run's own folder is made and removed: on the disk to be measured (default: the system's folder for temporary files)")
	flags.StringVar(&f.targetsFile, "targets-file", "", "JSON file with other targets than the built-in ones")
	flags.DurationVar(&f.options.Soak, "soak", 10*time.Minute, "how long the soak lasts")
	flags.StringVar(&f.out, "out", "", "file to keep the report in, as JSON")
	flags.StringVar(&f.html, "html", "", "file to draw the report into, with latency curves")
	flags.StringVar(&f.options.Profiles, "profiles", "", "folder for CPU profiles of every node: saturated, at 1,000 and 100 a second, idle; of light, for execution traces of the seconds with a slow call")
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
	cmd.AddCommand(newBenchCompare(), newBenchReport(), newServeEcho(), newServeRaft())
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
	if f.options.Binary, err = os.Executable(); err != nil {
		return err
	}
	if !f.quiet {
		f.options.Progress = cmd.ErrOrStderr()
		f.options.OneLine = newProgress(cmd.ErrOrStderr(), "").terminal
	}
	report, err := load.Run(cmd.Context(), f.options)
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

// show prints the report and keeps it where it is wanted.
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

// newBenchCompare is `railguard bench compare A B`.
func newBenchCompare() *cobra.Command {
	return &cobra.Command{
		Use: "compare A B", Short: "Say which figures of run B differ from run A's", Args: exactly(2, "two reports"),
		Long: `Hold the report B against the earlier report A, both made with --out. Figures are
compared by Mann-Whitney's test over their samples (a sample is a round or a second):
P is the chance that the two runs differ so much although nothing has changed; below
0.05 the change counts. Few samples cannot show much: three rounds each never go below
0.1; repeat the run. Seconds of one run are not independent of each other: before you
believe a small change make each run twice. Exit code 1 when a figure is worse.`,
		Example: "  railguard bench --suite cluster --out before.json\n  railguard bench --suite cluster --out after.json\n  railguard bench compare before.json after.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := load.ReadReport(args[0])
			if err != nil {
				return usage("%w", err)
			}
			after, err := load.ReadReport(args[1])
			if err != nil {
				return usage("%w", err)
			}
			if worse := load.WriteChanges(cmd.OutOrStdout(), load.Compare(before, after)); worse > 0 {
				return fmt.Errorf("%d figure(s) worse", worse)
			}
			return nil
		},
	}
}

// newBenchReport is `railguard bench report FILE`.
func newBenchReport() *cobra.Command {
	return &cobra.Command{
		Use: "report FILE", Short: "Draw a report as one HTML page, with latency curves", Args: exactly(1, "one report"),
		Example: "  railguard bench report run.json > run.html",
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
		Use: "serve-echo", Short: "Answer every call with its own body (a base line of bench)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return load.ServeEcho(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address")
	return cmd
}

// newServeRaft is a child of a run: bare raft.
func newServeRaft() *cobra.Command {
	var o load.RaftOptions
	var peers string
	cmd := &cobra.Command{
		Use: "serve-raft", Short: "One process of a bare raft group (a base line of bench)", Hidden: true, Args: cobra.NoArgs,
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

// newConformance is `railguard conformance`: the statements of the specification
// against any base URL.
func newConformance() *cobra.Command {
	config := conformance.Config{}
	var urls, output, data string
	cmd := &cobra.Command{
		Use: "conformance", Short: "Check a server against every statement of the specification", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Run the black-box suite against a server: any implementation of the
specification will do. Each statement passes, fails, or is skipped with the
reason. The suite registers agents and screens payments: never run it against
production.`,
		Example: "  railguard conformance --base-url http://127.0.0.1:8080 --key rg_live_... --admin-url http://127.0.0.1:8180\n  railguard conformance --data railguard-data",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settleVerb(cmd); err != nil {
				return err
			}
			if data != "" {
				full, err := examineDev(data, &config)
				if err != nil {
					return err
				}
				config = full
			} else if urls == "" || config.APIKey == "" {
				return usage("--base-url and --key are required (or --data for a throw-away development cluster)")
			} else {
				config.BaseURLs = strings.Split(urls, ",")
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			summary := conformance.Run(cmd.Context(), config, func(r conformance.Result) {
				if output == "json" {
					_ = encoder.Encode(r)
					return
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-7s %-8s %s\n", r.Outcome, r.ID, r.Title)
				if r.Reason != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "        %s\n", strings.ReplaceAll(r.Reason, "\n", "\n        "))
				}
			})
			fmt.Fprintf(os.Stderr, "%d passed, %d failed, %d skipped\n", summary.Pass, summary.Fail, summary.Skipped)
			if summary.Fail > 0 {
				return fmt.Errorf("%d statement(s) do not hold", summary.Fail)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", "", "folder of a throw-away development cluster: examine it in full (its clock is moved, its lists are switched)")
	flags.StringVar(&urls, "base-url", "", "address of the service; several nodes comma-separated")
	flags.StringVar(&config.APIKey, "key", "", "an API key that may do everything")
	flags.StringVar(&config.AdminURL, "admin-url", "", "address of the admin listener; without it statements about keys and lists are skipped")
	flags.BoolVar(&config.OnlySpec, "only-spec", false, "leave out what is our ruling")
	flags.BoolVar(&config.AllowTestClock, "test-clock", false, "the target's clock may be moved forward by months")
	flags.BoolVar(&config.AllowListSwitch, "switch-lists", false, "lists may be uploaded, activated and rolled back")
	flags.BoolVar(&config.Slow, "slow", false, "run probes that wait for time-outs")
	flags.BoolVar(&config.MeasureLatency, "latency", false, "judge the 50 ms target too")
	flags.StringSliceVar(&config.IDs, "only", nil, "only checks whose number begins so, e.g. T06,T110")
	flags.StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// examineDev is the full examination of a development cluster, with the choices
// that were made by flags.
func examineDev(data string, chosen *conformance.Config) (conformance.Config, error) {
	file, err := conformance.ReadDevFile(data)
	if err != nil {
		return conformance.Config{}, usage("--data: %w", err)
	}
	config, err := file.Config(data)
	config.OnlySpec, config.Slow, config.MeasureLatency, config.IDs = chosen.OnlySpec, chosen.Slow, chosen.MeasureLatency, chosen.IDs
	config.Version = version
	return config, err
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railguard/bench/conformance"
)

// newConformance is `railguard-bench conformance`: the statements of the specification
// against any base URL.
func newConformance() *cobra.Command {
	config := conformance.Config{}
	var urls, output, data string
	cmd := &cobra.Command{
		Use: "conformance", Short: "Check a server against every statement of the specification", Args: cobra.NoArgs,
		Long: `Run the black-box suite against a server: any implementation of the
specification will do. Each statement passes, fails, or is skipped with the
reason. The suite registers agents and screens payments: never run it against
production.`,
		Example: "  railguard-bench conformance --base-url http://127.0.0.1:8080 --key rg_live_... --admin-url http://127.0.0.1:8180\n  railguard-bench conformance --data railguard-data",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd, "key", "data", "output"); err != nil {
				return err
			}
			if data != "" {
				full, err := examineDev(cmd.Context(), data, &config)
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
			fmt.Fprintf(cmd.ErrOrStderr(), "%d passed, %d failed, %d skipped\n", summary.Pass, summary.Fail, summary.Skipped)
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

// examineDev returns the configuration that examines a development cluster fully, with the
// choices made by flags.
func examineDev(ctx context.Context, data string, chosen *conformance.Config) (conformance.Config, error) {
	file, err := conformance.ReadDevFile(data)
	if err != nil {
		return conformance.Config{}, usage("--data: %w", err)
	}
	config, err := file.Config(data)
	config.OnlySpec, config.Slow, config.MeasureLatency, config.IDs = chosen.OnlySpec, chosen.Slow, chosen.MeasureLatency, chosen.IDs
	if _, version, err := findProduct(ctx, ""); err == nil {
		config.Version = version // Without a binary the statement about it is skipped.
	}
	return config, err
}

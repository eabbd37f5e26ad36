package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"railguard/bench/plan"
)

// newPlan is `railguard-bench plan`: what a cluster for a load needs.
func newPlan() *cobra.Command {
	l, asJSON := plan.Load{}, false
	cmd := &cobra.Command{
		Use: "plan", Short: "What a cluster for a load needs: nodes, cores, memory, disk, network", Args: cobra.NoArgs,
		Long: `Compute what each node needs, from costs that were measured (docs/PERFORMANCE.md,
docs/scale.md). It measures nothing: run the suites on your own machines before you buy.`,
		Example: "  railguard-bench plan --rate 500 --days 90",
		RunE: func(cmd *cobra.Command, _ []string) error {
			need, err := plan.Compute(l)
			if err != nil {
				return usage("%w", err)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(need)
			}
			return tellNeed(cmd.OutOrStdout(), &need, &l)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&l.Rate, "rate", 0, "verdicts a second in the busiest hour")
	flags.Float64Var(&l.Mean, "mean", 0, "verdicts a second over the whole day (default: as --rate)")
	flags.Float64Var(&l.Days, "days", 90, "how long history is kept")
	flags.Float64Var(&l.Years, "years", 5, "for how many years the disks shall last: hashes are kept for ever")
	flags.Float64Var(&l.Agents, "agents", 100_000, "agents")
	flags.Float64Var(&l.Keyed, "keyed", 1, "part of the calls with an Idempotency-Key")
	flags.IntVar(&l.Failures, "failures", 1, "nodes that may be gone at once")
	flags.Float64Var(&l.Reserve, "reserve", 0.5, "part of the processors that stays free in the busiest hour while those nodes are gone")
	flags.BoolVar(&asJSON, "json", false, "as JSON, in bytes and bits")
	_ = cmd.MarkFlagRequired("rate")
	return cmd
}

func tellNeed(w io.Writer, n *plan.Need, l *plan.Load) error {
	gigabytes := func(bytes float64) string { return fmt.Sprintf("%.1f GB", bytes/1e9) }
	megabits := func(bits float64) string { return fmt.Sprintf("%.1f Mbit/s", bits/1e6) }
	for _, row := range [][2]string{
		{"nodes", fmt.Sprintf("%d, in %d failure domains; %d may be gone", n.Nodes, n.Nodes, l.Failures)},
		{"cores", fmt.Sprintf("%d a node (%.2f busy at %.0f verdicts a second with %d gone)", n.Cores, n.CPU, l.Rate, l.Failures)},
		{"memory", gigabytes(n.MemoryBytes) + " a node, and what full tables take (OPERATING.md, Limits)"},
		{"disk", fmt.Sprintf("%s a node after %.0f years, a fifth of it free", gigabytes(n.DiskBytes), l.Years)},
		{"  history", fmt.Sprintf("%s for %.0f days", gigabytes(n.HistoryBytes), l.Days)},
		{"  hashes", gigabytes(n.HashBytes) + ", kept for ever"},
		{"  keys", gigabytes(n.KeyBytes) + " for a day"},
		{"  snapshots", gigabytes(n.SnapshotBytes)},
		{"disk, writing", fmt.Sprintf("%.1f MB/s, each verdict after a sync of 1 ms or less", n.WriteBytes/1e6)},
		{"network", fmt.Sprintf("%s from the leader, %s to each other node", megabits(n.LeaderOut), megabits(n.NodeIn))},
		{"a wiped node", fmt.Sprintf("fetches history for %.1f hours; it votes and answers after seconds", n.FetchHours)},
	} {
		if _, err := fmt.Fprintf(w, "%-14s %s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	for _, warning := range n.Warnings {
		if _, err := fmt.Fprintln(w, "note:", warning); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"github.com/spf13/cobra"

	"railguard/bench/sim"
)

// newProve is `railguard-bench prove`: schedules of the simulation, by seed.
func newProve() *cobra.Command {
	var seed uint64
	var count int
	cmd := &cobra.Command{
		Use: "prove", Short: "Repeat a simulated run of whole nodes under faults", Args: cobra.NoArgs,
		Long: `Run whole nodes, with their real journals, votes, snapshots, backups, recoveries
and changes of membership, in one process on virtual time, under the faults that
a seed chooses, each done to one node, some or all. Print the faults and whether
every promise held. The seed decides the faults, the clients and what the disks
lose; raft's own random timers are not among that, so a seed that failed
will probably fail again, but not certainly: repeat it.`,
		Example: "  railguard-bench prove --seed 7\n  railguard-bench prove --seed 1 --count 100",
		RunE: func(*cobra.Command, []string) error {
			if count < 1 {
				return usage("--count is at least 1")
			}
			sim.Prove(seed, count)
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the run")
	cmd.Flags().IntVar(&count, "count", 1, "how many runs, of this seed and the next ones")
	return cmd
}

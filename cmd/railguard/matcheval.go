package main

import (
	"github.com/spf13/cobra"

	"railguard/ofac/eval"
)

// newMatchEval is `railguard match eval`: the matcher against labelled names.
func newMatchEval() *cobra.Command {
	folder := ""
	cmd := &cobra.Command{
		Use: "eval", Short: "Measure the matcher on labelled names: recall, false positives, latency, trade-off", Args: cobra.NoArgs,
		Long: `Screen every labelled name of a folder and print recall by category, false
positives by kind, latency, and how both move with the thresholds. docs/matching.md
says what the files hold; without --names the folder in RAILGUARD_DATA is used.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder == "" {
				found, err := eval.Find()
				if err != nil {
					return usage("%w", err)
				}
				folder = found
			}
			data, err := eval.Load(folder)
			if err != nil {
				return usage("%w", err)
			}
			outcomes, err := eval.Run(data)
			if err != nil {
				return err
			}
			eval.Write(cmd.OutOrStdout(), data, outcomes)
			return nil
		},
	}
	cmd.Flags().StringVar(&folder, "names", "", "folder with the labelled TSV files")
	return cmd
}

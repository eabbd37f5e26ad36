package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"railguard/bench/names"
	"railguard/ofac/sample"
)

// newNames is `railguard-bench names`: the matcher against labelled names.
func newNames() *cobra.Command {
	folder, svg, counted, sensitivity, rows, fit := "", "", "", false, 0, time.Duration(0)
	cmd := &cobra.Command{
		Use: "names", Short: "Measure the matcher on labelled names: recall, false positives, latency, trade-off", Args: cobra.NoArgs,
		Long: `Screen every labelled name of a folder and print recall by category, false
positives by kind, latency, and how both move with the thresholds. docs/matching.md
says what the files hold. Without --names the folder in RAILGUARD_DATA is used, or
shared/data beside a parent of this folder; without either, a small set made from
the embedded sample, which shows only that the matcher works. With --svg the
trade-off is drawn into a file as well. --count prints the tables of ordinary words,
and --fit the numbers of the matcher, from half of the labelled names; the other half
is held out.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := labelled(folder, cmd.ErrOrStderr())
			if err != nil {
				return usage("%w", err)
			}
			switch {
			case counted != "":
				return names.WriteCounts(cmd.OutOrStdout(), data, counted == "people")
			case fit > 0:
				return fitNames(cmd.OutOrStdout(), data, fit)
			case sensitivity:
				table, err := names.Sensitivities(data)
				if err == nil {
					names.WriteSensitivities(cmd.OutOrStdout(), table)
				}
				return err
			}
			outcomes, err := names.Run(data)
			if err != nil {
				return err
			}
			names.Write(cmd.OutOrStdout(), data, outcomes)
			if rows > 0 {
				names.WritePeers(cmd.OutOrStdout(), names.Peers(data, outcomes, rows))
			}
			if svg == "" {
				return nil
			}
			return drawTradeOff(svg, data, outcomes)
		},
	}
	cmd.Flags().StringVar(&folder, "names", "", "folder with the labelled TSV files")
	cmd.Flags().BoolVar(&sensitivity, "sensitivity", false, "print what moves when each constant of the scorer is moved by ten per cent, and nothing else")
	cmd.Flags().StringVar(&counted, "count", "", "print how often ordinary names have a word, of people or companies, and nothing else")
	cmd.Flags().DurationVar(&fit, "fit", 0, "fit the numbers of the matcher for so long, and print them with the shares of both halves")
	cmd.Flags().IntVar(&rows, "peers", 20, "hold other ways of scoring against so many ordinary and hard rows, side by side (0.2 seconds a row; 0: none)")
	cmd.Flags().StringVar(&svg, "svg", "", "file to draw recall and false positives over the review threshold into")
	return cmd
}

// fitNames fits the numbers of the matcher, and prints what it finds.
func fitNames(out io.Writer, data *names.Data, lasts time.Duration) error {
	dir, err := names.Find()
	if err != nil {
		return usage("--fit: %w", err)
	}
	entities, err := names.PublishedList(dir)
	if err != nil {
		return fmt.Errorf("--fit: %w", err)
	}
	fit, err := names.NewFit(data, entities)
	if err != nil {
		return fmt.Errorf("--fit: %w", err)
	}
	if err := fit.Climb(out, time.Now().Add(lasts)); err != nil {
		return err
	}
	return fit.WriteFit(out)
}

// drawTradeOff writes the figure of docs/matching.md.
func drawTradeOff(path string, data *names.Data, outcomes *names.Outcomes) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if err := names.Figure(file, data, outcomes); err != nil {
		file.Close()
		return fmt.Errorf("figure %s: %w", path, err)
	}
	return file.Close()
}

// labelled finds the labelled names to evaluate with.
func labelled(folder string, note io.Writer) (*names.Data, error) {
	if folder != "" {
		return names.Load(folder)
	}
	found, err := names.Find()
	if err == nil {
		return names.Load(found)
	}
	fmt.Fprintln(note, "no labelled names found: using a small set made from the embedded sample list")
	return names.Own(sample.Entities()), nil
}

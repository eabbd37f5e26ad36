package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aclements/go-moremath/stats"
)

// significance is the chance below which two samples are taken to differ.
const significance = 0.05

// Change is one figure of two runs.
type Change struct {
	Key           string
	Unit          string
	Before, After float64
	P             float64 // The two-sided chance by the Mann-Whitney test.
	Better, Worse bool    // The figure is significantly better, or significantly worse.
}

// Compare compares one run with an earlier one, figure by figure.
func Compare(before, after *Report) []Change {
	var changes []Change
	for key, old := range before.Measures {
		fresh := after.Measures[key]
		if fresh == nil {
			continue
		}
		c := Change{Key: key, Unit: old.Unit, Before: old.Value, After: fresh.Value, P: MannWhitney(old.Samples, fresh.Samples)}
		if c.P < significance && c.Before != c.After {
			c.Better = (c.After > c.Before) == old.More
			c.Worse = !c.Better
		}
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

// WriteChanges prints a comparison and returns how many figures are worse.
func WriteChanges(out io.Writer, changes []Change) (worse int) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FIGURE\tBEFORE\tAFTER\tCHANGE\tP\tOUTCOME")
	for _, c := range changes {
		outcome := "no difference shown"
		switch {
		case c.Better:
			outcome = "better"
		case c.Worse:
			outcome = "WORSE"
			worse++
		}
		change := "-"
		if c.Before != 0 {
			change = fmt.Sprintf("%+.1f %%", 100*(c.After-c.Before)/c.Before)
		}
		fmt.Fprintf(table, "%s\t%s %s\t%s %s\t%s\t%.3f\t%s\n", c.Key, number(c.Before), c.Unit, number(c.After), c.Unit, change, c.P, outcome)
	}
	_ = table.Flush() // A failure to print has no other place to be reported.
	return worse
}

// MannWhitney is the two-sided chance that two samples of one distribution differ in their
// ranks by as much as these do. It assumes nothing about the distribution. With three
// samples each it cannot go below 0.1. Samples that cannot differ, because one is empty or
// all values are equal, have the chance 1.
func MannWhitney(a, b []float64) float64 {
	test, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err != nil {
		return 1
	}
	return test.P
}

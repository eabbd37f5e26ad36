package load

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// significance is the chance below which two samples are taken to differ.
const significance = 0.05

// exactMax bounds samples for which the test counts every order; larger ones are
// judged by the normal approximation.
const exactMax = 20

// Change is one figure of two runs.
type Change struct {
	Key           string
	Unit          string
	Before, After float64
	P             float64 // Of Mann-Whitney's test, two-sided.
	Better, Worse bool    // Significantly so.
}

// Compare holds one run against an earlier one, figure by figure.
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
	_ = table.Flush() // A table that cannot be shown has no other place to say so.
	return worse
}

// MannWhitney is the two-sided chance that two samples of one distribution differ
// in their ranks by as much as these do. It asks nothing of the distribution;
// with three samples each it cannot go below 0.1.
func MannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	u, ties := rankSum(a, b)
	if ties == 0 && len(a) <= exactMax && len(b) <= exactMax {
		return exactChance(len(a), len(b), int(u))
	}
	m, n := float64(len(a)), float64(len(b))
	all := m + n
	deviation := math.Sqrt(m * n / 12 * (all + 1 - ties/(all*(all-1))))
	if deviation == 0 {
		return 1
	}
	distance := max(math.Abs(u-m*n/2)-0.5, 0) // Corrected for continuity.
	return min(math.Erfc(distance/deviation/math.Sqrt2), 1)
}

// rankSum is U of the first sample, and the sum of t³-t over groups of t equal values.
func rankSum(a, b []float64) (u, ties float64) {
	type value struct {
		v     float64
		first bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(x, y value) int {
		switch {
		case x.v < y.v:
			return -1
		case x.v > y.v:
			return 1
		}
		return 0
	})
	ranks := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		rank := float64(i+j+1) / 2 // The mean of ranks i+1 to j.
		for _, v := range all[i:j] {
			if v.first {
				ranks += rank
			}
		}
		same := float64(j - i)
		ties += same*same*same - same
		i = j
	}
	m := float64(len(a))
	return ranks - m*(m+1)/2, ties
}

// exactChance counts the orders of m and n distinct values by their U.
func exactChance(m, n, u int) float64 {
	// ways[i][k]: orders of i of the first sample and j of the second with U = k,
	// for growing j: the largest value is of the second sample, or of the first and
	// then stands above all j.
	ways := make([][]float64, m+1)
	for i := range ways {
		ways[i] = make([]float64, m*n+1)
		ways[i][0] = 1
	}
	for j := 1; j <= n; j++ {
		for i := 1; i <= m; i++ {
			for k := m * n; k >= 0; k-- {
				// Of the second sample on top: ways[i][k] of j-1, already there.
				if k >= j {
					ways[i][k] += ways[i-1][k-j]
				}
			}
		}
	}
	total, tail := 0.0, 0.0
	low := min(u, m*n-u)
	for k, count := range ways[m] {
		total += count
		if k <= low {
			tail += count
		}
	}
	return min(2*tail/total, 1)
}

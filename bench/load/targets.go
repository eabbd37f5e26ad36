package load

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

//go:embed targets.json
var standardTargets []byte

// Target is what one figure should be.
type Target struct {
	Suite   string  `json:"suite"`
	Name    string  `json:"name"`
	Measure string  `json:"measure"`           // Key of the figure.
	Per     string  `json:"per,omitempty"`     // Key of the base line that it is divided by.
	PerName string  `json:"perName,omitempty"` // What the base line is called.
	AtLeast bool    `json:"atLeast,omitempty"` // More is better; else less is.
	Must    float64 `json:"must"`
	Aim     float64 `json:"aim"` // 0: none beyond the must.
}

// Row is one target with what was measured.
type Row struct {
	Target
	Unit     string  `json:"unit"`
	Measured float64 `json:"measured"`
	Base     float64 `json:"base,omitempty"` // The base line's figure.
	Judged   float64 `json:"judged"`         // What is compared with Must: the figure, or its ratio to the base line.
	Outcome  string  `json:"outcome"`
	Why      string  `json:"why,omitempty"` // Why it was not measured.
}

// Outcomes of a row.
const (
	AimMet      = "aim met"
	Met         = "met"
	Missed      = "MISSED"
	NotMeasured = "NOT MEASURED"
)

// LoadTargets reads a file of targets; "" is the embedded one.
func LoadTargets(path string) ([]Target, error) {
	raw := standardTargets
	if path != "" {
		var err error
		if raw, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("targets: %w", err)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var targets []Target
	if err := decoder.Decode(&targets); err != nil {
		return nil, fmt.Errorf("targets: %w", err)
	}
	for i, t := range targets {
		if !slices.Contains(SuiteNames(), t.Suite) || t.Measure == "" || t.Must < 0 || t.Name == "" {
			return nil, fmt.Errorf("target %d (%s): a known suite, a name, a measure and a must are needed", i+1, t.Name)
		}
	}
	return targets, nil
}

// judgeRows compares the figures with the targets of the suites that were asked for.
func (r *Report) judgeRows(targets []Target) {
	r.Rows = nil
	for _, t := range targets {
		if slices.Contains(r.Suites, t.Suite) {
			r.Rows = append(r.Rows, r.row(t))
		}
	}
}

func (r *Report) row(t Target) Row {
	row := Row{Target: t, Outcome: NotMeasured, Why: r.Skipped[t.Suite]}
	m := r.Measures[t.Measure]
	if m == nil {
		if row.Why == "" {
			row.Why = "no figure " + t.Measure
		}
		return row
	}
	row.Unit, row.Measured, row.Judged = m.Unit, m.Value, m.Value
	if t.Per != "" {
		base := r.Measures[t.Per]
		if base == nil || base.Value == 0 {
			row.Why = "no base line " + t.Per
			return row
		}
		row.Base, row.Judged = base.Value, m.Value/base.Value
	}
	row.Why = ""
	reached := func(goal float64) bool {
		if t.AtLeast {
			return row.Judged >= goal
		}
		return row.Judged <= goal
	}
	switch {
	case !reached(t.Must):
		row.Outcome = Missed
	case t.Aim > 0 && reached(t.Aim):
		row.Outcome = AimMet
	default:
		row.Outcome = Met
	}
	return row
}

// Misses are the rows that are not met.
func (r *Report) Misses() []Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Outcome == Met || row.Outcome == AimMet })
}

// goal formats a must or an aim.
func (t *Target) goal(value float64, unit string) string {
	sign := "≤ "
	if t.AtLeast {
		sign = "≥ "
	}
	if t.Per != "" {
		unit = "×"
	}
	return strings.TrimSpace(sign + number(value) + " " + unit)
}

// cells formats a row for people.
func (row *Row) cells() []string {
	must, aim, measured, ratio := row.goal(row.Must, row.Unit), "", "-", "-"
	if row.Aim > 0 {
		aim = row.goal(row.Aim, row.Unit)
	}
	if row.Outcome != NotMeasured {
		measured = strings.TrimSpace(number(row.Measured) + " " + row.Unit)
		ratio = number(row.Judged) + " × " + row.PerName + " " + strings.TrimSpace(number(row.Base)+" "+row.Unit)
		if row.Per == "" {
			ratio = "-"
			if row.Must > 0 {
				ratio = number(row.Judged/row.Must) + " of must"
			}
		}
	}
	outcome := row.Outcome
	if row.Why != "" {
		outcome += ": " + row.Why
	}
	return []string{row.Suite, row.Name, must, aim, measured, ratio, outcome}
}

// number formats a figure: three significant digits below 100, no decimals above.
func number(v float64) string {
	switch {
	case v == float64(int64(v)) && v < 1000:
		return fmt.Sprintf("%d", int64(v))
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// WriteTable prints the report for a person.
func (r *Report) WriteTable(out io.Writer) {
	fmt.Fprintf(out, "railguard %s (%s), %s\n%s\n\n", r.Version, r.Build, r.Began.Format("2006-01-02 15:04"), strings.Join(r.Places(), "\n"))
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SUITE\tMEASURE\tMUST\tAIM\tMEASURED\tRATIO\tOUTCOME")
	for i := range r.Rows {
		fmt.Fprintln(table, strings.Join(r.Rows[i].cells(), "\t"))
	}
	_ = table.Flush() // A failure to print has no other place to be reported.
	r.writeFigures(out)
	for _, text := range r.Notes {
		fmt.Fprintln(out, "note:", text)
	}
	if misses := len(r.Misses()); misses > 0 {
		fmt.Fprintf(out, "\n%d of %d targets not met\n", misses, len(r.Rows))
	} else if len(r.Rows) > 0 {
		fmt.Fprintf(out, "\nall %d targets met\n", len(r.Rows))
	}
}

// writeFigures prints the figures that have no target.
func (r *Report) writeFigures(out io.Writer) {
	judged := map[string]bool{}
	for _, row := range r.Rows {
		judged[row.Measure] = true
	}
	var keys []string
	for key := range r.Measures {
		if !judged[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, key := range keys {
		m := r.Measures[key]
		fmt.Fprintf(table, "%s\t%s %s\t\n", key, number(m.Value), m.Unit)
	}
	_ = table.Flush() // A failure to print has no other place to be reported.
}

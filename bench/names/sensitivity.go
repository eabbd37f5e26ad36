package names

import (
	"fmt"
	"io"
	"strings"

	"railguard/ofac"
)

// Sensitivity is how the measures change with one constant of the scorer.
type Sensitivity struct {
	Constant ofac.Constant
	Value    int32   // the changed value
	Must     float64 // Per cent of MUST flagged, minus the figure of the shipped value. The figures below are differences, too.
	Should   float64
	Ordinary float64
	Hard     float64
	Blocked  float64 // Per cent of MUST blocked, as a difference.
}

// sensitivityEvery selects every third row: enough to compare, not to measure.
const sensitivityEvery = 3

// sensitivityStep is by how many per cent a constant is moved, down and up.
const sensitivityStep = 10

// Sensitivities moves every constant of the scorer down and up and screens a share of
// the rows of the whole list.
func Sensitivities(d *Data) ([]Sensitivity, error) {
	list, err := d.Index("full")
	if err != nil {
		return nil, err
	}
	base := d.measure(list, ofac.NewScratch())
	var table []Sensitivity
	for _, constant := range ofac.Constants() {
		step := max(constant.Value*sensitivityStep/100, 1)
		for _, value := range []int32{constant.Value - step, constant.Value + step} {
			scratch, err := ofac.NewTunedScratch(map[string]int32{constant.Name: value})
			if err != nil {
				return nil, err
			}
			now := d.measure(list, scratch)
			table = append(table, Sensitivity{
				constant, value, now[0] - base[0], now[1] - base[1], now[2] - base[2], now[3] - base[3], now[4] - base[4],
			})
		}
	}
	return table, nil
}

// measure screens a share of the rows: MUST, SHOULD, ordinary, hard, MUST blocked.
func (d *Data) measure(list *ofac.Index, scratch *ofac.Scratch) [5]float64 {
	var must, should, ordinary, hard Share
	row := 0
	for i := range d.Positives {
		positive := &d.Positives[i]
		if positive.Mode != "full" || positive.Tier != "MUST" && positive.Tier != "SHOULD" {
			continue
		}
		if row++; row%sensitivityEvery != 0 {
			continue
		}
		verdict := screen(list, scratch, positive.Query, positive.UID)
		if positive.Tier == "MUST" {
			must.add(&verdict, ofac.ReviewDefault, ofac.BlockDefault)
		} else {
			should.add(&verdict, ofac.ReviewDefault, ofac.BlockDefault)
		}
	}
	for i := range d.Negatives {
		if i%sensitivityEvery != 0 {
			continue
		}
		verdict := screen(list, scratch, d.Negatives[i].Query, 0)
		if strings.HasPrefix(d.Negatives[i].Kind, "hard_") {
			hard.add(&verdict, ofac.ReviewDefault, ofac.BlockDefault)
		} else {
			ordinary.add(&verdict, ofac.ReviewDefault, ofac.BlockDefault)
		}
	}
	return [5]float64{must.FlaggedPercent(), should.FlaggedPercent(), ordinary.FlaggedPercent(), hard.FlaggedPercent(), must.BlockedPercent()}
}

// WriteSensitivities prints the table as Markdown: each constant, its value, its meaning,
// and the change of each measure in percentage points.
func WriteSensitivities(w io.Writer, table []Sensitivity) {
	fmt.Fprintf(w, "| constant | shipped | meaning | to | MUST | SHOULD | ordinary | hard | MUST blocked |\n|---|---|---|---|---|---|---|---|---|\n")
	last := ""
	for _, s := range table {
		name, value, meaning := s.Constant.Name, fmt.Sprint(s.Constant.Value), s.Constant.Meaning
		if name == last {
			name, value, meaning = "", "", ""
		}
		last = s.Constant.Name
		fmt.Fprintf(w, "| %s | %s | %s | %d | %s | %s | %s | %s | %s |\n", name, value, meaning, s.Value,
			points(s.Must), points(s.Should), points(s.Ordinary), points(s.Hard), points(s.Blocked))
	}
}

// points formats a difference; "" if it is about 0.
func points(difference float64) string {
	if difference > -0.005 && difference < 0.005 {
		return ""
	}
	return fmt.Sprintf("%+.2f", difference)
}

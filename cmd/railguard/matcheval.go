package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railguard/ofac"
	"railguard/ofac/families"
	"railguard/ofac/feed"
	"railguard/ofac/sample"
)

// Bounds of an evaluation.
const (
	evalFileMax   = 512 << 20 // Bytes of a list file.
	evalFloorsMax = 1 << 20   // Bytes of a table of floors.
	evalMissesMax = 1000
)

// matchEvaluation is one run of `railguard match eval`. It needs no server.
type matchEvaluation struct {
	families  bool
	lists     []string
	family    string
	sample    int
	misses    int
	floors    string
	screening string
	output    string
	inJSON    bool

	chosen []families.Family
	least  []families.Floor
}

func newMatchEval() *cobra.Command {
	e := &matchEvaluation{}
	cmd := &cobra.Command{
		Use: "eval", Short: "Measure the matcher by names made from a list, offline", Args: cobra.NoArgs,
		Long: `Write every strong name of a list in the ways in which people write names, way after
way, and show what share of each such family the matcher flags: the entry that the name
came from is at least a possible match. Families of ordinary names, whose bearers are
not listed, show what that costs.

The list is that of --list (files that OFAC publishes, any format, compressed or not), or
the sample that is part of the program. Without --sample 0 a family is measured by a part
of its names, which a hash chooses: the same list gives the same names.

The claim says what a family's names are: whole (all of a listed name; aim 97 %), slip
(with another spelling or a slip of the hand; 90), left out (a part is left out and
another varied; 95), information (no aim), innocent (at most 0.3).

Exit codes: 0 measured, 1 a family is below its floor or a list cannot be read, 64 wrong
flags.`,
		Example: "  railguard match eval --families --sample 100\n  railguard match eval --families --list sdn_advanced.xml --list cons_enhanced.xml --sample 0\n  railguard match eval --families --family 'given_between|memo_.*' --misses 5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.readFlags(); err != nil {
				return err
			}
			return e.measure(cmd)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&e.families, "families", false, "measure by families of names made from the list (required)")
	flags.StringArrayVar(&e.lists, "list", nil, "file of a published list; may be repeated (default: the embedded sample)")
	flags.StringVar(&e.family, "family", "", "only families whose whole name this regular expression matches")
	flags.IntVar(&e.sample, "sample", 200, "names of a family at most; 0 is all")
	flags.IntVar(&e.misses, "misses", 0, "show so many names of a family whose outcome is not the wanted one")
	flags.StringVar(&e.floors, "floors", "", "file of floors, a family and a share in a line: exit code 1 when one is fallen below")
	flags.StringVar(&e.screening, "screening", "OFAC+CONS", "OFAC+CONS or OFAC (a policy's default): whether possible matches with entries that are not on the SDN list count")
	flags.StringVarP(&e.output, "output", "o", "table", "table or json")
	flags.BoolVar(&e.inJSON, "json", false, "the same as --output json")
	return cmd
}

// readFlags checks the flags, and reads the table of floors.
func (e *matchEvaluation) readFlags() error {
	if e.inJSON {
		e.output = "json"
	}
	switch {
	case !e.families:
		return usageError("--families is required: it says what to measure by")
	case e.output != "table" && e.output != "json":
		return usageError("--output must be table or json")
	case e.screening != "OFAC" && e.screening != "OFAC+CONS":
		return usageError("--screening must be OFAC or OFAC+CONS")
	case e.sample < 0:
		return usageError("--sample must be 0 (all names) or more")
	case e.misses < 0 || e.misses > evalMissesMax:
		return usageError("--misses must be from 0 to %d", evalMissesMax)
	}
	wanted, err := regexp.Compile("^(?:" + e.family + ")$")
	if err != nil {
		return usageError("--family: %w", err)
	}
	all := families.All()
	for i := range all {
		if e.family == "" || wanted.MatchString(all[i].Name) {
			e.chosen = append(e.chosen, all[i])
		}
	}
	if len(e.chosen) == 0 {
		return usageError("--family: none of the %d families has a name that %q matches as a whole", len(all), e.family)
	}
	if e.floors == "" {
		return nil
	}
	data, err := readBounded(e.floors, evalFloorsMax)
	if err != nil {
		return usageError("--floors: %w", err)
	}
	if e.least, err = families.ParseFloors(string(data)); err != nil {
		return usageError("--floors: %s: %w", e.floors, err)
	}
	return nil
}

// readBounded reads a file of at most that many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return data, err
}

// loadList returns the list to measure on.
func (e *matchEvaluation) loadList() ([]ofac.Entity, ofac.Meta, error) {
	if len(e.lists) == 0 {
		return sample.Entities(), sample.Meta(), nil
	}
	var files []feed.File
	for _, path := range e.lists {
		data, err := readBounded(path, evalFileMax)
		if err != nil {
			return nil, ofac.Meta{}, usageError("--list: %w", err)
		}
		files = append(files, feed.File{Name: filepath.Base(path), Data: data})
	}
	loaded, err := feed.LoadFiles(files, nil)
	if err != nil {
		return nil, ofac.Meta{}, fmt.Errorf("--list: %w", err)
	}
	return loaded.Entities, loaded.Meta, nil
}

func (e *matchEvaluation) measure(cmd *cobra.Command) error {
	entities, meta, err := e.loadList()
	if err != nil {
		return err
	}
	index, err := ofac.Build(entities, meta)
	if err != nil {
		return fmt.Errorf("--list: %w", err)
	}
	listed := families.Prepare(entities)
	rows := e.measureAll(index, listed)
	fallen := families.Fallen(rows, e.least)
	out := cmd.OutOrStdout()
	if e.output == "json" {
		err = e.printJSON(out, &meta, len(listed.Subjects), rows, fallen)
	} else {
		err = e.printTable(out, &meta, len(listed.Subjects), rows)
	}
	if err != nil || len(fallen) == 0 {
		return err
	}
	return fmt.Errorf("%d of %d families are outside their floors:\n  %s", len(fallen), len(rows), strings.Join(fallen, "\n  "))
}

// measureAll measures the chosen families, as many at once as there are processors.
func (e *matchEvaluation) measureAll(index *ofac.Index, listed *families.Listed) []families.Row {
	rows := make([]families.Row, len(e.chosen))
	asked := families.Asked{Sample: e.sample, Missed: e.misses, NonSDNPossible: e.screening == "OFAC+CONS"}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			scratch := ofac.NewScratch()
			for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
				rows[i] = families.Measure(index, scratch, &e.chosen[i], listed, asked)
			}
		})
	}
	workers.Wait()
	return rows
}

func (e *matchEvaluation) printTable(out io.Writer, meta *ofac.Meta, names int, rows []families.Row) error {
	fmt.Fprintf(out, "list %s, %d strong names; matcher %d; screening %s; ", meta.Source, names, ofac.MatcherVersion, e.screening)
	if e.sample == 0 {
		fmt.Fprint(out, "all names of each family\n\n")
	} else {
		fmt.Fprintf(out, "at most %d names of each family\n\n", e.sample)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "FAMILY\tCLAIM\tNAMES\tFLAGGED\tSHARE %\t95 % INTERVAL\tBLOCKED\tLEFT OUT\t")
	for i := range rows {
		row := &rows[i]
		share, interval := "-", "-"
		if row.Names > 0 {
			share, interval = row.Share().String(), fmt.Sprintf("%s to %s", row.Low, row.High)
		}
		left := ""
		if row.LeftOut > 0 {
			left = fmt.Sprint(row.LeftOut)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%d\t%s\t\n", row.Family, row.Claim, row.Names, row.Flagged, share, interval, row.Blocked, left)
	}
	fmt.Fprintln(table)
	fmt.Fprintln(table, "TOGETHER\tAIM %\tNAMES\tFLAGGED\tFAMILIES\tOF THEM AT THE AIM\tBLOCKED\t\t")
	for _, sum := range families.Sums(rows) {
		aim, within := "-", "-"
		if sum.Claim.Aim() > 0 {
			aim, within = sum.Claim.Aim().String(), fmt.Sprint(sum.Within)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t\t\n", sum.Claim, aim, sum.Names, sum.Flagged, sum.Families, within, sum.Blocked)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range rows {
		if len(rows[i].Missed) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s: %s\n", rows[i].Family, rows[i].About)
		for _, missed := range rows[i].Missed {
			if missed.UID == 0 {
				fmt.Fprintf(out, "  %s\n", printableText(missed.Text))
			} else {
				fmt.Fprintf(out, "  %d %s  (%s)\n", missed.UID, printableText(missed.Text), printableText(missed.Listed))
			}
		}
	}
	return nil
}

// measuredFamily is a family in JSON.
type measuredFamily struct {
	Family  string      `json:"family"`
	About   string      `json:"about"`
	Claim   string      `json:"claim"`
	Aim     float64     `json:"aim,omitempty"`
	Names   int         `json:"names"`
	Flagged int         `json:"flagged"`
	Share   float64     `json:"share"`
	Low     float64     `json:"low"`
	High    float64     `json:"high"`
	Blocked int         `json:"blocked"`
	LeftOut int         `json:"leftOut"`
	Missed  []missedOne `json:"missed,omitempty"`
}

type missedOne struct {
	UID    uint32 `json:"uid,omitempty"`
	Listed string `json:"listed,omitempty"`
	Text   string `json:"text"`
}

func perCent(share families.Share) float64 { return float64(share) / 100 }

func (e *matchEvaluation) printJSON(out io.Writer, meta *ofac.Meta, names int, rows []families.Row, fallen []string) error {
	measured := make([]measuredFamily, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		m := measuredFamily{row.Family, row.About, row.Claim.String(), perCent(row.Claim.Aim()), row.Names, row.Flagged, perCent(row.Share()), perCent(row.Low), perCent(row.High), row.Blocked, row.LeftOut, nil}
		for _, missed := range row.Missed {
			m.Missed = append(m.Missed, missedOne(missed))
		}
		measured = append(measured, m)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		List      string           `json:"list"`
		Names     int              `json:"names"`
		Matcher   uint16           `json:"matcher"`
		Screening string           `json:"screening"`
		Sample    int              `json:"sample"`
		Families  []measuredFamily `json:"families"`
		Fallen    []string         `json:"fallen"`
	}{meta.Source, names, ofac.MatcherVersion, e.screening, e.sample, measured, append([]string{}, fallen...)})
}

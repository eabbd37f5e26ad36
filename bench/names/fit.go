package names

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/ofac"
	"railguard/ofac/families"
	"railguard/ofac/feed"
)

// Fit fits the numbers of the matcher to half of the labelled names and of the families made from the
// list. The other half is held out: it is screened to be printed, and changes nothing.
type Fit struct {
	rows   []fitRow
	values map[string]int32   // by constant
	names  []string           // of the constants
	aims   map[string]float64 // by family, per cent
}

// fitRow is one name to screen.
type fitRow struct {
	list  *ofac.Index
	query string
	uid   uint32 // 0: it means nobody listed.
	group string
	held  bool
	exact bool // Found by its exact form, whatever the numbers are.
}

// familyNames is how many names of a family are fitted or held out.
const familyNames = 160

// The groups whose names begin so are the families, the negatives and the pairs of name_bench.
const (
	familyGroup   = "family "
	negativeGroup = "negative "
	pairGroup     = "pair "
)

// NewFit prepares all rows. entities is the published list, of which the families are made.
func NewFit(d *Data, entities []ofac.Entity) (*Fit, error) {
	f := &Fit{values: map[string]int32{}, aims: map[string]float64{}}
	for _, c := range ofac.Constants() {
		f.values[c.Name] = c.Value
		f.names = append(f.names, c.Name)
	}
	lists := map[string]*ofac.Index{}
	for _, mode := range d.Modes() {
		list, err := d.Index(mode)
		if err != nil {
			return nil, err
		}
		lists[mode] = list
	}
	for _, p := range d.Positives {
		if p.Tier == "MUST" || p.Tier == "SHOULD" || p.Tier == tierAdded {
			f.add(lists[p.Mode], p.Query, p.UID, p.Tier+" "+p.Category)
		}
	}
	for _, n := range d.Negatives {
		f.add(lists["full"], n.Query, 0, negativeGroup+n.Kind)
	}
	list, at, err := d.pairIndex()
	if err != nil {
		return nil, err
	}
	for _, pair := range d.Pairs {
		f.add(list, pair.Query, at[[2]string{pair.Target, pair.Schema}], pairGroup+pair.Source+" "+pair.Expected)
	}
	if err := f.addFamilies(entities); err != nil {
		return nil, err
	}
	return f, f.markExact()
}

func (f *Fit) add(list *ofac.Index, query string, uid uint32, group string) {
	f.rows = append(f.rows, fitRow{list, query, uid, group, HeldOut(query), false})
}

func (f *Fit) addFamilies(entities []ofac.Entity) error {
	list, err := compile(entities)
	if err != nil {
		return err
	}
	listed := families.Prepare(entities)
	for _, family := range families.All() {
		aim := map[families.Claim]float64{families.Whole: 97, families.Slip: 90, families.LeftOut: 95}[family.Claim]
		if family.Memo || aim == 0 {
			continue
		}
		f.aims[family.Name] = aim
		cases, _ := family.Cases(listed, familyNames)
		for _, c := range cases {
			f.add(list, c.Text, c.UID, familyGroup+family.Name)
		}
	}
	return nil
}

// markExact marks the rows that no number changes.
func (f *Fit) markExact() error {
	scratch, err := ofac.NewTunedScratch(map[string]int32{"neededPerson": math.MaxInt16, "neededOther": math.MaxInt16})
	if err != nil {
		return err
	}
	for i := range f.rows {
		if r := &f.rows[i]; r.uid != 0 {
			r.exact = r.flagged(scratch)
		}
	}
	return nil
}

func (r *fitRow) flagged(scratch *ofac.Scratch) bool {
	query := ofac.Query{Name: r.query, NonSDNPossible: true}
	if r.uid == 0 {
		return r.list.Screen(&query, scratch).Outcome != ofac.Clear
	}
	match, ok := r.list.ScreenEntry(r.uid, &query, scratch)
	return ok && match.Outcome != ofac.Clear
}

// count screens one half and returns the shares by group.
func (f *Fit) count(held bool) (map[string]Share, error) {
	const workers = 2
	var all sync.WaitGroup
	flagged, failures := make([]bool, len(f.rows)), make([]error, workers)
	for worker := range workers {
		all.Go(func() {
			scratch, err := ofac.NewTunedScratch(f.values)
			if failures[worker] = err; err != nil {
				return
			}
			for i := worker; i < len(f.rows); i += workers {
				if r := &f.rows[i]; r.held == held {
					flagged[i] = r.exact || r.flagged(scratch)
				}
			}
		})
	}
	all.Wait()
	counts := map[string]Share{}
	for i := range f.rows {
		if r := &f.rows[i]; r.held == held {
			share := counts[r.group]
			share.Rows++
			if flagged[i] {
				share.Flagged++
			}
			counts[r.group] = share
		}
	}
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// sumOf adds up the groups that begin with a text.
func sumOf(counts map[string]Share, start string) (sum Share) {
	for group, share := range counts {
		if strings.HasPrefix(group, start) {
			sum.Rows += share.Rows
			sum.Flagged += share.Flagged
		}
	}
	return sum
}

// ordinaryAndHard divides the negatives.
func ordinaryAndHard(counts map[string]Share) (ordinary, hard Share) {
	all := sumOf(counts, negativeGroup)
	hard = sumOf(counts, negativeGroup+"hard_")
	return Share{Rows: all.Rows - hard.Rows, Flagged: all.Flagged - hard.Flagged}, hard
}

// pairsF1 is 100 times F1 on the pairs of name_bench.
func pairsF1(counts map[string]Share) float64 {
	start := pairGroup + "nomenklatura_name_bench "
	found, wrong := counts[start+expectedMatch], counts[start+"no_match"]
	return percent(2*found.Flagged, found.Flagged+wrong.Flagged+found.Rows)
}

// worth is the objective: what a group lacks to its aim costs its weight, and what it has beyond counts a
// twentieth. The aims are a little above those of docs/matching.md.
func (f *Fit) worth(counts map[string]Share) float64 {
	under := func(share, aim, weight float64) float64 { return weight*min(share-aim, 0) + weight/20*share }
	total := under(sumOf(counts, "MUST").FlaggedPercent(), 99.75, 300) + under(sumOf(counts, "SHOULD").FlaggedPercent(), 96.3, 80)
	total += under(sumOf(counts, tierAdded).FlaggedPercent(), 99.75, 120)
	total += under(sumOf(counts, "MUST natural_alias_loo").FlaggedPercent(), 97.5, 40) + under(sumOf(counts, "MUST un_list_variant").FlaggedPercent(), 99, 5)
	total += under(pairsF1(counts), 88, 10)
	ordinary, hard := ordinaryAndHard(counts)
	total -= 600*max(ordinary.FlaggedPercent()-0.18, 0) + 60*ordinary.FlaggedPercent() + 12*hard.FlaggedPercent()
	for name, aim := range f.aims {
		if share := counts[familyGroup+name]; share.Rows > 0 {
			total += under(share.FlaggedPercent(), aim+1.5, 1)
		}
	}
	return total
}

// Climb moves one number at a time, by ever smaller steps, and keeps what raises the objective on the
// fitted half. It prints each step and ends at a time.
func (f *Fit) Climb(w io.Writer, until time.Time) error {
	counts, err := f.count(false)
	if err != nil {
		return err
	}
	best := f.worth(counts)
	fmt.Fprintf(w, "%.1f at the start\n", best)
	for part := int32(30); part >= 4; part /= 2 {
		for improved := true; improved; {
			improved = false
			for _, name := range f.names {
				for _, step := range [...]int32{part, -part} {
					if time.Now().After(until) {
						return nil
					}
					was := f.values[name]
					move := max(was*max(step, -step)/100, 20)
					if step < 0 {
						move = -move
					}
					f.values[name] = max(was+move, 0)
					counts, err := f.count(false)
					if err != nil {
						return err
					}
					if worth := f.worth(counts); worth > best {
						best, improved = worth, true
						fmt.Fprintf(w, "%.1f with %s %d\n", best, name, f.values[name])
						break
					}
					f.values[name] = was
				}
			}
		}
	}
	return nil
}

// WriteFit prints the numbers, and what both halves say of them.
func (f *Fit) WriteFit(w io.Writer) error {
	for _, name := range f.names {
		fmt.Fprintf(w, "%-20s %6d\n", name, f.values[name])
	}
	fitted, err := f.count(false)
	if err != nil {
		return err
	}
	held, err := f.count(true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%-44s %7s %9s %7s %9s\n", "group", "fitted", "flagged %", "held", "flagged %")
	for _, group := range slices.Sorted(maps.Keys(fitted)) {
		writeHalves(w, group, fitted[group], held[group])
	}
	for _, group := range []string{"MUST", "SHOULD", tierAdded, familyGroup} {
		writeHalves(w, "all "+group, sumOf(fitted, group), sumOf(held, group))
	}
	ordinary, hard := ordinaryAndHard(fitted)
	heldOrdinary, heldHard := ordinaryAndHard(held)
	writeHalves(w, "all ordinary negatives", ordinary, heldOrdinary)
	writeHalves(w, "all hard negatives", hard, heldHard)
	fmt.Fprintf(w, "%-44s %7s %9.2f %7s %9.2f\n", "F1 of name_bench, times 100", "", pairsF1(fitted), "", pairsF1(held))
	return nil
}

func writeHalves(w io.Writer, group string, fitted, held Share) {
	fmt.Fprintf(w, "%-44s %7d %9.2f %7d %9.2f\n", group, fitted.Rows, fitted.FlaggedPercent(), held.Rows, held.FlaggedPercent())
}

// PublishedList reads the list of which the labelled names are, with the types of the parts of names,
// below the folder that Find returns.
func PublishedList(dir string) ([]ofac.Entity, error) {
	var files []feed.File
	for _, path := range []string{"2025-11-19/sdn_advanced.xml.bz2", "2026-01-08/cons_enhanced.xml.gz"} {
		data, err := os.ReadFile(filepath.Join(dir, "ofac", path))
		if err != nil {
			return nil, err
		}
		files = append(files, feed.File{Name: filepath.Base(path), Data: data})
	}
	loaded, err := feed.LoadFiles(files, nil)
	return loaded.Entities, err
}

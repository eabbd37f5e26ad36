package names

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"railguard/ofac"
	"railguard/ofac/families"
	"railguard/ofac/feed"
)

type fitRow struct {
	list  *ofac.Index
	query string
	uid   uint32
	kind  string
	gain  float64 // of flagging it; negative for innocents
	held  bool
}

type Fit struct {
	rows   []fitRow
	values map[string]int32
	aims   map[string]float64
	names  []string
}

func (f *Fit) add(list *ofac.Index, query string, uid uint32, kind string, gain float64) {
	f.rows = append(f.rows, fitRow{list, query, uid, kind, gain, HeldOut(query)})
}

func NewFit(d *Data) (*Fit, error) {
	f := &Fit{values: map[string]int32{}, aims: map[string]float64{}}
	lists := map[string]*ofac.Index{}
	for _, mode := range d.Modes() {
		list, err := d.Index(mode)
		if err != nil {
			return nil, err
		}
		lists[mode] = list
	}
	full := lists["full"]
	for _, p := range d.Positives {
		gain := map[string]float64{"MUST": 1, "SHOULD": 0.5, tierAdded: 1}[p.Tier]
		if strings.HasPrefix(p.Category, "natural") || strings.HasPrefix(p.Category, "un_") {
			gain *= 3
		}
		if gain > 0 {
			f.add(lists[p.Mode], p.Query, p.UID, p.Tier+" "+p.Category, gain)
		}
	}
	for _, n := range d.Negatives {
		gain := -8.0
		if strings.HasPrefix(n.Kind, "hard_") {
			gain = -2
		}
		f.add(full, n.Query, 0, "NEG "+n.Kind, gain)
	}
	if err := f.made(); err != nil {
		return nil, err
	}
	entities := d.entities("full")
	at := map[[2]string]uint32{}
	uid := uint32(1 << 27)
	for _, pair := range d.Pairs {
		key := [2]string{pair.Target, pair.Schema}
		if _, ok := at[key]; ok || pair.Target == "" {
			continue
		}
		uid++
		at[key] = uid
		entities = append(entities, ofac.Entity{UID: uid, Type: schemaType(pair.Schema), Lists: ofac.ListSDN,
			Names: []ofac.Name{{ID: uid, Primary: true, Script: "Latin", Full: pair.Target}}})
	}
	list, err := compile(entities)
	if err != nil {
		return nil, err
	}
	for _, pair := range d.Pairs {
		gain := 3.0
		if pair.Expected == "no_match" {
			gain = -3
		} else if pair.Expected != "match" {
			continue
		}
		f.add(list, pair.Query, at[[2]string{pair.Target, pair.Schema}], "PAIR "+pair.Expected, gain)
	}
	for _, c := range ofac.Constants() {
		f.values[c.Name] = c.Value
		f.names = append(f.names, c.Name)
	}
	return f, nil
}

func (f *Fit) made() error {
	entities, err := RealList()
	if err != nil {
		return err
	}
	list, err := compile(entities)
	if err != nil {
		return err
	}
	l := families.Prepare(entities)
	for _, fam := range families.All() {
		if fam.Memo || fam.Claim == families.Information || fam.Claim == families.Innocent {
			continue
		}
		cases, _ := fam.Cases(l, 160)
		gain := 60.0 / float64(len(cases))
		f.aims[fam.Name] = map[families.Claim]float64{families.Whole: 97, families.Slip: 90, families.LeftOut: 95}[fam.Claim]
		for _, c := range cases {
			f.add(list, c.Text, c.UID, "FAM "+fam.Name, gain)
		}
	}
	return nil
}

// RealList is the list of which the labelled names are, with the types of the parts of names.
func RealList() ([]ofac.Entity, error) {
	dir, err := Find()
	if err != nil {
		return nil, err
	}
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

// Eval returns the objective on the fitted part, and counts.
func (f *Fit) Eval(held int) (float64, map[string][2]int) {
	flagged := make([]bool, len(f.rows))
	var all sync.WaitGroup
	const workers = 2
	for w := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			s, err := ofac.NewTunedScratch(f.values)
			if err != nil {
				panic(err)
			}
			for i := w; i < len(f.rows); i += workers {
				r := &f.rows[i]
				if held >= 0 && r.held != (held == 1) {
					continue
				}
				q := ofac.Query{Name: r.query, NonSDNPossible: true}
				if r.uid == 0 {
					flagged[i] = r.list.Screen(&q, s).Outcome != ofac.Clear
				} else {
					m, ok := r.list.ScreenEntry(r.uid, &q, s)
					flagged[i] = ok && m.Outcome != ofac.Clear
				}
			}
		}()
	}
	all.Wait()
	counts := map[string][2]int{}
	for i, r := range f.rows {
		if held >= 0 && r.held != (held == 1) {
			continue
		}
		c := counts[r.kind]
		c[1]++
		if flagged[i] {
			c[0]++
		}
		counts[r.kind] = c
	}
	return f.worth(counts), counts
}

// worth is the objective: shares below their aims cost.
func (f *Fit) worth(counts map[string][2]int) float64 {
	sum := func(test func(string) bool) float64 {
		a, b := 0, 0
		for k, c := range counts {
			if test(k) {
				a, b = a+c[0], b+c[1]
			}
		}
		if b == 0 {
			return 0
		}
		return 100 * float64(a) / float64(b)
	}
	under := func(share, aim, weight float64) float64 { return weight*min(share-aim, 0) + weight/20*share }
	starts := func(text string) func(string) bool { return func(k string) bool { return strings.HasPrefix(k, text) } }
	is := func(text string) func(string) bool { return func(k string) bool { return k == text } }
	total := under(sum(starts("MUST")), 99.75, 300) + under(sum(starts("SHOULD")), 96.3, 80) + under(sum(starts("ADDED")), 99.75, 120)
	total += under(sum(is("MUST natural_alias_loo")), 97, 12) + under(sum(is("MUST un_list_variant")), 99, 5)
	ordinary := sum(func(k string) bool { return strings.HasPrefix(k, "NEG") && !strings.HasPrefix(k, "NEG hard") })
	total -= 600*max(ordinary-0.22, 0) + 60*ordinary + 12*sum(starts("NEG hard"))
	tp, fp := counts["PAIR match"], counts["PAIR no_match"]
	total += under(200*float64(tp[0])/float64(tp[1]+tp[0]+fp[0]), 88, 10)
	for k := range counts {
		if name, ok := strings.CutPrefix(k, "FAM "); ok {
			total += under(sum(is(k)), f.aims[name]+1.5, 1)
		}
	}
	return total
}

func (f *Fit) Climb(w io.Writer, until time.Time, only string) {
	best, _ := f.Eval(0)
	fmt.Fprintf(w, "start %.1f\n", best)
	for step := 0.3; step > 0.04 && time.Now().Before(until); step /= 2 {
		for improved := true; improved && time.Now().Before(until); {
			improved = false
			for _, name := range f.names {
				if only != "" && !strings.Contains(only, name) {
					continue
				}
				for _, sign := range []float64{1, -1} {
					was := f.values[name]
					move := int32(sign * max(20, step*float64(was)))
					if strings.HasPrefix(name, "needed") {
						move = int32(sign * step * 200)
					}
					for {
						now := f.values[name]
						if now+move < 0 {
							break
						}
						f.values[name] = now + move
						score, _ := f.Eval(0)
						if score > best {
							best = score
							improved = true
							fmt.Fprintf(w, "%.1f %s %d\n", best, name, now+move)
							continue
						}
						f.values[name] = now
						break
					}
					if time.Now().After(until) {
						return
					}
					if f.values[name] != was {
						break
					}
				}
			}
		}
		fmt.Fprintf(w, "step %.2f done\n", step)
	}
}

func (f *Fit) Print(w io.Writer) {
	for _, name := range f.names {
		fmt.Fprintf(w, "%s: %d, ", name, f.values[name])
	}
	fmt.Fprintln(w)
}

func (f *Fit) Misses(w io.Writer) {
	s := ofac.NewScratch()
	for i := range f.rows {
		r := &f.rows[i]
		q := ofac.Query{Name: r.query, NonSDNPossible: true}
		var m ofac.Match
		ok := false
		if r.uid == 0 {
			if res := r.list.Screen(&q, s); len(res.Matches) > 0 {
				m, ok = res.Matches[0], true
			}
		} else {
			q.Review = 7500
			m, ok = r.list.ScreenEntry(r.uid, &q, s)
		}
		hit := ok && m.Outcome != ofac.Clear && (m.Score >= 8750)
		if hit != (r.gain > 0) {
			ex := ""
			if ok {
				e, _ := r.list.Explain(m.UID, &q, s)
				ex = e.String()
			}
			fmt.Fprintf(w, "%s held=%v\t%d %s\t%s\t<- %s | %s\n", r.kind, r.held, m.Score, m.Form, r.query, m.Alias, ex)
		}
	}
}

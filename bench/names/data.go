package names

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"railguard/ofac"
)

// Positive is a name that must lead to one listed entry.
type Positive struct {
	Category, Sub, Query string
	UID                  uint32
	Mode                 string // which index: full, loo, latin_only, index_2024-05-28
	Tier                 string // MUST, SHOULD, MAY
	Base                 string // the listed name it was made from
}

// Negative is a name that means nobody listed.
type Negative struct{ Kind, Query string }

// Pair is one labelled pair of two names.
type Pair struct {
	Source, Schema, Query, Target, Expected string
	LogicV2                                 float64 // The score that logic-v2 published; 0: there is none.
}

// Collision is a name whose words equal a listed name.
type Collision struct {
	Label, Query string
	UID          uint32
}

// Data is everything the evaluation reads.
type Data struct {
	Positives  []Positive
	Negatives  []Negative
	Pairs      []Pair
	Collisions []Collision
	names      []nameRow
	older      []nameRow
	left       map[string]bool // translation ids left out for mode loo
}

// nameRow is one row of an index table.
type nameRow struct {
	uid               uint32
	kind              ofac.EntityType
	id                string
	primary, weak     bool
	script, full      string
	aliasType, family string
}

// Find looks for the folder of labelled data: the environment variable
// RAILGUARD_DATA, else shared/data beside any parent of the working folder.
func Find() (string, error) {
	if dir := os.Getenv("RAILGUARD_DATA"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		candidate := filepath.Join(dir, "shared", "data")
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			return candidate, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no labelled data: set RAILGUARD_DATA to the folder that holds names/")
		}
		dir = parent
	}
}

// Load reads the development half of the data below dir.
func Load(dir string) (*Data, error) {
	d := &Data{left: map[string]bool{}}
	names := filepath.Join(dir, "names")
	tables := []struct {
		path    string
		columns int
		row     func([]string) error
	}{
		{filepath.Join(names, "dev_positives.tsv.gz"), 11, d.positive},
		{filepath.Join(names, "dev_negatives.tsv.gz"), 4, d.negative},
		{filepath.Join(names, "dev_pairs_thirdparty.tsv.gz"), 7, d.pair},
		{filepath.Join(names, "collisions_labelled.tsv.gz"), 7, d.collision},
		{filepath.Join(names, "index_names.tsv.gz"), 9, func(f []string) error { return appendName(&d.names, f, f[8]) }},
		{filepath.Join(dir, "ofac", "golden", "sdn_2024-05-28_names.tsv.gz"), 8, func(f []string) error { return appendName(&d.older, f, "SDN") }},
	}
	for _, table := range tables {
		if err := readTable(table.path, table.columns, table.row); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(filepath.Join(names, "loo_removed_translation_ids.txt"))
	if err != nil {
		return nil, err
	}
	for id := range strings.FieldsSeq(string(text)) {
		d.left[id] = true
	}
	d.Pairs = append(d.Pairs, romanisedPairs()...)
	d.addAround()
	return d, nil
}

func readTable(path string, columns int, row func([]string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(io.LimitReader(reader, 1<<30))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		if n == 1 {
			continue // This row is the header.
		}
		if len(fields) < columns {
			return fmt.Errorf("%s:%d: %d fields, want %d", path, n, len(fields), columns)
		}
		if err := row(fields); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}

func (d *Data) positive(f []string) error {
	uid, err := parseID(f[4])
	d.Positives = append(d.Positives, Positive{Category: f[1], Sub: f[2], Query: f[3], UID: uid, Mode: f[6], Tier: f[7], Base: f[8]})
	return err
}

func (d *Data) negative(f []string) error {
	d.Negatives = append(d.Negatives, Negative{Kind: f[1], Query: f[3]})
	return nil
}

func (d *Data) pair(f []string) error {
	pair := Pair{Source: f[1], Schema: f[3], Query: f[4], Target: f[5], Expected: f[6]}
	if len(f) > 11 && f[11] != "" {
		pair.LogicV2, _ = strconv.ParseFloat(f[11], 64) // not every pair has one
	}
	d.Pairs = append(d.Pairs, pair)
	return nil
}

func (d *Data) collision(f []string) error {
	uid, err := parseID(f[4])
	d.Collisions = append(d.Collisions, Collision{Label: f[0], Query: f[3], UID: uid})
	return err
}

func parseID(field string) (uint32, error) {
	value, err := strconv.ParseUint(field, 10, 32)
	return uint32(value), err
}

func appendName(rows *[]nameRow, f []string, family string) error {
	uid, err := parseID(f[0])
	if err != nil {
		return err
	}
	kind := ofac.Company
	for _, known := range []ofac.EntityType{ofac.Individual, ofac.Vessel, ofac.Aircraft} {
		if f[1] == known.String() {
			kind = known
		}
	}
	*rows = append(*rows, nameRow{
		uid: uid, kind: kind, id: f[2], aliasType: f[3], primary: f[4] == "1", weak: f[5] == "1", script: f[6], full: f[7], family: family,
	})
	return nil
}

// entities makes the input of ofac.Build for one index mode.
func (d *Data) entities(mode string) []ofac.Entity {
	rows := d.names
	if mode == "index_2024-05-28" {
		rows = d.older
	}
	at := map[uint32]int{}
	var list []ofac.Entity
	for _, row := range rows {
		if mode == "loo" && d.left[row.id] || mode == "latin_only" && row.script != "Latin" {
			continue
		}
		i, ok := at[row.uid]
		if !ok {
			i = len(list)
			at[row.uid] = i
			list = append(list, ofac.Entity{UID: row.uid, Type: row.kind})
		}
		if strings.Contains(row.family, "SDN") {
			list[i].Lists |= ofac.ListSDN
		}
		if strings.Contains(row.family, "CONS") {
			list[i].Lists |= ofac.ListCONS
		}
		id, err := parseID(row.id)
		if err != nil {
			id = 0
		}
		list[i].Names = append(list[i].Names, ofac.Name{
			ID: id, AliasType: row.aliasType, Primary: row.primary, Weak: row.weak, Script: row.script, Full: row.full,
		})
	}
	return list
}

// Index compiles and opens the list of one mode.
func (d *Data) Index(mode string) (*ofac.Index, error) {
	return compile(d.entities(mode))
}

func compile(entities []ofac.Entity) (*ofac.Index, error) {
	return ofac.Build(entities, ofac.Meta{Source: "evaluation"})
}

// Modes lists the index modes the positives ask for.
func (d *Data) Modes() []string {
	var modes []string
	for _, positive := range d.Positives {
		if !slices.Contains(modes, positive.Mode) {
			modes = append(modes, positive.Mode)
		}
	}
	return modes
}

// Entities returns the whole list as Build wants it.
func Entities(d *Data) []ofac.Entity { return d.entities("full") }

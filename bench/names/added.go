package names

import (
	"fmt"
	"strings"

	"railguard/ofac"
)

// tierAdded marks the rows of this file: listed names with words around them, as
// payment messages hold them. They are counted apart from the labelled rows.
const tierAdded = "ADDED"

// addedEvery selects every 16th listed name.
const addedEvery = 16

// Texts put after a name, before it and between two names, and the second names.
var (
	addedSuffixes = []string{
		"JR", "DUBAI", "LONDON BRANCH", "ACCOUNT 48291", "HK", "FRANKFURT BRANCH", "INVOICE 2024-117", "(MOSCOW)", "ACC 40702810", "REPRESENTATIVE OFFICE",
	}
	addedPrefixes = []string{"ATTN", "C/O", "ACCOUNT OF", "PAYEE", "F/B/O", "BENEFICIARY:", "TO THE ORDER OF", "ACME TRADING FOR"}
	addedJoints   = []string{" OR ", " AND ", " / ", " & ", ", ", " C/O "}
	addedSeconds  = []string{"Emma Thompson", "Oliver Bennett", "Northwind Traders", "Cilia Flores", "Harbour View Dental Practice"}
)

// addAround makes the categories suffix_added, prefix_added and two_names from the list:
// from strong Latin names of persons and companies with two words or more.
func (d *Data) addAround() {
	count := 0
	for i := range d.names {
		row := &d.names[i]
		if row.weak || row.script != "Latin" || row.kind > ofac.Company || len(strings.Fields(row.full)) < 2 {
			continue
		}
		if count++; count%addedEvery != 0 {
			continue
		}
		n, full := count/addedEvery, row.full
		if last, first, ok := strings.Cut(full, ", "); ok && row.kind == ofac.Individual && n%2 == 0 {
			full = first + " " + last
		}
		second := addedSeconds[n%len(addedSeconds)]
		pair := full + addedJoints[n%len(addedJoints)] + second
		if n%3 == 0 {
			pair = second + addedJoints[n%len(addedJoints)] + full
		}
		d.around(row, "suffix_added", fmt.Sprintf("%s %s", full, addedSuffixes[n%len(addedSuffixes)]))
		d.around(row, "prefix_added", fmt.Sprintf("%s %s", addedPrefixes[n%len(addedPrefixes)], full))
		d.around(row, "two_names", pair)
	}
}

func (d *Data) around(row *nameRow, category, query string) {
	d.Positives = append(d.Positives, Positive{Category: category, Query: query, UID: row.uid, Mode: "full", Tier: tierAdded, Base: row.full})
}

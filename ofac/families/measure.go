package families

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railguard/ofac"
)

// Asked is how the names of a family are asked about.
type Asked struct {
	Sample int // Names of a family at most; 0: all.
	Missed int // Names to keep whose outcome is not the wanted one.

	// NonSDNPossible counts possible matches with entries that are not on the SDN list, as the
	// screening OFAC+CONS does. Where a policy says nothing, they do not count.
	NonSDNPossible bool
}

// Row is what a family's names led to.
type Row struct {
	Family    string
	About     string
	Claim     Claim
	Names     int // Names that were asked about.
	Flagged   int // Possible or listed: of the entry that the name came from; of an innocent, any.
	Blocked   int // Listed.
	Low, High float64
	LeftOut   int // Innocents that equal a listed name.
	Missed    []Case
}

// Share is the share that was flagged, in per cent.
func (r *Row) Share() float64 {
	if r.Names == 0 {
		return 0
	}
	return 100 * float64(r.Flagged) / float64(r.Names)
}

// Measure asks about a family's names.
func Measure(x *ofac.Index, scratch *ofac.Scratch, f *Family, l *Listed, asked Asked) Row {
	cases, left := f.Cases(l, asked.Sample)
	row := Row{Family: f.Name, About: f.About, Claim: f.Claim, Names: len(cases), LeftOut: left}
	for i := range cases {
		query := ofac.Query{Name: cases[i].Text, NonSDNPossible: asked.NonSDNPossible}
		outcome := outcomeOf(x, scratch, f.Memo, &query, cases[i].UID)
		if outcome >= ofac.Possible {
			row.Flagged++
		}
		if outcome == ofac.Listed {
			row.Blocked++
		}
		if (outcome >= ofac.Possible) == (f.Claim == Innocent) && len(row.Missed) < asked.Missed {
			row.Missed = append(row.Missed, cases[i])
		}
	}
	row.Low, row.High = wilson(row.Flagged, row.Names)
	return row
}

// matchesShown is how many matches a result has at most.
const matchesShown = 10

// outcomeOf returns the outcome of a name for an entry; for an innocent (0) the hardest.
func outcomeOf(x *ofac.Index, scratch *ofac.Scratch, memo bool, query *ofac.Query, uid uint32) ofac.Outcome {
	result := ofac.Result{}
	if memo {
		result = x.Memo(query, scratch)
	} else {
		result = x.Screen(query, scratch)
	}
	if uid == 0 {
		return result.Outcome
	}
	for i := range result.Matches {
		if result.Matches[i].UID == uid {
			return result.Matches[i].Outcome
		}
	}
	if len(result.Matches) < matchesShown || memo {
		return ofac.Clear
	}
	if match, ok := x.ScreenEntry(uid, query, scratch); ok { // More entries match than are shown.
		return match.Outcome
	}
	return ofac.Clear
}

// wilson is the 95 % interval of a share by Wilson's score, in per cent.
func wilson(hits, of int) (low, high float64) {
	if of == 0 {
		return 0, 100
	}
	const z = 1.959964
	n, p := float64(of), float64(hits)/float64(of)
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, 100*(middle-half)/(1+z*z/n)), min(100, 100*(middle+half)/(1+z*z/n))
}

// Floor is the least share of a family; of an innocent one the greatest.
type Floor struct {
	Family string
	Share  float64
}

// ParseFloors reads a table of floors: a family and a share in a line. Empty lines and lines that
// begin with "#" are left out. Every family has to exist, and none stands twice.
func ParseFloors(text string) (floors []Floor, err error) {
	all, seen := All(), map[string]bool{}
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: %q is not a family and a share", number+1, line)
		}
		share, err := strconv.ParseFloat(fields[1], 64)
		switch {
		case err != nil || !(share >= 0 && share <= 100):
			return nil, fmt.Errorf("line %d: %q is no share from 0 to 100", number+1, fields[1])
		case !slices.ContainsFunc(all, func(f Family) bool { return f.Name == fields[0] }):
			return nil, fmt.Errorf("line %d: there is no family %q", number+1, fields[0])
		case seen[fields[0]]:
			return nil, fmt.Errorf("line %d: the family %q stands twice", number+1, fields[0])
		}
		seen[fields[0]] = true
		floors = append(floors, Floor{fields[0], share})
	}
	return floors, nil
}

// Fallen returns a sentence for each measured family that is below its floor, or above it if it is
// an innocent one. A family without names has no share and cannot fall.
func Fallen(rows []Row, floors []Floor) (fallen []string) {
	for i := range rows {
		row := &rows[i]
		at := slices.IndexFunc(floors, func(f Floor) bool { return f.Family == row.Family })
		if at < 0 || row.Names == 0 {
			continue
		}
		share, floor := row.Share(), floors[at].Share
		switch {
		case row.Claim == Innocent && share > floor:
			fallen = append(fallen, fmt.Sprintf("%s: %.2f %% of %d are flagged, at most %g", row.Family, share, row.Names, floor))
		case row.Claim != Innocent && share < floor:
			fallen = append(fallen, fmt.Sprintf("%s: %.2f %% of %d are flagged, at least %g", row.Family, share, row.Names, floor))
		}
	}
	return fallen
}

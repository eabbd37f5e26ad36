package families

import (
	"errors"
	"fmt"
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
	Names     int   // Names that were asked about.
	Flagged   int   // Possible or listed: of the entry that the name came from; of an innocent, any.
	Blocked   int   // Listed.
	Low, High Share // The 95 % interval of the share.
	LeftOut   int   // Innocents that equal a listed name.
	Missed    []Case
}

// Share is a share in hundredths of a per cent.
type Share int64

const whole Share = 10_000

// String writes the share in per cent, "97.25".
func (s Share) String() string { return fmt.Sprintf("%d.%02d", s/100, s%100) }

// parseShare reads a share in per cent with at most two digits behind the point.
func parseShare(text string) (Share, error) {
	before, behind, _ := strings.Cut(text, ".")
	per, err := strconv.ParseUint(before, 10, 8)
	hundredths, wrong := strconv.ParseUint((behind + "00")[:2], 10, 8)
	share := Share(100*per + hundredths)
	if err != nil || wrong != nil || len(behind) > 2 || share > whole {
		return 0, errors.New("no share from 0 to 100, with at most two digits behind the point")
	}
	return share, nil
}

// Share is the share that was flagged, rounded down.
func (r *Row) Share() Share {
	if r.Names == 0 {
		return 0
	}
	return whole * Share(r.Flagged) / Share(r.Names)
}

// Measure asks about a family's names.
func Measure(x *ofac.Index, scratch *ofac.Scratch, f *Family, l *Listed, asked Asked) Row {
	cases, left := f.Cases(l, asked.Sample)
	row := Row{Family: f.Name, About: f.About, Claim: f.Claim, Names: len(cases), LeftOut: left}
	for i := range cases {
		query := ofac.Query{Name: cases[i].Text, NonSDNPossible: asked.NonSDNPossible || f.Guessed}
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
	var result ofac.Result
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

// wilson is the 95 % interval of a share by Wilson's score, in integers.
func wilson(hits, of int) (low, high Share) {
	if of == 0 {
		return 0, whole
	}
	const z2, unit = 38_415, 10_000 // z is 1.96; z2 is its square in ten-thousandths.
	k, n := int64(hits), int64(of)
	middle, half := k*unit+z2/2, root(z2*(k*(n-k)*unit/n+z2/4))
	below := n*unit + z2
	low, high = Share((middle-half)*unit/below), Share(((middle+half)*unit+below-1)/below)
	if hits == 0 {
		low = 0
	}
	if hits == of {
		high = whole
	}
	return low, high
}

// root is the whole part of a square root.
func root(of int64) int64 {
	guess := of/2 + 1
	for next := (guess + of/guess) / 2; next < guess; next = (guess + of/guess) / 2 {
		guess = next
	}
	return guess
}

// Floor is the least share of a family; of an innocent one the greatest.
type Floor struct {
	Family string
	Share  Share
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
		share, err := parseShare(fields[1])
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %q is %w", number+1, fields[1], err)
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
			fallen = append(fallen, fmt.Sprintf("%s: %s %% of %d are flagged, at most %s", row.Family, share, row.Names, floor))
		case row.Claim != Innocent && share < floor:
			fallen = append(fallen, fmt.Sprintf("%s: %s %% of %d are flagged, at least %s", row.Family, share, row.Names, floor))
		}
	}
	return fallen
}

// Sum is what the families of one claim led to together.
type Sum struct {
	Claim            Claim
	Families, Within int // Families with names, and those of them that reach the aim.
	Names            int
	Flagged, Blocked int
}

// Sums adds the rows up, claim by claim.
func Sums(rows []Row) []Sum {
	sums := make([]Sum, 0, Innocent)
	for claim := Whole; claim <= Innocent; claim++ {
		sum := Sum{Claim: claim}
		for i := range rows {
			row := &rows[i]
			if row.Claim != claim || row.Names == 0 {
				continue
			}
			sum.Families++
			sum.Names, sum.Flagged, sum.Blocked = sum.Names+row.Names, sum.Flagged+row.Flagged, sum.Blocked+row.Blocked
			if reached := row.Share() >= claim.Aim(); claim != Innocent && reached || claim == Innocent && row.Share() <= claim.Aim() {
				sum.Within++
			}
		}
		sums = append(sums, sum)
	}
	return sums
}

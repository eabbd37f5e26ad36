package feed

import (
	"fmt"
	"strings"
	"time"

	"railguard/ofac"
)

// FamilySummary counts one list family. Entities 0 means that it is not loaded.
type FamilySummary struct {
	Format    Format
	DataAsOf  int64 // ns UTC; 0 where unknown.
	Entities  int
	Names     int
	Addresses int // Digital currency addresses, as printed.
}

// Summary counts what is loaded, for the checks before a swap.
type Summary struct {
	SDN, CONS FamilySummary
	Entities  int // Distinct entities, SDN ∪ CONS.
	Names     int // Of the merged entities, as Addresses.
	Addresses int
}

func summarize(sdn, cons *List, merged []ofac.Entity) Summary {
	whole := List{Entities: merged}
	return Summary{SDN: familySummary(sdn), CONS: familySummary(cons),
		Entities: len(merged), Names: whole.Names(), Addresses: whole.Addresses()}
}

func familySummary(list *List) FamilySummary {
	if list == nil {
		return FamilySummary{}
	}
	return FamilySummary{list.Format, list.DataAsOf, len(list.Entities), list.Names(), list.Addresses()}
}

// EntitiesKeptPercentMin is how much of the old list's entity count a new list
// must reach (decisions 5.21: refused when entries drop by more than 5 %).
const EntitiesKeptPercentMin = 95

// Canaries are what every real list is known to hold. A list without them is
// cut, filtered or not OFAC's.
type Canaries struct {
	Names   []string // Full names on the SDN list; letter case does not matter.
	Tickers []string // Tickers with at least one digital currency address.
}

// DefaultCanaries returns entries that stood on the list in every snapshot since
// 2019 and whose removal would be world news.
func DefaultCanaries() Canaries {
	return Canaries{Names: []string{"LAZARUS GROUP"}, Tickers: []string{"XBT", "ETH"}}
}

// ProblemCode is the class of a reason not to swap.
type ProblemCode string

// The reasons not to put a new list in the place of the old one.
const (
	ProblemEmpty         ProblemCode = "empty"          // No entity at all.
	ProblemFamilyMissing ProblemCode = "family_missing" // No SDN list, or a family that the old list has.
	ProblemOlder         ProblemCode = "older"          // dataAsOf before that of the old list.
	ProblemShrunk        ProblemCode = "shrunk"         // Entity count below EntitiesKeptPercentMin.
	ProblemCanary        ProblemCode = "canary"         // A canary is missing.
)

// Problem is one reason not to swap. An operator may force a swap past all of
// them, with a reason (decisions 5.21).
type Problem struct {
	Code   ProblemCode
	Detail string
}

// String writes the problem for a log line or an error text.
func (p Problem) String() string { return string(p.Code) + ": " + p.Detail }

// Check judges whether next may replace the list that old describes; old is nil
// for a first import. Zero dates and counts in old are unknown and not compared.
// It is a pure function; no problem means that the swap may go ahead.
func Check(old *Summary, next *Loaded, canaries Canaries) []Problem {
	if len(next.Entities) == 0 {
		return []Problem{{ProblemEmpty, "the new list has no entity"}}
	}
	var problems []Problem
	if next.Summary.SDN.Entities == 0 {
		problems = append(problems, Problem{ProblemFamilyMissing, "the new list has no SDN entities"})
	}
	if old != nil {
		problems = append(problems, checkFamily("SDN", &old.SDN, &next.Summary.SDN)...)
		problems = append(problems, checkFamily("CONS", &old.CONS, &next.Summary.CONS)...)
		if shrunk(old.Entities, next.Summary.Entities) {
			problems = append(problems, shrunkProblem("the whole list", old.Entities, next.Summary.Entities))
		}
	}
	return append(problems, checkCanaries(next.Entities, canaries)...)
}

func checkFamily(name string, old, next *FamilySummary) []Problem {
	if next.Entities == 0 {
		if old.Entities > 0 && name != "SDN" { // A missing SDN list is told already.
			return []Problem{{ProblemFamilyMissing, fmt.Sprintf("the old list has %d %s entities and the new one none", old.Entities, name)}}
		}
		return nil
	}
	var problems []Problem
	if next.DataAsOf != 0 && next.DataAsOf < old.DataAsOf {
		problems = append(problems, Problem{ProblemOlder, fmt.Sprintf("%s of %s would replace %s of %s",
			name, day(next.DataAsOf), name, day(old.DataAsOf))})
	}
	if shrunk(old.Entities, next.Entities) {
		problems = append(problems, shrunkProblem(name, old.Entities, next.Entities))
	}
	return problems
}

func day(nanoseconds int64) string { return time.Unix(0, nanoseconds).UTC().Format(time.DateOnly) }

func shrunk(old, next int) bool {
	return int64(next)*100 < int64(old)*EntitiesKeptPercentMin
}

func shrunkProblem(what string, old, next int) Problem {
	return Problem{ProblemShrunk, fmt.Sprintf("%s would shrink from %d to %d entities: at least %d %% must stay", what, old, next, EntitiesKeptPercentMin)}
}

func checkCanaries(entities []ofac.Entity, canaries Canaries) []Problem {
	var problems []Problem
	for _, name := range canaries.Names {
		if !listsName(entities, name) {
			problems = append(problems, Problem{ProblemCanary, fmt.Sprintf("the new list does not name %s", name)})
		}
	}
	for _, ticker := range canaries.Tickers {
		if !listsTicker(entities, ticker) {
			problems = append(problems, Problem{ProblemCanary, fmt.Sprintf("the new list has no %s address", ticker)})
		}
	}
	return problems
}

func listsName(entities []ofac.Entity, name string) bool {
	for i := range entities {
		if entities[i].Lists&ofac.ListSDN == 0 {
			continue
		}
		for j := range entities[i].Names {
			if strings.EqualFold(entities[i].Names[j].Full, name) {
				return true
			}
		}
	}
	return false
}

func listsTicker(entities []ofac.Entity, ticker string) bool {
	for i := range entities {
		for j := range entities[i].Addresses {
			if entities[i].Addresses[j].Ticker == ticker {
				return true
			}
		}
	}
	return false
}

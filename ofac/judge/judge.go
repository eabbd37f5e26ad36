package judge

import (
	"fmt"
	"slices"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac/feed"
)

// EntitiesKeptPercentMin is how much of the active list's entries, of each family's
// and of the whole, a new list must reach.
const EntitiesKeptPercentMin = 95

// The reasons not to put a new list in the place of the active one, besides what
// feed.Inspect finds in its content.
const (
	ProblemEmpty         feed.ProblemCode = "empty"          // No entry at all.
	ProblemFamilyMissing feed.ProblemCode = "family_missing" // No SDN list, or a family that the active list has.
	ProblemOlder         feed.ProblemCode = "older"          // A family's date before that of the active list.
	ProblemShrunk        feed.ProblemCode = "shrunk"         // Entries below EntitiesKeptPercentMin.
	ProblemSample        feed.ProblemCode = "sample"         // The embedded sample over a published list.
)

// Replacement judges whether next may take the place of active, nil where no list
// is active. found is what stood against next's content when it was loaded, in the
// words of feed.Problem. The answer is in the same words, one a problem; none means
// that the switch may go ahead. An operator may force a switch past all of them,
// with a reason. The sample is no measure for a published list.
func Replacement(active, next *wire.ListInfo, found []string) []string {
	var problems []string
	tell := func(code feed.ProblemCode, format string, values ...any) {
		problem := feed.Problem{Code: code, Detail: fmt.Sprintf(format, values...)}.String()
		if !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	if next.Entries == 0 {
		tell(ProblemEmpty, "the new list has no entry")
		return problems
	}
	if next.SDN == 0 {
		tell(ProblemFamilyMissing, "the new list has no SDN entries")
	}
	if active != nil && !active.Sample {
		if next.Sample {
			tell(ProblemSample, "the embedded sample would replace a published list")
		} else {
			compare(active, next, tell)
		}
	}
	for _, problem := range found {
		if !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// family is one of a list's families as its counts and its source describe it.
type family struct {
	name      string
	had, has  uint32
	was, date int64 // ns UTC; 0: unknown, and not compared.
}

// compare holds each family to its own date and count, and the whole to its count:
// the newer family's date is no measure for the other.
func compare(active, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	wasSDN, wasCONS := feed.DatesOf(active.Source)
	nextSDN, nextCONS := feed.DatesOf(next.Source)
	for _, f := range []family{
		{"SDN", active.SDN, next.SDN, wasSDN, nextSDN}, {"CONS", active.CONS, next.CONS, wasCONS, nextCONS},
	} {
		if f.has == 0 {
			if f.had > 0 && f.name != "SDN" { // A missing SDN list is told already.
				tell(ProblemFamilyMissing, "the active list has %d %s entries and the new one none", f.had, f.name)
			}
			continue
		}
		if f.date != 0 && f.date < f.was {
			tell(ProblemOlder, "%s of %s would replace %s of %s", f.name, day(f.date), f.name, day(f.was))
		}
		compareCount(f.name, f.had, f.has, tell)
	}
	if wasSDN|wasCONS|nextSDN|nextCONS == 0 && next.PublishedAt != 0 && next.PublishedAt < active.PublishedAt {
		tell(ProblemOlder, "a list of %s would replace one of %s", instant(next.PublishedAt), instant(active.PublishedAt))
	}
	compareCount("the whole list", active.Entries, next.Entries, tell)
	if uint64(next.Names)*100 < uint64(active.Names)*EntitiesKeptPercentMin {
		tell(ProblemShrunk, "names would shrink from %d to %d: at least %d %% must stay", active.Names, next.Names, EntitiesKeptPercentMin)
	}
	if uint64(next.Wallets)*100 < uint64(active.Wallets)*feed.WalletsKeptPercentMin {
		tell(feed.ProblemWallets, "digital currency accounts would shrink from %d to %d: at least %d %% must stay", active.Wallets, next.Wallets, feed.WalletsKeptPercentMin)
	}
}

func compareCount(what string, had, has uint32, tell func(feed.ProblemCode, string, ...any)) {
	if uint64(has)*100 < uint64(had)*EntitiesKeptPercentMin {
		tell(ProblemShrunk, "%s would shrink from %d to %d entries: at least %d %% must stay", what, had, has, EntitiesKeptPercentMin)
	}
}

func day(nanoseconds int64) string { return time.Unix(0, nanoseconds).UTC().Format(time.DateOnly) }

func instant(at engine.Time) string { return at.String() }

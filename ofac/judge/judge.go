package judge

import (
	"fmt"
	"slices"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
)

// FirstEntriesMin is how many entries the first published list of a cluster must have.
// OFAC's lists have had more for years, and there is no other list to compare it with.
const FirstEntriesMin = 10_000

// EntitiesKeptPercentMin is the share of the active list's entries, of each source and in
// all, and of its names that a new list must reach.
const EntitiesKeptPercentMin = 95

// The reasons not to replace the active list by a new one. feed.Inspect finds further reasons in
// the new list's content.
const (
	ProblemEmpty         feed.ProblemCode = "empty"          // No entry at all.
	ProblemFamilyMissing feed.ProblemCode = "family_missing" // No entries of a core source, or of a source that the active list has.
	ProblemOlder         feed.ProblemCode = "older"          // A source's date is before that in the active list.
	ProblemSmall         feed.ProblemCode = "small"          // A first list of fewer entries than FirstEntriesMin.
	ProblemShrunk        feed.ProblemCode = "shrunk"         // Entries or names below EntitiesKeptPercentMin.
	ProblemSample        feed.ProblemCode = "sample"         // The embedded sample would replace a published list.
)

// Content judges a list by itself, whatever it replaces. found holds the problems of its
// content at loading, in the words of feed.Problem. Content returns all problems, in the
// same words.
func Content(next *wire.ListInfo, found []string) []string { return judge(nil, next, found, false) }

// Replacement judges whether next may replace active: by its content, and compared with
// active, which is nil where no list is active. Uploads and fetches are judged alike. No
// problem means that the switch may go ahead. An operator who gives a reason may force a
// switch despite all of them. A published list is not compared with the sample.
func Replacement(active, next *wire.ListInfo, found []string) []string {
	return judge(active, next, found, true)
}

func judge(active, next *wire.ListInfo, found []string, switches bool) []string {
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
	for _, source := range ofac.Sources() {
		if source.Row().Core && next.OfSource(source.String()).Entries == 0 {
			tell(ProblemFamilyMissing, "the new list has no %s entries", source)
		}
	}
	switch {
	case !switches:
	case active == nil && !next.Sample && next.Entries < FirstEntriesMin:
		tell(ProblemSmall, "a first list of %d entries: a whole one has at least %d", next.Entries, FirstEntriesMin)
	case active == nil || active.Sample:
	case next.Sample:
		tell(ProblemSample, "the embedded sample would replace a published list")
	default:
		compare(active, next, tell)
	}
	for _, problem := range found {
		if !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// Missing returns the names of the sources of which a published list has no entry.
func Missing(info *wire.ListInfo) (sources []string) {
	for _, source := range ofac.Sources() {
		if info.OfSource(source.String()).Entries == 0 && !info.Sample {
			sources = append(sources, source.String())
		}
	}
	return sources
}

// compare compares each source's date and count with its former ones, and the counts of the whole
// list. It compares the whole list's date, which is its newest source's, only where no source has
// one.
func compare(active, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	wasDates, dates := feed.DatesOf(active.Source), feed.DatesOf(next.Source)
	for _, source := range ofac.Sources() {
		had, has := active.OfSource(source.String()).Entries, next.OfSource(source.String()).Entries
		if has == 0 {
			if had > 0 && !source.Row().Core { // A missing core source is reported elsewhere.
				tell(ProblemFamilyMissing, "the active list has %d %s entries and the new one none", had, source)
			}
			continue
		}
		if was, date := wasDates[source], dates[source]; date != 0 && date < was {
			tell(ProblemOlder, "%s of %s would replace %s of %s", source, day(date), source, day(was))
		}
		compareCount(source.String(), had, has, tell)
	}
	undated := [ofac.SourcesMax]int64{}
	if wasDates == undated && dates == undated && next.PublishedAt != 0 && next.PublishedAt < active.PublishedAt {
		tell(ProblemOlder, "a list of %s would replace one of %s", instant(next.PublishedAt), instant(active.PublishedAt))
	}
	compareCount("the whole list", active.Entries, next.Entries, tell)
	if uint64(next.Names)*100 < uint64(active.Names)*EntitiesKeptPercentMin {
		tell(ProblemShrunk, "names would shrink from %d to %d: at least %d %% must stay", active.Names, next.Names, EntitiesKeptPercentMin)
	}
	if uint64(next.Wallets)*100 < uint64(active.Wallets)*feed.WalletsKeptPercentMin {
		tell(feed.ProblemWallets, "digital currency accounts would shrink from %d to %d: at least %d %% must stay", active.Wallets, next.Wallets, feed.WalletsKeptPercentMin)
	}
	compareChains(active, next, tell)
}

// compareChains compares each chain with its own former count. A reworded feature type
// drops all wallets of a ticker, which the count of entries does not show.
func compareChains(active, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	has := map[string]uint32{}
	for _, chain := range next.Chains {
		has[chain.Chain] = chain.Count
	}
	for _, had := range active.Chains {
		if had.Count >= feed.ChainFew && uint64(has[had.Chain])*100 < uint64(had.Count)*feed.WalletsKeptPercentMin {
			tell(feed.ProblemWallets, "%s accounts would shrink from %d to %d: at least %d %% must stay", had.Chain, had.Count, has[had.Chain], feed.WalletsKeptPercentMin)
		}
	}
}

func compareCount(what string, had, has uint32, tell func(feed.ProblemCode, string, ...any)) {
	if uint64(has)*100 < uint64(had)*EntitiesKeptPercentMin {
		tell(ProblemShrunk, "%s would shrink from %d to %d entries: at least %d %% must stay", what, had, has, EntitiesKeptPercentMin)
	}
}

func day(nanoseconds int64) string { return time.Unix(0, nanoseconds).UTC().Format(time.DateOnly) }

func instant(at engine.Time) string { return at.String() }

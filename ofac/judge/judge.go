package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
)

// PublicationAge returns how long ago the core sources of a list were published; negative: not
// known, or it is the sample.
func PublicationAge(info *wire.ListInfo, now engine.Time) engine.Time {
	published := PublicationOf(info)
	if published == 0 || info.Sample {
		return -1
	}
	return max(now-published, 0)
}

// AgeWarning warns of a list whose publication is old, however often a source confirms it; "":
// it is not, or now is 0.
func AgeWarning(info *wire.ListInfo, now engine.Time) string {
	age := PublicationAge(info, now)
	if now == 0 || age <= PublicationOld {
		return ""
	}
	return fmt.Sprintf("the publication is %s old: the source may stand still", days(age))
}

// FirstEntriesMin is how many entries the first published list of a cluster must have.
// OFAC's lists have had more for years, and there is no other list to compare it with.
const FirstEntriesMin = 10_000

// EntitiesKeptPercentMin is the share of the largest list's entries, of each source and in
// all, and of its names that a new list must reach.
const EntitiesKeptPercentMin = 95

// The reasons not to replace the active list by a new one. feed.Inspect finds further reasons in
// the new list's content.
const (
	ProblemEmpty         feed.ProblemCode = "empty"          // No entry at all.
	ProblemFamilyMissing feed.ProblemCode = "family_missing" // No entries of a core source, or of a source that a list before had.
	ProblemOlder         feed.ProblemCode = "older"          // A source's date is before the newest that was in force.
	ProblemSmall         feed.ProblemCode = "small"          // A first list of fewer entries than FirstEntriesMin.
	ProblemShrunk        feed.ProblemCode = "shrunk"         // Entries or names below EntitiesKeptPercentMin.
	ProblemSample        feed.ProblemCode = "sample"         // The embedded sample would replace a published list.

	ProblemUndated         feed.ProblemCode = "undated"                  // A source has no date, and one with a date was in force.
	ProblemFuture          feed.ProblemCode = "future"                   // A source is dated more than AheadMost after log time; nobody may force it.
	ProblemSamePublication feed.ProblemCode = "same_publication_differs" // The same date and other content.
	ProblemSecondOrigin    feed.ProblemCode = "second_origin"            // The second origin has fewer entries than the first had that day.
	ProblemRolledBack      feed.ProblemCode = "rolled_back"              // The list was in force and was rolled back.
)

// AheadMost is how far ahead of log time a publication may be dated: time zones and clocks, and
// no more. The log holds the same bound.
const AheadMost = 2 * engine.DayLength

// PeakKept is how long a list that was in force is a measure of the next ones.
const PeakKept = 90 * engine.DayLength

// Ages of the publication in force, by the core sources' dates. OFAC publishes several times a
// week.
const (
	PublicationOld   = 14 * engine.DayLength // It is warned of.
	PublicationStale = 30 * engine.DayLength
)

// PublicationOf returns when the core sources of a list were published, the oldest of them; 0:
// not known. It is the age that counts: a further source may rest for months.
func PublicationOf(info *wire.ListInfo) (published engine.Time) {
	for _, source := range ofac.Sources() {
		if held := info.OfSource(source.String()); source.Row().Core && held.AsOf != 0 && (published == 0 || held.AsOf < published) {
			published = held.AsOf
		}
	}
	if published == 0 {
		return info.PublishedAt
	}
	return published
}

// Precedents are what a new list is measured by.
type Precedents struct {
	Active  *wire.ListInfo   // nil: no list is active.
	History []*wire.ListInfo // The lists that were in force, newest last.
	Now     engine.Time      // Log time.
	Left    *wire.ListLeft   // Who would leave the active list; nil: there is none, or it is the sample.

	// SecondOrigin: the new list comes from an origin that is less preferred than that of the
	// active list.
	SecondOrigin bool
	// Fetched: the publisher itself gave the new list. A second list of one day that only adds
	// is then taken, because some of its files have a day and no time.
	Fetched bool
}

// Replacement judges whether next may take the place of the active list: by its content, whose
// problems found holds in the words of feed.Problem, by its dates, and by the newest and the
// largest of the lists of PeakKept. First imports, fetches, uploads (when they are staged and
// when they are activated) and rollbacks are judged alike. No problem means that the switch may
// go ahead. Persons may force a switch despite all of them but ProblemFuture. A published list
// is not compared with the sample.
func Replacement(p Precedents, next *wire.ListInfo, found []string) []string {
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
	if !next.Sample {
		checkFuture(next, p.Now, tell)
	}
	switch active := p.Active; {
	case active == nil && !next.Sample && next.Entries < FirstEntriesMin:
		tell(ProblemSmall, "a first list of %d entries: a whole one has at least %d", next.Entries, FirstEntriesMin)
	case active == nil || active.Sample:
	case next.Sample:
		tell(ProblemSample, "the embedded sample would replace a published list")
	default:
		compareLists(p, next, tell)
	}
	for _, problem := range found {
		if !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// Final reports whether one of the problems is one that nobody may force.
func Final(problems []string) bool {
	return slices.ContainsFunc(problems, func(problem string) bool { return strings.HasPrefix(problem, string(ProblemFuture)+": ") })
}

// checkFuture looks for a source that is dated more than AheadMost after log time. Such a list
// would keep every true list out, so nobody may force it, and the log refuses it too.
func checkFuture(next *wire.ListInfo, now engine.Time, tell func(feed.ProblemCode, string, ...any)) {
	dated := false
	for _, source := range ofac.Sources() {
		if date := next.OfSource(source.String()).AsOf; date != 0 {
			dated = true
			if date > now+AheadMost {
				tell(ProblemFuture, "%s is dated %s, and it is %s: at most %s ahead are taken", source, instant(date), instant(now), days(AheadMost))
			}
		}
	}
	for i := range next.Others {
		if other := &next.Others[i]; other.Further != nil && other.AsOf > now+AheadMost {
			tell(ProblemFuture, "%s is dated %s, and it is %s: at most %s ahead are taken", other.Name, instant(other.AsOf), instant(now), days(AheadMost))
		}
	}
	if !dated && next.PublishedAt > now+AheadMost {
		tell(ProblemFuture, "the list is dated %s, and it is %s: at most %s ahead are taken", instant(next.PublishedAt), instant(now), days(AheadMost))
	}
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

// measuredBy returns the lists that a new one is compared with: the active one, and those that
// came in force in the last PeakKept. A list that was rolled back is no measure, and neither is
// what was in force before a list that persons forced: they knew what they changed.
func (p *Precedents) measuredBy() []*wire.ListInfo {
	lists := []*wire.ListInfo{p.Active}
	if p.Active.Forced {
		return lists
	}
	for i := len(p.History) - 1; i >= 0; i-- {
		info := p.History[i]
		if info.Sample || info.ActivatedAt+PeakKept <= p.Now {
			break
		}
		if info.RolledBackAt == 0 && info.Digest != p.Active.Digest {
			lists = append(lists, info)
		}
		if info.Forced && info.RolledBackAt == 0 {
			break
		}
	}
	return lists
}

// compareLists compares each source's date with the newest, and each count with the greatest.
// It compares the whole list's date, which is its newest source's, only where no source has one.
func compareLists(p Precedents, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	measures := p.measuredBy()
	dated := false
	for _, source := range ofac.Sources() {
		name := source.String()
		held := next.OfSource(name)
		had := greatest(measures, func(l *wire.ListInfo) uint32 { return l.OfSource(name).Entries })
		was := engine.Time(0)
		for _, list := range measures {
			was = max(was, list.OfSource(name).AsOf)
		}
		dated = dated || held.AsOf != 0 || was != 0
		if held.Entries == 0 {
			if had > 0 && !source.Row().Core { // A missing core source is reported elsewhere.
				tell(ProblemFamilyMissing, "a list before has %d %s entries and the new one none", had, source)
			}
			continue
		}
		switch {
		case held.AsOf == 0 && was != 0:
			tell(ProblemUndated, "%s has no date, and %s of %s was in force: give the date of the files", source, source, instant(was))
		case held.AsOf < was:
			tell(ProblemOlder, "%s of %s would replace %s of %s", source, instant(held.AsOf), source, instant(was))
		}
		compareCount(source.String(), had, held.Entries, tell)
	}
	if !dated && next.PublishedAt != 0 && next.PublishedAt < p.Active.PublishedAt {
		tell(ProblemOlder, "a list of %s would replace one of %s", instant(next.PublishedAt), instant(p.Active.PublishedAt))
	}
	entries, names, wallets := next.OfOFAC()
	compareCount("the whole list", greatest(measures, func(l *wire.ListInfo) uint32 { n, _, _ := l.OfOFAC(); return n }), entries, tell)
	if had := greatest(measures, func(l *wire.ListInfo) uint32 { _, n, _ := l.OfOFAC(); return n }); uint64(names)*100 < uint64(had)*EntitiesKeptPercentMin {
		tell(ProblemShrunk, "names would shrink from %d to %d: at least %d %% must stay", had, names, EntitiesKeptPercentMin)
	}
	if had := greatest(measures, func(l *wire.ListInfo) uint32 { _, _, n := l.OfOFAC(); return n }); uint64(wallets)*100 < uint64(had)*feed.WalletsKeptPercentMin {
		tell(feed.ProblemWallets, "digital currency accounts would shrink from %d to %d: at least %d %% must stay", had, wallets, feed.WalletsKeptPercentMin)
	}
	compareFurther(p, measures, next, tell)
	compareChains(measures, next, tell)
	compareContent(p, measures, next, tell)
	if p.SecondOrigin {
		compareOrigins(p.Active, next, tell)
	}
	if last := lastOf(p.History, next.Digest); last != nil && last.RolledBackAt != 0 {
		tell(ProblemRolledBack, "this list was in force and was rolled back at %s", instant(last.RolledBackAt))
	}
}

func greatest(lists []*wire.ListInfo, count func(*wire.ListInfo) uint32) (most uint32) {
	for _, list := range lists {
		most = max(most, count(list))
	}
	return most
}

// lastOf returns a list as it was last in force; nil: it never was.
func lastOf(history []*wire.ListInfo, digest [32]byte) *wire.ListInfo {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Digest == digest {
			return history[i]
		}
	}
	return nil
}

// RolledBack reports whether a list was in force and a rollback replaced it. A list that another
// one replaced may come in force again by itself.
func RolledBack(history []*wire.ListInfo, digest [32]byte) bool {
	last := lastOf(history, digest)
	return last != nil && last.RolledBackAt != 0
}

// compareContent finds the same publication with other content: of one source, in one format,
// and of one date; or, whatever the format, of the dates of the active list without some of its
// parties or wallets.
func compareContent(p Precedents, measures []*wire.ListInfo, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	same := true // Every source of the new list has the date that it has in the active list.
	for _, source := range ofac.Sources() {
		name := source.String()
		held := next.OfSource(name)
		same = same && held.AsOf == p.Active.OfSource(name).AsOf && (held.AsOf != 0 || held.Entries == 0)
		for _, list := range measures {
			had := list.OfSource(name)
			if held.AsOf == 0 || had.AsOf != held.AsOf || len(had.Sum) == 0 || len(held.Sum) == 0 || formatOf(list, name) != formatOf(next, name) {
				continue
			}
			if !bytes.Equal(had.Sum, held.Sum) && !(p.Fetched && list == p.Active && !p.Left.Any()) {
				tell(ProblemSamePublication, "%s of %s was in force with other content: one publication has one content", source, instant(held.AsOf))
				break
			}
		}
	}
	if same && next.Brings == "" && p.Left != nil && p.Left.Parties+p.Left.Wallets > 0 {
		tell(ProblemSamePublication, "%d parties and %d wallets of the active list are missing, though both are of the same date", p.Left.Parties, p.Left.Wallets)
	}
}

// formatOf returns the format of a source's files, such as SDN_ENHANCED.
func formatOf(info *wire.ListInfo, source string) string {
	for part := range strings.SplitSeq(info.Source, feed.SourceJoint) {
		if format, _, _ := strings.Cut(part, " "); strings.HasPrefix(format, source+"_") {
			return format
		}
	}
	return ""
}

// compareOrigins keeps a second origin's list of the same day out if it has fewer entries: an
// outage of the first one must not take away who was listed that day.
func compareOrigins(active, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	for _, source := range ofac.Sources() {
		had, held := active.OfSource(source.String()), next.OfSource(source.String())
		if held.AsOf != 0 && held.AsOf.Day() == had.AsOf.Day() && held.Entries < had.Entries {
			tell(ProblemSecondOrigin, "%s from %s has %d entries, and that from %s of the same day has %d", source, next.Origin, held.Entries, active.Origin, had.Entries)
		}
	}
}

// compareChains compares each chain with its own greatest count. A reworded feature type
// drops all wallets of a ticker, which the count of entries does not show.
func compareChains(measures []*wire.ListInfo, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	has := map[string]uint32{}
	for _, chain := range next.Chains {
		has[chain.Chain] = chain.Count
	}
	var most []wire.ChainCount
	for _, list := range measures {
		for _, chain := range list.Chains {
			at := slices.IndexFunc(most, func(c wire.ChainCount) bool { return c.Chain == chain.Chain })
			if at < 0 {
				most = append(most, chain)
			} else {
				most[at].Count = max(most[at].Count, chain.Count)
			}
		}
	}
	for _, had := range most {
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

// instant writes a time to the second, and only its day where it is a midnight.
func instant(at engine.Time) string { return feed.DateText(int64(at)) }

func days(length engine.Time) string { return fmt.Sprintf("%d days", length/engine.DayLength) }

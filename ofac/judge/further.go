package judge

import (
	"bytes"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac/feed"
)

// EntryByEntry drops the problems that persons make who change single entries of a list: each entry
// is named, with who and why, so that fewer of them are no accident.
func EntryByEntry(problems []string) []string {
	return slices.DeleteFunc(slices.Clone(problems), func(problem string) bool {
		return strings.HasPrefix(problem, string(ProblemShrunk)+": ") || strings.HasPrefix(problem, string(feed.ProblemWallets)+": ")
	})
}

// compareFurther judges the lists beside OFAC's, each for itself. One that is missing would no longer
// be asked. One that the snapshot takes over from the active list is not judged: what became of it
// was judged when it came in force. A list whose entries persons end one by one has the active list
// as its only measure, because what they ended is not missing.
func compareFurther(p Precedents, measures []*wire.ListInfo, next *wire.ListInfo, tell func(feed.ProblemCode, string, ...any)) {
	for i := range p.Active.Others {
		had := &p.Active.Others[i]
		if had.Further != nil && next.OfSource(had.Name).Further == nil {
			tell(ProblemFamilyMissing, "the list %s of %d entries would be missing", had.Name, had.Entries)
		}
	}
	for i := range next.Others {
		held := &next.Others[i]
		active := p.Active.OfSource(held.Name)
		if held.Further == nil || len(held.Sum) > 0 && bytes.Equal(held.Sum, active.Sum) {
			continue
		}
		if held.Entries == 0 {
			tell(ProblemEmpty, "the list %s has no entry", held.Name)
			continue
		}
		if active.Further == nil {
			continue
		}
		if active.Further.Blocks && !held.Further.Blocks {
			tell(ProblemEffect, "the list %s would be reviewed, and blocks now", held.Name)
		}
		of := measures
		if held.Further.Format == ownFormat {
			of = measures[:1]
		}
		compareCount(held.Name, greatest(of, func(l *wire.ListInfo) uint32 { return l.OfSource(held.Name).Entries }), held.Entries, tell)
		if names := greatest(of, func(l *wire.ListInfo) uint32 { return l.OfSource(held.Name).Names }); uint64(held.Names)*100 < uint64(names)*EntitiesKeptPercentMin {
			tell(ProblemShrunk, "names of %s would shrink from %d to %d: at least %d %% must stay", held.Name, names, held.Names, EntitiesKeptPercentMin)
		}
		if wallets := greatest(of, func(l *wire.ListInfo) uint32 { return l.OfSource(held.Name).Wallets }); uint64(held.Wallets)*100 < uint64(wallets)*feed.WalletsKeptPercentMin {
			tell(feed.ProblemWallets, "wallets of %s would shrink from %d to %d: at least %d %% must stay", held.Name, wallets, held.Wallets, feed.WalletsKeptPercentMin)
		}
		newest := engine.Time(0)
		for _, list := range of {
			newest = max(newest, list.OfSource(held.Name).AsOf)
		}
		if held.AsOf != 0 && held.AsOf < newest {
			tell(ProblemOlder, "%s of %s would replace %s of %s", held.Name, instant(held.AsOf), held.Name, instant(newest))
		}
	}
}

// ownFormat is the format of an institution's own list.
const ownFormat = "own"

// ProblemEffect says that hits on a list would no longer block.
const ProblemEffect feed.ProblemCode = "effect_lowered"

package keeper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/fetch"
)

// Feed says how to get and read the files of one publisher. Another publisher's list needs
// a row of ofac/list for its meaning, a package that reads its files, and a row here.
type Feed struct {
	Name    string     // The publisher, for messages.
	Sources ofac.Lists // The sources that its parties may stand on.

	Published []fetch.Origin // The publisher's origins, in order of preference.
	// Mirrored are the file names that a mirror may use: whole sets, the preferred one
	// first. The n-th sets of all feeds are requested together. A feed with fewer sets uses
	// its last one again.
	Mirrored [][]string
	AgeMax   time.Duration // Greatest age of fetched files; 0 means any age.

	Claims    func(name string) bool // Reports whether a file of that name is one of the publisher's.
	LoadDir   func(dir string, report func(feed.Progress)) (feed.Loaded, error)
	LoadFiles func(files []feed.File, report func(feed.Progress)) (feed.Loaded, error)
	Inspect   func(loaded *feed.Loaded) []string // Returns the problems of the content.
}

// feeds is the table of publishers. The first one also reads the files that no feed claims
// by name.
var feeds = []Feed{{
	Name: "OFAC", Sources: ofac.ListSDN | ofac.ListCONS,
	Published: []fetch.Origin{fetch.SLS(), fetch.Treasury()},
	Mirrored: [][]string{
		{"SDN_ENHANCED.XML", "CONS_ENHANCED.XML"}, {"SDN_ENHANCED.ZIP", "CONS_ENHANCED.ZIP"}, {"SDN_ADVANCED.XML", "CONS_ADVANCED.XML"},
	},
	Claims:  func(name string) bool { _, published := feed.KindOf(name); return published },
	LoadDir: feed.LoadDir, LoadFiles: feed.LoadFiles,
	Inspect: func(loaded *feed.Loaded) []string { return feed.Inspect(loaded, feed.DefaultCanaries()) },
}}

// Claims reports whether some publisher issues files of that name.
func Claims(name string) bool {
	return slices.ContainsFunc(feeds, func(f Feed) bool { return f.Claims(name) })
}

// attempt holds one origin for each feed. If a fetch from them fails, the next attempt may
// be tried.
type attempt []fetch.Origin

// attemptsOf combines the n-th origins of all feeds to the n-th attempt. originsOf returns
// the origins of a feed.
func attemptsOf(feeds []Feed, originsOf func(*Feed) []fetch.Origin) []attempt {
	var attempts []attempt
	for n := 0; ; n++ {
		var next attempt
		more := false
		for i := range feeds {
			origins := originsOf(&feeds[i])
			more = more || n < len(origins)
			next = append(next, origins[min(n, len(origins)-1)])
		}
		if !more {
			return attempts
		}
		attempts = append(attempts, next)
	}
}

// batch is the merged content of all feeds.
type batch struct {
	feed.Loaded
	found []string       // Problems of the content.
	over  *wire.ListInfo // The active list whose lists beside OFAC's it has; nil: there are none.
}

// add merges the content of one feed. It fails when an entity stands on a source that is
// not the feed's.
func (b *batch) add(f *Feed, loaded *feed.Loaded, now time.Time) error {
	for i := range loaded.Entities {
		if entity := &loaded.Entities[i]; entity.Lists&^f.Sources != 0 {
			return fmt.Errorf("%s: entity %d stands on %v, which is not its own", f.Name, entity.UID, entity.Lists)
		}
	}
	b.found = append(b.found, f.Inspect(loaded)...)
	if published := loaded.Meta.PublishedAt; f.AgeMax > 0 && published != 0 && now.Sub(time.Unix(0, published)) > f.AgeMax {
		b.found = append(b.found, feed.Problem{Code: problemAged, Detail: fmt.Sprintf("the files of %s are of %s: at most %v of age are taken",
			f.Name, engine.Time(published), f.AgeMax)}.String())
	}
	if b.Meta.Source == "" {
		b.Loaded = *loaded
		return nil
	}
	b.Entities = append(b.Entities, loaded.Entities...)
	b.Meta = feed.JoinMeta(b.Meta, loaded.Meta)
	b.Files = append(b.Files, loaded.Files...)
	b.Warnings = append(b.Warnings, loaded.Warnings...)
	for source, sum := range loaded.Sums {
		if sum != nil {
			b.Sums[source] = sum
		}
	}
	b.Quarantined = append(b.Quarantined, loaded.Quarantined...)
	b.Suspects = append(b.Suspects, loaded.Suspects...)
	return nil
}

// problemAged means that a feed's files are older than its AgeMax.
const problemAged feed.ProblemCode = "aged"

// loadFolder reads the files of all feeds from a folder. It skips a feed without files,
// unless every feed is without files.
func loadFolder(feeds []Feed, dir string, report func(feed.Progress)) (*batch, error) {
	var all batch
	var absent error
	for i := range feeds {
		loaded, err := feeds[i].LoadDir(dir, report)
		var refused *feed.Error
		if errors.As(err, &refused) && refused.Reason == feed.ReasonNoFiles && len(feeds) > 1 {
			absent = cmp.Or(absent, err)
			continue
		}
		if err == nil {
			err = all.add(&feeds[i], &loaded, time.Time{})
		}
		if err != nil {
			return nil, err
		}
	}
	if all.Meta.Source == "" && absent != nil {
		return nil, absent
	}
	return &all, nil
}

// loadFiles reads files in memory, each with the feed that claims it.
func loadFiles(feeds []Feed, files []feed.File, now time.Time, report func(feed.Progress)) (*batch, error) {
	parts := make([][]feed.File, len(feeds))
	for _, file := range files {
		at := max(slices.IndexFunc(feeds, func(f Feed) bool { return f.Claims(file.Name) }), 0)
		parts[at] = append(parts[at], file)
	}
	var all batch
	for i := range feeds {
		if len(parts[i]) == 0 && (i > 0 || len(files) > 0) {
			continue
		}
		loaded, err := feeds[i].LoadFiles(parts[i], report)
		if err == nil {
			err = all.add(&feeds[i], &loaded, now)
		}
		if err != nil {
			return nil, err
		}
	}
	return &all, nil
}

// encode returns the canonical list of entities of a batch and its description.
func (b *batch) encode() ([]byte, wire.ListInfo, error) {
	encoded, err := ofac.EncodeEntities(b.Entities, b.Meta)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	info, err := describeList(encoded)
	addWarnings(&info, &b.Loaded)
	info.SDNSum, info.CONSSum = b.Sums[ofac.SDN], b.Sums[ofac.CONS]
	if b.over != nil {
		info.Over = b.over.Digest[:]
	}
	for i := range info.Others {
		if info.Others[i].Further != nil {
			info.Others[i].Sum = b.over.OfSource(info.Others[i].Name).Sum
		} else if source, known := ofac.SourceNamed(info.Others[i].Name); known {
			info.Others[i].Sum = b.Sums[source]
		}
	}
	info.Found = b.found
	return encoded, info, err
}

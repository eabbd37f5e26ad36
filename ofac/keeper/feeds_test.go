package keeper

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/fetch"
	"railguard/ofac/list"
	"railguard/ofac/sample"
)

// moonPublisher is an invented publisher: see moonSource.
const moonPublisher list.Publisher = 1

// moonSource adds an invented source in the same way as a real one: a row in the table of
// sources, a reader of its files (a date, then one company per line) and a row in the table
// of feeds.
func moonSource(t *testing.T) (list.Source, Feed) {
	source, remove := list.AddSource(list.SourceRow{Name: "MOON", Title: "list of the Moon", Publisher: moonPublisher})
	t.Cleanup(remove)
	read := func(files []feed.File, _ func(feed.Progress)) (loaded feed.Loaded, err error) {
		if len(files) != 1 {
			return loaded, errors.New("one file was expected")
		}
		date, names, _ := strings.Cut(string(files[0].Data), "\n")
		asOf, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return loaded, err
		}
		for i, name := range strings.Split(strings.TrimSpace(names), "\n") {
			uid, known := list.UID(moonPublisher, uint32(i+1))
			if !known {
				return loaded, errors.New("a number too great")
			}
			loaded.Entities = append(loaded.Entities, ofac.Entity{UID: uid, Type: ofac.Company, Lists: source.Set(), Names: []ofac.Name{{Primary: true, Script: "Latin", Full: name}}})
		}
		loaded.Meta = ofac.Meta{Source: feed.SourceText(source, "LINES", asOf.UnixNano()), PublishedAt: asOf.UnixNano()}
		loaded.Meta.AsOf[source] = asOf.UnixNano()
		return loaded, nil
	}
	return source, Feed{
		Name: "the Moon", Sources: source.Set(), Mirrored: [][]string{{"moon.lines"}}, AgeMax: 40 * 365 * 24 * time.Hour,
		Claims:    func(name string) bool { return name == "moon.lines" },
		LoadFiles: read, Inspect: func(*feed.Loaded) []string { return nil },
		LoadDir: func(string, func(feed.Progress)) (feed.Loaded, error) {
			return feed.Loaded{}, &feed.Error{Reason: feed.ReasonNoFiles}
		},
	}
}

func moonLines(date string, names ...string) []byte {
	return []byte(date + "\n" + strings.Join(names, "\n") + "\n")
}

// A further source needs a row for its meaning, a reader, and a row for how to get it. Then
// its parties are in the list beside OFAC's, with their own dates and counts, and a payment
// to one of them is reviewed as its row says.
func TestAFurtherSourceIsARowAndAReader(t *testing.T) {
	source, moon := moonSource(t)
	m := newMirror(t)
	m.lists("2026-03-01", 40)
	m.set("moon.lines", tagged(moonLines("2026-02-20", "CRATER AND SEA TRADING", "TRANQUIL DUST WORKS")))
	g := useSample(t, newGroup(t))
	d := New(g, Config{Source: m.URL, Every: time.Hour, Ran: func(error) {}, Feeds: append(feeds[:1:1], moon)}, slog.New(slog.DiscardHandler))
	trust(d, m)
	_, err := d.Sync(t.Context())
	require.NoError(t, err)

	info := g.Settings().List
	require.EqualValues(t, 2, info.OfSource("MOON").Entries)
	require.EqualValues(t, 41, info.OfSource("SDN").Entries)
	require.Equal(t, "SDN_ENHANCED 2026-03-01 + CONS_ENHANCED 2026-03-01 + MOON_LINES 2026-02-20", info.Source)
	require.Equal(t, "2026-02-20", feed.DateText(int64(info.OfSource(source.String()).AsOf)))
	compiled, err := g.ListByDigest(info.Digest)
	require.NoError(t, err)
	for name, outcome := range map[string]ofac.Outcome{
		"Crater and Sea Trading": ofac.Possible, "Tranquil Dust Works": ofac.Possible, "LAZARUS GROUP": ofac.Listed, "Sunlit Dust Bakery": ofac.Clear,
	} {
		require.Equal(t, outcome, compiled.Screen(&ofac.Query{Name: name}, ofac.NewScratch()).Outcome, name)
	}
	result := compiled.Screen(&ofac.Query{Name: "Crater and Sea Trading"}, ofac.NewScratch())
	require.Equal(t, "on a list that is reviewed", result.Matches[0].Sub.String())
	require.Equal(t, "MOON", result.Matches[0].Lists.String())

	// Nothing is fetched twice while nothing changed; a change in one place fetches
	// everything.
	m.calls()
	_, err = d.Sync(t.Context())
	require.NoError(t, err)
	require.Len(t, m.calls(), 3)
	m.set("moon.lines", tagged(moonLines("2026-03-05", "CRATER AND SEA TRADING", "TRANQUIL DUST WORKS", "NEW LANDING TRADE")))
	_, err = d.Sync(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, g.Settings().List.OfSource("MOON").Entries)
	require.EqualValues(t, 41, g.Settings().List.OfSource("SDN").Entries)
}

// A list is read as a whole: a problem of one publisher's files keeps the old list.
func TestOneFeedKeepsTheOldList(t *testing.T) {
	_, moon := moonSource(t)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"absent":    {http.NotFound, "404"},
		"malformed": {tagged([]byte("yesterday\nDUST\n")), "cannot parse"},
		"too old":   {tagged(moonLines("1970-07-20", "DUST WORKS")), "the files of the Moon are of 1970-07-20"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			m.lists("2026-03-01", 40)
			m.set("moon.lines", c.answer)
			g := useSample(t, newGroup(t))
			before := g.Settings().List.Digest
			d := New(g, Config{Source: m.URL, Every: time.Hour, Ran: func(error) {}, Feeds: append(feeds[:1:1], moon)}, slog.New(slog.DiscardHandler))
			trust(d, m)
			_, err := d.Sync(t.Context())
			require.ErrorContains(t, err, c.want)
			require.Equal(t, before, g.Settings().List.Digest)
		})
	}
}

// A feed may only deliver parties of its own sources.
func TestAFeedSpeaksForItsOwnSources(t *testing.T) {
	_, moon := moonSource(t)
	var all batch
	err := all.add(&moon, &feed.Loaded{Entities: sample.Entities()[:1]}, time.Now())
	require.ErrorContains(t, err, "which is not its own")
}

// Files that are uploaded together each go to the feed that claims them, and unclaimed ones
// to the first feed.
func TestFilesGoToTheirFeeds(t *testing.T) {
	source, moon := moonSource(t)
	both := append(feeds[:1:1], moon)
	sdn := feed.File{Name: "SDN_ENHANCED.XML", Data: sdnOf(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 5)}
	lines := feed.File{Name: "moon.lines", Data: moonLines("2026-02-20", "DUST WORKS")}
	loaded, err := loadFiles(both, []feed.File{lines, sdn}, time.Time{}, nil)
	require.NoError(t, err)
	require.Len(t, loaded.Entities, 7)
	require.NotZero(t, loaded.Meta.AsOf[source])
	_, err = loadFiles(both, []feed.File{lines, {Name: "notes.txt", Data: []byte("no list")}}, time.Time{}, nil)
	require.ErrorContains(t, err, "the name is not one of OFAC's")
	_, err = loadFiles(both, nil, time.Time{}, nil)
	require.ErrorContains(t, err, "no list file")
	require.True(t, Claims("sdn_enhanced.zip"))
	require.False(t, Claims("notes.txt"))
}

// Every feed reads a folder. If one finds none of its files, the others' files make the
// list.
func TestFolderOfSeveralFeeds(t *testing.T) {
	_, moon := moonSource(t)
	dir := t.TempDir()
	_, err := loadFolder(append(feeds[:1:1], moon), dir, nil)
	require.ErrorContains(t, err, "no list file here")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SDN_ENHANCED.XML"), sdnOf(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 5), 0o600))
	loaded, err := loadFolder(append(feeds[:1:1], moon), dir, nil)
	require.NoError(t, err)
	require.Len(t, loaded.Entities, 6)
}

// The n-th origins of all feeds are requested together.
func TestAttempts(t *testing.T) {
	origins := func(names ...string) (list []fetch.Origin) {
		for _, name := range names {
			list = append(list, fetch.Origin{Name: name})
		}
		return list
	}
	of := map[string][]fetch.Origin{"a": origins("a1", "a2", "a3"), "b": origins("b1")}
	var text bytes.Buffer
	for _, one := range attemptsOf([]Feed{{Name: "a"}, {Name: "b"}}, func(f *Feed) []fetch.Origin { return of[f.Name] }) {
		fmt.Fprint(&text, one[0].Name, one[1].Name, " ")
	}
	require.Equal(t, "a1b1 a2b1 a3b1 ", text.String())
}

// trust makes a keeper accept the mirror's certificate, and shortens its timeouts for a
// test.
func trust(d *Keeper, m *mirror) {
	roots := x509.NewCertPool()
	roots.AddCert(m.Certificate())
	d.sync.adjust = func(source *fetch.Source) {
		source.Roots, source.StallTimeout, source.Timeout = roots, time.Second, 20*time.Second
	}
}

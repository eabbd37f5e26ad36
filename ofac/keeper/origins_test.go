package keeper

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/ofac/fetch"
)

// twoOrigins returns a keeper whose publisher has two origins, each on a mirror of its own.
func twoOrigins(t *testing.T) (d *Keeper, first, second *mirror) {
	first, second = newMirror(t), newMirror(t)
	published := feeds[0]
	published.Published = nil
	for i, m := range []*mirror{first, second} {
		origin := fetch.Mirror(m.URL + "/ofac")
		origin.Name, origin.Private = []string{"first", "second"}[i], true
		published.Published = append(published.Published, origin)
	}
	d = New(useSample(t, newGroup(t)), Config{Source: sourcePublished, Every: time.Hour, Ran: func(error) {}, Feeds: []Feed{published}}, slog.New(slog.DiscardHandler))
	roots := x509.NewCertPool()
	roots.AddCert(first.Certificate())
	roots.AddCert(second.Certificate())
	d.sync.adjust = func(source *fetch.Source) {
		source.Roots, source.StallTimeout, source.Timeout = roots, time.Second, 20*time.Second
	}
	return d, first, second
}

// listsAt puts lists of a time on a mirror.
func (m *mirror) listsAt(at time.Time, companies int) {
	m.lists(at.Format(time.DateOnly), companies)
	m.set("SDN_ENHANCED.XML", tagged(sdnOf(at, companies)))
}

// isOut makes a mirror fail.
func (m *mirror) isOut() {
	for _, file := range []string{"SDN_ENHANCED.XML", "CONS_ENHANCED.XML"} {
		m.set(file, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	}
}

// An outage of the first origin does not put an older list in force, and when it is back its
// list is taken again.
func TestOutageOfTheFirstOrigin(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	d, first, second := twoOrigins(t)
	active := func() *wire.ListInfo { return d.node.Settings().List }
	first.listsAt(at(10, 14), 43)
	second.listsAt(at(10, 9), 42)
	require.NoError(t, d.runs(t))
	afternoon := active().Digest
	require.Equal(t, "first", active().Origin)

	// The second one still has the list of the morning: it is older by hours.
	first.isOut()
	require.ErrorContains(t, d.runs(t), "older: SDN of 2026-03-10T09:00:00Z would replace SDN of 2026-03-10T14:00:00Z")
	require.Equal(t, afternoon, active().Digest)

	// It has a later time of the same day and fewer entries: that is no reason to forget one.
	second.listsAt(at(10, 15), 42)
	require.ErrorContains(t, d.runs(t), "second_origin: SDN from second has 43 entries, and that from first of the same day has 44")
	require.Equal(t, afternoon, active().Digest)

	// A newer list of another day is taken.
	second.listsAt(at(11, 9), 44)
	require.NoError(t, d.runs(t))
	require.Equal(t, "second", active().Origin)
	require.NotEqual(t, afternoon, active().Digest)

	// The first one is back with the list of before: it is older. Then it has its newer one.
	first.listsAt(at(10, 14), 43)
	require.ErrorContains(t, d.runs(t), "older")
	first.listsAt(at(11, 14), 45)
	require.NoError(t, d.runs(t))
	require.Equal(t, "first", active().Origin)
}

// A list that another one replaced is not one that was rolled back: it comes in force again by
// itself when its origin is back. One that was rolled back does not.
func TestReplacedIsNotRolledBack(t *testing.T) {
	at := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	d, first, second := twoOrigins(t)
	active := func() *wire.ListInfo { return d.node.Settings().List }
	first.listsAt(at, 42)
	require.NoError(t, d.runs(t))
	before := active().Digest
	// The second origin has one more under the same day, which is the finest date of the file.
	first.isOut()
	second.listsAt(at, 43)
	require.NoError(t, d.runs(t))
	require.NotEqual(t, before, active().Digest)
	// The first one is back and has published again: both of its lists are known as good.
	first.listsAt(at.Add(time.Hour), 43)
	require.NoError(t, d.runs(t))
	newest := active().Digest
	require.Equal(t, "first", active().Origin)
	require.NoError(t, d.runs(t), "the same again is no replacement")
	require.Equal(t, newest, active().Digest)
	for _, info := range d.node.Settings().History {
		require.Zero(t, info.RolledBackAt)
	}
}

// Who leaves the list by a fetch is named in an alert.
func TestFetchTellsWhoLeft(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-01", 40)
	require.NoError(t, d.runs(t))
	require.Zero(t, d.node.(*group).alerts(), "nobody leaves the sample")
	m.lists("2026-03-02", 41)
	require.NoError(t, d.runs(t))
	require.Zero(t, d.node.(*group).alerts())
	m.lists("2026-03-03", 40)
	require.NoError(t, d.runs(t))
	require.Equal(t, 1, d.node.(*group).alerts())
}

// alerts is how many alerts of who left the list are open.
func (g *group) alerts() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := g.machine.Freeze().AlertsOpen()
	return open[wire.AlertLeft]
}

package keeper

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/listtest"
	"railguard/ofac/sample"
)

// mirror is an operator's mirror on loopback. Tests set its answers file by file.
type mirror struct {
	*httptest.Server
	mu     sync.Mutex
	answer map[string]http.HandlerFunc // Answers by file name.
	asked  []string
}

func newMirror(t *testing.T) *mirror {
	m := &mirror{answer: map[string]http.HandlerFunc{}}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		m.mu.Lock()
		m.asked = append(m.asked, name+" "+r.Header.Get("If-None-Match"))
		answer := m.answer[name]
		m.mu.Unlock()
		if r.UserAgent() == "" || answer == nil {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	m.Config.ErrorLog = log.New(io.Discard, "", 0) // Tests break connections on purpose.
	m.StartTLS()
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) set(name string, answer http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer[name] = answer
}

// calls returns the requests since the last call of calls.
func (m *mirror) calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

// tagged answers with a content under an ETag, and with 304 to a client that has this ETag.
func tagged(content []byte) http.HandlerFunc {
	tag := fmt.Sprintf("%q", fmt.Sprint(len(content), content[len(content)/2]))
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(content)
	}
}

// lists puts an SDN and a CONS list of a date on the mirror, with the canaries and the
// given number of other companies.
func (m *mirror) lists(date string, companies int) {
	asOf, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	m.set("SDN_ENHANCED.XML", tagged(sdnOf(asOf, companies)))
	m.set("CONS_ENHANCED.XML", tagged(listtest.WriteEnhanced("Consolidated List", asOf, listtest.Entity{ID: 930001, Last: "PASSERBY HOLDING"})))
}

func sdnOf(asOf time.Time, companies int) []byte {
	entities := []listtest.Entity{{ID: 940000, Last: "LAZARUS GROUP", Wallets: map[string]string{
		"ETH": "0x00000000000000000000000000000000000000aa", "XBT": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
	}}}
	for i := range companies {
		entities = append(entities, listtest.Entity{ID: 940001 + i, Last: fmt.Sprintf("QUARTZMIRROR NUMBER %c%c WORKS", 'A'+i/26, 'A'+i%26)})
	}
	return listtest.WriteEnhanced("SDN List", asOf, entities...)
}

// group is a cluster of one node: a state machine that applies the proposals.
type group struct {
	mu       sync.Mutex
	machine  *fsm.Machine
	out      fsm.Effects
	index    uint64
	settings *fsm.Settings
	lists    map[[32]byte][]byte
}

func newGroup(t *testing.T) *group {
	g := &group{machine: fsm.New(), lists: map[[32]byte][]byte{}}
	result, err := g.Propose(t.Context(), wire.KindGenesis, wire.Encode(&wire.Genesis{
		ClusterID: "c-test", Issuer: "test", Dev: true, Policy: *engine.DefaultPolicy(),
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{9}},
	}))
	require.NoError(t, err)
	require.Equal(t, wire.Applied, result.Code)
	return g
}

func (g *group) NodeID() string { return "n1" }

func (g *group) Role() string { return "leader" }

func (g *group) LogTime() engine.Time { return engine.Time(time.Now().UnixNano()) }

func (g *group) Settings() *fsm.Settings {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.settings
}

func (g *group) Propose(_ context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: engine.Time(time.Now().UnixNano())})
	entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: g.index, Body: body})
	g.machine.Apply(g.index, 1, wire.Seal(entry, 1), &g.out)
	if g.out.Stop != "" {
		return wire.Result{}, errors.New(g.out.Stop)
	}
	if g.out.Settings != nil {
		g.settings = g.out.Settings
	}
	return g.out.Results[0], nil
}

func (g *group) Stage(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (result wire.Result, err error) {
	g.mu.Lock()
	g.lists[info.Digest] = entities
	g.mu.Unlock()
	for at := 0; at < len(entities) && err == nil; at += engine.ListChunkMax {
		chunk := wire.ListChunk{Digest: info.Digest, Total: uint32(len(entities)), Offset: uint32(at), Data: entities[at:min(at+engine.ListChunkMax, len(entities))]}
		if at+engine.ListChunkMax >= len(entities) {
			chunk.Info, chunk.Common, chunk.Replace = &info, common, replace
		}
		result, err = g.Propose(ctx, wire.KindListChunk, wire.Encode(&chunk))
	}
	return result, err
}

func (g *group) ListByDigest(digest [32]byte) (*ofac.Index, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return ofac.Compile(g.lists[digest], g.settings.Matcher)
}

// dutyOn returns a keeper that fetches from the mirror. Its goroutine does not run.
func dutyOn(t *testing.T, m *mirror) *Keeper {
	t.Helper()
	d := New(useSample(t, newGroup(t)), Config{Source: m.URL + "/ofac", Every: time.Hour, Ran: func(error) {}}, slog.New(slog.DiscardHandler))
	trust(d, m)
	return d
}

func (k *Keeper) runs(t *testing.T) error {
	t.Helper()
	started, err := k.Sync(t.Context())
	require.True(t, started)
	return err
}

func TestSyncFromMirror(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-01", 40)
	require.NoError(t, d.runs(t))
	first := d.node.Settings()
	require.EqualValues(t, 42, first.List.Entries)
	require.Equal(t, "SDN_ENHANCED 2026-03-01 + CONS_ENHANCED 2026-03-01", first.List.Source)
	require.Equal(t, []string{"SDN_ENHANCED.XML ", "CONS_ENHANCED.XML "}, m.calls())

	// The same files only renew the list's date.
	require.NoError(t, d.runs(t))
	require.EqualValues(t, 2, d.node.Settings().ListVersion)
	require.Greater(t, d.node.Settings().ListSynced, first.ListSynced)
	for _, call := range m.calls() {
		require.Contains(t, call, `"`, "conditional")
	}
	// A node without tags fetches all files and finds that nothing changed.
	d.sync.tagged = [32]byte{}
	require.NoError(t, d.runs(t))
	require.EqualValues(t, 2, d.node.Settings().ListVersion)

	m.lists("2026-03-02", 41)
	require.NoError(t, d.runs(t))
	require.EqualValues(t, 3, d.node.Settings().ListVersion)
	report := d.LastSync()
	require.Empty(t, report.Failure)
	require.False(t, report.Running)
	require.Equal(t, m.URL+"/ofac", report.Source)
	require.False(t, report.DoneAt.Before(report.TriedAt))
}

// A CONS list newer than the SDN list does not make the SDN list too old.
func TestSyncComparesDatesByFamily(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-05", 40)
	m.set("SDN_ENHANCED.XML", tagged(sdnOf(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 40)))
	require.NoError(t, d.runs(t))
	m.set("SDN_ENHANCED.XML", tagged(sdnOf(time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC), 41)))
	require.NoError(t, d.runs(t))
	require.EqualValues(t, 3, d.node.Settings().ListVersion)
	m.set("SDN_ENHANCED.XML", tagged(sdnOf(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 42)))
	require.ErrorContains(t, d.runs(t), "SDN of 2026-03-02 would replace SDN of 2026-03-03")
}

// An officer's rollback stays: neither the same files nor a node without tags undoes it.
// Fetching other files does not renew the date of its list.
func TestSyncKeepsRollback(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-01", 40)
	require.NoError(t, d.runs(t))
	good := d.node.Settings().List.Digest
	old, err := d.node.(*group).ListByDigest(good)
	require.NoError(t, err)
	m.lists("2026-03-02", 41)
	require.NoError(t, d.runs(t))

	encoded, err := ofac.EncodeEntities(old.Entities(), old.Meta())
	require.NoError(t, err)
	info, err := describeList(encoded)
	require.NoError(t, err)
	require.Equal(t, good, info.Digest, "the entities come back from the tables")
	result, err := d.node.Stage(t.Context(), encoded, info, false, wire.Common{})
	require.NoError(t, err)
	require.Equal(t, wire.Applied, result.Code)
	result, err = d.node.Propose(t.Context(), wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: good, Rollback: true}))
	require.NoError(t, err)
	require.Equal(t, wire.Applied, result.Code)
	synced := d.node.Settings().ListSynced
	for range 2 {
		err = d.runs(t)
		require.ErrorIs(t, err, errRolledBack)
		require.Contains(t, d.LastSync().Failure, "rolled back")
		require.Equal(t, good, d.node.Settings().List.Digest)
		require.Equal(t, synced, d.node.Settings().ListSynced)
		d.sync.tags, d.sync.tagged = nil, [32]byte{}
	}
	// A newer publication replaces the list of the rollback.
	m.lists("2026-03-03", 42)
	require.NoError(t, d.runs(t))
	require.NotEqual(t, good, d.node.Settings().List.Digest)
}

// badAnswer is a mirror's bad answer and the text of its refusal.
type badAnswer struct {
	name, want string
	answer     http.HandlerFunc
}

// badAnswers returns bad answers for a node whose list is of 2026-03-10 with 40 companies.
func badAnswers(t *testing.T) []badAnswer {
	newer := sdnOf(time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC), 41)
	var zipped bytes.Buffer
	packer := gzip.NewWriter(&zipped)
	_, _ = packer.Write(newer)
	require.NoError(t, packer.Close())
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	content := func(raw []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) }
	}
	return []badAnswer{
		{"an error page with 200", "an HTML page where", content([]byte("<!DOCTYPE html><html><body>Down for maintenance</body></html>"))},
		{"an error page in plain HTML", "<html>", content([]byte("<html><body>Down</body></html>"))},
		{"JSON with 200", "", content([]byte(`{"error":"rate limited"}`))},
		{"nothing with 200", "no content", content(nil)},
		{"a truncated list", "", content(newer[:len(newer)/2])},
		{"a truncated gzip", "", content(zipped.Bytes()[:zipped.Len()/2])},
		{"a truncated archive", "", content([]byte("PK\x03\x04 and no more"))},
		{"more announced than sent", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(2*len(newer)))
			_, _ = w.Write(newer)
		}},
		{"gigabytes announced", "announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "8589934592")
			w.WriteHeader(http.StatusOK)
		}},
		{"nothing more after the header", "stands still", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(newer[:100])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"the server's error", "502", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }},
		{"304 to who asked for no version", "304", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }},
		{"the other family's list", "", content(listtest.WriteEnhanced("Consolidated List", time.Now(), listtest.Entity{ID: 930001, Last: "PASSERBY HOLDING"}))},
		{"an older list", "older", content(sdnOf(time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC), 41))},
		{"a shrunken list", "shrink", content(sdnOf(time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC), 36))},
		{"a list without the canaries", "canary", content(bytes.ReplaceAll(newer, []byte("LAZARUS"), []byte("LAZY")))},
		{"an empty list", "no entity", content(listtest.WriteEnhanced("SDN List", time.Now()))},
		{"to this machine", "not public", redirect("https://127.0.0.1:1/x")},
		{"to a private network", "not public", redirect("https://10.0.0.1/x")},
		{"to metadata", "not public", redirect("https://169.254.169.254/latest/meta-data/")},
		{"to IPv6 loopback", "not public", redirect("https://[::1]/x")},
		{"to a name for this machine", "not public", redirect("https://localhost/x")},
		{"to plain http", "redirect is not allowed", redirect("http://example.com/x")},
		{"in circles", "redirect", redirect("/ofac/SDN_ENHANCED.XML")},
	}
}

// Whatever a bad mirror answers, the old list stays and the report says why.
func TestSyncFromBadMirror(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-10", 40)
	require.NoError(t, d.runs(t))
	before := d.node.Settings()
	for _, c := range badAnswers(t) {
		t.Run(c.name, func(t *testing.T) {
			m.set("SDN_ENHANCED.XML", c.answer)
			d.sync.tagged = [32]byte{}
			err := d.runs(t)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, err.Error(), d.LastSync().Failure)
			require.Equal(t, c.name == "the server's error" || strings.HasPrefix(c.name, "304"), strings.Contains(err.Error(), "404"))
			now := d.node.Settings()
			require.Equal(t, before.List, now.List)
			require.Equal(t, before.ListSynced, now.ListSynced)
			require.Empty(t, now.Staged)
		})
	}
	// A good answer is taken again afterwards.
	m.lists("2026-03-11", 41)
	require.NoError(t, d.runs(t))
	require.Empty(t, d.LastSync().Failure)
	require.EqualValues(t, 3, d.node.Settings().ListVersion)
}

// A mirror may hold another form of the lists, such as the archives alone.
func TestSyncFindsOtherForms(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	err := d.runs(t)
	for _, file := range []string{"SDN_ENHANCED.XML", "SDN_ENHANCED.ZIP", "SDN_ADVANCED.XML"} {
		require.ErrorContains(t, err, file)
	}
	require.True(t, d.node.Settings().List.Sample)
	m.lists("2026-03-10", 40)
	for _, family := range []string{"SDN", "CONS"} {
		plain := m.answer[family+"_ENHANCED.XML"]
		m.set(family+"_ENHANCED.XML", nil)
		m.set(family+"_ENHANCED.ZIP", plain) // The content, not the name, decides what a file is.
	}
	require.NoError(t, d.runs(t))
	require.EqualValues(t, 42, d.node.Settings().List.Entries)
}

// A fetch does not overwrite a list that an officer activates while it is under way.
func TestSyncYieldsToWhatIsActivatedMeanwhile(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	m.lists("2026-03-01", 40)
	require.NoError(t, d.runs(t))
	m.lists("2026-03-03", 42)
	plain := m.answer["CONS_ENHANCED.XML"]
	encoded, err := ofac.EncodeEntities(sample.Entities()[:50], ofac.Meta{Source: "by hand", PublishedAt: 1})
	require.NoError(t, err)
	info, err := describeList(encoded)
	require.NoError(t, err)
	m.set("CONS_ENHANCED.XML", func(w http.ResponseWriter, r *http.Request) {
		require.NoError(t, d.activateList(context.WithoutCancel(t.Context()), encoded, info, nil, d.encodeFragment("by hand", ""), d.node.Settings().ListVersion))
		m.set("CONS_ENHANCED.XML", plain)
		plain(w, r)
	})
	require.ErrorContains(t, d.runs(t), "meanwhile")
	require.Equal(t, info.Digest, d.node.Settings().List.Digest)
}

func TestSyncOneAtATime(t *testing.T) {
	m := newMirror(t)
	d := dutyOn(t, m)
	reached, release := make(chan struct{}), make(chan struct{})
	m.lists("2026-03-10", 40)
	plain := m.answer["SDN_ENHANCED.XML"]
	m.set("SDN_ENHANCED.XML", func(w http.ResponseWriter, r *http.Request) {
		close(reached)
		<-release
		plain(w, r)
	})
	ended := make(chan error, 1)
	go func() {
		_, err := d.Sync(context.WithoutCancel(t.Context()))
		ended <- err
	}()
	<-reached
	require.True(t, d.LastSync().Running)
	started, err := d.Sync(t.Context())
	require.NoError(t, err)
	require.False(t, started)
	close(release)
	require.NoError(t, <-ended)
	require.False(t, d.LastSync().Running)
}

func TestOriginsOf(t *testing.T) {
	for _, c := range []struct {
		source, problem string
		origins         int
		plain           bool
	}{
		{"", "", 0, false},
		{"published", "", 2, false},
		{"https://mirror.example/ofac/", "", 3, false},
		{"https://10.0.0.5/ofac", "", 3, false},
		{"http://127.0.0.1:9000/ofac", "", 3, true},
		{"http://[::1]:9000", "", 3, true},
		{"http://mirror.example/ofac", "over https", 0, false},
		{"http://10.0.0.5/ofac", "over https", 0, false},
		{"publised", "neither", 0, false},
		{"ftp://mirror.example", "neither", 0, false},
		{"/var/lists", "neither", 0, false},
		{"https://", "neither", 0, false},
		{"https://user:secret@mirror.example/", "no user name", 0, false},
		{"https://mirror.example/?token=secret", "no user name", 0, false},
	} {
		t.Run(c.source, func(t *testing.T) {
			attempts, err := attemptsAt(feeds, c.source)
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			require.Len(t, attempts, c.origins)
			for _, attempt := range attempts {
				origin := attempt[0]
				require.Equal(t, c.plain, origin.PlainHTTP)
				require.Equal(t, c.source != sourcePublished, origin.Private)
				require.False(t, strings.Contains(origin.Files[0].URL, "//SDN"))
			}
		})
	}
}

func TestSyncIsDue(t *testing.T) {
	now := time.Date(2026, 3, 10, 3, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	active := &wire.ListInfo{}
	for _, c := range []struct {
		name   string
		list   *wire.ListInfo
		synced time.Duration
		tried  time.Duration
		want   bool
	}{
		{"no list, never tried", nil, 0, 10000 * time.Hour, true},
		{"no list, tried just now", nil, 0, 59 * time.Second, false},
		{"no list, tried a minute ago", nil, 0, time.Minute, true},
		{"only the sample", &wire.ListInfo{Sample: true}, 0, time.Hour, true},
		{"fresh", active, 5 * time.Hour, 5 * time.Hour, false},
		{"fresh, this node just leads", active, 5 * time.Hour, 10000 * time.Hour, false},
		{"due", active, 6 * time.Hour, 6 * time.Hour, true},
		{"failed just now", active, 7 * time.Hour, time.Minute, false},
		{"failed a while ago", active, 7 * time.Hour, syncRetry, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Keeper{}
			d.sync.report = Report{TriedAt: ago(c.tried)}
			require.Equal(t, c.want, d.isDue(now, 6*time.Hour, c.list, engine.Time(ago(c.synced).UnixNano())))
		})
	}
}

package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
)

// testEntities makes companies with the given names, and one person whose name identifies
// the list.
func testEntities(names ...string) []ofac.Entity {
	var all []ofac.Entity
	for i, name := range names {
		all = append(all, ofac.Entity{
			UID: uint32(100 + i), Type: ofac.Company, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
			Names: []ofac.Name{{ID: uint32(i), AliasType: "Name", Primary: true, Script: "Latin", Full: name}},
		})
	}
	return all
}

func testMeta(date string, sample bool) ofac.Meta {
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return ofac.Meta{Source: "test " + date, PublishedAt: at.UnixNano(), Sample: sample}
}

// testLoader compiles "date;name;name;..." as a published file.
func testLoader(files map[string][]byte, _ time.Time, _ *ofac.Index, _ *wire.ListInfo) ([]byte, wire.ListInfo, error) {
	for name, data := range files {
		fields := strings.Split(string(data), ";")
		if name == "broken" {
			return nil, wire.ListInfo{}, errors.New("SDN_ENHANCED.XML: truncated")
		}
		entities, err := ofac.EncodeEntities(testEntities(fields[1:]...), testMeta(fields[0], false))
		if err != nil {
			return nil, wire.ListInfo{}, err
		}
		index, err := openEntities(entities)
		if err != nil {
			return nil, wire.ListInfo{}, err
		}
		counts, meta := index.Counts(), index.Meta()
		var problems []string
		if name == "suspicious" {
			problems = []string{"canary LAZARUS GROUP is missing"}
		}
		return entities, wire.ListInfo{
			Digest: index.Digest(), Source: meta.Source, PublishedAt: engine.Time(meta.PublishedAt),
			Entries: uint32(counts.Entries), SDN: uint32(counts.Lists[ofac.SDN]), Names: uint32(counts.Names), SDNAsOf: engine.Time(meta.PublishedAt),
			Found: problems, Origin: "upload", Uploaded: true,
		}, nil
	}
	return nil, wire.ListInfo{}, errors.New("no files")
}

func listNode(t *testing.T) *testNode {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) { d.LoadList = testLoader })
	return n
}

func (n *testNode) upload(name, content string) string {
	n.t.Helper()
	v := answer(n.t, n.doAdmin("POST", "/v1/ofac/snapshots?replace=true&name="+name, content), 201)
	return textOf(v, "snapshotId")
}

// manyNames makes count names that resemble neither each other nor a listed name.
func manyNames(count int) string {
	names := make([]string, count)
	for i := range names {
		names[i] = strings.Repeat(string(rune('A'+i%26)), 3+i/26) + " TRADING"
	}
	return strings.Join(names, ";")
}

func TestUploadActivateRollback(t *testing.T) {
	n := listNode(t)
	_, token := n.registered("")
	screen := func(name string) string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`), 200), "verdict")
	}
	require.Equal(t, "PROCEED", screen("Umbrella Corporation"))
	first := n.upload("SDN.CSV", "2026-03-01;UMBRELLA CORPORATION;"+manyNames(39))
	v := answer(t, n.do("ops", "GET", "/v1/ofac", ""), 200)
	require.Equal(t, first, textOf(v, "staged", "0", "snapshotId"))
	require.Equal(t, "PROCEED", screen("Umbrella Corporation"), "staged is not active")
	v = answer(t, n.do("auditor", "GET", "/v1/ofac/"+first+"/diff", ""), 200)
	require.Equal(t, 40, v.GetInt("added", "count"))
	require.Equal(t, 100, v.GetInt("removed", "count"))
	took := n.api
	n.api = n.another(func(*Deps) {})
	v = answer(t, n.do("auditor", "GET", "/v1/ofac/"+first+"/diff", ""), 200)
	require.Equal(t, 40, v.GetInt("added", "count"), "a node that did not take the upload")
	n.api = took
	// A published list may have fewer entries than the sample list.
	v = answer(t, n.do("policy", "POST", "/v1/ofac/"+first+"/activate", "", "Idempotency-Key", "a"), 200)
	require.Equal(t, 2, v.GetInt("listVersion"))
	require.Equal(t, "BLOCK", screen("Umbrella Corporation"))

	second := n.upload("SDN.CSV", "2026-03-02;"+manyNames(40))
	answer(t, n.do("policy", "POST", "/v1/ofac/"+second+"/activate", ""), 200)
	require.Equal(t, "PROCEED", screen("Umbrella Corporation"))

	// A replay of the first activation repeats its answer and changes nothing.
	w := n.do("policy", "POST", "/v1/ofac/"+first+"/activate", "", "Idempotency-Key", "a")
	require.Equal(t, "true", w.Header().Get(border.HeaderReplayed))
	require.Equal(t, 2, answer(t, w, 200).GetInt("listVersion"))
	require.Equal(t, "PROCEED", screen("Umbrella Corporation"))

	// Rolling back to the first list gives the same bytes at a new version.
	w = n.do("policy", "POST", "/v1/ofac/rollback", `{"reason":"bad list","actor":"petra"}`, "Idempotency-Key", "r")
	v = answer(t, w, 200)
	require.Equal(t, first, textOf(v, "snapshotId"))
	require.Equal(t, second, textOf(v, "previousSnapshotId"))
	require.Equal(t, 4, v.GetInt("listVersion"))
	require.True(t, v.GetBool("rollback"))
	require.Equal(t, "BLOCK", screen("Umbrella Corporation"))
	again := n.do("policy", "POST", "/v1/ofac/rollback", `{"reason":"bad list","actor":"petra"}`, "Idempotency-Key", "r")
	require.Equal(t, w.Body.String(), again.Body.String())
	require.Equal(t, uint64(4), n.Settings().ListVersion)
	v = answer(t, n.do("policy", "POST", "/v1/ofac/"+second+"/rollback", `{"reason":"it was right"}`), 422)
	require.Contains(t, textOf(v, "details", "0", "message"), "rolled_back: ", "who goes back to what was rolled back hears it")
	v = answer(t, n.do("policy", "POST", "/v1/ofac/"+second+"/rollback", `{"reason":"it was right","force":true}`), 200)
	require.Equal(t, 5, v.GetInt("listVersion"))
}

func TestListRejected(t *testing.T) {
	n := listNode(t)
	base := n.upload("SDN.CSV", "2026-03-10;"+manyNames(40))
	answer(t, n.do("policy", "POST", "/v1/ofac/"+base+"/activate", ""), 200)
	cases := []struct{ name, file, content, want string }{
		{"older", "SDN.CSV", "2026-03-09;" + manyNames(41), "older"},
		{"5.1 % fewer", "SDN.CSV", "2026-03-11;" + manyNames(37), "at least 95 % must stay"},
		{"a problem of the upload", "suspicious", "2026-03-11;" + manyNames(42), "canary"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			id := n.upload(c.file, c.content)
			v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
			require.Equal(t, "list_rejected", textOf(v, "code"))
			require.Contains(t, textOf(v, "details", "0", "message"), c.want)
			v = answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"force":true}`), 422)
			require.Equal(t, "missing_field", textOf(v, "code"))
		})
	}
	// Exactly 5 % fewer entries of a newer day pass; of the same day nobody may be missing.
	id := n.upload("SDN.CSV", "2026-03-10;"+manyNames(38))
	v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
	require.Contains(t, textOf(v, "details", "0", "message"), "same_publication_differs: ")
	id = n.upload("SDN.CSV", "2026-03-11;"+manyNames(38))
	answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 200)
	// With force and a reason every list passes, and the record says so.
	id = n.upload("suspicious", "2026-03-01;"+manyNames(3))
	v = answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"force":true,"reason":"court order"}`), 200)
	require.Equal(t, 35, v.GetInt("left", "parties"))
	require.Len(t, v.GetArray("left", "first"), 20)
	require.True(t, v.GetBool("forced"))
	require.Len(t, v.GetArray("problems"), 5) // The list is older; it is smaller in a family, in total and in names; and a canary is missing.
	require.Equal(t, "court order", textOf(v, "reason"))
}

// An upload is checked like a fetched list: source by source, to the second.
func TestUploadIsJudgedByFamily(t *testing.T) {
	n := newTestNode(t)
	at := func(day, hour int) engine.Time {
		return engine.Time(time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC).UnixNano())
	}
	dates := map[string][2]engine.Time{"active": {at(10, 14), at(8, 0)}, "stale": {at(12, 0), at(7, 0)}, "morning": {at(10, 9), at(8, 0)}, "later": {at(10, 15), at(8, 0)}}
	n.api = n.another(func(d *Deps) {
		d.LoadList = func(files map[string][]byte, asOf time.Time, _ *ofac.Index, _ *wire.ListInfo) ([]byte, wire.ListInfo, error) {
			compiled, info, err := testLoader(files, asOf, nil, nil)
			for name := range files {
				info.SDNAsOf, info.CONSAsOf, info.CONS = dates[name][0], dates[name][1], 1
			}
			return compiled, info, err
		}
	})
	activate := func(id string, status int) string {
		return textOf(answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), status), "details", "0", "message")
	}
	activate(n.upload("active", "2026-03-10;"+manyNames(40)), 200)
	// The newer SDN list does not hide that the CONS list is older.
	require.Equal(t, "older: CONS of 2026-03-07 would replace CONS of 2026-03-08", activate(n.upload("stale", "2026-03-12;"+manyNames(41)), 422))
	require.Equal(t, "older: SDN of 2026-03-10T09:00:00Z would replace SDN of 2026-03-10T14:00:00Z", activate(n.upload("morning", "2026-03-10;"+manyNames(43)), 422))
	answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?replace=true&name=later", "2026-03-10;"+manyNames(42)), 201)
	activate(textOf(answer(t, n.do("ops", "GET", "/v1/ofac", ""), 200), "staged", "1", "snapshotId"), 200)
}

func TestUploadRefused(t *testing.T) {
	n := listNode(t)
	v := answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=broken", "x"), 422)
	require.Equal(t, "list_rejected", textOf(v, "code"))
	require.Contains(t, textOf(v, "message"), "truncated")
	v = answer(t, n.doAdmin("POST", "/v1/ofac/snapshots", ""), 422)
	require.Equal(t, "list_rejected", textOf(v, "code"))
	answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name="+strings.Repeat("n", 257), "x"), 400)
	// An empty list is staged with a problem, and activated only by force.
	id := n.upload("SDN.CSV", "2026-03-10")
	v = answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
	require.Equal(t, "list_rejected", textOf(v, "code"))
	// A later upload leaves it staged. Two may be; a third one needs to be told that the oldest
	// gives way.
	other := n.upload("SDN.CSV", "2026-03-11;"+manyNames(2))
	answer(t, n.do("policy", "GET", "/v1/ofac/"+id, ""), 200)
	third := "2026-03-11;" + manyNames(3)
	v = answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=SDN.CSV", third), 409)
	require.Equal(t, "lists_staged", textOf(v, "code"))
	answer(t, n.do("policy", "GET", "/v1/ofac/"+id, ""), 200)
	require.Equal(t, other, n.upload("SDN.CSV", "2026-03-11;"+manyNames(2)), "the same again is no third one")
	answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=SDN.CSV&replace=maybe", third), 400)
	answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=SDN.CSV&asOf=yesterday", third), 400)
	answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=SDN.CSV&replace=true", third), 201)
	answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"force":true,"reason":"x"}`), 404)
	// Another node activates the list that this one received.
	n.api = n.another(nil)
	answer(t, n.do("policy", "POST", "/v1/ofac/"+other+"/activate", ""), 200)
}

// If another list is activated meanwhile, an activation is judged again, against the new
// list.
func TestActivationIsJudgedAgain(t *testing.T) {
	n := listNode(t)
	id := n.upload("SDN.CSV", "2026-03-10;"+manyNames(40))
	swapped := false
	n.before = func(kind wire.Kind) {
		if kind == wire.KindListActivate && !swapped {
			swapped = true
			n.activate(testEntities("ONE NEWER LIST"), testMeta("2026-03-20", false))
		}
	}
	v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
	require.Equal(t, "list_rejected", textOf(v, "code"))
	require.True(t, swapped)
}

// Without a network, importing the same files again keeps an unchanged list fresh. Only
// naming the active list renews nothing.
func TestImportingTheSameAgainRenews(t *testing.T) {
	n := listNode(t)
	id := n.upload("SDN.CSV", "2026-03-10;"+manyNames(40))
	answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 200)
	before := n.Settings()
	v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 200)
	require.True(t, v.GetBool("unchanged"))
	require.Empty(t, textOf(v, "eventId"))
	require.Equal(t, before.ListSynced, n.Settings().ListSynced)

	n.advance(30 * engine.Hour)
	require.Equal(t, id, n.upload("SDN.CSV", "2026-03-10;"+manyNames(40)))
	w := n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"actor":"petra"}`, "Idempotency-Key", "again")
	v = answer(t, w, 200)
	require.True(t, v.GetBool("unchanged"))
	require.Equal(t, 2, v.GetInt("listVersion"))
	require.Equal(t, "petra", textOf(v, "actor"))
	require.NotEmpty(t, textOf(v, "eventId"))
	now := n.Settings()
	require.Greater(t, now.ListSynced, before.ListSynced)
	require.Equal(t, before.ListVersion, now.ListVersion)
	replay := n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"actor":"petra"}`, "Idempotency-Key", "again")
	require.Equal(t, w.Body.String(), replay.Body.String())
}

// familyLoader reads "date;sdn count;cons count".
func familyLoader(files map[string][]byte, _ time.Time, _ *ofac.Index, _ *wire.ListInfo) ([]byte, wire.ListInfo, error) {
	for _, data := range files {
		fields := strings.Split(string(data), ";")
		entities, err := ofac.EncodeEntities(testEntities(strings.Split(manyNames(40), ";")...), testMeta(fields[0], false))
		if err != nil {
			return nil, wire.ListInfo{}, err
		}
		sdn, _ := strconv.Atoi(fields[1])
		cons, _ := strconv.Atoi(fields[2])
		at, _ := time.Parse(time.DateOnly, fields[0])
		return entities, wire.ListInfo{
			Digest: ofac.Digest(entities), PublishedAt: engine.Time(at.UnixNano()),
			Entries: uint32(sdn + cons), SDN: uint32(sdn), CONS: uint32(cons), Uploaded: true,
		}, nil
	}
	return nil, wire.ListInfo{}, errors.New("no files")
}

// A missing family is noticed, even when the whole lost less than 5 %.
func TestFamilyMayNotShrink(t *testing.T) {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) { d.LoadList = familyLoader })
	base := n.upload("SDN.CSV", "2026-03-10;18000;442")
	answer(t, n.do("policy", "POST", "/v1/ofac/"+base+"/activate", ""), 200)
	for _, c := range []struct {
		name, content, want string
		count               int
	}{
		{"no CONS list", "2026-03-11;18100;0", "has 442 CONS entries and the new one none", 1},
		{"a twentieth of the CONS list and one more", "2026-03-11;18100;419", "CONS would shrink from 442 to 419 entries", 1},
		{"too few SDN entries", "2026-03-11;17000;1600", "SDN would shrink from 18000 to 17000 entries", 1},
		{"too few of all", "2026-03-11;10;10", "SDN would shrink from 18000 to 10 entries", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := n.upload("SDN.CSV", c.content)
			v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
			require.Contains(t, textOf(v, "details", "0", "message"), c.want)
			require.Len(t, v.GetArray("details"), c.count)
		})
	}
	id := n.upload("SDN.CSV", "2026-03-11;17100;420")
	answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 200)
}

// Only one upload is read at a time: a second is refused and changes nothing.
func TestOneUploadAtATime(t *testing.T) {
	n := listNode(t)
	n.api.rulebook.Uploading.Lock()
	v := answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?name=SDN.CSV", "2026-03-10;ONE NAME"), 409)
	require.Equal(t, "refresh_running", textOf(v, "code"))
	n.api.rulebook.Uploading.Unlock()
	n.upload("SDN.CSV", "2026-03-10;ONE NAME")
}

// tellingSyncer also reports its last run.
type tellingSyncer struct {
	testSyncer
	report rulebook.SyncReport
}

func (s *tellingSyncer) LastSync() rulebook.SyncReport { return s.report }

func TestSyncIsTold(t *testing.T) {
	n := newTestNode(t)
	require.Nil(t, answer(t, n.do("ops", "GET", "/v1/ofac", ""), 200).Get("sync"), "who cannot tell says nothing")
	syncer := &tellingSyncer{}
	n.api = n.another(func(d *Deps) { d.Sync = syncer })
	sync := answer(t, n.do("ops", "GET", "/v1/ofac", ""), 200).Get("sync")
	require.Equal(t, "null", string(sync.Get("lastTryAt").MarshalTo(nil)))
	require.Equal(t, "null", string(sync.Get("error").MarshalTo(nil)))
	at := time.Date(2026, 3, 10, 3, 0, 0, 0, time.UTC)
	syncer.report = rulebook.SyncReport{Source: "published", TriedAt: at.Add(time.Hour), DoneAt: at, Failure: "no origin gave the lists"}
	sync = answer(t, n.do("ops", "GET", "/v1/ofac", ""), 200).Get("sync")
	require.Equal(t, "published", textOf(sync, "source"))
	require.Equal(t, "2026-03-10T04:00:00.000Z", textOf(sync, "lastTryAt"))
	require.Equal(t, "2026-03-10T03:00:00.000Z", textOf(sync, "lastSuccessAt"))
	require.Equal(t, "no origin gave the lists", textOf(sync, "error"))
	done, failed := rulebook.SyncsDone.Get(), rulebook.SyncsFailed.Get()
	rulebook.CountSync(nil)
	rulebook.CountSync(errors.New("x"))
	require.Equal(t, [2]uint64{done + 2, failed + 1}, [2]uint64{rulebook.SyncsDone.Get(), rulebook.SyncsFailed.Get()})
}

// A rollback chooses its target once. If another list is activated meanwhile, it is
// refused: the officer meant something else.
func TestRollbackIsOfWhatWasSeen(t *testing.T) {
	n := listNode(t)
	for _, date := range []string{"2026-03-10", "2026-03-11"} {
		id := n.upload("SDN.CSV", date+";"+manyNames(40))
		answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 200)
	}
	swapped := false
	n.before = func(kind wire.Kind) {
		if kind == wire.KindListActivate && !swapped {
			swapped = true
			n.activate(testEntities("ONE NEWER LIST"), testMeta("2026-03-20", false))
		}
	}
	v := answer(t, n.do("policy", "POST", "/v1/ofac/rollback", `{"reason":"bad list"}`), 422)
	require.True(t, swapped)
	require.Contains(t, textOf(v, "details", "0", "message"), "meanwhile")
	require.Equal(t, "test 2026-03-20", n.Settings().List.Source)
}

// testSyncer gives the answers that a test sets; release ends a run that hangs.
type testSyncer struct {
	started bool
	err     error
	release chan struct{}
}

func (s *testSyncer) Sync(context.Context) (bool, error) {
	if s.release != nil {
		<-s.release
	}
	return s.started, s.err
}

func TestSync(t *testing.T) {
	n := newTestNode(t)
	hanging := &testSyncer{started: true, release: make(chan struct{})}
	t.Cleanup(func() { close(hanging.release) })
	cases := []struct {
		name     string
		syncer   rulebook.Syncer
		status   int
		finished bool
		code     string
	}{
		{"done at once", &testSyncer{started: true}, 202, true, ""},
		{"goes on", hanging, 202, false, ""},
		{"running already", &testSyncer{}, 409, false, "refresh_running"},
		{"cannot fetch", &testSyncer{started: true, err: errors.New("no source")}, 422, false, "list_rejected"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n.api = n.another(func(d *Deps) { d.Sync = c.syncer })
			v := answer(t, n.do("policy", "POST", "/v1/ofac/sync", ""), c.status)
			require.Equal(t, c.finished, v.GetBool("finished"))
			require.Equal(t, c.code, textOf(v, "code"))
		})
	}
}

// A record that was judged with a matcher that this node does not have is not judged with
// another one. The replay says so, and takes the list rules' results from the record.
func TestReplayOfAnotherMatcher(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"A Name"}`), 200)
	path := "/v1/audit/" + textOf(v, "txnId") + "/replay"
	v = answer(t, n.do("auditor", "POST", path, ""), 200)
	require.Empty(t, v.GetArray("assumed"))
	require.Equal(t, "null", v.Get("listUnavailable").String())

	n.matchers = ofac.Matchers{ofac.MatcherVersion + 1} // The matcher of another release.
	v = answer(t, n.do("auditor", "POST", path, ""), 200)
	require.True(t, v.GetBool("match"))
	require.Len(t, v.GetArray("assumed"), 5)
	require.Equal(t, 1, v.GetInt("matcherVersion"))
	require.Equal(t, "judged with matcher version 1, which this binary does not carry", textOf(v, "listUnavailable"))
}

// compiledLists caches the lists that tests compiled, by their bytes: most nodes start with
// the same one. Nothing changes a list.
var compiledLists sync.Map

// openEntities compiles an encoded list, as a node does.
func openEntities(entities []byte) (*ofac.Index, error) {
	digest := sha256.Sum256(entities)
	if list, ok := compiledLists.Load(digest); ok {
		return list.(*ofac.Index), nil
	}
	list, err := ofac.Compile(entities, ofac.MatcherVersion)
	if err == nil && len(entities) < 1<<20 {
		compiledLists.Store(digest, list)
	}
	return list, err
}

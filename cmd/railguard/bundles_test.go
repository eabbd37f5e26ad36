package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

func instant(t *testing.T, text string) engine.Time {
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return engine.Time(at.UnixNano())
}

// Weeks are from Monday on, in UTC. One that is not over by a minute has no bundle yet, and one that
// history does not reach has none.
func TestPeriodsThatAreOver(t *testing.T) {
	k := &bundleKeeper{flags: bundleFlags{every: "week"}}
	now := instant(t, "2026-01-12T00:00:59Z")
	k.logTime = func() engine.Time { return now }
	k.oldest = func() (engine.Time, bool) { return instant(t, "2025-12-24T10:00:00Z"), true }
	names := func() (all []string) {
		for _, p := range k.periods() {
			all = append(all, p.name)
		}
		return all
	}
	require.Equal(t, []string{"railguard-2025-W52.tar.zst", "railguard-2026-W01.tar.zst"}, names())
	require.Equal(t, "2025-12-22T00:00:00.000Z", k.periods()[0].from.String())
	require.Equal(t, "2025-12-28T23:59:59.999Z", k.periods()[0].to.String())
	now += engine.Second
	require.Equal(t, "railguard-2026-W02.tar.zst", names()[2])
	k.flags.every = "day"
	require.Len(t, names(), 19)
	require.Equal(t, "railguard-2025-12-24.tar.zst", names()[0])
	k.oldest = func() (engine.Time, bool) { return 0, false }
	require.Empty(t, names())
}

// A node writes what is missing, whole or not at all, tries again what failed, and removes nothing.
func TestBundlesByThemselves(t *testing.T) {
	o := newOutsider(t)
	token := o.node.token(t)
	o.node.must(t, 200, "POST", "/v1/screen", `{"token":"`+token+`","amount":4,"cpName":"Lazarus Group"}`)
	o.checkpoint(o.now.Size)
	oldest, err := o.node.node.Audit().Record(o.node.node.Audit().Oldest())
	require.NoError(t, err)
	day := engine.Time(oldest.Time) / engine.DayLength * engine.DayLength
	key := o.in("auditor.key")
	require.NoError(t, os.WriteFile(key, []byte(groupKey+"\n"), 0o600))
	dir := o.in("bundles")
	require.NoError(t, os.WriteFile(dir, nil, 0o600)) // A folder that cannot be made.
	k := &bundleKeeper{
		flags: bundleFlags{dir: dir, every: "day", keyFile: key}, api: o.node.api.Handler(), log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		logTime: func() engine.Time { return day + engine.DayLength + engine.Hour }, oldest: func() (engine.Time, bool) { return engine.Time(oldest.Time), true },
	}
	failed := bundlesFailed.Get()
	k.catchUp(context.Background())
	require.Equal(t, failed+1, bundlesFailed.Get())
	require.Equal(t, int64(1), bundlesMissing.Load())
	require.NoError(t, os.Remove(dir))

	require.NoError(t, os.MkdirAll(dir, 0o700))
	older := filepath.Join(dir, "railguard-2016-W01.tar.zst")
	require.NoError(t, os.WriteFile(older, []byte("ten years"), 0o600))
	made := filepath.Join(dir, k.periods()[0].name)
	require.NoError(t, os.MkdirAll(made+".part", 0o700)) // What a killed node left.
	require.NoError(t, os.WriteFile(filepath.Join(made+".part", "records.ndjson.part"), []byte("half"), 0o600))
	k.catchUp(context.Background())
	require.Zero(t, bundlesMissing.Load())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "what was begun is gone, and nothing else")
	require.Contains(t, o.ask("verify", made, "--keys", o.keys), "PROVEN")
	require.Equal(t, "ten years", readFile(t, older))
	written := bundlesWritten.Get()
	k.catchUp(context.Background())
	require.Equal(t, written, bundlesWritten.Get(), "what is there is not written again")
}

// What cannot be finished is no whole answer, and a call that is given up ends.
func TestCallsInside(t *testing.T) {
	ask := func(to http.HandlerFunc) (*http.Response, []byte, error) {
		response, err := (&http.Client{Transport: insideCall{to}}).Get("http://inside/x?y=1")
		require.NoError(t, err)
		data, err := io.ReadAll(response.Body)
		return response, data, err
	}
	response, data, err := ask(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("A", r.URL.RawQuery)
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "whole")
	})
	require.NoError(t, err)
	require.Equal(t, []any{201, "y=1", "whole"}, []any{response.StatusCode, response.Header.Get("A"), string(data)})
	_, _, err = ask(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// The console hands out the bundle of a period, by the caller's own key.
func TestBundleDoor(t *testing.T) {
	o := newOutsider(t)
	_ = o.node.token(t)
	o.checkpoint(o.now.Size)
	door := &bundleDoor{api: o.node.api.Handler(), folder: t.TempDir()}
	get := func(key, query string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/v1/audit/export?"+query, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r)
		return w
	}
	today := o.node.node.LogTime().String()[:10]
	w := get(groupKey, "from="+today+"&to="+today)
	require.Equal(t, 200, w.Code, w.Body.String())
	require.Contains(t, w.Header().Get("Content-Disposition"), "railguard-"+today+"-"+today+".tar.zst")
	file := o.in("console.tar.zst")
	require.NoError(t, os.WriteFile(file, w.Body.Bytes(), 0o600))
	require.Contains(t, o.ask("verify", file, "--keys", o.keys), "PROVEN")
	for query, says := range map[string]string{"": "are days", "from=2026-01-01&to=2026-02-01": "31 days at most", "from=2026-02-01&to=2026-01-01": "not before from"} {
		w := get(groupKey, query)
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), says)
	}
	require.Equal(t, 401, get("nobody", "from="+today+"&to="+today).Code)
	door.busy.Lock()
	require.Equal(t, 503, get(groupKey, "from="+today+"&to="+today).Code)
	left, err := os.ReadDir(door.folder)
	require.NoError(t, err)
	require.Empty(t, left, "nothing stays on the node")
}

func TestBundleFlags(t *testing.T) {
	require.NoError(t, (&bundleFlags{every: "week"}).check())
	require.ErrorContains(t, (&bundleFlags{dir: "d", every: "week"}).check(), "--bundle-key-file")
	require.ErrorContains(t, (&bundleFlags{keyFile: "k", every: "week"}).check(), "is for --bundle-dir")
	require.ErrorContains(t, (&bundleFlags{dir: "d", keyFile: "k", every: "year"}).check(), "week or day")
}

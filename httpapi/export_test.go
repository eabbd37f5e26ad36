package httpapi

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/note"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/evidence"
)

// Every line of an export proves itself against the checkpoint on top.
func TestExportProvesItself(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 3 {
		n.screen(token, `,"cpName":"=cmd()"`)
	}
	w := n.do("auditor", "GET", "/v1/audit/export", "")
	require.Equal(t, 200, w.Code)
	lines := bufio.NewScanner(w.Body)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	var head struct {
		Type, Checkpoint, Keys string
		TreeSize               uint64
	}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &head))
	require.Equal(t, "export", head.Type)
	point, err := note.Verify([]byte(head.Checkpoint), head.Keys)
	require.NoError(t, err)
	count := 0
	end := false
	for lines.Scan() {
		var line struct {
			Type   string
			Leaves int
			proofAnswer
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		if line.Type == "end" {
			require.Equal(t, count, line.Leaves)
			end = true
			continue
		}
		line.verify(t, point.Root[:], point.Size)
		require.Equal(t, uint64(count), line.Index)
		count++
	}
	require.True(t, end, "a stream that broke has no end line")
	require.Equal(t, int(point.Size), count)

	table := n.do("auditor", "GET", "/v1/audit/export?format=csv", "")
	rows, err := csv.NewReader(bytes.NewReader(table.Body.Bytes())).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 5)
	require.Equal(t, evidence.CSVColumns, rows[0])
	require.Equal(t, []string{"end", "3 rows"}, []string{rows[4][0], rows[4][2]}, "a table says that it is whole")
	require.Equal(t, "'=cmd()", rows[1][15], "no formula of a caller runs in a spreadsheet")
}

// An export that broke off continues where it stopped, on any node. The parts together are
// the same as one unbroken export.
func TestExportGoesOn(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	for range 5 {
		txn := member(t, n.screen(token, `,"cpName":"a \"b\"\nc"`).Body.Bytes(), "txnId")
		n.advance(engine.Second)
		require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
	}
	for _, asked := range []struct{ role, query string }{
		{"auditor", ""}, {"auditor", "?format=csv"},
		{"auditor", "?from=" + (testStart + 2*engine.Second).String() + "&to=" + (testStart + 4*engine.Second).String()},
	} {
		w := n.do(asked.role, "GET", "/v1/audit/export"+asked.query, "")
		require.Equal(t, 200, w.Code, w.Body)
		whole := w.Body.String()
		n.advance(engine.Second)
		n.screen(token, "") // The log grows meanwhile.
		elsewhere := n.another(nil)
		for cursor, at := range placesOf(t, whole) {
			query := w.Header().Get(evidence.HeaderContinue) + "&cursor=" + strconv.FormatUint(cursor, 10)
			r := httptest.NewRequest("GET", "/v1/audit/export?"+query, nil)
			r.Header.Set("Authorization", "Bearer "+testSecret(asked.role))
			rest := httptest.NewRecorder()
			elsewhere.Handler().ServeHTTP(rest, r)
			require.Equal(t, 200, rest.Code, rest.Body)
			require.Equal(t, whole[at:], rest.Body.String(), "%s behind leaf %d", asked, cursor)
		}
	}
}

// placesOf returns, for each leaf of an export, where the next one begins in its text.
func placesOf(t *testing.T, whole string) map[uint64]int {
	places := map[uint64]int{}
	if strings.HasPrefix(whole, "{") {
		at := 0
		for line := range strings.Lines(whole) {
			at += len(line)
			if m := objectOf([]byte(line)); m["type"] == "leaf" {
				index, err := m["index"].(json.Number).Int64()
				require.NoError(t, err)
				places[uint64(index)] = at
			}
		}
	} else {
		rows := csv.NewReader(strings.NewReader(whole))
		for {
			row, err := rows.Read()
			if err != nil {
				break
			}
			if index, err := strconv.ParseUint(row[0], 10, 64); err == nil {
				places[index] = int(rows.InputOffset())
			}
		}
	}
	require.NotEmpty(t, places)
	return places
}

func TestExportGoesOnOnlyAsItBegan(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 5 {
		n.screen(token, "")
		n.advance(engine.Second)
	}
	from, to := (testStart + engine.Second).String(), (testStart + 3*engine.Second).String()
	w := n.do("auditor", "GET", "/v1/audit/export?from="+from+"&to="+to, "")
	began, err := url.ParseQuery(w.Header().Get(evidence.HeaderContinue))
	require.NoError(t, err)
	first, err := strconv.ParseUint(began.Get("first"), 10, 64)
	require.NoError(t, err)
	began.Set("cursor", began.Get("first"))
	ask := func(change func(url.Values)) *httptest.ResponseRecorder {
		query := url.Values{}
		for name, values := range began {
			query[name] = values
		}
		change(query)
		return n.do("auditor", "GET", "/v1/audit/export?"+query.Encode(), "")
	}
	require.Equal(t, 200, ask(func(url.Values) {}).Code)
	for name, c := range map[string]struct{ member, value, param string }{
		"no number":           {"cursor", "x", "cursor"},
		"before the range":    {"cursor", strconv.FormatUint(first-1, 10), "cursor"},
		"behind the range":    {"cursor", "1000", "cursor"},
		"no size":             {"treeSize", "", "treeSize"},
		"a size to come":      {"treeSize", "1000", "treeSize"},
		"no first":            {"first", "", "first"},
		"another first":       {"first", strconv.FormatUint(first+1, 10), "first"},
		"an earlier first":    {"first", "0", "first"},
		"no from":             {"from", "", "from"},
		"no to":               {"to", "", "to"},
		"a number far beyond": {"treeSize", "9223372036854775807", "treeSize"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(func(query url.Values) { query.Set(c.member, c.value) })
			require.Equal(t, 400, w.Code, w.Body)
			require.Equal(t, c.param, member(t, w.Body.Bytes(), "param"))
		})
	}
	n.store.Prune(first + 1)
	require.Equal(t, 404, ask(func(url.Values) {}).Code, "what was erased cannot be gone on with")
}

// An export that cannot be finished must not look complete: the connection breaks.
func TestExportBreaksVisibly(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
	server := httptest.NewServer(n.api.Handler())
	defer server.Close()
	n.leafError = errors.New("the disk does not answer")
	for _, asked := range []struct{ role, query string }{{"auditor", "?format=csv"}} {
		request, err := http.NewRequest(http.MethodGet, server.URL+"/v1/audit/export"+asked.query, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+testSecret(asked.role))
		response, err := server.Client().Do(request)
		if err == nil {
			_, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		require.Error(t, err, asked.role)
	}
	require.Zero(t, n.api.Running())
}

// slowReader reads an answer; after its first piece it does something, and takes its time.
type slowReader struct {
	*httptest.ResponseRecorder
	after func()
	broke bool
}

func (w *slowReader) Write(p []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(p)
	if w.after != nil {
		w.after()
		w.after = nil
		time.Sleep(time.Second + 10*time.Millisecond)
	}
	return n, err
}

// An export that runs when its key is revoked breaks off at its next page.
func TestExportEndsWithItsKey(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 1100 {
		n.screen(token, "")
	}
	v := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"leaver","roles":["auditor"],"expires":"90d"}`), 201)
	id, secret := textOf(v, "keyId"), textOf(v, "key")
	read := func(after func()) (w *slowReader) {
		r := httptest.NewRequest("GET", "/v1/audit/export", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		w = &slowReader{ResponseRecorder: httptest.NewRecorder(), after: after}
		defer func() {
			if broke := recover(); broke != nil {
				require.Equal(t, http.ErrAbortHandler, broke)
				w.broke = true
			}
		}()
		n.api.Handler().ServeHTTP(w, r)
		return w
	}
	whole := read(func() {})
	require.False(t, whole.broke)
	part := read(func() { require.Equal(t, 200, n.doAdmin("DELETE", "/admin/keys/"+id, "").Code) })
	require.True(t, part.broke)
	require.Less(t, part.Body.Len(), whole.Body.Len()*2/3)
}

// A node that is still fetching history does not know where a time range begins.
func TestExportWaitsForHistory(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.screen(token, "")
	n.advance(engine.Second)
	n.screen(token, "")
	from := (testStart + engine.Second).String()
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/export?from="+from, "").Code)
	x := &evidence.Exporter{Request: n.call(), Store: n.store, From: testStart + engine.Second, To: testStart + 2*engine.Second, End: n.store.Size()}
	x.Point = &evidence.Checkpoint{Size: x.End}
	var refused *edge.Refusal
	require.ErrorAs(t, x.CheckEdges(), &refused, "leaf 0 is of an earlier time")
	require.Equal(t, "overloaded", refused.Code)
	_, err := n.store.Record(n.store.Size())
	require.ErrorIs(t, err, audit.ErrNotYet)
}

// A follower's export holds what other nodes acknowledged; without a leader it holds what
// this node has.
func TestExportAsksTheLeader(t *testing.T) {
	n := newTestNode(t)
	n.behind = engine.Second
	n.exportLines(t, "auditor", "")
	require.Zero(t, n.behind)
	n.readError = wire.ErrNoLeader
	require.Equal(t, "no_leader", textOf(answer(t, n.do("auditor", "GET", "/v1/audit/export", ""), 503), "code"), "nobody says that the key is still good")
}

func TestHeadOfExport(t *testing.T) {
	n := newTestNode(t)
	w := n.do("auditor", "HEAD", "/v1/audit/export", "")
	require.Equal(t, 200, w.Code)
	require.Zero(t, w.Body.Len())
}

// Leaves past their 90 days are not exported, nor counted in the range.
func TestExportEndsAtRetention(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.screen(token, "")
	old := n.store.Size()
	n.advance(engine.Retention)
	n.screen(token, "")
	lines := n.exportLines(t, "auditor", "?from=2026-01-01")
	require.Equal(t, json.Number(strconv.FormatUint(old, 10)), objectOf(lines[0])["first"])
	e := &takenRecords{keys: n.settings.Genesis.LogKeys}
	report, err := e.examine(lines...)
	require.NoError(t, err)
	require.Equal(t, n.store.Size()-old, uint64(report.Leaves))

	lines = n.exportLines(t, "auditor", "?from=2026-01-01&to=2026-03-23")
	report, err = e.examine(lines...)
	require.NoError(t, err)
	require.Zero(t, report.Leaves)
}

package clients

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/httpapi/description"
)

// TestEveryListCanBeWalked: whatever has a nextCursor has its rows in data, and goes on by cursor, the events
// by after.
func TestEveryListCanBeWalked(t *testing.T) {
	lists := 0
	for _, operation := range description.Operations() {
		if len(operation.Answers) == 0 {
			continue
		}
		answer := reflect.TypeOf(operation.Answers[0].Of)
		if answer == nil || answer.Kind() != reflect.Struct || !strings.HasPrefix(operation.Route, "GET ") {
			continue
		}
		if _, there := answer.FieldByName("NextCursor"); !there {
			continue
		}
		lists++
		rows, there := answer.FieldByName("Data")
		require.True(t, there && rows.Type.Kind() == reflect.Slice && rows.Tag.Get("json") == "data", "%s has no data", operation.Route)
		name := "cursor"
		if operation.Route == "GET /v1/events" {
			name = "after"
		}
		named := strings.Contains(" "+operation.Parameters+" ", " "+name+" ")
		for _, parameter := range operation.Query {
			named = named || parameter.Name == name
		}
		require.True(t, named, "%s takes no %s", operation.Route, name)
	}
	require.Greater(t, lists, 10)
}

// pager serves a list of three pages, and events that come to an end for now.
func pager(t *testing.T) (url string, asked func() []string) {
	var mutex sync.Mutex
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		calls = append(calls, r.URL.Path+"?"+r.URL.Query().Encode()+" "+r.Header.Get("X-Railguard-Min-Index"))
		w.Header().Set("ETag", `"7"`)
		w.Header().Set("X-Railguard-Index", "41")
		w.Header().Set("X-Request-Id", "req_1")
		answers := map[string]string{
			"/v1/agents": `{"data":[{"agentId":"a"},{"agentId":"b"}],"nextCursor":"c 1"}`, "/v1/agents c 1": `{"data":[],"nextCursor":"c2"}`, "/v1/agents c2": `{"data":[{"agentId":"c"}],"nextCursor":null}`,
			"/v1/events": `{"data":[{"id":"e1"}],"nextCursor":"e1"}`, "/v1/events e1": `{"data":[],"nextCursor":"e1"}`,
			"/v1/fleets": `{"data":[{"fleetId":"f"}],"nextCursor":"same"}`, "/v1/fleets same": `{"data":[{"fleetId":"g"}],"nextCursor":"same"}`,
		}
		fmt.Fprint(w, answers[strings.TrimSpace(r.URL.Path+" "+r.URL.Query().Get("cursor")+r.URL.Query().Get("after"))])
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		defer func() { calls = nil }()
		return calls
	}
}

// walked is what each language saw of the pager's lists.
type walked struct {
	Agents, Events []string
	Loop           string
	Head           []string // ETag, index and request id of an answer.
}

// TestRowsAndHeads: lists are walked to their end with their filters and headers, a list that does not go on is
// an error, and answers give their heads.
func TestRowsAndHeads(t *testing.T) {
	url, asked := pager(t)
	want := walked{Agents: []string{"a", "b", "c"}, Events: []string{"e1"}, Loop: "bad_answer", Head: []string{`"7"`, "41", "req_1"}}
	calls := []string{
		"/v1/agents?status=ACTIVE 7", "/v1/agents?cursor=c+1&status=ACTIVE 7", "/v1/agents?cursor=c2&status=ACTIVE 7", "/v1/events? ", "/v1/events?after=e1 ",
		"/v1/fleets? ", "/v1/fleets?cursor=same ", "/v1/agents? ",
	}
	require.Equal(t, want, walkGo(t, url))
	require.Equal(t, calls, asked())
	var got walked
	python := pythonCommand(t, "drive").Path
	require.NoError(t, run(t.Context(), exec.Command(python, "-B", "testdata/rows.py"), url, &got))
	require.Equal(t, want, got)
	require.Equal(t, calls, asked())
}

func walkGo(t *testing.T, url string) (got walked) {
	rail, err := client.New(client.Options{Addresses: []string{url}, Key: "k"})
	require.NoError(t, err)
	for row, err := range client.Rows[map[string]string](t.Context(), rail, "/v1/agents?status=ACTIVE", client.WithMinIndex(7)) {
		require.NoError(t, err)
		got.Agents = append(got.Agents, (*row)["agentId"])
	}
	for row, err := range client.Rows[client.Event](t.Context(), rail, "/v1/events") {
		require.NoError(t, err)
		got.Events = append(got.Events, row.ID)
	}
	for _, err := range client.Rows[json.RawMessage](t.Context(), rail, "/v1/fleets") {
		if err != nil {
			got.Loop = err.(*client.Error).Code
		}
	}
	var head client.Head
	require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/agents", nil, "", nil, client.WithHead(&head)))
	got.Head = []string{head.ETag, fmt.Sprint(head.Index), head.RequestID}
	return got
}

// TestPythonKeepsConnections: calls go over one connection, one that the server closed is replaced, and what was
// sent on one that broke is not sent twice by the connection.
func TestPythonKeepsConnections(t *testing.T) {
	var mutex sync.Mutex
	opened, calls := 0, 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		calls++
		mutex.Unlock()
		switch r.URL.Path {
		case "/v1/break":
			panic(http.ErrAbortHandler)
		case "/v1/close":
			w.Header().Set("Connection", "close")
		}
		fmt.Fprint(w, `{"opened":`, opened, `}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mutex.Lock()
			opened++
			mutex.Unlock()
		}
	}
	server.Start()
	defer server.Close()
	var got []string
	python := pythonCommand(t, "drive").Path
	require.NoError(t, run(t.Context(), exec.Command(python, "-B", "testdata/connections.py"), server.URL, &got))
	require.Equal(t, []string{"ok", "ok", "ok", "no_answer unknown", "ok", "ok", "ok"}, got)
	require.Equal(t, 7, calls, "nothing was sent twice")
	require.Equal(t, 3, opened, "the first, one after the break, one after the close")
}

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// A job runs on the node that accepted it; every node can show, list and end it.
func TestJobsAreKnownOnEveryNode(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	token := g.nodes["n1"].token(t)
	for range 5 {
		g.nodes["n2"].must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":5}`)
	}
	g.awaitReady()
	started := g.nodes["n1"].must(t, http.StatusAccepted, "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z"}`)
	path := "/v1/backtests/" + started["id"].(string)
	for _, id := range []string{"n1", "n2", "n3"} {
		require.Eventually(t, func() bool { return g.nodes[id].must(t, http.StatusOK, "GET", path, "")["state"] == "done" }, 30*time.Second, 10*time.Millisecond)
		shown := g.nodes[id].must(t, http.StatusOK, "GET", path, "")
		require.EqualValues(t, 5, shown["records"], id)
		require.EqualValues(t, 0, shown["differing"], id)
		require.Equal(t, "n1", shown["node"])
		require.Equal(t, "done", g.nodes[id].must(t, http.StatusOK, "POST", path+"/cancel", "")["state"])
		list := g.nodes[id].must(t, http.StatusOK, "GET", "/v1/backtests", "")
		require.Len(t, list["data"], 1, id)
		require.Empty(t, list["unreachable"], id)
	}
	g.close("n1")
	require.Equal(t, []any{"n1"}, g.nodes["n2"].must(t, http.StatusOK, "GET", "/v1/backtests", "")["unreachable"])
	code, answer := g.nodes["n2"].call("GET", path, "")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "node_away", answer["code"])
}

// A node that restarts still has its jobs: finished ones are unchanged, running ones catch up
// on what they missed.
func TestJobsOutliveARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	token := g.nodes["n1"].token(t)
	pay := func(id string, calls int) {
		for range calls {
			g.nodes[id].must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":5}`)
		}
	}
	pay("n1", 5)
	const candidate = `{"names":{"review":0.85}}`
	shadow := g.nodes["n1"].must(t, http.StatusAccepted, "POST", "/v1/policy/shadow", `{"policy":`+candidate+`}`)
	backtest := g.nodes["n1"].must(t, http.StatusAccepted, "POST", "/v1/backtests", `{"from":"2020-01-01T00:00:00Z"}`)
	stopped := g.nodes["n1"].must(t, http.StatusOK, "POST", "/v1/policy/shadow/"+shadow["id"].(string)+"/stop", "")
	require.Equal(t, "done", stopped["state"])
	shadow = g.nodes["n1"].must(t, http.StatusAccepted, "POST", "/v1/policy/shadow", `{"policy":`+candidate+`}`)
	shadowPath, backtestPath := "/v1/policy/shadow/"+shadow["id"].(string), "/v1/backtests/"+backtest["id"].(string)
	ended := func() bool { return g.nodes["n1"].must(t, http.StatusOK, "GET", backtestPath, "")["state"] == "done" }
	require.Eventually(t, ended, 30*time.Second, 10*time.Millisecond)
	before := g.nodes["n1"].must(t, http.StatusOK, "GET", backtestPath, "")
	require.EqualValues(t, 5, before["records"])
	pay("n1", 3)
	seen := func(id string) float64 {
		code, shown := g.nodes[id].call("GET", shadowPath, "")
		if code != http.StatusOK {
			return -1
		}
		require.Equal(t, "running", shown["state"])
		return shown["records"].(float64)
	}
	require.Eventually(t, func() bool { return seen("n1") == 3 }, 30*time.Second, 10*time.Millisecond)

	g.close("n1")
	pay("n2", 4)
	g.open("n1", ofac.Carried())
	g.awaitReady()
	require.Equal(t, before, g.nodes["n2"].must(t, http.StatusOK, "GET", backtestPath, ""))
	require.Eventually(t, func() bool { return seen("n3") == 7 }, 30*time.Second, 10*time.Millisecond, "those it missed too")
	pay("n3", 1)
	require.Eventually(t, func() bool { return seen("n2") == 8 }, 30*time.Second, 10*time.Millisecond)
	require.Len(t, g.nodes["n3"].must(t, http.StatusOK, "GET", "/v1/policy/shadow", "")["data"], 2)
	code, refused := g.nodes["n1"].call("POST", "/v1/policy/shadow", `{"policy":`+candidate+`}`)
	require.Equal(t, http.StatusConflict, code, refused)
	require.Equal(t, "done", g.nodes["n2"].must(t, http.StatusOK, "POST", shadowPath+"/stop", "")["state"])
}

// A flag for a document sends the content of the file.
func TestDocumentFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	require.NoError(t, os.WriteFile(file, []byte("{\"rules\":{\"R17\":\"off\"}}\n"), 0o600))
	f := &field{flag: "policy", kind: "document"}
	text, err := f.encodeValue(file)
	require.NoError(t, err)
	require.Equal(t, `{"rules":{"R17":"off"}}`, text)
	require.NoError(t, os.WriteFile(file, []byte("rules: {R17: off}"), 0o600))
	_, err = f.encodeValue(file)
	require.ErrorContains(t, err, "is not JSON")
	_, err = f.encodeValue(file + "x")
	require.ErrorContains(t, err, "--policy")
}

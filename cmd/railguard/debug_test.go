package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/recorder"
	"railguard/cluster/report"
)

// readBundle returns the files of a bundle, by their names within its folder.
func readBundle(t *testing.T, path string) map[string]string {
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	packed, err := gzip.NewReader(file)
	require.NoError(t, err)
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		require.NoError(t, err)
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		_, name, found := strings.Cut(header.Name, "/")
		require.True(t, found)
		files[name] = string(data)
	}
}

// One admin listener is enough for the reports of all nodes. After the leader died the file names
// it as silent, and tells who was elected. Nothing that is planted in calls, keys and settings is
// in the file.
func TestDebugGathersAllNodes(t *testing.T) {
	g := newGroup(t)
	g.flights = true
	g.form(nil)
	g.useSample()
	g.awaitReady()
	n1 := g.nodes["n1"]
	token := n1.token(t)
	secrets := []string{groupKey, groupSecret, token, "Quiet Harbour Bakery", "Zebulon Quist", "777.25", "payer"}
	code, answer := n1.call("POST", "/v1/screen", `{"token":"`+token+`","amount":777.25,"cpName":"Zebulon Quist"}`)
	require.Equal(t, 200, code, "%v", answer)
	code, answer = n1.admin("POST", "/admin/keys", `{"name":"Zebulon Quist","roles":["screener"],"person":"Zebulon Quist"}`)
	require.Equal(t, 201, code, "%v", answer)
	secret, is := answer["key"].(string)
	require.True(t, is, "%v", answer)
	secrets = append(secrets, secret)
	code, _ = n1.call("POST", "/v1/screen", `{"token":"`+token+`","amount":"777.25","cpName":"Zebulon Quist"}`)
	require.Equal(t, 400, code)
	code, _ = n1.call("GET", "/v1/agents/"+secret, "")
	require.NotEqual(t, 200, code)

	ask := func(id string, wantCode int) map[string]string {
		server := httptest.NewServer(g.nodes[id].api.AdminHandler())
		defer server.Close()
		path := filepath.Join(t.TempDir(), "bundle.tar.gz")
		out, code, err := run(t, "debug", "--admin", server.URL, "--key", groupKey, "--file", path, "--cpu", "0", "--data", t.TempDir())
		require.Equal(t, wantCode, code, "%v %s", err, out)
		require.Contains(t, out, "written: "+path)
		_, code, err = run(t, "debug", "--admin", server.URL, "--key", groupKey, "--file", path, "--cpu", "0", "--data", t.TempDir())
		require.Equal(t, exitFailed, code)
		require.ErrorIs(t, err, os.ErrExist, "a file that is there stays")
		files := readBundle(t, path)
		for name, data := range files {
			for _, secret := range secrets {
				require.NotContains(t, data, secret, "%s in %s", secret, name)
			}
		}
		return files
	}
	files := ask("n1", exitOK)
	for _, node := range []string{"n1", "n2", "n3"} {
		for _, name := range []string{"settings.txt", "status.json", "metrics.txt", "log.jsonl", "goroutines.txt", "heap.pprof"} {
			require.NotEmpty(t, files[node+"/"+name], "%s of %s", name, node)
		}
	}
	require.Contains(t, files["summary.txt"], "that is every member")
	require.Contains(t, files["summary.txt"], "the last: POST /admin/keys by key_")
	require.Contains(t, files["n2/settings.txt"], "commit abc")
	require.Contains(t, files["events.jsonl"], `"kind":"refused"`)

	leader := g.leader().node.NodeID()
	g.die(leader)
	require.Eventually(t, func() bool { return g.leader() != nil }, 30*time.Second, 20*time.Millisecond)
	next := g.leader().node.NodeID()
	require.Eventually(t, func() bool { return g.nodes[next].node.Status(t.Context()).Writes.State == "ok" }, 30*time.Second, 20*time.Millisecond)
	files = ask(next, exitWarn)
	require.Contains(t, files["summary.txt"], "NOT by "+leader)
	require.Contains(t, files["summary.txt"], next+" leads in term")
	for _, path := range []string{"/admin/debug?node=nobody", "/admin/debug?cpu=9"} {
		code, answer := g.nodes[next].admin("GET", path, "")
		require.Contains(t, []int{http.StatusNotFound, http.StatusBadRequest}, code, "%v", answer)
	}
}

// reportOf makes a node's report of scripted entries.
func reportOf(t *testing.T, node string, skew int64, entries ...recorder.Entry) *recorder.Report {
	status, err := json.Marshal(report.ClusterStatus{
		Node: node, Term: 7, Leader: &report.LeaderInfo{ID: "n1"}, Quorum: report.QuorumInfo{Voters: 3, Healthy: 3, FailureTolerance: 1},
		Writes: report.WriteState{State: "ok"}, Nodes: []report.NodeStatus{{ID: node, ClockSkewMs: skew, DiskFreePct: 40}},
	})
	require.NoError(t, err)
	for i := range entries {
		entries[i].At += skew
	}
	return &recorder.Report{Node: node, Version: "0.2.0", Status: status, Entries: entries}
}

// The summary tells who lost the leadership and why, who was elected after how long, and what
// callers were answered, although the nodes' clocks differ.
func TestAnIncidentIsTold(t *testing.T) {
	const noon = 1_900_000_000_000
	stalled := []*recorder.Report{
		reportOf(t, "n1", 250,
			recorder.Entry{At: noon + 9_800, Kind: recorder.Election, Term: 7, Text: "nothing was heard of leader n2 for 412ms"},
			recorder.Entry{At: noon + 10_000, Kind: recorder.Refused, Code: "no_leader", Route: "/v1/screen", Count: 30},
			recorder.Entry{At: noon + 10_200, Kind: recorder.Leading, Term: 7},
			recorder.Entry{At: noon + 60_000, Kind: recorder.Refused, Code: "unauthorized", Route: "/v1/screen", Count: 1000}),
		reportOf(t, "n2", -250,
			recorder.Entry{At: noon, Kind: recorder.Leading, Term: 6},
			recorder.Entry{At: noon + 9_700, Kind: recorder.Stall, Text: "the disk does not answer: append"},
			recorder.Entry{At: noon + 10_100, Kind: recorder.Refused, Code: "no_leader", Route: "/v1/screen", Count: 11},
			recorder.Entry{At: noon + 11_000, Kind: recorder.Stall, Text: "the disk answers again: append", TookMs: 1800}),
	}
	text := strings.Join(mergeReports(stalled, []string{"n3"}).tell(), "\n")
	at := time.UnixMilli(noon + 9_800).UTC().Format("2006-01-02T15:04:05.000Z")
	require.Contains(t, text, "n2 lost its leadership at "+at+", because its disk stalled for 1.8 s; n1 was elected after 0.4 s in term 7; meanwhile calls were answered: 41 503 no_leader.")
	require.Contains(t, text, "NOT by n3")
	require.Contains(t, text, "1041 refused calls are recorded since")
	require.LessOrEqual(t, len(strings.Split(text, "\n")), 12)

	for cause, entries := range map[string][]recorder.Entry{
		"because it ended by itself: disk full":                        {{At: noon + 5_000, Kind: recorder.Ending, Text: "disk full"}},
		"because it was taken out of service":                          {{At: noon + 5_000, Kind: recorder.Stopping}},
		"because it handed leadership on":                              {{At: noon + 5_000, Kind: recorder.Lost, Text: "it handed leadership on"}},
		"because its disk stalled and had not answered by then":        {{At: noon + 4_000, Kind: recorder.Stall}},
		"because its process ended (it started again at 2030-03-17T17": {{At: noon + 8_000, Kind: recorder.Started}},
	} {
		m := mergeReports([]*recorder.Report{
			reportOf(t, "n2", 0, append([]recorder.Entry{{At: noon, Kind: recorder.Leading, Term: 6}}, entries...)...),
			reportOf(t, "n1", 0, recorder.Entry{At: noon + 6_000, Kind: recorder.Leading, Term: 7}),
		}, nil)
		require.Contains(t, strings.Join(m.tell(), "\n"), cause)
	}
}

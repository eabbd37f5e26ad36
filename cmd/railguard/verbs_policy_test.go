package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The diff of a file or of versions shows each setting that changes.
func TestPolicyDiff(t *testing.T) {
	o := newOutsider(t)
	reach := []string{"--url", o.server.URL, "--key", groupKey, "--data", o.in("none")}
	diff := func(args ...string) string {
		return o.ask(append(append([]string{"policy", "diff"}, args...), reach...)...)
	}
	o.node.must(t, http.StatusOK, "PUT", "/v1/policy?reason=first", `{"rules":{"R17":"off"},"velocity":{"maxPerMinute":10},"retro":{"suspend":true}}`)
	first := uint64(o.node.must(t, http.StatusOK, "GET", "/v1/policy", "")["policyVersion"].(float64))

	candidate := o.write("candidate.yaml", "rules: {R17: review}\nvelocity: {maxPerMinute: 20}\nnames: {review: 0.85}\n")
	shown := diff(candidate)
	for _, line := range []string{
		"names.review (default) 0.85",
		"retro.suspend true (default) wider",
		`rules.R17 off review`,
		"velocity.maxPerMinute 10 20 wider",
		"4 setting(s) differ",
		"railguard policy put needs --reason",
	} {
		require.Contains(t, strings.Join(strings.Fields(shown), " "), line, shown)
	}
	require.Contains(t, diff(o.write("same.json", `{"retro":{"suspend":true},"velocity":{"maxPerMinute":10},"rules":{"R17":"off"}}`)), "no setting differs between in force")

	o.node.must(t, http.StatusOK, "PUT", "/v1/policy?reason=second", `{"velocity":{"maxPerMinute":20}}`)
	number := func(n uint64) string { data, _ := json.Marshal(n); return string(data) }
	var report struct {
		From, To string
		Changes  []policyChange
	}
	require.NoError(t, json.Unmarshal([]byte(diff("--from", number(first), "-o", "json")), &report))
	require.Len(t, report.Changes, 3)
	require.Equal(t, "velocity.maxPerMinute", report.Changes[2].Setting)
	require.Equal(t, `10 20`, string(report.Changes[2].From)+" "+string(report.Changes[2].To))
	require.Contains(t, diff("--from", number(first), "--to", number(first)), "no setting differs")
	require.Contains(t, diff("--from", number(first), candidate), "VERSION "+number(first))

	o.refused(exitFailed, "velocity.maxPerMinute", append([]string{"policy", "diff", o.write("bad.yaml", "velocity: {maxPerMinute: -1}\n")}, reach...)...)
	o.refused(exitUsage, "expected a policy file", append([]string{"policy", "diff"}, reach...)...)
	o.refused(exitUsage, "--to is for versions", append([]string{"policy", "diff", candidate, "--to", "3"}, reach...)...)
	o.refused(exitUsage, "no such file", append([]string{"policy", "diff", o.in("nowhere")}, reach...)...)
}

// cutter serves another server's answers and cuts some of them off.
type cutter struct {
	inner http.Handler
	path  string // Suffix of the paths whose answers are cut.
	after int
	cut   atomic.Int32
}

type cutWriter struct {
	http.ResponseWriter
	c    *cutter
	left int
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutWriter) Write(data []byte) (int, error) {
	if len(data) > w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		w.c.cut.Add(1)
		panic(http.ErrAbortHandler)
	}
	w.left -= len(data)
	return w.ResponseWriter.Write(data)
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, c.path) {
		w = &cutWriter{w, c, c.after}
	}
	c.inner.ServeHTTP(w, r)
}

// An examiner's export covers a rotation of keys and a change of the list, with one node gone
// and one that breaks off. The folder is complete, and the old keys prove it, as they prove a
// plain export and a single proof.
func TestBundleOverRotationsAndNodes(t *testing.T) {
	o := newOutsider(t)
	g := &group{t: t, nodes: map[string]*groupNode{"n1": o.node}}
	token := o.node.token(t)
	var txn string
	pay := func(times int) {
		for range times {
			txn = o.node.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"Paper Tiger Holding"}`)["txnId"].(string)
		}
	}
	pay(3)
	status, _ := o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`)
	require.Less(t, status, 300)
	g.activateWith("PAPER TIGER HOLDING")
	pay(3)
	status, _ = o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"again"}`)
	require.Less(t, status, 300)
	pay(1)
	o.checkpoint(o.now.Size + 9)

	exports, lists := &cutter{inner: o.node.api.Handler(), path: "/export", after: 12_000}, &cutter{inner: o.node.api.Handler(), path: "/entities", after: 100}
	second, third := httptest.NewServer(exports), httptest.NewServer(lists)
	defer second.Close()
	defer third.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	reach := []string{"--url", strings.Join([]string{gone.URL, second.URL, third.URL, o.server.URL}, ","), "--key", groupKey, "--data", o.in("none")}
	dir := o.in("bundle")
	o.ask(append([]string{"audit", "bundle", "--out", dir}, reach...)...)
	require.EqualValues(t, 1, exports.cut.Load())
	require.EqualValues(t, 1, lists.cut.Load())
	shown := o.ask("verify", dir, "--keys", o.keys)
	require.Contains(t, shown, "7 decisions were made again")
	files, err := filepath.Glob(filepath.Join(dir, "lists", "*"))
	require.NoError(t, err)
	require.Len(t, files, 2)

	export := o.in("export.ndjson")
	o.ask(append([]string{"audit", "export", "--file", export}, reach...)...)
	require.Contains(t, o.ask("verify", export, "--keys", o.keys), "endorsed by those given, over 2 rotation(s)")
	proof := o.write("proof.json", o.ask(append([]string{"audit", "proof", txn}, reach...)...))
	require.Contains(t, o.ask("verify", proof, "--keys", o.keys), "endorsed by those given, over 2 rotation(s)")
	var whole map[string]any
	require.NoError(t, json.Unmarshal([]byte(readFile(t, proof)), &whole))
	delete(whole, "keyRotations")
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	o.refused(exitFailed, "not those that were given", "verify", o.write("shorter.json", string(data)), "--keys", o.keys)
}

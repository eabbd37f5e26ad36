package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/bundle"
)

// bringHouse puts the list house in force beside the sample, with an effect.
func (o *outsider) bringHouse(effect string) {
	o.t.Helper()
	code, staged := o.node.admin("POST", "/v1/ofac/snapshots?list=house&listName=House+list&effect="+effect, houseFile)
	require.Equal(o.t, http.StatusCreated, code, "%v", staged)
	o.node.activate(o.t, http.StatusOK, staged["snapshotId"], "a drill")
}

// A bundle holds the snapshot with all lists, and without a server the verdicts that a list beside
// OFAC's led to are decided again with it: reviewed, then blocked. A verdict or a name of a list that
// somebody alters afterwards is found.
func TestBundleOfAListBesideOFACs(t *testing.T) {
	o := newOutsider(t)
	token := o.node.token(t)
	payments := []string{`"cpName":"Known Defrauder Holdings"`, `"cpWallet":"` + houseWallet + `"`, `"cpName":"A Baker","cpIdentifiers":[{"type":"bic","value":"DEFRDEFF"}]`}
	for _, effect := range []string{"review", "block"} {
		o.bringHouse(effect)
		for _, told := range payments {
			answer := o.node.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,`+told+`}`)
			require.Equal(t, strings.ToUpper(effect), answer["verdict"], "%v", answer)
			require.Contains(t, answer["reason"], "on the list House list")
		}
	}
	o.checkpoint(o.now.Size + 10)
	dir := o.in("house")
	o.ask("audit", "bundle", "--out", dir, "--url", o.server.URL, "--key", groupKey, "--data", o.in("none"))
	var report struct {
		Proven bool
		Replay bundle.Replay
		Lists  []string
	}
	require.NoError(t, json.Unmarshal([]byte(o.ask("verify", dir, "--keys", o.keys, "-o", "json")), &report))
	require.True(t, report.Proven)
	require.Equal(t, [3]int{2 * len(payments), 0, 0}, [3]int{report.Replay.Same, report.Replay.NoEvidence, report.Replay.DifferentCount})
	require.Len(t, report.Lists, 2)
	require.Contains(t, readFile(t, filepath.Join(dir, "records.ndjson")), "on the list House list")

	records := filepath.Join(dir, "records.ndjson")
	forged := strings.ReplaceAll(readFile(t, records), "on the list House list", "on the list Mouse list")
	o.write("house/records.ndjson", forged)
	resum(t, dir)
	o.refused(exitFailed, "", "verify", dir, "--keys", o.keys)
}

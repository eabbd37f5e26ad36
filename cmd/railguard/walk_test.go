package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// listFolder holds the published lists. The test takes minutes, so it runs only if
// RAILGUARD_DATA names that folder.
func listFolder(t testing.TB) string {
	folder := filepath.Join(os.Getenv("RAILGUARD_DATA"), "ofac")
	if info, err := os.Stat(folder); os.Getenv("RAILGUARD_DATA") == "" || err != nil || !info.IsDir() {
		t.Skip("no list data: set RAILGUARD_DATA to the folder that holds ofac/")
	}
	return folder
}

// publications are all complete SDN lists, oldest first, each with the consolidated list of
// its time.
var publications = []struct {
	files []string
	force string // Why it must be forced; "": it need not.
}{
	{[]string{"2021-07-07/sdn.csv.gz", "2021-07-07/alt.csv.gz", "2021-07-07/add.csv.gz", "2021-07-07/sdn_comments.csv.gz"}, "the list of 2021 was smaller"},
	{[]string{"2024-05-28/sdn_advanced.xml.bz2", "2024-07-03/cons_enhanced.xml.gz"}, ""},
	{[]string{"2025-03-04/sdn_advanced.xml.bz2", "2025-01-10/CONS_ENHANCED.ZIP"}, ""},
	{[]string{"2025-03-21/sdn_advanced.xml.bz2", "2025-01-10/CONS_ENHANCED.ZIP"}, "90 of 157 EVM accounts were delisted that day"},
	{[]string{"2025-11-04/sdn_advanced.xml.bz2", "2025-01-10/CONS_ENHANCED.ZIP"}, ""},
	{[]string{"2025-11-19/sdn_advanced.xml.bz2", "2026-01-08/cons_enhanced.xml.gz"}, ""},
	{[]string{"2025-11-19/sdn_advanced.xml.bz2", "2025-12-19/cons_prim.csv", "2025-12-19/cons_alt.csv", "2025-12-19/cons_add.csv", "2025-12-19/cons_comments.csv"}, ""},
}

// Every published list is staged on one node, compared on another and activated on a third;
// all nodes use it. In the end the first list is activated again, and each verdict is replayed
// on every node with the list that it was made with.
func TestRealListsWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("reads seven whole lists")
	}
	source := listFolder(t)
	g := newGroup(t)
	g.form(ofac.Carried())
	nodes := []*groupNode{g.nodes["n1"], g.nodes["n2"], g.nodes["n3"]}
	token, verdicts, ids := "", []string{}, []any{}
	for i, publication := range publications {
		folder := t.TempDir()
		for _, file := range publication.files {
			if data, err := os.ReadFile(filepath.Join(source, file)); err == nil {
				require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), data, 0o600))
			}
		}
		began := time.Now()
		staged := nodes[i%3].upload(t, folder)
		id := staged["snapshotId"]
		if i > 0 {
			diff := nodes[(i+1)%3].must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/ofac/%v/diff", id), "")
			require.NotEqual(t, diff["from"], diff["to"])
		}
		if publication.force != "" {
			nodes[(i+2)%3].activate(t, http.StatusUnprocessableEntity, id, "")
		}
		active := nodes[(i+2)%3].activate(t, http.StatusOK, id, publication.force)
		require.EqualValues(t, i+1, active["listVersion"])
		t.Logf("%v: %v in %v", publication.files, staged["counts"], time.Since(began).Round(time.Millisecond))
		if token == "" {
			token = nodes[0].token(t)
		}
		for _, n := range nodes {
			require.NoError(t, n.node.WaitApplied(t.Context(), nodes[(i+2)%3].node.Applied()))
			blocked := n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Lazarus Group"}`)
			require.Equal(t, "BLOCK", blocked["verdict"])
			require.EqualValues(t, i+1, blocked["listVersion"])
			passed := n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"Quiet Harbour Bakery"}`)
			require.Equal(t, "PROCEED", passed["verdict"])
			verdicts = append(verdicts, blocked["txnId"].(string), passed["txnId"].(string))
		}
		ids = append(ids, id)
	}
	back := nodes[1].must(t, http.StatusOK, "POST", fmt.Sprintf("/v1/ofac/%v/rollback", ids[1]), `{"reason":"a drill"}`)
	require.Equal(t, ids[1], back["snapshotId"])
	for k, txn := range verdicts {
		n := nodes[k%3]
		replay := n.must(t, http.StatusOK, "POST", "/v1/audit/"+txn+"/replay", "")
		require.Equal(t, true, replay["match"], "%s: %v", txn, replay)
		require.Empty(t, replay["assumed"], "%s", txn)
		require.Nil(t, replay["listUnavailable"])
		if k%2 == 0 {
			record := n.must(t, http.StatusOK, "GET", "/v1/audit/"+txn, "")
			require.NotEmpty(t, record["parties"].([]any)[0].(map[string]any)["facts"], "who is meant, of the list of then")
		}
	}
}

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// A list beside OFAC's over HTTP: it is imported, screened against, changed entry by entry, made
// stricter, and removed. Whatever asks the list asks all of it: verdicts, records, dry runs, the match
// workbench, the diff, retro-screening and backtests.
func TestListBesideOFACs(t *testing.T) {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	n := g.nodes["n1"]
	n.activate(t, http.StatusOK, n.upload(t, listFile(t, 10, 1200, 20, nil))["snapshotId"], "a drill")
	token := n.token(t)
	const wallet = "0x1111111111111111111111111111111111111111"
	screen := func(members string) map[string]any {
		return n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,`+members+`}`)
	}
	judged := func(members, verdict, reason string) map[string]any {
		t.Helper()
		answer := screen(members)
		require.Equal(t, verdict, answer["verdict"], "%v", answer)
		if reason != "" {
			require.Equal(t, reason, answer["reason"])
		}
		return answer
	}
	before := judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
	from := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	change := func(status int, query url.Values, file string) map[string]any {
		code, answer := n.admin("POST", "/v1/ofac/snapshots?"+query.Encode(), file)
		require.Equal(t, status, code, "%v", answer)
		return answer
	}
	refused := change(http.StatusUnprocessableEntity, url.Values{"list": {"house"}}, "id,kind,name\n1,ship,A B\n")
	require.Contains(t, refused["message"], "row 2, column kind")
	change(http.StatusBadRequest, url.Values{"list": {"SDN"}}, "id,kind\n")
	file := "id,kind,name,wallets,identifiers,reason\ncase-1,company,Known Defrauder Holdings,,bic:DEFRDEFF,fraud\ncase-2,wallet,," + wallet + ",,mule\n"
	staged := change(http.StatusCreated, url.Values{"list": {"house"}, "listName": {"House list"}, "maxAge": {"1h"}}, file)
	n.activate(t, http.StatusOK, staged["snapshotId"], "")

	answer := judged(`"cpName":"known defrauder holdings"`, "REVIEW", "The counterparty name is on the list House list.")
	require.Equal(t, "R21_POSSIBLE_NAME_MATCH", answer["rule"])
	judged(`"cpWallet":"`+wallet+`","chain":"ETH"`, "REVIEW", "The counterparty wallet is on the list House list.")
	judged(`"cpName":"A Baker","cpIdentifiers":[{"type":"bic","value":"DEFRDEFF"}]`, "REVIEW", "An identifier of the counterparty is that of a party on the list House list.")
	judged(`"cpName":"LAZARUS GROUP"`, "BLOCK", "The counterparty name is on the SDN list.")
	judged(`"cpName":"Plain Harbour Bakery"`, "PROCEED", "")
	record := n.must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/audit/%v", answer["txnId"]), "")
	require.Equal(t, "House list", record["listName"], "%v", record)
	require.Equal(t, "House list", record["matches"].([]any)[0].(map[string]any)["list"])
	dry := n.must(t, http.StatusOK, "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1,"cpName":"Known Defrauder Holdings"}`)
	require.Equal(t, "The counterparty name is on the list House list.", dry["reason"])
	match := n.must(t, http.StatusOK, "GET", "/v1/match?wallet="+wallet, "")
	require.Equal(t, "REVIEW", match["outcome"], "%v", match)

	lists := n.must(t, http.StatusOK, "GET", "/v1/lists", "")["lists"].([]any)
	require.Len(t, lists, 2)
	house := lists[1].(map[string]any)
	require.Equal(t, []any{"house", "House list", "review", "own", 2., 3600., false}, []any{house["id"], house["name"], house["effect"], house["format"], house["entries"], house["maxAgeSeconds"], house["late"]})
	require.EqualValues(t, 1201, lists[0].(map[string]any)["entries"])

	changed := n.must(t, http.StatusOK, "POST", "/v1/lists/house/entries", `{"reason":"case 3","actor":"petra","add":[{"id":"case-3","kind":"individual","name":"Doe, Janet Quux"}],"end":["case-1"]}`)
	require.Equal(t, []any{"case-3", "case-1"}, changed["entryIds"])
	judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
	judged(`"cpName":"Janet Quux Doe"`, "REVIEW", "The counterparty name is on the list House list.")
	bad := n.must(t, http.StatusUnprocessableEntity, "POST", "/v1/lists/house/entries", `{"reason":"r","end":["none"]}`)
	require.Contains(t, bad["message"], "no entry")
	ended := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	n.must(t, http.StatusOK, "POST", "/v1/lists/house/entries", `{"reason":"over","add":[{"id":"case-3","kind":"individual","name":"Doe, Janet Quux","until":"`+ended+`"}]}`)
	judged(`"cpName":"Janet Quux Doe"`, "PROCEED", "")

	strict := change(http.StatusCreated, url.Values{"list": {"house"}, "effect": {"block"}}, file)
	n.activate(t, http.StatusOK, strict["snapshotId"], "")
	blocked := judged(`"cpName":"Known Defrauder Holdings"`, "BLOCK", "The counterparty name is on the list House list.")
	require.Equal(t, "R7_COUNTERPARTY_NAME_OFAC", blocked["rule"])
	lower := change(http.StatusCreated, url.Values{"list": {"house"}, "effect": {"review"}, "replace": {"true"}}, file)
	require.Contains(t, fmt.Sprint(n.activate(t, http.StatusUnprocessableEntity, lower["snapshotId"], "")), "effect_lowered")

	retro := n.must(t, http.StatusAccepted, "POST", "/v1/ofac/retro", `{"days":1}`)
	job := n.must(t, http.StatusAccepted, "POST", "/v1/backtests", fmt.Sprintf(`{"from":%q,"listSnapshotId":%q}`, from, strict["snapshotId"]))
	_ = retro
	require.Eventually(t, func() bool {
		report := n.must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/backtests/%v", job["id"]), "")
		return report["state"] == "done"
	}, 30*time.Second, 50*time.Millisecond)
	report := fmt.Sprint(n.must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/backtests/%v", job["id"]), ""))
	require.Contains(t, report, fmt.Sprint(before["txnId"]), "the payment that passed before would be blocked")
	require.Contains(t, report, "on the list")

	// OFAC's next files leave the list alone; a snapshot that was made before it is refused.
	n.activate(t, http.StatusOK, n.upload(t, listFile(t, 11, 1201, 20, nil))["snapshotId"], "")
	judged(`"cpName":"Known Defrauder Holdings"`, "BLOCK", "The counterparty name is on the list House list.")
	require.Contains(t, fmt.Sprint(n.activate(t, http.StatusUnprocessableEntity, lower["snapshotId"], "why not")), "another list came in force")
	gone := change(http.StatusCreated, url.Values{"list": {"house"}, "remove": {"true"}, "replace": {"true"}}, "")
	require.Contains(t, fmt.Sprint(n.activate(t, http.StatusUnprocessableEntity, gone["snapshotId"], "")), "the list house of 2 entries would be missing")
	n.activate(t, http.StatusOK, gone["snapshotId"], "we have no own list any more")
	judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
}

// The real copy of the UN's list, where there is one.
func TestImportUN(t *testing.T) {
	const path = "../../../shared/data/un/2026-02-27_consolidated.xml.gz"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Skip("no copy of the UN list here")
	}
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	n := g.nodes["n1"]
	n.activate(t, http.StatusOK, n.upload(t, listFile(t, 10, 1200, 20, nil))["snapshotId"], "a drill")
	code, staged := n.admin("POST", "/v1/ofac/snapshots?list=un&listName=UN+Security+Council&authority=United+Nations", string(file))
	require.Equal(t, http.StatusCreated, code, "%v", staged)
	n.activate(t, http.StatusOK, staged["snapshotId"], "")
	un := n.must(t, http.StatusOK, "GET", "/v1/lists", "")["lists"].([]any)[1].(map[string]any)
	require.Equal(t, []any{"UN Security Council", "un-xml", 1003.}, []any{un["name"], un["format"], un["entries"]})
	answer := n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+n.token(t)+`","amount":1,"cpName":"Eric Badege"}`)
	require.Equal(t, "The counterparty name is on the list UN Security Council.", answer["reason"])
}

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

// furtherWorld is a node with a list of OFAC's and an agent.
type furtherWorld struct {
	*groupNode
	t     *testing.T
	agent string
}

const (
	houseWallet = "0x1111111111111111111111111111111111111111"
	houseFile   = "id,kind,name,wallets,identifiers,reason\ncase-1,company,Known Defrauder Holdings,,bic:DEFRDEFF,fraud\ncase-2,wallet,," + houseWallet + ",,mule\n"
	houseReason = "The counterparty name is on the list House list."
)

func newFurtherWorld(t *testing.T) *furtherWorld {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	n := g.nodes["n1"]
	n.activate(t, http.StatusOK, n.upload(t, listFile(t, 10, 1200, 20, nil))["snapshotId"], "a drill")
	return &furtherWorld{n, t, n.token(t)}
}

// judged screens a payment; "": any reason.
func (w *furtherWorld) judged(members, verdict, reason string) map[string]any {
	w.t.Helper()
	answer := w.must(w.t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+w.agent+`","amount":1,`+members+`}`)
	require.Equal(w.t, verdict, answer["verdict"], "%v", answer)
	if reason != "" {
		require.Equal(w.t, reason, answer["reason"])
	}
	return answer
}

// change stages another content of the list house.
func (w *furtherWorld) change(status int, query url.Values, file string) map[string]any {
	w.t.Helper()
	code, answer := w.admin("POST", "/v1/ofac/snapshots?replace=true&"+query.Encode(), file)
	require.Equal(w.t, status, code, "%v", answer)
	return answer
}

func (w *furtherWorld) bring(query url.Values) map[string]any {
	w.t.Helper()
	staged := w.change(http.StatusCreated, query, houseFile)
	w.activate(w.t, http.StatusOK, staged["snapshotId"], "")
	return staged
}

// A list beside OFAC's over HTTP: verdicts, records, dry runs and the match workbench ask it, and its
// own list is changed entry by entry.
func TestListBesideOFACs(t *testing.T) {
	w := newFurtherWorld(t)
	w.judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
	refused := w.change(http.StatusUnprocessableEntity, url.Values{"list": {"house"}}, "id,kind,name\n1,ship,A B\n")
	require.Contains(t, refused["message"], "row 2, column kind")
	w.change(http.StatusBadRequest, url.Values{"list": {"SDN"}}, "id,kind\n")
	w.bring(url.Values{"list": {"house"}, "listName": {"House list"}, "maxAge": {"1h"}})

	answer := w.judged(`"cpName":"known defrauder holdings"`, "REVIEW", houseReason)
	require.Equal(t, "R21_POSSIBLE_NAME_MATCH", answer["rule"])
	w.judged(`"cpWallet":"`+houseWallet+`","chain":"ETH"`, "REVIEW", "The counterparty wallet is on the list House list.")
	w.judged(`"cpName":"A Baker","cpIdentifiers":[{"type":"bic","value":"DEFRDEFF"}]`, "REVIEW", "An identifier of the counterparty is that of a party on the list House list.")
	w.judged(`"cpName":"LAZARUS GROUP"`, "BLOCK", "The counterparty name is on the SDN list.")
	w.judged(`"cpName":"Plain Harbour Bakery"`, "PROCEED", "")
	record := w.must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/audit/%v", answer["txnId"]), "")
	require.Equal(t, "House list", record["listName"], "%v", record)
	require.Equal(t, "House list", record["matches"].([]any)[0].(map[string]any)["list"])
	dry := w.must(t, http.StatusOK, "POST", "/v1/screen/dry-run", `{"token":"`+w.agent+`","amount":1,"cpName":"Known Defrauder Holdings"}`)
	require.Equal(t, houseReason, dry["reason"])
	match := w.must(t, http.StatusOK, "GET", "/v1/match?wallet="+houseWallet, "")
	require.Equal(t, "REVIEW", match["outcome"], "%v", match)

	lists := w.must(t, http.StatusOK, "GET", "/v1/lists", "")["lists"].([]any)
	require.Len(t, lists, 2)
	house := lists[1].(map[string]any)
	require.Equal(t, []any{"house", "House list", "review", "own", 2., 3600., false}, []any{house["id"], house["name"], house["effect"], house["format"], house["entries"], house["maxAgeSeconds"], house["late"]})
	require.EqualValues(t, 1201, lists[0].(map[string]any)["entries"])

	changed := w.must(t, http.StatusOK, "POST", "/v1/lists/house/entries", `{"reason":"case 3","actor":"petra","add":[{"id":"case-3","kind":"individual","name":"Doe, Janet Quux"}],"end":["case-1"]}`)
	require.Equal(t, []any{"case-3", "case-1"}, changed["entryIds"])
	w.judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
	w.judged(`"cpName":"Janet Quux Doe"`, "REVIEW", houseReason)
	bad := w.must(t, http.StatusUnprocessableEntity, "POST", "/v1/lists/house/entries", `{"reason":"r","end":["none"]}`)
	require.Contains(t, bad["message"], "no entry")
	ended := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	w.must(t, http.StatusOK, "POST", "/v1/lists/house/entries", `{"reason":"over","add":[{"id":"case-3","kind":"individual","name":"Doe, Janet Quux","until":"`+ended+`"}]}`)
	w.judged(`"cpName":"Janet Quux Doe"`, "PROCEED", "")
}

// A list is made stricter and is not made milder without force; a backtest and retro-screening ask it;
// OFAC's next files leave it alone; one that was made before them is refused; it is removed.
func TestListOfEffectBlock(t *testing.T) {
	w := newFurtherWorld(t)
	before := w.judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
	from := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	strict := w.bring(url.Values{"list": {"house"}, "listName": {"House list"}, "effect": {"block"}})
	blocked := w.judged(`"cpName":"Known Defrauder Holdings"`, "BLOCK", houseReason)
	require.Equal(t, "R7_COUNTERPARTY_NAME_OFAC", blocked["rule"])
	lower := w.change(http.StatusCreated, url.Values{"list": {"house"}, "effect": {"review"}}, houseFile)
	require.Contains(t, fmt.Sprint(w.activate(t, http.StatusUnprocessableEntity, lower["snapshotId"], "")), "effect_lowered")

	run := w.must(t, http.StatusAccepted, "POST", "/v1/ofac/retro", `{"days":1}`)
	require.NotEmpty(t, run["retroId"])
	job := w.must(t, http.StatusAccepted, "POST", "/v1/backtests", fmt.Sprintf(`{"from":%q,"listSnapshotId":%q}`, from, strict["snapshotId"]))
	var report map[string]any
	require.Eventually(t, func() bool {
		report = w.must(t, http.StatusOK, "GET", fmt.Sprintf("/v1/backtests/%v", job["id"]), "")
		return report["state"] == "done"
	}, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, fmt.Sprint(report), fmt.Sprint(before["txnId"]), "the payment that passed before would be blocked")
	require.Contains(t, fmt.Sprint(report), "on the list")

	w.activate(t, http.StatusOK, w.upload(t, listFile(t, 11, 1201, 20, nil))["snapshotId"], "")
	w.judged(`"cpName":"Known Defrauder Holdings"`, "BLOCK", houseReason)
	require.Contains(t, fmt.Sprint(w.activate(t, http.StatusUnprocessableEntity, lower["snapshotId"], "why not")), "another list came in force")
	gone := w.change(http.StatusCreated, url.Values{"list": {"house"}, "remove": {"true"}}, "")
	require.Contains(t, fmt.Sprint(w.activate(t, http.StatusUnprocessableEntity, gone["snapshotId"], "")), "the list house of 2 entries would be missing")
	w.activate(t, http.StatusOK, gone["snapshotId"], "we have no own list any more")
	w.judged(`"cpName":"Known Defrauder Holdings"`, "PROCEED", "")
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

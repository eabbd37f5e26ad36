package httpapi

import (
	"bytes"
	"encoding/csv"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/ofac/sample"
)

// toldByCall is everything that a call can tell of the counterparty and of the payment's way, and
// one of its identifiers is listed.
const toldByCall = `,"cpName":"Erika Mustermann","cpDateOfBirth":"1962-11-23","cpAddress":"Hauptstrasse 5, Musterdorf","cpCountry":"DE","cpRegion":"DE-BY",` +
	`"originCountry":"FR","memo":"rent of Erika for March","payerWallet":"0x1111111111111111111111111111111111111111",` +
	`"wallets":[{"role":"fee","address":"0x2222222222222222222222222222222222222222"}],` +
	`"cpIdentifiers":[{"type":"tax_id","value":"12-345-678-90","country":"RU"},{"type":"email","value":"erika@mustermann.example"}]`

// TestWhoSeesWhatACallTells: of GET /v1/audit/{txnId}, who sees names sees memo and identifiers, who
// sees names masked sees *** in their place, and the evidence, which names the listed identifier too,
// stands behind the wall for both.
func TestWhoSeesWhatACallTells(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RoleOperator|wire.RoleScreener)
	n.addCaller("globex", "Globex", wire.RoleOperator|wire.RoleScreener)
	n.addCaller("viewer", "", wire.RoleViewer)
	n.addCaller("settler", "", wire.RoleSettler)
	_, token := n.register("")
	n.activate(withNumbers(), sample.Meta())
	paid := n.screen(token, toldByCall)
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, paid))
	require.NotContains(t, paid.Body.String(), "12-345", "an answer repeats nothing of what was told")
	path := "/v1/audit/" + member(t, paid.Body.Bytes(), "txnId")
	const sees, masked, nothing = "sees", "masked", "nothing"
	for key, want := range map[string]string{
		"reviewer": sees, "auditor": sees, "admin": sees, "screener": sees, "operator": sees, "viewer": sees, "settler": sees,
		"acme": sees, // The agent belongs to Acme.
		"ops":  masked, "policy": nothing, "globex": nothing,
	} {
		w := n.do(key, "GET", path, "")
		if want == nothing {
			require.Contains(t, []int{403, 404}, w.Code, key)
			require.NotContains(t, w.Body.String(), "Erika", key)
			continue
		}
		record := answer(t, w, 200)
		require.Equal(t, "DE", textOf(record, "_request", "cpCountry"), key)
		require.Equal(t, "DE-BY", textOf(record, "_request", "cpRegion"), key)
		require.Equal(t, "FR", textOf(record, "_request", "originCountry"), key)
		require.Equal(t, "0x2222222222222222222222222222222222222222", textOf(record, "_request", "wallets", "0", "address"), key)
		wall := key == "reviewer" || key == "auditor" || key == "admin"
		require.Equal(t, wall, record.Exists("matches"), key)
		require.Equal(t, wall, strings.Contains(w.Body.String(), "1234567890"), "%s: the listed identifier", key)
		if wall {
			require.Equal(t, "1234567890", textOf(record, "matches", "0", "identifier"), key)
		}
		if want == sees {
			require.Equal(t, "rent of Erika for March", textOf(record, "_request", "memo"), key)
			require.Equal(t, "12-345-678-90", textOf(record, "_request", "cpIdentifiers", "0", "value"), key)
			continue
		}
		for _, name := range []string{"cpName", "cpDateOfBirth", "cpAddress", "memo", "cpIdentifiers"} {
			require.Equal(t, "***", textOf(record, "_request", name), "%s: %s", key, name)
		}
		for _, secret := range []string{"Erika", "rika@", "12-345", "Musterdorf", "1962"} {
			require.NotContains(t, w.Body.String(), secret, key)
			require.NotContains(t, n.do(key, "GET", "/v1/audit", "").Body.String(), secret, key)
		}
	}
	for _, rest := range []string{"/explain", "/replay"} {
		method := map[string]string{"/explain": "GET", "/replay": "POST"}[rest]
		for _, key := range []string{"ops", "screener", "operator", "acme", "settler", "viewer"} {
			require.Equal(t, 403, n.do(key, method, path+rest, "").Code, "%s%s", key, rest)
		}
	}
}

// TestWhatACallTellsIsNotLogged: no line of the log holds it, whatever becomes of the call.
func TestWhatACallTellsIsNotLogged(t *testing.T) {
	n := newTestNode(t)
	var logged bytes.Buffer
	n.reopen(func(d *Deps) {
		d.Logger = slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, token := n.register("")
	n.activate(withNumbers(), sample.Meta())
	paid := n.screen(token, toldByCall)
	require.Equal(t, 200, paid.Code)
	n.screen("garbage", toldByCall)
	n.screen(token, strings.Replace(toldByCall, `"email"`, `"letter"`, 1)) // 400
	n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1`+toldByCall+`}`)
	n.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1`+toldByCall+`}]}`)
	path := "/v1/audit/" + member(t, paid.Body.Bytes(), "txnId")
	n.do("auditor", "GET", path, "")
	n.do("auditor", "POST", path+"/replay", "")
	require.NotEmpty(t, logged.String())
	for _, secret := range []string{"Erika", "rent of", "12-345", "1234567890", "mustermann", "Musterdorf", "0x1111", "0x2222"} {
		require.NotContains(t, logged.String(), secret)
	}
}

// TestTableHoldsWhatACallTells: the export for spreadsheets has a column for each member of a call that
// is judged, and no text of it begins a formula.
func TestTableHoldsWhatACallTells(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, 200, n.screen(token, strings.Replace(toldByCall, `"memo":"rent`, `"memo":"=rent`, 1)).Code)
	w := n.do("auditor", "GET", "/v1/audit/export?format=csv", "")
	require.Equal(t, 200, w.Code, w.Body.String())
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	cells := map[string]string{}
	for i, name := range rows[0] {
		cells[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"cpCountry": "DE", "cpRegion": "DE-BY", "originCountry": "FR", "memo": "'=rent of Erika for March", "cpAddress": "Hauptstrasse 5, Musterdorf", "payerWallet": "0x1111111111111111111111111111111111111111",
		"wallets": `[{"role":"fee","address":"0x2222222222222222222222222222222222222222"}]`, "cpIdentifiers": `[{"type":"tax_id","value":"12-345-678-90","country":"RU"},{"type":"email","value":"erika@mustermann.example"}]`,
	} {
		require.Equal(t, want, cells[name], name)
	}
}

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// The help of every verb has an example.
func TestEveryVerbHasAnExample(t *testing.T) {
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, inner := range cmd.Commands() {
			walk(inner)
		}
		if cmd.HasSubCommands() || !cmd.Runnable() || cmd.Name() == "help" || cmd.Hidden || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		seen++
		if !strings.Contains(cmd.Example, "railguard") {
			t.Errorf("%s: no example: %s", cmd.CommandPath(), cmd.UseLine())
		}
		for line := range strings.Lines(cmd.Example) {
			require.True(t, strings.HasPrefix(line, "  "), "%s: %q", cmd.CommandPath(), line)
		}
	}
	walk(newRoot())
	require.Greater(t, seen, 100)
}

const shownCase = `{"verdict":"REVIEW","txnId":"txn_1","rule":"R21_POSSIBLE_NAME_MATCH","reason":"r","agentId":"agt_1","agentName":"Bot","operatorLegalName":"Acme Inc",
"screenedAt":"2026-03-22T03:33:28.589Z","disposition":null,"proposed":{"disposition":"APPROVED","by":"Ann"},"_request":{"amount":120,"cpName":"Nikolas \u001bMaduro"},"policyVersion":2,"listVersion":3,"ofacSource":"kv:live",
"matches":[{"party":"counterparty","list":"SDN","uid":"22790","name":"MADURO MOROS, Nicolas","alias":"MADURO, Nicolas","score":0.9312,"outcome":"possible"}],
"parties":[{"uid":"22790","facts":[{"kind":"birth","value":"1962-11-23"}]}],
"ladder":[{"rule":"R10_SINGLE_TX_LIMIT","number":10,"outcome":"passed","values":{"amount":120,"limits":[{"level":0,"limit":5000},{"level":1,"limit":9000}]}}],
"_policy":{"policyVersion":3,"policy":{"names":{"review":0.86}}}}`

// A person sees amounts, limits, both names, the entry and the score. No text can fool the
// terminal.
func TestRecordsForPersons(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, showRecord(&out, []byte(shownCase)))
	for _, word := range []string{"120 USD", "Nikolas \ufffdMaduro", "MADURO, Nicolas", "22790 MADURO MOROS, Nicolas", "0.9312", "1962-11-23", "disposition APPROVED, by Ann", "amount 120, limits level 0, limit 5000; level 1, limit 9000", "0.86 (policy of today)", "version 3 kv:live, version 2"} {
		require.Contains(t, out.String(), word)
	}
	require.NotContains(t, out.String(), "\x1b")
	require.NotContains(t, out.String(), "\nby ", "nobody decided")
}

// A person sees which member hit, by what, and from which member a place was read.
func TestWhatACallTellsForPersons(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, showRecord(&out, []byte(`{"verdict":"BLOCK","txnId":"txn_1","_request":{"amount":1,"cpName":"Shop","payerWallet":"0xAB","cpCountry":"Iran","cpAddress":"Tehran 5","originCountry":"FR","memo":"rent",`+
		`"cpIdentifiers":[{"type":"bic","value":"QUUXIRTH"}],"wallets":[{"role":"fee","address":"0xCD"}]},`+
		`"matches":[{"party":"payer","list":"SDN","uid":"1","name":"LAZARUS","wallet":"0xab","outcome":"listed"},{"party":"fee","list":"SDN","uid":"1","name":"LAZARUS","wallet":"0xcd","outcome":"listed"},`+
		`{"party":"counterparty","list":"SDN","uid":"2","name":"BANK","identifier":"QUUXIRTHXXX","identifierLabel":"SWIFT/BIC","readAs":"bic","member":"cpIdentifiers[0]","outcome":"possible","why":"the countries differ"}],`+
		`"places":[{"member":"cpCountry","read":"IR","outcome":"exempt","exemption":"gl-8"},{"member":"cpIdentifiers[0].country","outcome":"unread"}]}`)))
	for _, row := range []string{"payerWallet 0xAB", "cpCountry Iran", "cpAddress Tehran 5", "originCountry FR", "memo rent", "place cpCountry: IR, exempt gl-8", "place cpIdentifiers[0].country: cannot be read, unread",
		"payer 0xAB 0xab 1 LAZARUS SDN", "fee 0xcd 0xcd 1 LAZARUS", "counterparty cpIdentifiers[0] as bic SWIFT/BIC QUUXIRTHXXX 2 BANK SDN", "possible: the countries differ"} {
		require.Contains(t, strings.Join(strings.Fields(out.String()), " "), row)
	}
}

// An explanation is shown with its payment and with the threshold of a score. A key that may
// not read one of them gets the rest.
func TestExplanationsForPersons(t *testing.T) {
	record := `{"verdict":"REVIEW","txnId":"txn_1","agentName":"Bot","_request":{"amount":120,"cpName":"Nikolas Maduro"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/audit/txn_1/explain":
			fmt.Fprint(w, `{"txnId":"txn_1","policyVersion":1,"matches":[{"party":"counterparty","name":"MADURO MOROS, Nicolas","score":0.9312}],"ladder":[]}`)
		case "/v1/audit/txn_1":
			fmt.Fprint(w, record)
		case "/v1/policy":
			fmt.Fprint(w, `{"policyVersion":1,"policy":null}`)
		}
	}))
	defer server.Close()
	explained := func() string {
		var out bytes.Buffer
		root := newRoot()
		root.SetOut(&out)
		root.SetArgs([]string{"audit", "explain", "txn_1", "--url", server.URL, "--key", "k"})
		require.NoError(t, root.Execute())
		return out.String()
	}
	text := explained()
	for _, word := range []string{"120 USD", "Nikolas Maduro  MADURO MOROS, Nicolas", "0.9312  0.875"} {
		require.Contains(t, text, word)
	}
	record = `no record`
	require.Contains(t, explained(), "0.9312  0.875")
}

// An object inside an answer is shown as a table, too.
func TestNestedAnswers(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, showAnswer(&out, []byte(`{"active":{"snapshotId":"snp_1","counts":{"entries":100,"sdn":90}},"added":{"count":1,"entries":[{"uid":"7","name":"X","why":{"a":1}}]},"staged":[]}`), "table", nil))
	require.Equal(t, "active        \n  snapshotId  snp_1\n  counts      \n    entries   100\n    sdn       90\nadded         \n  count       1\n  entries     1, below\nstaged        []\n\nadded.entries:\nUID  NAME  WHY\n7    X     a 1\n", out.String())
}

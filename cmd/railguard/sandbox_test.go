package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

// sandboxRow is a line of the table in docs/sandbox.md about a 503: a name, a status, the answer,
// and the end of a wallet address.
var sandboxRow = regexp.MustCompile("(?m)^\\| `(SANDBOX [^`]+)` \\| ([0-9]+) \\| ([A-Za-z_]+) \\| `([A-Za-z0-9_]+)` \\| .* \\| …([0-9]{4}) \\|$")

// sandboxServer is a running sandbox: its address and a function that calls it.
func sandboxServer(t *testing.T) func(path, key string, body any) (int, map[string]any, http.Header) {
	p, secret := newPark(t, 1), seal.NewTestSecret()
	node := p.machines[0]
	node.env = []string{"RAILGUARD_BOOTSTRAP_KEY=" + secret}
	p.start(node, "--dev", "--sandbox", "--bootstrap-expect", "1", "--public-url", p.url(node))
	p.awaitReady(node, "")
	return func(path, key string, body any) (int, map[string]any, http.Header) {
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url(node)+path, bytes.NewReader(raw))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+secret)
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		answer := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
		return response.StatusCode, answer, response.Header
	}
}

// sandboxRows are the answers that docs/sandbox.md promises: one for each rule, which the page
// gives by an example, and its lines about a 503.
func sandboxRows(t *testing.T) (rows [][]string) {
	page, err := os.ReadFile("../../docs/sandbox.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "\n| `SANDBOX R7` | 200 | that of the rule, here BLOCK | the rule of that number, here `R7_COUNTERPARTY_NAME_OFAC` |  | …0007 |\n")
	for i := range engine.Rules {
		rule := &engine.Rules[i]
		rows = append(rows, []string{"", fmt.Sprintf("SANDBOX R%d", rule.ID), "200", rule.Verdict.String(), rule.Code, fmt.Sprintf("%04d", rule.ID)})
	}
	return append(rows, sandboxRow.FindAllStringSubmatch(string(page), -1)...)
}

// A running server keeps every line of docs/sandbox.md. Every 503 of a screening call has a
// line.
func TestSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts the server")
	}
	rows, call := sandboxRows(t), sandboxServer(t)
	_, agent, _ := call("/v1/agents/register", "", map[string]any{"agentName": "a", "agentType": "supervised", "operatorLegalName": "Acme Robotics Inc", "purpose": "p"})
	token, _ := agent["token"].(string)
	require.NotEmpty(t, token)
	pay := func(key, name string) (int, map[string]any, http.Header) {
		return call("/v1/screen", key, map[string]any{"token": token, "amount": 1, "cpName": name})
	}
	status, answer, _ := pay("", "Somebody Else")
	require.Equal(t, 200, status)
	require.Equal(t, "PROCEED", answer["verdict"], "%v", answer)
	seen := map[string]bool{}
	for _, row := range rows {
		sandboxBatchAndDryRun(t, call, token, row)
		_, answer, _ := call("/v1/screen", row[1]+" wallet", map[string]any{"token": token, "amount": 1, "cpWallet": "0x" + strings.Repeat("5", 36) + row[5]})
		require.Contains(t, []any{answer["rule"], answer["code"]}, row[4], "by its wallet: %v", answer)
		status, answer, header := pay(row[1], row[1])
		seen[row[4]] = true
		if row[2] == "200" {
			require.Equal(t, []any{200, row[3], row[4]}, []any{status, answer["verdict"], answer["rule"]}, row[1])
			continue
		}
		require.Equal(t, []any{row[2], row[4]}, []any{"503", answer["code"]}, row[1])
		require.Equal(t, 503, status)
		require.Equal(t, row[3], header.Get("X-Railguard-Outcome"), row[1])
		if row[4] == "outcome_unknown" {
			status, answer, header := pay(row[1], row[1])
			require.Equal(t, []any{200, "PROCEED", "true"}, []any{status, answer["verdict"], header.Get("Idempotent-Replayed")}, "the same key finds what happened")
		}
	}
	for _, code := range []string{"no_quorum", "no_leader", "sanctions_data_unavailable", "overloaded", "storage_low", "shutting_down", "outcome_unknown"} {
		require.True(t, seen[code], code)
	}
}

// sandboxBatchAndDryRun asks for a row of the table in a batch, twice, and in a dry run.
func sandboxBatchAndDryRun(t *testing.T, call func(path, key string, body any) (int, map[string]any, http.Header), token string, row []string) {
	payment := map[string]any{"token": token, "amount": 1, "cpName": row[1]}
	status, answer, header := call("/v1/screen/dry-run", "", payment)
	switch {
	case row[2] == "200":
		require.Equal(t, []any{200, row[3], row[4]}, []any{status, answer["verdict"], answer["rule"]}, row[1])
	case row[3] == "unknown":
		require.Equal(t, []any{200, "PROCEED"}, []any{status, answer["verdict"]}, row[1])
	default:
		require.Equal(t, []any{503, row[4], row[3]}, []any{status, answer["code"], header.Get("X-Railguard-Outcome")}, row[1])
	}
	one := map[string]any{"token": token, "amount": 1, "cpName": row[1], "idempotencyKey": row[1] + " batch"}
	for again := range 2 {
		status, answer, _ = call("/v1/screen/batch", "", map[string]any{"payments": []any{payment, one}})
		require.Equal(t, 200, status)
		results, _ := answer["results"].([]any)
		require.Len(t, results, 2)
		for i := range results {
			result, _ := results[i].(map[string]any)
			switch {
			case row[2] == "200":
				require.Equal(t, []any{200.0, row[3], row[4]}, []any{result["status"], result["verdict"], result["rule"]}, row[1])
			case row[3] == "unknown" && i == 1 && again == 1:
				require.Equal(t, []any{200.0, "PROCEED", true}, []any{result["status"], result["verdict"], result["replayed"]}, "the same key finds what happened")
			default:
				require.Equal(t, []any{503.0, row[4], row[3]}, []any{result["status"], result["code"], result["outcome"]}, row[1])
			}
		}
	}
}

// A cluster is a sandbox from its forming on. No other cluster can become one, and a sandbox
// cannot start as anything else.
func TestASandboxStaysApart(t *testing.T) {
	f := &serveFlags{id: "n1", data: t.TempDir(), http: "127.0.0.1:0"}
	f.sandbox = true
	require.ErrorContains(t, f.checkSettings(), "development")
	f.sandbox, f.issuer = false, strings.TrimPrefix(seal.SandboxIssuer, "did:kya:")
	require.ErrorContains(t, f.checkSettings(), "sandbox")
	s := &server{flags: &serveFlags{}}
	serious, dev := &wire.Genesis{ClusterID: "c", Issuer: "did:kya:railguard"}, &wire.Genesis{ClusterID: "c", Issuer: "did:kya:railguard", Dev: true}
	box := &wire.Genesis{ClusterID: "c", Issuer: seal.SandboxIssuer, Dev: true}
	require.NoError(t, s.checkSandbox(serious))
	require.NoError(t, s.checkSandbox(dev))
	require.ErrorContains(t, s.checkSandbox(box), "is a sandbox")
	s.flags.sandbox = true
	require.NoError(t, s.checkSandbox(box))
	for _, other := range []*wire.Genesis{serious, dev, {ClusterID: "c", Issuer: seal.SandboxIssuer}} {
		require.ErrorContains(t, s.checkSandbox(other), "is none")
	}
}

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/engine"
)

// sandboxRow is an answer that docs/sandbox.md promises.
type sandboxRow struct {
	name, status, word, code, wallet string
}

var sandboxLine = regexp.MustCompile("(?m)^\\| `(SANDBOX [^`]+)` \\| ([0-9]+) \\| ([A-Za-z_]+) \\| `([A-Za-z0-9_]+)` \\| .* \\| …([0-9]{4}) \\|$")

// sandboxRows returns one row for each rule, which the page gives by an example, and the page's
// lines about a 503.
func sandboxRows(t *testing.T) (rows []sandboxRow) {
	for i := range engine.Rules {
		rule := &engine.Rules[i]
		rows = append(rows, sandboxRow{fmt.Sprintf("SANDBOX R%d", rule.ID), "200", rule.Verdict.String(), rule.Code, fmt.Sprintf("0x%s%04d", strings.Repeat("5", 36), rule.ID)})
	}
	page, err := os.ReadFile("../../docs/sandbox.md")
	require.NoError(t, err)
	for _, found := range sandboxLine.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, sandboxRow{found[1], found[2], found[3], found[4], "0x" + strings.Repeat("5", 36) + found[5]})
	}
	require.Len(t, rows, len(engine.Rules)+8, "each rule and 8 outages")
	return rows
}

// sandboxJob has a client screen each row's name.
type sandboxJob struct {
	Do     string   `json:"do"`
	URLs   []string `json:"urls"`
	Key    string   `json:"key"`
	Token  string   `json:"token"`
	Prefix string   `json:"prefix"`
	Names  []string `json:"names"`
}

// told returns the six results of a client for the row: a screening with one attempt,
// another with the same key, one with two attempts, a dry run, a batch with one attempt,
// and a batch with two.
func (r *sandboxRow) told() []string {
	same := func(text string) []string { return []string{text, text, text, text, text, text} }
	switch {
	case r.status == "200":
		return same(r.word + " " + r.code)
	case r.word == "unknown":
		lost := "503 " + r.code + " unknown after 1"
		return []string{lost, "PROCEED -", "PROCEED -", "PROCEED -", lost, "PROCEED -"}
	}
	once := same("503 " + r.code + " none after 1")
	once[2] = "503 " + r.code + " none after 2"
	return once
}

// TestSandbox: each client walks the table of docs/sandbox.md and meets each verdict and
// each typed error; so do MCP and x402. Each example runs in a sandbox too.
func TestSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	rows := sandboxRows(t)
	chain := httptest.NewServer(&x402Chain{paid: map[string]string{}, to: map[string]int{}})
	defer chain.Close()
	servers := startCluster(t, 1, "--sandbox", "--mcp", "--x402-upstream", chain.URL)
	require.True(t, strings.HasPrefix(servers.Key, "rg_test_"), "a sandbox's keys show what they are")
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "tester", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "tests"})
	require.NoError(t, err)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			job := sandboxJob{Do: "sandbox", URLs: servers.URLs(), Key: servers.Key, Token: agent.Token, Prefix: l.name}
			for i := range rows {
				job.Names = append(job.Names, rows[i].name)
			}
			var told [][]string
			if l.name == "go" {
				told = sandboxGo(t, &job)
			} else {
				require.NoError(t, run(t.Context(), l.command(t, "drive"), job, &told))
			}
			require.Len(t, told, len(rows))
			for i := range rows {
				require.Equal(t, rows[i].told(), told[i], rows[i].name)
			}
		})
	}
	settler := servers.settlerKey(t)
	for _, l := range languages {
		t.Run(l.name+" afternoon", func(t *testing.T) {
			spend(t, l, "RAILGUARD_URL="+servers.URLs()[0], "RAILGUARD_KEY="+servers.Key, "RAILGUARD_SETTLER_KEY="+settler, "RAILGUARD_ISSUER=railguard-sandbox")
		})
	}
	t.Run("mcp", func(t *testing.T) { sandboxMCP(t, servers, agent.Token, rows) })
	t.Run("x402", func(t *testing.T) { sandboxX402(t, servers, agent.Token, rows) })
}

func sandboxGo(t *testing.T, job *sandboxJob) (rows [][]string) {
	hasty, err := client.New(client.Options{Addresses: job.URLs, Key: job.Key, Attempts: 1})
	require.NoError(t, err)
	patient, err := client.New(client.Options{Addresses: job.URLs, Key: job.Key, Attempts: 2, Wait: func(context.Context, time.Duration) error { return nil }})
	require.NoError(t, err)
	seen := func(verdict *client.Verdict, err error) string {
		var failure *client.Error
		if errors.As(err, &failure) {
			return fmt.Sprintf("%d %s %s after %d", failure.Status, failure.Code, failure.Outcome, failure.Attempts)
		}
		require.NoError(t, err)
		return verdict.Verdict + " " + ruleOf(verdict.Rule)
	}
	for _, name := range job.Names {
		payment := client.Payment{Token: job.Token, Amount: 100_000, CounterpartyName: name}
		keyed := payment
		keyed.IdempotencyKey = job.Prefix + name
		row := []string{seen(hasty.Screen(t.Context(), &keyed)), seen(hasty.Screen(t.Context(), &keyed)), seen(patient.Screen(t.Context(), &payment))}
		dry, err := hasty.DryRun(t.Context(), &payment)
		if err != nil {
			row = append(row, seen(nil, err))
		} else {
			row = append(row, dry.Verdict.Verdict+" "+ruleOf(dry.Rule))
		}
		for _, rail := range []*client.Client{hasty, patient} {
			results, err := rail.Batch(t.Context(), []client.Payment{payment})
			require.NoError(t, err)
			if results[0].Error != nil {
				row = append(row, seen(nil, results[0].Error))
			} else {
				row = append(row, seen(results[0].Verdict, nil))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// ruleOf returns a rule, or "-" if there is none.
func ruleOf(rule string) string {
	if rule == "" {
		return "-"
	}
	return rule
}

// sandboxMCP calls the tools: a verdict is a result, an outage an error.
func sandboxMCP(t *testing.T, servers *cluster, token string, rows []sandboxRow) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: servers.URLs()[0] + "/mcp", HTTPClient: &http.Client{Transport: keyed(servers.Key)}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	defer session.Close()
	call := func(tool string, arguments map[string]any) (map[string]any, bool) {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		members, ok := result.StructuredContent.(map[string]any)
		require.True(t, ok)
		if result.IsError {
			text, _ := result.Content[0].(*mcp.TextContent)
			require.True(t, strings.HasPrefix(text.Text, "No verdict: do not pay"), text.Text)
		}
		return members, result.IsError
	}
	for i := range rows {
		row := &rows[i]
		payment := map[string]any{"token": token, "amount": 1, "cpName": row.name}
		tried, failed := call("dry_run", payment)
		payment["idempotencyKey"] = "mcp" + row.name
		told, outage := call("screen", payment)
		switch {
		case row.status == "200":
			require.Equal(t, []any{false, row.word, row.code}, []any{outage, told["verdict"], told["rule"]})
			require.Equal(t, []any{false, row.word, row.code}, []any{failed, tried["verdict"], tried["rule"]})
		case row.word == "unknown":
			require.Equal(t, []any{true, row.code, row.word}, []any{outage, told["code"], told["outcome"]})
			again, outage := call("screen", payment)
			require.Equal(t, []any{false, "PROCEED"}, []any{outage, again["verdict"]}, "the same key finds it")
			require.Equal(t, []any{false, "PROCEED"}, []any{failed, tried["verdict"]})
		default:
			require.Equal(t, []any{true, row.code, row.word}, []any{outage, told["code"], told["outcome"]})
			require.Equal(t, []any{true, row.code, row.word}, []any{failed, tried["code"], tried["outcome"]})
		}
	}
}

// sandboxX402 verifies a payment to each wallet of the table, all at once, since an outage
// takes 8 seconds.
func sandboxX402(t *testing.T, servers *cluster, token string, rows []sandboxRow) {
	answers, failures := make([]map[string]any, len(rows)), make([]error, len(rows))
	var callers sync.WaitGroup
	for i := range rows {
		callers.Add(1)
		go func() {
			defer callers.Done()
			answers[i], failures[i] = servers.x402(t.Context(), "verify", token, rows[i].wallet, i+1)
		}()
	}
	callers.Wait()
	for i := range rows {
		require.NoError(t, failures[i], rows[i].name)
		want := []any{false, "railguard_" + strings.ToLower(rows[i].word)}
		switch {
		case rows[i].word == "unknown":
			want = []any{true, nil}
		case rows[i].status == "503":
			want[1] = "railguard_unavailable"
		}
		require.Equal(t, want, []any{answers[i]["isValid"], answers[i]["invalidReason"]}, "%s: %v", rows[i].name, answers[i])
	}
}

// x402 asks to verify or settle one payment of 2.50 dollars as a resource server does.
func (c *cluster) x402(ctx context.Context, what, token, payee string, nonce int) (map[string]any, error) {
	requirements := map[string]any{
		"scheme": "exact", "network": "eip155:8453", "amount": "2500000", "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "payTo": payee,
		"maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USDC", "version": "2"},
	}
	body, err := json.Marshal(map[string]any{
		"x402Version": 2, "paymentRequirements": requirements,
		"paymentPayload": map[string]any{
			"x402Version": 2, "resource": map[string]any{"url": "https://shop.example.org/report"}, "accepted": requirements,
			"payload": map[string]any{"signature": "0x00", "authorization": map[string]any{
				"from": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "to": payee, "value": "2500000", "validAfter": "1", "validBefore": "2", "nonce": fmt.Sprintf("0x%064x", nonce),
			}},
			"extensions": map[string]any{"railguard": map[string]any{"info": map[string]any{"token": token}}},
		},
	})
	if err != nil {
		return nil, err
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URLs()[0]+"/x402/"+what, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	call.Header.Set("Authorization", "Bearer "+c.Key)
	call.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%d %s: %w", answer.StatusCode, raw, err)
	}
	told := map[string]any{}
	return told, json.Unmarshal(raw, &told)
}

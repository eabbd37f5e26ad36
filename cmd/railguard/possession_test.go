package main

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/possession"
)

// provenAgent is an agent of these tests with a key of its own, whose calls must be proven.
func provenAgent(t *testing.T) (key ed25519.PrivateKey, members string) {
	t.Helper()
	key = ed25519.NewKeyFromSeed([]byte("the key of an agent of the tests"))
	public, err := possession.KeyFrom(key.Public())
	require.NoError(t, err)
	return key, `,"publicKey":` + string(public.AppendJWK(nil)) + `,"possession":"required"`
}

// proofOf returns the proof of a request.
func proofOf(t *testing.T, key ed25519.PrivateKey, act, id, request string, at time.Time) string {
	t.Helper()
	hash, err := new(possession.Canonicaliser).RequestHash([]byte(request), engine.JSONDepthMax)
	require.NoError(t, err)
	proof, err := possession.Sign(&possession.Claims{Audience: "https://pay.example.com", Act: act, IssuedAt: engine.Time(at.UnixNano()), ID: id, Request: hash}, key)
	require.NoError(t, err)
	return proof
}

// TestMCPTakesProofs (statement P28): the tools take a proof over their other arguments; a stolen token without
// the key is worth nothing.
func TestMCPTakesProofs(t *testing.T) {
	d := newAgentDesk(t)
	s, err := d.session(d.node.newKey(t, `{"name":"agents","roles":["screener"]}`))
	require.NoError(t, err)
	defer s.Close()
	key, members := provenAgent(t)
	registered := d.node.must(t, 201, "POST", "/v1/agents/register",
		`{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays"`+members+`}`)
	payment := `{"token":"` + registered["token"].(string) + `","amount":12.5,"cpName":"Corner Shop"`
	call := func(tool, act, id, more string) toolAnswer {
		t.Helper()
		arguments := payment + more
		if act != "" {
			arguments += `,"proof":"` + proofOf(t, key, act, id, arguments+"}", time.Now()) + `"`
		}
		return d.tool(s, tool, json.RawMessage(arguments+"}"))
	}
	first := call("screen", "screen", "first-over-mcp-000001", "")
	require.Equal(t, "PROCEED", first.members["verdict"], first.text)
	again := call("screen", "screen", "first-over-mcp-000001", "")
	require.Equal(t, first.members["txnId"], again.members["txnId"], "the proof's id is the idempotencyKey")
	require.Equal(t, "PROCEED", call("screen", "screen", "second-over-mcp-00001", `,"idempotencyKey":"second-over-mcp-00001"`).members["verdict"])
	require.Equal(t, "bad_request", call("screen", "screen", "third-over-mcp-000001", `,"idempotencyKey":"another"`).members["code"])
	require.Equal(t, "UNKNOWN", call("screen", "", "", `,"idempotencyKey":"stolen"`).members["verdict"])
	require.Equal(t, "UNKNOWN", call("screen", "dry_run", "fourth-over-mcp-00001", "").members["verdict"])
	require.Equal(t, "missing_field", call("screen", "", "", "").members["code"])
	require.Equal(t, "PROCEED", call("dry_run", "dry_run", "fifth-over-mcp-000001", "").members["verdict"])
	require.Equal(t, "UNKNOWN", call("dry_run", "", "", "").members["verdict"])
	stolen := d.tool(s, "get_limits", map[string]any{"token": registered["token"]})
	require.True(t, stolen.failed, "a stolen token tells no limits")
	require.Contains(t, stolen.members["message"], "does not prove")
	limits := func(act, over string) toolAnswer {
		proof := proofOf(t, key, act, "limits-over-mcp-00001", over, time.Now())
		return d.tool(s, "get_limits", map[string]any{"token": registered["token"], "proof": proof})
	}
	whole := `{"token":"` + registered["token"].(string) + `"}`
	require.Equal(t, 25.0, limits("dry_run", whole).members["spentUSDC"])
	require.True(t, limits("screen", whole).failed, "a proof for another act")
	require.True(t, limits("dry_run", payment+"}").failed, "a proof for a payment")
}

// x402Proven (statement P28): a payment over x402 takes a proof over what the payer accepted and signed.
func x402Proven(t *testing.T, g *guarded) {
	key, members := provenAgent(t)
	agent, token := g.payer(members)
	proven := func(version int, change func(string) string) string {
		body := g.payment(token, "1000000")
		body.version = version
		var sent struct {
			PaymentPayload struct {
				Accepted json.RawMessage `json:"accepted,omitempty"`
				Payload  json.RawMessage `json:"payload"`
			} `json:"paymentPayload"`
		}
		require.NoError(t, json.Unmarshal([]byte(body.String()), &sent))
		signed, err := json.Marshal(sent.PaymentPayload)
		require.NoError(t, err)
		proof := proofOf(t, key, "x402", fmt.Sprintf("a-payment-over-x402-%d", g.nonce), string(signed), time.Now().Add(time.Duration(g.ahead.Load())))
		return strings.Replace(change(body.String()), `"info":{"token"`, `"info":{"proof":"`+proof+`","token"`, 1)
	}
	same := func(body string) string { return body }
	for version := 1; version <= 2; version++ {
		body := proven(version, same)
		verified := x402Call(t, g.doors["n1"], "/verify", body)
		require.True(t, verified.IsValid, "%+v", verified)
		settled := x402Call(t, g.doors["n2"], "/settle", body)
		require.True(t, settled.Success, "%+v", settled)
	}
	spent, _ := g.counted(agent)
	require.EqualValues(t, 2, spent)
	for _, body := range []string{
		g.payment(token, "1000000").String(), // Stolen.
		proven(2, func(body string) string { return strings.ReplaceAll(body, `"1000000"`, `"2000000"`) }),
	} {
		answer := x402Call(t, g.doors["n1"], "/verify", body)
		require.Equal(t, "R1_NO_CREDENTIAL", answer.Extensions.Railguard.Rule, "%+v", answer)
		require.Equal(t, "railguard_unknown", x402Call(t, g.doors["n1"], "/settle", body).ErrorReason)
	}
}

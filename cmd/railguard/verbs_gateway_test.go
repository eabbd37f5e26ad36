package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"railguard/httpapi/gateway"
	"railguard/seal"
)

const testGatewayMap = `version: 1
profiles:
  shop:
    mode: permit
    audience: https://shop.example.com
    routes:
    - match: {method: POST, path: /orders}
      amount: {pointer: /total, scale: 2}
      payee: {pointer: /to}
      ref: {header: order}
      constants: {currency: USD}
    - match: {method: GET, path: /orders/*}
      allow: true
  agents:
    mode: screen
    routes:
    - match: {method: POST, path: /pay}
      token: {header: x-railguard-token}
      amount: {pointer: /amount}
      payee: {pointer: /to}
      payer: {pointer: /from}
      permit: {aud: https://shop.example.com}
      constants: {chain: BASE}
`

// writeGatewayFile writes a file of a test and returns its path.
func writeGatewayFile(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A server with a map that it cannot read does not start.
func TestGatewaySettings(t *testing.T) {
	good := writeGatewayFile(t, "map.yaml", testGatewayMap)
	for file, wrong := range map[string]string{
		good:           "",
		good + ".away": "--gateway-map: open",
		t.TempDir():    "--gateway-map: ",
		writeGatewayFile(t, "wrong.yaml", strings.Replace(testGatewayMap, "currency: USD", "chain: BASE", 1)): "profiles.shop.routes[0].currency: is required in mode permit",
	} {
		f := &serveFlags{}
		set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		f.defineFlags(set)
		require.NoError(t, set.Parse([]string{"--gateway-map=" + file, "--id=n1", "--data=x"}))
		err := f.checkSettings()
		if wrong == "" {
			require.NoError(t, err)
			require.Len(t, f.gatewayDigest(), 64)
			continue
		}
		require.ErrorContains(t, err, wrong)
		coded := new(exitError)
		require.ErrorAs(t, err, &coded)
		require.Equal(t, exitUsage, coded.code)
		require.ErrorContains(t, runDev(t.Context(), &devFlags{nodes: 1, httpBase: 8080, gatewayMap: file, data: t.TempDir()}, nil), wrong, "nothing is started")
	}
	require.Empty(t, (&guestFlags{}).gatewayDigest())
}

func TestGatewayCheck(t *testing.T) {
	good := writeGatewayFile(t, "map.yaml", testGatewayMap)
	order := writeGatewayFile(t, "order.json", `{"total":2500,"to":"0x2"}`)
	run := func(args ...string) (string, error) {
		var out strings.Builder
		cmd := newGateway()
		cmd.SetOut(&out)
		cmd.SetIn(strings.NewReader(`{"total":100,"to":"0x3"}`))
		cmd.SetArgs(append([]string{"check"}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	said, err := run(good)
	require.NoError(t, err)
	require.Regexp(t, `^ok: 2 profiles, 3 routes, SHA-256 [0-9a-f]{64}\n$`, said)
	said, err = run(good, "-o", "json")
	require.NoError(t, err)
	require.Contains(t, said, `"good":true,"profiles":2,"routes":3,"sha256":"`)
	said, err = run(good, "--profile", "shop", "--path", "/orders", "--header", "Order: inv-7", "--header", "content-type: application/json", "--body", order)
	require.NoError(t, err)
	require.Equal(t, "permit: POST /orders\n  amount        25.00\n  currency      USD\n  payee         0x2\n  ref           inv-7\n", said)
	said, err = run(good, "--profile", "shop", "--path", "/orders", "--header", "Order: inv-7", "--header", "content-type: application/json", "--body", "-", "-o", "json")
	require.NoError(t, err)
	require.Contains(t, said, `{"name":"amount","value":"1.00"}`)
	said, err = run(good, "--profile", "shop", "--path", "/orders/7", "--method", "GET")
	require.NoError(t, err)
	require.Equal(t, "unasked: GET /orders/*\n", said)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{good, "--profile", "shop", "--path", "/orders", "--header", "content-type: application/json", "--body", order}, exitFailed, "ref: the header Order must be there once"},
		{[]string{good, "--profile", "shop", "--path", "/orders", "--header", "Order: inv-7", "--body", order}, exitFailed, "must be sent with content-type"},
		{[]string{good, "--profile", "shop", "--path", "/orders?x=1", "--body", order}, exitFailed, "a route takes no query"},
		{[]string{good, "--profile", "nobody", "--path", "/orders"}, exitFailed, "no such profile"},
		{[]string{good, "--profile", "shop"}, exitUsage, "go together"},
		{[]string{good, "--body", order}, exitUsage, "are of a request"},
		{[]string{good, "--profile", "shop", "--path", "orders"}, exitUsage, "must begin with /"},
		{[]string{good, "--profile", "shop", "--path", "/orders", "--header", "x"}, exitUsage, "name: value"},
		{[]string{good, "--profile", "shop", "--path", "/orders", "--body", order + ".away"}, exitUsage, "--body"},
		{[]string{good, "-o", "xml"}, exitUsage, "table or json"},
		{[]string{good + ".away"}, exitUsage, "no such file"},
		{[]string{order}, exitUsage, "field total not found"},
		{nil, exitUsage, "one FILE"},
	} {
		_, err := run(c.args...)
		require.ErrorContains(t, err, c.says)
		coded := new(exitError)
		require.ErrorAs(t, err, &coded)
		require.Equal(t, c.code, coded.code, c.args)
	}
}

// A real node's room for gateways knows the permits that the node makes, and only its own.
func TestGatewayOfANode(t *testing.T) {
	d := newAgentDesk(t)
	f := &serveFlags{guestFlags: guestFlags{mcp: true, gatewayFile: writeGatewayFile(t, "map.yaml", testGatewayMap)}}
	require.NoError(t, f.guestFlags.checkSettings())
	s := &server{node: d.node.node}
	front, err := f.addGuests(d.node.api.Handler(), d.node.api.AdminHandler(), seal.NewSecrets([]byte(groupSecret)), nil, func() string { return "" }, s.trustedPermits, nil)
	require.NoError(t, err)
	for path, want := range map[string]int{"/mcp": 401, "/ext-authz/shop/orders": 401, "/ext-authz": 404, "/v1/screen": 401} {
		require.Equal(t, want, x402Do(front, "", "POST", path, "{}").Code, path)
	}
	key := d.node.newKey(t, `{"name":"an Envoy","roles":["gateway"],"caller":"new"}`)
	ask := func(target, body string, headers ...string) *httptest.ResponseRecorder {
		return x402Do(front, key, "POST", gateway.Root+target, body, append(headers, "Content-Type", "application/json")...)
	}
	const payee, payer = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x857B06519E91E3A54538791BDBB0E22373E36B66"
	token := d.node.token(t)
	w := ask("agents/pay", `{"amount":25,"to":"`+payee+`","from":"`+payer+`"}`, "X-Railguard-Token", token)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	leave := w.Header().Get("Railguard-Permit")
	require.NotEmpty(t, leave)
	w = ask("shop/orders", `{"total":2501,"to":"`+payee+`"}`, "Order", "x", "Railguard-Permit", leave)
	require.Equal(t, "permit_mismatch", w.Header().Get("X-Railguard-Error"), "%d %s", w.Code, w.Body.String())
	w = ask("shop/orders", `{"total":2500,"to":"`+payee+`"}`, "Order", "x", "Railguard-Permit", leave[:len(leave)-4]+"AAAA")
	require.Equal(t, "permit_invalid", w.Header().Get("X-Railguard-Error"))
	w = ask("shop/orders", `{"total":2500,"to":"`+payee+`"}`, "Order", "x", "Railguard-Permit", leave)
	require.Equal(t, "permit_mismatch", w.Header().Get("X-Railguard-Error"), "the permit has no ref")
	status, _ := serveCall(front, key, "GET", "/v1/key", "")
	require.Equal(t, http.StatusForbidden, status)
}

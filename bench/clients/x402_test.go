package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// x402Chain is a facilitator that settles each nonce once, and counts.
type x402Chain struct {
	mutex sync.Mutex
	paid  map[string]string // Transactions by nonce.
	to    map[string]int    // Transactions by payee.
}

func (c *x402Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Payload struct {
			Payload struct {
				Authorization struct{ From, To, Nonce string }
			}
		} `json:"paymentPayload"`
	}
	_ = json.NewDecoder(r.Body).Decode(&call)
	signed := call.Payload.Payload.Authorization
	c.mutex.Lock()
	defer c.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/supported":
		_, _ = io.WriteString(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}],"extensions":[],"signers":{}}`)
	case "/verify":
		fmt.Fprintf(w, `{"isValid":true,"payer":%q}`, signed.From)
	case "/settle":
		if c.paid[signed.Nonce] != "" {
			fmt.Fprintf(w, `{"success":false,"errorReason":"nonce_used","payer":%q,"transaction":"","network":"eip155:8453"}`, signed.From)
			return
		}
		c.to[signed.To]++
		c.paid[signed.Nonce] = fmt.Sprintf("0x%04x", len(c.paid)+1)
		fmt.Fprintf(w, `{"success":true,"payer":%q,"transaction":%q,"network":"eip155:8453"}`, signed.From, c.paid[signed.Nonce])
	}
}

// lies are answers, by name, that must not lead to a payment. aborts is what guardFacilitator of
// client/x402 reports for the lie; "": it reports that there is no verdict.
var lies = map[string]struct {
	status       int
	body, aborts string
}{
	"an empty object":     {200, `{}`, "not settled: railguard_undefined"},
	"an unknown verdict":  {200, `{"verdict":"MAYBE","txnId":"txn_1"}`, "not settled: railguard_maybe"},
	"a list that has it":  {200, `{"verdict":["PROCEED"],"txnId":"txn_1"}`, "not settled: railguard_proceed"},
	"garbage":             {200, "\x00\xff<", ""},
	"half an answer":      {200, `{"verdict":"PROCEED","txnId":`, ""},
	"in small letters":    {200, `{"verdict":"proceed","txnId":"txn_1"}`, "not settled: railguard_proceed"},
	"null":                {200, `null`, ""},
	"of a login page":     {200, `<html>PROCEED</html>`, ""},
	"redirected":          {307, `{"verdict":"PROCEED","txnId":"txn_1"}`, ""},
	"slower than a hook":  {0, "", ""},
	"with a server error": {500, `{"verdict":"PROCEED","txnId":"txn_1"}`, ""},
}

// liar answers every call below a lie's name with that lie. A redirect leads to a path
// that answers PROCEED.
func liar(ctx context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		lie, known := lies[name]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !known:
			_, _ = io.WriteString(w, `{"verdict":"PROCEED","txnId":"txn_1"}`)
			return
		case lie.status == 0:
			_, _ = io.Copy(io.Discard, r.Body) // Otherwise the server does not see the caller go.
			select {
			case <-r.Context().Done():
			case <-ctx.Done():
			}
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(lie.status)
		_, _ = io.WriteString(w, lie.body)
	})
}

// TestX402Package pays through the package that resource servers use: with Railguard in place of its
// facilitator, and before another one. No failure of Railguard may lead to a payment.
func TestX402Package(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	node, folder := x402Folder(t)
	behind := &x402Chain{paid: map[string]string{}, to: map[string]int{}}
	chain := httptest.NewServer(behind)
	defer chain.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	defer silent.Close()
	liar := httptest.NewServer(liar(t.Context()))
	defer liar.Close()
	t.Setenv("RAILGUARD_X402_UPSTREAM", chain.URL)
	servers := startCluster(t, 1)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	register := func() *client.Registration {
		agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays"})
		require.NoError(t, err)
		return agent
	}
	payer, blocked := register(), register()
	_, err = rail.Suspend(t.Context(), blocked.AgentID, "found out")
	require.NoError(t, err)

	servers.writeFacilitator(t, folder)
	printed := runScript(t, node, folder, "x402.mjs", "RAILGUARD_URL="+servers.URLs()[0], "RAILGUARD_KEY="+servers.Key, "CHAIN_URL="+chain.URL, "DEAF_URL="+silent.URL,
		"LIAR_URL="+liar.URL, "LIES="+strings.Join(slices.Sorted(maps.Keys(lies)), ","), "TOKEN="+payer.Token, "BLOCKED="+blocked.Token)
	const unavailable, missing, refused = "not settled: railguard_unavailable", "not settled: railguard_credential_missing", "not settled: railguard_refused"
	const never = unavailable + "; " + unavailable + "; " + missing + "; " + unavailable + "; " + refused
	want := []string{
		"facilitator settled 0001",
		"facilitator settled 0002 not settled: duplicate_settlement",
		"facilitator not valid: railguard_block",
		"facilitator not settled: railguard_block",
		"facilitator not valid: railguard_credential_missing",
		"facilitator not valid: railguard_block",
		"extensions true",
		"guard: settled 0003; not settled: railguard_block; " + missing + "; not settled: railguard_block; " + refused,
		"guard without Railguard: " + never,
		"guard at a wrong address: " + never,
		"guard without an address: " + never,
		"guard, twice: settled 0004 not settled: duplicate_settlement",
	}
	for _, changed := range []string{
		"another payee", "another amount", "another asset", "another network", "another scheme", "a second authorization", "a payer that is no address", "an amount that is none",
		"an amount beyond all", "no payload",
	} {
		want = append(want, "guard, "+changed+": railguard_refused")
	}
	for _, lie := range slices.Sorted(maps.Keys(lies)) {
		want = append(want, "guard, "+lie+": "+cmp.Or(lies[lie].aborts, unavailable))
	}
	require.Equal(t, want, strings.Split(strings.TrimSpace(printed), "\n"))
	require.Equal(t, map[string]int{"0x209693Bc6afc0C5328bA36FaF03C514EF312287C": 4}, behind.to, "nobody else was paid")
	limits, err := rail.Limits(t.Context(), payer.AgentID)
	require.NoError(t, err)
	require.Equal(t, "10", limits.SpentUSDC.String())
	require.Equal(t, "0", limits.HeldUSDC.String())
}

// writeFacilitator writes the resource server's code of docs/x402.md as a module of a folder, with a
// node's address in place of the example's.
func (c *cluster) writeFacilitator(t *testing.T, folder string) {
	const example = "https://guard.example.org"
	block := documentBlock(t, "../../docs/x402.md", "ts")
	require.Equal(t, 1, strings.Count(block, example))
	write(t, filepath.Join(folder, "facilitator.mjs"), strings.Replace(block, example, c.URLs()[0], 1)+"\nexport { facilitator };\n")
}

// guardByURL pays as a resource server whose facilitator's URL was changed: by hand, and
// with the published package.
func (c *cluster) guardByURL(t *testing.T, behind *x402Chain) {
	rail, err := client.New(client.Options{Addresses: c.URLs(), Key: c.Key})
	require.NoError(t, err)
	payer, err := rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays"})
	require.NoError(t, err)
	const payee, listed = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	nonces := map[string]int{payee: 1 << 20, listed: 1<<20 + 1}
	ask := func(call, to string) map[string]any {
		answer, err := c.x402(t.Context(), call, payer.Token, to, nonces[to])
		require.NoError(t, err)
		return answer
	}
	require.Equal(t, true, ask("verify", payee)["isValid"])
	settled := ask("settle", payee)
	require.Equal(t, true, settled["success"], settled)
	require.Equal(t, "railguard_block", ask("verify", listed)["invalidReason"])
	require.Equal(t, "railguard_block", ask("settle", listed)["errorReason"])
	require.Equal(t, map[string]int{payee: 1}, behind.to)

	node, folder := x402Folder(t)
	c.writeFacilitator(t, folder)
	write(t, filepath.Join(folder, "shop.mjs"), fmt.Sprintf(`import { x402ResourceServer } from "@x402/core/server";
import { facilitator } from "./facilitator.mjs";
import { network, pay, payment, scheme } from "./x402_payment.mjs";
const server = new x402ResourceServer(facilitator);
server.register(network, scheme);
await server.initialize();
console.log(await pay(server, payment()), "-", await pay(server, payment({ to: %q })));
`, listed))
	require.Equal(t, "settled 0002 - not valid: railguard_block\n", runScript(t, node, folder, "shop.mjs", "RAILGUARD_KEY="+c.Key, "TOKEN="+payer.Token))
	limits, err := rail.Limits(t.Context(), payer.AgentID)
	require.NoError(t, err)
	require.Equal(t, "5", limits.SpentUSDC.String())
}

// documentBlock returns a document's only block of code in a language.
func documentBlock(t *testing.T, path, language string) string {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	require.Len(t, found, 1)
	return found[0][1]
}

// TestX402GoHook: the Go code in the document builds, and it pays only on PROCEED.
func TestX402GoHook(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	var code string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalid_field","message":"m"}`)
			return
		}
		fmt.Fprintf(w, `{"verdict":%q,"txnId":"txn_1","rule":null,"reason":"r"}`, code)
	}))
	defer api.Close()
	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "hook")
	write(t, source, `package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/railguard/railguard/client"
)

func main() {
	rail, err := client.New(client.Options{
		Addresses: []string{os.Getenv("RAILGUARD_URL")}, Key: "rg_live_x", Attempts: 2, AttemptTimeout: time.Second, Deadline: 3 * time.Second,
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(beforeSettle(rail, "t", "0x1", "0x2", client.Dollars(1)))
}

`+documentBlock(t, "../../docs/x402.md", "go"))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	hook := func(address string) string {
		command := exec.Command(binary)
		command.Env = []string{"RAILGUARD_URL=" + address}
		out, err := command.CombinedOutput()
		require.NoError(t, err)
		return string(out)
	}
	for said, want := range map[string]string{"PROCEED": "<nil>", "REVIEW": "railguard: REVIEW txn_1", "BLOCK": "railguard: BLOCK txn_1", "": "invalid_field"} {
		code = said
		require.Contains(t, hook(api.URL), want)
	}
	liar := httptest.NewServer(liar(t.Context()))
	defer liar.Close()
	for lie := range lies {
		require.NotEqual(t, "<nil>", hook(liar.URL+"/"+url.PathEscape(lie)), lie)
	}
	require.Contains(t, hook("http://127.0.0.1:1"), "unreachable")
}

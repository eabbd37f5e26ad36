package clients

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// The published packages of x402, with what they need. client/x402 stands beside them as one more package.
var x402Packages = []string{"@x402/core@2.27.0", "@x402/evm@2.27.0", "@x402/fetch@2.27.0", "viem@2.57.20"}

// x402Order is one line to testdata/x402_sdk.mjs: who pays whom, at which shop.
type x402Order struct {
	Do       string            `json:"do"`
	Guard    string            `json:"guard,omitempty"`
	Key      string            `json:"key,omitempty"`
	Behind   string            `json:"behind,omitempty"` // The shop's own facilitator.
	Price    string            `json:"price,omitempty"`
	PayTo    string            `json:"payTo,omitempty"`
	Payer    string            `json:"payer,omitempty"` // An address of which nobody here has the key.
	Agent    map[string]any    `json:"agent,omitempty"`
	JWK      map[string]string `json:"jwk,omitempty"`
	Audience string            `json:"audience,omitempty"`
	Header   string            `json:"header,omitempty"`
	Token    string            `json:"token,omitempty"`
	During   string            `json:"during,omitempty"`
	Permit2  bool              `json:"permit2,omitempty"`
	Accept   bool              `json:"accept,omitempty"`
	Declared bool              `json:"declared,omitempty"`
	Sent     string            `json:"sent,omitempty"`
}

type x402Outcome struct {
	Status                                          int
	Body, Error, Transaction, Hint, Message, Failed string
	Good                                            bool
}

// x402Market has payers and shops of the published packages, a cluster and the facilitator behind it.
type x402Market struct {
	*cluster
	rail  *client.Client
	chain *movingChain
	order func(t *testing.T, o x402Order) x402Outcome
	turn  int // The node that is asked next.
}

const honestShop = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func openMarket(t *testing.T) *x402Market {
	m := &x402Market{chain: &movingChain{}, order: startDriver(t)}
	behind := httptest.NewServer(m.chain)
	t.Cleanup(behind.Close)
	t.Setenv("RAILGUARD_X402_UPSTREAM", behind.URL)
	t.Setenv("RAILGUARD_X402_TIMEOUT", "1s")
	m.cluster = startCluster(t, 3, "--test-clock")
	var err error
	m.rail, err = client.New(client.Options{Addresses: m.URLs(), Key: m.Key})
	require.NoError(t, err)
	return m
}

// x402Folder returns a folder with the scripts of testdata for x402, which find there the published packages,
// and client/x402 as railguard-x402.
func x402Folder(t *testing.T) (node, folder string) {
	t.Helper()
	node, modules := npmFolder(t, x402Packages...)
	folder = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "node_modules"), 0o700))
	ours, err := filepath.Abs(filepath.Join(home, "x402"))
	require.NoError(t, err)
	for name, at := range map[string]string{"@x402": filepath.Join(modules, "@x402"), "viem": filepath.Join(modules, "viem"), "railguard-x402": ours} {
		require.NoError(t, os.Symlink(at, filepath.Join(folder, "node_modules", name)))
	}
	scripts, err := filepath.Glob("testdata/x402*.mjs")
	require.NoError(t, err)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		write(t, filepath.Join(folder, filepath.Base(script)), string(text))
	}
	return node, folder
}

// runScript runs a script of such a folder and returns what it printed.
func runScript(t *testing.T, node, folder, script string, environment ...string) string {
	t.Helper()
	command := exec.Command(node, filepath.Join(folder, script))
	command.Env = environment
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	require.NoError(t, await(t.Context(), command), failure.String())
	return out.String()
}

// startDriver runs testdata/x402_sdk.mjs, which takes orders.
func startDriver(t *testing.T) func(t *testing.T, o x402Order) x402Outcome {
	node, folder := x402Folder(t)
	command := exec.Command(node, filepath.Join(folder, "x402_sdk.mjs"))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(t *testing.T, o x402Order) (done x402Outcome) {
		t.Helper()
		line, err := json.Marshal(o)
		require.NoError(t, err)
		_, err = in.Write(append(line, '\n'))
		require.NoError(t, err)
		require.True(t, lines.Scan(), "the driver has ended")
		require.NoError(t, json.Unmarshal(lines.Bytes(), &done), lines.Text())
		require.Empty(t, done.Failed)
		return done
	}
}

// pay has a payment of 40 cents made, at each call through another node; o says what is different.
func (m *x402Market) pay(t *testing.T, o x402Order) x402Outcome {
	t.Helper()
	m.turn++
	if o.Do = "pay"; o.PayTo == "" {
		o.PayTo = honestShop
	}
	if o.Price == "" {
		o.Price = "400000"
	}
	o.Guard, o.Key = m.URLs()[m.turn%3], m.Key
	return m.order(t, o)
}

func (m *x402Market) payer(t *testing.T, policy *client.SpendPolicy) *client.Registration {
	t.Helper()
	agent, err := m.rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays", SpendPolicy: policy})
	require.NoError(t, err)
	return agent
}

func (m *x402Market) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	require.NoError(t, m.rail.Call(t.Context(), method, path, body, "", into))
}

// counted returns what counts of an agent's payments.
func (m *x402Market) counted(t *testing.T, agent string) (spent, held client.USD) {
	t.Helper()
	limits := new(client.Limits)
	m.call(t, http.MethodGet, "/v1/agents/"+agent+"/limits?consistency=leader", nil, limits)
	return limits.SpentUSDC, limits.HeldUSDC
}

func with(agent *client.Registration) x402Order {
	return x402Order{Agent: map[string]any{"token": agent.Token}}
}

// TestX402PublishedPackages (line I8): a client, a resource server and its facilitator client, as they are
// published, pay over Railguard on three nodes, with one line of client/x402 on each side.
func TestX402PublishedPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	m := openMarket(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *x402Market)
	}{
		{"PROCEED is paid", marketPays}, {"BLOCK is never paid", marketBlocks}, {"an approved REVIEW is paid once", marketReviews},
		{"who has no credential reads what is missing", marketCredentials}, {"an agent with a key", marketProves}, {"version 1", marketV1},
		{"an own facilitator", marketOwn}, {"limits hold over any facilitator", marketLimits},
	} {
		t.Run(part.name, func(t *testing.T) {
			m.chain.says("")
			part.run(t, m)
		})
	}
	for _, payee := range m.chain.to {
		require.Equal(t, honestShop, payee, "nobody else was paid")
	}
}

func marketPays(t *testing.T, m *x402Market) {
	agent := m.payer(t, nil)
	for i := range 3 {
		paid := m.pay(t, with(agent))
		require.Equal(t, 200, paid.Status, paid)
		require.Equal(t, "the report", paid.Body)
		require.Equal(t, fmt.Sprintf("0x%04x", i+1), paid.Transaction)
	}
	checked := m.order(t, x402Order{Do: "check", Sent: m.chain.sent[0]})
	require.True(t, checked.Good, "what is sent on is what the wallet signed")
	require.NotContains(t, m.chain.sent[0], agent.Token)
	byPermit := with(agent)
	byPermit.Permit2 = true
	require.Equal(t, 200, m.pay(t, byPermit).Status)
	require.Contains(t, m.chain.sent[3], "permit2Authorization")
	spent, held := m.counted(t, agent.AgentID)
	require.Equal(t, []client.USD{1_600_000, 0}, []client.USD{spent, held})
}

func marketBlocks(t *testing.T, m *x402Market) {
	agent, moved := m.payer(t, nil), len(m.chain.since(0))
	const listed = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	for _, permit2 := range []bool{false, true} {
		payee, payer := with(agent), with(agent)
		payee.PayTo, payee.Permit2, payer.Payer, payer.Permit2 = listed, permit2, listed, permit2
		for _, o := range []x402Order{payee, payer} {
			refused := m.pay(t, o)
			require.Equal(t, 402, refused.Status, refused)
			require.Equal(t, "railguard_block", refused.Error)
		}
	}
	// The agent is revoked after its payment was verified, and before it is settled.
	revoked := m.payer(t, nil)
	during := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := m.rail.Call(r.Context(), http.MethodPost, "/v1/agents/"+revoked.AgentID+"/revoke", map[string]string{"reason": "found out"}, "", nil); err != nil {
			t.Error(err)
		}
	}))
	defer during.Close()
	o := with(revoked)
	o.During = during.URL
	refused := m.pay(t, o)
	require.Equal(t, 402, refused.Status, refused)
	require.Equal(t, "railguard_block", refused.Error)
	require.Contains(t, refused.Message, "R2")
	require.Empty(t, m.chain.since(moved))
}

func marketReviews(t *testing.T, m *x402Market) {
	most := client.USD(250_000)
	agent, moved := m.payer(t, &client.SpendPolicy{MaxSingleTxUSDC: &most}), len(m.chain.since(0))
	for range 3 {
		require.Equal(t, "railguard_review", m.pay(t, with(agent)).Error)
	}
	cases := func() (open []string) {
		var found struct {
			Data []struct{ TxnID string }
		}
		m.call(t, http.MethodGet, "/v1/audit?verdict=REVIEW&consistency=leader&agentId="+agent.AgentID, nil, &found)
		for _, one := range found.Data {
			open = append(open, one.TxnID)
		}
		return open
	}
	require.Len(t, cases(), 1, "one payment is one case, however often it is tried")
	m.call(t, http.MethodPost, "/v1/reviews/"+cases()[0], map[string]string{"disposition": "APPROVED", "reviewedBy": "Carla"}, nil)
	paid := m.pay(t, with(agent))
	require.Equal(t, 200, paid.Status, paid)
	require.Equal(t, "railguard_review", m.pay(t, with(agent)).Error, "one leave is one payment")
	require.Len(t, cases(), 2)
	require.Equal(t, []string{"400000"}, m.chain.since(moved))
}

func marketCredentials(t *testing.T, m *x402Market) {
	agent, moved := m.payer(t, nil), len(m.chain.since(0))
	bare := m.pay(t, x402Order{})
	require.Equal(t, []any{402, "railguard_credential_missing"}, []any{bare.Status, bare.Error})
	told := m.pay(t, x402Order{Accept: true, Declared: true})
	require.Equal(t, "railguard_credential_missing", told.Error)
	require.Contains(t, told.Hint, "extensions.railguard.info.token")
	require.Equal(t, "railguard_unknown", m.pay(t, x402Order{Agent: map[string]any{"token": "nonsense"}}).Error)
	require.Equal(t, "railguard_credential_missing", m.pay(t, x402Order{Header: agent.Token}).Error, "the shop's side lacks its line")
	require.Empty(t, m.chain.since(moved))
	require.Equal(t, 200, m.pay(t, x402Order{Header: agent.Token, Accept: true}).Status)
	declared := with(agent)
	declared.Accept, declared.Declared = true, true
	require.Equal(t, 200, m.pay(t, declared).Status, "a client that echoes the declaration pays too")
	spent, _ := m.counted(t, agent.AgentID)
	require.Equal(t, client.USD(800_000), spent)
}

func marketProves(t *testing.T, m *x402Market) {
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	jwk := privateJWK(t, key)
	public := map[string]string{"kty": jwk["kty"], "crv": jwk["crv"], "x": jwk["x"]}
	raw, err := json.Marshal(public)
	require.NoError(t, err)
	agent, err := m.rail.Register(t.Context(), &client.Agent{
		AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays", PublicKey: raw, Possession: "required",
	})
	require.NoError(t, err)
	require.Equal(t, "railguard_unknown", m.pay(t, with(agent)).Error, "a token alone is worth nothing")
	for range 2 { // A proof is of one payment: each has its own.
		o := with(agent)
		o.JWK, o.Audience = jwk, m.URLs()[0]
		paid := m.pay(t, o)
		require.Equal(t, 200, paid.Status, paid)
	}
}

func marketV1(t *testing.T, m *x402Market) {
	one, other := m.payer(t, nil), m.payer(t, nil)
	for _, agent := range []*client.Registration{one, other} { // One shop, two agents.
		paid := m.order(t, x402Order{Do: "payV1", Guard: m.URLs()[0], Key: m.Key, Token: agent.Token, PayTo: honestShop, Price: "400000"})
		require.Equal(t, 200, paid.Status, paid)
		spent, _ := m.counted(t, agent.AgentID)
		require.Equal(t, client.USD(400_000), spent)
	}
	require.Equal(t, "railguard_credential_missing", m.order(t, x402Order{Do: "payV1", Guard: m.URLs()[0], Key: m.Key, PayTo: honestShop, Price: "400000"}).Error)
}

// marketOwn: a shop that keeps its own facilitator settles what Railguard lets through.
func marketOwn(t *testing.T, m *x402Market) {
	own := httptest.NewServer(m.chain)
	defer own.Close()
	most := client.USD(500_000)
	agent, moved := m.payer(t, &client.SpendPolicy{DailyLimitUSDC: &most}), len(m.chain.since(0))
	pay := func(change func(o *x402Order)) x402Outcome {
		o := with(agent)
		o.Behind = own.URL
		if change != nil {
			change(&o)
		}
		return m.pay(t, o)
	}
	require.Equal(t, 200, pay(nil).Status)
	spent, held := m.counted(t, agent.AgentID)
	require.Equal(t, []client.USD{400_000, 0}, []client.USD{spent, held})
	require.Equal(t, "railguard_review", pay(nil).Error, "its limit")
	require.Equal(t, "railguard_block", pay(func(o *x402Order) { o.PayTo = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" }).Error)
	require.Equal(t, "railguard_credential_missing", pay(func(o *x402Order) { o.Agent = nil }).Error)
	require.Equal(t, 200, pay(func(o *x402Order) { o.Permit2, o.Price = true, "50000" }).Status)
	require.Equal(t, []string{"400000", "50000"}, m.chain.since(moved))
}

// marketLimits: whatever a facilitator does after it moved the money, it never moves more than the agent may
// spend in a day; what is not known goes on counting, opens an alert, and is ended by a settler.
func marketLimits(t *testing.T, m *x402Market) {
	limit := client.USD(1_000_000)
	agents := map[string]*client.Registration{}
	for mode := range misbehaviours {
		if mode == "" {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			m.chain.says(mode)
			agent, before := m.payer(t, &client.SpendPolicy{DailyLimitUSDC: &limit}), len(m.chain.since(0))
			agents[mode] = agent
			for _, want := range []string{"settlement_pending", "settlement_pending", "railguard_review", "railguard_review"} {
				refused := m.pay(t, with(agent))
				require.Equal(t, []any{402, want}, []any{refused.Status, refused.Error}, refused)
			}
			require.Equal(t, []string{"400000", "400000"}, m.chain.since(before))
			spent, held := m.counted(t, agent.AgentID)
			require.Equal(t, []client.USD{0, 800_000}, []client.USD{spent, held}, "it goes on counting")
		})
	}
	m.call(t, http.MethodPost, "/v1/test/clock", map[string]string{"advance": "7m"}, nil) // Beyond the end of their holds.
	settler, err := client.New(client.Options{Addresses: m.URLs(), Key: m.settlerKey(t)})
	require.NoError(t, err)
	for mode, agent := range agents {
		t.Run(mode+", ended", func(t *testing.T) { m.endUnresolved(t, settler, agent.AgentID) })
	}
}

// endUnresolved has a settler say of an agent's two payments that one was made and one was not.
func (m *x402Market) endUnresolved(t *testing.T, settler *client.Client, agent string) {
	var waiting struct {
		Data []struct{ TxnID string }
	}
	require.Eventually(t, func() bool { // The end of a hold is an entry of the log.
		err := m.rail.Call(t.Context(), http.MethodGet, "/v1/transactions/unresolved?consistency=leader&agentId="+agent, nil, "", &waiting)
		return err == nil && len(waiting.Data) == 2
	}, 20*time.Second, 50*time.Millisecond)
	var alerts struct {
		Data []struct{ AgentID string }
	}
	m.call(t, http.MethodGet, "/v1/alerts?kind=unresolved_payment&consistency=leader&limit=200", nil, &alerts)
	require.True(t, slices.ContainsFunc(alerts.Data, func(a struct{ AgentID string }) bool { return a.AgentID == agent }), "%+v", alerts)
	require.NoError(t, settler.Call(t.Context(), http.MethodPost, "/v1/transactions/"+waiting.Data[0].TxnID+"/settle", map[string]string{"railRef": "0xfound"}, "", nil))
	require.NoError(t, settler.Call(t.Context(), http.MethodPost, "/v1/transactions/"+waiting.Data[1].TxnID+"/release", map[string]string{"reason": "not on the chain"}, "", nil))
	spent, held := m.counted(t, agent)
	require.Equal(t, []client.USD{400_000, 0}, []client.USD{spent, held})
}

// TestX402PackageTypes: the lines of client/x402 compile beside the published packages under a strict
// compiler, and a line that lacks what it needs does not.
func TestX402PackageTypes(t *testing.T) {
	node, folder := x402Folder(t)
	_, compiler := npmModule(t, "typescript", "5.9.3", "bin/tsc")
	text, err := os.ReadFile("testdata/x402_types.mts")
	require.NoError(t, err)
	write(t, filepath.Join(folder, "types.mts"), string(text))
	command := exec.CommandContext(t.Context(), node, compiler, "--noEmit", "--strict", "--skipLibCheck", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
		"--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "types.mts")
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestX402PayerOfTheDocument: the paying client's line of docs/x402.md gives each payment its credential.
func TestX402PayerOfTheDocument(t *testing.T) {
	node, folder := x402Folder(t)
	write(t, filepath.Join(folder, "payer.mjs"), `import { x402Client } from "@x402/core/client";
const token = "mine", client = new x402Client();
`+documentBlock(t, "../../docs/x402.md", "js")+`
client.register("eip155:8453", { scheme: "exact", createPaymentPayload: async (x402Version) => ({ x402Version, payload: {} }) }).setSpendControls(false);
const accepts = [{ scheme: "exact", network: "eip155:8453", amount: "1", asset: "0x", payTo: "0x", maxTimeoutSeconds: 60, extra: {} }];
for (const extensions of [undefined, { other: { info: { a: 1 } } }, { railguard: { info: {}, schema: {} } }]) {
  const payment = await client.createPaymentPayload({ x402Version: 2, resource: { url: "https://a.example" }, accepts, extensions });
  console.log(JSON.stringify(payment.extensions));
}
`)
	require.Equal(t, `{"railguard":{"info":{"token":"mine"}}}
{"other":{"info":{"a":1}},"railguard":{"info":{"token":"mine"}}}
{"railguard":{"info":{"token":"mine"},"schema":{}}}
`, runScript(t, node, folder, "payer.mjs"))
}

// TestX402PackageIsWhole: what is published has every file of the package, and the licence of this repository.
func TestX402PackageIsWhole(t *testing.T) {
	folder := filepath.Join(home, "x402")
	raw, err := os.ReadFile(filepath.Join(folder, "package.json"))
	require.NoError(t, err)
	var published struct {
		Files        []string
		Dependencies map[string]string
		Exports      map[string]map[string]string
	}
	require.NoError(t, json.Unmarshal(raw, &published))
	require.Empty(t, published.Dependencies)
	for _, at := range published.Exports {
		for _, file := range at {
			require.Contains(t, published.Files, strings.TrimPrefix(file, "./"))
		}
	}
	var files []string
	for _, pattern := range []string{"*.js", "*.d.ts"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		for _, file := range found {
			files = append(files, filepath.Base(file))
		}
	}
	require.ElementsMatch(t, files, published.Files)
	for _, path := range []string{"../../LICENSE", filepath.Join(folder, "LICENSE")} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), "Apache License")
	}
}

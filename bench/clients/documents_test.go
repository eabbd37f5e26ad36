package clients

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/cluster/testcluster"
)

var codeBlock = regexp.MustCompile("(?s)```(go|python|ts)\n(.*?)```")

// guideBlocks returns the code of one language in docs/integrators.md: the blocks in
// order, and apart from them the one of a webhook receiver.
func guideBlocks(t *testing.T, language string) (all, webhook string) {
	raw, err := os.ReadFile("../../docs/integrators.md")
	require.NoError(t, err)
	var blocks []string
	for _, match := range codeBlock.FindAllStringSubmatch(string(raw), -1) {
		switch {
		case match[1] != language, strings.Contains(strings.ToLower(match[2]), ".stream("): // Streams have tests of their own.
		case strings.Contains(match[2], "ebhook"):
			require.Empty(t, webhook)
			webhook = match[2]
		default:
			blocks = append(blocks, match[2])
		}
	}
	require.Len(t, blocks, 2)
	require.NotEmpty(t, webhook)
	return strings.Join(blocks, "\n"), webhook
}

// Each program puts the guide's code together as a newcomer would. It receives webhooks at
// RAILGUARD_LISTEN. Once its input ends it registers an agent, screens, settles, verifies
// the token, and waits for the webhook message of the settlement.

const goGuide = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/railguard/railguard/client"
)

var told = make(chan *client.Event, 100)

func main() {
	go func() {
		log.Fatal(http.ListenAndServe(os.Getenv("RAILGUARD_LISTEN"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			receive(w, r, os.Getenv("RAILGUARD_WEBHOOK_SECRET"), body)
		})))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := guide(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func guide(ctx context.Context) error {
	rail, err := client.New(client.Options{Addresses: strings.Split(os.Getenv("RAILGUARD_URL"), ","), Key: os.Getenv("RAILGUARD_KEY")})
	if err != nil {
		return err
	}
	agent, err := rail.Register(ctx, &client.Agent{AgentName: "guide", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "guide"})
	if err != nil {
		return err
	}
	token := agent.Token
%s
	if err != nil {
		return err
	}
	for event := range told {
		var about struct{ TxnID string }
		if json.Unmarshal(event.Data, &about) == nil && about.TxnID == verdict.TxnID {
			fmt.Println(event.Type, settled.State, settled.Amount, claims.Subject == agent.AgentID)
			return nil
		}
	}
	return nil
}

func receive(w http.ResponseWriter, r *http.Request, secret string, body []byte) {
%s
	told <- event
	w.WriteHeader(http.StatusNoContent)
}
`

const pythonGuide = `import os
import queue
import sys
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

sys.path.insert(0, %q)
from railguard import Client, Verifier, WebhookError, new_key, verify_token, verify_webhook

told = queue.Queue()


def receive(secret, request):
%s
    told.put(event)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            receive(os.environ["RAILGUARD_WEBHOOK_SECRET"], self)
        except WebhookError:
            self.send_response(400)
        else:
            self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


host, port = os.environ["RAILGUARD_LISTEN"].split(":")
threading.Thread(target=HTTPServer((host, int(port)), Receiver).serve_forever, daemon=True).start()
sys.stdin.read()
client = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_KEY"])
agent = client.register({"agentName": "guide", "agentType": "supervised", "operatorLegalName": "Acme Robotics Inc", "purpose": "guide"})
token = agent["token"]
%s
while True:
    event = told.get()
    if event["data"].get("txnId") == verdict["txnId"]:
        print(event["type"], settled["state"], settled["amount"], str(claims["sub"] == agent["agentId"]).lower())
        break
`

const typescriptGuide = `import { createServer } from "node:http";
import { Client, Verifier, newKey, verifyToken, verifyWebhook } from %q;

const told: { type: string; data: { txnId?: string } }[] = [];
let came = () => {};

async function receive(secret: string, request: { headers: any }, body: Uint8Array) {
%s
  told.push(event as any);
  came();
}

const [host, port] = process.env.RAILGUARD_LISTEN!.split(":");
createServer(async (request, response) => {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  try {
    await receive(process.env.RAILGUARD_WEBHOOK_SECRET!, request, Buffer.concat(parts));
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(port), host);
for await (const _ of process.stdin);
const client = new Client({ addresses: process.env.RAILGUARD_URL!.split(","), key: process.env.RAILGUARD_KEY! });
const agent = await client.register({ agentName: "guide", agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "guide" });
const token = agent.token;
%s
let event;
while (!(event = told.find((one) => one.data.txnId === verdict.txnId))) await new Promise<void>((done) => (came = done));
console.log(event.type, settled.state, settled.amount, claims.sub === agent.agentId);
process.exit(0);
`

// newcomer makes, by language, the program of the guide.
var newcomer = map[string]func(t *testing.T) *exec.Cmd{
	"go": func(t *testing.T) *exec.Cmd {
		source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "guide")
		guide, hook := guideBlocks(t, "go")
		write(t, source, fmt.Sprintf(goGuide, guide, hook))
		out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return exec.Command(binary)
	},
	"python": func(t *testing.T) *exec.Cmd {
		command := pythonCommand(t, "afternoon")
		source := filepath.Join(t.TempDir(), "guide.py")
		clients, err := filepath.Abs(home)
		require.NoError(t, err)
		guide, hook := guideBlocks(t, "python")
		write(t, source, fmt.Sprintf(pythonGuide, filepath.Join(clients, "python"), "    "+hook, guide))
		return exec.Command(command.Path, "-B", source)
	},
	"typescript": func(t *testing.T) *exec.Cmd {
		found, err := exec.LookPath("node")
		if err != nil {
			t.Skip("node is not installed: the TypeScript of the guide is NOT tested")
		}
		source, out := filepath.Join(t.TempDir(), "guide.ts"), filepath.Join(t.TempDir(), "guide.mjs")
		clients, err := filepath.Abs(home)
		require.NoError(t, err)
		guide, hook := guideBlocks(t, "ts")
		write(t, source, fmt.Sprintf(typescriptGuide, filepath.Join(clients, "typescript", "railguard.ts"), hook, guide))
		strip(t, source, out)
		return exec.Command(found, out)
	},
}

// TestNewcomersAfternoon follows the documents to the letter. With each client it screens,
// settles and verifies, receives a webhook and refuses a forged one (docs/integrators.md).
// It has an x402 payment guarded by one changed URL (docs/x402.md) and calls the tools
// (docs/mcp.md). TestSandbox follows docs/sandbox.md.
func TestNewcomersAfternoon(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	behind := &x402Chain{paid: map[string]string{}, to: map[string]int{}}
	chain := httptest.NewServer(behind)
	defer chain.Close()
	servers := startCluster(t, 3, "--mcp", "--x402-upstream", chain.URL)
	for name := range newcomer {
		t.Run(name, func(t *testing.T) { servers.followGuide(t, newcomer[name](t)) })
	}
	t.Run("payment found", func(t *testing.T) {
		rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
		require.NoError(t, err)
		var found struct {
			Payment struct{ State, RailRef string }
		}
		require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/transactions?paymentRef=invoice-go", nil, "", &found))
		require.Equal(t, "settled", found.Payment.State)
		require.Equal(t, "wire-1", found.Payment.RailRef)
	})
	t.Run("x402", func(t *testing.T) { servers.guardByURL(t, behind) })
	t.Run("mcp", func(t *testing.T) { servers.callTools(t) })
}

var webhookCommand = regexp.MustCompile("`(railguard webhook create --endpoint )(\\S+)( [^`]+)`")

// followGuide makes a webhook with the guide's command and runs a newcomer's program.
func (c *cluster) followGuide(t *testing.T, program *exec.Cmd) {
	ports, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	listen := ports[0]
	page, err := os.ReadFile("../../docs/integrators.md")
	require.NoError(t, err)
	typed := webhookCommand.FindStringSubmatch(string(page))
	require.NotEmpty(t, typed)
	shell := exec.Command("sh", "-c", typed[1]+"http://"+listen+"/hooks"+typed[3])
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(c.Binary)+":"+os.Getenv("PATH"), "RAILGUARD_URL="+strings.Join(c.URLs(), ","), "RAILGUARD_KEY="+c.Key)
	printed, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(string(printed))
	require.NotEmpty(t, secret, "%s", printed)

	program.Env = append(os.Environ(), "RAILGUARD_URL="+strings.Join(c.URLs(), ","), "RAILGUARD_KEY="+c.Key, "RAILGUARD_WEBHOOK_SECRET="+secret, "RAILGUARD_LISTEN="+listen)
	var out, failure bytes.Buffer
	program.Stdout, program.Stderr = &out, &failure
	begin, err := program.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = program.Process.Kill() })()
	status := 0
	for status == 0 && ctx.Err() == nil { // The call is repeated until the program listens.
		status = forge(ctx, "http://"+listen+"/hooks")
	}
	require.NoError(t, begin.Close())
	require.NoError(t, program.Wait(), failure.String())
	require.Equal(t, http.StatusBadRequest, status, "a forged message")
	require.Equal(t, "hold.settled settled 25 true\n", out.String())
}

// forge sends a message with a false signature and returns the answer's status; 0: none.
func forge(ctx context.Context, address string) int {
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"id":"evt_1_0","seq":1,"type":"hold.settled","data":{}}`))
	if err != nil {
		return 0
	}
	call.Header.Set("webhook-id", "evt_1_0")
	call.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
	call.Header.Set("webhook-signature", "v1,"+strings.Repeat("A", 43)+"=")
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

func write(t *testing.T, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

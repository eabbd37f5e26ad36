package clients

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var codeBlock = regexp.MustCompile("(?s)```(go|python|ts)\n(.*?)```")

// guideBlocks are docs/integrators.md's blocks of one language, in order; that of
// webhooks apart: there is no message to run it with.
func guideBlocks(t *testing.T, language string) (all, webhook string) {
	raw, err := os.ReadFile("../../docs/integrators.md")
	require.NoError(t, err)
	var blocks []string
	for _, match := range codeBlock.FindAllStringSubmatch(string(raw), -1) {
		switch {
		case match[1] != language:
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

const goGuide = `package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"railguard/client"
)

func main() {
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
	fmt.Println(settled.State, settled.AmountUSDC, claims.Subject == agent.AgentID)
	return nil
}

func receive(w http.ResponseWriter, r *http.Request, secret string, body []byte) {
%s
	fmt.Fprintln(w, event.ID)
}
`

const pythonGuide = `import os
import sys
from decimal import Decimal

sys.path.insert(0, %q)
from railguard import Client, new_key, verify_token, verify_webhook

client = Client(os.environ["RAILGUARD_URL"].split(","), os.environ["RAILGUARD_KEY"])
agent = client.register({"agentName": "guide", "agentType": "supervised", "operatorLegalName": "Acme Robotics Inc", "purpose": "guide"})
token = agent["token"]
%s

def receive(secret, request):
%s

print(settled["state"], settled["amountUSDC"], str(claims["sub"] == agent["agentId"]).lower())
`

const typescriptGuide = `import { Client, newKey, verifyToken, verifyWebhook } from %q;
const client = new Client({ addresses: process.env.RAILGUARD_URL.split(","), key: process.env.RAILGUARD_KEY });
const agent = await client.register({ agentName: "guide", agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "guide" });
const token = agent.token;
%s
async function receive(secret: string, request: { headers: Headers }, body: Uint8Array) {
%s
}
console.log(settled.state, settled.amountUSDC, claims.sub === agent.agentId);
`

// TestGuide runs every block of code in docs/integrators.md against a real server.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	servers := startCluster(t, 1)
	clients, err := filepath.Abs(home)
	require.NoError(t, err)
	for name, prepare := range map[string]func(t *testing.T) *exec.Cmd{
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
			guide, hook := guideBlocks(t, "python")
			write(t, source, fmt.Sprintf(pythonGuide, filepath.Join(clients, "python"), guide, "    "+hook))
			return exec.Command(command.Path, "-B", source)
		},
		"typescript": func(t *testing.T) *exec.Cmd {
			found, err := exec.LookPath("node")
			if err != nil {
				t.Skip("node is not installed: the TypeScript of the guide is NOT tested")
			}
			source, out := filepath.Join(t.TempDir(), "guide.ts"), filepath.Join(t.TempDir(), "guide.mjs")
			guide, hook := guideBlocks(t, "ts")
			write(t, source, fmt.Sprintf(typescriptGuide, filepath.Join(clients, "typescript", "railguard.ts"), guide, hook))
			strip(t, source, out)
			return exec.Command(found, out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			command := prepare(t)
			command.Env = []string{"RAILGUARD_URL=" + servers.urls()[0], "RAILGUARD_KEY=" + servers.Key}
			var out, failure bytes.Buffer
			command.Stdout, command.Stderr = &out, &failure
			require.NoError(t, await(t.Context(), command), failure.String())
			require.Equal(t, "settled 25 true\n", out.String())
		})
	}
}

func write(t *testing.T, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

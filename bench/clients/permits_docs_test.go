package clients

import (
	"encoding/json"
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
)

// Each program puts the README's code together as a merchant would, and prints what it accepted.

const goMerchant = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/railguard/railguard/client"
)

func main() {
	ctx, issuer, me, permit := context.Background(), os.Getenv("ISSUER"), os.Getenv("ME"), os.Getenv("PERMIT")
	payee, payer := os.Getenv("PAYEE"), os.Getenv("PAYER")
	rail, err := client.New(client.Options{Addresses: []string{issuer}})
	if err != nil {
		panic(err)
	}
	CODE
	if err != nil {
		panic(err)
	}
	fmt.Println(claims.ID)
}
`

const pythonMerchant = `import os
import sys

sys.path.insert(0, os.environ["PYTHON"])
from railguard import Client, FirstUses, PermitKeys, verify_permit

issuer, me, permit, payee, payer = (os.environ[name] for name in ("ISSUER", "ME", "PERMIT", "PAYEE", "PAYER"))
client = Client([issuer], "")
CODE
print(claims["jti"])
`

const typescriptMerchant = `import { Client, FirstUses, PermitKeys, verifyPermit } from "MODULE";

const { ISSUER: issuer = "", ME: me = "", PERMIT: permit = "", PAYEE: payee = "", PAYER: payer = "" } = process.env;
const client = new Client({ addresses: [issuer], key: "" });
CODE
console.log(claims.jti);
`

// TestPermitsOfTheReadme runs the README's code of each language against published keys and a permit
// that was made now.
func TestPermitsOfTheReadme(t *testing.T) {
	maker := newPermitMaker(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(maker.book.Keys)
	}))
	defer server.Close()
	now := time.Now().Unix()
	permit := maker.sign(maker.permit, permitHeader("pm-v1"), maker.claims(map[string]any{"iss": server.URL, "iat": now, "exp": now + 300}))
	absolute, err := filepath.Abs(home)
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(home, "README.md"))
	require.NoError(t, err)
	code := map[string]string{}
	_, permits, _ := strings.Cut(string(raw), "\n## Permits\n")
	for _, match := range codeBlock.FindAllStringSubmatch(permits, -1) {
		require.Empty(t, code[match[1]])
		code[match[1]] = match[2]
	}
	folder := t.TempDir()
	for language, make := range map[string]func(t *testing.T) *exec.Cmd{
		"go": func(t *testing.T) *exec.Cmd {
			write(t, filepath.Join(folder, "main.go"), strings.Replace(goMerchant, "CODE", code["go"], 1))
			out, err := exec.Command("go", "build", "-o", filepath.Join(folder, "merchant"), filepath.Join(folder, "main.go")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return exec.Command(filepath.Join(folder, "merchant"))
		},
		"python": func(t *testing.T) *exec.Cmd {
			command := pythonCommand(t, "afternoon")
			write(t, filepath.Join(folder, "merchant.py"), strings.Replace(pythonMerchant, "CODE", code["python"], 1))
			return exec.Command(command.Path, "-B", filepath.Join(folder, "merchant.py"))
		},
		"ts": func(t *testing.T) *exec.Cmd {
			node, err := exec.LookPath("node")
			if err != nil {
				t.Skip("node is not installed: the README's TypeScript is NOT tested")
			}
			source := strings.NewReplacer("MODULE", filepath.Join(absolute, "typescript", "railguard.ts"), "CODE", code["ts"]).Replace(typescriptMerchant)
			write(t, filepath.Join(folder, "merchant.ts"), source)
			strip(t, filepath.Join(folder, "merchant.ts"), filepath.Join(folder, "merchant.mjs"))
			return exec.Command(node, filepath.Join(folder, "merchant.mjs"))
		},
	} {
		t.Run(language, func(t *testing.T) {
			require.Len(t, strings.Split(strings.TrimSpace(code[language]), "\n"), 5, "the README says five lines")
			command := make(t)
			command.Env = append(os.Environ(), "PYTHON="+filepath.Join(absolute, "python"),
				"ISSUER="+server.URL, "ME="+permitsAudience, "PERMIT="+permit, "PAYEE="+evmPayee, "PAYER="+evmPayer)
			out, err := command.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "txn_test\n", string(out))
		})
	}
}

// TestFirstCallsOfRailAndExaminer pastes the first code of both pages into a shell beside a development
// cluster. Only the places of binary, key and server are others here.
func TestFirstCallsOfRailAndExaminer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	server := startCluster(t, 1)
	places := strings.NewReplacer("http://127.0.0.1:8080", "http://"+server.Nodes[0].HTTP, "railguard-data/dev.key", filepath.Join(server.Folder, "dev.key"), "./bin/railguard", server.Binary)
	for name, prints := range map[string][]string{
		"permit-rail":     {"2500: permit_mismatch", "25: redeemed", "25: permit_used", "payment: settled"},
		"permit-examiner": {"as it was: 0", "without keys of your own: 4", "altered: 1"},
	} {
		page, err := os.ReadFile("../../docs/" + name + ".md")
		require.NoError(t, err)
		first := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(page)
		require.NotEmpty(t, first)
		shell := exec.Command("sh")
		shell.Dir, shell.Env, shell.Stdin = t.TempDir(), append(os.Environ(), "TMPDIR="+t.TempDir()), strings.NewReader(places.Replace(string(first[1])))
		out, err := shell.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, strings.Join(prints, "\n")+"\n", string(out), name)
		last := len(prints) - 1
		require.Contains(t, string(page), "It prints `"+strings.Join(prints[:last], "`, `")+"` and `"+prints[last]+"`")
	}
}

// TestMerchantsFirstCall pastes the first code of docs/permit-merchant.md into a shell.
func TestMerchantsFirstCall(t *testing.T) {
	pythonCommand(t, "drive")
	page, err := os.ReadFile("../../docs/permit-merchant.md")
	require.NoError(t, err)
	first := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(page)
	require.NotEmpty(t, first)
	shell := exec.Command("sh")
	shell.Dir, shell.Env, shell.Stdin = "../..", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), strings.NewReader(string(first[1]))
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "hand over: txn_test\ndo not: payment\n", string(out))
	require.Contains(t, string(page), "It prints `hand over: txn_test` and `do not: payment`.")
}

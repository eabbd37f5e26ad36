package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const goPayer = `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/railguard/railguard/client"
)

func main() {
	if err := payOnce(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func payOnce(ctx context.Context) error {
	rail, err := client.New(client.Options{Addresses: []string{os.Getenv("URL")}, Key: "k", SettlerKey: "settler"})
	if err != nil {
		return err
	}
	token := "t"
	tokenOf := func(context.Context, string) (string, error) { return token, nil }
	askRail := func(context.Context, string, string) (client.Sent, error) { return client.Sent{}, client.NotSent("no") }
	send := func(context.Context, *client.Verdict) (client.Sent, error) { return client.Sent{RailRef: "r"}, nil }
CODE
	if err != nil {
		return err
	}
	fmt.Println(paid.State)
	return nil
}
`

const pythonPayer = `import os, sys
sys.path.insert(0, os.environ["PYTHON"])
from railguard import Client, Journal, NotSent, Sent, pay, resume
client, token = Client([os.environ["URL"]], "k", settler_key="settler"), "t"
token_of = lambda identifier: token
def ask_rail(identifier, txn_id):
    raise NotSent("no")
def send(verdict):
    return Sent("r")
CODE
print(paid.state)
`

// TestPayOfTheReadme runs the README's code of Pay in Go and in Python.
func TestPayOfTheReadme(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(home, "README.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(raw), "\n## Pay, and a crash\n")
	section, _, _ = strings.Cut(section, "\n## ")
	code := map[string]string{}
	for _, match := range codeBlock.FindAllStringSubmatch(section, -1) {
		code[match[1]] = match[2]
	}
	absolute, err := filepath.Abs(filepath.Join(home, "python"))
	require.NoError(t, err)
	for language, start := range map[string]func(folder string) *exec.Cmd{
		"go": func(folder string) *exec.Cmd {
			write(t, filepath.Join(folder, "main.go"), strings.Replace(goPayer, "CODE", code["go"], 1))
			out, err := exec.Command("go", "build", "-o", filepath.Join(folder, "payer"), filepath.Join(folder, "main.go")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return exec.Command(filepath.Join(folder, "payer"))
		},
		"python": func(folder string) *exec.Cmd {
			write(t, filepath.Join(folder, "payer.py"), strings.Replace(pythonPayer, "CODE", code["python"], 1))
			return exec.Command(pythonCommand(t, "drive").Path, "-B", filepath.Join(folder, "payer.py"))
		},
	} {
		t.Run(language, func(t *testing.T) {
			_, url := newBank(t)
			folder := t.TempDir()
			command := start(folder)
			command.Dir, command.Env = folder, append(os.Environ(), "URL="+url, "PYTHON="+absolute)
			out, err := command.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "settled\n", string(out))
		})
	}
}

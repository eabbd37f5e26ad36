package clients

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// proxy serves the client's module in one version, as a proxy of Go modules does.
func proxy(t *testing.T, path, version string) string {
	definition, err := os.ReadFile(filepath.Join(home, "go.mod"))
	require.NoError(t, err)
	var packed bytes.Buffer
	require.NoError(t, zip.CreateFromDir(&packed, module.Version{Path: path, Version: version}, home))
	answers := map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2026-11-30T12:00:00Z"}`, version), version + ".mod": definition, version + ".zip": packed.Bytes(),
	}
	escaped, err := module.EscapePath(path)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ours := strings.CutPrefix(r.URL.Path, "/"+escaped+"/@v/")
		if answer := answers[name]; ours && answer != nil {
			_, _ = w.Write(answer)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestGoGet: in an empty folder `go get` takes the client from a proxy, by its path and nothing else, and a
// program that imports it runs.
func TestGoGet(t *testing.T) {
	definition, err := os.ReadFile(filepath.Join(home, "go.mod"))
	require.NoError(t, err)
	path := modfile.ModulePath(definition)
	address, folder := proxy(t, path, "v0.2.0"), t.TempDir()
	program := fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\n\t%q\n)\n\nfunc main() { fmt.Println(client.Dollars(3)) }\n", path)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600))
	environment := append(os.Environ(), "GOPROXY="+address, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir())
	for _, args := range [][]string{{"mod", "init", "integrator.example/payments"}, {"get", path}, {"run", "."}} {
		command := exec.Command("go", args...)
		command.Dir, command.Env = folder, environment
		out, err := command.CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, out)
		if args[0] == "run" {
			require.Equal(t, "3\n", string(out))
		}
	}
	left, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(left), path+" v0.2.0")
}

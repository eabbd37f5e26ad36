package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The generators that this module's tests use, as they are published.
const (
	goGenerator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	goRuntime   = "github.com/oapi-codegen/runtime@v1.9.0"
	// documentFile is the document that the service serves.
	documentFile = "../../httpapi/openapi/openapi.yaml"
)

// installs runs a command in a folder that installs something, and skips the test if what it needs cannot be installed.
func installs(t *testing.T, folder string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installPatience)
	defer cancel()
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env, command.WaitDelay = folder, append(os.Environ(), "GOFLAGS=-mod=mod"), time.Second
	if out, err := command.CombinedOutput(); err != nil {
		t.Skipf("generated clients are NOT tested: %s cannot be installed (%v): %s", strings.Join(args, " "), err, out)
	}
}

// TestGeneratedGoClient: oapi-codegen makes types of the whole document and a client of the calls that
// move money. They compile, and the client carries an amount that no float32 holds.
func TestGeneratedGoClient(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles what is generated")
	}
	folder := t.TempDir()
	document, err := filepath.Abs(documentFile)
	require.NoError(t, err)
	program, err := os.ReadFile("testdata/generated/main.go.txt")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"main.go": string(program),
		"go.mod":  "module generated.example/client\n\ngo 1.24\n",
		"cfg.yaml": "package: main\noutput: api.gen.go\ngenerate: {client: true, models: true}\n" +
			"output-options: {include-tags: [screening, audit, agents], skip-prune: true}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	installs(t, folder, "go", "run", goGenerator, "-version")
	out, err := inFolder(t, folder, "go", "run", goGenerator, "-config", "cfg.yaml", document)
	require.NoError(t, err, "%s", out)
	installs(t, folder, "go", "get", goRuntime)
	out, err = inFolder(t, folder, "go", "build", "-o", "client", ".")
	require.NoError(t, err, "%s", out)
	servers := startCluster(t, 1)
	out, err = inFolder(t, folder, "env", "RAILGUARD_URL="+servers.URLs()[0], "RAILGUARD_KEY="+servers.Key, "./client")
	require.NoError(t, err, "%s", out)
	require.Equal(t, "PROCEED 131072.07\n", string(out))
}

// TestGeneratedTypeScript: openapi-typescript makes types of the whole document, which compile under
// the strict settings and tell right from wrong.
func TestGeneratedTypeScript(t *testing.T) {
	node, generator := npmModule(t, "openapi-typescript", "7.13.0", "bin/cli.js")
	_, compiler := npmModule(t, "typescript", "5.9.3", "bin/tsc")
	folder := t.TempDir()
	document, err := filepath.Abs(documentFile)
	require.NoError(t, err)
	check, err := os.ReadFile("testdata/generated/check.ts")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "check.ts"), check, 0o600))
	out, err := inFolder(t, folder, node, generator, document, "--output", "api.ts")
	require.NoError(t, err, "%s", out)
	out, err = inFolder(t, folder, node, compiler, "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "check.ts", "api.ts")
	require.NoError(t, err, "%s", out)
}

// TestPublishedLinters: Spectral and Redocly find no error in the document.
func TestPublishedLinters(t *testing.T) {
	document, err := filepath.Abs(documentFile)
	require.NoError(t, err)
	t.Run("spectral", func(t *testing.T) {
		node, linter := npmModule(t, "@stoplight/spectral-cli", "6.16.3", "dist/index.js")
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, ".spectral.yaml"), []byte("extends: [\"spectral:oas\"]\n"), 0o600))
		out, err := inFolder(t, folder, node, linter, "lint", "--fail-severity=error", "-D", document)
		require.NoError(t, err, "%s", out)
	})
	t.Run("redocly", func(t *testing.T) {
		node, linter := npmModule(t, "@redocly/cli", "2.77.0", "bin/cli.js")
		out, err := inFolder(t, t.TempDir(), "env", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", node, linter, "lint", document)
		require.NoError(t, err, "%s", out)
	})
}

// TestKinOpenAPI: the library that Go programs read such documents with finds this one valid, and its examples too.
func TestKinOpenAPI(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	folder := t.TempDir()
	document, err := filepath.Abs(documentFile)
	require.NoError(t, err)
	program, err := os.ReadFile("testdata/generated/validate.go.txt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), program, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module validated.example/document\n\ngo 1.25\n"), 0o600))
	installs(t, folder, "go", "get", "github.com/getkin/kin-openapi@v0.152.0")
	out, err := inFolder(t, folder, "go", "run", ".", document)
	require.NoError(t, err, "%s", out)
}

// inFolder runs a command in a folder and returns what it prints.
func inFolder(t *testing.T, folder string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env, command.WaitDelay = folder, append(os.Environ(), "GOFLAGS=-mod=mod"), time.Second
	return command.CombinedOutput()
}

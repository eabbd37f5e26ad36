package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

const (
	home     = "../../client" // The folder of the clients.
	patience = 3 * time.Minute
)

// language runs a program of one of the clients: drive or afternoon.
type language struct {
	name    string
	command func(t *testing.T, program string) *exec.Cmd
}

var languages = []language{{"go", goCommand}, {"python", pythonCommand}, {"typescript", nodeCommand}}

func goCommand(t *testing.T, program string) *exec.Cmd {
	require.Equal(t, "afternoon", program, "Go's cases run in this process")
	binary := filepath.Join(t.TempDir(), program)
	build := exec.Command("go", "build", "-o", binary, "./afternoon")
	build.Dir = home
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exec.Command(binary)
}

func pythonCommand(t *testing.T, program string) *exec.Cmd {
	found, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the Python client is NOT tested")
	}
	return exec.Command(found, "-B", filepath.Join(home, "python", program+".py"))
}

// nodeCommand strips the types first: only Node 22.18 and later can do so itself.
func nodeCommand(t *testing.T, program string) *exec.Cmd {
	found, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the TypeScript client is NOT tested")
	}
	out := filepath.Join(t.TempDir(), program+".mjs")
	strip(t, filepath.Join(home, "typescript", program+".ts"), out)
	return exec.Command(found, out)
}

// strip bundles a TypeScript module and its imports into one JavaScript module.
func strip(t *testing.T, source, out string) {
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{source}, Outfile: out, Bundle: true, Write: true, External: []string{"node:*"},
		Format: api.FormatESModule, Platform: api.PlatformNeutral, Target: api.ES2022,
	})
	require.Empty(t, built.Errors)
	require.Empty(t, built.Warnings)
}

// run starts a command with a job on its input and decodes what it prints.
func run(ctx context.Context, command *exec.Cmd, job, into any) error {
	raw, err := json.Marshal(job)
	if err != nil {
		return err
	}
	var out, failure bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(raw), &out, &failure
	if err := await(ctx, command); err != nil {
		return fmt.Errorf("%w: %s", err, failure.String())
	}
	return json.Unmarshal(out.Bytes(), into)
}

// await runs a command and kills it after 3 minutes (patience).
func await(ctx context.Context, command *exec.Cmd) error {
	command.Env = append(os.Environ(), command.Env...)
	if err := command.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Kill() })
	defer stop()
	return command.Wait()
}

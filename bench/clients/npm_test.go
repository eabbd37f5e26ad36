package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npmFolder returns a folder of node_modules with published packages (name@version), which it installs
// once in the user's cache, never in this repository. If it cannot, it skips the test and says so.
func npmFolder(t *testing.T, packages ...string) (node, modules string) {
	t.Helper()
	missing := "what " + strings.Join(packages, ", ") + " check is NOT tested: "
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(missing + "node is not installed")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(missing + "npm is not installed")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	sum := sha256.Sum256([]byte(strings.Join(packages, "\n")))
	folder := filepath.Join(cache, "railguard-tests", "npm-"+hex.EncodeToString(sum[:8]))
	done := filepath.Join(folder, "installed")
	if _, err := os.Stat(done); err == nil {
		return node, filepath.Join(folder, "node_modules")
	}
	require.NoError(t, os.MkdirAll(folder, 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), installPatience)
	defer cancel()
	install := exec.CommandContext(ctx, npm, append([]string{"install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"}, packages...)...)
	install.WaitDelay = time.Second
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%sthey cannot be installed (%v): %s", missing, err, out)
	}
	require.NoError(t, os.WriteFile(done, nil, 0o600)) // An installation that broke off is made again.
	return node, filepath.Join(folder, "node_modules")
}

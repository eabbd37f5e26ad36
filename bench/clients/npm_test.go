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

// installPatience is how long installing packages may take.
const installPatience = 2 * time.Minute

// npmModule returns the path of a file of a published package.
func npmModule(t *testing.T, name, version, file string) (node, module string) {
	t.Helper()
	file = filepath.Join(filepath.FromSlash(name), filepath.FromSlash(file))
	node, modules := npmInstall(t, strings.NewReplacer("@", "", "/", "-").Replace(name)+"-"+version, file, name+"@"+version)
	return node, filepath.Join(modules, file)
}

// npmFolder returns a folder of node_modules with published packages, each as name@version.
func npmFolder(t *testing.T, packages ...string) (node, modules string) {
	t.Helper()
	sum := sha256.Sum256([]byte(strings.Join(packages, "\n")))
	last := packages[len(packages)-1]
	return npmInstall(t, "npm-"+hex.EncodeToString(sum[:8]), filepath.Join(last[:strings.LastIndexByte(last, '@')], "package.json"), packages...)
}

// npmInstall installs packages once in a folder of the user's cache, never in this repository, and returns
// their node_modules. file is one that is there then. If it cannot, it skips the test and says so.
func npmInstall(t *testing.T, name, file string, packages ...string) (node, modules string) {
	t.Helper()
	missing := "what " + strings.Join(packages, " ") + " checks is NOT tested: "
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
	folder := filepath.Join(cache, "railguard-tests", name)
	modules = filepath.Join(folder, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, file)); err == nil {
		return node, modules
	}
	require.NoError(t, os.MkdirAll(folder, 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), installPatience)
	defer cancel()
	install := exec.CommandContext(ctx, npm, append([]string{"install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"}, packages...)...)
	install.WaitDelay = time.Second
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%sit cannot be installed (%v): %s", missing, err, out)
	}
	return node, modules
}

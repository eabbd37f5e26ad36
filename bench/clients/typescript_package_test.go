package clients

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npmPackage is the npm package as it is packed, and what it was built with.
type npmPackage struct {
	node, npm string
	modules   string // node_modules with TypeScript and the frameworks.
	tarball   string
}

// TestTypescriptPackage builds and packs the npm package, installs it in empty projects without a network,
// and uses it there as people do: compiled under the strictest settings, and beside the agents' frameworks.
func TestTypescriptPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	made := packTypescript(t)
	t.Run("contents", func(t *testing.T) { requireContents(t, made.tarball) })
	servers := startCluster(t, 1, "--sandbox", "--mcp")
	settler := servers.settlerKey(t)
	for name, settings := range map[string][]string{"init": nil, "strictest": strictest} {
		t.Run(name, func(t *testing.T) {
			project := made.install(t)
			write(t, filepath.Join(project, "consumer.ts"), readFile(t, "testdata/typescript/consumer.ts"))
			made.compile(t, project, settings...)
			told := made.runNode(t, project, "consumer.js", nil, servers.URLs()[0], servers.Key, settler, t.TempDir())
			require.Equal(t, consumed, told)
		})
	}
	t.Run("frameworks", func(t *testing.T) { requireFrameworks(t, &made, servers) })
}

// consumed is what the program of testdata/typescript/consumer.ts prints.
const consumed = `headers unknown_field colour true true version_mismatch true 25.5 not yet
verdict PROCEED none number 44
lists true true true true
paid true settled PROCEED rgc_ 3 released no funds
verified true
stopped no_answer true
`

// strictest are settings beyond those of tsc --init.
var strictest = []string{
	"--skipLibCheck", "false", "--noPropertyAccessFromIndexSignature", "--noImplicitOverride", "--noImplicitReturns", "--noUnusedLocals",
	"--noUnusedParameters", "--noFallthroughCasesInSwitch", "--allowUnreachableCode", "false", "--erasableSyntaxOnly",
}

// packTypescript installs in the user's cache what the package is built with, and packs the package. If it cannot, it
// skips the test and says so.
func packTypescript(t *testing.T) (made npmPackage) {
	const missing = "the npm package is NOT tested: "
	var err error
	if made.node, err = exec.LookPath("node"); err != nil {
		t.Skip(missing + "node is not installed")
	}
	if made.npm, err = exec.LookPath("npm"); err != nil {
		t.Skip(missing + "npm is not installed")
	}
	made.modules = installDeveloped(t, made.npm, missing)
	work := t.TempDir()
	copyFolder(t, filepath.Join(home, "typescript"), work, "node_modules", "dist")
	require.NoError(t, os.Symlink(made.modules, filepath.Join(work, "node_modules")))
	words := strings.Fields(made.runNPM(t, work, "pack", "--silent", "--offline")) // It builds first.
	made.tarball = filepath.Join(work, words[len(words)-1])
	return made
}

// installDeveloped returns the folder of what package.json names under devDependencies, installed once for all
// runs with the same names and versions.
func installDeveloped(t *testing.T, npm, missing string) string {
	var manifest struct {
		Developed map[string]string `json:"devDependencies"`
	}
	require.NoError(t, json.Unmarshal([]byte(readFile(t, filepath.Join(home, "typescript", "package.json"))), &manifest))
	wanted, err := json.Marshal(map[string]any{"private": true, "dependencies": manifest.Developed})
	require.NoError(t, err)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	sum := sha256.Sum256(wanted)
	folder := filepath.Join(cache, "railguard-tests", "typescript-"+hex.EncodeToString(sum[:6]))
	modules := filepath.Join(folder, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	require.NoError(t, os.MkdirAll(folder, 0o700))
	write(t, filepath.Join(folder, "package.json"), string(wanted))
	ctx, cancel := context.WithTimeout(t.Context(), installPatience)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--fetch-retries=1")
	install.Dir, install.WaitDelay = folder, time.Second
	if out, err := install.CombinedOutput(); err != nil {
		_ = os.RemoveAll(modules) // Half of it would be taken for all of it.
		t.Skipf("%swhat it is built with cannot be installed (%v): %s", missing, err, out)
	}
	return modules
}

// requireContents checks that the package has the entries that it names, with types, and nothing of the tests.
func requireContents(t *testing.T, tarball string) {
	file, err := os.Open(tarball)
	require.NoError(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	require.NoError(t, err)
	var names []string
	for reader := tar.NewReader(unpacked); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(header.Name, "package/")
		names = append(names, name)
		inside := strings.HasPrefix(name, "dist/") && (strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".d.ts"))
		require.True(t, inside || slices.Contains([]string{"LICENSE", "README.md", "package.json"}, name), name)
		require.NotRegexp(t, "drive|afternoon|prove|example", name)
		if name == "LICENSE" {
			raw, err := io.ReadAll(reader)
			require.NoError(t, err)
			require.Equal(t, readFile(t, "../../LICENSE"), string(raw), "client/typescript/LICENSE is a copy")
		}
	}
	for _, entry := range []string{"railguard", "node", "ai-sdk", "langchain", "openai-agents"} {
		require.Contains(t, names, "dist/"+entry+".js")
		require.Contains(t, names, "dist/"+entry+".d.ts")
	}
	require.Subset(t, names, []string{"LICENSE", "README.md"})
}

// install makes an empty project and installs the tarball there. There is no registry and no cache.
func (p *npmPackage) install(t *testing.T) string {
	project := t.TempDir()
	write(t, filepath.Join(project, "package.json"), `{"private": true, "type": "module"}`)
	p.runNPM(t, project, "install", "--offline", "--cache", filepath.Join(t.TempDir(), "cache"), "--registry", "http://127.0.0.1:9", "--no-audit", "--no-fund", p.tarball)
	entries, err := os.ReadDir(filepath.Join(project, "node_modules"))
	require.NoError(t, err)
	for _, entry := range entries {
		require.Contains(t, []string{"railguard", ".package-lock.json"}, entry.Name(), "it needs no other package")
	}
	return project
}

// compile compiles a project's programs under the settings of tsc --init and further ones.
func (p *npmPackage) compile(t *testing.T, project string, settings ...string) {
	compiler := filepath.Join(p.modules, ".bin", "tsc")
	p.runTool(t, project, compiler, "--init")
	p.runTool(t, project, compiler, append([]string{"-p", "."}, settings...)...)
}

func (p *npmPackage) runNPM(t *testing.T, folder string, words ...string) string {
	return p.runTool(t, folder, p.npm, words...)
}

func (p *npmPackage) runTool(t *testing.T, folder, tool string, words ...string) string {
	command := exec.Command(tool, words...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// runNode runs a program of a project and returns what it prints.
func (p *npmPackage) runNode(t *testing.T, project, program string, environment []string, words ...string) string {
	command := exec.Command(p.node, append([]string{program}, words...)...)
	var out, failure strings.Builder
	command.Dir, command.Stdout, command.Stderr, command.Env = project, &out, &failure, environment
	require.NoError(t, await(t.Context(), command), failure.String())
	return out.String()
}

// copyFolder copies a folder without those of some names.
func copyFolder(t *testing.T, from, to string, without ...string) {
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(without, entry.Name()) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, inside), 0o700)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, inside), raw, 0o600)
	}))
}

func readFile(t *testing.T, path string) string {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

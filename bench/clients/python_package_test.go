package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packer returns a Python that can pack a wheel without the network.
func packer(t *testing.T) string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import setuptools, wheel, pip, venv, ensurepip").Run() == nil {
			return name
		}
	}
	t.Skip("no Python has setuptools, wheel, pip and venv: the wheel is NOT tested")
	return ""
}

// installWheel packs the Python client and installs it into an environment of its own, without the network. It
// returns that environment's Python.
func installWheel(t *testing.T) string {
	python, folder := packer(t), t.TempDir()
	source := filepath.Join(folder, "python")
	require.NoError(t, os.CopyFS(source, os.DirFS(filepath.Join(home, "python")))) // Packing leaves files beside its source.
	run := func(name string, args ...string) {
		command := exec.Command(name, args...)
		command.Env = append(os.Environ(), "PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
	}
	run(python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
	wheels, err := filepath.Glob(filepath.Join(folder, "railguard-*-py3-none-any.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	run(python, "-m", "venv", filepath.Join(folder, "venv"))
	inside := filepath.Join(folder, "venv", "bin", "python")
	run(inside, "-m", "pip", "install", "--no-deps", wheels[0])
	return inside
}

// TestPythonWheel: the wheel has its licence, its description and its types, and what is installed of it runs.
func TestPythonWheel(t *testing.T) {
	python := installWheel(t)
	command := exec.Command(python, "-c", `
import importlib.metadata as metadata, os, railguard, railguard.tools
facts = metadata.metadata("railguard")
files = [str(f) for f in metadata.files("railguard")]
print(facts["Name"], facts["Version"], facts["Requires-Python"], "Typing :: Typed" in facts.get_all("Classifier"))
print(any(f.endswith("LICENSE") for f in files), "railguard/py.typed" in files, "pay(client" in (facts.get_payload() or facts["Description"]))
print([tool.name for tool in railguard.tools.definitions(railguard.Client(["http://127.0.0.1:1"], "k"))])
print("venv" in railguard.__file__)
`)
	command.Dir = t.TempDir()
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "railguard 0.2.0 >=3.9 True\nTrue True True\n['screen', 'confirm', 'settle', 'release', 'get_verdict', 'get_limits']\nTrue\n", string(out))
}

// TestPythonWheelsAfternoon: the example runs from an installed wheel.
func TestPythonWheelsAfternoon(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	python := installWheel(t)
	program := filepath.Join(t.TempDir(), "afternoon.py") // Beside no package, so that the installed one is imported.
	raw, err := os.ReadFile(filepath.Join(home, "python", "afternoon.py"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, raw, 0o600))
	servers := startCluster(t, 1)
	spend(t, language{"wheel", func(*testing.T, string) *exec.Cmd { return exec.Command(python, program) }},
		"RAILGUARD_URL="+servers.URLs()[0], "RAILGUARD_KEY="+servers.Key, "RAILGUARD_SETTLER_KEY="+servers.settlerKey(t))
}

// TestPythonLicence: the package's licence is the repository's.
func TestPythonLicence(t *testing.T) {
	ours, err := os.ReadFile("../../LICENSE")
	require.NoError(t, err)
	packed, err := os.ReadFile(filepath.Join(home, "python", "LICENSE"))
	require.NoError(t, err)
	require.True(t, string(ours) == string(packed), "copy LICENSE to client/python")
}

// TestPythonTypes: every function has types, and they hold, as mypy judges in its strictest form.
func TestPythonTypes(t *testing.T) {
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("mypy is not installed: the types of the Python client are NOT checked")
	}
	folder, err := filepath.Abs(filepath.Join(home, "python"))
	require.NoError(t, err)
	command := exec.Command(mypy, "--strict", "--python-version", "3.9", "--cache-dir", t.TempDir(), "railguard")
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	// And those of a program that uses them.
	program := filepath.Join(t.TempDir(), "program.py")
	require.NoError(t, os.WriteFile(program, []byte(strings.Join([]string{
		"from railguard import Answer, Client, Journal, Sent, pay", "client = Client(['https://a.example'], 'k', settler_key='s')",
		"def send(verdict: Answer) -> Sent:", "    return Sent(verdict['txnId'])",
		"state: str = pay(client, {'token': 't', 'amount': 1}, send, Journal('j')).state", "index: int = client.sending(min_index=1).limits('agt_1').index",
	}, "\n")+"\n"), 0o600))
	command = exec.Command(mypy, "--strict", "--cache-dir", t.TempDir(), program)
	command.Env = append(os.Environ(), "MYPYPATH="+folder)
	out, err = command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

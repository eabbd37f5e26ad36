package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, root, name, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
}

func read(t *testing.T, root, name string) string {
	raw, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(raw)
}

func TestMove(t *testing.T) {
	root := t.TempDir()
	write(t, root, "client/go.mod", "module a.example/x/client\n\ngo 1.24\n")
	write(t, root, "bench/go.mod", "require a.example/x/client v0.0.0\n\nreplace a.example/x/client => ../client\n")
	write(t, root, "bench/one.go", "import (\n\t\"a.example/x/client\"\n\t\"a.example/x/client/afternoon\"\n)\n")
	write(t, root, "docs/page.md", "`go get a.example/x/client`, a.example/x/client, a.example/x/client@v1, a.example/x/client a.example/x/client.\n")
	write(t, root, "others.txt", "a.example/x/clients b.a.example/x/client a.example/x/client-old railguard/client\n")
	write(t, root, "picture.bin", "a.example/x/client\xff")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		command := exec.Command("git", args...)
		command.Dir = root
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.Error(t, move(root, "railguard/client"), "no dot in its first part")
	require.Error(t, move(root, "b.example/x"), "the folder is client")
	require.Equal(t, "module a.example/x/client\n\ngo 1.24\n", read(t, root, "client/go.mod"))
	require.NoError(t, move(root, "b.example/client"))
	require.Equal(t, "module b.example/client\n\ngo 1.24\n", read(t, root, "client/go.mod"))
	require.Equal(t, "require b.example/client v0.0.0\n\nreplace b.example/client => ../client\n", read(t, root, "bench/go.mod"))
	require.Equal(t, "import (\n\t\"b.example/client\"\n\t\"b.example/client/afternoon\"\n)\n", read(t, root, "bench/one.go"))
	require.Equal(t, "`go get b.example/client`, b.example/client, b.example/client@v1, b.example/client b.example/client.\n", read(t, root, "docs/page.md"))
	require.Equal(t, "a.example/x/clients b.a.example/x/client a.example/x/client-old railguard/client\n", read(t, root, "others.txt"))
	require.Equal(t, "a.example/x/client\xff", read(t, root, "picture.bin"))
}

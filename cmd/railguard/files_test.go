package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A node whose limit of open files is low says so when it starts, with the number that it
// needs and what to do. A node with a high limit says nothing.
func TestFewFilesAreSaidAtStart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	waitBeside(t)
	for limit, warned := range map[string]bool{"256": true, "4096": false} {
		data := filepath.Join(t.TempDir(), "data")
		node := exec.Command("sh", "-c", `ulimit -n "$1" && exec "$0" serve --id n1 --data "$2" --http 127.0.0.1:0 --admin 127.0.0.1:0 --bootstrap-expect 1 --dev`, product(t), limit, data)
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "RAILGUARD_") {
				node.Env = append(node.Env, entry)
			}
		}
		said, err := node.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, node.Start())
		var lines []string
		for scanner := bufio.NewScanner(said); scanner.Scan(); {
			lines = append(lines, scanner.Text())
			if strings.Contains(scanner.Text(), "msg=serving") {
				break
			}
		}
		_ = node.Process.Kill()
		_ = node.Wait()
		all := strings.Join(lines, "\n")
		require.Contains(t, all, "msg=serving", "it serves all the same")
		if !warned {
			require.NotContains(t, all, "few files", limit)
			continue
		}
		for _, word := range []string{"level=WARN", "few files", "may=256", "needed=4096", "LimitNOFILE", "65536"} {
			require.Contains(t, all, word)
		}
	}
}

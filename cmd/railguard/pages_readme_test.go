package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

var promised = regexp.MustCompile(`^# (PROCEED|REVIEW|BLOCK|UNKNOWN)(?: (R\d+))?[:.]`)

// TestReadmeIsRun types the README's commands, beside the development cluster that its first
// command starts. Each verdict that a comment promises comes.
func TestReadmeIsRun(t *testing.T) {
	blocks := readBlocks(t, "README.md")
	require.Len(t, blocks, 2, "a block more needs its place here")
	requireMakeRuns(t)
	waitBeside(t)
	d := testcluster.StartDevelopment(t, 3)
	b := openBook(t, d.Binary)
	_, code := b.enter("ln -s " + d.Folder + " railguard-data && mkdir bin && ln -s ../.programs/railguard bin/railguard")
	require.Zero(t, code)
	urls := d.URLs()
	b.replace = []string{"http://127.0.0.1:8080", urls[0], "http://127.0.0.1:8081", urls[1]}

	printed := b.read(blocks[0])
	promises := 0
	for i, command := range blocks[0].commands {
		want := promised.FindStringSubmatch(command)
		if want == nil {
			continue
		}
		promises++
		answer := strings.Join(printed[i:min(i+3, len(printed))], "\n")
		if strings.Contains(blocks[0].commands[i+1], "TXN=$(") { // The id alone is kept; the officer's answer says what became of it.
			require.Contains(t, answer, `"APPROVED"`, command)
			continue
		}
		require.Contains(t, answer, `"verdict":"`+want[1]+`"`, command)
		if want[2] != "" {
			require.Contains(t, answer, `"rule":"`+want[2]+`_`, command)
		}
	}
	require.Equal(t, 7, promises)
	require.Contains(t, printed[len(printed)-1], "PROVEN", "the last command verifies the proof")

	printed = b.read(blocks[1])
	require.Contains(t, printed[0], "writes ok")
	require.Contains(t, printed[2], `"verdict":"PROCEED"`, "at another node, after the kill")
}

// requireMakeRuns requires that `make run` and `make test` are what README says they are.
func requireMakeRuns(t *testing.T) {
	for target, does := range map[string]string{"run": "railguard dev --nodes 3", "test": "go test"} {
		said, err := exec.Command("make", "-n", "-C", "../..", target).CombinedOutput()
		require.NoError(t, err, string(said))
		require.Contains(t, string(said), does)
	}
}

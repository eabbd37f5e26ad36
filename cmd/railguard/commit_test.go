package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestVersionSaysWhatItWasBuiltFrom: a release says its commit and its format, in words and as JSON.
func TestVersionSaysWhatItWasBuiltFrom(t *testing.T) {
	defer func(before string) { commitOfBuild = before }(commitOfBuild)
	commitOfBuild = "0123456789abcdef"
	say := func(args ...string) string {
		var said strings.Builder
		command := newVersion()
		command.SetOut(&said)
		command.SetArgs(append([]string{}, args...))
		require.NoError(t, command.Execute())
		return said.String()
	}
	require.Equal(t, fmt.Sprintf("%s\ncommit 0123456789abcdef\nformat %d\n", version, engine.FormatNewest), say())
	var told struct {
		Commit string
		Format uint16
	}
	require.NoError(t, json.Unmarshal([]byte(say("--json")), &told))
	require.Equal(t, "0123456789abcdef", told.Commit)
	require.Equal(t, uint16(engine.FormatNewest), told.Format)
}

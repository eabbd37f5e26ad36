package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The frozen tables are what this program writes.
func TestFrozenTables(t *testing.T) {
	for name, write := range map[string]func(*bufio.Writer){"fold.txt": writeFolds, "han.txt": writeReadings} {
		frozen, err := os.ReadFile(filepath.Join("..", "..", "ofac", "text", name))
		require.NoError(t, err)
		var made bytes.Buffer
		out := bufio.NewWriter(&made)
		write(out)
		require.NoError(t, out.Flush())
		require.True(t, bytes.Equal(frozen, made.Bytes()), "%s differs: see doc.go", name)
	}
}

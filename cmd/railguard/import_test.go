package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server must be able to read the upload of a folder: one complete archive with unpacked
// members, however the files were packed.
func TestBundleOfFolder(t *testing.T) {
	folder := t.TempDir()
	packed, err := os.Create(filepath.Join(folder, "sdn.csv.gz"))
	require.NoError(t, err)
	writer := gzip.NewWriter(packed)
	_, err = writer.Write([]byte("36,x"))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, packed.Close())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "README.txt"), []byte("not a list"), 0o600))

	name, data, err := bundleOf(folder)
	require.NoError(t, err)
	require.Equal(t, "lists.zip", name)
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Len(t, archive.File, 1)
	require.Equal(t, "SDN.CSV", archive.File[0].Name)
	member, err := archive.File[0].Open()
	require.NoError(t, err)
	content, err := io.ReadAll(member)
	require.NoError(t, err)
	require.Equal(t, "36,x", string(content))
}

func TestBundleOfFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "SDN.CSV")
	require.NoError(t, os.WriteFile(path, []byte("36,x"), 0o600))
	name, data, err := bundleOf(path)
	require.NoError(t, err)
	require.Equal(t, "SDN.CSV", name)
	require.Equal(t, "36,x", string(data))
}

func TestBundleOfNothing(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		_, _, err := bundleOf(path)
		var coded *exitError
		require.ErrorAs(t, err, &coded)
		require.Equal(t, exitUsage, coded.code)
	}
}

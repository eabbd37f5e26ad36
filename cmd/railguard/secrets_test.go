package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster"
	"railguard/cluster/report"
	"railguard/seal"
)

// spellings are the forms in which a secret may leak into a file.
func spellings(secret []byte) [][]byte {
	return [][]byte{
		secret,
		[]byte(hex.EncodeToString(secret)),
		[]byte(base64.RawStdEncoding.EncodeToString(secret)),
		[]byte(base64.RawURLEncoding.EncodeToString(secret)),
	}
}

// TestNoSecretInTheDataFolder: the signing key, the checkpoint signer's seed, API keys and the
// cluster secret are nowhere in plain text in a node's files, its log, its snapshots or a
// saved snapshot. Their sealed forms are.
func TestNoSecretInTheDataFolder(t *testing.T) {
	dir, clusterSecret, firstKey := t.TempDir(), []byte("the secret of this test's cluster"), seal.NewAPISecret()
	secrets := seal.NewSecrets(clusterSecret)
	genesis, err := genesisOf(&serveFlags{http: "127.0.0.1:8080", issuer: "railguard"}, secrets, firstKey)
	require.NoError(t, err)
	node, err := cluster.Open(cluster.Config{ID: "n1", DataDir: dir, BootstrapExpect: 1, Genesis: genesis, Secret: clusterSecret})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return node.Ready(t.Context(), report.ReadyQuery{}).Ready }, 10*time.Second, 10*time.Millisecond)
	_, err = node.Snapshot(t.Context())
	require.NoError(t, err)
	saved, err := os.Create(filepath.Join(dir, "saved.snapshot"))
	require.NoError(t, err)
	require.NoError(t, node.SaveSnapshot(t.Context(), saved))
	require.NoError(t, saved.Close())
	settings := node.Settings()
	require.NoError(t, node.Close())

	scalar, err := secrets.Open("railguard signing key", settings.SigningKeys[0].Sealed)
	require.NoError(t, err)
	seed, err := secrets.Open("railguard log seed", settings.Genesis.LogSeed)
	require.NoError(t, err)
	var inClear [][]byte
	for _, secret := range [][]byte{scalar, seed, clusterSecret, []byte(firstKey)} {
		inClear = append(inClear, spellings(secret)...)
	}
	sealedIn := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range inClear {
			require.False(t, bytes.Contains(data, secret), "%s holds a secret in clear", path)
		}
		sealedIn[filepath.Base(path)] = bytes.Contains(data, settings.SigningKeys[0].Sealed)
		return err
	}))
	for _, name := range []string{"00000000000000000001.log", "state.bin", "saved.snapshot"} {
		require.True(t, sealedIn[name], "%s holds the sealed key: what is looked for would be seen", name)
	}
}

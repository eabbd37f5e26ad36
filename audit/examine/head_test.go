package examine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
)

// After a rotation for theft the thief can sign another tree of the sizes that the former keys
// signed. The newest head, which the reader got another way, tells it from the log's.
func TestTheNewestHeadTellsAThiefsTree(t *testing.T) {
	signer := func(seed byte) *note.Signer {
		s, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{seed}, 32))
		require.NoError(t, err)
		return s
	}
	honest, forged := newFixture(t, 12), newFixture(t, 12)
	stolen, next := honest.signer, signer(9)
	forged.leaves, forged.hashes = nil, map[int64]tlog.Hash{}
	for i, leaf := range honest.leaves {
		if i == 2 {
			leaf = bytes.Replace(leaf, []byte("PROCEED"), []byte("BLOCK"), 1)
		}
		forged.add(t, i, leaf)
	}
	keys := note.SizesLine(13, math.MaxUint64) + next.VerifierKeys() + stolen.Endorse(next, 13) + note.SizesLine(0, 12) + stolen.VerifierKeys()
	read := func(f *fixture) *Report {
		r, err := File(strings.NewReader(encode(t, f.export(t, 0, 12, "", numbers(0, 12)...)...)), Options{Keys: keys, KeysGiven: true})
		require.NoError(t, err)
		return &r
	}
	evidence, fake := read(honest), read(forged)
	require.Contains(t, strings.Join(evidence.NotShown(), "; "), "its keys were replaced since")

	for i := 12; i < 20; i++ {
		honest.add(t, i, []byte(`{"kind":"other"}`))
	}
	head := next.Sign(20, honest.root(t), 0)
	hashes, err := tlog.ProveTree(20, 12, honest)
	require.NoError(t, err)
	texts := []string{}
	for _, hash := range hashes {
		texts = append(texts, base64.StdEncoding.EncodeToString(hash[:]))
	}
	path, err := json.Marshal(map[string]any{"from": 12, "to": 20, "path": texts})
	require.NoError(t, err)
	require.ErrorIs(t, fake.DemandHead(head, path), ErrProof)
	require.ErrorContains(t, fake.DemandHead(head, path), "do not continue one another")
	require.ErrorContains(t, evidence.DemandHead(head, nil), "GET /log/consistency/12/20")
	require.ErrorIs(t, evidence.DemandHead(head, []byte("{}")), ErrFormat)
	require.ErrorIs(t, evidence.DemandHead(stolen.Sign(20, honest.root(t), 0), path), ErrProof, "the stolen keys sign no larger tree")
	require.ErrorContains(t, fake.DemandHead([]byte(read(honest.at(12)).signed(stolen)), nil), "another tree of 12 leaves")
	require.Nil(t, evidence.Head)
	require.NoError(t, evidence.DemandHead(head, path))
	require.Contains(t, strings.Join(evidence.Shown(), "; "), "the head that you gave, of 20 leaves, continue one another")
	require.NotContains(t, strings.Join(evidence.NotShown(), "; "), "its keys were replaced since")
	said, err := json.Marshal(evidence)
	require.NoError(t, err)
	require.Contains(t, string(said), `"headTreeSize":20`)
}

// at returns the fixture as it was when it had so many leaves.
func (f *fixture) at(size int) *fixture {
	return &fixture{leaves: f.leaves[:size], hashes: f.hashes, signer: f.signer}
}

// signed returns the report's tree head, signed.
func (r *Report) signed(by *note.Signer) string {
	return string(by.Sign(r.Checkpoint.Size, r.Checkpoint.Root, 0))
}

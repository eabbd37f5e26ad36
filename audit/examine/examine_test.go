package examine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
)

// fixture is a tree of records made with another library than the verifier's.
type fixture struct {
	leaves [][]byte
	hashes map[int64]tlog.Hash
	signer *note.Signer
}

func newFixture(t testing.TB, count int) *fixture {
	signer, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	f := &fixture{hashes: map[int64]tlog.Hash{}, signer: signer}
	for i := range count {
		leaf := fmt.Appendf(nil, `{"kind":"screen","leaf":%d,"verdict":"PROCEED"}`, i)
		f.leaves = append(f.leaves, leaf)
		stored, err := tlog.StoredHashes(int64(i), leaf, f)
		require.NoError(t, err)
		at := tlog.StoredHashIndex(0, int64(i))
		for n, hash := range stored {
			f.hashes[at+int64(n)] = hash
		}
	}
	return f
}

// ReadHashes makes the fixture a tlog.HashReader.
func (f *fixture) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = f.hashes[index]
	}
	return hashes, nil
}

func (f *fixture) line(t testing.TB, index int) map[string]any {
	path, err := tlog.ProveRecord(int64(len(f.leaves)), int64(index), f)
	require.NoError(t, err)
	texts := []string{}
	for _, hash := range path {
		texts = append(texts, base64.StdEncoding.EncodeToString(hash[:]))
	}
	return map[string]any{"type": "leaf", "leaf": string(f.leaves[index]), "index": index, "path": texts}
}

func (f *fixture) checkpoint(t testing.TB) string {
	root, err := tlog.TreeHash(int64(len(f.leaves)), f)
	require.NoError(t, err)
	return string(f.signer.Sign(uint64(len(f.leaves)), note.Hash(root), 1_774_150_408))
}

func (f *fixture) proof(t testing.TB, index int) map[string]any {
	p := f.line(t, index)
	delete(p, "type")
	p["treeSize"], p["checkpoint"], p["keys"] = len(f.leaves), f.checkpoint(t), f.signer.VerifierKeys()
	return p
}

func (f *fixture) export(t testing.TB) []map[string]any {
	lines := []map[string]any{{"type": "checkpoint", "checkpoint": f.checkpoint(t), "keys": f.signer.VerifierKeys(), "treeSize": len(f.leaves)}}
	for i := range f.leaves {
		lines = append(lines, f.line(t, i))
	}
	return append(lines, map[string]any{"type": "end", "leaves": len(f.leaves)})
}

func encode(t testing.TB, lines ...map[string]any) string {
	var text strings.Builder
	for _, line := range lines {
		data, err := json.Marshal(line)
		require.NoError(t, err)
		text.Write(append(data, '\n'))
	}
	return text.String()
}

func TestProof(t *testing.T) {
	f := newFixture(t, 11)
	for i := range f.leaves {
		report, err := File(strings.NewReader(encode(t, f.proof(t, i))), "")
		require.NoError(t, err)
		require.Equal(t, 1, report.Leaves)
		require.False(t, report.KeysGiven)
		require.JSONEq(t, string(f.leaves[i]), string(report.Last))
	}
	indented, err := json.MarshalIndent(f.proof(t, 3), "", "  ")
	require.NoError(t, err)
	report, err := File(bytes.NewReader(indented), f.signer.VerifierKeys())
	require.NoError(t, err)
	require.True(t, report.KeysGiven)
}

func TestExport(t *testing.T) {
	f := newFixture(t, 300)
	report, err := File(strings.NewReader(encode(t, f.export(t)...)), f.signer.VerifierKeys())
	require.NoError(t, err)
	require.Equal(t, 300, report.Leaves)
	require.Equal(t, 300, report.Screens)
}

func TestWhatDoesNotProve(t *testing.T) {
	f := newFixture(t, 9)
	other, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{8}, 32))
	require.NoError(t, err)
	changed := func(change func(map[string]any)) string {
		p := f.proof(t, 4)
		change(p)
		return encode(t, p)
	}
	exported := f.export(t)
	cases := map[string]struct {
		text, keys string
		want       error
	}{
		"record altered":  {changed(func(p map[string]any) { p["leaf"] = strings.Replace(p["leaf"].(string), "PROCEED", "BLOCK", 1) }), "", ErrProof},
		"another index":   {changed(func(p map[string]any) { p["index"] = 5 }), "", ErrProof},
		"path cut":        {changed(func(p map[string]any) { p["path"] = p["path"].([]string)[1:] }), "", ErrProof},
		"path not a hash": {changed(func(p map[string]any) { p["path"] = []string{"AAAA"} }), "", ErrFormat},
		"checkpoint altered": {changed(func(p map[string]any) {
			p["checkpoint"] = strings.Replace(p["checkpoint"].(string), "\n9\n", "\n8\n", 1)
		}), "", ErrProof},
		"signed by others":       {changed(func(map[string]any) {}), other.VerifierKeys(), ErrProof},
		"no checkpoint":          {changed(func(p map[string]any) { delete(p, "checkpoint") }), "", ErrFormat},
		"no index":               {changed(func(p map[string]any) { delete(p, "index") }), "", ErrFormat},
		"empty":                  {"", "", ErrFormat},
		"not JSON":               {"hello\n", "", ErrFormat},
		"export cut":             {encode(t, exported[:5]...), "", ErrProof},
		"export without a row":   {encode(t, append(append([]map[string]any{}, exported[:3]...), exported[4:]...)...), "", ErrProof},
		"export with a stranger": {encode(t, exported[0], map[string]any{"type": "note"}), "", ErrFormat},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := File(strings.NewReader(c.text), c.keys)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func FuzzFile(f *testing.F) {
	fx := newFixture(f, 3)
	f.Add(encode(f, fx.proof(f, 1)))
	f.Add(encode(f, fx.export(f)...))
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = File(strings.NewReader(text), "")
	})
}

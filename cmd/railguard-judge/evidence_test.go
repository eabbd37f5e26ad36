package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/bundle"
	"railguard/audit/note"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

var maker = bundle.Program{Version: "0.2.0", Digest: strings.Repeat("0f", 32)}

// honest writes a bundle, as this release does, of the records that the first release wrote.
func honest(t *testing.T, page []byte) string {
	file, err := os.Open("../railguard/testdata/releases/0.1.0/bundle.tar.zst")
	require.NoError(t, err)
	defer file.Close()
	dir := filepath.Join(t.TempDir(), "may")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, bundle.Unpack(file, dir))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "policies")))
	require.NoError(t, bundle.Finish(dir, maker, page))
	return dir
}

func read(t *testing.T, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, dir, name, text string) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// edit replaces the first place of a text in a file.
func edit(t *testing.T, dir, name, old, fresh string) {
	text := read(t, dir, name)
	require.Contains(t, text, old)
	write(t, dir, name, strings.Replace(text, old, fresh, 1))
}

// resum writes SHA256SUMS anew, as a forger can.
func resum(t *testing.T, dir string) {
	var text strings.Builder
	names, err := bundle.Folder(dir).Names()
	require.NoError(t, err)
	for _, name := range names {
		if name != "SHA256SUMS" {
			sum := sha256.Sum256([]byte(read(t, dir, name)))
			text.WriteString(hex.EncodeToString(sum[:]) + "  " + name + "\n")
		}
	}
	write(t, dir, "SHA256SUMS", text.String())
}

// twin is a second log that says the same but for one verdict: its owner signs what no engine
// decided. It is a tlog.HashReader.
type twin struct {
	hashes map[int64]tlog.Hash
	signer *note.Signer
}

// ReadHashes returns stored hashes of the tree.
func (w *twin) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = w.hashes[index]
	}
	return hashes, nil
}

// lying writes a bundle whose log, signed and whole, recorded PROCEED where the rules say BLOCK.
// It returns the lying record's transaction too.
func lying(t *testing.T, page []byte) (dir, txn string) { return lyingBy(t, page, lie) }

// lyingBy writes a bundle whose log, signed and whole, says in its first leaf that can something else.
// say returns "" for the others.
func lyingBy(t *testing.T, page []byte, say func(t *testing.T, data []byte, line map[string]any, leaves [][]byte) (told []byte, txn string)) (dir, txn string) {
	dir = honest(t, nil)
	signer, err := note.NewSigner("pay.example.com/cl_6f3f8a6b0d8cca76", bytes.Repeat([]byte{7}, note.SeedSize))
	require.NoError(t, err)
	w := &twin{hashes: map[int64]tlog.Hash{}, signer: signer}
	var lines []map[string]any
	var leaves [][]byte
	for text := range strings.Lines(read(t, dir, bundle.RecordsName)) {
		var line map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&line))
		if lines = append(lines, line); line["type"] != "leaf" {
			continue
		}
		data := []byte(line["leaf"].(string))
		if line["record"] != nil {
			data, err = base64.StdEncoding.DecodeString(string(data))
			require.NoError(t, err)
		}
		if txn == "" {
			data, txn = say(t, data, line, leaves)
		}
		stored, err := tlog.StoredHashes(int64(len(leaves)), data, w)
		require.NoError(t, err)
		for n, hash := range stored {
			w.hashes[tlog.StoredHashIndex(0, int64(len(leaves)))+int64(n)] = hash
		}
		leaves = append(leaves, data)
	}
	require.NotEmpty(t, txn)
	w.sign(t, lines, leaves)
	var text strings.Builder
	for _, line := range lines {
		data, err := json.Marshal(line)
		require.NoError(t, err)
		text.Write(append(data, '\n'))
	}
	write(t, dir, bundle.RecordsName, text.String())
	write(t, dir, bundle.KeysName, signer.VerifierKeys())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "policies")))
	require.NoError(t, bundle.Finish(dir, maker, page))
	return dir, txn
}

// lie turns a recorded BLOCK into a PROCEED, in the bytes and in the words beside them. It returns
// "" for any other verdict.
func lie(t *testing.T, data []byte, line map[string]any, leaves [][]byte) (told []byte, txn string) {
	var s leaf.Screen
	if leaf.FormOf(data) != leaf.FormScreen {
		return data, ""
	}
	require.NoError(t, leaf.DecodeScreen(data, &s))
	if s.Verdict != engine.Block {
		return data, ""
	}
	s.Verdict, s.Rule, s.Sub, s.Triggered = engine.Proceed, 0, 0, 0
	data = leaf.AppendScreen(nil, &s)
	record, err := leafjson.Render(data, func(ref leaf.Ref) []byte { return leaves[ref.Leaf] })
	require.NoError(t, err)
	hash := tlog.RecordHash(data)
	line["leaf"], line["leafHash"], line["record"] = base64.StdEncoding.EncodeToString(data), base64.StdEncoding.EncodeToString(hash[:]), json.RawMessage(record)
	return data, "txn_" + string(s.Txn[:])
}

// liesOf returns lies about a payment that was confirmed: in its judgement alone, in its leaf alone,
// and in both. Each is what a log would write that gave leave to what the rules forbid.
func liesOf() map[string]func(t *testing.T, data []byte, line map[string]any, leaves [][]byte) (told []byte, txn string) {
	of := func(change func(said string, s *leaf.Screen) string) func(t *testing.T, data []byte, line map[string]any, leaves [][]byte) (told []byte, txn string) {
		return func(t *testing.T, data []byte, line map[string]any, _ [][]byte) (told []byte, txn string) {
			var x leafjson.Screen
			if x.OpenPaid(data) != nil {
				return data, ""
			}
			said := change(string(data), &x.Screen)
			judged := base64.StdEncoding.EncodeToString(leaf.AppendScreen(nil, &x.Screen))
			told = []byte(strings.Replace(said, x.Paid.Said.Judged, judged, 1))
			require.NotEqual(t, string(data), string(told))
			hash := tlog.RecordHash(told)
			line["leaf"], line["leafHash"] = string(told), base64.StdEncoding.EncodeToString(hash[:])
			return told, x.TxnID()
		}
	}
	suspend := func(s *leaf.Screen) { s.Levels[0].Status = engine.Suspended }
	return map[string]func(t *testing.T, data []byte, line map[string]any, leaves [][]byte) (told []byte, txn string){
		"recorded PROCEED , decided again BLOCK R2_CREDENTIAL_STATUS": of(func(said string, s *leaf.Screen) string {
			suspend(s)
			return said
		}),
		"leaf.verdict is recorded as PROCEED, and can only be BLOCK": of(func(said string, s *leaf.Screen) string {
			suspend(s)
			s.Verdict, s.Rule, s.Sub, s.Triggered = engine.Block, engine.RuleCredentialStatus, 1, 1<<engine.RuleCredentialStatus
			return said
		}),
		"verdict is recorded as PROCEED, and can only be UNKNOWN": of(func(said string, s *leaf.Screen) string {
			s.Evidence = leaf.Evidence{}
			return said
		}),
		"leaf.leftOut is recorded as ": of(func(said string, s *leaf.Screen) string {
			at := strings.Index(said, `"leftOut":`) + len(`"leftOut":`)
			return said[:at] + "4" + said[at+strings.IndexAny(said[at:], ",}"):]
		}),
	}
}

// sign writes paths, head and end of the twin's export.
func (w *twin) sign(t *testing.T, lines []map[string]any, leaves [][]byte) {
	head, end := lines[0], lines[len(lines)-1]
	size := int64(len(leaves))
	root, err := tlog.TreeHash(size, w)
	require.NoError(t, err)
	digest := sha256.New()
	for i, line := range lines[1 : len(lines)-1] {
		path, err := tlog.ProveRecord(size, int64(i), w)
		require.NoError(t, err)
		texts := []string{}
		for _, hash := range path {
			texts = append(texts, base64.StdEncoding.EncodeToString(hash[:]))
		}
		line["path"] = texts
		if beside, is := line["payment"].(map[string]any); is {
			w.proveBeside(t, size, beside, leaves)
		}
		hash := tlog.RecordHash(leaves[i])
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(i)))
		digest.Write(hash[:])
	}
	head["checkpoint"], head["keys"] = string(w.signer.Sign(uint64(size), note.Hash(root), 1_790_000_000_000_000_000)), w.signer.VerifierKeys()
	x := note.Export{
		Origin: "pay.example.com/cl_6f3f8a6b0d8cca76", Cluster: head["clusterId"].(string), Size: uint64(size), Root: note.Hash(root), End: uint64(size),
		From: head["from"].(string), To: head["to"].(string), Leaves: uint64(size), Digest: note.Hash(digest.Sum(nil)),
	}
	end["digest"], end["signature"] = base64.StdEncoding.EncodeToString(x.Digest[:]), string(w.signer.SignExport(x))
}

// proveBeside writes bytes and path of a payment's own record, which stands beside a leaf.
func (w *twin) proveBeside(t *testing.T, size int64, beside map[string]any, leaves [][]byte) {
	at, err := beside["index"].(json.Number).Int64()
	require.NoError(t, err)
	path, err := tlog.ProveRecord(size, at, w)
	require.NoError(t, err)
	texts, hash := []string{}, tlog.RecordHash(leaves[at])
	for _, one := range path {
		texts = append(texts, base64.StdEncoding.EncodeToString(one[:]))
	}
	beside["leaf"], beside["leafHash"], beside["path"] = base64.StdEncoding.EncodeToString(leaves[at]), base64.StdEncoding.EncodeToString(hash[:]), texts
}

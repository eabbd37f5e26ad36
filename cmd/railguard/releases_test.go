package main

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/fsm"
)

var releaseName = flag.String("release", "", "write the files of this release, which has none yet")

// releaseFolder holds what each release wrote: evidence, a log and a snapshot. A folder never
// changes; each release adds its own (make golden-release).
const releaseFolder = "testdata/releases"

// releaseBytes bounds the size of one release's files, which stay in the repository for ever.
const releaseBytes = 200_000

// This release reads the evidence, logs and snapshots of every release, and gets the same
// digest.
func TestEveryReleaseIsRead(t *testing.T) {
	if *releaseName != "" {
		writeRelease(t, filepath.Join(releaseFolder, *releaseName))
	}
	releases, err := os.ReadDir(releaseFolder)
	require.NoError(t, err)
	require.NotEmpty(t, releases)
	for _, release := range releases {
		t.Run(release.Name(), func(t *testing.T) { readRelease(t, filepath.Join(releaseFolder, release.Name())) })
	}
}

// newestRelease names the release whose files were written last.
func newestRelease(t *testing.T) string {
	releases, err := os.ReadDir(releaseFolder)
	require.NoError(t, err)
	require.NotEmpty(t, releases)
	return releases[len(releases)-1].Name()
}

func readRelease(t *testing.T, dir string) {
	keys, size := filepath.Join(dir, "keys.txt"), int64(0)
	for _, name := range []string{"proof.json", "record.tlog-proof", "export.ndjson", "agent.ndjson", "bundle.tar.zst"} {
		out, _, err := run(t, "verify", filepath.Join(dir, name), "--keys", keys)
		require.NoError(t, err, name)
		require.Contains(t, out, "PROVEN: ", name)
	}
	require.NoError(t, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if info, _ := entry.Info(); info != nil && !entry.IsDir() {
			size += info.Size()
		}
		return err
	}))
	require.Less(t, size, int64(releaseBytes))
	digest := readFile(t, filepath.Join(dir, "digest.txt"))
	require.Equal(t, digest, digestOfState(replayLog(t, dir)), "the log leads to another state")
	snapshot, err := os.Open(filepath.Join(dir, "snapshot.bin"))
	require.NoError(t, err)
	defer snapshot.Close()
	restored, err := fsm.Restore(snapshot)
	require.NoError(t, err)
	require.Equal(t, digest, digestOfState(restored), "the snapshot is of another state")
}

// replayLog applies the raft log of a release from its first entry on.
func replayLog(t *testing.T, dir string) *fsm.Machine {
	packed, err := filepath.Glob(filepath.Join(dir, "raft", "*.zst"))
	require.NoError(t, err)
	folder := t.TempDir()
	for _, path := range packed {
		data := unpackFile(t, path)
		require.NoError(t, os.WriteFile(filepath.Join(folder, strings.TrimSuffix(filepath.Base(path), ".zst")), data, 0o600))
	}
	log, err := datadir.OpenLog(folder)
	require.NoError(t, err)
	defer log.Close()
	first, err := log.FirstIndex()
	require.NoError(t, err)
	require.EqualValues(t, 1, first)
	last, err := log.LastIndex()
	require.NoError(t, err)
	machine := fsm.New()
	var effects fsm.Effects
	for index := first; index <= last; index++ {
		var entry raft.Log
		require.NoError(t, log.GetLog(index, &entry))
		if entry.Type == raft.LogCommand {
			machine.Apply(index, entry.Term, entry.Data, &effects)
			require.Empty(t, effects.Stop, "entry %d", index)
		}
	}
	return machine
}

func digestOfState(machine *fsm.Machine) string {
	view := machine.Freeze()
	text, _ := json.Marshal(map[string]any{"index": view.Index, "leaves": view.Size, "root": view.Root[:], "digest": view.Digest()})
	return string(text) + "\n"
}

// writeRelease makes this release's files, using a node of its own.
func writeRelease(t *testing.T, dir string) {
	require.NoDirExists(t, dir, "the files of a release are never written again")
	o, _ := makeBundle(t)
	token := o.node.token(t)
	review := o.node.must(t, 200, "POST", "/v1/screen", `{"token":"`+token+`","amount":12.50,"cpName":"M\u00fcller \u003c GmbH","chain":"dogecoin"}`)
	require.Equal(t, "REVIEW", review["verdict"])
	txn, agent := review["txnId"].(string), review["agentId"].(string)
	o.node.must(t, 200, "POST", "/v1/reviews/"+txn, `{"disposition":"APPROVED","reviewedBy":"carla","notes":"the release's own"}`)
	o.node.must(t, 200, "POST", "/v1/transactions/"+txn+"/confirm", `{"redeem":true}`)
	o.checkpoint(o.now.Size + 3)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "raft"), 0o755))
	server := []string{"--url", o.server.URL, "--key", groupKey, "--data", o.in("none")}
	save := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	save("keys.txt", o.get("/log/keys"))
	save("proof.json", o.ask(append([]string{"audit", "proof", txn}, server...)...))
	save("record.tlog-proof", o.ask(append([]string{"audit", "proof", txn, "--tlog"}, server...)...))
	save("export.ndjson", o.ask(append([]string{"audit", "export"}, server...)...))
	save("agent.ndjson", o.ask(append([]string{"audit", "export", "--agent", agent}, server...)...))
	o.ask(append([]string{"audit", "bundle", "--out", filepath.Join(dir, "bundle.tar.zst")}, server...)...)
	data := filepath.Join(o.node.dir, "raft")
	o.server.Close()
	o.group.close("n1")
	files, err := os.ReadDir(data)
	require.NoError(t, err)
	for _, file := range files {
		if !file.IsDir() {
			packFile(t, filepath.Join(data, file.Name()), filepath.Join(dir, "raft", file.Name()+".zst"))
		}
	}
	machine := replayLog(t, dir)
	save("digest.txt", digestOfState(machine))
	snapshot, err := os.Create(filepath.Join(dir, "snapshot.bin"))
	require.NoError(t, err)
	_, err = machine.Freeze().WriteTo(snapshot)
	require.NoError(t, err)
	require.NoError(t, snapshot.Close())
}

func packFile(t *testing.T, from, to string) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, encoder.EncodeAll([]byte(readFile(t, from)), nil), 0o644))
}

func unpackFile(t *testing.T, path string) []byte {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	decoder, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer decoder.Close()
	data, err := io.ReadAll(decoder)
	require.NoError(t, err)
	return data
}

package backup

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// start is 2026-03-22T03:33:28.589Z.
const start = engine.Time(1774150408589) * engine.Millisecond

// world is a node's folder, and the state that belongs to it.
type world struct {
	t       testing.TB
	dir     string
	id      string
	machine *fsm.Machine
	history *audit.Store
	out     fsm.Effects
	index   uint64
	term    uint64
	now     engine.Time
	lists   []string // Digests.
}

func newWorld(t testing.TB, clusterID string) *world {
	w := &world{t: t, dir: t.TempDir(), id: "n1", machine: fsm.New(), term: 2, now: start}
	for _, name := range []string{datadir.RaftFolder, datadir.AuditFolder, datadir.ListFolder} {
		require.NoError(t, os.Mkdir(filepath.Join(w.dir, name), 0o700))
	}
	var err error
	w.history, err = audit.Open(audit.OSDir(filepath.Join(w.dir, datadir.AuditFolder)), audit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.history.Close() })
	who, err := json.Marshal(w.identity(clusterID))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, datadir.IdentityFile), who, 0o600))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	w.apply(wire.KindGenesis, &wire.Genesis{
		ClusterID: clusterID, Dev: true, TestClock: true, Issuer: "did:kya:railguard", PublicURL: "http://127.0.0.1:8080",
		IDKey: [16]byte{1}, SaltKey: [16]byte{2}, Policy: *engine.DefaultPolicy(), SigningKey: wire.SigningKey{KID: "cc-v1", Public: public[1:], Sealed: []byte{9}},
	})
	w.addList([]byte("a list that nobody opens"), w.now)
	w.apply(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: "k", Prefix: "p", Hashes: [][]byte{bytes.Repeat([]byte("k"), 32)}, Roles: wire.RoleScreener}})
	return w
}

func (w *world) identity(clusterID string) datadir.Identity {
	return datadir.Identity{Format: datadir.Format, ID: w.id, Incarnation: strings.Repeat("ab", 16), ClusterID: clusterID, Recovery: 3}
}

// apply applies one record and appends its leaves to history.
func (w *world) apply(kind wire.Kind, body any) wire.Result {
	w.index++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: w.term, Time: w.now})
	entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: w.index, Body: wire.Encode(body)})
	w.machine.Apply(w.index, w.term, wire.Seal(entry, 1), &w.out)
	require.Empty(w.t, w.out.Stop)
	var leaves []audit.Leaf
	for i := range w.out.Leaves {
		l := &w.out.Leaves[i]
		leaves = append(leaves, audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data, Hash: l.Hash})
	}
	if len(leaves) > 0 {
		require.NoError(w.t, w.history.Append(w.out.FirstLeaf, leaves))
	}
	require.Len(w.t, w.out.Results, 1)
	return w.out.Results[0]
}

// note writes a leaf of a little more than size bytes.
func (w *world) note(size int) {
	fragment := fmt.Appendf(nil, `"text":%q`, strings.Repeat("x", size))
	require.Equal(w.t, wire.Applied, w.apply(wire.KindNote, &wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: fragment}}).Code)
}

func (w *world) notes(count int) {
	for i := range count {
		w.note(i)
	}
}

// addList activates a list and stores it in the folder with the given time.
func (w *world) addList(data []byte, at engine.Time) {
	digest := sha256.Sum256(data)
	chunk := &wire.ListChunk{Digest: digest, Total: uint32(len(data)), Data: data, Info: &wire.ListInfo{Digest: digest, Source: "test", Entries: 1}}
	require.Equal(w.t, wire.Applied, w.apply(wire.KindListChunk, chunk).Code)
	require.Equal(w.t, wire.Applied, w.apply(wire.KindListActivate, &wire.ListActivate{Digest: digest}).Code)
	name := hex.EncodeToString(digest[:])
	path := filepath.Join(w.dir, datadir.ListFolder, name+listSuffix)
	require.NoError(w.t, os.WriteFile(path, data, 0o600))
	require.NoError(w.t, os.Chtimes(path, time.Unix(0, int64(at)), time.Unix(0, int64(at))))
	w.lists = append(w.lists, name)
}

// world implements Node.
func (w *world) NodeID() string      { return w.id }
func (w *world) Audit() *audit.Store { return w.history }
func (w *world) Members() []datadir.Member {
	return []datadir.Member{{ID: w.id, Addr: "127.0.0.1:1", Voter: true, Self: true}}
}
func (w *world) View(context.Context, uint64) (*fsm.View, error) {
	return w.machine.Freeze(), nil
}

// plain returns the parts of a backup of the world, from a leaf on, in clear.
func (w *world) plain(from uint64) []byte {
	var out bytes.Buffer
	require.NoError(w.t, Saver(w, w.dir)(w.t.Context(), &out, from, 0))
	return out.Bytes()
}

// keyPair returns keys with which a test encrypts and opens.
func keyPair(t testing.TB) *Keys {
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	return &Keys{Recipients: []string{identity.Recipient().String()}, Identities: []byte("# a comment\n" + identity.String() + "\n")}
}

// save writes a backup file of the world, from a leaf on.
func (w *world) save(keys *Keys, from uint64) (path string, report *Report) {
	path = filepath.Join(w.t.TempDir(), fmt.Sprintf("of-leaf-%d", from))
	report, err := Create(path, keys, bytes.NewReader(w.plain(from)))
	require.NoError(w.t, err)
	return path, report
}

// sealed writes any bytes as a backup file, as anybody with the public key can.
func sealed(t testing.TB, keys *Keys, plain []byte) string {
	path := filepath.Join(t.TempDir(), "made by hand")
	file, err := os.Create(path)
	require.NoError(t, err)
	recipients, err := keys.parseRecipients()
	require.NoError(t, err)
	to, err := age.Encrypt(file, recipients...)
	require.NoError(t, err)
	_, err = io.Copy(to, bytes.NewReader(plain))
	require.NoError(t, err)
	require.NoError(t, to.Close())
	require.NoError(t, file.Close())
	return path
}

// files returns the names of all files below a folder.
func files(t testing.TB, dir string) (names []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return names
}

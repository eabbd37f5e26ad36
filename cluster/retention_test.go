package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac/identifier"
)

// secret is what must be erased of a record: its text, and hashes by which anybody who guesses
// the text could confirm it.
type secret struct {
	what  string
	bytes []byte
}

const erasedKey = 0x7e57_0fe2_a5ed_4e1f // A filter key, like that of a name.

// confide writes records with secrets in them.
func confide(t testing.TB, n *Node) (secrets []secret) {
	idem := &wire.Idem{Key: [16]byte([]byte("key of the call.")), Body: [16]byte([]byte("hash of its body"))}
	propose(t, n, wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused", Common: wire.Common{
		Idem: idem, Filters: []uint64{erasedKey}, Fragment: []byte(`"cpName":"Ingeborg Verschwunden","requestHash":"c0ffee5eedc0ffee5eed"`),
	}}))
	propose(t, n, wire.KindRegister, register("filler"))
	load := &screenLoad{b: t, agents: 1}
	screened, err := n.Propose(t.Context(), wire.KindScreen, load.screen(n, rand.New(rand.NewPCG(1, 2))))
	require.NoError(t, err)
	wallet := regexp.MustCompile(`0x[0-9a-f]{40}`).Find(screened.Data)
	require.NotEmpty(t, wallet)
	return append(confideTold(t, n, load), []secret{
		{"name", []byte("Ingeborg Verschwunden")}, {"request hash", []byte("c0ffee5eedc0ffee5eed")},
		{"idempotency key", idem.Key[:]}, {"body hash", idem.Body[:]},
		{"filter key", binary.LittleEndian.AppendUint64(nil, erasedKey)},
		{"filter key in the log", binary.BigEndian.AppendUint64(nil, erasedKey)},
		{"wallet", wallet},
	}...)
}

// confideTold screens a payment of which every member that a call may have is a secret, and what was
// found of it too. It opens a sanctions case, which stays when the record is erased.
func confideTold(t testing.TB, n *Node, load *screenLoad) (secrets []secret) {
	var screen wire.Screen
	require.NoError(t, wire.DecodeScreen(load.screen(n, rand.New(rand.NewPCG(3, 4))), &screen))
	fragment := leaf.Fragment{}
	tell := func(tag leaf.Tag, member string) {
		told := "what was told as " + member
		value := `"` + told + `"`
		switch member {
		case "wallets":
			value = `[{"role":"fee","address":` + value + `}]`
		case "cpIdentifiers":
			value = `[{"type":"tax_id","value":` + value + `,"country":"RU"}]`
		case "matches":
			value = `[{"party":"counterparty","identifier":` + value + `}]`
		}
		fragment.Set(tag, []byte(value))
		secrets = append(secrets, secret{member, []byte(told)})
	}
	for _, member := range leafjson.RequestMembers() {
		tag, _ := leafjson.RequestTag(member)
		tell(tag, member)
	}
	tell(leaf.TagMatches, "matches")
	tell(leaf.TagElsewhere, "walletsElsewhere")
	tell(leaf.TagPlaces, "places")
	key, _ := engine.IdentifierFilterKey(identifier.TaxID, "12-345-678-90")
	screen.Fragment, screen.Filters = fragment.Append(nil), append(screen.Filters, key)
	screen.Mask, screen.Subs, screen.Causes = 1<<engine.RulePartyName, []byte{1}, []wire.Cause{wire.PartyCause(900_001)}
	_, err := n.Propose(t.Context(), wire.KindScreen, wire.Encode(&screen))
	require.NoError(t, err)
	return append(secrets,
		secret{"key of the identifier", binary.LittleEndian.AppendUint64(nil, key)}, secret{"key of the identifier in the log", binary.BigEndian.AppendUint64(nil, key)})
}

// look reads the live content of every file in the data folder of a closed node. It reads the
// raft log through its store, snapshots also through Restore, history also through its reader,
// and other files as they are. It returns where each secret was found.
func look(t testing.TB, dir string, level uint, secrets []secret) (found []string) {
	search := func(place string, content []byte) {
		for _, s := range secrets {
			if bytes.Contains(content, s.bytes) {
				found = append(found, s.what+" in "+place)
			}
		}
	}
	store, err := datadir.OpenLogToRead(filepath.Join(dir, "raft"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	first, err := store.FirstIndex()
	require.NoError(t, err)
	last, err := store.LastIndex()
	require.NoError(t, err)
	for index := first; index <= last && index > 0; index++ {
		var entry raft.Log
		require.NoError(t, store.GetLog(index, &entry))
		search("log", entry.Data)
	}
	history, err := audit.OpenReadOnly(audit.OSDir(filepath.Join(dir, "audit")), audit.Options{SegmentLevel: level})
	require.NoError(t, err)
	defer func() { require.NoError(t, history.Close()) }()
	for index := range history.Size() {
		record, err := history.Record(index)
		if errors.Is(err, audit.ErrPruned) {
			continue
		}
		require.NoError(t, err)
		search("history", record.Data)
		for _, key := range record.Keys {
			search("keys of history", binary.LittleEndian.AppendUint64(nil, key))
		}
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() || filepath.Base(filepath.Dir(path)) == "raft" { // These are the log's files. A file keeps the bytes of entries that were cut off until the file is deleted.
			return nil
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		search(strings.TrimPrefix(path, dir), content)
		if filepath.Base(path) == "state.bin" {
			machine, err := fsm.Restore(bytes.NewReader(content))
			require.NoError(t, err)
			var again bytes.Buffer
			_, err = machine.Freeze().WriteTo(&again)
			require.NoError(t, err)
			search("state of "+path, again.Bytes())
		}
		return nil
	}))
	return found
}

// withTestClock configures a group whose log time moves on by a record.
func withTestClock(level uint) func(*Config) {
	return func(c *Config) {
		c.Genesis = func() wire.Genesis {
			genesis := testGenesis()
			genesis.TestClock = true
			return genesis
		}
		c.SegmentLevel = level
		c.ScrubEvery = -1
		c.Snapshot.Interval = time.Nanosecond
	}
}

func passDay(t testing.TB, n *Node, day int) {
	propose(t, n, wire.KindClock, wire.Encode(&wire.Clock{Advance: engine.DayLength}))
	propose(t, n, wire.KindRegister, register("filler of day "+strconv.Itoa(day)))
}

const erasedAfterDays = 92

// TestErasure follows a record through 92 days of log time, with restarts of the node, and with
// its segment sealed or not. After that nothing on the disk has its text or confirms it.
func TestErasure(t *testing.T) {
	if testing.Short() {
		t.Skip("lives through 92 days again and again")
	}
	for _, level := range []uint{audit.SegmentLevelMin, audit.SegmentLevelMax} {
		for name, every := range map[string]int{"never": 1000, "every day": 1, "every two days": 2} {
			t.Run(fmt.Sprintf("restarted %s, segments of level %d", name, level), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				n := openAlone(t, dir, withTestClock(level))
				secrets := confide(t, n)
				for i := range 600 { // If the first segment is small, this seals it.
					if level == audit.SegmentLevelMin {
						propose(t, n, wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: fmt.Appendf(nil, `"i":%d`, i)}}))
					}
				}
				for day := 1; day <= erasedAfterDays; day++ {
					passDay(t, n, day)
					n.retention.applyRetention()
					if day%every == 0 {
						require.NoError(t, n.Close())
						if day < 80 {
							found := look(t, dir, level, secrets)
							for _, member := range append(leafjson.RequestMembers(), "name", "wallet", "matches", "walletsElsewhere", "places") {
								require.Contains(t, found, member+" in history", "day %d", day)
							}
							require.Contains(t, found, "key of the identifier in keys of history", "day %d", day)
						}
						n = openAlone(t, dir, withTestClock(level))
					}
				}
				n.retention.applyRetention()
				require.NoError(t, n.Close())
				require.Empty(t, look(t, dir, level, secrets))
			})
		}
	}
}

// TestErasureOnNodesThatCameAnew wipes one node of three on day 50, and another one is away
// from day 60 to 95. Neither brings erased records back.
func TestErasureOnNodesThatCameAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("lives through 96 days")
	}
	const level = audit.SegmentLevelMin
	g := newGroup(t, withTestClock(level))
	g.form(3)
	secrets := confide(t, g.leader())
	for i := range 600 {
		propose(t, g.leader(), wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: fmt.Appendf(nil, `"i":%d`, i)}}))
	}
	everybody := join(g.host("n1"), g.host("n2"), g.host("n3"))
	away := ""
	for day := 1; day <= 95; day++ {
		switch day {
		case 50:
			wiped := g.follower().NodeID()
			g.close(wiped)
			require.NoError(t, os.RemoveAll(filepath.Join(g.dir, wiped)))
			n := g.open(wiped, expect(3), everybody)
			g.awaitReady()
			require.Eventually(t, func() bool { return len(n.Audit().Missing(1)) == 0 && n.Audit().Size() > 600 }, time.Minute, 10*time.Millisecond)
			require.Eventually(t, func() bool {
				return !slices.ContainsFunc(g.leader().replica.listServers(), func(s raft.Server) bool { return s.Suffrage != raft.Voter })
			}, time.Minute, 10*time.Millisecond, "the wiped one has its vote again")
		case 60:
			away = g.follower().NodeID()
			g.close(away)
		}
		passDay(t, g.leader(), day)
		for _, n := range g.all() {
			require.NoError(t, n.WaitApplied(t.Context(), g.leader().Applied()))
			n.retention.applyRetention()
		}
	}
	g.open(away, expect(3), everybody)
	g.awaitReady()
	g.awaitEqual()
	for id, n := range g.all() {
		require.Eventually(t, func() bool { return len(n.Audit().Missing(1)) == 0 }, time.Minute, 10*time.Millisecond, "%s", id)
		passDay(t, g.leader(), 96)
		n.retention.applyRetention()
		require.NotZero(t, n.Audit().Oldest())
	}
	for id := range g.all() {
		g.close(id)
		require.Empty(t, look(t, filepath.Join(g.dir, id), level, secrets), "%s", id)
	}
}

// TestBackupsOfARecoveryGo: the copy of the log that a recovery made is deleted before records
// in it are past retention.
func TestBackupsOfARecoveryGo(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir, withTestClock(0))
	kept := filepath.Join(dir, datadir.BackupNameStart+"1-abc")
	require.NoError(t, os.Mkdir(kept, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(kept, "raft.db"), []byte("old log"), 0o600))
	n.retention.applyRetention()
	require.DirExists(t, kept, "no recovery is known")
	n.lineage.record = &datadir.Record{LastTime: n.LogTime().String()}
	propose(t, n, wire.KindClock, wire.Encode(&wire.Clock{Advance: 88 * engine.DayLength}))
	n.retention.applyRetention()
	require.DirExists(t, kept)
	passDay(t, n, 89)
	passDay(t, n, 90)
	n.retention.applyRetention()
	require.NoDirExists(t, kept)
}

// What a restore moved aside is deleted, too. In that case there is no record of a recovery that
// says when the files were moved.
func TestWhatARestoreMovedAsideGoes(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir, withTestClock(0))
	began := time.Unix(0, int64(n.LogTime()))
	kept, own := filepath.Join(dir, datadir.RestoreAside(began)), filepath.Join(dir, datadir.BackupNameStart+"restore-mine")
	for _, folder := range []string{kept, own} {
		require.NoError(t, os.Mkdir(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "node.json"), []byte("{}"), 0o600))
	}
	propose(t, n, wire.KindClock, wire.Encode(&wire.Clock{Advance: 88 * engine.DayLength}))
	n.retention.applyRetention()
	require.DirExists(t, kept)
	passDay(t, n, 89)
	passDay(t, n, 90)
	n.retention.applyRetention()
	require.NoDirExists(t, kept)
	require.DirExists(t, own, "a name that no restore gives is somebody's own")
}

package fsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestRestoreRefusesWhatApplyCannotUse: the bytes of these snapshots are intact, but their
// states are not valid.
func TestRestoreRefusesWhatApplyCannotUse(t *testing.T) {
	settings := func(change func(*Settings)) func(*Machine) {
		return func(m *Machine) { change(m.editSettings()) }
	}
	for name, spoil := range map[string]func(*Machine){
		"user sweep at none":      func(m *Machine) { m.registry.userSweep = 0 },
		"user sweep beyond users": func(m *Machine) { m.registry.userSweep = 99 },
		"more leaves than ids":    func(m *Machine) { m.size = txnCount + 1 },
		"oldest above size":       func(m *Machine) { m.oldest = m.size + 1 },
		"positions above size": func(m *Machine) {
			m.desk.dispositions = Table[dispositionRow, dispositionPage]{first: m.size + 1, next: m.size + 1}
		},
		"positions at the end":    func(m *Machine) { m.idem = Table[idemRow, idemPage]{first: 1<<64 - 1, next: 1<<64 - 1} },
		"agent status":            func(m *Machine) { m.registry.agents.Edit(1).Status = engine.Expired },
		"user status":             func(m *Machine) { m.registry.users.Edit(1).Status = 9 },
		"activity before time":    func(m *Machine) { m.ledger.activity.Edit(1).Velocity.Second = -7 },
		"activity without start":  func(m *Machine) { m.registry.agents.Edit(uint64(m.ledger.activity.At(1).Agent)).CountedFrom = 0 },
		"activity of no agent":    func(m *Machine) { m.ledger.activity.Edit(1).Agent = 99 },
		"activity twice":          func(m *Machine) { m.ledger.activity.Append(*m.ledger.activity.At(1)) },
		"activity sweep at none":  func(m *Machine) { m.ledger.activitySweep = 0 },
		"user profile of another": func(m *Machine) { *m.registry.userProfiles.Edit(1) = &engine.UserProfile{Slot: 2} },
		"user without a profile":  func(m *Machine) { *m.registry.userProfiles.Edit(1) = nil },
		"profile without a user":  func(m *Machine) { *m.registry.users.Edit(1) = engine.UserRow{} },
		"more users than slots":   func(m *Machine) { m.registry.users = Table[engine.UserRow, userPage]{first: 1 << 40, next: 1 << 40} },
		"user of no agent": func(m *Machine) {
			*m.registry.userProfiles.Edit(1) = &engine.UserProfile{Slot: 1, Agents: []engine.AgentSlot{99}}
		},
		"fleet of no operator":        func(m *Machine) { *m.registry.fleetProfiles.Edit(1) = &engine.FleetProfile{Slot: 1, Operator: 99} },
		"chain deeper than allowed":   func(m *Machine) { editProfile(m, 2, func(p *engine.AgentProfile) { p.Depth = 3 }) },
		"delegate of another root":    func(m *Machine) { editProfile(m, 2, func(p *engine.AgentProfile) { p.Root = 2 }) },
		"root below another":          func(m *Machine) { editProfile(m, 3, func(p *engine.AgentProfile) { p.Root = 1 }) },
		"reviews out of order":        func(m *Machine) { m.desk.reviews.Edit(m.desk.reviews.First()).Leaf = m.size - 1 },
		"review of no leaf":           func(m *Machine) { m.desk.reviews.Edit(m.desk.reviews.Next() - 1).Leaf = m.size },
		"disposition of itself":       func(m *Machine) { m.desk.dispositions.Edit(0).Later = m.desk.dispositions.At(0).Leaf },
		"idempotency key of no leaf":  func(m *Machine) { m.idem.Edit(0).Leaf = m.size },
		"idempotency key twice":       func(m *Machine) { m.idem.Append(*m.idem.At(0)) },
		"structuring ring":            func(m *Machine) { m.ledger.structuring.Edit(1).Band.Next = engine.StructuringCallsMax },
		"structuring chain of two":    func(m *Machine) { m.ledger.structuring.Edit(2).Older, m.ledger.structuring.Edit(1).Newer = 0, 0 },
		"structuring chain in a ring": func(m *Machine) { m.ledger.structuring.Edit(1).Older, m.ledger.structuring.Edit(2).Newer = 2, 1 },
		"structuring link to nothing": func(m *Machine) { m.ledger.structuring.Edit(2).Newer = 9 },
		"days out of order":           func(m *Machine) { m.days.Edit(0).Day = 1 << 31 },
		"null API key":                settings(func(s *Settings) { s.Keys = []*wire.APIKey{nil} }),
		"API key without secret":      settings(func(s *Settings) { s.Keys = []*wire.APIKey{{ID: "k"}} }),
		"null signing key":            settings(func(s *Settings) { s.SigningKeys = []*wire.SigningKey{nil} }),
		"null cleared pair":           settings(func(s *Settings) { s.Cleared = []*wire.ClearedPair{nil} }),
		"cleared pair of no change":   settings(func(s *Settings) { s.Cleared = []*wire.ClearedPair{{ID: 1}} }),
		"cleared pairs of one change": settings(func(s *Settings) { s.ClearedLast, s.Cleared = 1, []*wire.ClearedPair{{ID: 1}, {ID: 1}} }),
		"null history":                settings(func(s *Settings) { s.History = []*wire.ListInfo{nil} }),
		"null staged":                 settings(func(s *Settings) { s.Staged = []*wire.ListInfo{nil} }),
		"staged that is not there":    settings(func(s *Settings) { s.Staged = []*wire.ListInfo{{Digest: [32]byte{1}}} }),
		"no policy":                   settings(func(s *Settings) { s.Policy = nil }),
		"operator without a revision": func(m *Machine) {
			*m.registry.operatorProfiles.Edit(2) = &engine.OperatorProfile{Slot: 2, LegalName: "acme inc"}
		},
		"list of another digest":      func(m *Machine) { m.rulebook.listData = []byte("x") },
		"more staged than its length": func(m *Machine) { m.rulebook.staged = staging{total: 1, data: []byte("xx")} },
	} {
		t.Run(name, func(t *testing.T) {
			m := furnished(t).m
			_ = restoredFrom(t, m)
			spoil(m)
			var buffer bytes.Buffer
			_, err := m.Freeze().WriteTo(&buffer)
			require.NoError(t, err)
			_, err = Restore(&buffer)
			require.ErrorIs(t, err, ErrSnapshot)
		})
	}
}

func editProfile(m *Machine, slot uint64, change func(*engine.AgentProfile)) {
	profile := **m.registry.profiles.At(slot)
	change(&profile)
	*m.registry.profiles.Edit(slot) = &profile
}

// furnished is a world with a row in every table: agents 1 and 3, delegate 2 of
// 1, two operators, a fleet, a user, reviews of which one is decided.
func furnished(t testing.TB) *world {
	w := newWorld(t)
	root, _ := w.register("root", dailyLimit(1))
	w.register("child", parent(root))
	w.register("other", dailyLimit(1))
	w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{OperatorLegalName: "Other Ltd"}, Operator: named("other ltd")})
	user := &wire.User{Profile: engine.UserProfile{LegalName: "Nia", Agents: []engine.AgentSlot{root}}}
	user.Basis.List = w.m.settings.ListVersion
	foldAgent(w.m.registry, &user.Basis, root)
	require.Equal(t, wire.Applied, w.do(wire.KindUser, user).Code)
	for n := range 3 {
		s := w.screening(root, 9500*engine.Dollar)
		s.Party, s.Idem = engine.PartyKey{byte(n)}, &wire.Idem{Key: [16]byte{byte(n)}}
		r := w.do(wire.KindScreen, s)
		require.Equal(t, wire.Applied, r.Code)
		if n == 1 {
			w.do(wire.KindDisposition, &wire.Disposition{Leaf: r.Leaf, Disposition: wire.Rejected})
		}
	}
	w.do(wire.KindAttest, &wire.Attest{Agent: root, AttestedBy: "a"})
	w.now = w.now.Day().Start() + engine.DayLength
	w.screen(root, 1)
	return w
}

// TestSnapshotOfFullSettingsRestores: settings that use every limit can be restored.
func TestSnapshotOfFullSettingsRestores(t *testing.T) {
	w := newWorld(t)
	s := w.m.editSettings()
	s.ClearedLast = engine.ClearedMax
	for n := range engine.ClearedMax {
		s.Cleared = append(s.Cleared, &wire.ClearedPair{ID: uint32(n + 1), Name: fmt.Sprint("name ", n), Reason: "a reason that is not very long, as they are", By: "officer"})
	}
	for n := range engine.APIKeysMax {
		key := &wire.APIKey{ID: fmt.Sprint("key ", n), Name: "a name", Hashes: key32(byte(n))}
		binary.LittleEndian.PutUint32(key.Hashes[0], uint32(n))
		s.Keys = append(s.Keys, key)
	}
	for range engine.ListHistoryMax - len(s.History) {
		s.History = append(s.History, &wire.ListInfo{Source: string(make([]byte, 16*engine.KiB))})
	}
	w.m.edited = false
	restored := restoredFrom(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), restored.Freeze().Digest())
	require.Equal(t, w.m.settings, restored.settings)
}

// reseal writes the checksums that a mutated snapshot should have, as far as its
// blocks can be followed, so that a fuzzer gets past them.
func reseal(data []byte) []byte {
	out := append([]byte(nil), data...)
	at := len(snapshotMagic)
	if len(out) < at {
		return out
	}
	for at+16 <= len(out) {
		size := int(binary.LittleEndian.Uint32(out[at+8:]))
		end := at + 12 + size
		if size > snapshotBlockMax || end+4 > len(out) {
			return out
		}
		binary.LittleEndian.PutUint32(out[end:], crc32.Checksum(out[at:end], castagnoli))
		done := binary.LittleEndian.Uint16(out[at:]) == sectionEnd
		if at = end + 4; done {
			break
		}
	}
	sum := sha(out[:at])
	return append(out[:at], sum[:]...)
}

// FuzzRestore mutates snapshots, corrects their checksums, and drives what Restore accepts
// through a log of every kind.
func FuzzRestore(f *testing.F) {
	for _, w := range []*world{furnished(f), history(f, 2, 60)} {
		var buffer bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&buffer)
		require.NoError(f, err)
		f.Add(buffer.Bytes())
	}
	var next [][]byte
	w := furnished(f)
	for n := range w.entries {
		if n%3 == 0 {
			next = append(next, w.entries[n])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Restore(bytes.NewReader(reseal(data)))
		if err != nil {
			return
		}
		require.Equal(t, m.Freeze().Digest(), restoredFrom(t, m).Freeze().Digest())
		var out Effects
		for _, entry := range next {
			m.Apply(m.index+1, w.term, entry, &out)
		}
		driveAll(t, m, w.term)
		m.Everything(&out)
		m.Freeze().Digest()
	})
}

// TestMutatedSnapshots is FuzzRestore with a fixed seed, so that every test run includes it.
func TestMutatedSnapshots(t *testing.T) {
	w := furnished(t)
	var buffer bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&buffer)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 3000 {
		data := append([]byte(nil), buffer.Bytes()...)
		for range 1 + random.IntN(3) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		if m, err := Restore(bytes.NewReader(reseal(data))); err == nil {
			accepted++
			driveAll(t, m, w.term)
		}
	}
	require.Greater(t, accepted, 100)
}

// driveAll screens and touches every agent, user and fleet of a Machine.
func driveAll(t testing.TB, m *Machine, term uint64) {
	w := &world{t: t, m: m, index: m.index, term: term, now: max(m.now, 0)}
	if m.settings.Genesis == nil {
		return
	}
	for slot := m.registry.agents.First(); slot < min(m.registry.agents.Next(), 20); slot++ {
		agent := engine.AgentSlot(slot)
		var out Effects
		for _, r := range []wire.Record{
			w.record(wire.KindScreen, w.screening(agent, 9_500*engine.Dollar)),
			w.record(wire.KindAttest, &wire.Attest{Agent: agent}),
			w.record(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Suspended}),
			w.record(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: **m.registry.profiles.At(slot), BaseRev: (*m.registry.profiles.At(slot)).Rev, Operator: named("o"), List: m.settings.ListVersion}),
			w.record(wire.KindAssign, &wire.Assign{Fleet: 1, Agents: []engine.AgentSlot{agent}}),
			w.record(wire.KindUserReissue, &wire.UserReissue{User: engine.UserSlot(slot), BaseRev: 1}),
			w.record(wire.KindDisposition, &wire.Disposition{Leaf: slot, Disposition: wire.Approved, Agent: agent, Fleet: 1}),
			w.record(wire.KindQueue, &wire.Queue{Op: wire.QueueComment, Leaves: []uint64{slot, slot + 1}, Who: "o"}),
			w.record(wire.KindQueue, &wire.Queue{Op: wire.QueueClaim, Leaves: []uint64{slot, slot + 1}, Who: "o"}),
			w.record(wire.KindTick, nil),
		} {
			w.index++
			m.Apply(w.index, term, w.entry(r), &out)
		}
		m.Freeze().Effective(agent)
	}
}

package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// history makes a log of random but sensible commands: every kind of record,
// refusals and stale bases included.
func history(t testing.TB, seed uint64, steps int) *world {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(seed, 7))
	for range steps {
		w.now += engine.Time(random.Int64N(int64(40 * engine.Minute)))
		w.randomStep(random)
	}
	return w
}

func (w *world) randomStep(random *rand.Rand) {
	agents := int(w.m.agents.Next())
	slot := engine.AgentSlot(random.IntN(agents + 1))
	switch random.IntN(16) {
	case 0:
		w.register(fmt.Sprint("agent ", random.IntN(9)), dailyLimit(engine.USD(random.IntN(500))), func(p *engine.AgentProfile) {
			p.Type = engine.AgentType(1 + random.IntN(2))
			if w.m.fleets.Len() > 0 && random.IntN(3) == 0 {
				p.Fleet = 1
			}
		})
	case 1:
		if w.m.agents.Has(uint64(slot)) {
			w.register("child", dailyLimit(engine.USD(random.IntN(300))), parent(slot))
		}
	case 2, 3, 4, 5, 6:
		w.randomScreens(random)
	case 7:
		w.do(wire.KindStatus, &wire.Status{Target: wire.Target(1 + random.IntN(3)), Slot: uint32(slot), OperatorKey: "acme inc", To: engine.Status(random.IntN(3))})
	case 8:
		w.do(wire.KindAttest, &wire.Attest{Agent: slot, AttestedBy: "someone"})
	case 9:
		w.do(wire.KindDisposition, &wire.Disposition{Leaf: uint64(random.IntN(int(w.m.size))), Disposition: uint8(1 + random.IntN(3)), Agent: slot, Amount: 5 * engine.Dollar, Fleet: engine.FleetSlot(random.IntN(3))})
	case 10:
		w.do(wire.KindQueue, &wire.Queue{Op: uint8(1 + random.IntN(4)), Leaves: []uint64{uint64(random.IntN(int(w.m.size)))}, Who: fmt.Sprint("officer ", random.IntN(3))})
	case 11:
		w.do(wire.KindOwnership, &wire.Ownership{Agent: slot, Cancel: random.IntN(2) == 0})
	case 12:
		w.randomAdministration(random, slot)
	case 13:
		body := &wire.User{Profile: engine.UserProfile{LegalName: "Nia"}}
		body.Basis.List = w.m.settings.ListVersion
		w.do(wire.KindUser, body)
	case 14:
		if w.m.agents.Has(uint64(slot)) {
			profile := **w.m.profiles.At(uint64(slot))
			w.do(wire.KindReissue, &wire.Reissue{Agent: slot, Profile: profile, BaseRev: profile.Rev, OperatorKey: "acme inc", List: w.m.settings.ListVersion, Plain: random.IntN(2) == 0, Overlap: engine.Hour})
		}
	case 15:
		w.tick()
	}
}

// randomScreens puts several calls into one entry, as the sequencer does.
func (w *world) randomScreens(random *rand.Rand) {
	var records []wire.Record
	for range 1 + random.IntN(6) {
		slot := engine.AgentSlot(1 + random.IntN(max(1, w.m.agents.Len())))
		s := w.screening(slot, engine.USD(random.IntN(12_000))*engine.Dollar)
		s.Party = engine.PartyKey{byte(random.IntN(3))}
		if random.IntN(4) == 0 {
			s.Idem = &wire.Idem{Key: [16]byte{byte(random.IntN(30))}, Body: [16]byte{byte(random.IntN(2))}}
		}
		if random.IntN(10) == 0 {
			s.Basis.Policy++
		}
		records = append(records, w.record(wire.KindScreen, s))
	}
	w.apply(w.entry(records...))
}

func (w *world) randomAdministration(random *rand.Rand, slot engine.AgentSlot) {
	switch random.IntN(8) {
	case 0:
		w.activateList([]byte(fmt.Sprint("list ", random.Uint64())))
	case 1:
		w.do(wire.KindPolicy, &wire.PolicyPut{Policy: *engine.DefaultPolicy()})
	case 2:
		w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{FleetName: "f", OperatorLegalName: "Acme Inc", DailyLimit: 900 * engine.Dollar}, OperatorKey: "acme inc"})
	case 3:
		w.do(wire.KindAssign, &wire.Assign{Fleet: 1, Agents: []engine.AgentSlot{slot}, Remove: random.IntN(2) == 0})
	case 4:
		key := wire.APIKey{ID: fmt.Sprint("k", random.IntN(4)), Name: "n", Hashes: [][]byte{bytes.Repeat([]byte{byte(random.IntN(256))}, 32)}}
		w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: uint8(1 + random.IntN(3)), Key: key})
	case 5:
		w.do(wire.KindCleared, &wire.ClearedPut{Pair: wire.ClearedPair{ID: uint32(random.IntN(4)), Name: "x", UID: 7, Reason: "r", By: "b"}, Remove: random.IntN(2) == 0})
	case 6:
		w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningAdd, Key: wire.SigningKey{KID: fmt.Sprint("cc-v", random.IntN(9)), Public: make([]byte, 64)}})
	case 7:
		w.do(wire.KindListChunk, &wire.ListChunk{Digest: [32]byte{1}, Total: 99, Data: []byte("left unfinished")})
	}
}

// TestReplayAgrees is ring 2: one log, several Machines that freeze and restore
// at different places, and at every step byte-equal digests and tree heads.
func TestReplayAgrees(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := history(t, seed, 400)
			replayAgrees(t, w, seed)
		})
	}
}

func replayAgrees(t testing.TB, w *world, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	plain, frozen, restored := New(), New(), New()
	var held []*View
	var digests [][32]byte
	var outs [3]Effects
	for i, entry := range w.entries {
		machines := []*Machine{plain, frozen, restored}
		for n, m := range machines {
			m.Apply(uint64(i+1), w.terms[i], entry, &outs[n])
		}
		require.Equal(t, outs[0].Results, outs[1].Results)
		require.Equal(t, outs[0].Results, outs[2].Results)
		require.Equal(t, outs[0].Leaves, outs[2].Leaves)
		view := frozen.Freeze()
		if random.IntN(10) == 0 {
			held, digests = append(held, view), append(digests, view.Digest())
		}
		if random.IntN(25) == 0 {
			restored = restoredFrom(t, restored)
		}
		if i%10 == 0 || i == len(w.entries)-1 {
			require.Equal(t, view.Digest(), plain.Freeze().Digest(), "entry %d", i)
			require.Equal(t, view.Digest(), restored.Freeze().Digest(), "entry %d", i)
		}
	}
	for i, view := range held {
		require.Equal(t, digests[i], view.Digest(), "a view never changes")
	}
	require.Equal(t, w.m.Freeze().Digest(), plain.Freeze().Digest())
}

// TestLimitsHoldInEveryHistory checks the invariant of decisions 5.17 over the
// leaves alone: no PROCEED lifts a counted total above the limit in force.
func TestLimitsHoldInEveryHistory(t *testing.T) {
	for seed := range uint64(10) {
		w := history(t, 100+seed, 300)
		for _, leaf := range w.leaves {
			if bytes.Contains(leaf, []byte(`"verdict":"PROCEED"`)) {
				checkProceed(t, leaf)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	w := history(f, 1, 60)
	for _, entry := range w.entries {
		f.Add(entry, true)
	}
	base := w
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		m := restoredFrom(t, base.m)
		if seal && len(data) >= 24 { // Get past the checksum, to the records.
			data = wire.Seal(append([]byte(nil), data[:len(data)-4]...), int(data[18])|int(data[19])<<8)
		}
		var out Effects
		m.Apply(base.index+1, base.term, data, &out)
		m.Freeze().Digest()
	})
}

func FuzzRestore(f *testing.F) {
	w := history(f, 2, 80)
	var buffer bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&buffer)
	require.NoError(f, err)
	f.Add(buffer.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Restore(bytes.NewReader(data)); err == nil {
			m.Freeze().Digest()
		}
	})
}

package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestNoIDIsGivenOutTwiceAfterARestore: one log went on after the backup and was lost,
// another goes on from the backup. No id of the one is ever given out by the other.
func TestNoIDIsGivenOutTwiceAfterARestore(t *testing.T) {
	w := newWorld(t)
	old, _ := w.register("of before")
	w.screen(old, 1)
	var backup bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&backup)
	require.NoError(t, err)
	size := w.m.size

	lost := map[string]bool{}
	reissue := func() {
		profile := *(*w.m.registry.profiles.At(uint64(old)))
		body := &wire.Reissue{Agent: old, BaseRev: profile.Rev, List: w.m.settings.ListVersion, Operator: named("acme inc"), Profile: profile, Overlap: engine.Hour}
		require.Equal(t, wire.Applied, w.do(wire.KindReissue, body).Code)
	}
	goOn := func() []string {
		fresh, _ := w.register("of after")
		reissue()
		require.Equal(t, `PROCEED null`, verdict(w.screen(fresh, 1)))
		return givenOut(w.m, old, fresh, size)
	}
	for _, id := range goOn() {
		lost[id] = true
	}
	lostMachine := w.m

	for _, number := range []uint16{1, 7} { // The second round restores a backup of the restored state.
		m, err := Restore(bytes.NewReader(backup.Bytes()))
		require.NoError(t, err)
		w.m = m
		w.leaves = w.leaves[:m.size]
		before := m.ids.TxnID(size - 1)
		body := &wire.Restored{Lineage: "l2", Backup: "d1"}
		if number > 1 {
			body.Number = number
		}
		require.Equal(t, wire.Applied, w.do(wire.KindRestored, body).Code)
		require.Equal(t, number, m.epochNumber())
		require.Equal(t, before, m.ids.TxnID(size-1), "what was given out before the backup stays")
		leaf, ok := m.ids.ParseTxn(before)
		require.True(t, ok)
		require.Equal(t, size-1, leaf)
		require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"kind":"cluster.restored"`)
		for _, id := range goOn() {
			require.False(t, lost[id], "%s was given out twice", id)
			lost[id] = true
		}
		_, ok = m.ids.ParseTxn(lostMachine.ids.TxnID(size + 1))
		require.False(t, ok, "what the lost machines gave out is unknown")
		line := (*m.registry.profiles.At(uint64(old))).Epochs
		require.Equal(t, number, line.EpochOf(2))
		require.Equal(t, uint16(0), line.EpochOf(1), "the token of before the backup stays good")

		comesBack(t, m)
	}
}

// TestNoIDIsGivenOutTwiceAfterARecovery: the ids that a lost majority gave out beyond the
// survivor's state are never given out by the survivor, and tokens of the lost machines match
// no version.
func TestNoIDIsGivenOutTwiceAfterARecovery(t *testing.T) {
	w := newWorld(t)
	old, _ := w.register("of before")
	w.screen(old, 1)
	var survivor bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&survivor)
	require.NoError(t, err)
	size := w.m.size
	register := func() (engine.AgentSlot, []string) {
		fresh, _ := w.register("of after")
		require.Equal(t, `PROCEED null`, verdict(w.screen(fresh, 1)))
		list, _ := w.m.ids.StatusEntry((*w.m.registry.profiles.At(uint64(fresh))).Status)
		return fresh, append(givenOut(w.m, old, fresh, size)[:5], w.m.ids.TxnID(w.m.size-1), fmt.Sprint("list ", list))
	}
	gone, lost := register()

	m, err := Restore(bytes.NewReader(survivor.Bytes()))
	require.NoError(t, err)
	w.m, w.leaves = m, w.leaves[:size]
	require.Equal(t, wire.Applied, w.do(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: "abc"}).Code)
	require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"lineage":"abc","epoch":1`)
	_, sound := m.ids.ParseAgent(lost[0])
	require.False(t, sound, "who registered with the lost machines is unknown")
	fresh, now := register()
	require.Equal(t, gone, fresh, "the place of the lost one")
	for _, id := range now {
		require.NotContains(t, lost, id, "it was given out twice")
	}
	require.EqualValues(t, 1, (*m.registry.profiles.At(uint64(fresh))).Epochs.EpochOf(1))
	comesBack(t, m)

	m.editSettings().Epochs = append(m.editSettings().Epochs, make([]*wire.Epoch, m.limits.Epochs)...) // No epoch is left:
	for i := range m.settings.Epochs[1:] {
		m.settings.Epochs[i+1] = m.settings.Epochs[0]
	}
	require.Equal(t, wire.Applied, w.do(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: "def"}).Code)
	require.Equal(t, "def", m.settings.Lineage, "it goes on all the same")
}

// givenOut returns the ids of an agent registered after the backup, of a version issued after
// it to an older agent, and of the leaves that follow.
func givenOut(m *Machine, old, fresh engine.AgentSlot, from uint64) []string {
	again := *m.registry.profiles.At(uint64(old))
	ids := []string{
		m.ids.AgentID(uint32(fresh)), m.ids.UserID(uint32(m.registry.users.Next())), m.ids.FleetID(uint32(m.registry.fleets.Next())), m.ids.OperatorID(uint32(m.registry.operators.Next())),
		m.ids.CredentialID(CredentialAgent, uint32(fresh), (*m.registry.profiles.At(uint64(fresh))).Epochs.EpochOf(1), 1),
		m.ids.CredentialID(CredentialAgent, uint32(old), again.Epochs.EpochOf(again.CredentialVersion), again.CredentialVersion),
	}
	for leaf := from; leaf < m.size; leaf++ {
		ids = append(ids, m.ids.TxnID(leaf), m.ids.EventID(leaf, 0))
	}
	return ids
}

// comesBack checks that a snapshot keeps the epochs.
func comesBack(t *testing.T, m *Machine) {
	t.Helper()
	digest := m.Freeze().Digest()
	var snapshot bytes.Buffer
	_, err := m.Freeze().WriteTo(&snapshot)
	require.NoError(t, err)
	back, err := Restore(&snapshot)
	require.NoError(t, err)
	require.Equal(t, digest, back.Freeze().Digest())
	require.Equal(t, m.ids.AgentID(2), back.ids.AgentID(2))
}

// TestRestoredRefusesEpochsThatWere: the number of an epoch must rise, up to a maximum.
func TestRestoredRefusesEpochsThatWere(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, wire.Applied, w.do(wire.KindRestored, &wire.Restored{Lineage: "a", Number: 5}).Code)
	for _, number := range []uint16{1, 5, epochMax + 1} {
		settings := w.m.settings
		r := w.do(wire.KindRestored, &wire.Restored{Lineage: "b", Number: number})
		require.Equal(t, wire.RefusedMalformed, r.Refusal, number)
		require.Same(t, settings, w.m.settings)
	}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindRestored, &wire.Restored{}).Refusal)
	require.Equal(t, wire.Applied, w.do(wire.KindRestored, &wire.Restored{Lineage: "c", Number: epochMax}).Code)
}

package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// TestDigestFollowsFromContent: what a digester remembers never changes the result. A
// digester that saw every view, one that saw a few and a new one agree, also over Machines
// that were restored at different points.
func TestDigestFollowsFromContent(t *testing.T) {
	for seed := range uint64(6) {
		w := history(t, seed, 250)
		plain, restored := New(), New()
		always, seldom, other := NewDigester(), NewDigester(), NewDigester()
		var out Effects
		for i, entry := range w.entries {
			plain.Apply(uint64(i+1), w.terms[i], entry, &out)
			restored.Apply(uint64(i+1), w.terms[i], entry, &out)
			if i%37 == 5 {
				restored = restoredFrom(t, restored)
			}
			view := plain.Freeze()
			want := always.Digest(view)
			require.Equal(t, want, other.Digest(restored.Freeze()), "entry %d", i)
			if i%11 == 0 {
				require.Equal(t, want, seldom.Digest(view), "entry %d", i)
				require.Equal(t, want, view.Digest(), "entry %d", i)
			}
		}
	}
}

// TestDigestSeesEveryTable: a changed row of any table changes the digest, even if the
// digester has seen the table before.
func TestDigestSeesEveryTable(t *testing.T) {
	w := furnished(t)
	d := NewDigester()
	seen := map[[32]byte]string{d.Digest(w.m.Freeze()): "nothing"}
	for name, change := range map[string]func(m *Machine){
		"agent":       func(m *Machine) { m.registry.agents.Edit(1).Children++ },
		"profile":     func(m *Machine) { p := **m.registry.profiles.At(1); p.Rev++; *m.registry.profiles.Edit(1) = &p },
		"activity":    func(m *Machine) { m.ledger.activity.Edit(1).Velocity.Hours[3]++ },
		"attestation": func(m *Machine) { *m.registry.attestations.Edit(2) = &[]engine.Attestation{{Note: "n"}} },
		"user":        func(m *Machine) { m.registry.users.Edit(1).MinVersion++ },
		"userProfile": func(m *Machine) { p := **m.registry.userProfiles.At(1); p.Rev++; *m.registry.userProfiles.Edit(1) = &p },
		"fleet":       func(m *Machine) { m.registry.fleets.Edit(1).Agents++ },
		"fleets": func(m *Machine) {
			p := **m.registry.fleetProfiles.At(1)
			p.Rev++
			*m.registry.fleetProfiles.Edit(1) = &p
		},
		"operator": func(m *Machine) { m.registry.operators.Edit(1).Agents++ },
		"operators": func(m *Machine) {
			p := **m.registry.operatorProfiles.At(1)
			p.CreatedAt++
			*m.registry.operatorProfiles.Edit(1) = &p
		},
		"review":      func(m *Machine) { m.desk.reviews.Edit(m.desk.reviews.First()).Amount++ },
		"idem":        func(m *Machine) { m.idem.Edit(m.idem.First()).At++ },
		"structuring": func(m *Machine) { m.ledger.structuring.Edit(m.ledger.structuring.First()).Band.Times[3]++ },
		"day":         func(m *Machine) { m.days.Edit(m.days.First()).First++ },
		"settings":    func(m *Machine) { m.editSettings().ListVersion++; m.edited = false },
		"keys": func(m *Machine) {
			s := m.editSettings()
			s.SigningKeys = append(s.SigningKeys, s.SigningKeys[0])
			m.edited = false
		},
		"staged": func(m *Machine) { m.rulebook.staged.data = append(m.rulebook.staged.data, 1) },
		"salt":   func(m *Machine) { m.ratchet.Key[0]++ },
	} {
		change(w.m)
		digest := d.Digest(w.m.Freeze())
		require.Empty(t, seen[digest], name)
		seen[digest] = name
		require.Equal(t, digest, w.m.Freeze().Digest(), name)
	}
}

// TestDigestHashesWhatChanged: after a small change of a large state, only little is encoded
// again.
func TestDigestHashesWhatChanged(t *testing.T) {
	w := worldOfAgents(t, 3000)
	w.screenAll(3000)
	d := NewDigester()
	encoded := 0
	count := func(c *coder, row *engine.AgentRow) {
		encoded++
		codeAgentRow(c, row)
	}
	sum := func() {
		view := w.m.Freeze()
		d.Digest(view)
		encoded = 0
		w.screenAll(7)
		view = w.m.Freeze()
		sumTable(d, nil, sectionAgents, &view.agents, pageCoder[engine.AgentRow]{code: count})
	}
	sum()
	require.LessOrEqual(t, encoded, 8, "one page of eight rows")
}

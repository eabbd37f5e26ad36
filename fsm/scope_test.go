package fsm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// key creates an API key and returns the common part of its records.
func (w *world) key(operator string, roles uint16) wire.Common {
	row := uint32(len(w.m.settings.Keys) + 1)
	put := &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: fmt.Sprintf("k%d", row), Roles: roles, Hashes: key32(byte(100 + row))}}
	if operator != "" {
		put.Operator = named(operator)
	}
	require.Equal(w.t, wire.Applied, w.do(wire.KindAPIKey, put).Code)
	return wire.Common{Key: &wire.KeyRef{Row: row, Rev: w.m.settings.Keys[row-1].Rev}}
}

func (w *world) setStatus(common wire.Common, target wire.Target, slot uint32, to engine.Status) wire.Result {
	if target == wire.TargetOperator {
		slot = w.operatorSlot("acme inc")
	}
	return w.do(wire.KindStatus, &wire.Status{Common: common, Target: target, Slot: slot, To: to})
}

// An operator's key cannot lift the institution's suspension: not by reinstating, not by a
// re-issue, not by having suspended the party first.
func TestInstitutionsSuspensionIsItsOwn(t *testing.T) {
	for name, target := range map[string]wire.Target{"agent": wire.TargetAgent, "user": wire.TargetUser, "operator": wire.TargetOperator} {
		for _, first := range []string{"institution", "operator"} {
			t.Run(name+" suspended first by the "+first, func(t *testing.T) {
				w := newWorld(t)
				agent, _ := w.register("a")
				w.do(wire.KindUser, &wire.User{Profile: engine.UserProfile{LegalName: "u"}, Basis: engine.Basis{List: w.m.settings.ListVersion}})
				institution, tenant := w.key("", wire.RoleOperator), w.key("acme inc", wire.RoleOperator)
				slot := uint32(1)
				if first == "operator" {
					require.Equal(t, wire.Applied, w.setStatus(tenant, target, slot, engine.Suspended).Code)
				}
				r := w.setStatus(institution, target, slot, engine.Suspended)
				require.Equal(t, wire.Applied, r.Code, "the institution makes it its own")
				require.Equal(t, wire.Unchanged, w.setStatus(institution, target, slot, engine.Suspended).Code)
				require.Equal(t, wire.Unchanged, w.setStatus(tenant, target, slot, engine.Suspended).Code, "it stays the institution's")

				w.m = restoredFrom(t, w.m) // The suspension survives a snapshot.
				require.Equal(t, wire.RefusedScope, w.setStatus(tenant, target, slot, engine.Active).Refusal)
				require.Equal(t, wire.RefusedScope, w.reissueBy(tenant, target, agent).Refusal)
				if target != wire.TargetOperator {
					require.Equal(t, wire.Applied, w.reissueBy(institution, target, agent).Code)
				} else {
					require.Equal(t, wire.Applied, w.setStatus(institution, target, slot, engine.Active).Code)
				}
				require.Equal(t, wire.Applied, w.setStatus(tenant, target, slot, engine.Suspended).Code)
				require.Equal(t, wire.Applied, w.setStatus(tenant, target, slot, engine.Active).Code, "an operator's own suspension is its own to lift")
			})
		}
	}
}

// reissueBy re-issues the target's credential. An operator has none, so the answer is a
// refusal.
func (w *world) reissueBy(common wire.Common, target wire.Target, agent engine.AgentSlot) wire.Result {
	switch target {
	case wire.TargetAgent:
		return w.reissueAs(common, agent, "acme inc")
	case wire.TargetUser:
		return w.do(wire.KindUserReissue, &wire.UserReissue{Common: common, User: 1, BaseRev: (*w.m.registry.userProfiles.At(1)).Rev})
	}
	return wire.Result{Refusal: wire.RefusedScope}
}

func (w *world) reissueAs(common wire.Common, agent engine.AgentSlot, operator string) wire.Result {
	profile := **w.m.registry.profiles.At(uint64(agent))
	return w.do(wire.KindReissue, &wire.Reissue{
		Common: common, Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: named(operator), List: w.m.settings.ListVersion,
	})
}

// A transfer ends with a re-issue that names the flagged operator, or that an institution's
// key with the role policy makes. An operator cannot name another one.
func TestTransferEndsWithItsOperator(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a")
	institution, tenant, officer := w.key("", wire.RoleOperator), w.key("acme inc", wire.RoleOperator), w.key("", wire.RoleOperator|wire.RolePolicy)
	flag := func(common wire.Common, operator string) wire.Result {
		return w.do(wire.KindOwnership, &wire.Ownership{Common: common, Agent: agent, Operator: named(operator)})
	}
	blocked := func() bool {
		return verdict(w.screen(agent, 1)) == `BLOCK "R8_OWNERSHIP_TRANSFER"`
	}
	require.Equal(t, wire.Applied, flag(tenant, "shell ltd").Code)
	require.Equal(t, wire.RefusedTransfer, flag(tenant, "acme inc").Refusal)
	require.Equal(t, wire.Applied, flag(institution, "globex").Code, "a broader key knows better")
	require.Equal(t, wire.RefusedTransfer, flag(tenant, "acme inc").Refusal)
	require.Equal(t, wire.Applied, flag(tenant, "globex").Code, "the same again")
	require.Equal(t, wire.RefusedTransfer, flag(institution, "acme inc").Refusal)
	for _, common := range []wire.Common{tenant, institution} {
		require.Equal(t, wire.RefusedTransfer, w.reissueAs(common, agent, "acme inc").Refusal)
		require.Equal(t, wire.RefusedTransfer, w.reissueAs(common, agent, "shell ltd").Refusal)
	}
	require.Equal(t, wire.RefusedScope, w.do(wire.KindOwnership, &wire.Ownership{Common: institution, Agent: agent, Cancel: true}).Refusal)
	require.True(t, blocked())
	require.Equal(t, wire.Applied, w.reissueAs(institution, agent, "globex").Code)
	require.False(t, blocked())

	require.Equal(t, wire.Applied, flag(institution, "other").Code)
	require.True(t, blocked())
	require.Equal(t, wire.Applied, w.reissueAs(officer, agent, "globex").Code, "the institution's policy")
	require.False(t, blocked())
	require.Equal(t, wire.Applied, flag(institution, "other").Code)
	require.Equal(t, wire.Applied, w.do(wire.KindOwnership, &wire.Ownership{Common: officer, Agent: agent, Cancel: true}).Code)
	require.False(t, blocked())
	require.Empty(t, (*w.m.registry.profiles.At(uint64(agent))).TransferTo)
}

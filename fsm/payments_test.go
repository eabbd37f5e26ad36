package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// payments makes a log in which most calls can go through and limits decide: roots with
// delegates down to the deepest level, fleets, users, approvals, changes of limits and of
// status, over some days. The histories with every kind of record (history) stop nearly every
// call for one reason or another.
func payments(t testing.TB, seed uint64, steps int) *world {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(seed, 11))
	for n := range 3 {
		w.do(wire.KindFleet, &wire.Fleet{
			Profile:  engine.FleetProfile{FleetName: "f", OperatorLegalName: "Acme Inc", DailyLimit: engine.USD(100+100*n) * engine.Dollar},
			Operator: named(randomOperator(random)),
		})
	}
	for n := range 16 {
		under := engine.AgentSlot(0)
		if n > 3 {
			under = engine.AgentSlot(1 + random.IntN(n))
		}
		w.payer(random, under)
	}
	for range 3 {
		user := &wire.User{Profile: engine.UserProfile{LegalName: "Nia", OperatorLegalName: "Acme Inc"}}
		user.Basis.List = w.m.settings.ListVersion
		require.Equal(t, wire.Applied, w.do(wire.KindUser, user).Code)
	}
	for n, roles := range []uint16{wire.RoleScreener, wire.RoleSettler, wire.RoleScreener | wire.RoleSettler} {
		for _, owner := range []string{"", "cal_acme", "cal_globex"} {
			w.keyWith(fmt.Sprint("payer", n, owner), wire.APIKey{Owner: owner, Roles: roles})
		}
	}
	for range steps {
		w.now += engine.Time(random.Int64N(int64(20 * engine.Minute)))
		w.paymentStep(random)
	}
	return w
}

// payer registers an agent that only its limit can stop.
func (w *world) payer(random *rand.Rand, under engine.AgentSlot) {
	profile := engine.AgentProfile{
		AgentName: "payer", OperatorLegalName: "Acme Inc", Type: engine.Supervised, Parent: under,
		Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.USD(20+random.IntN(200)) * engine.Dollar},
	}
	operator := randomOperator(random)
	if under == 0 && random.IntN(4) > 0 {
		fleet := engine.FleetSlot(1 + random.IntN(w.m.registry.fleets.Len()))
		profile.Fleet = fleet
		operator = (*w.m.registry.operatorProfiles.At(uint64((*w.m.registry.fleetProfiles.At(uint64(fleet))).Operator))).LegalName
	}
	body := &wire.Register{Common: keyedOnce(random), Profile: profile, Operator: named(operator)}
	body.Basis.List = w.m.settings.ListVersion
	foldAgent(w.m.registry, &body.Basis, under)
	w.do(wire.KindRegister, body)
}

// keyedOnce returns a call's key, sometimes one that was used before.
func keyedOnce(random *rand.Rand) (common wire.Common) {
	if random.IntN(3) == 0 {
		n := random.IntN(3000)
		common.Idem = &wire.Idem{Key: [16]byte{2, byte(n), byte(n >> 8)}}
	}
	return common
}

func (w *world) paymentStep(random *rand.Rand) {
	slot := engine.AgentSlot(1 + random.IntN(w.m.registry.agents.Len()))
	switch random.IntN(40) {
	case 0:
		w.turn(random, wire.Status{Target: wire.TargetAgent, Slot: uint32(slot)})
	case 1:
		w.turn(random, wire.Status{Target: wire.TargetOperator, Slot: uint32(1 + random.IntN(w.m.registry.operators.Len()))})
	case 2:
		w.turn(random, wire.Status{Target: wire.TargetUser, Slot: uint32(1 + random.IntN(int(w.m.registry.users.Next()-1)))})
	case 3:
		fleet := engine.FleetSlot(1 + random.IntN(w.m.registry.fleets.Len()))
		old := *w.m.registry.fleetProfiles.At(uint64(fleet))
		profile := *old
		profile.DailyLimit = engine.USD(50+random.IntN(400)) * engine.Dollar
		w.do(wire.KindFleetUpdate, &wire.FleetUpdate{Fleet: fleet, BaseRev: old.Rev, Profile: profile, Event: "fleet.updated"})
		operator := engine.OperatorSlot(1 + random.IntN(w.m.registry.operators.Len()))
		limit := maybe(random, engine.USD(50+random.IntN(400))*engine.Dollar)
		w.do(wire.KindOperatorLimit, &wire.OperatorLimit{Operator: operator, BaseRev: (*w.m.registry.operatorProfiles.At(uint64(operator))).Rev, Limit: limit})
	case 4, 5:
		old := *w.m.registry.profiles.At(uint64(slot))
		profile := *old
		profile.Policy.DailyLimit = engine.USD(20+random.IntN(200)) * engine.Dollar
		w.do(wire.KindReissue, &wire.Reissue{
			Agent: slot, Profile: profile, BaseRev: old.Rev, Operator: wire.OperatorRef{Slot: old.Operator}, List: w.m.settings.ListVersion,
		})
	case 6:
		fleet := engine.FleetSlot(1 + random.IntN(w.m.registry.fleets.Len()))
		w.do(wire.KindAssign, &wire.Assign{Fleet: fleet, Agents: []engine.AgentSlot{slot}, Remove: random.IntN(3) == 0})
	case 7:
		w.activateList([]byte(fmt.Sprint("list ", random.Uint64())))
	case 8:
		w.do(wire.KindWhitelist, &wire.WhitelistPut{})
		policy := *engine.DefaultPolicy()
		policy.FourEyes = maybe(random, engine.FourEyes{MinAmount: 9 * engine.Dollar})
		policy.HoldsReturn, policy.SettlementSelf = random.IntN(2) == 0, random.IntN(4) == 0
		policy.PermitNeed = engine.PermitNeed(random.IntN(3))
		policy.ApprovalLapse = engine.Time(1+random.IntN(4)) * engine.Hour
		w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy})
	case 9, 10, 11, 12:
		w.approve(random)
	case 13, 14, 15, 16, 17, 18, 19, 20:
		w.endPayment(random)
	case 21:
		w.now += engine.Time(random.Int64N(int64(2 * engine.Hour)))
		w.tick()
	case 22, 23:
		w.tick()
	case 24, 25, 26:
		w.deskStep(random)
	case 27, 28, 29:
		w.payAgain(random)
	default:
		w.pay(random)
	}
}

// endPayment settles or releases one of the latest payments, sometimes a second time.
func (w *world) endPayment(random *rand.Rand) {
	if len(w.paid) == 0 {
		return
	}
	b := w.paid[len(w.paid)-1-random.IntN(min(len(w.paid), 30))]
	b.Common, b.Key = keyedOnce(random), w.anyKey(random)
	if random.IntN(2) == 0 {
		b.Key = &wire.KeyRef{Row: settlerRow, Rev: 1}
	}
	if random.IntN(4) == 0 {
		b.Screener = uint32(random.IntN(12)) // What a wrong edge would say. It counts only where the payment has no hold.
	}
	if b.Op = wire.HoldRelease; random.IntN(3) > 0 {
		b.Op, b.Amount = wire.HoldSettle, b.Recorded*engine.USD(random.IntN(5))/3
	}
	w.do(wire.KindHold, &b)
}

// settlerRow is the row of the institution's settler in histories of payments.
const settlerRow = 4

// anyKey returns one of the keys, or nil for the node itself.
func (w *world) anyKey(random *rand.Rand) *wire.KeyRef {
	row := random.IntN(len(w.m.settings.Keys) + 1)
	if row == 0 {
		return nil
	}
	return &wire.KeyRef{Row: uint32(row), Rev: w.m.settings.Keys[row-1].Rev}
}

// randomReference returns one of a hundred references, or none.
func randomReference(random *rand.Rand) (key engine.ReferenceKey) {
	if random.IntN(3) == 0 {
		key[0], key[1] = 1, byte(random.IntN(100))
	}
	return key
}

func randomHold(random *rand.Rand) uint32 {
	if random.IntN(2) == 0 {
		return 0
	}
	return 30 + uint32(random.IntN(4*3600))
}

// turn suspends, and reinstates more often.
func (w *world) turn(random *rand.Rand, status wire.Status) {
	status.To = []engine.Status{engine.Suspended, engine.Active, engine.Active, engine.Active, engine.Active}[random.IntN(5)]
	w.do(wire.KindStatus, &status)
}

// approve decides on a random review, sometimes a second time.
func (w *world) approve(random *rand.Rand) {
	if w.m.desk.reviews.Len() == 0 {
		return
	}
	row := w.m.desk.reviews.At(w.m.desk.reviews.First() + random.Uint64N(uint64(w.m.desk.reviews.Len())))
	by := w.payerOf(row.Agent)
	w.do(wire.KindDisposition, &wire.Disposition{
		Common: keyedOnce(random), Leaf: row.Leaf, Disposition: []uint8{wire.Approved, wire.Approved, wire.Rejected}[random.IntN(3)],
		Agent: row.Agent, Amount: row.Amount, Fleet: by.fleet, Operator: by.operator, Hold: randomHold(random), Reference: randomReference(random),
		Screener: uint32(row.Leaf % 12),
	})
}

// payerOf is registry.payerOf, with the agent alone if it is unknown.
func (w *world) payerOf(slot engine.AgentSlot) payer {
	if !w.m.registry.agents.Has(uint64(slot)) {
		return payer{agent: slot}
	}
	return w.m.registry.payerOf(slot)
}

// paidBy returns what an edge sends when a recorded call is settled or released.
func paidBy(t testing.TB, s *wire.Screen, r *wire.Result, by payer) wire.Hold {
	var record leaf.Screen
	require.NoError(t, leaf.DecodeScreen(r.Data, &record))
	return wire.Hold{
		Screener: s.Key.Row, Leaf: r.Leaf, Agent: by.agent, Fleet: by.fleet, Operator: by.operator, Verdict: record.Verdict, ScreenedAt: record.At, Recorded: s.Amount, Reference: s.Reference,
	}
}

// pay puts some calls into one entry. Each must be judged with what those before it left,
// although their edges did not know of each other.
func (w *world) pay(random *rand.Rand) {
	var records []wire.Record
	var calls []*wire.Screen
	for range 1 + random.IntN(6) {
		slot := engine.AgentSlot(1 + random.IntN(w.m.registry.agents.Len()))
		s := w.screening(slot, engine.USD(1+random.IntN(30))*engine.Dollar)
		s.Idem = keyedOnce(random).Idem
		s.Hold, s.Reference = randomHold(random), randomReference(random)
		if key := w.anyKey(random); key != nil {
			s.Key = *key
		}
		if random.IntN(6) == 0 {
			user := engine.UserSlot(1 + random.IntN(int(w.m.registry.users.Next()-1)))
			s.User, s.UserVersion, s.UserExpires = user, 1, w.now+engine.Hour
			s.Basis.Fold(engine.RevUser, uint32(user), userRev(w.m.registry, user))
		}
		switch random.IntN(20) {
		case 0:
			s.Basis.Policy--
		case 1:
			s.Basis.List--
		case 2:
			s.Basis.Revs++
		case 3:
			s.Basis.Cleared = w.m.settings.ClearedVersion() - random.Uint64N(2)
		}
		records, calls = append(records, w.record(wire.KindScreen, s)), append(calls, s)
	}
	w.apply(w.entry(records...))
	for i, s := range calls {
		if r := &w.out.Results[i]; r.Code == wire.Applied {
			w.paid = append(w.paid, paidBy(w.t, s, r, w.payerOf(s.Agent)))
		}
	}
}

// TestPaymentsNearLimitsAreCounted: whoever they pay, R25 counts a root agent's payments just
// below a limit together with its delegates', and those of all agents of an operator.
func TestPaymentsNearLimitsAreCounted(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	child, _ := w.register("child", parent(root))
	for i := range 9 {
		require.Equal(t, "PROCEED null", verdict(w.screen([2]engine.AgentSlot{root, child}[i%2], 8999)), i)
	}
	require.Equal(t, `REVIEW "R25_STRUCTURING"`, verdict(w.screen(child, 8999)), "root and delegate together")
	require.Equal(t, "PROCEED null", verdict(w.screen(child, 20)), "near no limit")
	for i := range 39 {
		agent := engine.AgentSlot(0)
		if i%9 == 0 {
			agent, _ = w.register("another")
		}
		if agent == 0 {
			agent = engine.AgentSlot(w.m.registry.agents.Next() - 1)
		}
		require.Equal(t, "PROCEED null", verdict(w.screen(agent, 8999)), i)
	}
	last, _ := w.register("last")
	require.Equal(t, `REVIEW "R25_STRUCTURING"`, verdict(w.screen(last, 8999)), "the operator's fiftieth")
}

// TestDelegatesCountForTheirRoot: R16 counts a delegate's calls for its root agent too, so that
// many delegates are no way around a root's pace.
func TestDelegatesCountForTheirRoot(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	var children []engine.AgentSlot
	for range 2 {
		child, _ := w.register("child", parent(root))
		children = append(children, child)
	}
	for i := range 1000 {
		require.Equal(t, "PROCEED null", verdict(w.screen(children[i%2], 1)), i)
	}
	require.Equal(t, `REVIEW "R16_VELOCITY_FLAG"`, verdict(w.screen(children[0], 1)), "the root's delegates make the 1,001st call of a minute")
}

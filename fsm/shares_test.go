package fsm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// ownerNames names the owners of rows, by the row of an API key and by what other rows say.
func ownerNames(m *Machine) (byKey func(row uint32) string, byOwner func(owner Owner) string) {
	keyed := map[string]bool{}
	for _, key := range m.settings.Keys {
		keyed[key.Owner] = true
	}
	byKey = func(row uint32) string {
		if row == 0 || int(row) > len(m.settings.Keys) {
			return ""
		}
		return m.settings.Keys[row-1].Owner
	}
	byOwner = func(owner Owner) string {
		name := ""
		switch {
		case owner >= callers:
			return byKey(uint32(owner - callers))
		case owner != 0:
			name = m.ids.OperatorID(uint32(owner))
		}
		if !keyed[name] {
			return ""
		}
		return name
	}
	return byKey, byOwner
}

// secondBooks counts from the rows alone who has what, by the owners' names. It knows nothing of
// the counters.
func secondBooks(m *Machine) (books [wire.SharedTables + 1]map[string]Part) {
	byKey, byOwner := ownerNames(m)
	for table := range books {
		books[table] = map[string]Part{}
	}
	add := func(table wire.SharedTable, name string, part Part) {
		books[table][name] = books[table][name].plus(part)
	}
	r := m.registry
	for i := r.profiles.First(); i < r.profiles.Next(); i++ {
		if p := *r.profiles.At(i); p != nil {
			add(wire.TableAgents, byOwner(agentOwner(p)), agentPart(p, *r.attestations.At(i)))
		}
	}
	for i := r.fleetProfiles.First(); i < r.fleetProfiles.Next(); i++ {
		if p := *r.fleetProfiles.At(i); p != nil {
			add(wire.TableFleets, byOwner(Owner(p.Operator)), fleetPart(p))
		}
	}
	for i := r.userProfiles.First(); i < r.userProfiles.Next(); i++ {
		if p := *r.userProfiles.At(i); p != nil {
			add(wire.TableUsers, byOwner(Owner(p.Operator)), userPart(p))
		}
	}
	for i := r.statuses.First(); i < r.statuses.Next(); i++ {
		if row := r.statuses.At(i); row.Slot != 0 {
			add(wire.TableStatuses, byOwner(Owner(row.Operator)), oneRow)
		}
	}
	m.secondBooksOfPayments(add, byKey, byOwner)
	return books
}

// secondBooksOfPayments counts the rows of payments and of officers.
func (m *Machine) secondBooksOfPayments(add func(wire.SharedTable, string, Part), byKey func(uint32) string, byOwner func(Owner) string) {
	l, d := m.ledger, m.desk
	for i := l.holds.First(); i < l.holds.Next(); i++ {
		add(wire.TableHolds, byKey(l.holds.At(i).Screener), oneRow)
	}
	for i := d.reviews.First(); i < d.reviews.Next(); i++ {
		if row := d.reviews.At(i); row.State == ReviewOpen {
			add(wire.TableReviews, byOwner(row.Owner), oneRow)
		}
	}
	for i := d.alerts.First(); i < d.alerts.Next(); i++ {
		if row := d.alerts.At(i); row.Later == 0 {
			add(alertTable(row.Kind), byOwner(row.Owner), oneRow)
		}
	}
	for i := d.cases.First(); i < d.cases.Next(); i++ {
		if row := d.cases.At(i); row.isHeld() {
			add(wire.TableCases, byOwner(row.Owner), oneRow)
		}
	}
}

// requireSameShares holds the counters to the second books.
func requireSameShares(t testing.TB, m *Machine) {
	t.Helper()
	books := secondBooks(m)
	for table := wire.SharedTable(1); table <= wire.SharedTables; table++ {
		s := m.sharesOf(table)
		var all, lent Part
		own := sharedBounds[table](m.limits).over(lentParts * m.owners.dividers())
		for name, part := range books[table] {
			owner, known := m.owners.named[name]
			require.True(t, known || name == "", "%s: %s", table, name)
			require.Equal(t, part, s.heldBy(owner, &m.owners), "%s of %q", table, name)
			all, lent = all.plus(part), lent.plus(part.above(own))
		}
		require.Equal(t, all, s.all, table)
		require.Equal(t, lent, s.lent, "what is lent of %s", table)
		require.Equal(t, own, s.own, table)
		require.LessOrEqual(t, all.Rows, s.most.Rows, table)
	}
}

// tenants is a random history of many owners in small tables.
type tenants struct {
	*world
	random  *rand.Rand
	keys    []*wire.KeyRef
	refused [wire.SharedTables + 1]int
	owners  int
	narrow  func(*engine.Limits)
}

func newTenants(t testing.TB, seed uint64) *tenants {
	h := &tenants{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 116)), keys: []*wire.KeyRef{{}}}
	h.narrow = func(l *engine.Limits) {
		l.Agents, l.Fleets, l.Users, l.Statuses, l.Holds, l.References, l.OpenReviews, l.Alerts, l.SanctionsAlerts = 130, 128, 64, 200, 64, 64, 64, 64, 64
		l.Idempotency, l.Outcomes, l.SanctionsCases = 64, 128, 32
		l.AgentBytes, l.FleetBytes, l.UserBytes = 64*2500, 64*600, 64*500
	}
	h.world.narrow(h.narrow)
	return h
}

func (h *tenants) operator() string {
	return []string{"acme inc", "blue ltd", "cyan sa"}[min(h.random.IntN(8), 6)/2%3]
}

func (h *tenants) common() wire.Common {
	c := wire.Common{Key: h.keys[h.random.IntN(len(h.keys))]}
	if *c.Key == (wire.KeyRef{}) {
		c.Key = nil
	}
	if h.random.IntN(3) == 0 {
		c.Idem = &wire.Idem{Key: [16]byte{byte(h.random.IntN(256)), byte(h.random.IntN(4))}}
	}
	return c
}

func (h *tenants) longList() *engine.Whitelist {
	if h.random.IntN(3) > 0 {
		return nil
	}
	w := &engine.Whitelist{}
	for range h.random.IntN(40) {
		w.Entries = append(w.Entries, engine.WhitelistEntry{ID: 1, Name: "a name", Shown: "A Name"})
	}
	return w
}

// do applies a record and holds its refusal to the second books: nobody is refused who has less
// than its own part.
func (h *tenants) do(kind wire.Kind, body any, whose map[wire.SharedTable]string) wire.Result {
	before := secondBooks(h.m)
	r := h.world.do(kind, body)
	if r.Code != wire.Refused || r.Refusal != wire.RefusedShare {
		return r
	}
	table := wire.SharedTable(r.Value)
	h.refused[table]++
	name, known := whose[table]
	if !known {
		return r
	}
	own, held := h.m.sharesOf(table).own, before[table][name]
	if table != wire.TableAgents && table != wire.TableFleets && table != wire.TableUsers {
		require.GreaterOrEqual(h.t, held.Rows, own.Rows, "%s of %q", table, name)
	} else {
		require.True(h.t, held.Rows >= own.Rows || held.Bytes+40*(entryBytes+12)+9000 > own.Bytes, "%s of %q", table, name)
	}
	return r
}

func (h *tenants) ofCall(c *wire.Common) map[wire.SharedTable]string {
	owner := ""
	if c.Key != nil {
		owner = h.m.settings.Keys[c.Key.Row-1].Owner
	}
	whose := map[wire.SharedTable]string{}
	for _, table := range []wire.SharedTable{wire.TableHolds, wire.TableReviews} {
		whose[table] = owner
	}
	return whose
}

func (h *tenants) addKey() {
	if len(h.m.settings.Keys) > 30 {
		return
	}
	key := wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: fmt.Sprint("k", len(h.keys)), Name: "n", Hashes: key32(byte(len(h.keys))), Roles: wire.RoleOperator | wire.RoleScreener | wire.RoleSettler}}
	switch h.random.IntN(4) {
	case 0:
		key.Operator = named(h.operator())
	case 1:
		key.Key.Owner = fmt.Sprint("cal_", h.random.IntN(12))
	case 2:
		key.Key.Owner = fmt.Sprint("cal_", h.owners)
		h.owners++
	}
	if r := h.world.do(wire.KindAPIKey, &key); r.Code == wire.Applied {
		row := uint32(len(h.m.settings.Keys))
		h.keys = append(h.keys, &wire.KeyRef{Row: row, Rev: h.m.settings.Keys[row-1].Rev})
	}
}

func (h *tenants) step() {
	h.now += engine.Time(h.random.Int64N(int64(4 * engine.Minute)))
	c, agents := h.common(), h.m.registry.agents.Len()
	whose := h.ofCall(&c)
	slot := engine.AgentSlot(1 + h.random.IntN(max(agents, 1)))
	switch n := h.random.IntN(40); {
	case n == 0:
		h.addKey()
	case n < 4 || agents == 0:
		profile := engine.AgentProfile{AgentName: strings.Repeat("x", h.random.IntN(3000)), Type: engine.Autonomous, Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: 50 * engine.Dollar}}
		profile.Settings.Whitelist = h.longList()
		h.do(wire.KindRegister, &wire.Register{Common: c, Profile: profile, Operator: named(h.operator()), Basis: engine.Basis{List: h.m.settings.ListVersion}}, whose)
	case n == 4:
		h.do(wire.KindFleet, &wire.Fleet{Common: c, Profile: engine.FleetProfile{FleetName: "f", Whitelist: h.longList()}, Operator: named(h.operator())}, whose)
	case n == 5 && h.m.registry.fleets.Len() > 0:
		fleet := engine.FleetSlot(1 + h.random.IntN(h.m.registry.fleets.Len()))
		if _, profile := h.m.registry.fleetAt(fleet); profile != nil {
			h.do(wire.KindFleetUpdate, &wire.FleetUpdate{Common: c, Fleet: fleet, BaseRev: profile.Rev, Profile: engine.FleetProfile{Whitelist: h.longList()}, Event: "fleet.updated"}, whose)
		}
	case n < 8:
		user := wire.User{Common: c, Profile: engine.UserProfile{LegalName: strings.Repeat("n", h.random.IntN(3000))}, Basis: engine.Basis{List: h.m.settings.ListVersion}}
		if h.random.IntN(2) == 0 {
			user.Operator = named(h.operator())
		}
		h.do(wire.KindUser, &user, whose)
	case n < 11:
		h.change(slot, c, whose)
	case n == 11:
		h.do(wire.KindAttest, &wire.Attest{Common: c, Agent: slot, AttestedBy: "ann", Note: strings.Repeat("y", h.random.IntN(4000))}, whose)
	case n < 28:
		h.pay(slot, c, whose)
	case n < 32:
		h.endSome(c)
	case n < 34:
		h.review()
	case n == 34:
		h.acknowledgeSome()
	case n == 39:
		h.caseStep(h.random, wire.Common{})
	case n == 35:
		h.world.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, uint64(slot))})
	case n == 38:
		h.retire(slot, c)
	case n == 36 && h.random.IntN(12) == 0:
		h.now += engine.Time(h.random.IntN(40)) * engine.DayLength
	case n == 37 && h.random.IntN(4) == 0:
		h.m = restoredFrom(h.t, h.m)
		h.world.narrow(h.narrow)
	default:
		h.tick()
	}
}

// retire revokes an agent, or retires one, or a fleet, if that may be.
func (h *tenants) retire(slot engine.AgentSlot, c wire.Common) {
	switch fleets := h.m.registry.fleets.Len(); h.random.IntN(8) {
	case 0: // Seldom: of revoked ones nothing is issued again.
		h.world.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Revoked})
	case 1, 2, 3:
		h.do(wire.KindRetire, &wire.Retire{Common: c, Agent: slot}, nil)
	default:
		h.do(wire.KindRetire, &wire.Retire{Common: c, Fleet: engine.FleetSlot(1 + h.random.IntN(max(fleets, 1)))}, nil)
	}
}

func (h *tenants) change(slot engine.AgentSlot, c wire.Common, whose map[wire.SharedTable]string) {
	_, profile := h.m.registry.agentAt(slot)
	if profile == nil {
		return
	}
	if h.random.IntN(2) == 0 {
		h.do(wire.KindSettings, &wire.Settings{Common: c, Agent: slot, BaseRev: profile.Rev, Settings: engine.AgentSettings{Whitelist: h.longList()}, Event: "agent.settings"}, whose)
		return
	}
	h.do(wire.KindReissue, &wire.Reissue{Common: c, Agent: slot, Profile: *profile, BaseRev: profile.Rev, Operator: named(h.operator()), List: h.m.settings.ListVersion, Plain: true}, whose)
}

func (h *tenants) pay(slot engine.AgentSlot, c wire.Common, whose map[wire.SharedTable]string) {
	s := h.screening(slot, engine.USD(h.random.IntN(30))*engine.Dollar)
	if s.Idem = c.Idem; c.Key != nil {
		s.Key = *c.Key
	}
	if h.random.IntN(2) == 0 {
		s.Hold = uint32(60 + h.random.IntN(9000))
	}
	if h.random.IntN(2) == 0 {
		s.Reference = engine.ReferenceKey{1, byte(h.random.IntN(256)), byte(h.random.IntN(4))}
	}
	if h.random.IntN(8) == 0 {
		s.Mask, s.Subs, s.Causes = 1<<7, []byte{1}, []wire.Cause{wire.PartyCause(1 + h.random.Uint32N(4000))}
	}
	if r := h.do(wire.KindScreen, s, whose); r.Code == wire.Applied && h.m.registry.hasAgent(slot) {
		h.paid = append(h.paid, paidBy(h.t, s, &r, h.payerOf(slot)))
	}
}

func (h *tenants) endSome(c wire.Common) {
	if len(h.paid) == 0 {
		return
	}
	b := h.paid[max(0, len(h.paid)-1-h.random.IntN(30))]
	b.Common, b.Op, b.Forwarded = c, wire.HoldRelease, true
	if h.random.IntN(3) > 0 {
		b.Op, b.Amount = wire.HoldSettle, b.Recorded*engine.USD(h.random.IntN(4))/2
	}
	h.do(wire.KindHold, &b, nil)
}

func (h *tenants) review() {
	d := h.m.desk
	for i := d.reviews.First(); i < d.reviews.Next(); i++ {
		if row := d.reviews.At(i); row.State == ReviewOpen && h.random.IntN(2) == 0 {
			h.do(wire.KindDisposition, &wire.Disposition{Leaf: row.Leaf, Disposition: uint8(1 + h.random.IntN(3)), Agent: row.Agent, Amount: row.Amount}, nil)
			return
		}
	}
}

func (h *tenants) acknowledgeSome() {
	d := h.m.desk
	for i := d.alerts.First(); i < d.alerts.Next(); i++ {
		if row := d.alerts.At(i); row.Later == 0 && h.random.IntN(2) == 0 {
			h.acknowledge(row.Leaf)
			return
		}
	}
}

// TestSharesFollowTheRows: over random histories of many owners the counters say what the rows
// say, before and after a restore. Nobody below its own part is refused, and every table refuses
// somebody.
func TestSharesFollowTheRows(t *testing.T) {
	var refused [wire.SharedTables + 1]int
	for seed := range uint64(14) {
		h := newTenants(t, seed)
		for n := range 1500 {
			h.step()
			if n%20 == 0 {
				requireSameShares(t, h.m)
			}
		}
		requireSameShares(t, h.m)
		m := restoredFrom(t, h.m)
		m.limits = h.m.limits
		requireSameShares(t, m)
		require.Equal(t, h.m.Freeze().Digest(), m.Freeze().Digest())
		for table := range refused {
			refused[table] += h.refused[table]
		}
	}
	for table := wire.SharedTable(1); table <= wire.SharedTables; table++ {
		if table != wire.TableAlerts && table != wire.TableSanctions { // These refuse no record.
			require.NotZero(t, refused[table], table)
		}
	}
}

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
	r, l, d := m.registry, m.ledger, m.desk
	for i := r.profiles.First(); i < r.profiles.Next(); i++ {
		if p := *r.profiles.At(i); p != nil {
			add(wire.TableAgents, byOwner(Owner(p.Operator)), agentPart(p, *r.attestations.At(i)))
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
	for i := l.holds.First(); i < l.holds.Next(); i++ {
		add(wire.TableHolds, byKey(l.holds.At(i).Screener), oneRow)
	}
	for i := l.references.First(); i < l.references.Next(); i++ {
		if row := l.references.At(i); row.Key != (engine.ReferenceKey{}) {
			add(wire.TableReferences, byOwner(row.Owner), oneRow)
		}
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
	return books
}

// ownersIn is how many owners there are, the institution among them.
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
		l.Idempotency, l.Outcomes = 64, 128
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
	for _, table := range []wire.SharedTable{wire.TableHolds, wire.TableReferences, wire.TableReviews} {
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
	case n == 35:
		h.world.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, uint64(slot))})
	case n == 36 && h.random.IntN(12) == 0:
		h.now += engine.Time(h.random.IntN(40)) * engine.DayLength
	case n == 37 && h.random.IntN(4) == 0:
		h.m = restoredFrom(h.t, h.m)
		h.world.narrow(h.narrow)
	default:
		h.tick()
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
	if r := h.do(wire.KindScreen, s, whose); r.Code == wire.Applied && h.m.registry.agents.Has(uint64(slot)) {
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
	for seed := range uint64(6) {
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

// TestAlertsAboutTheListHaveRoom (line K14): no alerts of settles and no hits of another owner take
// the room of an alert about the list. Without room the call that would raise one is refused.
func TestAlertsAboutTheListHaveRoom(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) {
		l.Alerts, l.SanctionsAlerts = 8*ownersLeast, 8*ownersLeast // Each owner has two for itself.
	})
	tenant := w.keyWith("tenant", wire.APIKey{Owner: "cal_tenant", Roles: wire.RoleScreener})
	slot, _ := w.register("its own", dailyLimit(1))
	other := w.registerFor("blue ltd")
	listed := func(slot engine.AgentSlot) wire.Result {
		s := w.screening(slot, engine.Dollar)
		var hits engine.Hits
		hits.Add(5, 2)
		wire.PackHits(&hits, s)
		return w.do(wire.KindScreen, s)
	}
	unlisted := 0
	for range 8 * ownersLeast {
		b := w.heldBy(tenant.Key, slot, 2, 0)
		require.Equal(t, engine.Review, b.Verdict)
		require.Equal(t, wire.Applied, w.settle(b, 2).Code)
		unlisted += w.out.AlertsUnlisted
	}
	require.NotZero(t, unlisted, "the tenant has filled what it may")
	require.Equal(t, wire.Applied, listed(other).Code)
	require.Zero(t, w.out.AlertsUnlisted)
	require.Len(t, w.alerts(), 1)

	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{
		Op: wire.KeyCreate, Operator: named("acme inc"), Key: wire.APIKey{ID: "acme", Name: "n", Hashes: key32(1), Roles: wire.RoleScreener},
	}).Code)
	acme := Owner(w.operatorSlot("acme inc"))
	for subject := slot; w.m.hasRoom(wire.TableSanctions, acme, oneRow); subject, _ = w.register("one more") {
		require.Equal(t, wire.Applied, w.do(wire.KindAlert, &wire.Alert{
			Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, uint64(subject)),
		}).Code)
	}
	w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, w.m.registry.agents.Next()-1)})
	require.Equal(t, 1, w.out.AlertsUnlisted, "a hit beyond the share is a leaf alone")
	size := w.m.size
	fails := listed(slot)
	require.Equal(t, wire.RefusedShare, fails.Refusal)
	require.EqualValues(t, wire.TableSanctions, fails.Value)
	require.Equal(t, size, w.m.size)
	w.activateList([]byte("another list"))
	require.Equal(t, wire.Applied, listed(other).Code)
	require.Zero(t, w.out.AlertsUnlisted, "the institution's own part")
	require.Len(t, w.alerts(), 1)
}

// registerFor registers an agent of an operator.
func (w *world) registerFor(operator string) engine.AgentSlot {
	profile := engine.AgentProfile{AgentName: "a", Type: engine.Supervised, Policy: engine.NoSpendPolicy()}
	body := &wire.Register{Profile: profile, Operator: named(operator), Basis: engine.Basis{List: w.m.settings.ListVersion}}
	require.Equal(w.t, wire.Applied, w.do(wire.KindRegister, body).Code)
	return engine.AgentSlot(w.m.registry.agents.Next() - 1)
}

// TestNoReviewIsAnsweredThatNobodySees: a call whose owner has no room in the queue is refused, and
// its payment, reference and key are as if it had never come.
func TestNoReviewIsAnsweredThatNobodySees(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.OpenReviews = 4 * ownersLeast })
	slot, _ := w.register("a", dailyLimit(1))
	flood := w.keyWith("flood", wire.APIKey{Owner: "cal_flood", Roles: wire.RoleScreener})
	calm := w.keyWith("calm", wire.APIKey{Owner: "cal_calm", Roles: wire.RoleScreener})
	call := func(key wire.Common, n int) wire.Result {
		s := w.screening(slot, 2*engine.Dollar)
		s.Key, s.Reference, s.Idem = *key.Key, engine.ReferenceKey{1, byte(n)}, &wire.Idem{Key: [16]byte{1, byte(n)}}
		return w.do(wire.KindScreen, s)
	}
	n := 0
	for ; call(flood, n).Code == wire.Applied; n++ {
		require.Equal(t, n+1, w.m.desk.openReviews, "each REVIEW is in the queue")
	}
	require.Equal(t, 3*ownersLeast+1, n)
	size := w.m.size
	r := call(flood, n)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableReviews, r.Value)
	require.Equal(t, size, w.m.size)
	_, used := w.m.ReferenceUsed(engine.ReferenceKey{1, byte(n)})
	require.False(t, used)
	require.Len(t, w.m.idemByKey, n)
	require.Equal(t, wire.Applied, call(calm, n).Code, "the same key of another owner, and its own part")
	require.Equal(t, wire.RefusedShare, call(calm, n+1).Refusal)
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: w.m.desk.reviews.At(0).Leaf, Disposition: wire.Rejected, Agent: slot, Amount: 2 * engine.Dollar}).Code)
	require.Equal(t, wire.Applied, call(flood, n+2).Code, "an officer made room")
}

// TestProfilesCountInBytes (line K8): whoever has long profiles is refused at his share, shorter
// ones give room back, and others register on.
func TestProfilesCountInBytes(t *testing.T) {
	w := newWorld(t)
	long := &engine.Whitelist{}
	for n := range uint32(100) {
		long.Entries = append(long.Entries, engine.WhitelistEntry{ID: n + 1, Name: "a name of twenty let", Shown: "a name of twenty let"})
	}
	each := agentPart(&engine.AgentProfile{Settings: engine.AgentSettings{Whitelist: long}}, nil).Bytes
	require.Greater(t, each, int64(100*entryBytes))
	w.narrow(func(l *engine.Limits) { l.AgentBytes = 4 * ownersLeast * (each + 100) })
	w.register("of the operator")
	w.key("acme inc", wire.RoleOperator)
	put := func(slot engine.AgentSlot, list *engine.Whitelist) wire.Result {
		rev := (*w.m.registry.profiles.At(uint64(slot))).Rev
		return w.do(wire.KindSettings, &wire.Settings{Agent: slot, BaseRev: rev, Settings: engine.AgentSettings{Whitelist: list}, Event: "agent.settings"})
	}
	var slots []engine.AgentSlot
	for {
		slot, r := w.register("a")
		require.Equal(t, wire.Applied, r.Code, "an ordinary agent has room")
		if slots = append(slots, slot); put(slot, long).Code != wire.Applied {
			break
		}
	}
	require.Len(t, slots, 3*ownersLeast+2)
	r := put(slots[len(slots)-1], long)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableAgents, r.Value)
	require.Equal(t, wire.Applied, put(slots[0], nil).Code, "less is always possible")
	require.Equal(t, wire.Applied, put(slots[len(slots)-1], long).Code)
	require.Equal(t, wire.Applied, put(w.registerFor("blue ltd"), long).Code, "another has its own part")
	requireSameShares(t, w.m)
}

package fsm

import (
	"math/bits"

	"github.com/transparency-dev/merkle/compact"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// View is the whole state at one log index, frozen. Any number of readers may use it, for as long
// as they like; it costs the writer one copy of each page that the writer changes afterwards.
type View struct {
	Index  uint64
	Term   uint64
	Format engine.Format
	Time   engine.Time
	Size   uint64   // The number of leaves written.
	Root   [32]byte // The tree head over these leaves.
	Oldest uint64   // First leaf within retention.
	// KeysFrom is the leaf from which on the state has the Idempotency-Key of every call.
	KeysFrom uint64

	lived    engine.Time
	settings *Settings
	ratchet  leaf.Ratchet
	identity *identity
	frontier [][]byte
	shared   [wire.SharedTables + 1]SharedFill
	tables   // Frozen tables.
}

// Freeze returns the state as it is, in O(1) except for the tree head (at most 64 hashes).
func (m *Machine) Freeze() *View {
	v := &View{
		Index: m.index, Term: m.term, Format: m.format, Time: m.now,
		Size: m.size, Root: m.treeHead(), Oldest: m.oldest,
		KeysFrom: m.keysFrom, lived: m.lived, settings: m.settings, ratchet: m.ratchet, identity: m.identity,
		frontier: append([][]byte(nil), m.frontier.Hashes()...),
		tables:   m.tables, shared: m.sharedFills(),
	}
	for _, one := range planned.all {
		one.freezeRows(&m.tables, &v.tables)
	}
	for _, table := range planned.derived {
		table.freezeRows(&m.tables, &v.tables)
	}
	return v
}

// Staged returns the bytes of the staged list with that digest; nil: it is not staged. The
// bytes are shared and must not be changed.
func (v *View) Staged(digest [32]byte) []byte {
	for i, info := range v.settings.Staged {
		if info.Digest == digest {
			return v.stagedData[i]
		}
	}
	return nil
}

// Settings returns the settings in force.
func (v *View) Settings() *Settings { return v.settings }

// Frontier returns the compact range of the tree of Size leaves: the hashes of its
// complete subtrees, left to right, from which Root follows. Not to be changed.
func (v *View) Frontier() [][]byte { return v.frontier }

// Agents returns how many agents and delegates there are.
func (v *View) Agents() int { return int(v.shared[wire.TableAgents].All.Rows) }

// AgentSlots returns the newest slot of an agent. Slots from 1 on are agents', some of them retired.
func (v *View) AgentSlots() int { return v.agents.Len() }

// Agent returns an agent's row and profile.
func (v *View) Agent(slot engine.AgentSlot) (engine.AgentRow, *engine.AgentProfile, bool) {
	if !v.hasAgent(slot) {
		return engine.AgentRow{}, nil, false
	}
	return *v.agents.At(uint64(slot)), *v.profiles.At(uint64(slot)), true
}

// Attestations returns an agent's attestations of the last 25 hours, newest first.
func (v *View) Attestations(slot engine.AgentSlot) []engine.Attestation {
	if !v.attestations.Has(uint64(slot)) || *v.attestations.At(uint64(slot)) == nil {
		return nil
	}
	var kept []engine.Attestation
	for _, a := range **v.attestations.At(uint64(slot)) {
		if v.Time < a.At+engine.LimitsOf(v.Format).AttestationStored {
			kept = append(kept, a)
		}
	}
	return kept
}

// Pace returns an agent's pace at the view's time.
func (v *View) Pace(slot engine.AgentSlot) engine.Pace {
	if !v.hasAgent(slot) {
		return engine.Pace{}
	}
	row := v.velocityOf(slot)
	return row.Pace(v.Time, v.agents.At(uint64(slot)).CountedFrom)
}

// velocityOf returns a copy of an agent's buckets. They are empty if the agent was not
// screened lately.
func (v *View) velocityOf(slot engine.AgentSlot) engine.VelocityRow {
	return v.activityRowOf(slot).Velocity
}

// activityRowOf returns a copy of an agent's row of recent activity. It is empty if the agent
// was not screened lately.
func (v *View) activityRowOf(slot engine.AgentSlot) activityRow {
	at := v.agents.At(uint64(slot)).Activity
	if at == 0 {
		return activityRow{}
	}
	return *v.activity.At(uint64(at))
}

// Fill is the number of rows in one table, and its limit. Of a table in which each owner has a
// share, Shared says more.
type Fill struct {
	Table      string
	Rows, Most int
	Shared     *SharedFill
}

// BoundedTables names the tables of Fills, in its order.
var BoundedTables = func() (names []string) {
	for _, fill := range New().Freeze().Fills() {
		names = append(names, fill.Table)
	}
	return names
}()

// Fills returns how full each table is whose limit people can reach.
func (v *View) Fills() (fills []Fill) {
	limits := engine.LimitsOf(max(v.Format, engine.Format1))
	for _, one := range planned.shown {
		said := one.said()
		fill := Fill{Table: said.shownAs, Rows: one.countRows(&v.tables, v.settings), Most: said.most(limits)}
		if said.filled != nil {
			fill.Rows, fill.Most = said.filled(&v.tables, limits)
		}
		fills = append(fills, fill)
	}
	for table := wire.SharedTable(1); table <= wire.SharedTables; table++ {
		shared := &v.shared[table]
		fills = append(fills, Fill{Table: table.String(), Rows: int(shared.All.Rows), Most: int(shared.Most.Rows), Shared: shared})
	}
	return fills
}

// Users returns how many users are stored.
func (v *View) Users() int { return v.usersHeld }

// UserSlots returns the range of slots that users can be in: from first on, below next.
func (v *View) UserSlots() (first, next uint64) { return v.users.First(), v.users.Next() }

// User returns a user's row and profile while its record is stored (31 days).
func (v *View) User(slot engine.UserSlot) (engine.UserRow, *engine.UserProfile, bool) {
	if !v.users.Has(uint64(slot)) {
		return engine.UserRow{}, nil, false
	}
	profile := *v.userProfiles.At(uint64(slot))
	if profile == nil || v.Time >= profile.StoredUntil {
		return engine.UserRow{}, nil, false
	}
	return *v.users.At(uint64(slot)), profile, true
}

// Fleets returns how many fleets there are.
func (v *View) Fleets() int { return int(v.shared[wire.TableFleets].All.Rows) }

// FleetSlots is AgentSlots for fleets.
func (v *View) FleetSlots() int { return v.fleets.Len() }

// Fleet returns a fleet's row and profile.
func (v *View) Fleet(slot engine.FleetSlot) (engine.FleetRow, *engine.FleetProfile, bool) {
	if !v.hasFleet(slot) {
		return engine.FleetRow{}, nil, false
	}
	return *v.fleets.At(uint64(slot)), *v.fleetProfiles.At(uint64(slot)), true
}

// Operators returns how many operators there are: slots 1 to that.
func (v *View) Operators() int { return v.operators.Len() }

// Operator returns an operator's row and profile.
func (v *View) Operator(slot engine.OperatorSlot) (engine.OperatorRow, *engine.OperatorProfile, bool) {
	if !v.operators.Has(uint64(slot)) {
		return engine.OperatorRow{}, nil, false
	}
	return *v.operators.At(uint64(slot)), *v.operatorProfiles.At(uint64(slot)), true
}

// OpenReviews returns how many reviews wait for a disposition.
func (v *View) OpenReviews() int { return v.openReviews }

// Review returns the row of a REVIEW leaf that waits or waited in the queue.
func (v *View) Review(leaf uint64) (ReviewRow, bool) {
	at, found := searchReviews(v.reviews.First(), v.reviews.Next(), leaf, func(i uint64) uint64 { return v.reviews.At(i).Leaf })
	if !found {
		return ReviewRow{}, false
	}
	return *v.reviews.At(at), true
}

// Reviews calls fn with the rows of the queue, newest first, until it returns false.
func (v *View) Reviews(fn func(ReviewRow) bool) {
	for i := v.reviews.Next(); i > v.reviews.First(); i-- {
		if !fn(*v.reviews.At(i - 1)) {
			return
		}
	}
}

// Open calls fn with the rows that wait for a disposition, newest first, until it returns
// false. A closed row in between costs one bit.
func (v *View) Open(fn func(ReviewRow) bool) {
	for w := v.open.Next(); w > v.open.First(); w-- {
		for word := *v.open.At(w - 1); word != 0; {
			bit := uint64(bits.Len64(word)) - 1
			word &^= 1 << bit
			if !fn(*v.reviews.At((w-1)*openWord + bit)) {
				return
			}
		}
	}
}

// OldestOpen returns the row that has waited longest for a disposition.
func (v *View) OldestOpen() (ReviewRow, bool) {
	for w := v.open.First(); w < v.open.Next(); w++ {
		if word := *v.open.At(w); word != 0 {
			return *v.reviews.At(w*openWord + uint64(bits.TrailingZeros64(word))), true
		}
	}
	return ReviewRow{}, false
}

// Overdue returns how many open reviews have waited longer than the policy allows; 0 if the
// policy sets no limit.
func (v *View) Overdue() (count int) {
	wait := v.settings.Policy.ReviewSLA
	if wait == 0 {
		return 0
	}
	end := v.waitedSince(v.Time - wait)
	for w := v.open.First(); w < v.open.Next() && w*openWord < end; w++ {
		word := *v.open.At(w)
		if end-w*openWord < openWord {
			word &= 1<<(end-w*openWord) - 1
		}
		count += bits.OnesCount64(word)
	}
	return count
}

// waitedSince returns the position after the last review that was opened at or before a time.
func (v *View) waitedSince(at engine.Time) uint64 {
	low, high := v.reviews.First(), v.reviews.Next()
	for low < high { // Rows are in the order of log time.
		if middle := low + (high-low)/2; v.reviews.At(middle).At <= at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Everything reports the whole published state, as if it had just changed: for
// the edges of a node that started or installed a snapshot.
func (m *Machine) Everything(out *Effects) {
	out.beginEntry(m.index, m.term, m.size)
	out.Time, out.Oldest, out.OldestDay, out.KeysFrom = m.now, m.oldest, m.oldestDay(m.now), m.keysFrom
	out.EndedFrom, out.UsedFrom = m.ledger.endedFrom, m.ledger.usedFrom
	for i := m.registry.profiles.First(); i < m.registry.profiles.Next(); i++ {
		if profile := *m.registry.profiles.At(i); profile != nil {
			out.Agents = append(out.Agents, profile)
		}
	}
	for i := m.registry.userProfiles.skipGaps(m.registry.userProfiles.First()); i < m.registry.userProfiles.Next(); i = m.registry.userProfiles.skipGaps(i + 1) {
		if profile := *m.registry.userProfiles.At(i); profile != nil {
			out.Users = append(out.Users, profile)
		}
	}
	for i := m.registry.operatorProfiles.First(); i < m.registry.operatorProfiles.Next(); i++ {
		out.Operators = append(out.Operators, *m.registry.operatorProfiles.At(i))
	}
	for i := m.registry.fleetProfiles.First(); i < m.registry.fleetProfiles.Next(); i++ {
		if profile := *m.registry.fleetProfiles.At(i); profile != nil {
			out.Fleets = append(out.Fleets, profile)
		}
	}
	for i := m.desk.dispositions.First(); i < m.desk.dispositions.Next(); i++ {
		row := m.desk.dispositions.At(i)
		out.Dispositions = append(out.Dispositions, LeafLink{Leaf: row.Leaf, Later: row.Later})
	}
	for i := m.ledger.holds.First(); i < m.ledger.holds.Next(); i++ {
		row := m.ledger.holds.At(i)
		if told := row.told(); told != 0 {
			out.Outcomes = append(out.Outcomes, LeafLink{Leaf: row.Leaf, Later: told})
		}
	}
	for i := m.ledger.outcomes.First(); i < m.ledger.outcomes.Next(); i++ {
		row := m.ledger.outcomes.At(i)
		out.Outcomes = append(out.Outcomes, LeafLink{Leaf: row.Leaf, Later: row.Later})
		if row.Late != 0 {
			out.Outcomes = append(out.Outcomes, LeafLink{Leaf: row.Leaf, Later: row.Late, Late: true})
		}
	}
	for i := m.desk.proposals.First(); i < m.desk.proposals.Next(); i++ {
		if row := m.desk.proposals.At(i); row.Kind == wire.KindDisposition {
			out.Proposals = append(out.Proposals, LeafLink{Leaf: row.Leaf, Later: row.Later})
		}
	}
	for i := m.desk.reviews.First(); i < m.desk.reviews.Next(); i++ {
		row := m.desk.reviews.At(i)
		if row.Claim == nil {
			continue
		}
		for _, comment := range row.Claim.Comments {
			out.Comments = append(out.Comments, LeafLink{Leaf: row.Leaf, Later: comment.Leaf})
		}
	}
	out.Settings, out.ListData = m.settings, m.rulebook.listData
	if m.settings.Genesis != nil && m.registry.standing.changed <= m.registry.standing.minute { // Otherwise this minute's lists may differ from the state's.
		out.Statuses = m.Freeze()
	}
}

func frontierRange(size uint64, hashes [][]byte) (*compact.Range, error) {
	return ranges.NewRange(0, size, hashes)
}

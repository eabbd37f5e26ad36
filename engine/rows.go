package engine

// Rows are the hot, mutable state: fixed in size, free of pointers, changed by the state
// machine alone. Anything long or of varying size is in a profile.

// Slots are dense addresses of rows, starting at 1; 0 is "none".
type (
	AgentSlot    uint32
	UserSlot     uint32
	FleetSlot    uint32
	OperatorSlot uint32
)

// Spend is a daily counter: the amount that one agent or fleet spent on one UTC date, and the
// amount of that date's payments on hold. Both count against limits.
type Spend struct {
	Day   Day
	Spent USD
	Held  USD
}

// SpentOn returns the amount spent on day d.
func (s *Spend) SpentOn(d Day) USD {
	if s.Day != d {
		return 0
	}
	return s.Spent
}

// HeldOn returns the amount on hold for day d.
func (s *Spend) HeldOn(d Day) USD {
	if s.Day != d {
		return 0
	}
	return s.Held
}

// Counted returns the amount that counts against a limit on day d: spent and held.
func (s *Spend) Counted(d Day) USD { return s.SpentOn(d).Plus(s.HeldOn(d)) }

// Hold puts amount on hold for day d. It picks the day as Add does.
func (s *Spend) Hold(d Day, amount USD) {
	s.startDay(d)
	s.Held = s.Held.Plus(amount)
}

// AddOn adds amount to the spending of day d, unless the counter is for another day.
func (s *Spend) AddOn(d Day, amount USD) {
	if s.Day == d {
		s.Spent = s.Spent.Plus(amount)
	}
}

// Unhold takes amount off the holds of day d, unless the counter is for another day. A counter
// that was saturated does not fall below zero.
func (s *Spend) Unhold(d Day, amount USD) {
	if s.Day == d {
		s.Held = max(s.Held-amount, 0)
	}
}

// Return takes amount off the spending of day d, like Unhold.
func (s *Spend) Return(d Day, amount USD) {
	if s.Day == d {
		s.Spent = max(s.Spent-amount, 0)
	}
}

// startDay starts the counter at zero if d is a later day.
func (s *Spend) startDay(d Day) {
	if d > s.Day {
		*s = Spend{Day: d}
	}
}

// Add adds amount to the spending of day d. A new day starts from zero. An amount of an older
// day is added to the day of the counter, so that a counter never shrinks.
func (s *Spend) Add(d Day, amount USD) {
	s.startDay(d)
	s.Spent = s.Spent.Plus(amount)
}

// AgentRow is the live state of one agent.
type AgentRow struct {
	Status        Status
	Institutions  bool   // The institution suspended it, so a key of one operator cannot lift the suspension.
	StatusReason  uint8  // reasonCode of a revocation, see StatusReason*.
	MinVersion    uint16 // Credential versions older than this are superseded at once.
	Children      uint16
	StatusAt      Time
	OverlapUntil  Time // Until then, versions from MinVersion up to the current one are still good.
	OwnershipFrom Time // From this instant R8 fires; 0: no ownership transfer is flagged.
	OwnershipAt   Time // When the transfer was flagged.
	AttestedAt    Time // 0: never attested.
	Spend         Spend
	Sequence      uint64 // How many leaves are about this agent so far.
	LastLeaf      uint64 // The newest of them; meaningful when Sequence > 0.
	CountedFrom   int64  // Unix second of the first transaction that R16 counted; 0: none.
	Activity      uint32 // Place of the agent's row of the last 24 hours; 0: it has none.
	Holds         uint32 // How many of its payments are held or unresolved. It follows from the holds.
}

// ProfileUse remembers the profile leaf that the day's records refer to.
type ProfileUse struct {
	Day  Day    // UTC date of the leaf; 0: none yet.
	Revs uint64 // What the leaf shows: Basis.Revs and the policy version, folded.
	Leaf uint64
	Hash [32]byte // Its leaf hash.
}

// FleetRow is the live state of one fleet.
type FleetRow struct {
	Kept   bool // It was not retired.
	Agents uint32
	Spend  Spend
}

// OperatorRow is the live state of one operator (opr_…).
type OperatorRow struct {
	Suspended    bool
	Institutions bool // As in AgentRow.
	Agents       uint32
	StatusAt     Time
	Near         NearRow // R25, over all its agents.
	Spend        Spend   // R11, over all its agents.
}

// UserRow is the live state of one user credential.
type UserRow struct {
	Status       Status
	Institutions bool // As in AgentRow.
	StatusReason uint8
	MinVersion   uint16
	Purged       bool // The profile was erased after its 31 days.
	StatusAt     Time
	OverlapUntil Time
	Judged       ProfileUse
}

// VelocityRow counts one agent's screened transactions: 60 one-second buckets,
// 60 one-minute buckets and 24 one-hour buckets, all keyed by log time.
// The methods are in velocity.go.
type VelocityRow struct {
	Second  int64 // Unix second of the newest bucket; 0 if nothing was counted.
	Seconds [60]uint16
	Minutes [60]uint32
	Hours   [24]uint32
}

package engine

// Rows are the hot, mutable state: fixed in size, free of pointers, changed by
// the state machine alone. What is long or varies in size is a profile.

// Slots are dense addresses of rows, starting at 1; 0 is "none".
type (
	AgentSlot    uint32
	UserSlot     uint32
	FleetSlot    uint32
	OperatorSlot uint32
)

// Spend is a daily counter: what one agent or fleet spent on one UTC date, and what
// is held of that date's payments. Both count against limits.
type Spend struct {
	Day   Day
	Spent USD
	Held  USD
}

// SpentOn returns what was spent on day d.
func (s *Spend) SpentOn(d Day) USD {
	if s.Day != d {
		return 0
	}
	return s.Spent
}

// HeldOn returns what is held of day d's payments.
func (s *Spend) HeldOn(d Day) USD {
	if s.Day != d {
		return 0
	}
	return s.Held
}

// Counted returns what counts against a limit on day d: spent and held.
func (s *Spend) Counted(d Day) USD { return s.SpentOn(d).Plus(s.HeldOn(d)) }

// Hold holds amount on day d, as Add books it.
func (s *Spend) Hold(d Day, amount USD) {
	s.startDay(d)
	s.Held = s.Held.Plus(amount)
}

// AddOn books what was held on day d, unless that day is not counted any more.
func (s *Spend) AddOn(d Day, amount USD) {
	if s.Day == d {
		s.Spent = s.Spent.Plus(amount)
	}
}

// Unhold takes back what was held on day d, unless that day is not counted any more. A
// counter that was saturated does not fall below zero.
func (s *Spend) Unhold(d Day, amount USD) {
	if s.Day == d {
		s.Held = max(s.Held-amount, 0)
	}
}

// Return takes back what was spent on day d, as Unhold does.
func (s *Spend) Return(d Day, amount USD) {
	if s.Day == d {
		s.Spent = max(s.Spent-amount, 0)
	}
}

// startDay sets the counter to zero if d is a later day.
func (s *Spend) startDay(d Day) {
	if d > s.Day {
		*s = Spend{Day: d}
	}
}

// Add books amount on day d. A new day starts from zero; an older day than the
// one counted is booked on the counted day, so that a counter never shrinks.
func (s *Spend) Add(d Day, amount USD) {
	s.startDay(d)
	s.Spent = s.Spent.Plus(amount)
}

// AgentRow is the live state of one agent.
type AgentRow struct {
	Status        Status
	Institutions  bool   // The suspension is the institution's: a key of one operator does not lift it.
	StatusReason  uint8  // reasonCode of a revocation, see StatusReason*.
	MinVersion    uint16 // Older credential versions than this are superseded at once.
	Children      uint16
	StatusAt      Time
	OverlapUntil  Time // Until then versions from MinVersion below the current one are still good.
	OwnershipFrom Time // 0: no ownership transfer flagged. R8 holds from this instant.
	OwnershipAt   Time // When it was flagged.
	AttestedAt    Time // 0: never attested.
	Spend         Spend
	Sequence      uint64 // Screening records of this agent so far.
	LastLeaf      uint64 // The newest of them; meaningful when Sequence > 0.
	CountedFrom   int64  // Unix second of its first transaction that R16 counted; 0: none.
	Activity      uint32 // Where its row of the last 24 hours stands; 0: it has none.
}

// ProfileUse remembers the profile leaf that the day's records refer to.
type ProfileUse struct {
	Day  Day    // UTC date of the leaf; 0: none yet.
	Revs uint64 // Basis.Revs and policy version, folded, that it shows.
	Leaf uint64
	Hash [32]byte // Its leaf hash.
}

// FleetRow is the live state of one fleet.
type FleetRow struct {
	Agents uint32
	Spend  Spend
}

// OperatorRow is the live state of one operator (one normalised legal name).
type OperatorRow struct {
	Suspended    bool
	Institutions bool // See AgentRow.
	Agents       uint32
	StatusAt     Time
}

// UserRow is the live state of one user credential.
type UserRow struct {
	Status       Status
	Institutions bool // See AgentRow.
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
	Second  int64 // Unix second of the newest bucket; 0 when nothing was counted.
	Seconds [60]uint16
	Minutes [60]uint32
	Hours   [24]uint32
}

package retrace

import (
	"math"

	"railguard/engine"
)

// counterDrift keeps how far each counter differs from history because payments ended
// differently under the tried terms. A record's evidence shows what its counters were; with
// the difference added it shows what they would have been. So everything in the evidence
// (approvals, holds that ended, delegates, fleets) need not be computed again, and only
// payments that ended differently are kept here.
//
// Counters belong to one UTC day: at midnight the differences are dropped.
type counterDrift struct {
	day     engine.Day
	agents  map[engine.AgentSlot]engine.USD
	fleets  map[engine.FleetSlot]engine.USD
	owners  map[engine.OperatorSlot]engine.USD
	changed map[uint64]*divergentPayment         // By the leaf of the payment's record.
	used    map[engine.ReferenceKey]referenceUse // References of payments that proceed only under the tried terms.
	full    bool                                 // There was no room for a divergent payment: later results are not exact.
}

// changesMax bounds the divergent payments that may still be approved, released or settled, and
// the references they used: 300 bytes each.
const changesMax = 131_072

// referenceUse says which payment used a reference, and when.
type referenceUse struct {
	leaf uint64
	at   engine.Time
}

// divergentPayment is a payment that counts only in history or only under the tried terms.
type divergentPayment struct {
	agents    [engine.DepthMax + 1]engine.AgentSlot
	levels    int
	fleet     engine.FleetSlot
	owner     engine.OperatorSlot
	was, now  dayAmount // The amounts that count: was is that in history, and now is that under the tried terms.
	amount    engine.USD
	proceeds  bool // The payment proceeds under the tried terms.
	settled   bool // The payment was made: an approval counts nothing more.
	undecided bool // A REVIEW in history that no officer has decided.
	reference engine.ReferenceKey
}

type dayAmount struct {
	day    engine.Day
	amount engine.USD
}

func newCounterDrift() *counterDrift {
	return &counterDrift{
		agents: map[engine.AgentSlot]engine.USD{}, fleets: map[engine.FleetSlot]engine.USD{}, owners: map[engine.OperatorSlot]engine.USD{},
		changed: map[uint64]*divergentPayment{}, used: map[engine.ReferenceKey]referenceUse{},
	}
}

// beginDay drops the differences of the day before if day is later.
func (b *counterDrift) beginDay(day engine.Day) {
	if day > b.day {
		b.day = day
		clear(b.agents)
		clear(b.fleets)
		clear(b.owners)
	}
}

// correctCounters sets the counters of a case, and whether its reference was used, to what they
// would have been under the tried terms.
func (b *counterDrift) correctCounters(c *Case, reference engine.ReferenceKey) {
	day := c.Moment.Now.Day()
	b.beginDay(day)
	for i := range c.Moment.LevelCount {
		shiftCounter(&c.Moment.Levels[i].Row.Spend, day, b.agents[c.Facts.Chain[i].Slot])
	}
	if c.Moment.Fleet != nil && c.Facts.Fleet != nil {
		shiftCounter(&c.Moment.Fleet.Spend, day, b.fleets[c.Facts.Fleet.Slot])
	}
	if c.Moment.Owner != nil {
		shiftCounter(c.Moment.Owner, day, b.owners[c.Facts.Chain[0].Operator])
	}
	if c.Record.Used {
		if by := b.changed[c.Record.UsedBy]; by != nil && !by.proceeds {
			c.Moment.Duplicate = false
		}
	}
	if by, used := b.used[reference]; used && by.at+engine.ReferenceKept > c.Moment.Now {
		c.Moment.Duplicate = true
	}
}

// shiftCounter moves a counter by a difference. Spent and held amounts count alike.
func shiftCounter(s *engine.Spend, day engine.Day, by engine.USD) {
	if by != 0 {
		*s = engine.Spend{Day: day, Spent: max(addBounded(s.Counted(day), by), 0)}
	}
}

// addBounded adds a difference, which may be negative, without wrapping.
func addBounded(amount, by engine.USD) engine.USD {
	switch {
	case by > 0 && amount > math.MaxInt64-by:
		return math.MaxInt64
	case by < 0 && amount < math.MinInt64-by:
		return math.MinInt64
	}
	return amount + by
}

// keepOutcome remembers the outcome of a case, if the payment counts only in history or only
// under the tried terms, or may do so after an officer decides.
func (b *counterDrift) keepOutcome(c *Case, d *engine.Decision, reference engine.ReferenceKey) {
	was, now := c.Recorded.Verdict == engine.Proceed, d.Verdict == engine.Proceed
	if was == now && (c.Recorded.Verdict != engine.Review || d.Verdict == engine.Review) {
		return
	}
	ch := &divergentPayment{proceeds: now, undecided: c.Recorded.Verdict == engine.Review, amount: c.Moment.Amount, levels: c.Moment.LevelCount}
	for i := range ch.levels {
		ch.agents[i] = c.Facts.Chain[i].Slot
	}
	if c.Facts.Fleet != nil {
		ch.fleet = c.Facts.Fleet.Slot
	}
	if c.Moment.Owner != nil {
		ch.owner = c.Facts.Chain[0].Operator
	}
	day := c.Moment.Now.Day()
	if was {
		ch.was = dayAmount{day, ch.amount}
		b.addDifference(ch, day, -ch.amount)
	}
	if now {
		ch.now = dayAmount{day, ch.amount}
		b.addDifference(ch, day, ch.amount)
		if reference != (engine.ReferenceKey{}) && len(b.used) < changesMax {
			ch.reference = reference
			b.used[reference] = referenceUse{c.Record.Leaf, c.Moment.Now}
		}
	}
	if len(b.changed) >= changesMax {
		b.dropSettled(day)
	}
	b.changed[c.Record.Leaf] = ch
}

// dropSettled drops the payments that are decided and older than the longest hold, because
// hardly anything can happen to them. If that makes too little room, it drops every payment and
// sets full: counters are not exact from then on.
func (b *counterDrift) dropSettled(today engine.Day) {
	const settledBy = engine.Day(engine.HoldMax/engine.DayLength) + 1
	for record, ch := range b.changed {
		if !ch.undecided && max(ch.was.day, ch.now.day)+settledBy < today {
			b.dropChange(record, ch)
		}
	}
	if len(b.changed) >= changesMax/2 { // Without this, the next call would look at all of them again.
		b.full = true
		clear(b.changed)
		clear(b.used)
	}
}

func (b *counterDrift) dropChange(record uint64, ch *divergentPayment) {
	delete(b.changed, record)
	if b.used[ch.reference].leaf == record {
		delete(b.used, ch.reference)
	}
}

// addDifference adds an amount to the differences of a payment's counters, if the payment
// counts on the current day.
func (b *counterDrift) addDifference(ch *divergentPayment, day engine.Day, amount engine.USD) {
	if day != b.day || amount == 0 {
		return
	}
	for _, slot := range ch.agents[:ch.levels] {
		b.agents[slot] = addBounded(b.agents[slot], amount)
	}
	if ch.fleet != 0 {
		b.fleets[ch.fleet] = addBounded(b.fleets[ch.fleet], amount)
	}
	if ch.owner != 0 {
		b.owners[ch.owner] = addBounded(b.owners[ch.owner], amount)
	}
}

// followApproval follows an officer's approval: history counts the payment from then on.
func (b *counterDrift) followApproval(record uint64, at engine.Time) {
	b.beginDay(at.Day())
	if ch := b.changed[record]; ch != nil && !ch.settled {
		ch.was, ch.undecided = dayAmount{at.Day(), ch.amount}, false
		b.addDifference(ch, at.Day(), -ch.amount)
	}
}

// followRefusal follows an officer's refusal: the payment will not be made in history.
func (b *counterDrift) followRefusal(record uint64) {
	if ch := b.changed[record]; ch != nil {
		if ch.undecided = false; !ch.proceeds {
			b.dropChange(record, ch)
		}
	}
}

// followRelease follows a payment that ended without being made.
func (b *counterDrift) followRelease(record uint64, at engine.Time) {
	b.beginDay(at.Day())
	ch := b.changed[record]
	if ch == nil {
		return
	}
	b.addDifference(ch, ch.was.day, ch.was.amount)
	b.addDifference(ch, ch.now.day, -ch.now.amount)
	ch.was.amount, ch.now.amount = 0, 0
	if b.used[ch.reference].leaf == record {
		delete(b.used, ch.reference)
	}
}

// followSettlement follows a payment that was made. amount was paid; before is what the log had
// counted until then.
func (b *counterDrift) followSettlement(record uint64, at engine.Time, amount, before engine.USD) {
	b.beginDay(at.Day())
	ch := b.changed[record]
	if ch == nil {
		return
	}
	ch.settled = true
	paid := min(amount, ch.was.amount)
	b.addDifference(ch, ch.was.day, ch.was.amount-paid)
	ch.was.amount = paid
	more := -max(amount-before, 0)
	if ch.proceeds {
		more += max(amount-ch.now.amount, 0)
		paid = min(amount, ch.now.amount)
		b.addDifference(ch, ch.now.day, paid-ch.now.amount)
		ch.now.amount = paid
	}
	b.addDifference(ch, at.Day(), more)
}

// bands count the calls of R25 for a policy whose band or window differs from the records'.
// They count from the first call of the walk on.
type bands struct {
	rows map[bandKey]*engine.BandRow
	near map[nearKey]*engine.NearRow
	full bool // Pairs were dropped while they still counted.
}

// nearKey is a root agent or an operator.
type nearKey struct {
	agent    engine.AgentSlot
	operator engine.OperatorSlot
}

type bandKey struct {
	root  engine.AgentSlot
	party engine.PartyKey
}

// bandsMax bounds the pairs that are counted: 150 bytes each.
const bandsMax = 131_072

// countCall counts one call of a pair and returns how many calls are in the window.
func (b *bands) countCall(key bandKey, now, window engine.Time) uint8 {
	row := b.rows[key]
	if row == nil {
		if len(b.rows) >= bandsMax {
			b.dropExpired(now, window)
		}
		row = new(engine.BandRow)
		b.rows[key] = row
	}
	return row.Add(now, window)
}

// dropExpired drops the pairs whose calls have all left the window. If that makes too little
// room, it drops every pair and sets full: counts are not exact from then on.
func (b *bands) dropExpired(now, window engine.Time) {
	for key, row := range b.rows {
		if row.Newest()+window <= now {
			delete(b.rows, key)
		}
	}
	if len(b.rows) >= bandsMax/2 { // Without this, the next call would look at all of them again.
		b.full = true
		clear(b.rows)
	}
}

// countCase counts a call if R25 counts it, and sets the case's count for the policy. If policy
// and record have the same band and window, it keeps the record's own count.
func (b *bands) countCase(c *Case, policy *engine.Policy) {
	recorded := c.Moment.Structuring
	c.Moment.Structuring = 0
	if party := c.Facts.Request.PartyKey(); party != (engine.PartyKey{}) && policy.InBand(c.Moment.Amount) && c.Facts.ChainSize > 0 {
		root := c.Facts.Chain[c.Facts.ChainSize-1].Slot
		c.Moment.Structuring = b.countCall(bandKey{root, party}, c.Moment.Now, policy.StructuringWindow)
	}
	if sameBand(c.Policy, policy) {
		c.Moment.Structuring = recorded
	}
	b.countNear(c, policy)
}

// countNear counts a call for its root agent and operator, unless the record's own counts hold
// for the policy.
func (b *bands) countNear(c *Case, policy *engine.Policy) {
	if c.Facts.ChainSize == 0 || sameNear(c.Policy, policy) {
		return
	}
	c.Moment.AgentNear, c.Moment.OperatorNear = engine.Near{}, engine.Near{}
	if !policy.NearLimit(c.Moment.Amount) {
		return
	}
	root := c.Facts.Chain[c.Facts.ChainSize-1]
	c.Moment.AgentNear = b.nearRow(nearKey{agent: root.Slot}).Add(c.Moment.Now, policy, c.Moment.Amount)
	c.Moment.OperatorNear = b.nearRow(nearKey{operator: root.Operator}).Add(c.Moment.Now, policy, c.Moment.Amount)
}

func (b *bands) nearRow(key nearKey) *engine.NearRow {
	row := b.near[key]
	if row == nil {
		if len(b.near) >= bandsMax {
			b.full = true
			clear(b.near)
		}
		row = new(engine.NearRow)
		b.near[key] = row
	}
	return row
}

// sameNear reports whether two policies count the same amounts as near limits.
func sameNear(a, b *engine.Policy) bool {
	from := func(p *engine.Policy) engine.USD {
		if p.FourEyes == nil {
			return engine.NoLimit
		}
		return p.FourEyes.MinAmount
	}
	return a.StructuringLow == b.StructuringLow && a.StructuringHigh == b.StructuringHigh && (a.StructuringCount == 0) == (b.StructuringCount == 0) &&
		a.AttestationAbove == b.AttestationAbove && a.TypeCaps == b.TypeCaps && from(a) == from(b)
}

func sameBand(a, b *engine.Policy) bool {
	return a.StructuringLow == b.StructuringLow && a.StructuringHigh == b.StructuringHigh && a.StructuringWindow == b.StructuringWindow
}

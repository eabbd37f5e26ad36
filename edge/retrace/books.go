package retrace

import (
	"math"

	"railguard/engine"
)

// books tell how far counters are from what the records show, because payments went
// another way: what counts today under the terms that are tried, less what counted in
// history. A record's evidence is what its counters were; with the difference added it
// is what they would have been. So everything that is in the evidence (approvals, holds
// that ended, delegates, fleets) is followed without being done again, and only what
// became of payments that went another way is kept here.
//
// Counters are of one UTC day: at midnight the differences go.
type books struct {
	day     engine.Day
	agents  map[engine.AgentSlot]engine.USD
	fleets  map[engine.FleetSlot]engine.USD
	changed map[uint64]*change          // By the leaf of the record.
	used    map[engine.ReferenceKey]use // Of payments that proceed in this world alone.
	full    bool                        // A payment that went another way found no room: what follows is not exact.
}

// changesMax bounds the payments that went another way and may still be approved,
// released or settled, and the references they used: 300 bytes each.
const changesMax = 131_072

// use is who used a payment reference, and when.
type use struct {
	leaf uint64
	at   engine.Time
}

// change is a payment that counts in one of the two worlds alone.
type change struct {
	agents    [engine.DepthMax + 1]engine.AgentSlot
	levels    int
	fleet     engine.FleetSlot
	was, now  counted // In history, and under the terms that are tried.
	amount    engine.USD
	proceeds  bool // Under the terms that are tried.
	settled   bool // It was made: an approval counts nothing more.
	undecided bool // A REVIEW in history that no officer has decided.
	reference engine.ReferenceKey
}

type counted struct {
	day    engine.Day
	amount engine.USD
}

func newBooks() *books {
	return &books{
		agents: map[engine.AgentSlot]engine.USD{}, fleets: map[engine.FleetSlot]engine.USD{},
		changed: map[uint64]*change{}, used: map[engine.ReferenceKey]use{},
	}
}

// turn begins a day.
func (b *books) turn(day engine.Day) {
	if day > b.day {
		b.day = day
		clear(b.agents)
		clear(b.fleets)
	}
}

// correct brings the counters and the reference of a case to what they would have been.
func (b *books) correct(c *Case, reference engine.ReferenceKey) {
	day := c.Moment.Now.Day()
	b.turn(day)
	for i := range c.Moment.LevelCount {
		shift(&c.rows[i].Spend, day, b.agents[c.Facts.Chain[i].Slot])
	}
	if c.Moment.Fleet != nil && c.Facts.Fleet != nil {
		shift(&c.fleet.Spend, day, b.fleets[c.Facts.Fleet.Slot])
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

// shift moves a counter: what is spent and what is held weigh alike.
func shift(s *engine.Spend, day engine.Day, by engine.USD) {
	if by != 0 {
		*s = engine.Spend{Day: day, Spent: max(moved(s.Counted(day), by), 0)}
	}
}

// moved adds a difference, which may be negative, without wrapping.
func moved(amount, by engine.USD) engine.USD {
	switch {
	case by > 0 && amount > math.MaxInt64-by:
		return math.MaxInt64
	case by < 0 && amount < math.MinInt64-by:
		return math.MinInt64
	}
	return amount + by
}

// book keeps what became of a case. Only what counts in one world alone, or may come to
// when an officer decides, is remembered.
func (b *books) book(c *Case, d *engine.Decision, reference engine.ReferenceKey) {
	was, now := c.Recorded.Verdict == engine.Proceed, d.Verdict == engine.Proceed
	if was == now && (c.Recorded.Verdict != engine.Review || d.Verdict == engine.Review) {
		return
	}
	ch := &change{proceeds: now, undecided: c.Recorded.Verdict == engine.Review, amount: c.Moment.Amount, levels: c.Moment.LevelCount}
	for i := range ch.levels {
		ch.agents[i] = c.Facts.Chain[i].Slot
	}
	if c.Facts.Fleet != nil {
		ch.fleet = c.Facts.Fleet.Slot
	}
	day := c.Moment.Now.Day()
	if was {
		ch.was = counted{day, ch.amount}
		b.add(ch, day, -ch.amount)
	}
	if now {
		ch.now = counted{day, ch.amount}
		b.add(ch, day, ch.amount)
		if reference != (engine.ReferenceKey{}) && len(b.used) < changesMax {
			ch.reference = reference
			b.used[reference] = use{c.Record.Leaf, c.Moment.Now}
		}
	}
	if len(b.changed) >= changesMax {
		b.forget(day)
	}
	b.changed[c.Record.Leaf] = ch
}

// forget drops the payments that hardly anything can come of any more: decided, and
// older than the longest hold. Where that makes no room it drops all, and says so.
func (b *books) forget(today engine.Day) {
	const settledBy = engine.Day(engine.HoldMost/engine.DayLength) + 1
	for record, ch := range b.changed {
		if !ch.undecided && max(ch.was.day, ch.now.day)+settledBy < today {
			b.drop(record, ch)
		}
	}
	if len(b.changed) >= changesMax/2 { // Else the next call would look at all of them again.
		b.full = true
		clear(b.changed)
		clear(b.used)
	}
}

func (b *books) drop(record uint64, ch *change) {
	delete(b.changed, record)
	if b.used[ch.reference].leaf == record {
		delete(b.used, ch.reference)
	}
}

// add moves the differences of a payment's counters, where they are of today.
func (b *books) add(ch *change, day engine.Day, amount engine.USD) {
	if day != b.day || amount == 0 {
		return
	}
	for _, slot := range ch.agents[:ch.levels] {
		b.agents[slot] = moved(b.agents[slot], amount)
	}
	if ch.fleet != 0 {
		b.fleets[ch.fleet] = moved(b.fleets[ch.fleet], amount)
	}
}

// approved follows an officer's approval: history counts the payment from then on.
func (b *books) approved(record uint64, at engine.Time) {
	b.turn(at.Day())
	if ch := b.changed[record]; ch != nil && !ch.settled {
		ch.was, ch.undecided = counted{at.Day(), ch.amount}, false
		b.add(ch, at.Day(), -ch.amount)
	}
}

// refused follows an officer's refusal: nothing will come of the payment in history.
func (b *books) refused(record uint64) {
	if ch := b.changed[record]; ch != nil {
		if ch.undecided = false; !ch.proceeds {
			b.drop(record, ch)
		}
	}
}

// released follows a payment that ended without being made.
func (b *books) released(record uint64, at engine.Time) {
	b.turn(at.Day())
	ch := b.changed[record]
	if ch == nil {
		return
	}
	b.add(ch, ch.was.day, ch.was.amount)
	b.add(ch, ch.now.day, -ch.now.amount)
	ch.was.amount, ch.now.amount = 0, 0
	if b.used[ch.reference].leaf == record {
		delete(b.used, ch.reference)
	}
}

// settled follows a payment that was made, of amount where before was counted.
func (b *books) settled(record uint64, at engine.Time, amount, before engine.USD) {
	b.turn(at.Day())
	ch := b.changed[record]
	if ch == nil {
		return
	}
	ch.settled = true
	paid := min(amount, ch.was.amount)
	b.add(ch, ch.was.day, ch.was.amount-paid)
	ch.was.amount = paid
	more := -max(amount-before, 0)
	if ch.proceeds {
		more += max(amount-ch.now.amount, 0)
		paid = min(amount, ch.now.amount)
		b.add(ch, ch.now.day, paid-ch.now.amount)
		ch.now.amount = paid
	}
	b.add(ch, at.Day(), more)
}

// bands count what R25 counts, under a policy with another band or window than the one
// the records were counted with: from the first call that is walked over.
type bands struct {
	rows map[bandKey]*engine.BandRow
	full bool // Pairs were forgotten while they counted.
}

type bandKey struct {
	root  engine.AgentSlot
	party engine.PartyKey
}

// bandsMax bounds the pairs that are counted: 150 bytes each.
const bandsMax = 131_072

// count counts one call of a pair and returns how many stand in the window.
func (b *bands) count(key bandKey, now, window engine.Time) uint8 {
	row := b.rows[key]
	if row == nil {
		if len(b.rows) >= bandsMax {
			b.forget(now, window)
		}
		row = new(engine.BandRow)
		b.rows[key] = row
	}
	return row.Add(now, window)
}

// forget drops the pairs that do not count any more; where all do, all of them, and says so.
func (b *bands) forget(now, window engine.Time) {
	for key, row := range b.rows {
		if row.Newest()+window <= now {
			delete(b.rows, key)
		}
	}
	if len(b.rows) >= bandsMax/2 { // Else the next call would look at all of them again.
		b.full = true
		clear(b.rows)
	}
}

// see counts a call, if it is one to be counted, and tells the case the count under the
// policy: the record's own where that was counted in the same band and window.
func (b *bands) see(c *Case, policy *engine.Policy) {
	recorded := c.Moment.Structuring
	c.Moment.Structuring = 0
	if party := c.request.Party(); party != (engine.PartyKey{}) && policy.InBand(c.Moment.Amount) && c.Facts.ChainSize > 0 {
		root := c.Facts.Chain[c.Facts.ChainSize-1].Slot
		c.Moment.Structuring = b.count(bandKey{root, party}, c.Moment.Now, policy.StructuringWindow)
	}
	if sameBand(c.Policy, policy) {
		c.Moment.Structuring = recorded
	}
}

func sameBand(a, b *engine.Policy) bool {
	return a.StructuringLow == b.StructuringLow && a.StructuringHigh == b.StructuringHigh && a.StructuringWindow == b.StructuringWindow
}

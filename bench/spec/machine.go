package spec

// Rule is one rule of the model, which can be switched off.
type Rule string

// The rules.
const (
	AllRules     Rule = ""
	RuleFence    Rule = "fence"    // An entry does nothing if raft gave it another term than it was sealed in.
	RuleFrame    Rule = "frame"    // A leader refuses a frame that was sent to the leader of an older term.
	RuleArrivals Rule = "arrivals" // A frame that was given up is refused when it comes late.
	RuleQuorum   Rule = "quorum"   // A call is answered when its entry is committed, and not before.
	RuleQueued   Rule = "queued"   // "Nothing happened" is said only of a record that no attempt is open for.
	RuleKeys     Rule = "keys"     // A second record with the same key gets the first one's answer.
	RuleDebit    Rule = "debit"    // The limit is checked where the amount is counted, in one step.
	RuleHeld     Rule = "held"     // A held amount counts.
	RuleOnce     Rule = "once"     // A payment ends once; what was returned may be settled late, once.
	RuleLeap     Rule = "leap"     // A term begins at most one leap beyond log time.
	RuleForward  Rule = "forward"  // A term does not begin before log time.
	RuleConsume  Rule = "consume"  // A payment is redeemed once.
	RuleStays    Rule = "stays"    // What was redeemed does not return by itself.
	RuleCounted  Rule = "counted"  // A payment that is judged again counts already.
	RuleWithdraw Rule = "withdraw" // What is a BLOCK when it is judged again, and cannot have been made, is given back in the same step. What had leave goes on counting: the model has the first kind alone.
)

// Rules are all rules that can be switched off.
var Rules = []Rule{
	RuleFence, RuleFrame, RuleArrivals, RuleQuorum, RuleQueued, RuleKeys, RuleDebit, RuleHeld, RuleOnce, RuleLeap, RuleForward,
	RuleConsume, RuleStays, RuleCounted, RuleWithdraw,
}

// Kind is what a record asks for, or what a leaf says.
type Kind uint8

// The kinds.
const (
	Tick Kind = iota
	Pay
	Settle
	Release
	Confirm   // A payment is judged again.
	Redeem    // A payment is judged again, and its leave is taken.
	Expire    // Only a leaf: the time of a hold is over, and its amount returns.
	Unresolve // Only a leaf: the time of a hold is over, and its amount goes on counting.
	Approve   // Only a leaf of a trace: an officer lets a payment go through, whatever the limit.
	Other     // Only a leaf of a trace, about which the model says nothing.
)

// Verdict is the answer to a payment.
type Verdict uint8

// The verdicts.
const (
	NoVerdict Verdict = iota
	Proceed
	Block
	Undecided // Of a payment only in a trace: REVIEW or UNKNOWN.
)

// Record is what an entry of the log asks for.
type Record struct {
	Kind    Kind
	Key     string   // "": no key.
	Purses  []string // For a payment: whose limits it counts against.
	Amount  int64
	Hold    int64   // How long a payment is held; 0: it is not.
	Payment int     // For all but a payment: the leaf of the payment.
	Listed  bool    // Whom a payment goes to is on a list by now.
	Judged  Verdict // The verdict of the edge, which counts only if RuleDebit is off.
}

// Code says what a record did.
type Code uint8

// The codes.
const (
	Applied Code = iota + 1
	Replayed
	Unchanged
	Refused
	Fenced
)

// Result is what a record did.
type Result struct {
	Code    Code
	Leaf    int
	Verdict Verdict
}

// Leaf is what the machine wrote down.
type Leaf struct {
	Kind    Kind
	At      int64
	Key     string
	Verdict Verdict
	Amount  int64
	Payment int // The leaf of the payment that it is about.
	Late    bool
}

// Machine is the state that follows from the log.
type Machine struct {
	Off    Rule
	Limits map[string]int64 // By purse; a purse that is not in the map has no limit.
	Day    int64            // How long a day is.

	now      int64
	counted  map[pot]int64
	payments map[int]*payment
	order    []int // Payments in the order of their leaves.
	keys     map[string]Result
	leaves   []Leaf
}

// pot is a purse on a day.
type pot struct {
	purse string
	day   int64
}

// payment is a payment that went through.
type payment struct {
	purses []string
	amount int64
	day    int64
	until  int64 // When its hold is over; 0: it has none.
	ended  Kind  // Settle, Release or Expire; Tick: it has not ended.
	late   bool  // It was settled after it had been returned.
	over   bool  // It is unresolved.
	taken  bool  // It was redeemed.
}

// NewMachine returns a machine before its first entry.
func NewMachine(off Rule, day int64, limits map[string]int64) *Machine {
	return &Machine{
		Off: off, Day: day, Limits: limits,
		counted: map[pot]int64{}, payments: map[int]*payment{}, keys: map[string]Result{},
	}
}

// hasRoom tells whether a payment fits under every limit of its purses today.
func (m *Machine) hasRoom(purses []string, amount int64) bool {
	for _, purse := range purses {
		if limit, limited := m.Limits[purse]; limited && m.counted[pot{purse, m.now / m.Day}]+amount > limit {
			return false
		}
	}
	return true
}

// count adds an amount to purses on a day.
func (m *Machine) count(purses []string, day, amount int64) {
	for _, purse := range purses {
		m.counted[pot{purse, day}] += amount
	}
}

// Apply takes a record of an entry that is not fenced.
func (m *Machine) Apply(r Record) Result {
	if first, known := m.keys[r.Key]; known && r.Key != "" && m.Off != RuleKeys {
		first.Code = Replayed
		return first
	}
	result := Result{}
	switch r.Kind {
	case Pay:
		result = m.pay(r)
	case Settle, Release:
		m.expireHolds()
		result = m.end(r)
	case Confirm, Redeem:
		m.expireHolds()
		result = m.leave(r)
	default:
		m.expireHolds()
	}
	if r.Key != "" && result.Code == Applied {
		m.keys[r.Key] = result
	}
	return result
}

// write adds a leaf and returns its index.
func (m *Machine) write(l Leaf) int {
	l.At = m.now
	m.leaves = append(m.leaves, l)
	return len(m.leaves) - 1
}

func (m *Machine) pay(r Record) Result {
	verdict := Block
	if m.hasRoom(r.Purses, r.Amount) {
		verdict = Proceed
	}
	if m.Off == RuleDebit {
		verdict = r.Judged
	}
	at := m.write(Leaf{Kind: Pay, Key: r.Key, Verdict: verdict, Amount: r.Amount})
	if verdict == Proceed {
		m.book(at, r)
	}
	return Result{Code: Applied, Leaf: at, Verdict: verdict}
}

// book counts a payment that goes through.
func (m *Machine) book(at int, r Record) {
	p := &payment{purses: r.Purses, amount: r.Amount, day: m.now / m.Day}
	if r.Hold != 0 {
		p.until = m.now + r.Hold
	}
	m.payments[at], m.order = p, append(m.order, at)
	if r.Hold == 0 || m.Off != RuleHeld {
		m.count(p.purses, p.day, p.amount)
	}
}

// end settles or releases a payment.
func (m *Machine) end(r Record) Result {
	p := m.payments[r.Payment]
	if p == nil {
		return Result{Code: Refused}
	}
	late := p.ended == Release || p.ended == Expire
	if m.Off != RuleOnce && (p.ended == Settle || p.late || late && r.Kind == Release) {
		return Result{Code: Unchanged}
	}
	at := m.write(Leaf{Kind: r.Kind, Key: r.Key, Amount: r.Amount, Payment: r.Payment, Late: late})
	m.finish(p, r.Kind, r.Amount, late)
	return Result{Code: Applied, Leaf: at}
}

// finish counts what a payment came to. What it came to beyond what was counted counts today.
func (m *Machine) finish(p *payment, how Kind, amount int64, late bool) {
	if how != Settle {
		amount = 0
	}
	if late {
		p.late = true
		m.count(p.purses, m.now/m.Day, amount)
		return
	}
	p.ended = how
	m.count(p.purses, p.day, min(amount, p.amount)-p.amount)
	m.count(p.purses, m.now/m.Day, max(amount-p.amount, 0))
}

// leave confirms or redeems a payment while it counts, its time is not over, and nobody has redeemed it.
func (m *Machine) leave(r Record) Result {
	p := m.payments[r.Payment]
	if p == nil || p.ended != Tick || p.over || p.taken && m.Off != RuleConsume {
		return Result{Code: Refused}
	}
	if m.waits(p); m.now >= p.until {
		return Result{Code: Refused}
	}
	verdict := Proceed
	if r.Kind == Confirm && m.isOver(p) {
		verdict = Undecided
	}
	if r.Listed {
		verdict = Block
	}
	at := m.write(Leaf{Kind: r.Kind, Key: r.Key, Verdict: verdict, Payment: r.Payment})
	p.taken = p.taken || r.Kind == Redeem && verdict == Proceed
	if verdict == Block && m.Off != RuleWithdraw {
		m.finish(p, Release, 0, false)
	}
	return Result{Code: Applied, Leaf: at, Verdict: verdict}
}

// waits gives a payment without a hold one, until the end of the next day.
func (m *Machine) waits(p *payment) {
	if p.until == 0 {
		p.until = (p.day + 2) * m.Day
	}
}

// isOver tells whether what counts today, the payment with it, is above a limit.
func (m *Machine) isOver(p *payment) bool {
	if p.day != m.now/m.Day {
		return false
	}
	again := int64(0)
	if m.Off == RuleCounted {
		again = p.amount
	}
	return !m.hasRoom(p.purses, again)
}

// expireHolds returns the amounts of all holds whose time is over, but for those that were redeemed.
func (m *Machine) expireHolds() {
	for _, at := range m.order {
		p := m.payments[at]
		if p.until == 0 || p.ended != Tick || p.over || m.now < p.until {
			continue
		}
		if p.taken && m.Off != RuleStays {
			m.write(Leaf{Kind: Unresolve, Payment: at})
			p.over = true
			continue
		}
		m.write(Leaf{Kind: Expire, Payment: at})
		m.finish(p, Expire, 0, false)
	}
}

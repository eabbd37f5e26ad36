package parties

import (
	"slices"
	"sort"

	"railguard/engine"
	"railguard/fsm"
	"railguard/ofac"
)

// Bounds of the index. With all of them reached it takes 130 MB (BenchmarkFullIndex).
const (
	paymentsMax = 1 << 19 // Payments, 56 bytes each.
	payeesMax   = 1 << 16 // Counterparties; their names are compiled as a list.
	linksMax    = 16      // Wallets and identifiers remembered of one counterparty.
	sharersMax  = 64      // Counterparties remembered of one wallet or identifier.
	fatesMax    = 1 << 16 // Leaves about records that were not met yet.
)

// Said is an officer's answer to a REVIEW.
type Said uint8

// The answers.
const (
	Undecided Said = iota
	Approved
	Stopped // Rejected, or escalated to a suspicious activity report.
)

// State says what became of the money of a payment.
type State uint8

// The states.
const (
	WentAhead State = iota // It was let through or approved, or was made whatever was said.
	Waits                  // An officer has to decide.
	Blocked
	Rejected // An officer stopped it.
	Returned // It was let through, and released or not made in time.
	States
)

// String is the word of the API.
func (s State) String() string {
	return [...]string{"wentAhead", "waits", "blocked", "rejected", "returned"}[s]
}

// Payment is one recorded call.
type Payment struct {
	Leaf    uint64
	At      engine.Time
	Amount  engine.USD
	Party   uint32 // From 1.
	Payee   uint32 // From 1; 0: it names nobody.
	Agent   engine.AgentSlot
	Rules   uint32 // All that fired.
	Score   uint16 // Of the hit, 1e-4; 0: there was none.
	Rule    engine.RuleID
	Verdict engine.Verdict
	Said    Said
	Ended   fsm.HoldState
}

// State returns what became of the money, as far as the index has read.
func (p *Payment) State() State {
	switch p.Ended {
	case fsm.HoldSettled, fsm.HoldRedeemed, fsm.HoldUnresolved:
		return WentAhead
	case fsm.HoldReleased, fsm.HoldExpired:
		return Returned
	}
	switch {
	case p.Verdict == engine.Proceed, p.Verdict == engine.Review && p.Said == Approved:
		return WentAhead
	case p.Verdict == engine.Review && p.Said == Undecided:
		return Waits
	case p.Verdict == engine.Review:
		return Rejected
	}
	return Blocked
}

// Link is a wallet or an identifier by which a counterparty was named.
type Link struct {
	Key    uint64 // Of engine's filters.
	Text   string // A wallet in its canonical form; an identifier as type:value.
	Wallet bool
}

// payee is a counterparty: everybody whose name has the same form.
type payee struct {
	name    string // As the newest record writes it.
	form    string
	links   []Link
	person  bool
	unnamed bool // It is known by a wallet or an identifier alone.
}

func (p *payee) addLink(link Link) {
	if len(p.links) < linksMax && !slices.ContainsFunc(p.links, func(l Link) bool { return l.Key == link.Key }) {
		p.links = append(p.links, link)
	}
}

// tables are what an index holds. Payments lie in two runs, so that the index can grow at both ends.
type tables struct {
	newer []Payment // Ascending: read as they came.
	older []Payment // Descending: read back from where the index began.

	payees  []payee
	byForm  map[string]uint32
	sharers map[uint64][]uint32 // Payees by the key of a link.
	parties []Party
	byID    map[ID]uint32
	fates   map[uint64]fate // Of records before those that were read back.

	contexts map[uint64]ofac.Context // What payments that hit a listed party say of their payee, by leaf.
}

func newTables() tables {
	return tables{byForm: map[string]uint32{}, sharers: map[uint64][]uint32{}, byID: map[ID]uint32{}, fates: map[uint64]fate{}, contexts: map[uint64]ofac.Context{}}
}

// size is the number of payments.
func (t *tables) size() int { return len(t.newer) + len(t.older) }

// at returns the payment with a number, newest first.
func (t *tables) at(i int) *Payment {
	if i < len(t.newer) {
		return &t.newer[len(t.newer)-1-i]
	}
	return &t.older[i-len(t.newer)]
}

// behind returns the number of the first payment of a leaf below, newest first.
func (t *tables) behind(leaf uint64) int {
	return sort.Search(t.size(), func(i int) bool { return t.at(i).Leaf < leaf })
}

// find returns the payment that a leaf records; nil: the index does not have it.
func (t *tables) find(leaf uint64) *Payment {
	i := t.behind(leaf + 1)
	if i == t.size() || t.at(i).Leaf != leaf {
		return nil
	}
	return t.at(i)
}

// add puts a payment in, before all others if it was read back. newest tells whether its words are
// newer than those that the tables have.
func (t *tables) add(x *told, readBack bool) {
	payment := x.payment
	if x.payee.form != "" {
		payment.Payee = t.addPayee(&x.payee, !readBack)
	}
	party := x.party
	if party.Side == SidePayee {
		party.payee = payment.Payee
	}
	number, known := t.byID[party.ID]
	switch {
	case !known:
		t.parties = append(t.parties, party)
		number = uint32(len(t.parties))
		t.byID[party.ID] = number
	case !readBack:
		t.parties[number-1] = party
	}
	payment.Party = number
	if x.context != (ofac.Context{}) {
		t.contexts[payment.Leaf] = x.context
	}
	if !readBack {
		t.newer = append(t.newer, payment)
		return
	}
	if f, is := t.fates[payment.Leaf]; is {
		payment.Said, payment.Ended = f.said, f.ended
		delete(t.fates, payment.Leaf)
	}
	t.older = append(t.older, payment)
}

func (t *tables) addPayee(p *payee, isNewest bool) uint32 {
	number, known := t.byForm[p.form]
	if !known {
		t.payees = append(t.payees, payee{name: p.name, form: p.form, person: p.person, unnamed: p.unnamed})
		number = uint32(len(t.payees))
		t.byForm[p.form] = number
	}
	own := &t.payees[number-1]
	if known && isNewest {
		own.name = p.name
	}
	for _, link := range p.links {
		before := len(own.links)
		if own.addLink(link); len(own.links) == before {
			continue
		}
		if sharers := t.sharers[link.Key]; len(sharers) < sharersMax {
			t.sharers[link.Key] = append(sharers, number)
		}
	}
	return number
}

// note takes what a later leaf says of a record. Read back, the first that is met is the newest.
func (t *tables) note(record uint64, f fate, readBack bool) {
	if payment := t.find(record); payment != nil {
		if f.said != Undecided && (!readBack || payment.Said == Undecided) {
			payment.Said = f.said
		}
		if f.ended != fsm.HoldOpen && (!readBack || payment.Ended == fsm.HoldOpen) {
			payment.Ended = f.ended
		}
		return
	}
	if known, is := t.fates[record]; is || len(t.fates) < fatesMax {
		if !readBack || known.said == Undecided {
			known.said = max(f.said, known.said)
		}
		if f.ended != fsm.HoldOpen && (!readBack || known.ended == fsm.HoldOpen) {
			known.ended = f.ended
		}
		t.fates[record] = known
	}
}

// dropOldest makes new tables without the payments from a number on, and without whoever is named by
// none of the others.
func (t *tables) dropOldest(from int) tables {
	next := newTables()
	for i := from - 1; i >= 0; i-- {
		payment := t.at(i)
		x := told{payment: *payment, party: t.parties[payment.Party-1], context: t.contexts[payment.Leaf]}
		if payment.Payee != 0 {
			x.payee = t.payees[payment.Payee-1]
		}
		next.add(&x, false)
	}
	return next
}

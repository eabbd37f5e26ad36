package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// desk is the part that knows what officers do: reviews, dispositions, what waits for a second
// person, alerts and suspicious activity reports.
type desk struct {
	*core
	*deskTables
	registry *registry
	payments paymentLedger
	calendar *calendar

	// Rebuilt by Restore, never iterated.
	disposedBy map[uint64]uint64   // Position in dispositions, by the record's leaf.
	proposalAt map[[16]byte]uint64 // Positions of open proposals, by topic.
	alertAt    map[alertKey]uint64
	sarAt      map[uint64]uint64  // Position of the newest report of a record.
	caseAt     map[caseKey]uint64 // Position of the newest case of a pair.
	workAt     map[uint64]uint64
	draftAt    map[draftKey]uint64
}

// paymentLedger is the part of the ledger that the desk uses.
type paymentLedger interface {
	soundHold(seconds uint32) bool
	soundUsed(found wire.Used) bool
	goesStale(b *wire.Disposition, r *wire.Result) bool
	bookApproval(b *wire.Disposition, until engine.Time) (over, notHeld bool, taken []uint64)
	endedBy(record uint64) uint64
}

func newDesk(c *core, t *deskTables, registry *registry, payments paymentLedger, calendar *calendar) *desk {
	return &desk{
		core: c, deskTables: t, registry: registry, payments: payments, calendar: calendar,
		disposedBy: map[uint64]uint64{}, proposalAt: map[[16]byte]uint64{}, alertAt: map[alertKey]uint64{}, sarAt: map[uint64]uint64{}, caseAt: map[caseKey]uint64{},
		workAt: map[uint64]uint64{}, draftAt: map[draftKey]uint64{},
	}
}

// deskTables holds the tables of officers' work.
type deskTables struct {
	reviews      Table[ReviewRow, reviewPage] // By leaf, ascending.
	open         Table[uint64, openPage]      // One bit for each row of reviews, 64 to a word, set while it is open; derived from reviews.
	dispositions Table[dispositionRow, dispositionPage]
	proposals    Table[proposalRow, proposalPage]
	alerts       Table[AlertRow, alertPage]
	sars         Table[SARRow, sarPage]
	cases        Table[SanctionsRow, sanctionsPage]
	works        Table[workRow, workPage]
	drafts       Table[draftRow, draftPage]
	secondLooks  Table[SecondLookRow, secondLookPage]

	openReviews int         // Derived from reviews.
	alertsOpen  AlertCounts // Derived from alerts.
	actsKept    int         // Open proposals that keep their record; derived from proposals.
	overdueTold uint64      // Every review before this position that became overdue has been reported.
	looksOver   uint64      // Every second look before this position that lapsed has been told.
	sarsTold    uint64      // Every report before this position that was due soon has been reported.
}

var deskDeclarations = []declaration{
	&tableOf[ReviewRow, reviewPage]{
		section: section{
			number: sectionReviews, most: func(*engine.Limits) int { return 1 << 31 },
		},
		of: func(t *tables) *Table[ReviewRow, reviewPage] { return &t.reviews }, code: codeReviewRow, queue: true,
		mark:   func(t *tables, meta *snapshotMeta) (held, noted *uint64) { return &t.overdueTold, &meta.Overdue },
		fits:   func(m *Machine) fitting[ReviewRow] { return m.desk.fitsReview },
		over:   func(m *Machine, row *ReviewRow) bool { return row.Leaf < m.oldest },
		forget: func(m *Machine) { m.desk.forgetReview() },
	},
	&tableOf[dispositionRow, dispositionPage]{
		section: section{
			number: sectionDispositions, most: func(*engine.Limits) int { return 1 << 31 }, shownAs: "dispositions",
			filled: func(t *tables, l *engine.Limits) (int, int) { return t.dispositions.Len(), l.ClosedReviews },
		},
		of: func(t *tables) *Table[dispositionRow, dispositionPage] { return &t.dispositions }, code: codeDispositionRow, queue: true,
		fits: func(m *Machine) fitting[dispositionRow] { return m.desk.fitsDisposition },
		// It is kept as long as its own leaf, hence longer than the leaf that it decides.
		over:   func(m *Machine, row *dispositionRow) bool { return row.Later < m.oldest },
		forget: func(m *Machine) { m.desk.forgetDisposition() },
	},
	&tableOf[proposalRow, proposalPage]{
		section: section{number: sectionProposals, most: func(l *engine.Limits) int { return l.Proposals }, shownAs: "proposals"},
		of:      func(t *tables) *Table[proposalRow, proposalPage] { return &t.proposals }, code: codeProposalRow, queue: true,
		fits: func(m *Machine) fitting[proposalRow] { return m.desk.fitsProposal },
	},
	&tableOf[AlertRow, alertPage]{
		section: section{
			number: sectionAlerts, most: alertRowsMax,
			sound: func(m *Machine) error { return m.desk.checkAlertsOpen() },
		},
		of: func(t *tables) *Table[AlertRow, alertPage] { return &t.alerts }, code: codeAlertRow, queue: true,
		fits:   func(m *Machine) fitting[AlertRow] { return m.desk.fitsAlert },
		over:   func(m *Machine, row *AlertRow) bool { return row.Leaf < m.oldest },
		forget: func(m *Machine) { m.desk.forgetAlert() },
	},
	&tableOf[SARRow, sarPage]{
		section: section{number: sectionSARs, most: func(l *engine.Limits) int { return l.SARs }, shownAs: "sars"},
		of:      func(t *tables) *Table[SARRow, sarPage] { return &t.sars }, code: codeSARRow, queue: true,
		mark:   func(t *tables, meta *snapshotMeta) (held, noted *uint64) { return &t.sarsTold, &meta.SARsTold },
		fits:   func(m *Machine) fitting[SARRow] { return m.desk.fitsSAR },
		over:   func(m *Machine, row *SARRow) bool { return row.First < m.oldest },
		forget: func(m *Machine) { m.desk.forgetSAR() },
	},
	sanctionsDeclaration,
	workDeclaration,
	draftDeclaration,
	secondLookDeclaration,
}

// deskDerived are the tables that are derived from others.
var deskDerived = []derivation{
	&derivedOf[uint64, openPage]{
		of:   func(t *tables) *Table[uint64, openPage] { return &t.open },
		from: func(t *tables) uint64 { return t.reviews.first / openWord },
	},
}

// proposalRow is an act that waits for a second person. Rows are in the order of the proposals'
// leaves.
type proposalRow struct {
	Leaf        uint64 // The record under review; 0: the act is about no review.
	Later       uint64 // The proposal's leaf.
	At          engine.Time
	Topic       [16]byte
	Hash        [32]byte
	Key         uint32      // The row of the proposer's API key.
	Acts        engine.Acts // For which of these names the policy demanded two persons.
	Kind        wire.Kind   // 0: confirmed, withdrawn or lapsed.
	Disposition uint8       // 0: it is another act.
	Act         *keptAct    // nil for a disposition.
}

// keptAct is a record that waits for a second person. It is immutable.
type keptAct struct {
	Fragment []byte   `cbor:"1,keyasint,omitempty"`
	Filters  []uint64 `cbor:"2,keyasint,omitempty"`
	Body     []byte   `cbor:"3,keyasint"` // Without its common part.
}

// AlertRow is an alert. Rows are in the order of their leaves.
type AlertRow struct {
	Leaf    uint64 // The leaf that opened it.
	At      engine.Time
	Subject uint64 // A value of wire.AlertSubject.
	List    uint64 // The list version that is the reason; 0: none.
	Later   uint64 // The leaf that acknowledged it; 0: it is open.
	Kind    uint8  // wire.AlertRetroHit and so on.
	Owner   Owner  // Whose doing is the reason.
}

// alertKey identifies an alert: two with the same key are one.
type alertKey struct {
	list, subject uint64
	kind          uint8
}

// SARRow is a suspicious activity report. Rows are in the order of First.
type SARRow struct {
	Leaf  uint64 // The record that it is about.
	Later uint64 // The newest of the report's leaves.
	DueAt engine.Time
	First uint64 // The leaf that opened it: of an officer's, or the disposition that escalated the record.
	State uint8
	Two   bool // Two persons escalated the case, so one does not end it.

	Finished  bool     // Its narrative leaves nothing open.
	Narrative [32]byte // SHA-256; zero: nobody has written one.
}

func codeProposalRow(c *coder, row *proposalRow) {
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Later)
	codeSigned(c, &row.At)
	c.codeRaw(row.Topic[:])
	c.codeRaw(row.Hash[:])
	codeUnsigned(c, &row.Key)
	codeUnsigned(c, &row.Acts)
	codeByte(c, &row.Kind)
	codeByte(c, &row.Disposition)
	codeValue(c, &row.Act)
}

func codeAlertRow(c *coder, row *AlertRow) {
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.At)
	codeUnsigned(c, &row.Subject)
	codeUnsigned(c, &row.List)
	codeUnsigned(c, &row.Later)
	codeByte(c, &row.Kind)
	codeUnsigned(c, &row.Owner)
}

func codeSARRow(c *coder, row *SARRow) {
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Later)
	codeSigned(c, &row.DueAt)
	codeUnsigned(c, &row.First)
	codeByte(c, &row.State)
	c.codeFlag(&row.Two)
	c.codeFlag(&row.Finished)
	c.codeRaw(row.Narrative[:])
}

func codeReviewRow(c *coder, row *ReviewRow) {
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.At)
	codeSigned(c, &row.Amount)
	codeUnsigned(c, &row.Agent)
	codeByte(c, &row.Rule)
	codeUnsigned(c, &row.Rules)
	codeByte(c, &row.Gravest)
	codeByte(c, &row.Gravity)
	c.codeRaw(row.Party[:])
	codeByte(c, &row.State)
	codeUnsigned(c, &row.Newest)
	codeUnsigned(c, &row.Owner)
	c.codeFlag(&row.Ended)
	claimed := row.Claim != nil
	c.codeFlag(&claimed)
	if codeUnsigned(c, &row.Disposition); !claimed {
		return
	}
	if c.reading {
		row.Claim = new(Claim)
	}
	codeClaim(c, row.Claim)
}

func codeClaim(c *coder, claim *Claim) {
	c.codeText(&claim.Assignee)
	codeSigned(c, &claim.LeaseUntil)
	count := uint64(len(claim.Comments))
	if codeUnsigned(c, &count); c.reading && count > 0 {
		if count > uint64(commentsMost(engine.LimitsOf(engine.FormatNewest))) {
			c.failReading()
			return
		}
		claim.Comments = make([]Comment, count)
	}
	for i := range claim.Comments {
		codeUnsigned(c, &claim.Comments[i].Leaf)
		codeUnsigned(c, &claim.Comments[i].Key)
	}
}

func codeDispositionRow(c *coder, row *dispositionRow) {
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Later)
	codeSigned(c, &row.At)
	codeUnsigned(c, &row.Agent)
	codeByte(c, &row.Kind)
	codeSigned(c, &row.PayBy)
}

type dispositionRow struct {
	Leaf  uint64
	Later uint64
	At    engine.Time
	Agent engine.AgentSlot // The record's agent; 0: none.
	Kind  uint8            // wire.Approved and so on.
	PayBy engine.Time      // When an approval ends; 0: it is none.
}

// ReviewState is the state of a review.
type ReviewState uint8

// The review states.
const (
	ReviewOpen ReviewState = iota
	ReviewDone
)

// ReviewRow is one REVIEW leaf that waits, or waited, for a disposition.
type ReviewRow struct {
	Leaf        uint64
	At          engine.Time
	Amount      engine.USD
	Agent       engine.AgentSlot
	Rule        engine.RuleID // The rule that decided.
	Gravest     engine.RuleID // Of all rules that triggered, the one that may mean the most.
	Gravity     engine.Gravity
	State       ReviewState
	Rules       uint32          // All rules that triggered; bit n is rule Rn.
	Party       engine.PartyKey // Who is paid; zero: the call does not say.
	Owner       Owner           // Of the API key that made the call.
	Disposition uint64          // The disposition's leaf when State is ReviewDone.
	Newest      uint64          // The newest leaf about the record; 0: none but itself.
	Ended       bool            // The payment has ended.
	Claim       *Claim          // nil: never claimed nor commented.
}

// Claim says who works on a review. It is immutable; a change replaces it.
type Claim struct {
	Assignee   string      `cbor:"1,keyasint,omitempty"`
	LeaseUntil engine.Time `cbor:"2,keyasint,omitempty"` // 0: assigned, without an end.
	Comments   []Comment   `cbor:"3,keyasint,omitempty"` // Oldest first.
}

// Comment is a comment on a review.
type Comment struct {
	Leaf uint64 `cbor:"1,keyasint"`
	Key  uint32 `cbor:"2,keyasint,omitempty"` // The row of the API key that wrote it.
}

// roomForComment tells whether a key may write another comment. Every key has room of its own, so
// that nobody can fill a case before those who come later.
func (m *desk) roomForComment(comments []Comment, key uint32) bool {
	own := 0
	for i := range comments {
		if comments[i].Key == key {
			own++
		}
	}
	return own == 0 || own < m.limits.CommentsOfKey && len(comments) < m.limits.Comments
}

// commentsMost is how many comments a review can have: the common room, and one more of each key.
func commentsMost(limits *engine.Limits) int { return limits.Comments + limits.APIKeys + 1 }

package fsm

import (
	"encoding/binary"

	"railguard/engine"
)

// desk is the part that knows what officers do: reviews, dispositions, proposals of four
// eyes, alerts and suspicious activity reports.
type desk struct {
	*core
	*deskTables
	registry *registry
	ledger   *ledger

	// Rebuilt by Restore, never iterated.
	disposedBy map[uint64]uint64 // Position in dispositions, by the record's leaf.
	proposalAt map[uint64]uint64 // Open ones, by the record under review.
	alertAt    map[alertKey]uint64
}

func newDesk(c *core, t *deskTables, registry *registry, ledger *ledger) *desk {
	return &desk{
		core: c, deskTables: t, registry: registry, ledger: ledger,
		disposedBy: map[uint64]uint64{}, proposalAt: map[uint64]uint64{}, alertAt: map[alertKey]uint64{},
	}
}

// deskTables are the tables of what officers do: reviews and their dispositions,
// proposals of four eyes, alerts and suspicious activity reports.
type deskTables struct {
	reviews      Table[ReviewRow, reviewPage] // By leaf, ascending.
	open         Table[uint64, openPage]      // A bit for each row of reviews that is open, 64 a word; follows from them.
	dispositions Table[dispositionRow, dispositionPage]
	proposals    Table[proposalRow, proposalPage]
	alerts       Table[AlertRow, alertPage]
	sars         Table[SARRow, sarPage]

	openReviews int         // Follows from the rows of reviews.
	alertsOpen  AlertCounts // Follows from the rows of alerts.
	overdueTold uint64      // Reviews before this one were told of when their time was over.
	sarsTold    uint64      // Reports before this one were told of when their time was nearly over.
}

var deskDeclarations = []declaration{
	&tableOf[ReviewRow, reviewPage]{
		section: sectionReviews, of: func(t *tables) *Table[ReviewRow, reviewPage] { return &t.reviews },
		codec: codec[ReviewRow]{appendReviewRow, readReviewRow}, queue: 1,
		most: func(*engine.Limits) int { return 1 << 31 }, shownAs: "open_reviews",
		filled: func(t *tables, l *engine.Limits) (int, int) { return t.openReviews, l.OpenReviews },
		over:   func(m *Machine, row *ReviewRow) bool { return row.Leaf < m.oldest },
		forget: func(m *Machine) { m.desk.forgetReview() },
	},
	&tableOf[dispositionRow, dispositionPage]{
		section: sectionDispositions, of: func(t *tables) *Table[dispositionRow, dispositionPage] { return &t.dispositions },
		codec: codec[dispositionRow]{appendDispositionRow, readDispositionRow}, queue: 2,
		most: func(*engine.Limits) int { return 1 << 31 },
		// Not before its own leaf, hence never before the leaf that it decides.
		over:   func(m *Machine, row *dispositionRow) bool { return row.Later < m.oldest },
		forget: func(m *Machine) { m.desk.forgetDisposition() },
	},
	&tableOf[proposalRow, proposalPage]{
		section: sectionProposals, of: func(t *tables) *Table[proposalRow, proposalPage] { return &t.proposals },
		codec: codec[proposalRow]{appendProposalRow, readProposalRow}, queue: 7,
		most: func(l *engine.Limits) int { return l.Proposals },
	},
	&tableOf[AlertRow, alertPage]{
		section: sectionAlerts, of: func(t *tables) *Table[AlertRow, alertPage] { return &t.alerts },
		codec: codec[AlertRow]{appendAlertRow, readAlertRow}, queue: 8,
		most:   alertRowsMax,
		over:   func(m *Machine, row *AlertRow) bool { return row.Leaf < m.oldest },
		forget: func(m *Machine) { m.desk.forgetAlert() },
	},
	&tableOf[SARRow, sarPage]{
		section: sectionSARs, of: func(t *tables) *Table[SARRow, sarPage] { return &t.sars },
		codec: codec[SARRow]{appendSARRow, readSARRow}, queue: 9,
		most:   func(l *engine.Limits) int { return l.SARs },
		over:   func(m *Machine, row *SARRow) bool { return row.First < m.oldest },
		forget: func(m *Machine) { m.desk.forgetSAR() },
	},
}

// proposalRow is a disposition that waits for a second person, in the order of the
// proposals' leaves.
type proposalRow struct {
	Leaf        uint64 // The record under review.
	Later       uint64 // The proposal.
	At          engine.Time
	By          [16]byte // Of reviewedBy, normalised: the first half of SHA-256.
	Key         uint32   // The API key's row.
	Disposition uint8    // 0: confirmed, withdrawn or lapsed.
}

// AlertRow is an alert, in the order of their leaves.
type AlertRow struct {
	Leaf    uint64 // Its own.
	At      engine.Time
	Subject uint64 // As wire.AlertSubject makes it.
	List    uint64 // The list version that is the reason; 0: none is.
	Later   uint64 // The leaf that acknowledged it; 0: it is open.
	Kind    uint8  // wire.AlertRetroHit and its like.
}

// alertKey is what makes two alerts the same one.
type alertKey struct {
	list, subject uint64
	kind          uint8
}

// SARRow is a suspicious activity report, in the order of their leaves.
type SARRow struct {
	Leaf  uint64 // The record under review.
	Later uint64 // The newest of the report's leaves.
	DueAt engine.Time
	First uint64 // The disposition that opened it.
	State uint8
}

func appendProposalRow(dst []byte, row *proposalRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Leaf), row.Later)
	dst = append(binary.AppendVarint(dst, int64(row.At)), row.By[:]...)
	return append(binary.AppendUvarint(dst, uint64(row.Key)), row.Disposition)
}

func readProposalRow(r *rowReader) (row proposalRow) {
	row.Leaf, row.Later, row.At = r.unsigned(), r.unsigned(), r.time()
	r.fill(row.By[:])
	row.Key, row.Disposition = uint32(r.unsigned()), r.byte()
	return row
}

func appendAlertRow(dst []byte, row *AlertRow) []byte {
	dst = binary.AppendVarint(binary.AppendUvarint(dst, row.Leaf), int64(row.At))
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Subject), row.List)
	return append(binary.AppendUvarint(dst, row.Later), row.Kind)
}

func readAlertRow(r *rowReader) AlertRow {
	return AlertRow{Leaf: r.unsigned(), At: r.time(), Subject: r.unsigned(), List: r.unsigned(), Later: r.unsigned(), Kind: r.byte()}
}

func appendSARRow(dst []byte, row *SARRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, row.Leaf), row.Later)
	return append(binary.AppendUvarint(binary.AppendVarint(dst, int64(row.DueAt)), row.First), row.State)
}

func readSARRow(r *rowReader) SARRow {
	return SARRow{Leaf: r.unsigned(), Later: r.unsigned(), DueAt: r.time(), First: r.unsigned(), State: r.byte()}
}

func appendReviewRow(dst []byte, row *ReviewRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendVarint(dst, int64(row.At))
	dst = binary.AppendVarint(dst, int64(row.Amount))
	dst = binary.AppendUvarint(dst, uint64(row.Agent))
	dst = append(dst, byte(row.Rule), byte(row.State), flag(row.Claim != nil))
	dst = binary.AppendUvarint(dst, row.Disposition)
	if row.Claim == nil {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(row.Claim.Assignee)))
	dst = append(dst, row.Claim.Assignee...)
	dst = binary.AppendVarint(dst, int64(row.Claim.LeaseUntil))
	dst = binary.AppendUvarint(dst, uint64(len(row.Claim.Comments)))
	for _, leaf := range row.Claim.Comments {
		dst = binary.AppendUvarint(dst, leaf)
	}
	return dst
}

func readReviewRow(r *rowReader) ReviewRow {
	row := ReviewRow{
		Leaf: r.unsigned(), At: r.time(), Amount: engine.USD(r.signed()), Agent: engine.AgentSlot(r.unsigned()),
		Rule: engine.RuleID(r.byte()), State: ReviewState(r.byte()),
	}
	claimed := r.byte() != 0
	row.Disposition = r.unsigned()
	if !claimed {
		return row
	}
	row.Claim = &Claim{Assignee: string(r.bytes()), LeaseUntil: r.time()}
	count := r.unsigned()
	if count > uint64(engine.LimitsOf(engine.FormatNewest).Comments) {
		r.bad = true
		return row
	}
	for range count {
		row.Claim.Comments = append(row.Claim.Comments, r.unsigned())
	}
	return row
}

func appendDispositionRow(dst []byte, row *dispositionRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendUvarint(dst, row.Later)
	return append(binary.AppendVarint(dst, int64(row.At)), row.Kind)
}

func readDispositionRow(r *rowReader) dispositionRow {
	return dispositionRow{Leaf: r.unsigned(), Later: r.unsigned(), At: r.time(), Kind: r.byte()}
}

type dispositionRow struct {
	Leaf  uint64
	Later uint64
	At    engine.Time
	Kind  uint8 // wire.Approved and its like.
}

// ReviewState is where an open review stands.
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
	Rule        engine.RuleID
	State       ReviewState
	Disposition uint64 // Leaf of the disposition when State is ReviewDone.
	Claim       *Claim // nil: never claimed nor commented.
}

// Claim is who looks at a review. Immutable; replaced whole.
type Claim struct {
	Assignee   string      `cbor:"1,keyasint,omitempty"`
	LeaseUntil engine.Time `cbor:"2,keyasint,omitempty"` // 0: assigned without lease.
	Comments   []uint64    `cbor:"3,keyasint,omitempty"` // Leaves, oldest first.
}

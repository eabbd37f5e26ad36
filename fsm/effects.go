package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// Leaf is one audit record as Apply wrote it.
type Leaf struct {
	Time    engine.Time
	Data    []byte   // The leaf's bytes, in one of the forms of fsm/leaf.
	Filters []uint64 // engine.FilterKey values for searching; not part of the leaf hash.
	Hash    [32]byte // The RFC 6962 leaf hash of Data, so that history need not compute it.
}

// LeafLink says that a later leaf (a disposition, a comment) speaks of an earlier one.
type LeafLink struct {
	Leaf  uint64
	Later uint64
	Late  bool // Of a payment: the settle came after the ending, which stays.
}

// Effects is the outcome of applying one entry. Apply overwrites all fields and may reuse the
// slices, so the caller consumes them before the next Apply.
type Effects struct {
	Index uint64
	Term  uint64
	Time  engine.Time // Log time after the entry.

	Results   []wire.Result // One for each record, in order.
	FirstLeaf uint64        // Index of Leaves[0].
	Leaves    []Leaf

	Agents       []*engine.AgentProfile // Changed profiles, for the edges.
	Users        []*engine.UserProfile
	UsersGone    []engine.UserSlot  // Profiles erased after their 31 days.
	AgentsGone   []engine.AgentSlot // Retired.
	FleetsGone   []engine.FleetSlot
	Fleets       []*engine.FleetProfile
	Operators    []*engine.OperatorProfile
	Dispositions []LeafLink
	Comments     []LeafLink
	Outcomes     []LeafLink // The leaves that ended holds and payments, including late settles.
	Proposals    []LeafLink // Proposals of four eyes that were opened, or closed (Later 0).
	Settings     *Settings  // Non-nil if the entry changed the settings.
	ListData     []byte     // The entities of a list that this entry activated; otherwise nil.

	PairsDisplaced int // Pairs of R25 that still counted and were dropped, because their table is full.

	SARsUnlisted   int // Reports that have a leaf but no row, because their table is full.
	AlertsUnlisted int // Alerts that have a leaf but no row, because too many are open.

	SharesRefused [wire.SharedTables + 1]int // Records that were refused because of an owner's share, by table.

	Oldest    uint64     // The first leaf within retention.
	OldestDay engine.Day // The date of that leaf; without any leaf, of the entry.
	KeysFrom  uint64     // See View.KeysFrom.
	EndedFrom uint64     // The leaf from which on the state has the endings of all payments.
	UsedFrom  uint64     // The leaf from which on it has the uses of all payment references.

	Statuses *View // Non-nil if the status lists of a new minute can be made: the view to make them of.

	CheckIndex  uint64 // With CheckDigest: the leader's digest at a past index, to be compared off the hot path.
	CheckDigest []byte

	Stop string // Non-empty: this node must stop and log this text.
}

// Rules returns the rules in force.
func (s *Settings) Rules() *engine.RuleSet { return engine.RulesOf(max(s.Format, engine.Format1)) }

// Settings is everything that edges need besides profiles: one immutable value, replaced as a
// whole. It is also one row of a snapshot. Lists that can grow have a section and rows of
// their own, because a row must fit into a block.
type Settings struct {
	Index       uint64              `cbor:"1,keyasint"` // Log index of the last change.
	Format      engine.Format       `cbor:"-"`
	Genesis     *wire.Genesis       `cbor:"2,keyasint,omitempty"` // nil before bootstrap.
	Policy      *engine.Policy      `cbor:"3,keyasint"`
	Keys        []*wire.APIKey      `cbor:"-"`
	Passkeys    []*wire.Passkey     `cbor:"-"`
	SigningKeys []*wire.SigningKey  `cbor:"-"` // Oldest first; ActiveKey returns the one that signs.
	Cleared     []*wire.ClearedPair `cbor:"-"`
	Matcher     uint16              `cbor:"9,keyasint"`            // Version of the name matcher that verdicts are judged with.
	Lineage     string              `cbor:"10,keyasint,omitempty"` // The log's lineage after a recovery or a restore; "" before any.
	LogLines    []*wire.LogStretch  `cbor:"12,keyasint,omitempty"` // Lines of the log after the genesis's; oldest first.
	Epochs      []*wire.Epoch       `cbor:"13,keyasint,omitempty"` // Epochs of ids, begun by restores and recoveries; oldest first.
	Removed     []*wire.Removed     `cbor:"11,keyasint,omitempty"`
	List        *wire.ListInfo      `cbor:"4,keyasint,omitempty"` // nil: no list was ever activated.
	ListSynced  engine.Time         `cbor:"5,keyasint"`           // Last successful sync or import of the active list.
	ListVersion uint64              `cbor:"6,keyasint"`
	Backups     *wire.BackupState   `cbor:"19,keyasint,omitempty"` // nil: there never was a schedule.
	InHand      []*wire.InHand      `cbor:"18,keyasint,omitempty"` // Second looks in hand, oldest first.
	Staged      []*wire.ListInfo    `cbor:"7,keyasint,omitempty"`
	History     []*wire.ListInfo    `cbor:"-"`                     // Activated lists, newest last.
	ClockOffset engine.Time         `cbor:"8,keyasint"`            // How far the test clock was moved.
	LeapUntil   engine.Time         `cbor:"16,keyasint,omitempty"` // Up to here two persons let log time leap, in stamps.
	Webhooks    []*wire.Webhook     `cbor:"-"`                     // In order of ids.
	WebhookNext uint32              `cbor:"15,keyasint,omitempty"` // The highest id given out so far.
	Retro       *wire.RetroRun      `cbor:"14,keyasint,omitempty"` // The retro-screening that runs or ran last; nil: there was none.
	ClearedLast uint32              `cbor:"17,keyasint,omitempty"` // How often the cleared pairs were changed; the highest id of a pair so far.
}

// ClearedVersion is the version of the cleared pairs, as engine.Basis has it: from 1 on.
func (s *Settings) ClearedVersion() uint64 { return uint64(s.ClearedLast) + 1 }

// ActiveKey returns the key that signs credentials at time now: the newest one
// that is active and not revoked, or nil.
func (s *Settings) ActiveKey(now engine.Time) *wire.SigningKey {
	return s.ActiveKeyFor(wire.ForCredentials, now)
}

// ActiveKeyFor returns the key that signs credentials or permits at time now, or nil.
func (s *Settings) ActiveKeyFor(what uint8, now engine.Time) *wire.SigningKey {
	for i := len(s.SigningKeys) - 1; i >= 0; i-- {
		if key := s.SigningKeys[i]; key.For == what && key.ActivateAt <= now && key.RevokedAt == 0 {
			return key
		}
	}
	return nil
}

// KeyRevoked tells whether the signing key with that id was revoked.
func (s *Settings) KeyRevoked(kid string) bool {
	for _, key := range s.SigningKeys {
		if key.KID == kid {
			return key.RevokedAt != 0
		}
	}
	return false
}

package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// Leaf is one audit record as Apply wrote it.
type Leaf struct {
	Time    engine.Time
	Data    []byte   // The leaf's bytes: one JSON object.
	Filters []uint64 // engine.FilterKey values for searching; not part of the leaf hash.
	Hash    [32]byte // RFC 6962's leaf hash of Data: history takes it as it is.
}

// LeafLink says that a later leaf (a disposition, a comment) speaks of an earlier one.
type LeafLink struct {
	Leaf  uint64
	Later uint64
}

// Effects is what applying one entry gave. Apply overwrites all fields; slices
// may be reused by the next Apply, so the caller consumes them before.
type Effects struct {
	Index uint64
	Term  uint64
	Time  engine.Time // Log time after the entry.

	Results   []wire.Result // One a record, in order.
	FirstLeaf uint64        // Index of Leaves[0].
	Leaves    []Leaf

	Agents       []*engine.AgentProfile // Changed profiles, for the edges.
	Users        []*engine.UserProfile
	UsersGone    []engine.UserSlot // Profiles erased after their 31 days.
	Fleets       []*engine.FleetProfile
	Dispositions []LeafLink
	Comments     []LeafLink
	Outcomes     []LeafLink // How held, settled and released payments ended; a late settle besides.
	Proposals    []LeafLink // Open proposals of four eyes; Later 0: closed.
	Settings     *Settings  // Non-nil when anything in it changed.
	ListData     []byte     // The entities of a list activated by this entry; nil otherwise.

	PairsDisplaced int // Pairs of R25 that were forgotten although they still counted: its table is full.

	SARsUnlisted   int // Reports that are a leaf alone: their table is full.
	AlertsUnlisted int // Alerts that are a leaf alone: as many are open as may be.

	OutcomesDisplaced int // Endings of payments that were forgotten within their retention: their table is full.

	Oldest uint64 // First leaf that is still within retention.

	Statuses *View // Non-nil when the status lists of another minute can be made; of it and nothing later.

	CheckIndex  uint64 // A digest the leader claims for a past index, to be compared off the hot path.
	CheckDigest []byte

	Stop string // Non-empty: this node must stop and say so (house law: never skip, never guess).
}

// Rules are those in force.
func (s *Settings) Rules() *engine.RuleSet { return engine.RulesOf(max(s.Format, engine.Format1)) }

// Settings is everything edges need besides profiles: one immutable value, replaced whole.
// It is also one row of a snapshot. What can be many has a section and rows of its own: a
// row must fit a block.
type Settings struct {
	Index       uint64              `cbor:"1,keyasint"` // Log index of the last change.
	Format      engine.Format       `cbor:"-"`
	Genesis     *wire.Genesis       `cbor:"2,keyasint,omitempty"` // nil before bootstrap.
	Policy      *engine.Policy      `cbor:"3,keyasint"`
	Keys        []*wire.APIKey      `cbor:"-"`
	SigningKeys []*wire.SigningKey  `cbor:"-"` // Oldest first; the signing one is ActiveKey's.
	Cleared     []*wire.ClearedPair `cbor:"-"`
	Matcher     uint16              `cbor:"9,keyasint"`            // Version of the name matcher that verdicts are judged with.
	Lineage     string              `cbor:"10,keyasint,omitempty"` // Of the log, after a recovery or a restore; "" before any.
	LogLines    []*wire.LogLine     `cbor:"12,keyasint,omitempty"` // Of the log's checkpoints, after the genesis's; oldest first.
	Epochs      []*wire.Epoch       `cbor:"13,keyasint,omitempty"` // Of ids, begun by restored backups; oldest first.
	Removed     []*wire.Removed     `cbor:"11,keyasint,omitempty"`
	List        *wire.ListInfo      `cbor:"4,keyasint,omitempty"` // nil: no list was ever activated.
	ListSynced  engine.Time         `cbor:"5,keyasint"`           // Last successful sync or import of the active list.
	ListVersion uint64              `cbor:"6,keyasint"`
	Staged      []*wire.ListInfo    `cbor:"7,keyasint,omitempty"`
	History     []*wire.ListInfo    `cbor:"-"`                     // Activations, newest last.
	ClockOffset engine.Time         `cbor:"8,keyasint"`            // Test clock.
	Webhooks    []*wire.Webhook     `cbor:"-"`                     // By id.
	WebhookNext uint32              `cbor:"15,keyasint,omitempty"` // The id of the one made last.
	Retro       *wire.RetroRun      `cbor:"14,keyasint,omitempty"` // The screening of the past that runs, or ran last; nil: none ever did.
}

// ActiveKey returns the key that signs credentials at time now: the newest one
// that is active and not revoked, or nil.
func (s *Settings) ActiveKey(now engine.Time) *wire.SigningKey {
	for i := len(s.SigningKeys) - 1; i >= 0; i-- {
		if key := s.SigningKeys[i]; key.ActivateAt <= now && key.RevokedAt == 0 {
			return key
		}
	}
	return nil
}

// KeyRevoked tells whether the signing key of that id was revoked in an emergency.
func (s *Settings) KeyRevoked(kid string) bool {
	for _, key := range s.SigningKeys {
		if key.KID == kid {
			return key.RevokedAt != 0
		}
	}
	return false
}

package edge

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge/turns"
	"railguard/engine"
	"railguard/engine/possession"
	"railguard/fsm"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
)

// Deps is everything that judging needs from the rest of the process.
type Deps struct {
	Published Published
	Records   Records
	Secrets   *seal.Secrets
	Node      string // Name of this node, for records.
	Version   string // Semantic version of the binary.
	Logger    *slog.Logger

	// Authorities are those under which the service is known beside its public address; possession.NormalAuthority.
	Authorities []string
}

// Published is what this node knows now. Reading it takes no lock.
type Published interface {
	Settings() *fsm.Settings                     // Never nil.
	List() *ofac.Index                           // The active list; nil when none is open.
	Agent(engine.AgentSlot) *engine.AgentProfile // nil: unknown.
	User(engine.UserSlot) *engine.UserProfile    // nil: unknown or erased.
	Fleet(engine.FleetSlot) *engine.FleetProfile // nil: unknown.
	Operator(engine.OperatorSlot) *engine.OperatorProfile
	Disposition(leaf uint64) (uint64, bool)            // Leaf of a review's disposition.
	Comments(leaf uint64) []uint64                     // Leaves of a review's comments.
	Proposal(leaf uint64) (uint64, bool)               // Leaf of the open proposal on a review.
	Outcomes(leaf uint64) []uint64                     // Leaves that say how a payment ended, as far as the state knows: see Judge.Endings.
	LogTime() engine.Time                              // Log time of the last entry, plus at most 2 s of this node's clock since.
	ClocksAhead() engine.Time                          // How far a quorum's clocks are ahead of log time; 0: they agree, or nobody knows.
	Applied() uint64                                   // Applied log index.
	EndedFrom() uint64                                 // The state has the endings of payments that this leaf or a later one told of.
	UsedFrom() uint64                                  // The state has the uses of payment references that this leaf or a later one told of.
	KeysFrom() uint64                                  // The state has the Idempotency-Keys of all calls that wrote this leaf or a later one.
	Statuses() *fsm.Statuses                           // The status lists of this minute; nil: this node has none that is valid.
	ListByDigest(digest [32]byte) (*ofac.Index, error) // Any list of the last 90 days, for comparing lists.
	// ListAs is ListByDigest with the tables of one version of the matcher (replay).
	ListAs(digest [32]byte, matcher uint16) (*ofac.Index, error)
}

// Records reads history and frozen state.
type Records interface {
	Leaf(ctx context.Context, index uint64) ([]byte, error) // From this node, else from another one.
	View(ctx context.Context, minIndex uint64) (*fsm.View, error)
	ReadIndex(ctx context.Context) (uint64, error) // Leader's commit index, confirmed by a quorum; it returns when that index is applied here.
	WaitApplied(ctx context.Context, index uint64) error
	// ReferenceUsed returns the leaf of the payment that uses a reference, as far as this node has
	// applied. known is false if the state may have forgotten it.
	ReferenceUsed(engine.ReferenceKey) (leaf uint64, used, known bool)

	// KeyedLeaves returns leaves that may be of calls with an Idempotency-Key, newest first, and
	// the leaf below which it looked through all of the last 24 hours.
	KeyedLeaves(key [16]byte) (leaves []audit.PlacedLeaf, looked uint64, err error)

	// ReferenceLeaves returns leaves by which a payment reference may have been used or become free,
	// newest first, and the leaf below which it looked through all of the last 30 days.
	ReferenceLeaves(engine.ReferenceKey) (leaves []audit.PlacedLeaf, looked uint64, err error)

	// EndingLeaves returns the leaves that say what became of a recorded payment, newest first, and
	// the leaf below which it looked through all that history has.
	EndingLeaves(record uint64) (leaves []audit.PlacedLeaf, looked uint64, err error)

	OperatorsNamed(legalName string) (first engine.OperatorSlot, count int) // By engine.LegalText, as far as this node has applied.
	OperatorsLike(fold string) []engine.OperatorSlot                        // By FoldName.
}

// Judges is what all judges of one node share: the current terms, and caches of verified
// tokens, cards and profiles. It is safe for concurrent use.
type Judges struct {
	deps     Deps
	turns    *turns.Turns
	tokens   *tokenCache
	recent   *recentTokens
	cards    *cardCache
	profiles profileCache
	terms    atomic.Pointer[Terms]
	mutex    sync.Mutex // Serialises rebuilding the terms; readers never take it.
}

// New makes the judges of one node.
func New(deps Deps) *Judges {
	return &Judges{deps: deps, turns: turns.New(runtime.GOMAXPROCS(0)), tokens: newTokenCache(tokenCacheMax), recent: newRecentTokens(), cards: new(cardCache)}
}

// TokensHeld returns how many places of the token cache are taken.
func (js *Judges) TokensHeld() int { return js.tokens.size() }

// Call is one call without its transport: who asks for what.
type Call struct {
	Caller    *Caller // nil only for public calls, which are not judged.
	RequestID string
	Body      []byte    // As sent; the record holds its hash.
	Hashed    *[32]byte // SHA-256 of Body if it is known already; nil: it is computed.
	Document  strictjson.Document
	Idem      *wire.Idem
	KeyText   string              // The Idempotency-Key as sent; "": none.
	Path      string              // Of the URL; it scopes Idempotency-Keys. A batch item has that of a single call.
	Message   *possession.Message // The request with its message signatures, without scheme and authorities; nil: it has none.
	Proof     *Proof              // A proof that stands elsewhere than in Body; nil: none.
	Trace     string              // The caller's trace id (W3C Trace Context), 32 hex digits; "" without one.
	Strict    bool                // Any unknown member of a screening call is refused.
	Item      bool                // The call is one item of a batch; Body and Document are the item's.

	Passkey string // What the caller signed with a passkey, as sent; "": nothing.
	Offered *Offer // What the caller may sign; set by Judge.Sign.

	Facilitator bool // This product's own x402 facilitator makes the call, in the caller's name.
}

// Timing is how long the steps of judging took.
type Timing struct{ Verify, Rules time.Duration }

// Judge judges one call after another in the same working space; one is enough for a batch. It
// is not safe for concurrent use, and its results are valid until the next call: a batch
// encodes each record before it begins the next one. Begin prepares it for a call, Reset
// releases what it holds.
type Judge struct {
	shared *Judges
	call   *Call
	ctx    context.Context
	Terms  *Terms // The current terms; renewed if this node had to catch up.
	Index  uint64 // Log index that the answer rests on; 0: the applied one.
	Timing Timing
	Steps  int                  // Steps that the matcher took for the call; the key is charged for them.
	Probe  Probe                // Of a dry run: what the counterparty's name came near.
	Forged bool                 // The signature of one of the call's tokens was checked and is bad.
	Agent  *engine.AgentProfile // The agent that the call was judged with; nil: none.
	// Between, if not nil, is called before each leaf is opened, so that a walk over many
	// leaves can yield the processor.
	Between func()

	screen  screening
	answer  leafjson.Screen    // The record that OpenAnswer read.
	fresh   bool               // The leader was asked for its state already.
	unread  bool               // This node could not tell whether the call's Idempotency-Key was used before.
	parsers []*fastjson.Parser // Parsers of the open leaves.
}

var leafParsers fastjson.ParserPool

// Begin prepares the judge for a call, with the current terms.
func (j *Judge) Begin(ctx context.Context, shared *Judges, call *Call) {
	j.ctx, j.shared, j.call, j.Terms = ctx, shared, call, shared.Now()
	j.Index, j.Timing, j.Steps, j.Forged, j.fresh, j.unread, j.Probe = 0, Timing{}, 0, false, false, false, Probe{}
}

// Caller returns who makes the call. It is nil only for public calls.
func (j *Judge) Caller() *Caller { return j.call.Caller }

// LogTime returns the log time as this node knows it now.
func (j *Judge) LogTime() engine.Time { return j.shared.deps.Published.LogTime() }

// records returns history and frozen state.
func (j *Judge) records() Records { return j.shared.deps.Records }

// Secrets returns the secrets that seal parts of the state.
func (j *Judge) Secrets() *seal.Secrets { return j.shared.deps.Secrets }

// Within replaces the context, because the deadline depends on the caller, who is known later.
func (j *Judge) Within(ctx context.Context) { j.ctx = ctx }

// Renew takes the current terms.
func (j *Judge) Renew() { j.Terms = j.shared.Now() }

// Reset closes the open leaves and forgets the call. It keeps the judge's five kilobytes of
// memory for the next call.
func (j *Judge) Reset() {
	for _, p := range j.parsers {
		leafParsers.Put(p)
	}
	j.parsers = j.parsers[:0]
	j.shared, j.call, j.ctx, j.Terms, j.Agent, j.Between = nil, nil, nil, nil, nil, nil
	j.Index, j.Timing, j.Steps, j.Forged, j.fresh, j.unread, j.Probe = 0, Timing{}, 0, false, false, false, Probe{}
	j.answer = leafjson.Screen{}
	j.screen.reset()
}

// Confirm waits until this node has applied everything that the leader had committed.
func (j *Judge) Confirm() error { return j.ConfirmWithin(j.ctx) }

// ConfirmWithin is Confirm with the time that another context leaves.
func (j *Judge) ConfirmWithin(ctx context.Context) error {
	if _, err := j.shared.deps.Records.ReadIndex(ctx); err != nil {
		return &ReadError{err}
	}
	j.Renew()
	return nil
}

// ConfirmBriefly is CatchUp with a short timeout and without an error, for an answer that is
// valid without it.
func (j *Judge) ConfirmBriefly() {
	if j.fresh {
		return
	}
	ctx, cancel := context.WithTimeout(j.ctx, confirmTimeout)
	defer cancel()
	if _, err := j.shared.deps.Records.ReadIndex(ctx); err == nil {
		j.Renew()
	}
}

// CatchUp is Confirm, at most once a call.
func (j *Judge) CatchUp() error {
	if j.fresh {
		return nil
	}
	j.fresh = true
	return j.Confirm()
}

// Again waits until this node has applied the entry that made a judgement stale, at that log
// index. try counts from 0. After engine.RejudgeMax tries the caller is refused.
func (j *Judge) Again(try int, index uint64) error {
	staleTotal.Inc()
	if j.unread {
		return Refuse("overloaded", "this node is still reading its history back, so it cannot tell whether the Idempotency-Key was used before: ask another node")
	}
	if try+1 >= engine.RejudgeMax {
		return Refuse("overloaded", "the data this call was judged with changed too often; retry")
	}
	if err := j.shared.deps.Records.WaitApplied(j.ctx, index); err != nil {
		return Refuse("overloaded", "this node is behind; retry")
	}
	j.Renew()
	return nil
}

// Bounds of this package alone; bounds of the whole service are in engine/limits.go.
const (
	tokenCacheMax  = 65_536
	confirmTimeout = 300 * time.Millisecond // A read that can be answered without the leader waits for it no longer than this.
)

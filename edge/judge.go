package edge

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
)

// Deps is everything that judging needs from the rest of the house.
type Deps struct {
	Published Published
	Records   Records
	Secrets   *seal.Secrets
	Node      string // Written into records.
	Version   string // Semantic version of the binary.
	Logger    *slog.Logger
}

// Published is what this node knows now, lock-free.
type Published interface {
	Settings() *fsm.Settings                           // Never nil.
	List() *ofac.Index                                 // The active list; nil when none is open.
	Agent(engine.AgentSlot) *engine.AgentProfile       // nil: unknown.
	User(engine.UserSlot) *engine.UserProfile          // nil: unknown or erased.
	Fleet(engine.FleetSlot) *engine.FleetProfile       // nil: unknown.
	Disposition(leaf uint64) (uint64, bool)            // Leaf of a review's disposition.
	Comments(leaf uint64) []uint64                     // Leaves of a review's comments.
	Proposal(leaf uint64) (uint64, bool)               // Leaf of the open proposal on a review.
	Outcomes(leaf uint64) []uint64                     // Leaves that tell how a payment ended: its ending, then a late settle.
	LogTime() engine.Time                              // Log time, moved on by this node's clock since the last entry, at most 2 s.
	Applied() uint64                                   // Applied log index.
	Statuses() *fsm.Statuses                           // The status lists of this minute; nil: this node has none that may be relied on.
	ListByDigest(digest [32]byte) (*ofac.Index, error) // Any list of the last 90 days (diff).
	// ListAs is ListByDigest with the tables of one version of the matcher (replay).
	ListAs(digest [32]byte, matcher uint16) (*ofac.Index, error)
}

// Records reads history and frozen state.
type Records interface {
	Leaf(ctx context.Context, index uint64) ([]byte, error) // Local, else from a peer.
	View(ctx context.Context, minIndex uint64) (*fsm.View, error)
	ReadIndex(ctx context.Context) (uint64, error) // Leader's commit index, confirmed by a quorum; waits until it is applied here.
	WaitApplied(ctx context.Context, index uint64) error
	ReferenceUsed(engine.ReferenceKey) (leaf uint64, used bool) // By which payment before, as of what is applied here.
}

// Judges is what all judges of one node share: the terms of the moment, and what
// was verified and written once already. It is safe for concurrent use.
type Judges struct {
	deps     Deps
	tokens   *tokenCache
	recent   *recentTokens
	cards    *cardCache
	profiles profileCache
	terms    atomic.Pointer[Terms]
	mutex    sync.Mutex // Serialises rebuilding the terms; readers never take it.
}

// New makes the judges of one node.
func New(deps Deps) *Judges {
	return &Judges{deps: deps, tokens: newTokenCache(tokenCacheMax), recent: newRecentTokens(), cards: new(cardCache)}
}

// TokensHeld is how many places of the token cache are taken.
func (js *Judges) TokensHeld() int { return js.tokens.size() }

// Call is one call as a judge sees it: who asks for what. Of HTTP it knows nothing.
type Call struct {
	Caller    *Caller // nil only where nothing is judged: what is public.
	RequestID string
	Body      []byte    // As sent; its hash stands in the record.
	Hashed    *[32]byte // SHA-256 of Body, where it is known already; nil: it is computed.
	Document  strictjson.Document
	Idem      *wire.Idem
	IdemHash  string // Hex; for the record.
	Trace     string // The caller's trace id (W3C Trace Context), 32 hex digits; "" without one.
	Strict    bool   // Any unknown member of a screening call is refused.
	Item      bool   // One of a batch: its Body and Document are the item's.
}

// Timing is what judging took.
type Timing struct{ Verify, Rules time.Duration }

// Judge judges one call after another in the same working space: a batch needs
// one. It is not safe for concurrent use, and what it returns is good until it is
// asked again: a batch encodes each record before it begins the next call. Begin makes
// it ready, Reset gives back what it holds.
type Judge struct {
	shared *Judges
	call   *Call
	ctx    context.Context
	Terms  *Terms // Of now; renewed when this node had to catch up.
	Index  uint64 // Log index that an answer rests on; 0: what is applied.
	Timing Timing
	Forged bool                 // A token of the call had to be tried, and its signature was no good.
	Agent  *engine.AgentProfile // The call was judged with; nil: nobody's.
	// Between is called before each leaf that is opened: what walks over many lets
	// others have the processor there. nil: nothing is.
	Between func()

	screen  screening
	answer  leafjson.Screen    // The record that OpenAnswer read.
	fresh   bool               // The leader's state was asked for once already.
	parsers []*fastjson.Parser // Of leaves that are open.
}

var leafParsers fastjson.ParserPool

// Begin makes the judge ready for a call at the terms of now. Nothing of the call
// before is left but the room.
func (j *Judge) Begin(ctx context.Context, shared *Judges, call *Call) {
	j.ctx, j.shared, j.call, j.Terms = ctx, shared, call, shared.Now()
	j.Index, j.Timing, j.Forged, j.fresh = 0, Timing{}, false, false
}

// Caller is who makes the call; nil only where nothing is judged.
func (j *Judge) Caller() *Caller { return j.call.Caller }

// LogTime is the log time as this node knows it now.
func (j *Judge) LogTime() engine.Time { return j.shared.deps.Published.LogTime() }

// Secrets seal what the state keeps secret.
func (j *Judge) Secrets() *seal.Secrets { return j.shared.deps.Secrets }

// Within replaces the context: a deadline is known only after the caller is.
func (j *Judge) Within(ctx context.Context) { j.ctx = ctx }

// Renew takes the terms of now.
func (j *Judge) Renew() { j.Terms = j.shared.Now() }

// Reset closes the open leaves and forgets the call. The judge's five kilobytes stay
// where they are for the next call.
func (j *Judge) Reset() {
	for _, p := range j.parsers {
		leafParsers.Put(p)
	}
	j.parsers = j.parsers[:0]
	j.shared, j.call, j.ctx, j.Terms, j.Agent, j.Between = nil, nil, nil, nil, nil, nil
	j.Index, j.Timing, j.Forged, j.fresh = 0, Timing{}, false, false
	j.answer = leafjson.Screen{}
	j.screen.reset()
}

// Confirm waits until this node has applied all that the leader had committed.
func (j *Judge) Confirm() error {
	if _, err := j.shared.deps.Records.ReadIndex(j.ctx); err != nil {
		return &ReadError{err}
	}
	j.Renew()
	return nil
}

// ConfirmBriefly is Confirm for an answer that stands without it.
func (j *Judge) ConfirmBriefly() {
	ctx, cancel := context.WithTimeout(j.ctx, confirmTimeout)
	defer cancel()
	if _, err := j.shared.deps.Records.ReadIndex(ctx); err == nil {
		j.Renew()
	}
}

// CatchUp is Confirm, once a call.
func (j *Judge) CatchUp() error {
	if j.fresh {
		return nil
	}
	j.fresh = true
	return j.Confirm()
}

// Again waits until this node knows what made a judgement stale: the entry of that
// log index. try counts from 0; after engine.RejudgeMax of them the caller is refused.
func (j *Judge) Again(try int, index uint64) error {
	staleTotal.Inc()
	if try+1 >= engine.RejudgeMax {
		return Refuse("overloaded", "the data this call was judged with changed too often; retry")
	}
	if err := j.shared.deps.Records.WaitApplied(j.ctx, index); err != nil {
		return Refuse("overloaded", "this node is behind; retry")
	}
	j.Renew()
	return nil
}

// Bounds of this room alone; what the whole service is bound by stands in
// engine/limits.go.
const (
	tokenCacheMax  = 65_536
	confirmTimeout = 300 * time.Millisecond // A read that could be answered without the leader waits no longer for it.
)

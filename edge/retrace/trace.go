package retrace

import (
	"context"
	"encoding/json"
	"slices"

	"railguard/edge/recorded"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/ofac"
	"railguard/strictjson"
)

// Terms replace the policy and the list that were in force. Calls are judged again under them.
type Terms struct {
	Policy *engine.Policy // nil: the one that was in force at each call.
	List   *ofac.Index    // nil: the one that was active at each call.
}

// Sources are what a trace reads besides the leaves.
type Sources struct {
	// Record reads a screening record and the profiles it names.
	Record func(ctx context.Context, data []byte) (*leafjson.Screen, error)
	// List returns the list of a digest with the tables of a version of the matcher.
	List func(ctx context.Context, digest [32]byte, matcher uint16) (*ofac.Index, error)
	// Reference returns the key of a payment reference within the scope of an API key.
	Reference func(keyID, text string) engine.ReferenceKey
	// EIN opens an operator's tax number.
	EIN func(sealed []byte) (string, error)
	// Cleared returns the entries of a list that an officer has cleared, as of now, for a name of whom
	// a call says so much.
	Cleared func(name string, told *engine.Told, list *ofac.Index) []uint32
	// Panicked counts a panic that was contained.
	Panicked func()
}

// Trace judges leaves again in the order of the log, and keeps the tally. It takes counters
// from the records and corrects them by the payments that diverged since the first call it
// judged. It is not safe for concurrent use.
type Trace struct {
	*Tally

	terms   Terms
	sources Sources
	from    engine.Time // Earlier records only warm up the counts of R25; they are not judged.
	looker  *engine.Looker
	drift   *counterDrift
	bands   bands
	one     Case

	list     *ofac.Index // The list of the record before; nil: nobody has it.
	digest   [32]byte
	matcher  uint16
	listOpen bool
}

// NewTrace begins a tally of the calls from a time on.
func NewTrace(terms Terms, sources Sources, from engine.Time) *Trace {
	return &Trace{
		Tally: newTally(), terms: terms, sources: sources, from: from, looker: engine.NewLooker(),
		drift: newCounterDrift(), bands: bands{rows: map[bandKey]*engine.BandRow{}, near: map[nearKey]*engine.NearRow{}},
	}
}

// WarmUp returns how long before its first judged call a trace needs to see calls.
func (t *Terms) WarmUp() engine.Time {
	if t.Policy == nil || t.Policy.StructuringCount == 0 {
		return 0
	}
	return t.Policy.StructuringWindow
}

// Filter keys of the leaves, besides screening records, that move counters.
var (
	dispositionKey = engine.FilterKey(engine.FilterKind, "review.dispositioned")
	settledKey     = engine.FilterKey(engine.FilterKind, leaf.KindHoldSettled)
	releasedKey    = engine.FilterKey(engine.FilterKind, leaf.KindHoldReleased)
	dueKey         = engine.FilterKey(engine.FilterKind, leaf.KindDue)
	eventKeys      = []uint64{dispositionKey, settledKey, releasedKey, dueKey}
)

// Take looks at the next leaf. keys are the leaf's filter keys, none if they are not known. It
// returns an error only when ctx ends. A leaf that cannot be read is counted, and the tally
// shows that.
func (t *Trace) Take(ctx context.Context, data []byte, keys []uint64) error {
	if leaf.FormOf(data) == leaf.FormScreen {
		return t.takeRecord(ctx, data)
	}
	if len(data) == 0 {
		t.countUp(&t.Unreadable)
		return nil
	}
	moves := func(key uint64) bool { return slices.Contains(eventKeys, key) }
	if leaf.FormOf(data) == leaf.FormEvent && (len(keys) == 0 || slices.ContainsFunc(keys, moves)) {
		t.takeEvent(data)
	}
	return nil
}

func (t *Trace) takeRecord(ctx context.Context, data []byte) error {
	x, err := t.sources.Record(ctx, data)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.countUp(&t.Unreadable)
		return nil //nolint:nilerr // Told as a count.
	}
	c := &t.one
	c.Open(x)
	policy := t.terms.Policy
	if c.Known && policy != nil {
		t.bands.countCase(c, policy)
	}
	if x.At < t.from {
		return nil
	}
	if !c.Known {
		t.noteCase(c, &Outcome{Decision: c.Recorded}, false)
		return nil
	}
	list, err := t.listOf(ctx, x)
	if err != nil {
		return err
	}
	if policy == nil {
		policy = c.Policy
	} else {
		t.ageList(c, policy)
	}
	reference := engine.ReferenceKey{}
	if text := recorded.ReadText(x.Edge.Get(leaf.TagPayment)); text != "" {
		reference = t.sources.Reference(string(x.Edge.Get(leaf.TagKey)), text)
	}
	t.drift.correctCounters(c, reference)
	outcome := c.Judge(t.looker, list, policy)
	t.drift.keepOutcome(c, &outcome.Decision, reference)
	t.noteCase(c, &outcome, t.drift.full || t.bands.full)
	return nil
}

// listOf returns the list to judge a record with, nil if nobody has it any more.
func (t *Trace) listOf(ctx context.Context, x *leafjson.Screen) (*ofac.Index, error) {
	if t.terms.List != nil {
		return t.terms.List, nil
	}
	if !t.listOpen || t.digest != x.ListDigest || t.matcher != x.Matcher {
		list, err := t.sources.List(ctx, x.ListDigest, x.Matcher)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			list = nil
		}
		t.list, t.digest, t.matcher, t.listOpen = list, x.ListDigest, x.Matcher, true
	}
	return t.list, nil
}

// ageList sets whether the list would have been too old. The record does not hold when the list
// was last synchronised, only whether that was too long ago for the policy of that time.
func (t *Trace) ageList(c *Case, policy *engine.Policy) {
	was, now := c.Policy.ListAgeMax, policy.ListAgeMax
	known := was != 0 && followsAge(c.Moment.ListStale, was, now)
	if now == 0 {
		c.Moment.ListStale, known = false, true
	}
	if !known || !followsAge(c.Moment.ListOld, c.Policy.ListReviewAge, policy.ListReviewAge) {
		t.countUp(&t.ListAges)
	}
}

// followsAge tells whether what was found under one bound of the age holds under another.
func followsAge(old bool, was, now engine.Time) bool { return old && now <= was || !old && now >= was }

// event is the part of an event's leaf that moves counters.
type event struct {
	Kind        string      `json:"kind"`
	Time        string      `json:"time"`
	Type        string      `json:"type"`
	Reviewed    uint64      `json:"reviewedLeaf"`
	Screened    uint64      `json:"screenedLeaf"`
	Disposition string      `json:"disposition"`
	State       string      `json:"state"`
	Amount      json.Number `json:"amount"`
	Counted     json.Number `json:"countedUSDC"`
}

func (t *Trace) takeEvent(data []byte) {
	var e event
	err := json.Unmarshal(data, &e)
	at, timed := strictjson.ParseTime(e.Time)
	if err != nil || !timed {
		t.countUp(&t.Unreadable)
		return
	}
	if at < t.from {
		return
	}
	dollars := func(n json.Number) engine.USD {
		amount, err := engine.ParseUSD(n.String())
		if err != nil {
			return 0
		}
		return amount
	}
	switch e.Kind {
	case "review.dispositioned":
		t.noteDecision(e.Reviewed, e.Disposition == leaf.WordApproved)
		if e.Disposition != "APPROVED" {
			t.drift.followRefusal(e.Reviewed)
			return
		}
		t.drift.followApproval(e.Reviewed, at)
	case leaf.KindHoldSettled:
		t.drift.followSettlement(e.Screened, at, dollars(e.Amount), dollars(e.Counted))
	case leaf.KindHoldReleased:
		t.drift.followRelease(e.Screened, at)
	case leaf.KindDue:
		if e.State == "expired" { // An unresolved payment goes on counting.
			t.drift.followRelease(e.Screened, at)
		}
	}
}

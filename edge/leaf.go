package edge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/strictjson"
)

// Leaf is one opened audit record.
type Leaf struct {
	Index  uint64
	Data   []byte           // As stored; these bytes are hashed.
	Value  *fastjson.Value  // Parsed JSON; nil for a screening record from LeafScratch.Open.
	Shown  []byte           // The text of Value. For an event it is Data; nil if Value is nil.
	Record *leafjson.Screen // Set for a screening record only.
}

// shownRoom is enough bytes for the JSON of most screening records.
const shownRoom = 3 << 10

// LeafScratch is memory in which one leaf after another is opened, so that a walk over thousands
// of leaves makes little garbage. The zero value is ready.
type LeafScratch struct{ record leafjson.Screen }

// Open opens a leaf. The leaf is valid until the next Open. For a screening record it sets
// Record, but writes and parses no JSON.
func (r *LeafScratch) Open(j *Judge, index uint64, data []byte) (Leaf, error) {
	if leaf.FormOf(data) != leaf.FormScreen {
		return j.OpenLeaf(index, data)
	}
	return openScreen(j, index, data, &r.record)
}

func openScreen(j *Judge, index uint64, data []byte, x *leafjson.Screen) (Leaf, error) {
	if j.Between != nil {
		j.Between()
	}
	if err := openRecord(j.ctx, j.shared, data, x); err != nil {
		return Leaf{}, fmt.Errorf("leaf %d: %w", index, err)
	}
	return Leaf{Index: index, Data: data, Record: x}, nil
}

// OpenLeaf opens a leaf and parses its JSON; for a screening record it renders that JSON first.
// The call holds the parser until its end.
func (j *Judge) OpenLeaf(index uint64, data []byte) (Leaf, error) {
	if leaf.FormOf(data) == leaf.FormScreen {
		l, err := openScreen(j, index, data, new(leafjson.Screen))
		if err != nil {
			return Leaf{}, err
		}
		return j.parsed(&l)
	}
	if j.Between != nil {
		j.Between()
	}
	l, text := Leaf{Index: index, Data: data}, data
	if leaf.FormOf(data) == leaf.FormProfile {
		var err error
		if text, err = leafjson.Render(data, nil); err != nil {
			return Leaf{}, fmt.Errorf("leaf %d: %w", index, err)
		}
	}
	err := parseLeaf(j, &l, text)
	return l, err
}

// parsed returns a screening record with its JSON, which a walk over records does not make.
func (j *Judge) parsed(l *Leaf) (Leaf, error) {
	whole := *l
	if whole.Value != nil {
		return whole, nil
	}
	err := parseLeaf(j, &whole, strictjson.Build(shownRoom, whole.Record.Append))
	return whole, err
}

// parseLeaf parses a leaf's JSON with a parser that the call holds.
func parseLeaf(j *Judge, l *Leaf, text []byte) error {
	parser := leafParsers.Get()
	j.parsers = append(j.parsers, parser)
	value, err := parser.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("leaf %d: %w", l.Index, err)
	}
	l.Value, l.Shown = value, text
	return nil
}

// OpenRecord reads a screening record and the profiles it names.
func (j *Judge) OpenRecord(data []byte) (*leafjson.Screen, error) {
	x := new(leafjson.Screen)
	if err := openRecord(j.ctx, j.shared, data, x); err != nil {
		return nil, err
	}
	return x, nil
}

func openRecord(ctx context.Context, js *Judges, data []byte, x *leafjson.Screen) error {
	if err := x.Open(data); err != nil {
		return err
	}
	return readProfiles(ctx, js, x)
}

// OpenRecord reads a screening record into x, and the profiles it names. x keeps parts of data.
func (js *Judges) OpenRecord(ctx context.Context, data []byte, x *leafjson.Screen) error {
	return openRecord(ctx, js, data, x)
}

// readProfiles reads the profiles that a record names.
func readProfiles(ctx context.Context, js *Judges, x *leafjson.Screen) (err error) {
	if x.Agent, err = js.readProfile(ctx, x.Profile); err == nil {
		x.Party, err = js.readProfile(ctx, x.User)
	}
	return err
}

// OpenAnswer reads the record that this call has just written. agent is the profile that the
// call was judged with. The profile's own leaf may not have arrived here yet, so the answer
// shows the agent from agent.
func (j *Judge) OpenAnswer(data []byte, agent *engine.AgentProfile) (*leafjson.Screen, error) {
	x := &j.answer
	if err := x.Open(data); err != nil {
		return nil, err
	}
	if x.Judged && agent != nil {
		x.Agent = j.Terms.card(j.shared.cards, agent).shown
	}
	return x, nil
}

// profilesMax is how many opened profiles are cached.
const profilesMax = 16_384

// profileCache is direct-mapped by leaf: bounded, lock-free.
type profileCache struct {
	places [profilesMax]atomic.Pointer[leaf.Profile]
}

// readProfile returns the profile that a record names, nil if it names none. A profile is in
// the log before its record and is kept as long, so a node that has the record has the profile
// too.
func (js *Judges) readProfile(ctx context.Context, ref leaf.Ref) (*leaf.Profile, error) {
	if ref.Hash == [32]byte{} {
		return nil, nil
	}
	place := &js.profiles.places[ref.Leaf&(profilesMax-1)]
	if p := place.Load(); p != nil && p.Leaf == ref.Leaf {
		return p, nil
	}
	data, err := js.deps.Records.Leaf(ctx, ref.Leaf)
	if err != nil {
		return nil, fmt.Errorf("profile %d: %w", ref.Leaf, err)
	}
	p, err := leaf.DecodeProfile(data)
	if err != nil {
		return nil, fmt.Errorf("profile %d: %w", ref.Leaf, err)
	}
	place.Store(p)
	return p, nil
}

// DropLeaf releases the parser of the leaf that was opened last. A walk over many leaves must
// not hold a parser for each.
func (j *Judge) DropLeaf() {
	last := len(j.parsers) - 1
	leafParsers.Put(j.parsers[last])
	j.parsers = j.parsers[:last]
}

// LoadLeaf reads a leaf by its index. It returns 404 for a leaf that is missing here only after
// this node has applied the leader's commit index (decision 49, "Reading").
func (j *Judge) LoadLeaf(index uint64) (Leaf, error) {
	data, err := j.records().Leaf(j.ctx, index)
	if errors.Is(err, audit.ErrNotYet) {
		if err := j.Confirm(); err != nil {
			return Leaf{}, err
		}
		data, err = j.records().Leaf(j.ctx, index)
	}
	if err != nil {
		return Leaf{}, LeafError(err)
	}
	return j.OpenLeaf(index, data)
}

// LeavesHeld returns how many leaves of a judge are open.
func LeavesHeld(j *Judge) int { return len(j.parsers) }

// DropLeaves releases the parsers of all open leaves but the first held ones.
func DropLeaves(j *Judge, held int) {
	for len(j.parsers) > held {
		j.DropLeaf()
	}
}

// Kind returns the kind of the leaf, such as leaf.KindScreen.
func (l *Leaf) Kind() string {
	if l.Record != nil {
		return leaf.KindScreen
	}
	return l.Text("kind")
}

// KeyID returns the id of the API key that made the call, "" if it is absent.
func (l *Leaf) KeyID() string {
	if l.Record != nil {
		return l.Record.KeyID()
	}
	return l.Text("keyId")
}

// OperatorOf returns the id of the operator that the leaf is about, "" if it is absent.
func (t *Terms) OperatorOf(l *Leaf) string {
	if l.Record != nil {
		return l.Record.OperatorID()
	}
	return l.Text("operatorId")
}

// at returns the leaf's JSON. It panics for a leaf without parsed JSON, because a lookup there
// would silently find nothing.
func (l *Leaf) at() *fastjson.Value {
	if l.Value == nil && l.Record != nil {
		panic("BUG: a screening record that was not parsed is asked for a member")
	}
	return l.Value
}

// Text returns a string member, "" when it is absent.
func (l *Leaf) Text(path ...string) string { return string(l.at().GetStringBytes(path...)) }

// Raw returns a member's JSON, nil when it is absent.
func (l *Leaf) Raw(path ...string) []byte {
	v := l.at().Get(path...)
	if v == nil {
		return nil
	}
	return strictjson.AppendValue(nil, v)
}

// Number returns a whole, non-negative member, 0 when it is absent.
func (l *Leaf) Number(path ...string) uint64 { return l.at().GetUint64(path...) }

// Has reports whether the member is there.
func (l *Leaf) Has(path ...string) bool { return l.at().Exists(path...) }

// Flag returns a boolean member, false when it is absent.
func (l *Leaf) Flag(path ...string) bool { return l.at().GetBool(path...) }

// Instant returns a time member, 0 when it is absent. Leaves hold milliseconds.
func (l *Leaf) Instant(path ...string) engine.Time {
	at, _ := strictjson.ParseTime(l.Text(path...))
	return at
}

// CopyTo copies those of the named members that the leaf has into an answer.
func (l *Leaf) CopyTo(m *strictjson.Members, names ...string) {
	for _, name := range names {
		if v := l.at().Get(name); v != nil {
			m.Name(name)
			*m = strictjson.AppendValue(*m, v)
		}
	}
}

// CopyAs writes a member that is there under another name: leaves keep the words of the calls that they
// hold, and answers have one name for one thing (decision 163).
func (l *Leaf) CopyAs(m *strictjson.Members, name, as string) {
	if v := l.at().Get(name); v != nil {
		m.Name(as)
		*m = strictjson.AppendValue(*m, v)
	}
}

// Texts returns a list of strings, nil when it is absent.
func (l *Leaf) Texts(path ...string) []string {
	var texts []string
	for _, v := range l.at().GetArray(path...) {
		texts = append(texts, string(v.GetStringBytes()))
	}
	return texts
}

// RecordAmount returns the amount that the log counted for the call. If there is none, it
// parses the literal of the request.
func RecordAmount(l *Leaf) engine.USD {
	if l.Has("evidence", "amount") {
		return engine.USD(l.Value.GetInt64("evidence", "amount"))
	}
	amount, err := engine.ParseUSD(l.Raw("_request", "amount"))
	if err != nil {
		return 0
	}
	return amount
}

// Disposition is the part of a record's disposition that a caller may see.
type Disposition struct {
	Leaf     Leaf
	Said     leaf.Dispositioned // The content of Leaf.
	Present  bool
	Comments []Leaf
	Proposed *Leaf  // The open proposal, or the confirmed one; nil: none, or the caller may not see it.
	Payment  []Leaf // The leaves that say how the payment ended: its ending, then a late settle.
}

// Disposition loads a record's disposition as this node knows it, with comments for callers
// that may read them. Unless local is set, it first asks the leader briefly for what this node
// lacks.
func (j *Judge) Disposition(l *Leaf, local bool) (*Disposition, error) {
	view := &Disposition{}
	if l.Record.Verdict != engine.Review {
		return view, j.loadPaymentNow(l, view, local || l.Record.HoldUntil == 0)
	}
	later, decided := j.shared.deps.Published.Disposition(l.Index)
	if !decided && !local {
		// A disposition acknowledged by another node must show (decision 62, no. 6). Without a
		// leader the local answer is still valid, with its index.
		j.ConfirmBriefly()
		later, decided = j.shared.deps.Published.Disposition(l.Index)
	}
	if decided {
		data, err := j.records().Leaf(j.ctx, later)
		if err != nil {
			return nil, LeafError(err)
		}
		opened, err := j.OpenLeaf(later, data)
		if err != nil {
			return nil, err
		}
		if view, err = ReadDisposition(&opened); err != nil {
			return nil, err
		}
	}
	if err := j.loadPaymentNow(l, view, local || !view.Present || view.Said.Disposition != leaf.WordApproved); err != nil {
		return nil, err
	}
	return view, j.LoadComments(l, view)
}

// loadPaymentNow is LoadPayment. If the payment may have changed its state elsewhere, it first
// asks the leader briefly for what this node lacks, unless local is set.
func (j *Judge) loadPaymentNow(l *Leaf, view *Disposition, local bool) error {
	err := LoadPayment(j, l, view)
	if err != nil || local || !view.mayChange() {
		return err
	}
	j.ConfirmBriefly()
	view.Payment, view.Proposed = nil, nil
	return LoadPayment(j, l, view)
}

// ReadDisposition returns the view of a disposition without comments, proposal and payment.
func ReadDisposition(l *Leaf) (*Disposition, error) {
	view := &Disposition{Leaf: *l, Present: true}
	return view, leaf.ReadInto(l.Data, &view.Said)
}

// loadProposal adds the open proposal to view, or the one that the disposition confirmed. The
// proposal may be of a suspicious activity report, which the party must not learn of, so only
// callers that see all get it.
func loadProposal(j *Judge, l *Leaf, view *Disposition) error {
	at, any := j.shared.deps.Published.Proposal(l.Index)
	if view.Present {
		at = view.Said.ProposedLeaf
		any = at != 0 // 0 means none: no proposal is the first leaf of a log.
	}
	if !any || !j.call.Caller.SeesAll() {
		return nil
	}
	data, err := j.records().Leaf(j.ctx, at)
	if err != nil {
		return LeafError(err)
	}
	proposal, err := j.OpenLeaf(at, data)
	view.Proposed = &proposal
	return err
}

// LoadPayment adds to view how the record's payment ended, and the proposal on it.
func LoadPayment(j *Judge, l *Leaf, view *Disposition) error {
	if err := loadProposal(j, l, view); err != nil {
		return err
	}
	endings, err := j.Endings(l.Index)
	if err != nil {
		return err
	}
	for _, at := range endings {
		data, err := j.records().Leaf(j.ctx, at)
		if err != nil {
			return LeafError(err)
		}
		ending, err := j.OpenLeaf(at, data)
		if err != nil {
			return err
		}
		view.Payment = append(view.Payment, ending)
	}
	return nil
}

// LoadComments adds the comments on a record to view, for callers that may read them.
func (j *Judge) LoadComments(l *Leaf, view *Disposition) error {
	if !j.call.Caller.SeesAll() {
		return nil
	}
	for _, at := range j.shared.deps.Published.Comments(l.Index) {
		data, err := j.records().Leaf(j.ctx, at)
		if err != nil {
			return LeafError(err)
		}
		comment, err := j.OpenLeaf(at, data)
		if err != nil {
			return err
		}
		view.Comments = append(view.Comments, comment)
	}
	return nil
}

// PastRetention reports whether a record of that time is past retention. It goes by log time
// alone, whether or not the record was compacted.
func (j *Judge) PastRetention(at engine.Time) bool {
	return j.LogTime()-at >= engine.Retention
}

// Record loads the screening record of a transaction id. It returns not_found if the id is
// unknown, past its 90 days, no screening record, or not for this caller.
func (j *Judge) Record(txnID string) (Leaf, error) {
	index, ok := j.Terms.IDs.ParseTxn(txnID)
	if !ok {
		return Leaf{}, unknownTransaction()
	}
	l, err := j.LoadLeaf(index)
	if IsGone(err) {
		return Leaf{}, unknownTransaction() // The same words as for another caller's record, so that they do not reveal whether there is one.
	}
	if err != nil {
		return Leaf{}, err
	}
	if l.Kind() != leaf.KindScreen || j.PastRetention(l.Instant("screenedAt")) || !j.MayRead(&l) {
		if err := j.Confirm(); err != nil { // LoadLeaf confirms for a missing record. Doing it here too keeps the time from revealing that there is one.
			return Leaf{}, err
		}
		return Leaf{}, unknownTransaction()
	}
	return l, nil
}

// MayRead reports whether the caller may read a record.
func (j *Judge) MayRead(l *Leaf) bool { return j.Terms.MayRead(j.call.Caller, l) }

// IsGone reports whether an error says that a leaf is not there, or not any more.
func IsGone(err error) bool {
	refused := (*Refusal)(nil)
	return errors.As(err, &refused) && refused.Code == "not_found"
}

func unknownTransaction() *Refusal { return NotFound("no such transaction, or past its 90 days") }

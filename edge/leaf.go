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

// Leaf is one audit record, parsed.
type Leaf struct {
	Index  uint64
	Data   []byte           // As stored: what is hashed.
	Value  *fastjson.Value  // nil of a screening record that LeafRoom.Open gave.
	Shown  []byte           // As JSON; an event's is Data. As Value.
	Record *leafjson.Screen // Of a screening record; nil for others.
}

// shownRoom is more than most screening records take as JSON.
const shownRoom = 3 << 10

// LeafRoom is what one leaf after another is opened in: a walk over thousands makes no
// garbage of each. The zero value is ready.
type LeafRoom struct{ record leafjson.Screen }

// Open reads a leaf that is good until the next one is opened in the room. A screening
// record is neither written as JSON nor parsed: it is its Record.
func (r *LeafRoom) Open(j *Judge, index uint64, data []byte) (Leaf, error) {
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

// OpenLeaf parses a leaf; a screening record as it is shown. The parser is held
// by the call until its end.
func (j *Judge) OpenLeaf(index uint64, data []byte) (Leaf, error) {
	if leaf.FormOf(data) == leaf.FormScreen {
		l, err := openScreen(j, index, data, new(leafjson.Screen))
		if err != nil {
			return Leaf{}, err
		}
		err = parseLeaf(j, &l, strictjson.Build(shownRoom, l.Record.Append))
		return l, err
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

// parseLeaf reads a leaf's JSON with a parser of the call's.
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
	var err error
	if x.Agent, err = js.readProfile(ctx, x.Profile); err == nil {
		x.Party, err = js.readProfile(ctx, x.User)
	}
	return err
}

// OpenAnswer reads the record that a call has just written and that was judged with this
// profile (see Agent). The profile's own leaf may not be here yet, so the answer shows the
// agent from the profile.
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

// profilesMax is how many profiles are kept, read and taken apart.
const profilesMax = 16_384

// profileCache is direct-mapped by leaf: bounded, lock-free.
type profileCache struct {
	places [profilesMax]atomic.Pointer[leaf.Profile]
}

// readProfile returns the profile that a record names; nil for none. It stands in the
// log before the record and is kept as long, so it is here wherever that is.
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

// DropLeaf gives back the parser of the leaf that was opened last: walks over
// many leaves must not hold a parser for each.
func (j *Judge) DropLeaf() {
	last := len(j.parsers) - 1
	leafParsers.Put(j.parsers[last])
	j.parsers = j.parsers[:last]
}

// LoadLeaf reads a leaf by its index. A leaf that this node does not have yet
// is a 404 only after the leader's commit index was applied here (decision 49, "Reading").
func (j *Judge) LoadLeaf(index uint64) (Leaf, error) {
	data, err := j.shared.deps.Records.Leaf(j.ctx, index)
	if errors.Is(err, audit.ErrNotYet) {
		if err := j.Confirm(); err != nil {
			return Leaf{}, err
		}
		data, err = j.shared.deps.Records.Leaf(j.ctx, index)
	}
	if err != nil {
		return Leaf{}, LeafError(err)
	}
	return j.OpenLeaf(index, data)
}

// LeavesHeld is how many leaves of a judge are open.
func LeavesHeld(j *Judge) int { return len(j.parsers) }

// DropLeaves gives back the parsers of all leaves but the first so many that are open.
func DropLeaves(j *Judge, held int) {
	for len(j.parsers) > held {
		j.DropLeaf()
	}
}

// Kind is what the leaf records, such as leaf.KindScreen.
func (l *Leaf) Kind() string {
	if l.Record != nil {
		return leaf.KindScreen
	}
	return l.Text("kind")
}

// KeyID names the API key that asked, "" when it is absent.
func (l *Leaf) KeyID() string {
	if l.Record != nil {
		return l.Record.KeyID()
	}
	return l.Text("keyId")
}

// OperatorLegalName names the operator that the leaf is about, "" when it is absent.
func (l *Leaf) OperatorLegalName() string {
	if l.Record != nil {
		return l.Record.OperatorLegalName()
	}
	return l.Text("operatorLegalName")
}

// at is the leaf's JSON. To ask one that has none would find nothing, in silence.
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

// CopyTo copies members of the leaf into an answer, those that are there.
func (l *Leaf) CopyTo(m *strictjson.Members, names ...string) {
	for _, name := range names {
		if v := l.at().Get(name); v != nil {
			m.Name(name)
			*m = strictjson.AppendValue(*m, v)
		}
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

// RecordAmount is what the log counted the call with, else its literal read again.
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

// Disposition is what a caller may know of a record's disposition.
type Disposition struct {
	Leaf     Leaf
	Said     leaf.Dispositioned // What Leaf says.
	Present  bool
	Comments []Leaf
	Proposed *Leaf  // An open proposal, or the one that was confirmed, for those who may see all; nil: none.
	Payment  []Leaf // How the payment ended, then a late settle.
}

// Disposition loads what is known here of a record's disposition and, for
// those who may read them, its comments.
func (j *Judge) Disposition(l *Leaf, local bool) (*Disposition, error) {
	view := &Disposition{}
	if l.Record.Verdict != engine.Review {
		if l.Record.HoldUntil != 0 && !local && len(j.shared.deps.Published.Outcomes(l.Index)) == 0 {
			j.ConfirmBriefly()
		}
		return view, LoadPayment(j, l, view)
	}
	later, decided := j.shared.deps.Published.Disposition(l.Index)
	if !decided && !local {
		// A disposition acknowledged elsewhere must show (decision 62, no. 6);
		// without a leader the local answer still stands, with its index.
		j.ConfirmBriefly()
		later, decided = j.shared.deps.Published.Disposition(l.Index)
	}
	if decided {
		data, err := j.shared.deps.Records.Leaf(j.ctx, later)
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
	if err := LoadPayment(j, l, view); err != nil {
		return nil, err
	}
	return view, j.LoadComments(l, view)
}

// ReadDisposition is the view of a disposition alone.
func ReadDisposition(l *Leaf) (*Disposition, error) {
	view := &Disposition{Leaf: *l, Present: true}
	return view, leaf.ReadInto(l.Data, &view.Said)
}

// loadProposal adds to view an open proposal, or the one that the disposition confirmed. It
// may be of a report that the party must not learn of, so it is for those who see all.
func loadProposal(j *Judge, l *Leaf, view *Disposition) error {
	at, any := j.shared.deps.Published.Proposal(l.Index)
	if view.Present {
		at = view.Said.ProposedLeaf
		any = at != 0 // The first leaf of a log is no proposal.
	}
	if !any || !j.call.Caller.SeesAll() {
		return nil
	}
	data, err := j.shared.deps.Records.Leaf(j.ctx, at)
	if err != nil {
		return LeafError(err)
	}
	proposal, err := j.OpenLeaf(at, data)
	view.Proposed = &proposal
	return err
}

// LoadPayment adds to view how the record's payment ended, and what is proposed for it.
func LoadPayment(j *Judge, l *Leaf, view *Disposition) error {
	if err := loadProposal(j, l, view); err != nil {
		return err
	}
	for _, at := range j.shared.deps.Published.Outcomes(l.Index) {
		data, err := j.shared.deps.Records.Leaf(j.ctx, at)
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

// LoadComments adds the comments on a record to view, for those who may read them.
func (j *Judge) LoadComments(l *Leaf, view *Disposition) error {
	if !j.call.Caller.SeesAll() {
		return nil
	}
	for _, at := range j.shared.deps.Published.Comments(l.Index) {
		data, err := j.shared.deps.Records.Leaf(j.ctx, at)
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

// PastRetention is exact by log time, whatever was compacted already.
func (j *Judge) PastRetention(at engine.Time) bool {
	return j.shared.deps.Published.LogTime()-at >= engine.Retention
}

// Record loads the screening record of a transaction id: not found when it is
// unknown, past its 90 days, no screening record, or not for this caller.
func (j *Judge) Record(txnID string) (Leaf, error) {
	index, ok := j.Terms.IDs.ParseTxn(txnID)
	if !ok {
		return Leaf{}, unknownTransaction()
	}
	l, err := j.LoadLeaf(index)
	if refused := (*Refusal)(nil); errors.As(err, &refused) && refused.Code == "not_found" {
		return Leaf{}, unknownTransaction() // In the words of what is not for this caller: they tell nobody that there is a record.
	}
	if err != nil {
		return Leaf{}, err
	}
	if l.Kind() != leaf.KindScreen || j.PastRetention(l.Instant("screenedAt")) || !j.Terms.MayRead(j.call.Caller, &l) {
		if err := j.Confirm(); err != nil { // As for a record that is not there: the time it takes tells nothing either.
			return Leaf{}, err
		}
		return Leaf{}, unknownTransaction()
	}
	return l, nil
}

func unknownTransaction() *Refusal { return NotFound("no such transaction, or past its 90 days") }

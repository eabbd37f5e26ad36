package reconcile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"railguard/strictjson"
)

// Class is what a finding says. The numbers are in the order of the names, in which findings are
// told; they are in no file.
type Class uint8

// The classes.
const (
	AfterEnd Class = iota
	Ambiguous
	AmountDiffers
	BeforeVerdict
	CurrencyDiffers
	Deferred
	Duplicate
	Gap
	Inferred
	Late
	LineTwice
	Merged
	NeverSettled
	NotAllowed
	PayeeDiffers
	PayerDiffers
	Returned
	Split
	ToldNotFound
	ToldOtherwise
	Unscreened
	classCount
)

// classes are the names, whether a class is a fault (the others are notices), and what it means.
var classes = [classCount]struct {
	name    string
	fault   bool
	meaning string
}{
	AfterEnd:        {"after_end", true, "paid after its leave was released, expired or lapsed"},
	Ambiguous:       {"ambiguous", true, "its keys lead to different records, or several records fit it equally"},
	AmountDiffers:   {"amount", true, "another amount was paid than allowed"},
	BeforeVerdict:   {"before_verdict", true, "paid before it was allowed"},
	CurrencyDiffers: {"currency", true, "paid in another currency than dollars"},
	Deferred:        {"deferred", false, "may still be paid: not due at the end of the time"},
	Duplicate:       {"duplicate", true, "paid once more, after the payment itself"},
	Gap:             {"gap", true, "something is missing: balances, numbers of statements, or time"},
	Inferred:        {"inferred", false, "matched by payee, amount and time alone"},
	Late:            {"late", false, "paid, but later than payments of this rail take"},
	LineTwice:       {"line_twice", true, "the extract has this id more than once"},
	Merged:          {"merged", false, "one settlement pays several records"},
	NeverSettled:    {"never_settled", false, "allowed, and not on the rail"},
	NotAllowed:      {"not_allowed", true, "paid although it was refused, or is still under review"},
	PayeeDiffers:    {"payee", true, "paid to another account than allowed"},
	PayerDiffers:    {"payer", true, "paid from another account than allowed"},
	Returned:        {"returned", false, "came back, and is not released in the log"},
	Split:           {"split", false, "several settlements pay one record"},
	ToldNotFound:    {"told_not_found", true, "somebody said that it was settled, and the rail does not have it"},
	ToldOtherwise:   {"told_otherwise", true, "settled under another reference than somebody said"},
	Unscreened:      {"unscreened", true, "no record allows it: nobody asked"},
}

// Classes are the names of all classes, sorted.
func Classes() (names []string) {
	for c := range classCount {
		names = append(names, c.String())
	}
	return names
}

// ClassNamed returns the class with a name.
func ClassNamed(name string) (Class, bool) {
	for c := range classCount {
		if classes[c].name == name {
			return c, true
		}
	}
	return 0, false
}

// Meaning says in words what a finding of the class means.
func (c Class) Meaning() string { return classes[c].meaning }

// String is the name of the class.
func (c Class) String() string { return classes[c].name }

// IsFault reports whether the class is a fault.
func (c Class) IsFault() bool { return classes[c].fault }

// Reasons of a gap.
const (
	GapBalances = "balances"       // Opening balance and entries do not give the closing balance.
	GapBatch    = "batch"          // The payments of an entry do not add up to it.
	GapSequence = "sequence"       // A statement is missing between two.
	GapWindow   = "window"         // The statements do not cover the time.
	GapRecords  = "records_window" // The records do not cover the time.
)

// finding is one finding, as numbers. With a list, the list's records count and record does not.
type finding struct {
	class      Class
	settlement int32 // -1: none.
	record     int32 // -1: none.
	list       int32 // -1: none.
	detail     int32 // Of a gap: its index.
}

// gap is what an extract lacks.
type gap struct{ reason, statement string }

func (r *Run) say(f finding) error {
	if len(r.findings) >= linksMax {
		return ErrTooMuch
	}
	r.findings = append(r.findings, f)
	return nil
}

// compare orders findings: by class, settlement, records; gaps by reason and statement.
func (r *Run) compare(a, b finding) int {
	if a.class != b.class {
		return cmp.Compare(a.class, b.class)
	}
	if a.class == Gap {
		x, y := &r.gaps[a.detail], &r.gaps[b.detail]
		return cmp.Or(strings.Compare(x.reason, y.reason), strings.Compare(x.statement, y.statement))
	}
	if order := bytes.Compare(r.settlementID(&a), r.settlementID(&b)); order != 0 {
		return order
	}
	return slices.CompareFunc(r.recordsOf(&a), r.recordsOf(&b), r.compareTxn)
}

func (r *Run) settlementID(f *finding) []byte {
	if f.settlement < 0 {
		return nil
	}
	return r.id(f.settlement)
}

func (r *Run) recordsOf(f *finding) []int32 {
	switch {
	case f.list >= 0:
		return r.lists[f.list].rows
	case f.record >= 0:
		return []int32{f.record}
	}
	return nil
}

func (r *Run) txnIDsOf(f *finding) (names []string) {
	for _, record := range r.recordsOf(f) {
		names = append(names, txnPrefix+string(r.records[record].txn[:]))
	}
	return names
}

// appendFinding writes a finding as one line of JSON.
func (r *Run) appendFinding(dst []byte, f *finding) []byte {
	m := strictjson.Members(append(dst, '{'))
	m.Text("class", f.class.String())
	m.Bool("fault", f.class.IsFault())
	if f.settlement >= 0 {
		m.Text("settlement", string(r.id(f.settlement)))
	} else {
		m.Null("settlement")
	}
	m.Texts("txnIds", r.txnIDsOf(f))
	if f.list >= 0 && r.lists[f.list].more > 0 {
		m.Uint("more", uint64(r.lists[f.list].more))
	}
	if f.class == Gap {
		m.Text("reason", r.gaps[f.detail].reason)
		m.Optional("statement", r.gaps[f.detail].statement)
	}
	return append(m, '}', '\n')
}

// Count is how many there are of something, and the sum of their dollars. What is in another
// currency is counted, and not added.
type Count struct {
	Number uint64
	Sum    Total
}

func (c *Count) add(s *settlementRow) {
	c.Number++
	if s.isDollar {
		c.Sum.add(s.amount)
	}
}

// Result is a run that has ended.
type Result struct {
	run      *Run
	classes  [classCount]Count
	digest   [sha256.Size]byte
	Findings uint64
	Faults   uint64
}

// end orders the findings, counts and digests them.
func (r *Run) end() (*Result, error) {
	slices.SortStableFunc(r.findings, r.compare)
	result := &Result{run: r, Findings: uint64(len(r.findings))}
	for i := range r.findings {
		f := &r.findings[i]
		count := &result.classes[f.class]
		switch {
		case f.settlement >= 0:
			count.add(&r.settlements[f.settlement])
		case f.record >= 0:
			count.Number++
			count.Sum.add(Amount{Micro: r.records[f.record].counts()})
		default:
			count.Number++
		}
		if f.class.IsFault() {
			result.Faults++
		}
	}
	hash := sha256.New()
	err := result.WriteFindings(hash)
	result.digest = [sha256.Size]byte(hash.Sum(nil))
	return result, err
}

// WriteFindings writes all findings, one JSON object a line, in their one order.
func (x *Result) WriteFindings(w io.Writer) error {
	var buffer []byte
	for i := range x.run.findings {
		buffer = x.run.appendFinding(buffer, &x.run.findings[i])
		if len(buffer) > 32<<10 || i == len(x.run.findings)-1 {
			if _, err := w.Write(buffer); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
	}
	return nil
}

// Fault is a finding that is a fault, for whoever tells of it.
type Fault struct {
	Class      string
	Settlement string   // Its id in the extract; "": the rail has none.
	TxnIDs     []string // The records; a long list is cut, as in findings.
	Gap        string   // What is missing.
	Statement  string   // Of a gap: which statement.
}

// FirstFaults returns the first faults, in the order of the findings.
func (x *Result) FirstFaults(most int) (faults []Fault) {
	r := x.run
	for i := range r.findings {
		f := &r.findings[i]
		if !f.class.IsFault() {
			continue
		}
		if len(faults) == most {
			break
		}
		fault := Fault{Class: f.class.String(), Settlement: string(r.settlementID(f)), TxnIDs: r.txnIDsOf(f)}
		if f.class == Gap {
			fault.Gap, fault.Statement = r.gaps[f.detail].reason, r.gaps[f.detail].statement
		}
		faults = append(faults, fault)
	}
	return faults
}

// Hash is the same for the same fault in every run over a rail, whatever else the run compares. A
// gap is another one in each time.
func (f *Fault) Hash(s *Settings) [sha256.Size]byte {
	parts := append([]string{"railguard reconciliation fault v1", s.Rail, f.Class, f.Settlement, f.Gap, f.Statement}, f.TxnIDs...)
	if f.Gap != "" {
		parts = append(parts, s.From.String(), s.To.String())
	}
	text, err := json.Marshal(parts)
	if err != nil {
		panic("BUG: texts as JSON: " + err.Error())
	}
	return sha256.Sum256(text)
}

// CountOf is how many findings of a class there are, and their dollars.
func (x *Result) CountOf(c Class) *Count { return &x.classes[c] }

// Because says why the guarantee is only conditional.
func (x *Result) Because() []string {
	because := []string{"extract_unauthenticated"}
	if x.run.matched[byInference].Number > 0 {
		because = append(because, "inferred")
	}
	if !x.run.settings.Witnessed {
		because = append(because, "unwitnessed")
	}
	return because
}

// Summary is the result as one JSON object: what was compared, under which settings, and what was
// found, without a name, an account or a finding itself.
func (x *Result) Summary() []byte {
	r := x.run
	return strictjson.Build(4<<10, func(m *strictjson.Members) {
		r.settings.write(m)
		m.List("files", fileMembers(r.files))
		m.BeginObject("records")
		m.Uint("first", r.span.First)
		m.Uint("end", r.span.End)
		m.Optional("from", r.span.From)
		m.Optional("to", r.span.To)
		m.Uint("payments", uint64(len(r.records)))
		m.Hex("digest", r.span.digest)
		m.EndObject()
		m.Uint("lines", r.lines)
		m.Uint("settlements", r.paymentCount)
		m.BeginObject("aside")
		for _, aside := range [...]struct {
			name string
			n    uint64
		}{{"incoming", r.aside.incoming}, {"returns", r.aside.returns}, {"fees", r.aside.fees}, {"otherPayer", r.aside.otherPayer}, {"unbooked", r.aside.unbooked}} {
			m.Uint(aside.name, aside.n)
		}
		m.EndObject()
		m.BeginObject("matchedBy")
		for w := range r.matched {
			writeCount(m, wayNames[w], &r.matched[w])
		}
		m.EndObject()
		m.BeginObject("classes")
		for c := range x.classes {
			writeCount(m, classes[c].name, &x.classes[c])
		}
		m.EndObject()
		m.Uint("findings", x.Findings)
		m.Uint("faults", x.Faults)
		m.Text("findingsDigest", hex.EncodeToString(x.digest[:]))
		m.Text("guarantee", "conditional")
		m.Texts("because", x.Because())
	})
}

// writeCount writes a count that is not 0.
func writeCount(m *strictjson.Members, name string, c *Count) {
	if c.Number == 0 {
		return
	}
	m.BeginObject(name)
	m.Uint("count", c.Number)
	m.Text("amount", c.Sum.String())
	m.EndObject()
}

func fileMembers(files []File) (items []strictjson.Members) {
	for i := range files {
		var m strictjson.Members
		m.Text("sha256", files[i].Digest)
		m.Uint("bytes", files[i].Bytes)
		m.Uint("lines", files[i].Lines)
		items = append(items, m)
	}
	return items
}

package casework

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/learning"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// What officers decided, counted from the log alone (docs/learning.md). A walk goes over the leaves
// of a period once for each kind of leaf that counts. It is bounded, and says where it was cut.

func learningRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/learning", Stream: true, Handle: showLearning},
	}
}

const (
	learningMax  = 10_000 // How many decisions one answer counts.
	learningTurn = 64     // How many leaves one turn reads.
	openedMax    = 4_096  // How many leaves one turn looks at that are counted without being read.
)

// lesson is one walk.
type lesson struct {
	c        *border.Request
	judge    *edge.Judge
	figures  learning.Figures
	subjects map[string]string // By the id of a key: whom it acts for.
	people   map[string]string // By subject: its name.
	from, to uint64            // The leaves of the period.
	first    engine.Time       // The period, both inclusive.
	last     engine.Time
	left     int         // How many decisions may still be counted.
	newest   engine.Time // When the last one of them was made.
	cut      bool
	reopened map[uint64]bool // The records of payments that were counted as reopened.
}

// showLearning is GET /v1/learning.
func showLearning(c *border.Request) (border.Answer, error) {
	format := c.Query("format")
	if format != "" && format != "json" && format != "csv" {
		return border.Answer{}, border.BadQuery("format", "must be json or csv")
	}
	most := uint64(learningMax)
	if text := c.Query("limit"); text != "" {
		var err error
		if most, err = strconv.ParseUint(text, 10, 32); err != nil || most == 0 || most > learningMax {
			return border.Answer{}, border.BadQuery("limit", "must be a whole number from 1 to "+strconv.Itoa(learningMax))
		}
	}
	from, to, err := border.TimeRange(c, 30*engine.DayLength)
	if err != nil {
		return border.Answer{}, err
	}
	l := newLesson(c, judgeOf(c), from, to)
	l.left = int(most)
	if err := l.walk(); err != nil {
		return border.Answer{}, err
	}
	if format == "csv" {
		return tabulateRows(c, "learning", learning.Columns, append(l.figures.Rows(l.names()), l.period()))
	}
	m := c.Out[:0]
	m.Time("from", l.first)
	m.Time("to", l.last)
	m.Bool("complete", !l.cut)
	l.figures.Write(&m, l.names())
	return c.Reply(http.StatusOK, m), nil
}

func newLesson(c *border.Request, judge *edge.Judge, from, to engine.Time) *lesson {
	store := c.Records().Audit()
	l := &lesson{
		c: c, judge: judge, subjects: map[string]string{}, people: map[string]string{}, reopened: map[uint64]bool{}, first: from, last: to,
		from: store.FindTime(int64(from)), to: store.FindTime(int64(to + engine.Millisecond)),
	}
	for _, key := range c.Published().Settings().Keys {
		subject := key.Subject().String()
		l.subjects[key.ID] = subject
		if l.people[subject] = key.Person; key.Person == "" {
			l.people[subject] = key.Name
		}
	}
	return l
}

// period is the last row of the table: which period it is of, and whether it is whole.
func (l *lesson) period() []string {
	row := make([]string, len(learning.Columns))
	row[0], row[1], row[2] = "period", l.first.String(), l.last.String()
	if row[3] = "complete"; l.cut {
		row[3] = "cut"
	}
	return row
}

func (l *lesson) names() learning.Names {
	return learning.Names{
		Subject: func(subject string) string { return l.people[subject] },
		Operator: func(id string) string {
			if slot, is := l.judge.ParseOperator(id); is {
				if profile := l.c.Published().Operator(slot); profile != nil {
					return profile.LegalName
				}
			}
			return ""
		},
	}
}

// walk counts. The decisions come first: where they are too many, the period ends with the last one
// that was counted.
func (l *lesson) walk() error {
	for _, part := range []struct {
		kind  string
		count func(*edge.Leaf) error
	}{
		{leaf.KindDispositioned, l.countDecision},
		{leaf.KindWithdrawn, l.countWithdrawn},
		{leaf.KindPaymentConfirmed, l.countRejudged}, {leaf.KindPaymentRedeemed, l.countRejudged},
		{leaf.KindLookAnswered, l.countLook}, {leaf.KindLookLapsed, l.countLapsed},
		{leaf.KindSanctionsMoved, l.countMoved}, {leaf.KindSanctionsOpened, l.countReopened}, {leaf.KindSAROpened, l.countReopened},
	} {
		if err := l.walkKind(part.kind, part.count); err != nil {
			return err
		}
	}
	return l.countOpened()
}

// walkKind calls count with each leaf of a kind, in turns.
func (l *lesson) walkKind(kind string, count func(*edge.Leaf) error) error {
	c, scan := l.c, audit.Query{From: l.from, To: l.to, Examine: border.LeafScanMax, Keys: []uint64{engine.FilterKey(engine.FilterKind, kind)}}
	for done := false; !done; {
		err := border.TakeTurn(c, func() (failed error) {
			read := 0
			scanned, err := c.Records().Audit().Scan(scan, func(index uint64, stored audit.Leaf) bool {
				held := edge.LeavesHeld(l.judge)
				defer func() { edge.DropLeaves(l.judge, held) }()
				one, err := l.judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
				if failed = err; err != nil || one.Kind() != kind && one.Kind()+":"+one.Text("type") != kind {
					return err == nil
				}
				if kind == leaf.KindDispositioned {
					if l.isFull(index, one.Instant("time")) {
						return false
					}
				}
				failed = count(&one)
				read++
				return failed == nil && read < learningTurn
			})
			border.ChargeLooked(c, scanned.Examined+read)
			done, scan.From = scanned.Done || scanned.Next >= l.to, scanned.Next
			if failed == nil && err != nil {
				failed = edge.LeafError(err)
			}
			return failed
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isFull notes one more decision. Where it is too much it cuts the period before it, but never within
// a millisecond, so that the rest begins with the next one and counts nothing twice.
func (l *lesson) isFull(index uint64, when engine.Time) bool {
	if l.left == 0 && when != l.newest {
		l.cut, l.to, l.last = true, index, l.newest
		return true
	}
	l.left, l.newest = max(l.left-1, 0), when
	return false
}

// countOpened counts the reviews that began to wait, day by day, without opening them.
func (l *lesson) countOpened() error {
	c, scan := l.c, audit.Query{From: l.from, To: l.to, Examine: openedMax, Keys: []uint64{
		engine.FilterKey(engine.FilterKind, leaf.KindScreen), engine.FilterKey(engine.FilterVerdict, engine.Review.String()),
	}}
	for done := l.from >= l.to; !done; {
		err := border.TakeTurn(c, func() error {
			scanned, err := c.Records().Audit().Scan(scan, func(_ uint64, stored audit.Leaf) bool {
				l.figures.Opened(engine.Time(stored.Time))
				return true
			})
			border.ChargeLooked(c, scanned.Examined)
			done, scan.From = scanned.Done, scanned.Next
			if err != nil {
				return edge.LeafError(err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countDecision counts one leaf of a disposition.
func (l *lesson) countDecision(one *edge.Leaf) error {
	d := learning.Decision{At: one.Instant("time")}
	switch leaf.Dispositions[one.Text("disposition")] {
	case wire.Rejected:
		d.Answer = learning.Rejected
	case wire.EscalateSAR: // Only keys that may know of reports learn how often one was begun.
		if d.Answer = learning.Rejected; l.judge.Caller().SeesAll() {
			d.Answer = learning.Escalated
		}
	}
	d.Subject, d.Second = l.personsOf(one)
	d.LookAgain = one.Flag("secondLook")
	if err := l.readReviewed(one.Number("reviewedLeaf"), &d); err != nil {
		return err
	}
	l.figures.Count(&d)
	return nil
}

// personsOf returns who decided first, and who confirmed it.
func (l *lesson) personsOf(one *edge.Leaf) (first, second string) {
	if persons := one.Texts("persons"); len(persons) > 1 {
		return persons[0], persons[1]
	}
	return l.subjectOf(one.Text("reviewedByKey")), ""
}

// subjectOf returns whom a key acts for; the id itself where there is no such key.
func (l *lesson) subjectOf(keyID string) string {
	if subject := l.subjects[keyID]; subject != "" {
		return subject
	}
	return "key:" + keyID
}

// readReviewed reads of the record under review what its figures need. One that history has no more
// leaves them empty.
func (l *lesson) readReviewed(index uint64, d *learning.Decision) error {
	data, err := l.c.Records().Leaf(l.c.Context(), index)
	if errors.Is(err, audit.ErrPruned) {
		return nil
	}
	if err != nil {
		return edge.LeafError(err)
	}
	var scratch edge.LeafScratch
	record, err := scratch.Open(l.judge, index, data)
	if err != nil || record.Record == nil {
		return err
	}
	x := record.Record
	d.ScreenedAt, d.Operator = x.At, x.OperatorID()
	if set := x.RuleSet(); set != nil {
		d.Rules = set.Codes(x.Triggered)
	}
	var matches []struct{ UID, List, Name string }
	if raw := x.Edge.Get(leaf.TagMatches); len(raw) > 0 {
		if err := json.Unmarshal(raw, &matches); err != nil {
			return err
		}
	}
	seen := map[learning.Entry]bool{}
	for _, match := range matches {
		entry := learning.Entry{UID: match.UID, List: match.List}
		if match.UID == "" || seen[entry] {
			continue
		}
		seen[entry] = true
		d.Entries = append(d.Entries, l.nameEntry(entry, match.Name))
	}
	return nil
}

// nameEntry gives an entry its name: the list's, where this node has it, so that an entry has one
// name however its aliases were hit.
func (l *lesson) nameEntry(entry learning.Entry, name string) learning.Entry {
	entry.Name = name
	if uid, err := strconv.ParseUint(entry.UID, 10, 32); err == nil {
		if list := l.c.Published().List(); list != nil {
			if party, known := list.Entry(uint32(uid)); known {
				entry.Name = party.Primary
			}
		}
	}
	return entry
}

// countWithdrawn counts a proposed disposition that another person took back.
func (l *lesson) countWithdrawn(one *edge.Leaf) error {
	if first := one.Text("proposedBy"); first != "" && first != l.subjectOf(one.Text("reviewedByKey")) {
		l.figures.Withdrawn(first)
	}
	return nil
}

// countRejudged counts an approved payment that was blocked when it was confirmed or redeemed.
func (l *lesson) countRejudged(one *edge.Leaf) error {
	if !one.Flag("approved") || one.Text("verdict") != engine.Block.String() {
		return nil
	}
	return l.countAfter(one.Number("screenedLeaf"), one.Index, l.figures.Rejudged)
}

// countReopened counts an approved payment for which a report or a sanctions case was opened, once
// however many they are.
func (l *lesson) countReopened(one *edge.Leaf) error {
	if one.Kind() == leaf.KindSAROpened && !l.judge.Caller().SeesAll() {
		return nil // Who may not know of reports learns of none here.
	}
	record := one.Number("screenedLeaf") + one.Number("reviewedLeaf") // It has one of them.
	if l.reopened[record] {
		return nil
	}
	l.reopened[record] = true
	return l.countAfter(record, one.Index, l.figures.Reopened)
}

// countAfter counts what a leaf says that came after the approval of a record, for who approved it.
func (l *lesson) countAfter(record, said uint64, count func(subject string)) error {
	later, decided := l.c.Published().Disposition(record)
	if !decided || said < later {
		return nil
	}
	decision, err := l.judge.LoadLeaf(later)
	if edge.IsGone(err) || err == nil && decision.Text("disposition") != leaf.WordApproved {
		return nil
	}
	if err != nil {
		return err
	}
	first, _ := l.personsOf(&decision)
	count(first)
	return nil
}

// countLook counts an answered second look, for who had decided.
func (l *lesson) countLook(one *edge.Leaf) error {
	return l.countEnded(one, &learning.Look{By: l.subjectOf(one.Text("reviewedByKey")), Agrees: one.Flag("agrees")})
}

// countLapsed counts a second look that nobody answered.
func (l *lesson) countLapsed(one *edge.Leaf) error {
	return l.countEnded(one, &learning.Look{})
}

func (l *lesson) countEnded(one *edge.Leaf, look *learning.Look) error {
	decision, err := l.judge.LoadLeaf(one.Number("decisionLeaf"))
	if edge.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	look.Subject, _ = l.personsOf(&decision)
	var reviewed learning.Decision
	if err := l.readReviewed(one.Number("reviewedLeaf"), &reviewed); err != nil {
		return err
	}
	look.Rules = reviewed.Rules
	l.figures.Looked(look)
	return nil
}

// countMoved counts a sanctions case that was found to be of another party than the listed one.
func (l *lesson) countMoved(one *edge.Leaf) error {
	if uid := one.Number("uid"); uid != 0 && one.Text("to") == "NOT_THE_PARTY" {
		l.figures.AnotherParty(l.nameEntry(learning.Entry{UID: border.UintText(uid), List: l.listOf(uint32(uid))}, ""))
	}
	return nil
}

// listOf names the list that has an entry, as records name it.
func (l *lesson) listOf(uid uint32) string {
	if list := l.c.Published().List(); list != nil {
		if entry, known := list.Entry(uid); known {
			return list.NameOf(entry.Lists)
		}
	}
	return ""
}

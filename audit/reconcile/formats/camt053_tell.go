package formats

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"railguard/audit/reconcile"
	"railguard/engine"
	"railguard/strictjson"
)

// signed is a sum of amounts that may be below zero, in 10^-18.
type signed struct{ value big.Int }

func (s *signed) add(amount reconcile.Amount, mark string) {
	one := new(big.Int).Mul(big.NewInt(int64(amount.Micro)), big.NewInt(1_000_000_000_000))
	one.Add(one, new(big.Int).SetUint64(amount.Fine))
	if mark == debit {
		one.Neg(one)
	}
	s.value.Add(&s.value, one)
}

// move adds an entry to what the statement says was moved.
func (s *statement) move(amount reconcile.Amount, currency, mark string) {
	s.mixed = s.mixed || s.currency != "" && s.currency != currency
	s.currency = currency
	s.moved.add(amount, mark)
}

// checkSum tells a gap where the payments of an entry do not add up to it.
func (c *camt) checkSum(amount reconcile.Amount) error {
	e := &c.entry
	var whole, parts signed
	whole.add(amount, e.mark)
	fits := true
	for i := range e.details {
		d := &e.details[i]
		if d.amount.text == "" {
			d.amount = d.inner
		}
		if d.amount.text == "" && len(e.details) == 1 {
			d.amount = e.amount
		}
		d.mark = cmp.Or(d.mark, e.mark)
		part, err := reconcile.ParseAmount(d.amount.text)
		if err != nil || d.mark != debit && d.mark != credit {
			return fmt.Errorf("entry %q: a payment without its amount", e.reference)
		}
		fits = fits && d.amount.currency == e.amount.currency
		parts.add(part, d.mark)
	}
	if fits && whole.value.Cmp(&parts.value) == 0 {
		return nil
	}
	return c.reader.to.Gap(reconcile.GapBatch, c.entryID())
}

// entryID is the bank's reference of an entry, else one made of the statement's and the entry's.
func (c *camt) entryID() string {
	e := &c.entry
	return cmp.Or(e.servicer, c.now.id+"/"+cmp.Or(e.reference, "#"+strconv.Itoa(e.ordinal)))
}

// tellDetail hands one payment of an entry over.
func (c *camt) tellDetail(d *detail, at int) error {
	e := &c.entry
	amount, err := reconcile.ParseAmount(d.amount.text)
	if err != nil {
		return err
	}
	s := reconcile.Settlement{
		ID: c.entryID(), Amount: amount, Currency: d.amount.currency, Direction: reconcile.DirectionOut, Kind: reconcile.KindPayment,
		PayeeName: d.payeeName, Refs: d.refs(), Reason: d.reason,
	}
	if len(e.details) > 1 {
		s.ID += "/" + strconv.Itoa(at+1)
	}
	if s.Time, err = e.time(); err != nil {
		return err
	}
	if d.mark == credit {
		s.Direction = reconcile.DirectionIn
	}
	switch {
	case d.iban != "":
		s.Payee = "iban:" + strings.ReplaceAll(d.iban, " ", "")
	case d.number != "":
		s.Payee = "account:" + d.number
	}
	paid := c.reader.statements.paid
	if e.reversal == "true" || e.reversal == "1" || d.isReturn {
		s.Kind, s.Of = reconcile.KindReturn, paid[d.endToEnd]
	} else if s.Direction == reconcile.DirectionOut && isProvided(d.endToEnd) {
		paid[d.endToEnd] = s.ID
	}
	return c.reader.to.Settlement(&s)
}

func isProvided(text string) bool { return text != "" && text != notProvided }

// refs are the texts by which a payment may be known.
func (d *detail) refs() []string {
	refs := []string{}
	for _, text := range append([]string{d.endToEnd, d.instruction, d.transaction, d.uetr}, d.remittance...) {
		if utf8.RuneCountInString(text) > refRunesMax {
			text = string([]rune(text)[:refRunesMax])
		}
		if isProvided(text) && len(refs) < refsMax && !slices.Contains(refs, text) {
			refs = append(refs, text)
		}
	}
	return refs
}

// time is when an entry was booked: an instant, or a date, which is a whole day. A time without
// its zone is only the date that it names.
func (e *entry) time() (string, error) {
	for _, text := range [...]string{e.bookedAt, e.bookedOn, e.valuedAt, e.valuedOn} {
		if text == "" {
			continue
		}
		if _, ok := strictjson.ParseTime(text); ok {
			return text, nil
		}
		if date := dateOf(text); date != "" {
			return date, nil
		}
		return "", fmt.Errorf("%q is no time", text)
	}
	return "", errors.New("it has no booking date")
}

// dateOf is the date with which a time begins; "": it begins with none.
func dateOf(text string) string {
	if len(text) < len("2006-01-02") {
		return ""
	}
	if _, ok := strictjson.ParseTime(text[:10]); !ok {
		return ""
	}
	return text[:10]
}

func (c *camt) endBalance() error {
	bal := c.bal
	switch bal.kind {
	case "OPBD":
		c.now.opening = &bal
	case "PRCD": // What the statement before closed with: it stands for an opening balance that is not told.
		if c.now.opening == nil {
			c.now.opening = &bal
		}
	case "CLBD":
		c.now.closing = &bal
	}
	return nil
}

// endStatement checks one statement, and keeps what is compared with the others.
func (c *camt) endStatement() error {
	s := &c.now
	if payer := c.reader.options.Payer; payer != "" && payer != "iban:"+s.account && payer != "account:"+s.other {
		return fmt.Errorf("statement %q is of another account than the payer's", s.id)
	}
	if !s.addsUp() {
		if err := c.reader.to.Gap(reconcile.GapBalances, s.id); err != nil {
			return err
		}
	}
	return c.reader.statements.add(s)
}

// addsUp reports whether the opening balance and the entries give the closing balance.
func (s *statement) addsUp() bool {
	if s.opening == nil || s.closing == nil || s.mixed {
		return false
	}
	var sum, want signed
	for _, side := range [...]struct {
		of *balance
		to *signed
	}{{s.opening, &sum}, {s.closing, &want}} {
		amount, err := reconcile.ParseAmount(side.of.amount.text)
		if err != nil || side.of.mark != debit && side.of.mark != credit || s.currency != "" && side.of.amount.currency != s.currency {
			return false
		}
		side.to.add(amount, side.of.mark)
	}
	sum.value.Add(&sum.value, &s.moved.value)
	return s.opening.amount.currency == s.closing.amount.currency && sum.value.Cmp(&want.value) == 0
}

// statementsMax bounds the statements of one extract.
const statementsMax = 1 << 16

// statements is what is compared among the statements of all files.
type statements struct {
	paid map[string]string // By end-to-end id: the payment that a return may give back.
	told []toldStatement
}

type toldStatement struct {
	id, account string
	sequence    int64 // 0: none.
	from, to    engine.Time
}

func newStatements() statements { return statements{paid: map[string]string{}} }

func (all *statements) add(s *statement) error {
	if len(all.told) >= statementsMax {
		return errors.New("too many statements")
	}
	t := toldStatement{id: s.id, account: cmp.Or(s.account, s.other)}
	if s.sequence != "" {
		n, err := strconv.ParseInt(s.sequence, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("statement %q: ElctrncSeqNb %q is no number", s.id, s.sequence)
		}
		t.sequence = n
	}
	t.from, t.to = s.covers()
	all.told = append(all.told, t)
	return nil
}

// covers is the time of a statement: as it says, else that of its balances. 0 and 0: not known.
func (s *statement) covers() (from, to engine.Time) {
	start, okStart := instantOf(s.from, false)
	end, okEnd := instantOf(s.to, true)
	if okStart && okEnd {
		return start, end
	}
	if s.opening == nil || s.closing == nil {
		return 0, 0
	}
	start, okStart = instantOf(cmp.Or(s.opening.at, s.opening.on), false)
	end, okEnd = instantOf(cmp.Or(s.closing.at, s.closing.on), true)
	if !okStart || !okEnd {
		return 0, 0
	}
	return start, end
}

// instantOf reads a time. Of a date alone, or a time without its zone, it is where the day begins
// or ends.
func instantOf(text string, end bool) (engine.Time, bool) {
	if at, ok := strictjson.ParseTime(text); ok && len(text) > 10 {
		return at, true
	}
	at, ok := strictjson.ParseTime(dateOf(text))
	if end {
		at += engine.DayLength
	}
	return at, ok
}

// tellGaps tells where the number of a statement is missing, and whether the statements cover the
// time that was asked for.
func (all *statements) tellGaps(from, to engine.Time, sink Sink) error {
	slices.SortFunc(all.told, func(a, b toldStatement) int {
		return cmp.Or(strings.Compare(a.account, b.account), cmp.Compare(a.sequence, b.sequence), strings.Compare(a.id, b.id))
	})
	for i := 1; i < len(all.told); i++ {
		before, s := &all.told[i-1], &all.told[i]
		if s.account == before.account && before.sequence > 0 && s.sequence > before.sequence+1 {
			if err := sink.Gap(reconcile.GapSequence, s.id); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(all.told, func(a, b toldStatement) int { return cmp.Compare(a.from, b.from) })
	reached := from
	for i := range all.told {
		if s := &all.told[i]; s.from <= reached {
			reached = max(reached, s.to)
		}
	}
	// The last instant of a day may be written as its last second.
	if reached+engine.Second < to {
		return sink.Gap(reconcile.GapWindow, "")
	}
	return nil
}

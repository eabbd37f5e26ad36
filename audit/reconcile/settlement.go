package reconcile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"railguard/engine"
	"railguard/ofac/wallet"
	"railguard/strictjson"
)

// Bounds of one settlement.
const (
	SettlementBytesMax = 8 << 10 // Of its JSON.
	refsMax            = 16
	textRunesMax       = 256
	settlementValues   = 64
)

// Kinds of settlements.
const (
	KindPayment = "payment"
	KindReturn  = "return"
	KindFee     = "fee"
)

// Directions.
const (
	DirectionOut = "out"
	DirectionIn  = "in"
)

// Settlement is one movement on a rail, as one line of an extract says it. An absent member is "".
type Settlement struct {
	ID        string // Unique in the rail.
	Time      string // RFC 3339; a date alone is the whole UTC day.
	Amount    Amount
	Currency  string
	Asset     string // CAIP-19, of a token that counts as a dollar.
	Units     string
	Direction string // DirectionOut or DirectionIn.
	Kind      string
	Of        string // Of a return: the settlement that it gives back.
	Payee     string // A wallet, iban:… or account:….
	Payer     string
	PayeeName string // For people who may see names; it is not matched and goes nowhere.
	Refs      []string
	Reason    string
}

// ErrSettlement is the error of a line that is no settlement.
var ErrSettlement = errors.New("not a settlement")

// settlementShape has the members of a settlement. Others are refused: what they mean is unknown.
var settlementShape = strictjson.Names("id", "time", "amount", "currency", "asset", "units", "direction", "kind", "of",
	"payee", "payer", "payeeName", "refs", "reason")

// Reader reads settlements from lines of JSON.
type Reader struct{ document strictjson.Document }

// Read reads one settlement. The bytes may be used again afterwards.
func (r *Reader) Read(data []byte) (*Settlement, error) {
	defer r.document.Reset()
	if len(data) > SettlementBytesMax {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrSettlement, SettlementBytesMax)
	}
	if err := r.document.Read(data, settlementValues); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettlement, err)
	}
	if err := r.document.CheckShape(settlementShape); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettlement, err)
	}
	f := r.document.Fields()
	s := &Settlement{
		ID: readText(&f, "id"), Time: readText(&f, "time"), Currency: readText(&f, "currency"), Asset: readText(&f, "asset"), Units: readText(&f, "units"),
		Direction: f.OneOf("direction", DirectionOut, DirectionIn), Kind: f.OneOf("kind", KindPayment, KindReturn, KindFee), Of: readText(&f, "of"),
		Payee: readText(&f, "payee"), Payer: readText(&f, "payer"), PayeeName: f.Text("payeeName", SettlementBytesMax), Reason: f.Text("reason", SettlementBytesMax),
	}
	s.Refs, _ = f.Texts("refs", refsMax, SettlementBytesMax)
	amount := readText(&f, "amount")
	if err := f.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettlement, err)
	}
	var err error
	if s.Amount, err = ParseAmount(amount); err != nil {
		return nil, fmt.Errorf("%w: amount %w", ErrSettlement, err)
	}
	return s, s.complete()
}

func readText(f *strictjson.Fields, name string) string {
	text := f.Text(name, SettlementBytesMax)
	if utf8.RuneCountInString(text) > textRunesMax {
		f.Invalid(name, "must have at most 256 characters")
	}
	return text
}

// complete fills in what may be left out, and returns an error for what is missing or too long.
func (s *Settlement) complete() error {
	if s.Direction == "" {
		s.Direction = DirectionOut
	}
	if s.Kind == "" {
		s.Kind = KindPayment
	}
	_, _, timed := spanOf(s.Time)
	switch {
	case s.ID == "":
		return fmt.Errorf("%w: it has no id", ErrSettlement)
	case !timed:
		return fmt.Errorf("%w: time must be a time of RFC 3339, or a date", ErrSettlement)
	case s.Currency == "":
		return fmt.Errorf("%w: it has no currency", ErrSettlement)
	case s.Of != "" && s.Kind != KindReturn:
		return fmt.Errorf("%w: of belongs to a return", ErrSettlement)
	case len(s.Refs) > refsMax:
		return fmt.Errorf("%w: more than %d refs", ErrSettlement, refsMax)
	}
	for _, text := range append([]string{s.ID, s.Of, s.Payee, s.Payer}, s.Refs...) {
		if utf8.RuneCountInString(text) > textRunesMax {
			return fmt.Errorf("%w: a text of more than %d characters", ErrSettlement, textRunesMax)
		}
	}
	return nil
}

// ReadLines reads settlements, one a line, and hands each over. Empty lines are passed over. An
// error names the line.
func ReadLines(r io.Reader, take func(*Settlement) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, SettlementBytesMax+2), SettlementBytesMax+2)
	var reader Reader
	number := 0
	for lines.Scan() {
		number++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		s, err := reader.Read(lines.Bytes())
		if err == nil {
			err = take(s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: %w: longer than %d bytes", number+1, ErrSettlement, SettlementBytesMax)
	}
	return lines.Err()
}

// AppendJSON writes the settlement as one line of JSON, without its end of line.
func (s *Settlement) AppendJSON(dst []byte) []byte {
	return append(dst, strictjson.Build(512, func(m *strictjson.Members) {
		m.Text("id", s.ID)
		m.Text("time", s.Time)
		m.Text("amount", s.Amount.String())
		m.Text("currency", s.Currency)
		m.Optional("asset", s.Asset)
		m.Optional("units", s.Units)
		m.Text("direction", s.Direction)
		m.Text("kind", s.Kind)
		m.Optional("of", s.Of)
		m.Optional("payee", s.Payee)
		m.Optional("payer", s.Payer)
		m.Optional("payeeName", s.PayeeName)
		m.Texts("refs", s.Refs)
		m.Optional("reason", s.Reason)
	})...)
}

// spanOf returns the first and the last instant of a time. A date alone is its whole day.
func spanOf(text string) (first, last engine.Time, ok bool) {
	at, ok := strictjson.ParseTime(text)
	if len(text) == len("2006-01-02") {
		return at, at + engine.DayLength - engine.Millisecond/1000, ok
	}
	return at, at, ok
}

// Account is the canonical text of a payer or a payee, as both sides write it.
func Account(text string) string {
	if strings.HasPrefix(text, "iban:") || strings.HasPrefix(text, "account:") {
		return text
	}
	if canonical, ok := wallet.Canonical(text); ok {
		text = canonical
	}
	return lowered(text)
}

// lowered returns a text of hexadecimal digits in lower case, any other as it is: only there does
// the case of a letter mean nothing.
func lowered(text string) string {
	if len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		return strings.ToLower(text)
	}
	return text
}

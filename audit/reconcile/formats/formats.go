package formats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"railguard/audit/reconcile"
	"railguard/engine"
	"railguard/strictjson"
)

// The formats.
const (
	Lines   = "lines"
	Camt053 = "camt053"
	ERC20   = "erc20"
	X402    = "x402"
)

// Names are the names of all formats.
var Names = []string{Lines, Camt053, ERC20, X402}

// Errors of Read. The text of an error says where and what.
var (
	ErrFormat  = errors.New("not a format: lines, camt053, erc20 or x402")
	ErrExtract = errors.New("not an extract of this format")
	ErrNetwork = errors.New("a network is required, such as eip155:8453")
	ErrAsset   = errors.New("not an asset: a CAIP-2 network, an address and at most 18 decimals")
)

// Asset is a token of which 10^Decimals units count as a dollar.
type Asset struct {
	Network  string // CAIP-2.
	Address  string
	Decimals int
}

const (
	decimalsMax  = 18
	unitsMax     = 78        // Digits of 2^256.
	logBytesMax  = 256 << 10 // Of one line of a log.
	logValuesMax = 4096
	digits       = "0123456789"
	hexadecimal  = "0123456789abcdef"
)

// CAIP is the asset's CAIP-19 id.
func (a *Asset) CAIP() string {
	kind := "token"
	if a.isEVM() {
		kind = "erc20"
	}
	return a.Network + "/" + kind + ":" + a.address(a.Address)
}

func (a *Asset) isEVM() bool { return isEVM(a.Network) }

func isEVM(network string) bool { return strings.HasPrefix(network, "eip155:") }

func (a *Asset) address(text string) string {
	if a.isEVM() {
		return strings.ToLower(text)
	}
	return text
}

// dollars reads units of the asset as an amount.
func (a *Asset) dollars(units string) (reconcile.Amount, error) {
	if units == "" || len(units) > unitsMax || strings.Trim(units, digits) != "" {
		return reconcile.Amount{}, fmt.Errorf("%q is no number of units", units)
	}
	text := strings.Repeat("0", max(0, a.Decimals+1-len(units))) + units
	whole, fraction := text[:len(text)-a.Decimals], text[len(text)-a.Decimals:]
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return reconcile.ParseAmount(whole)
}

// Options are what a format has to be told.
type Options struct {
	Network  string // CAIP-2, of logs that do not name theirs.
	Assets   []Asset
	Payer    string // The account whose payments are asked for; "": any.
	From, To engine.Time
}

// Sink takes what is read; a reconcile.Run is one.
type Sink interface {
	Settlement(*reconcile.Settlement) error
	Gap(reason, statement string) error
	Unbooked()
}

// Reader reads the files of one extract, in order.
type Reader struct {
	format     string
	options    Options
	to         Sink
	document   strictjson.Document
	statements statements
}

// NewReader returns the reader of a format.
func NewReader(format string, options Options, to Sink) (*Reader, error) {
	if !slices.Contains(Names, format) {
		return nil, ErrFormat
	}
	for i := range options.Assets {
		a := &options.Assets[i]
		space, reference, pair := strings.Cut(a.Network, ":")
		if !pair || space == "" || reference == "" || a.Address == "" || a.Decimals < 0 || a.Decimals > decimalsMax {
			return nil, fmt.Errorf("%w: %s/%s/%d", ErrAsset, a.Network, a.Address, a.Decimals)
		}
	}
	if options.Payer != "" {
		options.Payer = reconcile.Account(options.Payer)
	}
	return &Reader{format: format, options: options, to: to, statements: newStatements()}, nil
}

// File reads one file to its end.
func (r *Reader) File(file io.Reader) error {
	switch r.format {
	case Camt053:
		return r.readStatements(file)
	case ERC20:
		return r.readLogs(file)
	case X402:
		return r.readFacilitator(file)
	}
	return reconcile.ReadLines(file, r.to.Settlement)
}

// Close says what is missing among all files.
func (r *Reader) Close() error {
	if r.format != Camt053 {
		return nil
	}
	return r.statements.tellGaps(r.options.From, r.options.To, r.to)
}

// eachObject reads a file of one JSON object a line. Members that read does not ask for are passed
// over: logs have many.
func (r *Reader) eachObject(file io.Reader, read func(*strictjson.Fields) error) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), logBytesMax)
	number := 0
	for lines.Scan() {
		number++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		err := r.document.Read(lines.Bytes(), logValuesMax)
		if err == nil {
			f := r.document.Fields()
			if err = read(&f); err == nil {
				err = f.Err()
			}
		}
		r.document.Reset()
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrExtract, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrExtract, number+1, err)
	}
	return nil
}

// findAsset returns the asset with an address on a network; nil: it counts as nothing.
func (r *Reader) findAsset(network, address string) *Asset {
	for i := range r.options.Assets {
		if a := &r.options.Assets[i]; a.Network == network && a.address(a.Address) == a.address(address) {
			return a
		}
	}
	return nil
}

// moved is a transfer of tokens.
type moved struct {
	asset           *Asset
	id, time, units string
	from, to        string
	refs            []string
}

// tell hands a transfer over, if it is one of the payer's.
func (r *Reader) tell(m *moved) error {
	amount, err := m.asset.dollars(m.units)
	if err != nil {
		return err
	}
	s := reconcile.Settlement{
		ID: m.id, Time: m.time, Amount: amount, Currency: "USD", Asset: m.asset.CAIP(), Units: m.units, Direction: reconcile.DirectionOut,
		Kind: reconcile.KindPayment, Payee: m.asset.address(m.to), Payer: m.asset.address(m.from), Refs: m.refs,
	}
	switch payer := r.options.Payer; {
	case payer == "" || reconcile.Account(s.Payer) == payer:
	case reconcile.Account(s.Payee) == payer:
		s.Direction = reconcile.DirectionIn
	default:
		return nil // Between others.
	}
	return r.to.Settlement(&s)
}

// hexNumber reads 0x and hexadecimal digits.
func hexNumber(text string) (*big.Int, bool) {
	rest, ok := strings.CutPrefix(text, "0x")
	if !ok || rest == "" || len(rest) > 64 || strings.Trim(strings.ToLower(rest), hexadecimal) != "" {
		return nil, false
	}
	return new(big.Int).SetString(rest, 16)
}

// isHash tells whether a text is 0x and 32 bytes.
func isHash(text string) bool {
	_, ok := hexNumber(text)
	return ok && len(text) == 2+64
}

// isAddress tells whether a text is 0x and 20 bytes.
func isAddress(text string) bool {
	_, ok := hexNumber(text)
	return ok && len(text) == 2+40
}

// secondsTime is a time in seconds since 1970 as RFC 3339.
func secondsTime(seconds uint64) (string, bool) {
	if seconds == 0 || seconds > 1<<33 {
		return "", false
	}
	text := (engine.Time(seconds) * engine.Second).String()
	return strings.Replace(text, ".000Z", "Z", 1), true
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

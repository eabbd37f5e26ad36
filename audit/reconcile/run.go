package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"railguard/engine"
	"railguard/strictjson"
)

// Defaults of the settings.
const (
	SkewDefault        = 5 * engine.Minute
	SettleWithinChain  = engine.Hour
	SettleWithinOthers = 5 * engine.DayLength
	skewMax            = engine.DayLength
	settleWithinMax    = 90 * engine.DayLength
	chainRail          = "USDC"
)

// Settings are what a run is asked for.
type Settings struct {
	Rail         string
	Payer        string // Only payments from this account; "": from any.
	From, To     engine.Time
	Skew         engine.Time // How far the clocks of log and rail may differ.
	SettleWithin engine.Time // How long after its leave a payment may stand on the rail.
	Format       string
	Network      string   // CAIP-2, where the format needs it.
	Assets       []string // CAIP-19 of the tokens that count as dollars, where the format has tokens.
	Witnessed    bool     // Witnesses whom the caller demands signed the tree head of the records.
}

// SettleWithinDefault is how long a payment on a rail may take.
func SettleWithinDefault(rail string) engine.Time {
	if strings.EqualFold(rail, chainRail) {
		return SettleWithinChain
	}
	return SettleWithinOthers
}

var (
	errNoRail = errors.New("a rail is required")
	errWindow = errors.New("from and to are required, and from must be before to")
	errSkew   = errors.New("skew must be 0 to 24 h, settleWithin 1 s to 90 days")
)

func (s *Settings) check() error {
	switch {
	case s.Rail == "":
		return errNoRail
	case s.From <= 0 || s.From >= s.To:
		return errWindow
	case s.Skew < 0 || s.Skew > skewMax || s.SettleWithin < engine.Second || s.SettleWithin > settleWithinMax:
		return errSkew
	}
	return nil
}

// write writes the settings. The account is told as its SHA-256: who has it can compare, nobody
// else learns it.
func (s *Settings) write(m *strictjson.Members) {
	m.Text("rail", s.Rail)
	if s.Payer != "" {
		sum := sha256.Sum256([]byte(Account(s.Payer)))
		m.Text("account", hex.EncodeToString(sum[:]))
	}
	m.Time("from", s.From)
	m.Time("to", s.To)
	m.BeginObject("settings")
	m.Int("skewSeconds", int64(s.Skew/engine.Second))
	m.Int("settleWithinSeconds", int64(s.SettleWithin/engine.Second))
	m.Optional("format", s.Format)
	m.Optional("network", s.Network)
	if len(s.Assets) > 0 {
		m.Texts("assets", s.Assets)
	}
	m.EndObject()
}

// File is what is told of one file of an extract: nothing that names it.
type File struct {
	Digest string // SHA-256 of its bytes, in hex.
	Bytes  uint64
	Lines  uint64 // Settlements that were read from it.
}

// Span is which leaves the records are from.
type Span struct {
	First, End uint64 // End excluded.
	From, To   string // The time of which all leaves are in it.
	digest     []byte // SHA-256 over index and leaf hash of every leaf, as in the end line of an export.
}

// Run is one reconciliation: first all leaves or records, then all settlements, then End. It has
// one owner.
type Run struct {
	tables
	settings Settings
	named    namedBy
	findings []finding
	gaps     []gap
	files    []File
	matched  [wayCount]Count
	payer    key
	span     Span
	leaves   hash.Hash
	screen   screenReader

	lines        uint64
	paymentCount uint64
	aside        struct{ incoming, returns, fees, otherPayer, unbooked uint64 }
}

// New begins a run.
func New(settings Settings) (*Run, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	r := &Run{tables: newTables(), settings: settings, leaves: sha256.New()}
	if settings.Payer != "" {
		r.payer = keyOf(keyAccount, Account(settings.Payer))
	}
	return r, nil
}

// Settings returns what the run was asked for.
func (r *Run) Settings() *Settings { return &r.settings }

// Settlement takes one settlement. No leaf may follow.
func (r *Run) Settlement(s *Settlement) error {
	if err := s.complete(); err != nil {
		return err
	}
	r.lines++
	if s.Direction != DirectionOut && s.Kind != KindReturn {
		r.aside.incoming++
		return nil
	}
	id := keyOf(keyID, s.ID)
	if first, twice := r.seen[id]; twice {
		r.settlements[first].twice = true
		return r.say(finding{class: LineTwice, settlement: first, record: -1, list: -1})
	}
	state := endAside
	if s.Kind == KindPayment && !r.isOthers(s) {
		state = endOpen
	}
	at, err := r.addSettlementRow(s, state)
	if err != nil {
		return err
	}
	r.seen[id] = at
	switch {
	case s.Kind == KindReturn:
		r.aside.returns++
		r.returns[keyOf(keyID, s.Of)] = at
	case s.Kind == KindFee:
		r.aside.fees++
	case state == endAside:
		r.aside.otherPayer++
	default:
		r.paymentCount++
		return r.matchByKeys(s, at)
	}
	return nil
}

// isOthers reports whether a settlement says that another account paid.
func (r *Run) isOthers(s *Settlement) bool {
	return r.payer != (key{}) && s.Payer != "" && keyOf(keyAccount, Account(s.Payer)) != r.payer
}

// Gap notes that an extract, or the records, lack something.
func (r *Run) Gap(reason, statement string) error {
	if len(r.gaps) >= settlementsMax {
		return ErrTooMuch
	}
	r.gaps = append(r.gaps, gap{reason, statement})
	return r.say(finding{class: Gap, settlement: -1, record: -1, list: -1, detail: int32(len(r.gaps) - 1)})
}

// Unbooked counts an entry of an extract that moved no money yet.
func (r *Run) Unbooked() { r.aside.unbooked++ }

// ReadFile reads one file of an extract with read, which hands over its settlements, and notes
// its digest. The whole file is read and digested, whatever read leaves.
func (r *Run) ReadFile(file io.Reader, read func(io.Reader) error) error {
	before, sum := r.lines, sha256.New()
	counted := &countingReader{inner: io.TeeReader(file, sum)}
	if err := read(counted); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return err
	}
	r.files = append(r.files, File{Digest: hex.EncodeToString(sum.Sum(nil)), Bytes: counted.bytes, Lines: r.lines - before})
	return nil
}

type countingReader struct {
	inner io.Reader
	bytes uint64
}

func (c *countingReader) Read(data []byte) (int, error) {
	n, err := c.inner.Read(data)
	c.bytes += uint64(n)
	return n, err
}

// End matches what is left, and gives the result. The run is over then.
func (r *Run) End() (*Result, error) {
	for at := range r.settlements {
		if s := &r.settlements[at]; s.ending != endAside {
			if back, given := r.returns[keyOf(keyID, string(r.id(int32(at))))]; given {
				s.returned = back
			}
		}
	}
	if err := r.infer(); err != nil {
		return nil, err
	}
	if err := r.classify(); err != nil {
		return nil, err
	}
	r.span.digest = r.leaves.Sum(nil)
	return r.end()
}

// Records says which leaves the records are from. A time that they do not cover is a gap: a
// payment may have been allowed in it.
func (r *Run) Records(span Span) error {
	r.span = span
	from, fromKnown := strictjson.ParseTime(span.From)
	to, toKnown := strictjson.ParseTime(span.To)
	if !fromKnown || !toKnown {
		return fmt.Errorf("records from %q to %q: no times", span.From, span.To)
	}
	if from > r.settings.From-r.settings.SettleWithin || to < r.settings.To-engine.Millisecond {
		return r.Gap(GapRecords, "")
	}
	return nil
}

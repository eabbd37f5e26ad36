package reconcile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"railguard/engine"
)

// Bounds of one run, so that it fits into memory whatever the files say.
const (
	recordsMax     = 4 << 20
	settlementsMax = 4 << 20
	idBytesMax     = math.MaxUint32
	linksMax       = 16 << 20 // Pairs of a settlement and a record that it names.
	sharedMax      = 64       // So many records may share one key; a key of more tells nothing.
	namedMax       = 64       // So many records a finding names.
)

// ErrTooMuch is the error of a run that has more than fits.
var ErrTooMuch = errors.New("too much for one run: choose a shorter time")

// key stands for a text of one kind: 16 bytes of SHA-256, so that what can be compared takes
// little memory. Nobody can make two texts with one key without 2^64 tries. The zero key is no text.
type key [16]byte

// Kinds of texts that have keys.
const (
	keyAccount = 'a'
	keyRail    = 'r'
	keyPayment = 'p'
	keyNonce   = 'n'
	keyID      = 'i'
)

func keyOf(kind byte, text string) key {
	if text == "" {
		return key{}
	}
	var buffer [320]byte
	sum := sha256.Sum256(append(append(buffer[:0], kind), text...))
	return key(sum[:16])
}

// Record is what is known of one screened payment at the end of the records. A text that the log
// does not have is "", a time 0.
type Record struct {
	TxnID      string
	Verdict    engine.Verdict
	ScreenedAt engine.Time
	Amount     engine.USD
	Payee      string // As Account writes it.
	Payer      string
	PaymentRef string
	Nonce      string // Of x402.
	Anywhere   bool   // It names no rail: it may have been paid on another, so it is never missed.
	Again      bool   // A payment that another record allows was judged once more: this one allows no second.
}

// recordRow is what is kept of a record.
type recordRow struct {
	txn     [8]byte
	verdict engine.Verdict

	approved bool // The review was approved.
	redeemed bool // The leave was used before its end.
	told     bool // Somebody said that it was settled.
	anywhere bool
	again    bool // Unless told: it is neither inferred nor missed.
	doubt    bool // It is in an ambiguous finding, and in no other.
	several  bool // Several settlements name it; exact and fits are set then.
	fits     bool // The sum of those settlements is what counts.

	screenedAt engine.Time
	disposedAt engine.Time
	lapsesAt   engine.Time // When an approval ends; 0: it does not.
	endedAt    engine.Time // When it was given back or ran out; 0: it was not.
	releasedAt engine.Time // Of those, when it was given back.

	amount   engine.USD
	settled  engine.USD // What settle told.
	payee    key
	payer    key
	railRef  key
	hits     int32 // The newest of its links to settlements, none: -1.
	exact    int32 // The first settlement of exactly its amount; -1: none.
	hitCount int32
}

// settlementRow is what is kept of a settlement.
type settlementRow struct {
	idAt   uint32
	idSize uint16
	way    way
	ending ending

	isDollar bool
	twice    bool // Its id stands in the extract again. What no text matches then is not guessed at.
	sameRail bool // Its texts have the railRef that settle told.
	record   int32
	list     int32 // With several records: the index of their list.
	returned int32 // The settlement that gives it back; -1: none.
	first    engine.Time
	last     engine.Time
	amount   Amount
	payee    key
	payer    key
}

// ending says what is decided of a settlement before all settlements are known.
type ending uint8

const (
	endOpen    ending = iota // Nothing yet: it may be inferred.
	endMatched               // To one record, or to those of its list.
	endFound                 // A finding says all.
	endAside                 // It is only an id: a return.
)

// way is how a settlement was matched.
type way uint8

// The ways, in the order in which they are asked.
const (
	byTxn way = iota
	byRailRef
	byPaymentRef
	byNonce
	byInference
	wayCount
)

var wayNames = [wayCount]string{"txnId", "railRef", "paymentRef", "nonce", "inferred"}

// link is an element of a chain: of the records with a key, or of the settlements of a record.
type link struct{ at, next int32 }

// chain is the records that share a key.
type chain struct {
	head, count int32
	doubted     bool // It is too long, and all of its records are in doubt.
}

// recordList is several records of one settlement.
type recordList struct {
	rows   []int32 // The first namedMax, by txnId.
	more   int     // So many further ones.
	merged bool    // All are allowed, and their sum is the settlement's amount.
}

// tables is the memory of one run.
type tables struct {
	records     []recordRow
	settlements []settlementRow
	ids         []byte
	byTxn       map[[8]byte]int32
	byKey       map[key]int32 // Index among chains.
	chains      []chain
	links       []link // Of chains.
	hits        []link // Of records.
	seen        map[key]int32
	lists       []recordList
	returns     map[key]int32 // By the key of the id that is given back.
}

func newTables() tables {
	return tables{byTxn: map[[8]byte]int32{}, byKey: map[key]int32{}, seen: map[key]int32{}, returns: map[key]int32{}}
}

// addRecord adds a record, whose txnId must be new.
func (t *tables) addRecord(r *Record) error {
	txn, ok := parseTxn(r.TxnID)
	if _, twice := t.byTxn[txn]; !ok || twice {
		return fmt.Errorf("record %q: not a txnId, or told twice", r.TxnID)
	}
	if len(t.records) >= recordsMax {
		return ErrTooMuch
	}
	at := int32(len(t.records))
	t.records = append(t.records, recordRow{
		txn: txn, verdict: r.Verdict, screenedAt: r.ScreenedAt, amount: r.Amount, anywhere: r.Anywhere, again: r.Again,
		payee: keyOf(keyAccount, r.Payee), payer: keyOf(keyAccount, r.Payer), hits: -1, exact: -1,
	})
	t.byTxn[txn] = at
	t.nameRecord(keyOf(keyPayment, r.PaymentRef), at)
	t.nameRecord(keyOf(keyNonce, lowered(r.Nonce)), at)
	return nil
}

// nameRecord lets a key lead to a record.
func (t *tables) nameRecord(k key, record int32) {
	if k == (key{}) {
		return
	}
	at, known := t.byKey[k]
	if !known {
		at = int32(len(t.chains))
		t.byKey[k], t.chains = at, append(t.chains, chain{head: -1})
	}
	c := &t.chains[at]
	t.links = append(t.links, link{record, c.head})
	c.head, c.count = int32(len(t.links)-1), c.count+1
}

// settleRecord notes what settle told of a record.
func (t *tables) settleRecord(record int32, amount engine.USD, railRef string) {
	row := &t.records[record]
	row.told, row.settled = true, amount
	if k := keyOf(keyRail, lowered(railRef)); k != row.railRef {
		row.railRef = k
		t.nameRecord(k, record)
	}
}

// addSettlementRow keeps a settlement, whose id must have been checked.
func (t *tables) addSettlementRow(s *Settlement, state ending) (int32, error) {
	if len(t.settlements) >= settlementsMax || uint64(len(t.ids)+len(s.ID)) > idBytesMax {
		return 0, ErrTooMuch
	}
	first, last, _ := spanOf(s.Time)
	row := settlementRow{
		idAt: uint32(len(t.ids)), idSize: uint16(len(s.ID)), ending: state, isDollar: s.Currency == dollarCurrency,
		record: -1, list: -1, returned: -1, first: first, last: last, amount: s.Amount,
		payee: keyOf(keyAccount, Account(s.Payee)), payer: keyOf(keyAccount, Account(s.Payer)),
	}
	t.ids = append(t.ids, s.ID...)
	t.settlements = append(t.settlements, row)
	return int32(len(t.settlements) - 1), nil
}

const dollarCurrency = "USD"

// id returns the id of a settlement.
func (t *tables) id(settlement int32) []byte {
	row := &t.settlements[settlement]
	return t.ids[row.idAt : row.idAt+uint32(row.idSize)]
}

// hit notes that a settlement names a record.
func (t *tables) hit(record, settlement int32) error {
	if len(t.hits) >= linksMax {
		return ErrTooMuch
	}
	row := &t.records[record]
	t.hits = append(t.hits, link{settlement, row.hits})
	row.hits, row.hitCount = int32(len(t.hits)-1), row.hitCount+1
	return nil
}

// before reports whether a settlement stands before another: by time, then by id.
func (t *tables) before(a, b int32) bool {
	if x, y := t.settlements[a].first, t.settlements[b].first; x != y {
		return x < y
	}
	return bytes.Compare(t.id(a), t.id(b)) < 0
}

// parseTxn reads a txnId.
func parseTxn(text string) (txn [8]byte, ok bool) {
	rest, found := strings.CutPrefix(text, txnPrefix)
	if !found || len(rest) != len(txn) {
		return txn, false
	}
	for i := range len(rest) {
		if !isTxnByte(rest[i]) {
			return txn, false
		}
		txn[i] = rest[i]
	}
	return txn, true
}

const txnPrefix = "txn_"

func isTxnByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isAllowed reports whether the payment may be made at all.
func (r *recordRow) isAllowed() bool {
	return r.verdict == engine.Proceed || r.verdict == engine.Review && r.approved
}

// since is when the leave began.
func (r *recordRow) since() engine.Time {
	if r.disposedAt != 0 {
		return r.disposedAt
	}
	return r.screenedAt
}

// until is when the leave ended; 0: it did not, or it was used.
func (r *recordRow) until() engine.Time {
	if r.verdict == engine.Review && r.approved && !r.redeemed && r.lapsesAt != 0 && (r.endedAt == 0 || r.lapsesAt < r.endedAt) {
		return r.lapsesAt
	}
	return r.endedAt
}

// counts is the amount that the payment must have.
func (r *recordRow) counts() engine.USD {
	if r.told {
		return r.settled
	}
	return r.amount
}

// isOpen reports whether no settlement leads to the record, and it may be paid.
func (r *recordRow) isOpen() bool {
	return r.hits < 0 && !r.doubt && r.isAllowed() && (r.told || !r.again)
}

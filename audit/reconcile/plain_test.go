package reconcile

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// The plain matching: what the published reference does, with maps, lists and quadratic loops. The
// room is held against it on random records and extracts that are dense with coincidences.

type plain struct {
	records []vectorRecord
	lines   []*Settlement
	o       Settings
	found   []string
	hits    map[string][]*Settlement
	doubt   map[string]bool
	twice   map[string]bool
}

var plainTxn = regexp.MustCompile(`txn_[0-9A-Za-z]{8}`)

func (p *plain) say(class Class, line string, records ...*vectorRecord) {
	var names []string
	for _, r := range records {
		names = append(names, r.TxnID)
	}
	sort.Strings(names)
	p.found = append(p.found, fmt.Sprintf("%s|%s|%s", class, line, strings.Join(names, ",")))
}

func (p *plain) isAllowed(r *vectorRecord) bool {
	return r.Verdict == "PROCEED" || r.Verdict == "REVIEW" && r.Disposition == "APPROVED"
}

func (p *plain) since(r *vectorRecord) engine.Time {
	if r.DisposedAt != "" {
		return plainTime(r.DisposedAt)
	}
	return plainTime(r.ScreenedAt)
}

func plainTime(text string) engine.Time { at, _, _ := spanOf(text); return at }

func (p *plain) until(r *vectorRecord) engine.Time {
	var until engine.Time
	if r.Verdict == "REVIEW" && r.Disposition == "APPROVED" && r.RedeemedAt == "" && r.LapsesAt != "" {
		until = plainTime(r.LapsesAt)
	}
	if r.End != nil && (r.End.State == "released" || r.End.State == "expired") {
		if at := plainTime(r.End.At); until == 0 || at < until {
			until = at
		}
	}
	return until
}

func (p *plain) paid(r *vectorRecord) Amount {
	text := r.Amount
	if r.End != nil && r.End.State == "settled" {
		text = r.End.Amount
	}
	amount, _ := ParseAmount(text)
	return amount
}

// ways returns the records that a settlement names, way by way.
func (p *plain) ways(l *Settlement) (ways [4][]*vectorRecord) {
	for _, text := range append([]string{l.ID}, l.Refs...) {
		for i := range p.records {
			r := &p.records[i]
			for w, named := range [4]bool{
				slices.Contains(plainTxn.FindAllString(text, -1), r.TxnID) && !strings.Contains(text, "x"+r.TxnID),
				r.End != nil && r.End.RailRef != "" && lowered(r.End.RailRef) == lowered(text),
				r.PaymentRef != "" && r.PaymentRef == text,
				r.Nonce != "" && lowered(r.Nonce) == lowered(text),
			} {
				if named && !slices.Contains(ways[w], r) {
					ways[w] = append(ways[w], r)
				}
			}
		}
	}
	return ways
}

// plainMatch is a settlement with its records.
type plainMatch struct {
	line    *Settlement
	records []*vectorRecord
}

func (p *plain) run() []string {
	p.hits, p.doubt = map[string][]*Settlement{}, map[string]bool{}
	open, returns := p.sort()
	keyed, free := p.byKeys(open)
	keyed = append(keyed, p.infer(free)...)
	for _, m := range keyed {
		if class, wrong := p.classOf(m.line, m.records); wrong {
			p.say(class, m.line.ID, m.records...)
		} else if id := returns[m.line.ID]; id != "" && (m.records[0].End == nil || m.records[0].End.State != "released") {
			p.say(Returned, id, m.records[0])
		}
	}
	p.unpaid()
	sort.Strings(p.found)
	return p.found
}

// sort returns the payments, and by what each is given back.
func (p *plain) sort() (open []*Settlement, returns map[string]string) {
	seen := map[string]bool{}
	p.twice, returns = map[string]bool{}, map[string]string{}
	for _, l := range p.lines {
		switch {
		case l.Direction == DirectionIn && l.Kind != KindReturn:
			continue
		case seen[l.ID]:
			p.say(LineTwice, l.ID)
			p.twice[l.ID] = true
			continue
		}
		if seen[l.ID] = true; l.Kind == KindReturn {
			returns[l.Of] = l.ID
		} else if l.Kind == KindPayment {
			open = append(open, l)
		}
	}
	return open, returns
}

// byKeys matches what texts name. free is what they do not.
func (p *plain) byKeys(open []*Settlement) (keyed []plainMatch, free []*Settlement) {
	for _, l := range open {
		ways := p.ways(l)
		at := slices.IndexFunc(ways[:], func(w []*vectorRecord) bool { return len(w) > 0 })
		if at < 0 {
			if !p.twice[l.ID] {
				free = append(free, l)
			}
			continue
		}
		all, disagree := []*vectorRecord(nil), false
		for _, w := range ways {
			common := len(w) == 0
			for _, r := range w {
				common = common || slices.Contains(ways[at], r)
				if !slices.Contains(all, r) {
					all = append(all, r)
				}
			}
			disagree = disagree || !common
		}
		if disagree {
			p.doubtAll(l, all)
			continue
		}
		keyed = append(keyed, plainMatch{l, ways[at]})
		for _, r := range ways[at] {
			p.hits[r.TxnID] = append(p.hits[r.TxnID], l)
		}
	}
	return keyed, free
}

func (p *plain) doubtAll(l *Settlement, records []*vectorRecord) {
	p.say(Ambiguous, l.ID, records...)
	for _, r := range records {
		p.doubt[r.TxnID] = true
	}
}

func (p *plain) infer(free []*Settlement) (inferred []plainMatch) {
	candidates, back := map[*Settlement][]*vectorRecord{}, map[string]int{}
	for _, l := range free {
		for i := range p.records {
			if r := &p.records[i]; p.fits(r, l) {
				candidates[l] = append(candidates[l], r)
				back[r.TxnID]++
			}
		}
	}
	for _, l := range free {
		switch c := candidates[l]; {
		case len(c) == 0:
			p.say(Unscreened, l.ID)
		case len(c) == 1 && back[c[0].TxnID] == 1:
			p.say(Inferred, l.ID, c[0])
			inferred = append(inferred, plainMatch{l, c})
			p.hits[c[0].TxnID] = append(p.hits[c[0].TxnID], l)
		default:
			p.doubtAll(l, c)
		}
	}
	return inferred
}

func (p *plain) fits(r *vectorRecord, l *Settlement) bool {
	first, last, _ := spanOf(l.Time)
	amount, _ := ParseAmount(r.Amount)
	return l.Payee != "" && Account(r.Payee) == Account(l.Payee) && amount == l.Amount && p.hits[r.TxnID] == nil && !p.doubt[r.TxnID] && p.isAllowed(r) &&
		p.since(r)-p.o.Skew <= last && first <= p.since(r)+p.o.SettleWithin && (r.Payer == "" || l.Payer == "" || Account(r.Payer) == Account(l.Payer))
}

func (p *plain) classOf(l *Settlement, records []*vectorRecord) (Class, bool) {
	var total Amount
	allowed := true
	for _, r := range records {
		amount, _ := ParseAmount(r.Amount)
		total, allowed = total.plus(amount), allowed && p.isAllowed(r)
	}
	if len(records) > 1 {
		if total == l.Amount && allowed {
			return Merged, true
		}
		return AmountDiffers, true
	}
	r := records[0]
	mine, paid := p.hits[r.TxnID], p.paid(r)
	var exact []*Settlement
	var together Amount
	for _, m := range mine {
		together = together.plus(m.Amount)
		if m.Amount == paid {
			exact = append(exact, m)
		}
	}
	sort.Slice(exact, func(i, j int) bool {
		a, b := plainTime(exact[i].Time), plainTime(exact[j].Time)
		return a < b || a == b && exact[i].ID < exact[j].ID
	})
	first, last, _ := spanOf(l.Time)
	until := p.until(r)
	told := r.End != nil && r.End.State == "settled"
	var texts []string
	for _, text := range append([]string{l.ID}, l.Refs...) {
		texts = append(texts, lowered(text))
	}
	switch {
	case !allowed:
		return NotAllowed, true
	case len(mine) > 1 && len(exact) > 0 && exact[0] != l:
		return Duplicate, true
	case until != 0 && first > until+p.o.Skew:
		return AfterEnd, true
	case last < p.since(r)-p.o.Skew:
		return BeforeVerdict, true
	case r.Payee != "" && l.Payee != "" && Account(r.Payee) != Account(l.Payee):
		return PayeeDiffers, true
	case r.Payer != "" && l.Payer != "" && Account(r.Payer) != Account(l.Payer):
		return PayerDiffers, true
	case l.Currency != "USD":
		return CurrencyDiffers, true
	case len(mine) > 1 && len(exact) == 0 && together == paid:
		return Split, true
	case l.Amount != paid:
		return AmountDiffers, true
	case told && r.End.RailRef != "" && !slices.Contains(texts, lowered(r.End.RailRef)):
		return ToldOtherwise, true
	case first > p.since(r)+p.o.SettleWithin:
		return Late, true
	}
	return 0, false
}

func (p *plain) unpaid() {
	for i := range p.records {
		r := &p.records[i]
		told := r.End != nil && r.End.State == "settled"
		if p.hits[r.TxnID] != nil || p.doubt[r.TxnID] || !p.isAllowed(r) || !told && p.until(r) != 0 {
			continue
		}
		switch due := p.since(r) + p.o.SettleWithin; {
		case due >= p.o.To:
			p.say(Deferred, "", r)
		case p.since(r) < p.o.From-p.o.SettleWithin:
		case told:
			p.say(ToldNotFound, "", r)
		default:
			p.say(NeverSettled, "", r)
		}
	}
}

// randomCase is records and settlements of few amounts, accounts, texts and times.
func randomCase(random *rand.Rand) (records []vectorRecord, lines []*Settlement) {
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	at := func() string {
		return pick("2026-11-22T22:30:00Z", "2026-11-22T23:30:00Z", "2026-11-23T10:00:00Z", "2026-11-23T10:04:00Z", "2026-11-23T11:00:00Z", "2026-11-23T11:05:00.000001Z", "2026-11-23T23:10:00Z")
	}
	account := func() string { return pick("", "account:A", "account:B", "0xAB", "0xab") }
	for i := range 1 + random.IntN(7) {
		r := vectorRecord{
			TxnID: fmt.Sprintf("txn_%08d", i), Verdict: pick("PROCEED", "PROCEED", "PROCEED", "REVIEW", "BLOCK"), ScreenedAt: at(), Amount: pick("1", "2", "3"),
			Payee: account(), Payer: account(), PaymentRef: pick("", "", "p1", "p2"), Nonce: pick("", "", "0xN1"),
		}
		if r.Verdict == "REVIEW" && random.IntN(4) > 0 {
			r.Disposition, r.DisposedAt = pick("APPROVED", "APPROVED", "REJECTED"), at()
			r.LapsesAt, r.RedeemedAt = pick("", at()), pick("", at())
		}
		if random.IntN(2) == 0 {
			r.End = &struct{ State, At, Amount, RailRef string }{pick("settled", "settled", "released", "expired", "unresolved"), at(), pick("1", "2", "3"), ""}
			if r.End.State == "settled" {
				r.End.RailRef = pick("", "0xR1", "r2")
			}
		}
		records = append(records, r)
	}
	for range random.IntN(9) {
		l := &Settlement{
			ID: fmt.Sprintf("l%d", random.IntN(12)), Time: pick(at(), at(), "2026-11-23"), Currency: pick("USD", "USD", "USD", "EUR"), Direction: pick("out", "out", "out", "in"),
			Kind: pick("payment", "payment", "payment", "return", "fee"), Payee: account(), Payer: account(),
		}
		l.Amount, _ = ParseAmount(pick("1", "2", "3", "1.0000001"))
		if l.Kind == KindReturn {
			l.Of = fmt.Sprintf("l%d", random.IntN(12))
		}
		for range random.IntN(3) {
			l.Refs = append(l.Refs, pick("p1", "p2", "0xn1", "0xr1", "r2", fmt.Sprintf("txn_%08d", random.IntN(7)), fmt.Sprintf("for txn_%08d, txn_%08d", random.IntN(7), random.IntN(7)), "xtxn_00000001"))
		}
		lines = append(lines, l)
	}
	return records, lines
}

// holdAgainstPlain compares a run with the plain matching.
func holdAgainstPlain(t testing.TB, seed uint64) Class {
	random := rand.New(rand.NewPCG(seed, 0))
	o := Settings{Rail: "USDC", From: plainTime("2026-11-23"), To: plainTime("2026-11-24"), Skew: SkewDefault, SettleWithin: SettleWithinChain}
	records, lines := randomCase(random)
	p := &plain{records: records, lines: lines, o: o}
	r, err := New(o)
	require.NoError(t, err)
	for i := range records {
		records[i].take(t, r)
	}
	for _, l := range lines {
		require.NoError(t, r.Settlement(l))
	}
	result, err := r.End()
	require.NoError(t, err)
	var told []string
	var last Class
	for i := range r.findings {
		f := &r.findings[i]
		var names []string
		for _, record := range r.recordsOf(f) {
			names = append(names, txnPrefix+string(r.records[record].txn[:]))
		}
		last = f.class
		told = append(told, fmt.Sprintf("%s|%s|%s", f.class, r.settlementID(f), strings.Join(names, ",")))
	}
	sort.Strings(told)
	require.Equal(t, p.run(), told, "seed %d", seed)
	require.Equal(t, int(result.Findings), len(told))
	return last
}

// TestPlainMatchingAgrees: on random cases the room finds what the plain matching finds.
func TestPlainMatchingAgrees(t *testing.T) {
	seen := map[Class]bool{}
	for seed := range uint64(20_000) {
		seen[holdAgainstPlain(t, seed)] = true
	}
	require.Greater(t, len(seen), 8)
}

func FuzzRunAgainstPlain(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { holdAgainstPlain(t, seed) })
}

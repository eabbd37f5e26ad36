package parties

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
)

// emptyHistory is a log without leaves.
type emptyHistory struct{}

func (emptyHistory) Scan(audit.Query, func(uint64, audit.Leaf) bool) (audit.ScanResult, error) {
	return audit.ScanResult{Done: true}, nil
}
func (emptyHistory) FindTime(int64) uint64 { return 0 }
func (emptyHistory) Size() uint64          { return 0 }

func newIndex(now engine.Time) *Index {
	return New(Deps{History: func() History { return emptyHistory{} }, Now: func() engine.Time { return now }, Pace: func() func() { return func() {} }})
}

// paid is a payment to a name that hit an entry, or nothing.
func paid(leaf uint64, at engine.Time, name string, uid uint32) change {
	form := formOf(name)
	entry := Entry{UID: uid, List: "SDN", Name: fmt.Sprint("ENTRY ", uid)}
	return change{told: told{
		payment: Payment{Leaf: leaf, At: at, Amount: engine.Dollar, Verdict: engine.Proceed, Agent: 1},
		payee:   payee{name: name, form: form}, form: form, party: Party{ID: idOf(form, &entry), Name: name, Entry: entry},
	}}
}

// put takes payments that were added to history, or older ones.
func (x *Index) put(older bool, changes ...change) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.batch = changes
	x.merge(older)
}

// TestHitsStandAboveLimits: in a thousand random queues every hit of a name or a place stands above every
// case without one, whatever else is said of both; parts add up, and the order does not hang on how the
// queue was shuffled.
func TestHitsStandAboveLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(147, 1))
	for range 1000 {
		now := engine.Time(1+random.Int64N(1<<40)) * engine.Millisecond
		var hits, others []int
		for range 2 + random.IntN(60) {
			w := Work{
				Hit: random.IntN(4) == 0, Report: random.IntN(5) == 0, Rules: random.Uint32N(1 << 26), Score: uint16(random.IntN(10_001)),
				Agrees: random.IntN(9), Differs: random.IntN(9), Money: Money(random.IntN(3)), OpenedAt: now - engine.Time(random.Int64N(int64(100*engine.DayLength))),
			}
			if random.IntN(2) == 0 {
				w.Rules &= limitRules
			}
			if random.IntN(3) > 0 {
				w.DueAt = w.OpenedAt + engine.Time(random.Int64N(int64(40*engine.DayLength)))
			}
			rank, parts := w.Rank(now)
			sum := 0
			for _, part := range parts {
				sum += part.Points
				require.NotEmpty(t, part.Why)
			}
			require.Equal(t, rank, sum)
			if w.Hit || IsHit(w.Rules) {
				hits = append(hits, rank)
			} else {
				others = append(others, rank)
			}
		}
		if len(hits) > 0 && len(others) > 0 {
			require.Greater(t, slices.Min(hits), slices.Max(others))
		}
	}
	require.Greater(t, RankHit+factsMost*rankDiffers, rankReport+rankGone+rankOverdue, "by the points alone")
}

// TestIndexIsBounded: payments and counterparties beyond the bounds push out the oldest, which is told,
// and whoever is named by none of the others is forgotten.
func TestIndexIsBounded(t *testing.T) {
	x := newIndex(engine.Second)
	x.former = true
	for i := range payeesMax + 100 {
		x.put(false, paid(uint64(i+1), engine.Time(i), fmt.Sprint("Name ", i), 0))
	}
	payments, payees, parties := x.Counts()
	require.LessOrEqual(t, payees, payeesMax)
	require.Equal(t, payees, payments)
	require.Equal(t, payees, parties)
	require.True(t, x.full, "the answer must say that something is left out")
	require.Positive(t, x.since)
	_, _, known := x.Find(1)
	require.False(t, known)
	newest, party, known := x.Find(payeesMax + 100)
	require.True(t, known)
	require.Equal(t, fmt.Sprint("Name ", payeesMax+99), party.Name)
	require.EqualValues(t, 1, x.Generation(), "numbers are new")
	of, known := x.PartyAt(newest.Party)
	require.True(t, known)
	require.Equal(t, party, of)

	x = newIndex(engine.Second) // Read back, it stops where it is full.
	for i := range uint64(payeesMax + 100) {
		x.put(true, paid(payeesMax+200-i, engine.Time(payeesMax+200-i), fmt.Sprint("Name ", i), 0))
	}
	payments, _, _ = x.Counts()
	require.Equal(t, payeesMax, payments)
	require.True(t, x.full)
	require.EqualValues(t, 201, x.since, "the oldest that it has")
}

// TestPastRetentionIsForgotten: what is past its 90 days leaves the index with its names.
func TestPastRetentionIsForgotten(t *testing.T) {
	now := 200 * engine.DayLength
	x := newIndex(now)
	for i := range uint64(80) {
		x.put(false, paid(i+1, now-engine.Retention-engine.Hour+engine.Time(i), fmt.Sprint("Old ", i), 0))
	}
	x.put(false, paid(1000, now, "New", 0))
	payments, payees, _ := x.Counts()
	require.Equal(t, 1, payments)
	require.Equal(t, 1, payees)
}

// TestFatesFindTheirPayments: what later leaves say counts the same whether history is read forwards or
// back, the newest word last.
func TestFatesFindTheirPayments(t *testing.T) {
	said := func(record uint64, f fate) change { return change{record: record, fate: f} }
	review := paid(5, 5, "Name", 7)
	review.told.payment.Verdict = engine.Review
	story := []change{review, said(5, fate{said: Approved}), said(5, fate{ended: fsm.HoldReleased}), said(5, fate{ended: fsm.HoldSettled})}
	forwards, back := newIndex(engine.Second), newIndex(engine.Second)
	for i := range story {
		forwards.put(false, story[i])
		back.put(true, story[len(story)-1-i])
	}
	for _, x := range []*Index{forwards, back} {
		payment, _, known := x.Find(5)
		require.True(t, known)
		require.Equal(t, Approved, payment.Said)
		require.Equal(t, fsm.HoldSettled, payment.Ended)
		require.Equal(t, WentAhead, payment.State())
	}
	require.Empty(t, back.fates)
}

// TestStates: what becomes of money, by verdict, answer and end.
func TestStates(t *testing.T) {
	for _, one := range []struct {
		payment Payment
		want    State
	}{
		{Payment{Verdict: engine.Proceed}, WentAhead},
		{Payment{Verdict: engine.Proceed, Ended: fsm.HoldReleased}, Returned},
		{Payment{Verdict: engine.Proceed, Ended: fsm.HoldExpired}, Returned},
		{Payment{Verdict: engine.Proceed, Ended: fsm.HoldUnresolved}, WentAhead},
		{Payment{Verdict: engine.Review}, Waits},
		{Payment{Verdict: engine.Review, Said: Approved}, WentAhead},
		{Payment{Verdict: engine.Review, Said: Stopped}, Rejected},
		{Payment{Verdict: engine.Review, Said: Stopped, Ended: fsm.HoldSettled}, WentAhead},
		{Payment{Verdict: engine.Block}, Blocked},
		{Payment{Verdict: engine.Block, Ended: fsm.HoldSettled}, WentAhead},
	} {
		require.Equal(t, one.want, one.payment.State(), "%+v", one.payment)
	}
}

// TestLikenessAcrossSpellings: our own counterparties are found as the list is, in whatever segment they
// stand.
func TestLikenessAcrossSpellings(t *testing.T) {
	x := newIndex(engine.Second)
	x.former = true
	compileAll := func() {
		for x.compileNext(func() {}) {
		}
	}
	names := []string{"Ramzan Kadyrow", "Corner Bakery", "Мирослав Воронцов", "Müller GmbH", "Jean-Pierre Dupont", "Anna Schmidt"}
	for i, name := range names {
		x.put(false, paid(uint64(i+1), 1, name, 0))
		compileAll()
	}
	for asked, want := range map[string]string{
		"Ramzan KADYROV": "Ramzan Kadyrow", "Kadyrov, Ramzan": "Ramzan Kadyrow", "Miroslav Vorontsov": "Мирослав Воронцов", "MUELLER GMBH": "Müller GmbH",
		"Jean Pierre DUPONT": "Jean-Pierre Dupont", "Schmidt Anna": "Anna Schmidt",
	} {
		found := x.Alike(&Question{Names: []string{asked}, Most: 10}, func() {})
		require.NotEmpty(t, found, asked)
		payee, _ := x.PayeeAt(found[0].Payee)
		require.Equal(t, want, payee.Name, asked)
		require.NotEmpty(t, found[0].Why)
	}
	require.Empty(t, x.Alike(&Question{Names: []string{"Somebody Else"}, Most: 10}, func() {}))
	require.True(t, x.comparedAll())
	require.LessOrEqual(t, len(x.segments), 4, "small segments are compiled again together")
}

// TestBadNameSparesItsNeighbours: names that a list would not take are left out of it, and found by their
// words.
func TestBadNameSparesItsNeighbours(t *testing.T) {
	x := newIndex(engine.Second)
	for i, name := range []string{"Ramzan Kadyrow", "\x00\x01", "????", "\xff\xfe bad", "Corner Bakery"} {
		x.put(false, paid(uint64(i+1), 1, name, 0))
	}
	for x.compileNext(func() {}) {
	}
	require.NotEmpty(t, x.Alike(&Question{Names: []string{"Ramzan Kadyrov"}, Most: 10}, func() {}))
}

// TestIDs: the order of a name's words does not matter, whom it hit does; texts are read back.
func TestIDs(t *testing.T) {
	entry := Entry{UID: 23343}
	id := idOf(formOf("Ramzan Kadyrow"), &entry)
	require.Equal(t, id, ClearedID("KADYROW, ramzan", 23343))
	require.NotEqual(t, id, ClearedID("Ramzan Kadyrow", 23344))
	require.NotEqual(t, id, idOf(formOf("Ramzan Kadyrow"), &Entry{}))
	require.NotEqual(t, id, idOf(formOf("Ramzan Kadyrow"), &Entry{Place: "RU"}))
	back, ok := ParseID(id.String())
	require.True(t, ok)
	require.Equal(t, id, back)
	for _, text := range []string{"", "pty_", id.String() + "0", "PTY" + id.String()[3:], "pty_zz" + id.String()[6:]} {
		_, ok := ParseID(text)
		require.False(t, ok, text)
	}
}

// BenchmarkCompile measures compiling names, which the goroutine does between verdicts.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{16, 1024, segmentMax} {
		payees := make([]payee, n)
		random := rand.New(rand.NewPCG(1, 1))
		for i := range payees {
			payees[i] = payee{name: fmt.Sprintf("%s %s", word(random), word(random))}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				require.NotNil(b, compile(payees, 0, func() {}))
			}
		})
	}
}

// BenchmarkAlike measures one question to a full index.
func BenchmarkAlike(b *testing.B) {
	x := newIndex(engine.Second)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range payeesMax - 1 {
		x.put(false, paid(uint64(i+1), 1, fmt.Sprintf("%s %s", word(random), word(random)), 0))
	}
	for x.compileNext(func() {}) {
	}
	b.ResetTimer()
	for b.Loop() {
		x.Alike(&Question{Names: []string{"Ramzan Kadyrov"}, Words: "kadyrov", Most: 50}, func() {})
	}
}

func word(random *rand.Rand) string {
	parts := []string{"ka", "dy", "row", "ram", "zan", "ah", "med", "ali", "mo", "ham", "ed", "schmitt", "wei", "chen", "james", "smith", "robert", "garcia"}
	text := ""
	for range 2 + random.IntN(2) {
		text += parts[random.IntN(len(parts))]
	}
	return text
}

package httpapi

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/ofac"
	"railguard/ofac/feed"
)

// realList loads a published list from the folder of real data; it skips the test where
// there is none.
func realList(t testing.TB, date string) []ofac.Entity {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	data := os.Getenv("RAILGUARD_DATA")
	for data == "" && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, "shared", "data", "ofac")); err == nil {
			data = filepath.Join(dir, "shared", "data")
		}
	}
	if data == "" {
		t.Skip("no real list files: set RAILGUARD_DATA to the folder that holds ofac/")
	}
	loaded, err := feed.LoadDir(filepath.Join(data, "ofac", date), nil)
	require.NoError(t, err)
	return loaded.Entities
}

// newNames returns names and wallets of a list that match somebody whom the list before did
// not match: those of added entries, and those of entries with a new name.
func newNames(t testing.TB, old *ofac.Index, after []ofac.Entity) (names, wallets []string) {
	now, err := ofac.Build(after, ofac.Meta{})
	require.NoError(t, err)
	scratch := ofac.NewScratch()
	outcome := func(x *ofac.Index, name string) ofac.Outcome {
		return x.Screen(&ofac.Query{Name: name, Brief: true}, scratch).Outcome
	}
	for i := range after {
		for _, name := range after[i].Names {
			if outcome(old, name.Full) == ofac.Clear && outcome(now, name.Full) != ofac.Clear {
				names = append(names, name.Full)
			}
		}
		for _, address := range after[i].Addresses {
			if _, had := old.Wallet(address.Value); !had {
				wallets = append(wallets, address.Value)
			}
		}
	}
	return names, wallets
}

// Retro-screening the difference of two real lists finds exactly the payments that were
// planted for it, among payments to unrelated names, to a few repeated ones, and to parties
// listed before. RAILGUARD_RETRO_RECORDS makes the history longer (make retro: 1,000,000).
func TestRetroOfRealLists(t *testing.T) {
	if testing.Short() {
		t.Skip("parses whole SDN files: not in short runs")
	}
	records := 3000
	if text := os.Getenv("RAILGUARD_RETRO_RECORDS"); text != "" {
		var err error
		records, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	before, after := realList(t, "2025-03-04"), realList(t, "2025-03-21")
	n := newTestNode(t)
	n.activate(before, testMeta("2025-03-04", false))
	screenPast(t, n.leading())
	names, wallets := newNames(t, n.List(), after)
	t.Logf("%d names and %d wallets lead to somebody whom they did not lead to before", len(names), len(wallets))
	require.NotEmpty(t, names)
	_, token := n.register("")
	planted := map[string]bool{}
	began := time.Now()
	for i := range records {
		plant := i%(records/300) == 3
		fields := `,"cpName":"Quiet Harbour Bakery Number ` + strconv.Itoa(i) + `"`
		switch k := i * 300 / records; {
		case plant && i%2 == 1 && len(wallets) > 0:
			fields = `,"cpWallet":"` + wallets[k%len(wallets)] + `"`
		case plant:
			fields = `,"cpName":` + strconv.Quote(names[k%len(names)])
		case i%100 == 1: // This name was listed before, so it was reported then.
			fields = `,"cpName":` + strconv.Quote(before[i%len(before)].Names[0].Full)
		case i%3 == 0:
			fields = `,"cpName":"Harbour Supplies ` + strconv.Itoa(i%30_000) + `"`
		}
		w := n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+fields+`}`)
		require.Equal(t, 200, w.Code, w.Body)
		if plant {
			planted[member(t, w.Body.Bytes(), "txnId")] = true
		}
		n.advance(10 * engine.Millisecond)
	}
	t.Logf("%d records made in %s, %d of them planted", records, time.Since(began).Round(time.Millisecond), len(planted))
	n.activate(after, testMeta("2025-03-21", false))
	if os.Getenv("RAILGUARD_RETRO_RECORDS") != "" {
		n.latencies(token)
	} else {
		screenPast(t, n.leading())
	}
	found := map[string]bool{}
	for cursor := ""; ; {
		page := n.retroReport("?limit=500" + cursor)
		for _, item := range page.GetArray("data") {
			txn := textOf(item, "txnId")
			require.False(t, found[txn], "told twice: %s", txn)
			found[txn] = true
		}
		if cursor = textOf(page, "nextCursor"); cursor == "" {
			break
		}
		cursor = "&cursor=" + cursor
	}
	require.Equal(t, planted, found)
}

// latencies logs how long calls take during a retro-screening and afterwards, in turns with
// nothing else on the machine. It logs figures and tests nothing.
func (n *testNode) latencies(token string) {
	duty := NewRetro(n.api, n)
	began := time.Now()
	calls := func(until func(done int) bool) (p50, p99 time.Duration, count int) {
		var took []time.Duration
		for !until(len(took)) {
			at := time.Now()
			require.Equal(n.t, 200, n.screen(token, `,"cpName":"Quiet Harbour Bakery"`).Code)
			took = append(took, time.Since(at))
			time.Sleep(2 * time.Millisecond) // This makes about 400 calls a second.
		}
		slices.Sort(took)
		return took[len(took)/2], took[len(took)*99/100], len(took)
	}
	duty.Start()
	p50, p99, count := calls(func(done int) bool {
		run := n.Settings().Retro
		return done > 0 && run != nil && run.List == n.Settings().ListVersion && run.EndedAt != 0
	})
	duty.Stop()
	n.t.Logf("screened in %s; %d calls meanwhile: p50 %s, p99 %s", time.Since(began).Round(time.Millisecond), count, p50, p99)
	p50, p99, _ = calls(func(done int) bool { return done >= min(count, 10_000) })
	n.t.Logf("the same calls afterwards: p50 %s, p99 %s", p50, p99)
}

package clients

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// permitJob is what a language's program is given to build statements and to check permits.
type permitJob struct {
	Do         string            `json:"do"`
	Keys       client.JWKS       `json:"jwks"`
	Statements []json.RawMessage `json:"statements"`
	Pays       []payCase         `json:"pays"`
	Cases      []permitCase      `json:"cases"`

	// Steps are checked in order, with keys that are read from URLs, and with a store of at most
	// Most used permits.
	URLs  []string     `json:"urls"`
	Most  int          `json:"most"`
	Steps []permitCase `json:"steps"`
}

// permitReport has what came of each: a hash, a statement, a permit's jti, or a reason; "error"
// if the caller's own words are wrong.
type permitReport struct {
	Statements []string          `json:"statements"`
	Pays       []json.RawMessage `json:"pays"`
	Cases      []string          `json:"cases"`
	Steps      []string          `json:"steps"`
}

func drivePermitsGo(t *testing.T, work *permitJob) (done permitReport) {
	for _, raw := range work.Statements {
		var pay client.PayStatement
		reader := json.NewDecoder(strings.NewReader(string(raw)))
		reader.DisallowUnknownFields() // A struct's members are closed and texts; the other languages' are checked.
		if err := reader.Decode(&pay); err != nil || pay.Currency == "" {
			done.Statements = append(done.Statements, "error")
			continue
		}
		done.Statements = append(done.Statements, client.PayHash(&pay))
	}
	for i := range work.Pays {
		answer := json.RawMessage(`"error"`)
		if paying := payingGo(work.Pays[i].Paying); paying != nil {
			if pay, err := paying.Statement(work.Pays[i].JTI); err == nil {
				answer = encode(t, pay)
			}
		}
		done.Pays = append(done.Pays, answer)
	}
	for i := range work.Cases {
		done.Cases = append(done.Cases, checkGo(t.Context(), &work.Cases[i], &work.Keys, nil))
	}
	var now int64
	clock := func() time.Time { return time.Unix(now, 0) }
	rail, err := client.New(client.Options{Addresses: work.URLs, Attempts: 1})
	require.NoError(t, err)
	keys, uses := client.NewPermitKeys(rail, clock), client.NewFirstUses(work.Most, clock)
	for i := range work.Steps {
		now = work.Steps[i].Now
		done.Steps = append(done.Steps, checkGo(t.Context(), &work.Steps[i], keys, uses.First))
	}
	return done
}

// payingGo reads what is about to be paid; nil if its amount is none.
func payingGo(one *paying) *client.Paying {
	amount, err := client.ParseUSD(one.Amount)
	if err != nil {
		return nil
	}
	return &client.Paying{
		Amount: amount, Chain: one.Chain, Rail: one.Rail, Payee: one.Payee, Payer: one.Payer, Name: one.Name,
		Identifiers: one.Identifiers, Ref: one.Ref, Asset: one.Asset, Units: one.Units, Nonce: one.Nonce,
	}
}

func checkGo(ctx context.Context, one *permitCase, keys client.PermitKeySource, first client.FirstUse) string {
	check := &client.PermitCheck{
		Keys: keys, Issuer: one.Issuer, Audience: one.Audience, Now: time.Unix(one.Now, 0), Pay: one.Pay,
		MaxListAge: time.Duration(one.MaxListAge) * time.Second, Sandbox: one.Sandbox, FirstUse: first,
	}
	if one.Paying != nil {
		if check.Paying = payingGo(one.Paying); check.Paying == nil {
			return "error"
		}
	}
	claims, err := client.VerifyPermit(ctx, one.Permit, check)
	var reason client.PermitReason
	var failure *client.Error
	switch {
	case err == nil:
		return claims.ID
	case errors.As(err, &reason):
		return string(reason)
	case errors.As(err, &failure):
		return failure.Code
	case errors.Is(err, client.ErrFirstUsesFull):
		return "full"
	}
	return "error"
}

// eachPermitLanguage gives every language the job.
func eachPermitLanguage(t *testing.T, work *permitJob, judge func(t *testing.T, got *permitReport)) {
	work.Do, work.Statements, work.Pays = "permits", append([]json.RawMessage{}, work.Statements...), append([]payCase{}, work.Pays...)
	work.Cases, work.Steps = append([]permitCase{}, work.Cases...), append([]permitCase{}, work.Steps...)
	if work.URLs == nil {
		work.URLs = []string{"http://127.0.0.1:1"}
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			var got permitReport
			if l.name == "go" {
				got = drivePermitsGo(t, work)
			} else {
				require.NoError(t, run(t.Context(), l.command(t, "drive"), work, &got))
			}
			judge(t, &got)
		})
	}
}

func judgePermits(t *testing.T, work *permitJob, got *permitReport) {
	require.Len(t, got.Pays, len(work.Pays))
	for i := range work.Pays {
		want := &work.Pays[i]
		if want.Pay == nil {
			require.JSONEq(t, `"error"`, string(got.Pays[i]), want.Name)
			continue
		}
		require.JSONEq(t, string(encode(t, want.Pay)), string(got.Pays[i]), want.Name)
	}
	require.Len(t, got.Cases, len(work.Cases))
	for i := range work.Cases {
		want := work.Cases[i].Want
		if want == "good" {
			want = jtiOf(t, work.Cases[i].Permit)
		}
		require.Equal(t, want, got.Cases[i], work.Cases[i].Name)
	}
}

// TestPermits: in every case of testdata/permits.json each client gives the same statement, accepts
// the same permits, and refuses the others for the same reason.
func TestPermits(t *testing.T) {
	book := readPermits(t)
	work := &permitJob{Keys: book.Keys, Pays: book.Pays, Cases: book.Cases}
	statements := []struct{ statement, canonical string }{
		{`{"ref":"\u2028\u007f\b\t\n\f\r\u0001é😀\"\\/<>&","amount":"1","currency":"USD"}`, "{\"amount\":\"1\",\"currency\":\"USD\",\"ref\":\"\u2028\u007f\\b\\t\\n\\f\\r\\u0001é😀\\\"\\\\/<>&\"}"},
		{`{"payeeIds":["b","a"],"payer":"y","payee":"x","currency":"USD","amount":"1"}`, `{"amount":"1","currency":"USD","payee":"x","payeeIds":["b","a"],"payer":"y"}`},
		{`{"amount":1,"currency":"USD"}`, ""}, {`{"amount":"1","currency":"USD","memo":"x"}`, ""}, {`{"amount":"1","currency":"USD","payeeIds":"x"}`, ""},
		{`{"amount":"1","currency":"USD","payeeIds":[1]}`, ""}, {`{"amount":"1","currency":"USD","payee":["x"]}`, ""}, {`[]`, ""}, {`{}`, ""},
	}
	for i := range book.Pays {
		if pay := book.Pays[i].Pay; pay != nil {
			statements = append(statements, struct{ statement, canonical string }{string(encode(t, pay)), canonical(t, pay)})
		}
	}
	for _, one := range statements {
		work.Statements = append(work.Statements, json.RawMessage(one.statement))
	}
	eachPermitLanguage(t, work, func(t *testing.T, got *permitReport) {
		judgePermits(t, work, got)
		require.Len(t, got.Statements, len(statements))
		for i, one := range statements {
			want := "error"
			if one.canonical != "" {
				want = digest(one.canonical)
			}
			require.Equal(t, want, got.Statements[i], one.statement)
		}
	})
}

// TestPermitsInTurn: keys are kept for an hour and read for a new kid at most once a minute, and
// never for what is no kid of a permit. A permit is used once, and so is every other of its
// payment. A full store refuses, until it may forget.
func TestPermitsInTurn(t *testing.T) {
	maker := newPermitMaker(t)
	var readings atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/v1/.well-known/jwks.json", r.URL.Path)
		readings.Add(1)
		require.NoError(t, json.NewEncoder(w).Encode(maker.book.Keys))
	}))
	type turn struct {
		jti, kid string
		at       int64 // Since the first.
		want     string
		readings int64
	}
	turns := []turn{
		{"txn_a", "cc-v1", 0, "key", 0},
		{"txn_a", "pm-v1", 0, "txn_a", 1},
		{"txn_a", "pm-v1", 0, "used", 1},
		{"txn_a", "pm-v1", 100, "used", 1},      // Another permit of the same payment, good until 220.
		{"txn_b", "pm-v9", 59, "key", 1},        // The keys were read less than a minute ago.
		{"txn_b", "pm-v9", 120, "key", 2},       // This kid might be new.
		{"txn_b", "pm-v9", 150, "key", 2},       //
		{"txn_b", "pm-v1", 270, "txn_b", 2},     // The store is full now.
		{"txn_c", "pm-v1", 275, "full", 2},      //
		{"txn_a", "pm-v1", 279, "used", 2},      // The first one's second permit was remembered until 280. This one is until 459.
		{"txn_c", "pm-v1", 449, "full", 2},      // txn_b is remembered until 450.
		{"txn_c", "pm-v1", 450, "txn_c", 2},     //
		{"txn_a", "pm-v1", 459, "txn_a", 2},     // Forgotten, and its place is free.
		{"txn_d", "pm-v1", 3719, "txn_d", 2},    // The last second for which the keys are kept.
		{"txn_e", "pm-v1", 3720, "txn_e", 3},    //
		{"txn_e", "cc-v1", 9000, "key", 3},      //
		{"txn_e", "pm-v1", 3720, "used", 3},     //
		{"txn_f", "none", 3720, "malformed", 3}, //
	}
	work := &permitJob{URLs: []string{server.URL}, Most: 2}
	for _, one := range turns {
		now := permitsAt + one.at
		permit := maker.sign(maker.permit, permitHeader(one.kid), maker.claims(map[string]any{"jti": one.jti, "iat": now, "exp": now + 120}))
		if one.kid == "none" {
			permit = "x"
		}
		work.Steps = append(work.Steps, permitCase{Permit: permit, Issuer: permitsIssuer, Audience: permitsAudience, Now: now, Paying: maker.mine})
	}
	eachPermitLanguage(t, work, func(t *testing.T, got *permitReport) {
		require.Len(t, got.Steps, len(turns))
		for i, one := range turns {
			require.Equal(t, one.want, got.Steps[i], "turn %d", i)
		}
		require.Equal(t, turns[len(turns)-1].readings, readings.Swap(0))
	})
	server.Close()
	work.Steps = work.Steps[:2]
	eachPermitLanguage(t, work, func(t *testing.T, got *permitReport) {
		require.Equal(t, []string{"key", "unreachable"}, got.Steps, "no keys")
	})
}

// sharedVectors returns the folder of the permits' published vectors: shared beside a parent of
// this folder.
func sharedVectors(t *testing.T) string {
	folder, err := os.Getwd()
	require.NoError(t, err)
	for {
		candidate := filepath.Join(folder, "shared", "spec", "integrations", "permit", "vectors")
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Skip("no shared/spec/integrations/permit/vectors beside a parent of this folder: the published vectors of permits are NOT tested")
		}
		folder = parent
	}
}

// vectorBook is permit.json of the published vectors.
type vectorBook struct {
	Now              int64
	Issuer, Audience string
	JWKS             client.JWKS
	Good, Bad        []struct {
		Name, Permit, Reason, Issuer, Audience string
		At                                     int64
		StockLibrariesMayAccept                bool
	}
}

// vectorPays is pay.json of the published vectors.
type vectorPays struct {
	Cases []struct {
		Name, JTI, Request, JCS string
		Pay                     *client.PayStatement
		PayHash                 string `json:"pay_hash"`
	}
}

func readVectors(t *testing.T, name string, into any) {
	raw, err := os.ReadFile(filepath.Join(sharedVectors(t), name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// sharedCases are the published permits. Each is checked against the payment of its jti, which is
// built from pay.json's request; the longest one's request is not published.
func sharedCases(t *testing.T) (*vectorBook, []permitCase) {
	var book vectorBook
	var pays vectorPays
	readVectors(t, "permit.json", &book)
	readVectors(t, "pay.json", &pays)
	known := map[string]*client.PayStatement{}
	for i := range pays.Cases {
		known[pays.Cases[i].JTI] = pays.Cases[i].Pay
	}
	var cases []permitCase
	for i, one := range append(append(book.Good[:0:0], book.Good...), book.Bad...) {
		want := "good"
		if i >= len(book.Good) {
			want = one.Reason
		}
		made := permitCase{Name: one.Name, Want: want, Permit: one.Permit, Issuer: one.Issuer, Audience: one.Audience, Now: one.At, Stock: !one.StockLibrariesMayAccept}
		if made.Issuer == "" {
			made.Issuer = book.Issuer
		}
		if made.Audience == "" {
			made.Audience = book.Audience
		}
		if made.Now == 0 {
			made.Now = book.Now
		}
		made.Pay = known["txn_7Kq2mZ9a"]
		if want == "good" {
			if made.Pay = known[jtiOf(t, one.Permit)]; made.Pay == nil {
				require.Contains(t, one.Name, "the longest")
				made.Pay = payOf(t, one.Permit)
			}
		}
		cases = append(cases, made)
	}
	require.Greater(t, len(cases), 25)
	return &book, cases
}

// TestSharedPermitVectors: all three clients agree with the published vectors.
func TestSharedPermitVectors(t *testing.T) {
	book, cases := sharedCases(t)
	work := &permitJob{Keys: book.JWKS, Cases: cases}
	var pays vectorPays
	readVectors(t, "pay.json", &pays)
	for i := range pays.Cases {
		one := &pays.Cases[i]
		made := payCase{Name: one.Name, JTI: one.JTI, Pay: one.Pay, Paying: payingOf(t, one.Request, one.Pay)}
		require.JSONEq(t, one.JCS, string(encode(t, one.Pay)), one.Name)
		work.Pays = append(work.Pays, made)
		work.Statements = append(work.Statements, encode(t, one.Pay))
	}
	eachPermitLanguage(t, work, func(t *testing.T, got *permitReport) {
		judgePermits(t, work, got)
		for i := range pays.Cases {
			require.Equal(t, pays.Cases[i].PayHash, got.Statements[i], pays.Cases[i].Name)
		}
	})
}

// payingOf reads a published request. The one of x402 is told in words.
func payingOf(t *testing.T, request string, pay *client.PayStatement) *paying {
	var told struct {
		Amount                                                 json.Number
		Chain, Rail, CPName, CPWallet, PayerWallet, PaymentRef string
		CPIdentifiers                                          []client.Identifier
	}
	if !strings.HasPrefix(request, "{") {
		require.Contains(t, request, "value 10000")
		return &paying{
			Amount: "0.01", Chain: "base", Rail: "usdc", Payee: strings.ToUpper(pay.Payee), Payer: pay.Payer, Units: "10000",
			Asset: strings.Replace(pay.Asset, "833589fcd6edb6e08f4c", "833589fCD6eDb6E08f4c", 1), Nonce: strings.ToUpper(pay.Nonce),
		}
	}
	require.NoError(t, json.Unmarshal([]byte(request), &told))
	return &paying{
		Amount: string(told.Amount), Chain: told.Chain, Rail: told.Rail, Payee: told.CPWallet, Payer: told.PayerWallet,
		Name: told.CPName, Identifiers: told.CPIdentifiers, Ref: told.PaymentRef,
	}
}

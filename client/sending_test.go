package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An empty list allows nothing, and is said; one that is nil is not.
func TestEmptyListsAreSent(t *testing.T) {
	c, s := newPair(t)
	s.answer = "{}"
	for want, make := range map[string]func() error{
		`"spendPolicy":{"allowedChains":[]}`: func() error {
			_, err := c.Delegate(t.Context(), &Delegate{AgentName: "B", SpendPolicy: &SpendPolicy{AllowedChains: []string{}}})
			return err
		},
		`"spendPolicy":{"allowedRails":[]}`: func() error {
			_, err := c.Register(t.Context(), &Agent{AgentName: "A", SpendPolicy: &SpendPolicy{AllowedRails: []string{}}})
			return err
		},
		`"spendPolicy":{}`: func() error { _, err := c.Delegate(t.Context(), &Delegate{SpendPolicy: &SpendPolicy{}}); return err },
		`"allowedCounterpartyTypes":[]`: func() error {
			_, err := c.Delegate(t.Context(), &Delegate{Rules: Rules{AllowedCounterpartyTypes: []string{}}})
			return err
		},
		`"reviewedBy":"Ann","only":[]}`: func() error {
			_, err := c.DecideParty(t.Context(), "p", &PartyDecision{ReviewedBy: "Ann", Only: []string{}})
			return err
		},
	} {
		s.got = nil
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.got[0].body, want) {
			t.Errorf("sent %s, and should %s", s.got[0].body, want)
		}
	}
}

// Every writing call takes a key and headers, and gives the answer's head.
func TestOptions(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("ETag", `"3"`)
		w.Header().Set("X-Railguard-Index", "9")
		w.Header().Set("Idempotent-Replayed", "true")
		_, _ = io.WriteString(w, `{"data":[]}`)
	}))
	defer server.Close()
	c, err := New(Options{Addresses: []string{server.URL}, Key: "k", SettlerKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	var head Head
	options := []CallOption{WithKey("key-1"), WithIfMatch(`"2"`), WithMinIndex(8), WithStrict(), WithHeader("X-Other", "o"), WithHeader("Authorization", "Bearer stolen"), WithHead(&head)}
	calls := map[string]func() error{
		"k Settle is the settler's":  func() error { _, err := c.Settle(t.Context(), "t", nil, "", options...); return err },
		"k Release is the settler's": func() error { _, err := c.Release(t.Context(), "t", "r", options...); return err },
		"Review":                     func() error { _, err := c.Review(t.Context(), "t", "APPROVED", "a", "", options...); return err },
		"Attest":                     func() error { _, err := c.Attest(t.Context(), "a", "b", "", options...); return err },
		"Suspend":                    func() error { _, err := c.Suspend(t.Context(), "a", "r", options...); return err },
		"ClaimItem":                  func() error { _, err := c.ClaimItem(t.Context(), "i", "a", options...); return err },
		"CreateWebhook":              func() error { _, err := c.CreateWebhook(t.Context(), &Webhook{}, options...); return err },
	}
	for name, make := range calls {
		head = Head{}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		h := got.Header
		if h.Get("Idempotency-Key") != "key-1" || h.Get("If-Match") != `"2"` || h.Get("X-Railguard-Min-Index") != "8" || h.Get("X-Railguard-Strict") == "" || h.Get("X-Other") != "o" {
			t.Errorf("%s sent %v", name, h)
		}
		if want := map[bool]string{true: "Bearer s", false: "Bearer k"}[strings.Contains(name, "settler")]; h.Get("Authorization") != want {
			t.Errorf("%s sent %s", name, h.Get("Authorization"))
		}
		if head.ETag != `"3"` || head.Index != 9 || !head.Replayed || head.Status != 200 {
			t.Errorf("%s gave %+v", name, head)
		}
	}
}

// Pay screens, sends once, and settles; what it does stands in the journal before it is done.
func TestPay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	var calls []string
	steps := func() string {
		raw, _ := os.ReadFile(path)
		var last string
		for _, line := range strings.Fields(string(raw)) {
			_, after, _ := strings.Cut(line, `"step":"`)
			last, _, _ = strings.Cut(after, `"`)
		}
		return last
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, steps()+": "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
		_, _ = io.WriteString(w, `{"verdict":"PROCEED","txnId":"txn_1","state":"settled"}`)
	}))
	defer server.Close()
	c, err := New(Options{Addresses: []string{server.URL}, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	send := func(_ context.Context, verdict *Verdict) (Sent, error) {
		calls = append(calls, steps()+": sent "+verdict.TxnID)
		return Sent{RailRef: "wire"}, nil
	}
	payment := &Payment{Token: "t<o>", Amount: Dollars(2), CounterpartyName: "A&B", Hold: &HoldRequest{TTLSeconds: 60}, IdempotencyKey: "p-1"}
	paid, err := c.Pay(t.Context(), payment, send, journal)
	if err != nil || paid.State != PaidSettled || paid.RailRef != "wire" {
		t.Fatal(paid, err)
	}
	want := []string{
		`screen: /v1/screen p-1 {"token":"t<o>","amount":2,"cpName":"A&B","hold":{"ttlSeconds":60}}`, "send: sent txn_1", `sent: /v1/transactions/txn_1/settle p-1.settle {"railRef":"wire"}`,
	}
	if !slices.Equal(calls, want) {
		t.Errorf("called %q", calls)
	}
	if _, err := c.Pay(t.Context(), payment, send, journal); !errors.Is(err, ErrJournalKnown) || len(calls) != 3 {
		t.Errorf("a payment that is known: %v", err)
	}
	if _, err := OpenJournal(path); !errors.Is(err, ErrJournalLocked) {
		t.Errorf("a journal that is open: %v", err)
	}
	if open := c.Resume(t.Context(), journal, &Resuming{}); len(open) != 0 {
		t.Errorf("%v is open", open)
	}
}

// A store that fails is asked nothing more, and what it did not keep is not done.
func TestPayWithoutAJournal(t *testing.T) {
	c, s := newPair(t)
	s.answer = `{"verdict":"PROCEED","txnId":"txn_1"}`
	journal, err := NewJournal(&failing{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Pay(t.Context(), &Payment{Token: "t"}, nil, journal); err == nil || len(s.got) != 0 {
			t.Error(err, s.got)
		}
	}
}

type failing struct{}

func (*failing) Lines() ([][]byte, error) { return nil, nil }
func (*failing) Append([]byte) error      { return errors.New("no disk") }
func (*failing) Room() bool               { return true }
func (*failing) Close() error             { return nil }

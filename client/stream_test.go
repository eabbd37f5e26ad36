package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// streamServer is a node whose streams are answered by a function: one call of it for each connection.
func streamServer(t *testing.T, answer func(connection int, lines *bufio.Scanner, say func(string))) *httptest.Server {
	var connections atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := int(connections.Add(1))
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = control.Flush()
		var mutex sync.Mutex
		defer func() { _ = control.SetReadDeadline(time.Now()) }() // A server that ends reads no further.
		answer(connection, bufio.NewScanner(r.Body), func(line string) {
			mutex.Lock()
			defer mutex.Unlock()
			_, _ = io.WriteString(w, line+"\n")
			_ = control.Flush()
		})
	}))
	t.Cleanup(server.Close)
	return server
}

func streamClient(t *testing.T, addresses ...string) *Client {
	t.Helper()
	c, err := New(Options{Addresses: addresses, Key: "k", Wait: func(context.Context, time.Duration) error { return nil }, Jitter: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func proceedLine(line int) string {
	return fmt.Sprintf(`{"line":%d,"status":200,"verdict":"PROCEED","txnId":"txn_%d"}`, line, line)
}

func endLine(lines int, code string) string {
	return fmt.Sprintf(`{"end":{"lines":%d,"code":%q}}`, lines, code)
}

// somePayments returns payments with keys "1", "2" and so on.
func somePayments(count int) []*Payment {
	payments := make([]*Payment, count)
	for i := range payments {
		payments[i] = &Payment{Token: "t", IdempotencyKey: strconv.Itoa(i + 1)}
	}
	return payments
}

// collect runs a stream to its end. Each payment must have one result.
func collect(t *testing.T, c *Client, payments []*Payment) map[string]BatchResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(map[string]BatchResult)
	for payment, result := range c.Stream(ctx, slices.Values(payments)) {
		if _, twice := got[payment.IdempotencyKey]; twice {
			t.Errorf("%s has two results", payment.IdempotencyKey)
		}
		got[payment.IdempotencyKey] = result
	}
	if len(got) != len(payments) {
		t.Errorf("%d of %d payments have a result", len(got), len(payments))
	}
	return got
}

// Answers come in any order, and no more than the window is under way.
func TestStreamAnswersEachPayment(t *testing.T) {
	server := streamServer(t, func(_ int, lines *bufio.Scanner, say func(string)) {
		read := 0
		for lines.Scan() {
			if read++; read == 1 && lines.Text() != `{"token":"t","amount":0,"idempotencyKey":"1"}` {
				t.Errorf("the first line is %s", lines.Text())
			}
			if read%2 == 0 {
				say("\n" + proceedLine(read))
				say(proceedLine(read - 1))
			}
		}
		say(endLine(read, "complete"))
	})
	payments := somePayments(1000)
	for key, result := range collect(t, streamClient(t, server.URL), payments) {
		if result.Verdict == nil || result.Verdict.TxnID != "txn_"+key {
			t.Errorf("%s: %+v", key, result)
		}
	}
}

// A payment without a key gets one, and one that the service could not take is sent again with it.
func TestStreamSendsAgainWhatWasNotTaken(t *testing.T) {
	var sent []string
	server := streamServer(t, func(_ int, lines *bufio.Scanner, say func(string)) {
		for lines.Scan() {
			if sent = append(sent, lines.Text()); len(sent) == 1 {
				say(`{"line":1,"status":503,"code":"no_leader","outcome":"none"}`)
			} else {
				say(`{"line":2,"status":400,"code":"invalid_field"}`)
			}
		}
		say(endLine(len(sent), "complete"))
	})
	payment := &Payment{Token: "t"}
	got := collect(t, streamClient(t, server.URL), []*Payment{payment})
	failure := got[payment.IdempotencyKey].Error
	if failure == nil || failure.Code != "invalid_field" || failure.Attempts != 2 || failure.IdempotencyKey != payment.IdempotencyKey || failure.Outcome != OutcomeNone {
		t.Errorf("%+v", failure)
	}
	if len(sent) != 2 || sent[0] != sent[1] || !strings.Contains(sent[0], payment.IdempotencyKey) || payment.IdempotencyKey == "" {
		t.Errorf("sent: %q", sent)
	}
}

// What a broken connection leaves unanswered is sent again, over a new one; so is what came after the
// last line that a leaving node has read, and that did not happen.
func TestStreamGoesOnElsewhere(t *testing.T) {
	for name, ends := range map[string]string{"broken": "", "leaving": endLine(2, "shutting_down")} {
		t.Run(name, func(t *testing.T) {
			server := streamServer(t, func(connection int, lines *bufio.Scanner, say func(string)) {
				for read := 1; lines.Scan(); read++ {
					switch {
					case connection == 1 && read == 2:
						say(proceedLine(2))
						if ends == "" {
							say("") // An empty line before it breaks.
							panic(http.ErrAbortHandler)
						}
						say(proceedLine(1))
						say(ends)
						return
					case connection == 1:
					case name == "broken":
						say(fmt.Sprintf(`{"line":%d,"status":503,"code":"overloaded","outcome":"none"}`, read))
					default:
						say(fmt.Sprintf(`{"line":%d,"status":400,"code":"invalid_field"}`, read))
					}
				}
				say(endLine(1<<20, "complete"))
			})
			got := collect(t, streamClient(t, server.URL), somePayments(5))
			if got["2"].Verdict == nil {
				t.Errorf("what was answered first: %+v", got["2"])
			}
			last := got["5"].Error
			if name == "leaving" && (got["1"].Verdict == nil || last == nil || last.Attempts != 1 || last.Outcome != OutcomeNone) {
				t.Errorf("%+v, %+v", got["1"], last)
			}
			if failure := got["1"].Error; name == "broken" && (failure == nil || failure.Code != "overloaded" || failure.Outcome != OutcomeUnknown) {
				t.Errorf("once unknown, an outcome stays so: %+v", failure)
			}
		})
	}
}

// Without a connection every payment that was read has the error.
func TestStreamGivesUp(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // Else it would wait for the end of the body.
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"unauthorized"}`)
	}))
	defer refuses.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for code, addresses := range map[string][]string{"unauthorized": {closed.URL, refuses.URL}, CodeUnreachable: {closed.URL}} {
		payments := somePayments(1)
		failure := collect(t, streamClient(t, addresses...), payments)["1"].Error
		if failure == nil || failure.Code != code || failure.Outcome != OutcomeNone {
			t.Errorf("%s: %+v", code, failure)
		}
	}
	got := 0
	for range streamClient(t, closed.URL).Stream(t.Context(), slices.Values(somePayments(10*StreamWindow))) {
		got++
	}
	if got == 0 || got > StreamWindow+1 {
		t.Errorf("%d payments were read from the source", got)
	}
}

// A caller that stops early closes the connection, also while the source waits.
func TestStreamIsLeft(t *testing.T) {
	gone := make(chan struct{})
	server := streamServer(t, func(_ int, lines *bufio.Scanner, say func(string)) {
		for read := 1; lines.Scan(); read++ {
			say(proceedLine(read))
		}
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source := func(yield func(*Payment) bool) {
		if yield(&Payment{Token: "t"}) {
			<-ctx.Done()
		}
	}
	for _, result := range streamClient(t, server.URL).Stream(ctx, source) {
		if result.Verdict == nil {
			t.Errorf("%+v", result)
		}
		break
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the connection stays open")
	}
}

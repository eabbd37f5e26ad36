package clients

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// table is client/testdata/cases.json.
type table struct {
	Cases    []kase `json:"cases"`
	Refusals []struct {
		Status int    `json:"status"`
		Code   string `json:"code"`
	} `json:"refusals"`
	Unavailable []string     `json:"unavailable"`
	Money       [][2]*string `json:"money"` // Each pair has a text and the value that it is read as; null: the text is refused.
}

// kase is one call, the script of the fake server, and the expected result.
type kase struct {
	Name      string          `json:"name"`
	Call      string          `json:"call"`
	Key       string          `json:"key"`
	Addresses []string        `json:"addresses"`
	Script    []step          `json:"script"`
	Visits    []int           `json:"visits"`
	Waits     []int64         `json:"waits"`
	Answer    json.RawMessage `json:"answer"`
	Error     json.RawMessage `json:"error"`
	Sends     string          `json:"sends"` // Method, path and query that must arrive; "": not looked at.
	Body      json.RawMessage `json:"body"`
}

// drawnKey is the key of a case in which the client draws one.
const drawnKey = "*"

// driven is the part of a case that a language's program is given.
type driven struct {
	Name string   `json:"name"`
	Call string   `json:"call"`
	Key  string   `json:"key"`
	URLs []string `json:"urls"`
}

type outcome struct {
	Name   string          `json:"name"`
	Answer json.RawMessage `json:"answer"`
	Error  json.RawMessage `json:"error"`
	Waits  []int64         `json:"waits"`
}

type job struct {
	Do     string       `json:"do"`
	Cases  []driven     `json:"cases"`
	Money  [][2]*string `json:"money"`
	Tokens tokenBook    `json:"tokens"`

	Webhooks []message `json:"webhooks"`
}

type report struct {
	Cases  []outcome `json:"cases"`
	Money  []*string `json:"money"`
	Tokens []string  `json:"tokens"`

	Webhooks []string `json:"webhooks"`
}

func readTestdata(t *testing.T, name string, into any) {
	raw, err := os.ReadFile(filepath.Join(home, "testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// readTable adds a case for every code of the service to those written by hand.
func readTable(t *testing.T) *table {
	all := new(table)
	readTestdata(t, "cases.json", all)
	body := func(code string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"error":%q,"code":%q,"message":"m","param":"p","requestId":"req_1","txnId":null}`, code, code))
	}
	told := func(status int, code, outcome string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"status":%d,"code":%q,"param":"p","requestId":"req_1","outcome":%q,"attempts":1,"retryAfter":0}`, status, code, outcome))
	}
	good := step{Status: 200, Body: json.RawMessage(`{"verdict":"PROCEED","txnId":"txn_1"}`)}
	two := []string{"fake", "fake"}
	for _, r := range all.Refusals {
		all.Cases = append(all.Cases, kase{
			Name: fmt.Sprint(r.Status, " ", r.Code, ": told at once"), Call: "screen", Key: "k1", Addresses: two,
			Script: []step{{Status: r.Status, Body: body(r.Code)}}, Visits: []int{0}, Error: told(r.Status, r.Code, "none"),
		})
	}
	for _, code := range all.Unavailable {
		all.Cases = append(all.Cases, kase{
			Name: "503 " + code + ", none", Call: "screenUnkeyed", Addresses: two,
			Script: []step{{Status: 503, Outcome: "none", Body: body(code)}, good}, Visits: []int{0, 1}, Answer: good.Body,
		}, kase{
			Name: "503 " + code + ", unknown, keyed", Call: "screen", Key: "k1", Addresses: two,
			Script: []step{{Status: 503, Outcome: "unknown", Body: body(code)}, good}, Visits: []int{0, 1}, Waits: []int64{100}, Answer: good.Body,
		}, kase{
			Name: "503 " + code + ", unknown, without a key", Call: "screenUnkeyed", Addresses: two,
			Script: []step{{Status: 503, Outcome: "unknown", Body: body(code)}}, Visits: []int{0}, Error: told(503, code, "unknown"),
		})
	}
	return all
}

// TestCases: in every case each client returns the same result, calls the same addresses,
// waits as long, and sends the same keys and bodies.
func TestCases(t *testing.T) {
	all := readTable(t)
	scripts := make([][]step, len(all.Cases))
	for i := range all.Cases {
		scripts[i] = all.Cases[i].Script
	}
	server := newFake(t, scripts)
	book := readTokens(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			work := job{Do: "cases", Money: all.Money, Tokens: book, Webhooks: webhookMessages(t)}
			for i := range all.Cases {
				one := driven{Name: all.Cases[i].Name, Call: all.Cases[i].Call, Key: strings.TrimPrefix(all.Cases[i].Key, drawnKey)}
				for at, kind := range all.Cases[i].Addresses {
					address := fmt.Sprintf("%s/%s/%d/%d", server.url, l.name, i, at)
					if kind == "refused" {
						address = server.refused
					}
					one.URLs = append(one.URLs, address)
				}
				work.Cases = append(work.Cases, one)
			}
			var got report
			if l.name == "go" {
				got = driveGo(t, &work)
			} else {
				require.NoError(t, run(t.Context(), l.command(t, "drive"), work, &got))
			}
			judge(t, all, &book, server, l.name, &got)
			require.Len(t, got.Webhooks, len(work.Webhooks))
			for i := range work.Webhooks {
				require.Equal(t, work.Webhooks[i].Want, got.Webhooks[i], work.Webhooks[i].Name)
			}
		})
	}
}

func judge(t *testing.T, all *table, book *tokenBook, server *fake, name string, got *report) {
	require.Empty(t, server.failed)
	require.Len(t, got.Cases, len(all.Cases))
	for i := range all.Cases {
		want, is := &all.Cases[i], &got.Cases[i]
		require.Equal(t, want.Name, is.Name)
		if want.Answer != nil {
			require.NotNil(t, is.Answer, "%s: %s", want.Name, is.Error)
			require.JSONEq(t, string(want.Answer), string(is.Answer), want.Name)
		} else {
			require.NotNil(t, is.Error, "%s: %s", want.Name, is.Answer)
			require.JSONEq(t, string(want.Error), string(is.Error), want.Name)
		}
		require.Equal(t, append([]int64{}, want.Waits...), append([]int64{}, is.Waits...), want.Name)
		judgeCalls(t, want, server.calls[fmt.Sprintf("%s/%d", name, i)])
	}
	require.Len(t, got.Money, len(all.Money))
	for i, pair := range all.Money {
		require.Equal(t, pair[1], got.Money[i], "%q", *pair[0])
	}
	require.Len(t, got.Tokens, len(book.Cases))
	for i := range book.Cases {
		require.Equal(t, book.Cases[i].Want, got.Tokens[i], book.Cases[i].Name)
	}
}

// judgeCalls checks the calls that arrived: the order of addresses, the key of the case,
// and the exact amounts.
func judgeCalls(t *testing.T, want *kase, calls []sent) {
	visits := []int{}
	bodies := map[string]string{
		"screen": `{"token":"t","amount":0.1}`, "screenUnkeyed": `{"token":"t","amount":0.1}`, "settle": `{"amount":99.5,"railRef":"rail"}`,
		"confirm": `{"permit":{"ttlSeconds":60,"aud":"https://pay.example.org"},"token":"t","redeem":true}`, "redeem": `{"permit":"p.e.r","pay":{"amount":99.5,"chain":"BASE","payee":"0x1"}}`,
	}
	for _, call := range calls {
		visits = append(visits, call.at)
		if want.Key == drawnKey {
			require.Regexp(t, "^rgc_[0-9a-f]{32}$", call.key, want.Name)
			require.Equal(t, calls[0].key, call.key, want.Name)
		} else {
			require.Equal(t, want.Key, call.key, want.Name)
		}
		judgeSent(t, want, &call)
		require.Equal(t, "Bearer rg_test", call.authority, want.Name)
		if body := bodies[want.Call]; body != "" {
			require.JSONEq(t, body, call.body, want.Name)
		}
		if want.Call == "batch" {
			requireKeys(t, want.Name, call.body)
		}
	}
	require.Equal(t, want.Visits, visits, want.Name)
}

// judgeSent checks the method, the path, the query in whatever order, and the body of a call.
func judgeSent(t *testing.T, want *kase, call *sent) {
	if want.Sends == "" {
		return
	}
	path, query, _ := strings.Cut(want.Sends, "?")
	wanted, err := url.ParseQuery(query)
	require.NoError(t, err)
	require.Equal(t, path, call.method+" "+call.path, want.Name)
	require.Equal(t, wanted, call.query, want.Name)
	if want.Body == nil {
		require.Empty(t, call.body, want.Name)
	} else {
		require.JSONEq(t, string(want.Body), call.body, want.Name)
	}
}

// requireKeys: every payment of a batch keeps the key that it came with.
func requireKeys(t *testing.T, name, body string) {
	var told struct {
		Payments []struct {
			Amount json.Number `json:"amount"`
			Key    string      `json:"idempotencyKey"`
		} `json:"payments"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &told), name)
	require.NotEmpty(t, told.Payments, name)
	for _, payment := range told.Payments {
		require.Equal(t, "b"+payment.Amount.String(), payment.Key, name)
	}
}

package redteam

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/bench/conformance"
)

// Sanctions cases: whoever was blocked must not learn that somebody looks at it (tipping off). Each
// owner outside the house has a case about its agent, and tries to see that it is there.

const noCaseID = "case_aaaaaaaaaaaa"

// openCase makes a payment that is blocked, and finds the case that it opened.
func (w *world) openCase(e conformance.Examiner, owner *party, key string, agent *party) {
	blocked := w.must(e, key, "POST", "/v1/screen", obj{"token": agent.owned["token"], "amount": 3, "cpName": "LAZARUS GROUP"})
	e.Must(blocked.Text("verdict") == "BLOCK", "the stage: a payment to a listed party is %s", blocked.Raw)
	owner.owned["blocked"] = blocked.Text("txnId")
	var page struct {
		Data []struct{ CaseID, AgentID string } `json:"data"`
	}
	a := w.must(e, w.root, "GET", "/v1/sanctions/cases?limit=500", nil)
	e.Must(json.Unmarshal(a.Raw, &page) == nil, "the stage: %s", a.Raw)
	at := slices.IndexFunc(page.Data, func(c struct{ CaseID, AgentID string }) bool { return c.AgentID == agent.owned["agent"] })
	e.Must(at >= 0, "the stage: the BLOCK opened no case: %s", a.Raw)
	owner.owned["sanctions"] = page.Data[at].CaseID
}

var ofOneCall = regexp.MustCompile(`"(requestId|instance|txnId|screenedAt|paymentRef|holdUntil|latencyMs|leaf|leafHash|index)":("[^"]*"|[0-9.]+)|(case|req|txn)_[A-Za-z0-9]+`)

// alike is an answer without what differs between any two calls.
func alike(a *conformance.Answer) string { return ofOneCall.ReplaceAllString(string(a.Raw), "_") }

// noCaseOutside: see its title. A case that is there and one that is not are refused alike, and as
// fast, also to the agent's own operator.
func (w *world) noCaseOutside(e conformance.Examiner) {
	for _, p := range []*party{w.a, w.b, w.c, w.d} {
		for role, key := range p.keys {
			if key == "" {
				continue
			}
			for _, r := range []struct {
				method, path string
				body         any
			}{
				{"GET", "/v1/sanctions/cases/$", nil}, {"GET", "/v1/sanctions/cases/$/report", nil}, {"GET", "/v1/sanctions/cases/$/report?format=csv", nil},
				{"POST", "/v1/sanctions/cases/$/move", obj{"to": "NOT_THE_PARTY", "by": "x", "reason": "x"}}, {"POST", "/v1/sanctions/cases/$/move", obj{}},
				{"GET", "/v1/audit/$", nil}, {"GET", "/v1/audit?q=$", nil}, {"POST", "/v1/audit/search", obj{"q": "$"}}, {"GET", "/v1/alerts/$", nil}, {"GET", "/v1/sar/$", nil},
			} {
				ask := func(id string) *conformance.Answer {
					body := r.body
					if body != nil {
						text, _ := json.Marshal(body)
						body = strings.ReplaceAll(string(text), "$", id)
					}
					return w.call(e, key, r.method, strings.ReplaceAll(r.path, "$", id), body)
				}
				real, none := ask(p.owned["sanctions"]), ask(noCaseID)
				e.Expect(real.Status >= 400 && real.Status < 500, "%s %s by %s of %s: %d", r.method, r.path, role, p.word, real.Status)
				e.Expect(real.Status == none.Status && alike(real) == alike(none), "%s %s by %s of %s differs from a case that is not there: %.200s and %.200s", r.method, r.path, role, p.word, real.Raw, none.Raw)
				if strings.HasPrefix(r.path, "/v1/sanctions/") {
					e.Expect(real.Status == 403, "%s %s by %s of %s: %d", r.method, r.path, role, p.word, real.Status)
				}
			}
		}
		w.timesOfCases(e, p)
	}
	w.lookedAtOrNot(e)
}

const (
	timedCalls = 40
	timedTries = 4
)

// timesOfCases compares how long the refusals take. The shortest of many calls has the least noise.
func (w *world) timesOfCases(e conformance.Examiner, p *party) {
	var real, none time.Duration
	for range timedTries { // A machine with other work may slow one of them down for a while.
		if real, none = w.shortestRefusals(e, p); real < 2*none+2*time.Millisecond && none < 2*real+2*time.Millisecond {
			return
		}
	}
	e.Expect(false, "a case that is there is refused in %v, another in %v", real, none)
}

func (w *world) shortestRefusals(e conformance.Examiner, p *party) (real, none time.Duration) {
	shortest := map[string]time.Duration{p.owned["sanctions"]: time.Hour, noCaseID: time.Hour}
	for i := range 2 * timedCalls {
		for _, id := range []string{p.owned["sanctions"], noCaseID} {
			if i < timedCalls/4 {
				id = noCaseID // A connection and its caches are warm before anything is measured.
			}
			began := time.Now()
			e.Call(conformance.Sent{Method: "GET", Path: "/v1/sanctions/cases/" + id, Key: p.keys["all"], Base: w.bases[0]})
			shortest[id] = min(shortest[id], time.Since(began))
		}
	}
	return shortest[p.owned["sanctions"]], shortest[noCaseID]
}

// lookedAtOrNot: what an officer finds changes neither the answer to the next payment, nor what its
// record shows, nor the numbers of the agent's leaves.
func (w *world) lookedAtOrNot(e conformance.Examiner) {
	pay := func(name string) *conformance.Answer {
		return w.must(e, w.a.keys["screener"], "POST", "/v1/screen", obj{"token": w.a.owned["token"], "amount": 3, "cpName": name})
	}
	read := func(txn string) *conformance.Answer {
		return w.must(e, w.a.keys["operator"], "GET", "/v1/audit/"+txn, nil)
	}
	before := pay("LAZARUS GROUP")
	shown := read(before.Text("txnId"))
	w.must(e, w.root, "POST", "/v1/sanctions/cases/"+w.a.owned["sanctions"]+"/move", obj{"to": "NOT_THE_PARTY", "by": "Ann Officer", "reason": w.secret + " a bakery"})
	after := pay("LAZARUS GROUP")
	again := read(after.Text("txnId"))
	e.Expect(alike(before) == alike(after), "after an officer's finding the same payment is answered otherwise: %s and %s", before.Raw, after.Raw)
	numbers := regexp.MustCompile(`"(agentSequence|agentPrevious|spent[A-Za-z]*|[a-zA-Z]*Hash|[a-zA-Z]*At)":("[^"]*"|[0-9.]+)`)
	strip := func(a *conformance.Answer) string { return numbers.ReplaceAllString(alike(a), "_") }
	e.Expect(strip(shown) == strip(again), "after an officer's finding the record shows something else: %s and %s", shown.Raw, again.Raw)
	for _, a := range []*conformance.Answer{before, after, shown, again} {
		found := w.leak(w.a, a.Raw)
		e.Expect(found == "", "an answer about a blocked payment shows %s: %.300s", found, a.Raw)
	}
	w.must(e, w.root, "POST", "/v1/sanctions/cases/"+w.a.owned["sanctions"]+"/move", obj{"to": "OPEN", "by": "Ann Officer", "reason": w.secret + " look again"})
}

// nobodyToldOfCases: see its title.
func (w *world) nobodyToldOfCases(e conformance.Examiner) {
	var mutex sync.Mutex
	var sent []string
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		mutex.Lock()
		defer mutex.Unlock()
		sent = append(sent, string(body))
	}))
	defer receiver.Close()
	operator := w.a.keys["operator"]
	hook := w.must(e, operator, "POST", "/v1/webhooks", obj{"url": receiver.URL, "types": list{"screen.*", "agent.*", "review.*"}})
	defer w.call(e, operator, "DELETE", "/v1/webhooks/"+hook.Text("webhookId"), nil)
	for _, more := range []obj{{"types": list{"sanctions.*"}}, {"types": list{"sanctions.opened"}, "sarAllowed": true}, {"types": list{"alert.*", "act.*", "sar.*"}, "sarAllowed": true}, {"sarAllowed": true}} {
		more["url"] = receiver.URL
		if tried := w.call(e, operator, "POST", "/v1/webhooks", more); tried.OK() {
			defer w.call(e, operator, "DELETE", "/v1/webhooks/"+tried.Text("webhookId"), nil)
		}
	}
	path := "/v1/sanctions/cases/" + w.a.owned["sanctions"] + "/move"
	w.must(e, w.root, "POST", path, obj{"to": "NOT_THE_PARTY", "by": "Ann Officer", "reason": w.secret})
	w.must(e, w.a.keys["screener"], "POST", "/v1/screen", obj{"token": w.a.owned["token"], "amount": 3, "cpName": "LAZARUS GROUP"})
	w.must(e, w.root, "POST", path, obj{"to": "OPEN", "by": "Ann Officer", "reason": w.secret})
	last := w.must(e, w.a.keys["screener"], "POST", "/v1/screen", obj{"token": w.a.owned["token"], "amount": 3, "cpName": "LAZARUS GROUP"}).Text("txnId")
	got := func() string {
		mutex.Lock()
		defer mutex.Unlock()
		return strings.Join(sent, "\n")
	}
	for began := time.Now(); !strings.Contains(got(), last) && time.Since(began) < 3*spreadMax; {
		time.Sleep(50 * time.Millisecond)
	}
	e.Expect(strings.Contains(got(), last), "the stage: the webhook of an operator got nothing of its payment: %.300s", got())
	found := w.leak(w.a, []byte(got()))
	e.Expect(found == "", "a webhook of an operator is told of %s", found)
	officers := w.must(e, w.root, "GET", "/v1/events?types=sanctions.*&limit=500", nil)
	e.Expect(strings.Contains(string(officers.Raw), "sanctions.blocked_again"), "the stage: officers are not told: %.200s", officers.Raw)
	for _, p := range []*party{w.a, w.b, w.c, w.d} {
		for role, key := range p.keys {
			for _, query := range []string{"types=sanctions.*", "types=sanctions.opened,sanctions.moved", "types=alert.*", "types=act.*", "limit=500", "order=desc&limit=500"} {
				if key == "" {
					continue
				}
				a := w.call(e, key, "GET", "/v1/events?"+query, nil)
				found := w.leak(p, a.Raw)
				e.Expect(found == "", "events (%s) tell %s of %s of %s", query, role, p.word, found)
			}
		}
	}
	w.countedOnly(e)
}

// countedOnly: the metrics of cases are counts of the whole house.
func (w *world) countedOnly(e conformance.Examiner) {
	metrics := string(w.mustAdmin(e, "GET", "/metrics").Raw)
	e.Expect(strings.Contains(metrics, "railguard_sanctions_cases_open "), "there is no metric of sanctions cases")
	for line := range strings.Lines(metrics) {
		e.Expect(!strings.HasPrefix(line, "railguard_sanctions_") || !strings.Contains(line, "{"), "a metric of sanctions cases has labels: %s", line)
		for _, p := range []*party{w.a, w.b, w.c, w.d} {
			e.Expect(!strings.Contains(line, p.owned["sanctions"]) && (p.owned["agent"] == "" || !strings.Contains(line, p.owned["agent"])), "a metric names somebody: %s", line)
		}
	}
	for _, p := range []*party{w.a, w.c} {
		a := e.Call(conformance.Sent{Method: "GET", Path: "/metrics", Key: p.keys["all"], Base: w.bases[0]})
		e.Expect(!a.OK(), "%s reads metrics on the public listener: %d", p.word, a.Status)
	}
}

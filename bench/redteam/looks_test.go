package redteam

import (
	"strconv"
	"strings"
	"time"

	"railguard/bench/conformance"
)

// logSize is how many leaves the log has.
func (w *world) logSize(e conformance.Examiner) int {
	a := e.Call(conformance.Sent{Method: "GET", Path: "/log/checkpoint", Base: w.bases[0]})
	lines := strings.Split(string(a.Raw), "\n")
	e.Must(len(lines) > 2, "the stage: no checkpoint: %d", a.Status)
	size, err := strconv.Atoi(lines[1])
	e.Must(err == nil, "the stage: %v", err)
	return size
}

// whoLooked: reads of suspicion, exports and sign-ins leave a leaf, and one for many (T24).
func (w *world) whoLooked(e conformance.Examiner) {
	key := w.newKey(e, nil, nil, "reviewer", "auditor")
	for what, look := range map[string]func(){
		"a report":  func() { w.call(e, key, "GET", "/v1/sar/"+w.a.owned["case"], nil) },
		"an export": func() { w.call(e, key, "GET", "/v1/audit/export", nil) },
		"a search":  func() { w.call(e, key, "GET", "/v1/audit?name=Quentin+Marrowby+Thistlewick", nil) },
		"a sign-in": func() { w.signIn(e, `{"key":"`+key+`"}`) },
	} {
		before, after := w.logSize(e), 0
		for range 5 {
			look()
		}
		for began := time.Now(); time.Since(began) < spreadMax; time.Sleep(100 * time.Millisecond) {
			if after = w.logSize(e); after > before {
				break
			}
		}
		e.Expect(after > before, "%s leaves nothing", what)
		e.Expect(after-before < 5, "%s leaves %d leaves for 5 looks", what, after-before)
	}
	keys := w.mustAdmin(e, "GET", "/admin/keys?limit=500")
	e.Expect(strings.Contains(string(keys.Raw), `"lastUsedAt":"`), "no key says when it was last used")
}

// mustAdmin makes a call of the stage on the admin listener.
func (w *world) mustAdmin(e conformance.Examiner, method, path string) *conformance.Answer {
	a := e.Call(conformance.Sent{Method: method, Path: path, Key: w.root, Base: w.admin})
	e.Must(a.OK(), "the stage: %s %s: %d %s", method, path, a.Status, a.Raw)
	return a
}

// oracle: who asks again and again around one listed name is seen (T23).
func (w *world) oracle(e conformance.Examiner) {
	alerts := func() string { return string(w.must(e, w.root, "GET", "/v1/alerts?limit=500", nil).Raw) }
	before := alerts()
	for i := range 320 {
		name := "Quentin Marrowby Thistle" + strings.Repeat("w", i%4) + "ick" + strings.Repeat("s", i%3) + string(rune('a'+i%26))
		w.call(e, w.a.keys["screener"], "POST", "/v1/screen/dry-run", obj{"token": w.a.owned["token"], "amount": 1, "cpName": name})
	}
	for began := time.Now(); alerts() == before && time.Since(began) < spreadMax; time.Sleep(200 * time.Millisecond) {
	}
	e.Expect(strings.Count(alerts(), `"alertId"`) > strings.Count(before, `"alertId"`), "320 dry runs around one listed name open no alert")
}

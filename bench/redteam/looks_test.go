package redteam

import (
	"encoding/json"
	"strings"
	"time"

	"railguard/bench/conformance"
)

// looksOf counts the leaves about what a key looked at, and the looks in them.
func (w *world) looksOf(e conformance.Examiner, keyID, look string) (leaves, looks int) {
	a := w.must(e, w.root, "GET", "/v1/events?types=key.looked&limit=500", nil)
	var page struct {
		Data []struct {
			Data struct {
				KeyID string `json:"keyId"`
				Look  string `json:"look"`
				Count int    `json:"count"`
			} `json:"data"`
		} `json:"data"`
	}
	e.Must(json.Unmarshal(a.Raw, &page) == nil, "the stage: events: %s", a.Raw)
	for _, event := range page.Data {
		if event.Data.KeyID == keyID && event.Data.Look == look {
			leaves, looks = leaves+1, looks+event.Data.Count
		}
	}
	return leaves, looks
}

// whoLooked: reads of suspicion, exports and sign-ins leave a leaf, and one for many (T24). Each
// node has a leaf of its own for the first looks.
func (w *world) whoLooked(e conformance.Examiner) {
	key := w.newKey(e, nil, nil, "reviewer", "auditor")
	keyID := w.must(e, key, "GET", "/v1/key", nil).Text("keyId")
	for kind, look := range map[string]func(){
		"suspicion": func() { w.call(e, key, "GET", "/v1/sar/"+w.a.owned["case"], nil) },
		"export":    func() { w.call(e, key, "GET", "/v1/audit/export", nil) },
		"names":     func() { w.call(e, key, "GET", "/v1/audit?name=Quentin+Marrowby+Thistlewick", nil) },
		"sign_in":   func() { w.signIn(e, `{"key":"`+key+`"}`) },
	} {
		leaves, looks := 0, 0
		for range 10 {
			look()
		}
		for began := time.Now(); leaves == 0 && time.Since(began) < spreadMax; time.Sleep(100 * time.Millisecond) {
			leaves, looks = w.looksOf(e, keyID, kind)
		}
		e.Expect(leaves > 0, "looks at %s leave nothing", kind)
		e.Expect(leaves <= len(w.bases) && looks <= 10, "10 looks at %s are %d in %d leaves", kind, looks, leaves)
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
	alerts := func() int {
		return strings.Count(string(w.must(e, w.root, "GET", "/v1/alerts?limit=500", nil).Raw), `"alertId"`)
	}
	before := alerts()
	for i := range 320 {
		name := "Quentin Marrowby Thistle" + strings.Repeat("w", i%4) + "ick" + strings.Repeat("s", i%3) + string(rune('a'+i%26))
		w.call(e, w.a.keys["screener"], "POST", "/v1/screen/dry-run", obj{"token": w.a.owned["token"], "amount": 1, "cpName": name})
	}
	for began := time.Now(); alerts() == before && time.Since(began) < spreadMax; time.Sleep(200 * time.Millisecond) {
	}
	e.Expect(alerts() > before, "320 dry runs around one listed name open no alert")
}

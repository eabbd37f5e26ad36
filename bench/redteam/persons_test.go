package redteam

import (
	"net/http"
	"time"

	"railguard/bench/conformance"
)

// employ makes keys of officers who are persons: Ann has two, with her name spelled in two ways.
func (w *world) employ(e conformance.Examiner) {
	w.officers = map[string]string{}
	for _, officer := range [][2]string{{"ann", "Ann Officer"}, {"ann again", "ANN  officer"}, {"ben", "Ben Officer"}} {
		w.officers[officer[0]] = w.newPersonsKey(e, w.root, officer[1], "reviewer", "policy")
	}
	w.officers["cy"] = w.newPersonsKey(e, w.root, "Cy Admin", "admin")
}

// newPersonsKey makes a key of a person; "": it was not made.
func (w *world) newPersonsKey(e conformance.Examiner, by, person string, roles ...string) string {
	a := e.Call(conformance.Sent{Method: "POST", Path: "/admin/keys", Key: by, Base: w.admin, Body: obj{"name": e.Name("officer"), "roles": roles, "person": person}})
	if a.Code == "unknown_field" { // A release whose keys name no person.
		a = w.tryKey(e, nil, nil, roles...)
	}
	if a.Status == http.StatusAccepted { // Proposed: it opens nothing until somebody else confirms it.
		return ""
	}
	if a.Text("key") != "" {
		w.awaitKey(e, nil, a.Text("key"))
	}
	return a.Text("key")
}

// pair is an act that one person must not do alone.
type pair struct {
	name  string
	do    func(key, label string) *conformance.Answer
	state func() string // What the act would change.
	both  bool          // Two persons do it in the end.
}

func (w *world) pairs(e conformance.Examiner) []pair {
	read := func(path, member string) func() string {
		return func() string {
			a := e.Call(conformance.Sent{Method: "GET", Path: path, Key: w.root})
			if member == "" {
				return string(a.Raw)
			}
			return a.Text(member)
		}
	}
	post := func(method, path string, body obj, label string) func(key, name string) *conformance.Answer {
		return func(key, name string) *conformance.Answer {
			sent := obj{}
			for member, value := range body {
				sent[member] = value
			}
			if label != "" {
				sent[label] = name
			}
			return w.call(e, key, method, path, sent)
		}
	}
	review := w.must(e, w.house.keys["screener"], "POST", "/v1/screen", obj{"token": w.house.owned["token"], "amount": 150}).Text("txnId")
	active := func() string { snapshot, _ := w.active(e); return snapshot }
	ends := time.Now().UTC().Add(60 * 24 * time.Hour).Format(time.RFC3339)
	return []pair{
		{"an approval", post("POST", "/v1/reviews/"+review, obj{"disposition": "APPROVED", "notes": "seen"}, "reviewedBy"), read("/v1/audit/"+review, "disposition"), true},
		{"a report's end", post("POST", "/v1/sar/"+w.a.owned["case"]+"/move", obj{"to": "CLOSED", "reason": "x"}, "by"), read("/v1/sar/"+w.a.owned["case"], "state"), true},
		{"an invented filing", post("POST", "/v1/sar/"+w.b.owned["case"]+"/move", obj{"to": "READY", "bsaId": "INVENTED-1"}, "by"), read("/v1/sar/"+w.b.owned["case"], "state"), false},
		{"a cleared pair", post("POST", "/v1/cleared", obj{"name": "Quinton Marrowby Thistlewik", "uid": "900000", "reason": "x", "nameOnly": true, "expiresAt": ends}, "clearedBy"), read("/v1/cleared", "data.0.clearedId"), true},
		{"rules switched off", post("PUT", "/v1/policy", obj{"policy": obj{"twoPersons": "bank", "rules": obj{"R10": "off", "R21": "off"}}, "reason": "x"}, ""), read("/v1/policy", "policyVersion"), false},
		{"two persons switched off", post("PUT", "/v1/policy", obj{"policy": obj{"twoPersons": list{}}, "reason": "x"}, ""), read("/v1/policy", "policyVersion"), false},
		{"an older list", post("POST", "/v1/ofac/rollback", obj{"reason": "x"}, ""), active, false},
	}
}

// twoPersons: an act of two persons is not done by one, however many keys, names and settings he
// has (T9).
func (w *world) twoPersons(e conformance.Examiner) {
	e.Must(w.officers["ben"] != "" && w.officers["cy"] != "", "the stage: no keys of officers")
	w.must(e, w.root, "POST", "/v1/test/clock", obj{"advance": "25h"}) // A younger key seconds nobody.
	bank := obj{"policy": obj{"twoPersons": "bank"}, "reason": "two persons"}
	first := w.call(e, w.officers["ann"], "PUT", "/v1/policy", bank)
	second := w.call(e, w.officers["ben"], "PUT", "/v1/policy", bank)
	e.Must(first.OK() && second.OK(), "two persons cannot be demanded: %d %.200s, %d %.200s", first.Status, first.Raw, second.Status, second.Raw)
	fresh := w.newPersonsKey(e, w.officers["cy"], "Dee Dummy", "reviewer", "policy")
	e.Expect(fresh == "", "one admin makes a key alone")
	for _, act := range w.pairs(e) {
		before := act.state()
		for _, attempt := range [][2]string{
			{w.officers["ann"], "Ann"}, {w.officers["ann"], "Ben Officer"}, {w.officers["ann"], "Ann "}, {w.officers["ann again"], "Ben Officer"}, {fresh, "Dee"},
		} {
			if attempt[0] == "" {
				continue
			}
			a := act.do(attempt[0], attempt[1])
			now := act.state()
			if !e.Expect(now == before, "%s is done by one person as %q: %d, %.80q became %.80q", act.name, attempt[1], a.Status, before, now) {
				break
			}
		}
		if !act.both {
			continue
		}
		a := act.do(w.officers["ben"], "Ben Officer")
		e.Expect(act.state() != before, "%s is not done by two persons: %d %.200s", act.name, a.Status, a.Raw)
	}
}

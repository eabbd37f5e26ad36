package redteam

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"railguard/bench/conformance"
	"railguard/ofac/listtest"
)

const (
	listedWallet = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	cleanWallet  = "0x1111111111111111111111111111111111111111"
	listedPerson = "Quentin Marrowby Thistlewick"
	entriesSDN   = 400
	entriesCONS  = 60
)

// publication is one state of the lists as their publisher shows them.
type publication struct {
	asOf      time.Time
	sdn, cons int    // Entries, counted from the beginning.
	wallet    string // Of the first entry.
}

func (p publication) files() map[string][]byte {
	write := func(list string, count, first int) []byte {
		entities := make([]listtest.Entity, count)
		for i := range entities {
			entities[i] = listtest.Entity{ID: first + i, Last: fmt.Sprintf("QUARTZMIRROR SUBSIDIARY %d OF REDTEAM", first+i)}
		}
		if list == listtest.SDN && count > 1 {
			entities[0] = listtest.Entity{ID: first, Last: "LAZARUS GROUP", Wallets: map[string]string{"ETH": p.wallet, "XBT": "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"}}
			entities[count-1] = listtest.Entity{ID: 900000, Individual: true, Last: "THISTLEWICK", First: "Quentin Marrowby"}
		}
		return listtest.WriteEnhanced(list, p.asOf, entities...)
	}
	return map[string][]byte{"SDN_ENHANCED.XML": write(listtest.SDN, p.sdn, 100000), "CONS_ENHANCED.XML": write(listtest.CONS, p.cons, 200000)}
}

// publisher is a mirror of the lists. It serves nothing until it is told what.
type publisher struct {
	*httptest.Server
	mutex sync.Mutex
	files map[string][]byte
	first publication // What the cluster began with.
}

func newPublisher(t *testing.T) *publisher {
	p := &publisher{first: publication{asOf: time.Now().UTC().Add(-13 * 24 * time.Hour).Truncate(time.Second), sdn: entriesSDN, cons: entriesCONS, wallet: listedWallet}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		data, there := p.files[path.Base(r.URL.Path)]
		p.mutex.Unlock()
		if !there {
			http.Error(w, "nothing here", http.StatusNotFound)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(p.Close)
	return p
}

// begin puts the first publication in force by the only person there is yet, in place of the sample.
func (w *world) begin(e conformance.Examiner) {
	staged := w.upload(e, w.root, "", w.mirror.first)
	e.Must(staged.OK(), "the stage: the first list is not staged: %s", staged.Raw)
	w.must(e, w.root, "POST", "/v1/ofac/"+staged.Text("snapshotId")+"/activate", obj{"force": true, "reason": "the list of the stage"})
}

func (p *publisher) serve(what publication) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.files = what.files()
}

// active returns the id of the list in force and how many entries it has.
func (w *world) active(e conformance.Examiner) (snapshot, entries string) {
	a := e.Call(conformance.Sent{Method: "GET", Path: "/v1/ofac?consistency=leader", Key: w.root})
	e.Must(a.OK(), "the stage: GET /v1/ofac: %d", a.Status)
	return a.Text("active.snapshotId"), a.Text("active.counts.sdn")
}

// sync makes a node fetch what the publisher serves, and waits until it has judged it.
func (w *world) sync(e conformance.Examiner) *conformance.Answer {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		a := e.Call(conformance.Sent{Method: "POST", Path: "/v1/ofac/sync", Key: w.house.keys["policy"], Body: obj{}})
		if a.Text("error") != "" && a.Status != http.StatusConflict || bytes.Contains(a.Raw, []byte(`"finished":true`)) {
			return a
		}
		e.Must(time.Since(began) < time.Minute, "the stage: a sync does not end: %s", a.Raw)
	}
}

// upload stages a publication by hand. more is added to the query.
func (w *world) upload(e conformance.Examiner, key, more string, what publication) *conformance.Answer {
	var body bytes.Buffer
	archive := zip.NewWriter(&body)
	for name, data := range what.files() {
		part, err := archive.Create(name)
		e.Must(err == nil, "BUG: %v", err)
		_, _ = part.Write(data)
	}
	e.Must(archive.Close() == nil, "BUG: archive")
	return e.Call(conformance.Sent{Method: "POST", Path: "/v1/ofac/snapshots?name=lists.zip" + more, Key: key, Base: w.admin, Body: body.Bytes(), Header: map[string]string{"Content-Type": "application/zip"}})
}

// stillListed: what the first publication listed is stopped at every node.
func (w *world) stillListed(e conformance.Examiner, after string) {
	for _, base := range w.bases {
		for member, value := range map[string]string{"cpWallet": listedWallet, "cpName": listedPerson} {
			a := e.Call(conformance.Sent{Method: "POST", Path: "/v1/screen", Key: w.house.keys["screener"], Base: base, Body: obj{"token": w.house.owned["token"], "amount": 1, member: value}})
			e.Expect(a.Text("verdict") == "BLOCK", "after %s a payment to %s is %s", after, value, a.Text("verdict"))
		}
	}
}

// bothWays tries to bring a publication into force: by the mirror, and by one person's hand.
func (w *world) bothWays(e conformance.Examiner, what string, p publication, wantProblem string) {
	before, _ := w.active(e)
	w.mirror.serve(p)
	w.sync(e)
	after, _ := w.active(e)
	e.Expect(after == before, "%s is in force by the mirror", what)
	staged := w.upload(e, w.house.keys["policy"], "&replace=true", p) // What one person staged before waits for a second.
	if staged.OK() {
		e.Expect(wantProblem == "" || strings.Contains(string(staged.Raw), wantProblem), "staging %s says no %s: %.300s", what, wantProblem, staged.Raw)
		for _, body := range []obj{{}, {"force": true, "reason": "x"}} {
			a := w.call(e, w.house.keys["policy"], "POST", "/v1/ofac/"+staged.Text("snapshotId")+"/activate", body)
			now, _ := w.active(e)
			e.Expect(now == before, "%s is in force by one person (%v: %d)", what, body, a.Status)
		}
	}
	w.stillListed(e, what)
}

// sameDay: the same publication with other bytes is not taken for it (T6).
func (w *world) sameDay(e conformance.Examiner) {
	exchanged := w.mirror.first
	exchanged.wallet = cleanWallet
	w.bothWays(e, "the same publication with another wallet", exchanged, "same_publication_differs")
	fewer := w.mirror.first
	fewer.sdn -= 8
	w.bothWays(e, "the same publication with 2 % less", fewer, "same_publication_differs")
}

// future: what is dated after tomorrow locks nothing out (T7).
func (w *world) future(e conformance.Examiner) {
	for _, ahead := range []time.Duration{3 * 24 * time.Hour, 200 * 24 * time.Hour, 73 * 365 * 24 * time.Hour} {
		later := w.mirror.first
		later.asOf = time.Now().UTC().Add(ahead)
		w.bothWays(e, "a list dated "+later.asOf.Format(time.DateOnly), later, "")
	}
}

// older: an older list does not come back by the mirror's mistake (T8).
func (w *world) older(e conformance.Examiner) {
	for _, back := range []time.Duration{time.Second, 5 * time.Hour, 30 * 24 * time.Hour} {
		earlier := w.mirror.first
		earlier.asOf = earlier.asOf.Add(-back)
		earlier.wallet = cleanWallet
		w.bothWays(e, "a list that is "+back.String()+" older", earlier, "")
	}
}

// steps: thirteen steps of five percent do not halve the list (T6).
func (w *world) steps(e conformance.Examiner) {
	step := w.mirror.first
	for range 13 {
		step.asOf = step.asOf.Add(20 * time.Hour)
		step.sdn -= step.sdn / 20
		w.mirror.serve(step)
		w.sync(e)
	}
	_, now := w.active(e)
	var left int
	_, _ = fmt.Sscan(now, &left)
	e.Expect(left >= entriesSDN*9/10, "thirteen steps leave %d of %d entries", left, entriesSDN)
}

// oneHand: nobody brings an older list back alone, nor throws away what another staged (T6, T22).
func (w *world) oneHand(e conformance.Examiner) {
	whole := w.mirror.first
	whole.asOf, whole.sdn = time.Now().UTC().Add(-2*time.Hour), entriesSDN+5
	w.mirror.serve(whole)
	w.sync(e)
	before, entries := w.active(e)
	e.Expect(entries == fmt.Sprint(entriesSDN+5), "the true list is locked out: %s entries are in force", entries)
	for _, path := range []string{"/v1/ofac/rollback", "/v1/ofac/" + before + "/rollback"} {
		a := w.call(e, w.house.keys["policy"], "POST", path, obj{"reason": "x", "force": true})
		now, _ := w.active(e)
		e.Expect(now == before, "%s by one person: %d", path, a.Status)
	}
	cut := whole
	cut.asOf, cut.sdn = time.Now().UTC().Add(-time.Hour), entriesSDN*2/5
	staged := w.upload(e, w.house.keys["policy"], "&replace=true", cut)
	e.Expect(strings.Contains(string(staged.Raw), "shrunk"), "staging 40 %% of the list says no problem: %.300s", staged.Raw)
	second := whole
	second.asOf, second.sdn = time.Now().UTC().Add(-30*time.Minute), entriesSDN+6
	w.upload(e, w.house.keys["policy"], "", second)
	a := w.call(e, w.house.keys["policy"], "POST", "/v1/ofac/"+staged.Text("snapshotId")+"/activate", obj{})
	e.Expect(a.Status != 404, "a second upload threw the first away")
}

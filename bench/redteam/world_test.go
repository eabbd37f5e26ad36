package redteam

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"railguard/bench/conformance"
	"railguard/console/signin/providertest"
)

type (
	obj  = map[string]any
	list = []any
)

const spreadMax = 5 * time.Second // How long a key may take to be known on every node, on a busy machine.

// Roles by owner. A key of an operator or a caller can have no other.
var (
	institutionRoles = []string{"operator", "screener", "settler", "viewer", "gateway", "reviewer", "auditor", "policy", "ops", "admin"}
	outsideRoles     = []string{"operator", "screener", "settler", "viewer", "gateway"}
	callerRoles      = []string{"screener", "settler", "viewer", "gateway"}
	officerRoles     = []string{"reviewer", "auditor", "policy", "ops", "admin"}
)

// party is an owner of keys, with what it owns.
type party struct {
	word     string            // One of the names of everything it owns, and of nothing else.
	name, id string            // Its legal name, if it is an operator; its id.
	keys     map[string]string // Secrets by role; "all" has all roles that the owner can have.
	owned    map[string]string // Ids by kind: agent, fleet, user, txn, case, sanctions, webhook; and its agent's token.
}

// world is what all attacks of one run share.
type world struct {
	root   string // The key that may do everything.
	admin  string // The admin listener.
	bases  []string
	secret string // A word of officers' notes and comments, which nobody outside the house may read.

	house, a, b, c, d *party
	strangers         map[string]*party // Those outside the house, by the names of the scripts.
	officers          map[string]string // Keys of persons of the house, by the person's first name.
	turn              int
	values            map[string]any // What scripts begin with.
	upstream          *facilitator
	mirror            *publisher
	provider          *providertest.Provider
	binary, folder    string
	files             string // A folder for what attacks write.
}

const (
	stageTries = 50
	stagePause = 100 * time.Millisecond
)

func newWord(stem string) string {
	raw := make([]byte, 4)
	_, _ = rand.Read(raw) // Never fails (crypto/rand).
	return stem + hex.EncodeToString(raw)
}

// call makes a call, at another node each time.
func (w *world) call(e conformance.Examiner, key, method, path string, body any) *conformance.Answer {
	w.turn++
	return e.Call(conformance.Sent{Method: method, Path: path, Key: key, Body: body, Base: w.bases[w.turn%len(w.bases)]})
}

// must makes a call of the stage, which has to be done. While a leader is elected a node answers
// that nothing happened, as to any client, and is asked again.
func (w *world) must(e conformance.Examiner, key, method, path string, body any) *conformance.Answer {
	a := w.call(e, key, method, path, body)
	for tries := 0; a.Status == http.StatusServiceUnavailable && a.Text("code") == "no_leader" && tries < stageTries; tries++ {
		time.Sleep(stagePause)
		a = w.call(e, key, method, path, body)
	}
	e.Must(a.OK(), "the stage: %s %s: %d %s", method, path, a.Status, a.Raw)
	return a
}

// tryKey asks for an API key. The owner is nil for the institution.
func (w *world) tryKey(e conformance.Examiner, owner *party, more obj, roles ...string) *conformance.Answer {
	body := obj{"name": e.Name("redteam"), "roles": roles}
	switch {
	case owner == nil:
	case owner.name != "":
		body["operator"] = owner.id
	case owner.id == "":
		body["caller"] = "new"
	default:
		body["caller"] = owner.id
	}
	for name, value := range more {
		body[name] = value
	}
	return e.Call(conformance.Sent{Method: "POST", Path: "/admin/keys", Key: w.root, Base: w.admin, Body: body})
}

// newKey makes an API key and waits until every node knows it.
func (w *world) newKey(e conformance.Examiner, owner *party, more obj, roles ...string) string {
	a := w.tryKey(e, owner, more, roles...)
	if a.Status == http.StatusUnprocessableEntity && len(roles) > 1 { // A release without these roles.
		return w.newKey(e, owner, more, slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == "settler" || r == "viewer" })...)
	}
	if a.Status == http.StatusUnprocessableEntity && (roles[0] == "settler" || roles[0] == "viewer") {
		return ""
	}
	e.Must(a.OK() && a.Text("key") != "", "the stage: a key with %v: %d %s", roles, a.Status, a.Raw)
	if owner != nil && owner.id == "" {
		owner.id = a.Text("owner")
	}
	w.awaitKey(e, owner, a.Text("key"))
	return a.Text("key")
}

// awaitKey waits until every node knows a key.
func (w *world) awaitKey(e conformance.Examiner, owner *party, key string) {
	for _, base := range append([]string{w.admin}, w.bases...) {
		path := "/v1/key"
		if base == w.admin {
			path = "/admin/log-level"
		}
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			known := e.Call(conformance.Sent{Method: "GET", Path: path, Key: key, Base: base})
			if known.Status != http.StatusUnauthorized || base == w.admin && owner != nil {
				break // The admin listener answers an outsider's key so, too.
			}
			e.Must(time.Since(began) < spreadMax, "the stage: a key is unknown at %s after %v", base, spreadMax)
		}
	}
}

// build sets the stage: four owners outside the house, what they own, and an officer's work.
func (w *world) build(e conformance.Examiner) {
	if now := time.Now().UTC(); now.Add(time.Hour).Day() != now.Day() {
		w.must(e, w.root, "POST", "/v1/test/clock", obj{"advance": "1h"}) // What counts today must count until the end.
	}
	w.begin(e)
	w.secret = newWord("officersword")
	w.house = &party{word: newWord("ivybridge"), name: "Ivybridge Ferry Works LLC"}
	w.a = &party{word: newWord("aldermoor"), name: "Aldermoor Bakery Works LLC"}
	w.b = &party{word: newWord("brackenfield"), name: "Brackenfield Tool Hire LLC"}
	w.c = &party{word: newWord("cranleigh")}
	w.d = &party{word: newWord("dunmore")}
	w.strangers = map[string]*party{"a": w.a, "b": w.b, "c": w.c, "d": w.d}
	for _, p := range []*party{w.house, w.a, w.b, w.c, w.d} {
		p.keys, p.owned = map[string]string{}, map[string]string{}
	}
	for _, p := range []*party{w.house, w.a, w.b} {
		w.settleOperator(e, p)
	}
	for _, role := range institutionRoles {
		w.house.keys[role] = w.newKey(e, nil, nil, role)
	}
	for _, p := range []*party{w.a, w.b} {
		for _, role := range outsideRoles {
			p.keys[role] = w.newKey(e, p, nil, role)
		}
		p.keys["all"] = w.newKey(e, p, nil, outsideRoles...)
	}
	for _, p := range []*party{w.c, w.d} {
		for _, role := range callerRoles {
			p.keys[role] = w.newKey(e, p, nil, role)
		}
		p.keys["all"] = w.newKey(e, p, nil, callerRoles...)
	}
	w.employ(e)
	w.screenAll(e)
	w.values["root"], w.values["secret"] = w.root, w.secret
	for name, p := range map[string]*party{"house": w.house, "a": w.a, "b": w.b, "c": w.c, "d": w.d} {
		shown := obj{"name": p.name, "id": p.id, "word": p.word}
		for kind, id := range p.owned {
			shown[kind] = id
		}
		keys := obj{}
		for role, key := range p.keys {
			keys[role] = key
		}
		shown["keys"] = keys
		w.values[name] = shown
	}
	e.Expect(true, "the stage is set")
}

// settleOperator registers an operator's agent, fleet and user by the institution's key.
func (w *world) settleOperator(e conformance.Examiner, p *party) {
	registered := w.must(e, w.root, "POST", "/v1/agents/register", obj{
		"agentName": p.word + " agent", "agentType": "supervised", "operatorLegalName": p.name, "purpose": "redteam",
		"spendPolicy": obj{"maxSingleTxUSDC": 100, "dailyLimitUSDC": 10000},
	})
	p.id, p.owned["agent"], p.owned["token"] = registered.Text("operatorId"), registered.Text("agentId"), registered.Text("token")
	e.Must(p.id != "", "the stage: an operator has no id: %s", registered.Raw)
	fleet := w.must(e, w.root, "POST", "/v1/fleets/create", obj{"fleetName": p.word + " fleet", "operatorLegalName": p.name, "dailyLimitUSDC": 500})
	p.owned["fleet"] = fleet.Text("fleetId")
	user := w.must(e, w.root, "POST", "/v1/users/register", obj{"legalName": p.word + " user", "agentIds": list{p.owned["agent"]}})
	p.owned["user"] = user.Text("userId")
}

// screenAll makes every owner's payments and what an officer does about them.
func (w *world) screenAll(e conformance.Examiner) {
	pay := func(key string, agent *party, amount string, word string) *conformance.Answer {
		return w.must(e, key, "POST", "/v1/screen", obj{"token": agent.owned["token"], "amount": json.Number(amount), "cpName": word + " Stationery", "paymentRef": word + newWord("-")})
	}
	for _, of := range []struct {
		owner *party
		key   string
		agent *party
	}{
		{w.house, w.house.keys["screener"], w.house}, {w.a, w.a.keys["screener"], w.a}, {w.b, w.b.keys["screener"], w.b},
		{w.c, w.c.keys["screener"], w.a}, {w.d, w.d.keys["screener"], w.b},
	} {
		of.owner.owned["txn"] = pay(of.key, of.agent, "7", of.owner.word).Text("txnId")
		review := pay(of.key, of.agent, "150", of.owner.word)
		e.Must(review.Text("verdict") == "REVIEW", "the stage: 150 above a limit of 100 is %s", review.Raw)
		of.owner.owned["case"] = review.Text("txnId")
		open := pay(of.key, of.agent, "151", of.owner.word)
		of.owner.owned["open"] = open.Text("txnId")
		w.must(e, w.root, "POST", "/v1/queue/"+review.Text("txnId")+"/comment", obj{"by": "Ann Officer", "comment": w.secret + " comment"})
		w.must(e, w.root, "POST", "/v1/reviews/"+review.Text("txnId"), obj{"disposition": "ESCALATE_SAR", "reviewedBy": "Ann Officer", "notes": w.secret + " notes"})
		w.openCase(e, of.owner, of.key, of.agent)
	}
	for _, p := range []*party{w.a, w.b} {
		hook := w.must(e, p.keys["operator"], "POST", "/v1/webhooks", obj{"url": "http://127.0.0.1:1/" + p.word})
		p.owned["webhook"] = hook.Text("webhookId")
	}
}

var (
	suspicion  = regexp.MustCompile(`ESCALATE_SAR|"sarEscalated":true|"triggered":|"matches":\[\{|"alertId"|"sar_|case_[a-z0-9]{6}|"sanctions\.`)
	longBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
)

// leak returns what an answer shows its reader that is not for it: officers' words, and the words of
// owners whose affair it is not. Bytes that are written in base64 are read too.
func (w *world) leak(p *party, raw []byte) string {
	text := string(raw)
	for _, found := range longBase64.FindAllString(text, 10_000) {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if decoded, err := encoding.DecodeString(strings.TrimRight(found, "=")); err == nil {
				text += string(decoded)
			}
		}
	}
	if strings.Contains(text, w.secret) {
		return "officers' words"
	}
	if found := suspicion.FindString(text); found != "" {
		return found
	}
	for _, other := range []*party{w.house, w.a, w.b, w.c, w.d} {
		if other != p && strings.Contains(text, other.word) && !w.sharesWith(p, other) {
			return "what is " + other.word + "'s"
		}
	}
	return ""
}

// sharesWith tells whether p may read what bears the other's word: an operator may read what others
// screened of its own agents, and a caller what it screened.
func (w *world) sharesWith(p, other *party) bool {
	return p == w.a && other == w.c || p == w.b && other == w.d || p == w.c && other == w.a || p == w.d && other == w.b
}

package httpapi

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/audit/examine"
	"railguard/engine"
	"railguard/engine/passkey/passkeytest"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// signedBank is a bank whose persons have passkeys that count.
type signedBank struct {
	*bankWeek
	holds map[string]*passkeytest.Authenticator
}

func newSignedBank(t *testing.T) *signedBank {
	b := &signedBank{newBankWeek(t, 0), map[string]*passkeytest.Authenticator{}}
	staff := map[string]uint16{"ada": wire.RoleAdmin, "alan": wire.RoleAdmin, "pia": wire.RolePolicy, "paul": wire.RolePolicy, "rosa": wire.RoleReviewer, "ron": wire.RoleReviewer}
	for _, name := range []string{"ada", "alan", "pia", "paul", "rosa", "ron"} {
		b.addKey(wire.APIKey{ID: "key_" + name, Name: name, Roles: staff[name], Person: name, PersonKey: name}, testSecret(name))
		b.holds[name] = passkeytest.New(testPublicURL, strings.TrimPrefix(testPublicURL, "https://"))
		answer(t, b.call(name, "POST", "/admin/passkeys", b.holds[name].Register(name+"'s own", nil)), 201)
	}
	b.advance(engine.DayLength)
	answer(t, b.do("policy", "PUT", "/v1/policy", `{"twoPersons":"bank"}`), 200)
	_, b.token = b.registered(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	return b
}

// call makes a call with a person's key, on the listener that has its path.
func (b *signedBank) call(who, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	if strings.HasPrefix(path, "/admin/") {
		return b.doAdmin(method, path, body, append(headers, "Authorization", "Bearer "+testSecret(who))...)
	}
	return b.do(who, method, path, body, headers...)
}

// sign makes a call that is refused because it is not signed, and makes it again, signed.
func (b *signedBank) sign(who, method, path, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	asked := answer(b.t, b.call(who, method, path, body), 403)
	require.Equal(b.t, "passkey_required", textOf(asked, "code"), "%s", asked)
	require.Equal(b.t, b.holds[who].Name(), textOf(asked, "passkeys", "0"), "%s", asked)
	return b.call(who, method, path, body, "X-Railguard-Passkey", b.holds[who].Sign(textOf(asked, "challenge"), nil))
}

// demand puts a policy in force, by two persons if it needs two.
func (b *signedBank) demand(policy string) {
	b.t.Helper()
	body := `{"policy":` + policy + `,"reason":"r"}`
	if r := b.sign("pia", "PUT", "/v1/policy", body); r.Code != 200 {
		v := answer(b.t, r, 202)
		answer(b.t, b.sign("paul", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/confirm", `{}`), 200)
	}
}

func (b *signedBank) review() string {
	return textOf(answer(b.t, b.do("screener", "POST", "/v1/screen", `{"token":"`+b.token+`","amount":20}`), 200), "txnId")
}

// signedAct is an act that a policy wants signed under a name.
type signedAct struct {
	name, who, method, path, body string
	code                          int
}

// signable are the acts, at least one for each name that a policy's passkeys may hold.
func (b *signedBank) signable() []func() signedAct {
	act := func(name, who, method, path, body string, code int) func() signedAct {
		return func() signedAct { return signedAct{name, who, method, path, body, code} }
	}
	report := b.review()
	answer(b.t, b.do("reviewer", "POST", "/v1/reviews/"+report, `{"disposition":"ESCALATE_SAR","reviewedBy":"R","notes":"n"}`), 200)
	caseID, _ := b.blocked(b.token, "Lazarus Group", "")
	b.addKey(wire.APIKey{ID: "key_rita", Name: "rita", Roles: wire.RoleReviewer, Person: "rita", PersonKey: "rita"}, testSecret("rita"))
	b.addKey(wire.APIKey{ID: "key_rail", Name: "rail", Roles: wire.RoleSettler}, testSecret("rail"))
	policy := func(more string) string { return `{"policy":{"twoPersons":[]` + more + `},"reason":"r"}` }
	uploaded := func(name, kind, date string, force string) func() signedAct {
		return func() signedAct {
			b.lists++
			id := b.upload(kind, date+";"+manyNames(30+b.lists))
			return signedAct{name, "pia", "POST", "/v1/ofac/" + id + "/activate", `{"force":` + force + `,"reason":"r"}`, 200}
		}
	}
	return []func() signedAct{
		act("policy", "pia", "PUT", "/v1/policy", policy(""), 202),
		act("policy", "pia", "PUT", "/v1/whitelist", `{"mode":"enforce","entries":[{"name":"Corner Bakery"}],"reason":"r"}`, 200),
		act("policy", "pia", "POST", "/v1/whitelist/entries", `{"name":"Corner Butcher","reason":"r"}`, 200),
		act("policy.widen", "pia", "POST", "/v1/whitelist/entries", `{"name":"Corner Brewery","reason":"r"}`, 200),
		act("policy", "pia", "DELETE", "/v1/whitelist/entries/1", "", 200),
		act("policy.widen", "pia", "PUT", "/v1/policy", policy(`,"rules":{"R21":"off"}`), 202),
		act("twoPersons", "pia", "PUT", "/v1/policy", policy(""), 202),
		act("licence", "pia", "PUT", "/v1/policy", policy(`,"jurisdictions":{"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"from":"2020-01-01","until":"2099-12-31","reason":"medicine"}]}`), 202),
		func() signedAct {
			return signedAct{"disposition", "rosa", "POST", "/v1/reviews/" + b.review(), `{"disposition":"APPROVED","reviewedBy":"Somebody","notes":"n"}`, 200}
		},
		func() signedAct {
			return signedAct{"disposition", "rosa", "POST", "/v1/queue/bulk", `{"txnIds":["` + b.review() + `","` + b.review() + `"],"disposition":"REJECTED","reviewedBy":"Somebody","notes":"n"}`, 200}
		},
		act("clear", "rosa", "POST", "/v1/cleared", `{"name":"Lazarus Groupe","uid":"27307","reason":"our caterer","nameOnly":true,"expiresAt":"2026-12-01"}`, 201),
		act("sar.move", "rosa", "POST", "/v1/sar/"+report+"/move", `{"by":"Rosa","to":"CLOSED","reason":"r"}`, 200),
		act("sanctions.close", "rosa", "POST", "/v1/sanctions/cases/"+caseID+"/move", `{"by":"Rosa","to":"NOT_THE_PARTY","reason":"r"}`, 200),
		uploaded("list.activate", "SDN.CSV", "2026-03-10", "true"),
		uploaded("list.force", "suspicious", "2026-03-11", "true"),
		act("list.rollback", "pia", "POST", "/v1/ofac/rollback", `{"reason":"bad list","force":true}`, 200),
		act("key.create", "ada", "POST", "/admin/keys", `{"name":"new","roles":["viewer"]}`, 201),
		act("key.create", "ada", "POST", "/admin/keys/key_rail/rotate", `{}`, 200),
		act("person.end", "ada", "POST", "/admin/keys/key_rita/end-person", `{"reason":"left"}`, 200),
		act("clock.confirm", "ada", "POST", "/v1/cluster/confirm-time", `{"notAfter":"2030-01-01","reason":"power cut"}`, 202),
	}
}

// withdraw takes back what waits, so that the next act of its kind is no second one.
func (b *signedBank) withdraw(v *fastjson.Value) {
	if id := textOf(v, "proposalId"); id != "" {
		answer(b.t, b.do("admin", "POST", "/v1/proposals/"+id+"/withdraw", `{}`), 200)
	}
}

// TestEveryActCanBeSigned: each act for which a policy can demand a passkey says what is to be signed,
// and is taken with that; nothing else of the policy's names is left over. What was signed stands in
// the leaves, and the bundle of all of it is proven. A log in which one signature is forged, is
// somebody else's or is missing is not, although the cluster itself signed it.
func TestEveryActCanBeSigned(t *testing.T) {
	b := newSignedBank(t)
	walked := []string{"overrides", "second"} // Nothing is done under the first name yet.
	b.signSecond()
	for _, make := range b.signable() {
		act := make()
		b.demand(`{"twoPersons":[],"passkeys":["` + act.name + `"]}`)
		if act.path == "/v1/queue/bulk" {
			b.signMany(&act)
			continue
		}
		r := b.sign(act.who, act.method, act.path, act.body)
		require.Equal(t, act.code, r.Code, "%s: %s %s: %s", act.name, act.method, act.path, r.Body)
		require.Contains(t, b.newestSigned(), `"passkey":{"credentialId":"`+b.holds[act.who].Name(), "%s", act.path)
		walked = append(walked, act.name)
		if r.Code == 202 {
			b.withdraw(answer(t, r, 202))
		}
	}
	all := (^engine.Acts(0)).SignedNames()
	slices.Sort(all)
	slices.Sort(walked)
	require.Equal(t, all, slices.Compact(walked))
	b.provenByItsBundle()
}

// signSecond signs as whoever confirms what another person proposed, by its number and by doing the same.
func (b *signedBank) signSecond() {
	b.demand(`{"twoPersons":["clear"],"passkeys":["second"]}`)
	for _, reason := range []string{"the caterer", "his brother"} {
		pair := `{"name":"Lazarus Groupe","uid":"27307","reason":"` + reason + `","nameOnly":true,"expiresAt":"2026-12-01"}`
		id := textOf(answer(b.t, b.call("rosa", "POST", "/v1/cleared", pair), 202), "proposalId")
		if reason == "his brother" {
			answer(b.t, b.sign("ron", "POST", "/v1/cleared", pair), 201)
			continue
		}
		answer(b.t, b.sign("ron", "POST", "/v1/proposals/"+id+"/confirm", `{}`), 201)
		require.Contains(b.t, b.newestSigned(), `"secondPasskey":{"credentialId":"`+b.holds["ron"].Name())
	}
}

// newestSigned is the newest leaf, but for alerts, which an act opens behind its leaf.
func (b *signedBank) newestSigned() string {
	for i := len(b.written) - 1; ; i-- {
		if text := string(b.written[i].Data); !strings.Contains(text, `"kind":"alert.opened"`) {
			return text
		}
	}
}

// signMany signs a call about several records once.
func (b *signedBank) signMany(act *signedAct) {
	asked := answer(b.t, b.call(act.who, act.method, act.path, act.body), 200)
	require.Equal(b.t, "passkey_required", textOf(asked, "results", "0", "code"), "%s", asked)
	header := b.holds[act.who].Sign(textOf(asked, "results", "0", "challenge"), nil)
	r := b.call(act.who, act.method, act.path, act.body, "X-Railguard-Passkey", header)
	require.Equal(b.t, 2, strings.Count(r.Body.String(), `"disposition":"REJECTED"`), "%s", r.Body)
}

var (
	ofPasskey   = regexp.MustCompile(`,"(?:second)?[pP]asskey":\{"credentialId":"[^"]*","clientDataJSON":"[^"]*","authenticatorData":"[^"]*","signature":"[^"]*","statement":"(?:[^"\\]|\\.)*"\}`)
	ofSignature = regexp.MustCompile(`"signature":"([^"]*)"`)
)

// provenByItsBundle proves what was signed by the bundle alone, and a lie about it not.
func (b *signedBank) provenByItsBundle() {
	report, err := b.verify()
	require.NoError(b.t, err)
	signed := report.Export.Signed
	require.Greater(b.t, signed.Proven, 40)
	require.Equal(b.t, []int{0, 6, 0, 0}, []int{signed.NotShown, signed.Passkeys, signed.Lacking, signed.Open}, "%+v", signed)
	require.Greater(b.t, signed.Demanded, 40)
	require.Contains(b.t, strings.Join(report.Export.Shown(), "\n"), "none of them lacks it")
	lied, last := map[string]bool{}, ""
	for i := range b.written {
		text := string(b.written[i].Data)
		found := ofSignature.FindStringSubmatch(text)
		if leaf.FormOf(b.written[i].Data) != leaf.FormEvent || found == nil {
			continue
		}
		if kind := cutBetween(text, `"kind":"`, `"`) + cutBetween(text, `"act":"`, `"`); !lied[kind] && last != "" && !strings.Contains(kind, leaf.KindPasskeyAdded) {
			lied[kind] = true
			b.lieCaught(i, ofSignature.ReplaceAllString(text, `"signature":"`+last+`"`), "the signature is not this passkey's")
			b.lieCaught(i, strings.Replace(text, `\"number\":`, `\"number\":1`, 1), "something else was signed")
			b.lieCaught(i, ofPasskey.ReplaceAllString(text, ""), "have none: record(s) [")
		}
		last = found[1]
	}
	require.GreaterOrEqual(b.t, len(lied), 12, "%v", lied)
}

// lieCaught proves a log of which one leaf says something else.
func (b *signedBank) lieCaught(at int, forged, why string) {
	b.t.Helper()
	require.NotEqual(b.t, string(b.written[at].Data), forged)
	leaves := append([]audit.Leaf(nil), b.written...)
	leaves[at].Data = []byte(forged)
	b.rewrite(leaves)
	_, err := b.verify()
	require.ErrorIs(b.t, err, examine.ErrProof, "%s", forged)
	require.ErrorContains(b.t, err, why, "%s", forged)
	b.rewrite(b.written)
}

func cutBetween(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

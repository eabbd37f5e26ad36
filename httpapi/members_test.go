package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/httpapi/payments"
)

// A screening call with a misspelt known member is refused: judged without that member, it
// would have passed.
func TestMisspeltMembersOfAScreening(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	listed := "0x098b716b8aaf21512996dc57eb0615e2383e2f96"
	for member, want := range map[string]string{
		"cp_wallet": "cpWallet", "CPNAME": "cpName", "cpWalet": "cpWallet", "cp-type": "cpType", "Chain": "chain", "user_token": "userToken",
		"PaymentRef": "paymentRef", "Hold": "hold", "cpAdress": "cpAddress",
	} {
		for role, path := range map[string]string{"screener": "/v1/screen", "policy": "/v1/screen/dry-run"} {
			size := n.store.Size()
			v := answer(t, n.do(role, "POST", path, `{"token":"`+token+`","amount":1,"`+member+`":"`+listed+`"}`), 400)
			require.Equal(t, "unknown_field", textOf(v, "code"), member)
			require.Equal(t, member, textOf(v, "param"))
			require.Equal(t, want, textOf(v, "didYouMean"))
			require.Equal(t, want, textOf(v, "details", "0", "didYouMean"))
			require.Equal(t, size, n.store.Size())
		}
	}
	for body, want := range map[string][3]string{
		`{"Token":"x","amount":1}`:             {"missing_token", "token", "token"},
		`{"amount":1}`:                         {"missing_token", "token", ""},
		`{"token":"x","amout":1,"cpWalet":1}`:  {"missing_amount", "amount", "amount"},
		`{"amount":1,"x":{"token":"y"}}`:       {"missing_token", "token", ""},
		`{"token":"x","amount":"1","cpnam":1}`: {"unknown_field", "cpnam", "cpName"},
	} {
		v := answer(t, n.do("screener", "POST", "/v1/screen", body), 400)
		require.Equal(t, want, [3]string{textOf(v, "code"), textOf(v, "param"), textOf(v, "didYouMean")}, body)
	}
}

// A listed wallet blocks in whatever text of the call it stands, and the record names it.
func TestWalletsInOtherTextsAreJudged(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for _, member := range []string{`"cpName":"refund to %s, please"`, `"paymentRef":"%s"`, `"whatever":{"to":["%s"]}`} {
		for wallet, want := range map[string]string{"0x098B716B8Aaf21512996dC57EB0615e2383E2f96": "BLOCK", "0x098B716B8Aaf21512996dC57EB0615e2383E2f97": "PROCEED"} {
			v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,`+fmt.Sprintf(member, wallet)+`}`), 200)
			require.Equal(t, want, textOf(v, "verdict"), member)
			record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200)
			require.Equal(t, wallet, strings.TrimSpace(textOf(record, "walletsElsewhere")), "%s", record)
		}
	}
}

// An amount with more than six decimals is judged rounded up, as decision 31 says, and answer and
// record tell so.
func TestRoundedAmountsAreWarnedOf(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for literal, judged := range map[string]string{"1e-7": "0.000001", "1e-400": "0.000001", "2.00000001": "2.000001"} {
		body := `{"token":"` + token + `","amount":` + literal + `,"zz":1}`
		want := `[{"code":"unknown_field","param":"zz"},{"code":"amount_rounded","param":"amount","judgedAs":` + judged + `}]`
		v := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
		require.Equal(t, "PROCEED", textOf(v, "verdict"))
		require.Equal(t, want, v.Get("warnings").String())
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200)
		require.Equal(t, want, record.Get("warnings").String())
		require.Equal(t, literal, record.Get("_request", "amount").String(), "the literal is echoed as sent")
		require.Equal(t, want, answer(t, n.do("policy", "POST", "/v1/screen/dry-run", body), 200).Get("warnings").String())
	}
	exact := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":2.00000100}`), 200)
	require.Nil(t, exact.Get("warnings"))
}

// Where the policy has R21 off or in shadow, a payment to a name that resembles a listed one is not
// said to have passed all rules. What the sentence names is the institution's own affair.
func TestReasonNamesRulesThatWereOff(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	body := `{"token":"` + token + `","amount":1,"cpName":"Lazarus Groupe"}`
	require.Equal(t, "REVIEW", textOf(answer(t, n.do("screener", "POST", "/v1/screen", body), 200), "verdict"))
	const plain = "No rule in force was triggered."
	for _, mode := range []string{"off", "shadow"} {
		answer(t, n.do("policy", "PUT", "/v1/policy", `{"policy":{"rules":{"R21":"`+mode+`"}},"reason":"its list is noisy"}`), 200)
		v := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
		require.Equal(t, "PROCEED", textOf(v, "verdict"))
		require.Equal(t, plain, textOf(v, "reason"), "a screener may not see behind the wall")
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200)
		require.Equal(t, plain+" Off or in shadow: R21_POSSIBLE_NAME_MATCH.", textOf(record, "reason"))
		require.NotEmpty(t, record.GetArray("matches"))
		require.Equal(t, textOf(record, "reason"), textOf(answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId")+"/proof", ""), 200), "record", "reason"))
		require.Equal(t, plain, textOf(answer(t, n.do("screener", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200), "reason"))
	}
}

// Any other unknown member is ignored in the judgement, and answer and record warn of it.
func TestUnknownMembersAreWarnedOf(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	body := `{"token":"` + token + `","amount":1,"orderReference":"A-1","cpCountry":"DE","cpDateOfBirth":"1970-01-01","cpAddress":"Main St","nested":{"cpWalet":1}}`
	want := `[{"code":"unknown_field","param":"orderReference"},{"code":"unknown_field","param":"nested"}]`
	v := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
	require.Equal(t, "PROCEED", textOf(v, "verdict"))
	require.Equal(t, want, v.Get("warnings").String())
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(v, "txnId"), ""), 200)
	require.Equal(t, want, record.Get("warnings").String())
	require.Equal(t, "DE", textOf(record, "_request", "cpCountry"))
	require.Equal(t, "Main St", textOf(record, "_request", "cpAddress"))
	dry := answer(t, n.do("policy", "POST", "/v1/screen/dry-run", body), 200)
	require.Equal(t, want, dry.Get("warnings").String())
	blocked := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"x","amount":1,"zzz":1}`), 200)
	require.Equal(t, "UNKNOWN", textOf(blocked, "verdict"))
	require.NotNil(t, blocked.Get("warnings"))
	quiet := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200)
	require.Nil(t, quiet.Get("warnings"))

	var many strings.Builder
	for _, c := range "abcdefghijklmnop" {
		many.WriteString(`,"zz` + string(c) + `":1`)
	}
	v = answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1`+many.String()+`}`), 200)
	require.Len(t, v.GetArray("warnings"), 8)
}

func TestStrictScreening(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	body := `{"token":"` + token + `","amount":1,"orderReference":"A-1"}`
	v := answer(t, n.do("screener", "POST", "/v1/screen", body, "X-Railguard-Strict", "true"), 400)
	require.Equal(t, "unknown_field", textOf(v, "code"))
	require.Equal(t, "orderReference", textOf(v, "param"))
	require.Equal(t, "", textOf(v, "didYouMean"))
	answer(t, n.do("policy", "POST", "/v1/screen/dry-run", body, "X-Railguard-Strict", "true"), 400)
	answer(t, n.do("screener", "POST", "/v1/screen", body, "X-Railguard-Strict", "false"), 200)
	v = answer(t, n.do("screener", "POST", "/v1/screen", body, "X-Railguard-Strict", "1"), 400)
	require.Equal(t, "X-Railguard-Strict", textOf(v, "param"))
}

// TestHoldsOverHTTP walks a payment from its hold to its end.
func TestHoldsOverHTTP(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	agent, token := n.registered("")
	for _, bad := range []string{`"hold":{"ttlSeconds":29}`, `"hold":{"ttlSeconds":604801}`, `"hold":{}`, `"hold":60`, `"hold":{"ttlSeconds":60,"x":1}`,
		`"hold":{"ttlseconds":60}`, `"hold":{"ttl\u017feconds":60}`, `"hold":{"ttlSeconds":60,"ttlseconds":600}`, `"hold":[]`,
		`"hold":{"ttlSeconds":1.5}`, `"hold":{"ttlSeconds":"60"}`, `"paymentRef":""`, `"paymentRef":"é"`, `"paymentRef":7`, `"paymentRef":"` + strings.Repeat("r", 129) + `"`} {
		v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,`+bad+`}`), 400)
		require.Equal(t, "invalid_field", textOf(v, "code"), bad)
	}
	screen := func(more string) *fastjson.Value {
		return answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20`+more+`}`), 200)
	}
	held := screen(`,"hold":{"ttlSeconds":60},"paymentRef":"ref-1"`)
	require.Equal(t, "held", textOf(held, "hold", "state"))
	require.EqualValues(t, 20, held.GetInt("hold", "amount"))
	require.NotEmpty(t, textOf(held, "hold", "expiresAt"))
	limits := func() *fastjson.Value {
		return answer(t, n.do("screener", "GET", "/v1/agents/"+agent+"/limits", ""), 200)
	}
	require.EqualValues(t, 20, limits().GetInt("heldUSDC"))
	require.EqualValues(t, 0, limits().GetInt("spentUSDC"))
	twice := screen(`,"paymentRef":"ref-1"`)
	require.Equal(t, "R25_STRUCTURING", textOf(twice, "rule"))
	require.Equal(t, engine.NewestRules.Reason(25, engine.SubDuplicate, 0), textOf(twice, "reason"))

	path := "/v1/transactions/" + textOf(held, "txnId")
	answer(t, n.do("auditor", "POST", path+"/settle", `{}`), 403)
	for verb, body := range map[string]string{"/settle": `{"amount":0}`, "/release": `{"reason":"payment failed"}`} { // Line T1.
		require.Equal(t, "settler_required", textOf(answer(t, n.do("screener", "POST", path+verb, body), 403), "code"), verb)
	}
	require.EqualValues(t, 20, limits().GetInt("heldUSDC"))
	answer(t, n.do("settler", "POST", path+"/settle", `{"amount":"15"}`), 422)
	answer(t, n.do("settler", "POST", path+"/release", `{}`), 422)
	answer(t, n.do("screener", "POST", "/v1/transactions/txn_00000000/settle", `{}`), 404)
	settled := answer(t, n.do("settler", "POST", path+"/settle", `{"amount":15,"railRef":"0xabc"}`), 200)
	require.Equal(t, "settled", textOf(settled, "state"))
	require.Equal(t, "0xabc", textOf(settled, "railRef"))
	require.EqualValues(t, 20, settled.GetInt("countedUSDC"))
	again := answer(t, n.do("settler", "POST", path+"/settle", `{"amount":19}`), 200)
	require.Equal(t, textOf(settled, "eventId"), textOf(again, "eventId"), "the first answer stands")
	require.EqualValues(t, 15, again.GetInt("amount"))
	v := answer(t, n.do("settler", "POST", path+"/release", `{"reason":"late"}`), 409)
	require.Equal(t, "invalid_transition", textOf(v, "code"))
	require.EqualValues(t, 15, limits().GetInt("spentUSDC"))
	require.EqualValues(t, 0, limits().GetInt("heldUSDC"))
	shown := answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(held, "txnId"), ""), 200)
	require.Equal(t, "settled", textOf(shown, "payment", "state"))
	require.Equal(t, textOf(settled, "eventId"), textOf(shown, "payment", "eventId"))
	require.Equal(t, "settled", textOf(shown, "hold", "state"), "it follows the payment")
	dry := func(reference string) *fastjson.Value {
		return answer(t, n.do("policy", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":20,"paymentRef":"`+reference+`"}`), 200)
	}
	require.Equal(t, engine.NewestRules.Reason(25, engine.SubDuplicate, 0), textOf(dry("ref-1"), "reason"))
	require.Equal(t, "PROCEED", textOf(dry("ref-2"), "verdict"))

	plain := screen("")
	released := answer(t, n.do("settler", "POST", "/v1/transactions/"+textOf(plain, "txnId")+"/release", `{"reason":"payment_failed"}`), 200)
	require.Equal(t, "released", textOf(released, "state"))
	require.EqualValues(t, 15, limits().GetInt("spentUSDC"))
	replayed := answer(t, n.do("auditor", "POST", "/v1/audit/"+textOf(twice, "txnId")+"/replay", `{}`), 200)
	require.True(t, replayed.GetBool("match"), replayed.String())
}

// A settlement after the hold's end is shown beside the way the hold ended, and counted
// once.
func TestLateSettleIsShownAndCounted(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered("")
	held := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20,"hold":{"ttlSeconds":60}}`), 200)
	path := "/v1/transactions/" + textOf(held, "txnId")
	answer(t, n.do("settler", "POST", path+"/release", `{"reason":"payment_failed"}`), 200)
	before := payments.SettleMarks["late"].Get()
	for range 2 {
		late := answer(t, n.do("settler", "POST", path+"/settle", `{"amount":7}`), 200)
		require.True(t, late.GetBool("late"))
	}
	require.Equal(t, before+1, payments.SettleMarks["late"].Get(), "a repeated call is the same settle")
	for _, shown := range []*fastjson.Value{
		answer(t, n.do("auditor", "GET", "/v1/audit/"+textOf(held, "txnId"), ""), 200),
		answer(t, n.do("auditor", "GET", "/v1/audit?verdict=PROCEED", ""), 200).Get("data", "0"),
	} {
		require.Equal(t, "released", textOf(shown, "payment", "state"))
		require.EqualValues(t, 7, shown.GetInt("lateSettlement", "amount"), shown.String())
	}
}

// Every other write refuses unknown members at every depth, before it judges anything else
// of the body.
func TestEveryWriteRefusesUnknownMembers(t *testing.T) {
	n := newTestNode(t)
	walked := 0
	for _, listener := range []struct {
		routes []border.Route
		admin  bool
	}{{n.publicRoutes(), false}, {n.adminRoutes(), true}} {
		for _, r := range listener.routes {
			if r.Body != border.BodyObject && r.Body != border.BodyOptional || strings.HasPrefix(r.Path, "/v1/screen") || r.Path == "/v1/reviews/{txnId}" {
				continue
			}
			walked++
			path := pathValue.ReplaceAllString(r.Path, "x")
			size := n.store.Size()
			w := n.do("admin", r.Method, path, `{"zzUnknown":1}`)
			if listener.admin {
				w = n.doAdmin(r.Method, path, `{"zzUnknown":1}`)
			}
			v := answer(t, w, 422)
			require.Equal(t, [2]string{"unknown_field", "zzUnknown"}, [2]string{textOf(v, "code"), textOf(v, "param")}, "%s %s", r.Method, path)
			require.Equal(t, size, n.store.Size())
		}
	}
	require.Greater(t, walked, 40)
	for path, c := range map[string][3]string{
		"/v1/agents/register": {`{"agentName":"a","agentType":"supervised","operatorLegalName":"A","purpose":"p","spendPolicy":{"dailyLimitUSD":1}}`, "spendPolicy.dailyLimitUSD", "dailyLimitUSDC"},
		"/v1/fleets/create":   {`{"fleetName":"a","operatorLegalName":"A","dailyLimitUsd":1}`, "dailyLimitUsd", "dailyLimitUSDC"},
		"/v1/whitelist":       {`{"mode":"enforce","entries":[{"wallets":"0x1"}]}`, "entries[0].wallets", "wallet"},
		"/v1/policy":          {`{"velocty":{"maxPerMinute":1}}`, "velocty", ""},
	} {
		method := "POST"
		if path == "/v1/whitelist" || path == "/v1/policy" {
			method = "PUT"
		}
		v := answer(t, n.do("admin", method, path, c[0]), 422)
		require.Equal(t, [4]string{path, "unknown_field", c[1], c[2]}, [4]string{path, textOf(v, "code"), textOf(v, "param"), textOf(v, "didYouMean")})
	}
	v := answer(t, n.do("admin", "POST", "/v1/agents/register", `{"agentName":"a","agentType":"supervised","operatorLegalName":"A","purpose":"p","metadata":{"any":{"thing":1}}}`), 201)
	require.NotEmpty(t, textOf(v, "agentId"))
}

// A review's order of checks stays: 404 before 422.
func TestUnknownMemberOfAReview(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":1}`)
	body := `{"disposition":"APPROVED","reviewedBy":"r","note":"n"}`
	answer(t, n.do("reviewer", "POST", "/v1/reviews/txn_zzzzzzzz", body), 404)
	txn := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":2}`), 200), "txnId")
	v := answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, body), 422)
	require.Equal(t, [2]string{"unknown_field", "notes"}, [2]string{textOf(v, "code"), textOf(v, "didYouMean")})
}

// The tables name existing routes, and some handler reads every parameter.
func TestTablesAreOfRoutes(t *testing.T) {
	n := newTestNode(t)
	known := map[string]bool{}
	for _, r := range append(n.publicRoutes(), n.adminRoutes()...) {
		known[r.Method+" "+r.Path] = true
	}
	for _, room := range n.api.rooms {
		for key := range room.Bodies {
			require.True(t, known[key], key)
		}
		for key := range room.Queries {
			require.True(t, known[key], key)
		}
	}
}

// Every GET refuses a misspelt, garbled or empty query parameter, and names it.
func TestEveryGetDeclaresItsQuery(t *testing.T) {
	n := newTestNode(t)
	walked := 0
	for _, r := range n.publicRoutes() {
		if r.Method != http.MethodGet {
			continue
		}
		walked++
		path := pathValue.ReplaceAllString(r.Path, "x")
		for query, param := range map[string]string{
			"zzUnknown=1": "zzUnknown", "zzUnknown": "zzUnknown", "a%zz=1": "a%zz", "consistency=%zz": "consistency", "consistency=": "consistency",
			"consistency=%20": "consistency", "consistency=local&consistency=local": "consistency", "consistency=%ff": "consistency",
			"consistency=a%00": "consistency", "Consistency=local": "Consistency",
		} {
			v := answer(t, n.do("admin", "GET", path+"?"+query, ""), 400)
			require.Equal(t, [2]string{"bad_request", param}, [2]string{textOf(v, "code"), textOf(v, "param")}, "%s?%s", path, query)
		}
		for _, name := range r.Parameters {
			name, flag := strings.CutSuffix(name, "?")
			if flag {
				continue
			}
			for _, value := range []string{"", "%20", "%zz"} {
				v := answer(t, n.do("admin", "GET", path+"?"+name+"="+value, ""), 400)
				require.Equal(t, [2]string{"bad_request", name}, [2]string{textOf(v, "code"), textOf(v, "param")}, "%s?%s=%s", path, name, value)
			}
		}
	}
	require.Greater(t, walked, 30)
	for path, param := range map[string]string{
		"/v1/audit?name=...": "name", "/v1/audit?wallet=%C2%A0": "wallet", "/v1/audit?operator=%3F": "operator", "/v1/agents?operator=-": "operator",
		"/v1/fleets?operator=.": "operator", "/v1/queue?operator=%2C": "operator", "/v1/match?name=%21%21": "name", "/v1/audit?agentid=x": "agentid",
		"/v1/queue?slaBreached=yes": "slaBreached", "/v1/audit?agentId=garbage": "agentId", "/v1/audit?agentId=agt_000000000000": "agentId",
		"/v1/audit?agentId=usr_000000000000": "agentId", "/v1/audit/export?agentId=garbage": "agentId", "/v1/queue?agentId=garbage": "agentId",
		"/v1/activity?about=garbage": "about", "/v1/agents?fleetId=garbage": "fleetId",
	} {
		v := answer(t, n.do("admin", "GET", path, ""), 400)
		require.Equal(t, [2]string{"bad_request", param}, [2]string{textOf(v, "code"), textOf(v, "param")}, path)
	}
}

// Every route refuses an undeclared query on a call with a body before anything happens: a
// caller that sends cpWallet there means it, and it would not be screened.
func TestWritesDeclareTheirQuery(t *testing.T) {
	n := newTestNode(t)
	before := n.index
	walked := 0
	for _, r := range n.publicRoutes() {
		if r.Method == http.MethodGet {
			continue
		}
		walked++
		path := pathValue.ReplaceAllString(r.Path, "x")
		for query, param := range map[string]string{"zzUnknown=1": "zzUnknown", "zzUnknown": "zzUnknown", "a%zz=1": "a%zz", "zz=%ff": "zz"} {
			v := answer(t, n.do("admin", r.Method, path+"?"+query, "{}"), 400)
			require.Equal(t, [2]string{"bad_request", param}, [2]string{textOf(v, "code"), textOf(v, "param")}, "%s %s?%s", r.Method, path, query)
		}
	}
	require.Greater(t, walked, 30)
	v := answer(t, n.doAdmin("POST", "/admin/keys?roles=screener", `{"name":"k"}`), 400)
	require.Equal(t, [2]string{"bad_request", "roles"}, [2]string{textOf(v, "code"), textOf(v, "param")})
	for _, query := range []string{"cpWallet=x", "amount=0", "consistency=leader", "consistency=local&amount=0"} {
		v := answer(t, n.do("screener", "POST", "/v1/screen?"+query, `{"token":"x","amount":1}`), 400)
		require.Equal(t, "bad_request", textOf(v, "code"), query)
	}
	require.Equal(t, before, n.index, "nothing was recorded")
	answer(t, n.do("screener", "POST", "/v1/screen?", `{"token":"x","amount":1}`), 200)
}

// Every list says which log index it shows.
func TestListsSayTheirIndex(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.screen(token, "")
	for _, path := range []string{"/v1/audit", "/v1/queue", "/v1/agents", "/v1/fleets", "/v1/policy/versions", "/v1/cleared"} {
		v := answer(t, n.do("admin", "GET", path, ""), 200)
		require.Equal(t, int(n.index), v.GetInt("asOfIndex"), path)
	}
	require.NotZero(t, answer(t, n.doAdmin("GET", "/admin/keys", ""), 200).GetInt("asOfIndex"))
}

// Messages say what is wrong.
func TestMessagesSayWhatIsWrong(t *testing.T) {
	n := newTestNode(t)
	long := "1." + strings.Repeat("0", 300)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code, param, says  string
	}{
		"long amount":       {"POST", "/v1/screen", `{"token":"x","amount":` + long + `}`, 400, "invalid_amount", "amount", "longer than 256 characters"},
		"amount in quotes":  {"POST", "/v1/screen", `{"token":"x","amount":"1"}`, 400, "invalid_amount", "amount", "it is a string"},
		"long limit":        {"POST", "/v1/fleets/create", `{"fleetName":"f","operatorLegalName":"A","dailyLimitUSDC":` + long + `}`, 422, "invalid_field", "dailyLimitUSDC", "256 characters"},
		"long spend limit":  {"POST", "/v1/agents/register", `{"agentName":"n","agentType":"supervised","operatorLegalName":"A","purpose":"p","spendPolicy":{"maxSingleTxUSDC":` + long + `}}`, 422, "invalid_field", "spendPolicy.maxSingleTxUSDC", "256 characters"},
		"long entry name":   {"POST", "/v1/whitelist/entries", `{"name":"` + strings.Repeat("n", 513) + `"}`, 422, "invalid_field", "name", "at most 512 characters"},
		"long entry wallet": {"POST", "/v1/whitelist/entries", `{"wallet":"` + strings.Repeat("n", 257) + `"}`, 422, "invalid_field", "wallet", "at most 256 bytes"},
		"entry of nothing":  {"POST", "/v1/whitelist/entries", `{"label":"l"}`, 422, "missing_field", "wallet", "is required"},
		"entry of both":     {"POST", "/v1/whitelist/entries", `{"name":"n","wallet":"w"}`, 422, "invalid_field", "wallet", "exclude each other"},
		"entry of dots":     {"POST", "/v1/whitelist/entries", `{"name":"..."}`, 422, "invalid_field", "name", "no letters or digits"},
		"no token":          {"POST", "/v1/screen", `{"amount":1}`, 400, "missing_token", "token", "token is required"},
	} {
		t.Run(name, func(t *testing.T) {
			v := answer(t, n.do("admin", c.method, c.path, c.body), c.status)
			require.Equal(t, [2]string{c.code, c.param}, [2]string{textOf(v, "code"), textOf(v, "param")})
			require.Contains(t, textOf(v, "message"), c.says)
			require.Less(t, len(v.GetArray("details")), 2, "one mistake is told once")
		})
	}
}

// A strict key needs no header, and no header makes it lenient; a list of keys shows it.
func TestStrictKeys(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	made := n.doAdmin("POST", "/admin/keys", `{"name":"strict","roles":"screener","strict":true}`)
	require.Equal(t, 201, made.Code, made.Body)
	require.Equal(t, "true", member(t, made.Body.Bytes(), "strict"))
	require.Contains(t, n.doAdmin("GET", "/admin/keys", "").Body.String(), `"strict":true`)
	send := func(secret, body string, headers ...string) int {
		return n.do("", "POST", "/v1/screen", body, append(headers, "Authorization", "Bearer "+secret)...).Code
	}
	secret, stranger := member(t, made.Body.Bytes(), "key"), `{"token":"`+token+`","amount":1,"zzz":1}`
	require.Equal(t, 400, send(secret, stranger))
	require.Equal(t, 400, send(secret, stranger, "X-Railguard-Strict", "false"))
	require.Equal(t, 200, send(secret, `{"token":"`+token+`","amount":1}`))
	require.Equal(t, 200, send(testSecret("screener"), stranger))
	require.Equal(t, 200, n.doAdmin("POST", "/admin/keys/"+member(t, made.Body.Bytes(), "keyId")+"/rotate", `{"overlap":"1h"}`).Code)
	require.Equal(t, 400, send(secret, stranger), "it stays strict")
	require.Equal(t, 422, n.doAdmin("POST", "/admin/keys", `{"name":"x","strict":"yes"}`).Code)
}

func (n *testNode) Comments(leaf uint64) []uint64 {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.comments[leaf]
}

func (n *testNode) Outcomes(leaf uint64) []uint64 {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.outcomes[leaf]
}

func (n *testNode) Proposal(leaf uint64) (uint64, bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	later, ok := n.proposals[leaf]
	return later, ok
}

func (n *testNode) ReferenceUsed(key engine.ReferenceKey) (uint64, bool, bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.machine.ReferenceUsed(key)
}

// Two persons decide where the policy demands it; callers outside the wall do not see it.
func TestFourEyesOverHTTP(t *testing.T) {
	n := newTestNode(t)
	n.advance(engine.DayLength) // So that the keys are old enough to second.
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"requireNotes":true,"fourEyes":{}}}`), 200)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	case1 := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20}`), 200)
	require.Equal(t, "REVIEW", textOf(case1, "verdict"))
	path := "/v1/reviews/" + textOf(case1, "txnId")
	v := answer(t, n.do("reviewer", "POST", path, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann"}`), 422)
	require.Equal(t, "notes", textOf(v, "param"))
	first := answer(t, n.do("reviewer", "POST", path, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann","notes":"layering"}`), 200)
	require.Equal(t, "ESCALATE_SAR", textOf(first, "proposed", "disposition"))
	require.Equal(t, "Ann", textOf(first, "proposed", "by"))
	require.Equal(t, "null", first.Get("disposition").String())
	answer(t, n.do("reviewer", "POST", path, `{"disposition":"ESCALATE_SAR","reviewedBy":"Bob","notes":"so it is"}`), 409)
	answer(t, n.do("admin", "POST", path, `{"disposition":"REJECTED","reviewedBy":"ANN ","notes":"so it is"}`), 409)
	answer(t, n.do("admin", "POST", path, `{"disposition":"APPROVED","reviewedBy":"Bob"}`), 409)
	audit := "/v1/audit/" + textOf(case1, "txnId")
	require.Equal(t, "Ann", textOf(answer(t, n.do("auditor", "GET", audit, ""), 200), "proposed", "by"))
	require.Nil(t, answer(t, n.do("screener", "GET", audit, ""), 200).Get("proposed"), "the wall")
	answer(t, n.do("reviewer", "POST", path+"/withdraw", `{}`), 422)
	withdrawn := answer(t, n.do("admin", "POST", path+"/withdraw", `{"reviewedBy":"Bob","reason":"too early"}`), 200)
	require.Nil(t, withdrawn.Get("proposed"))
	answer(t, n.do("admin", "POST", "/v1/reviews/txn_00000000/withdraw", `{"reviewedBy":"Bob"}`), 404)
	answer(t, n.do("admin", "POST", path, `{"disposition":"REJECTED","reviewedBy":"Bob","notes":"no"}`), 200)
	done := answer(t, n.do("reviewer", "POST", path, `{"disposition":"REJECTED","reviewedBy":"Ann","notes":"no"}`), 200)
	require.Equal(t, "REJECTED", textOf(done, "disposition"))
	require.Equal(t, "Ann", textOf(done, "reviewedBy"), "the confirmation counts")
	shown := answer(t, n.do("auditor", "GET", audit, ""), 200)
	require.Equal(t, "Bob", textOf(shown, "confirms", "by"), "and who proposed is told")
	require.Equal(t, "REJECTED", textOf(shown, "confirms", "disposition"))
	require.Nil(t, shown.Get("proposed"), "nothing is open")
	require.Nil(t, answer(t, n.do("screener", "GET", audit, ""), 200).Get("confirms"), "the wall")
}

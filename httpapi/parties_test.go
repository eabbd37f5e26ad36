package httpapi

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// listing returns a list entry of a person, with a date and a country of birth.
func listing(uid uint32, name, born, country string) ofac.Entity {
	return ofac.Entity{
		UID: uid, Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"RUSSIA-EO14024"},
		Names: []ofac.Name{{Primary: true, AliasType: "Name", Script: "Latin", Full: name}},
		Facts: []ofac.Fact{{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: born}, {Kind: ofac.FactNationality, Label: "Nationality", Value: country}},
	}
}

// partyNode is a node whose list names Vorontsak.
func partyNode(t *testing.T) *testNode {
	n := newTestNode(t)
	n.activate(append(sample.Entities(), listing(900001, "VORONTSAK, Miroslav Petrovich", "05 Oct 1976", "Russia")), sample.Meta())
	return n
}

// payTo screens a payment and returns its record's id and verdict.
func (n *testNode) payTo(token string, amount int, name, more string) (txn, verdict string) {
	n.t.Helper()
	v := answer(n.t, n.do("screener", "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":%d,"cpName":%q%s}`, token, amount, name, more)), 200)
	return textOf(v, "txnId"), textOf(v, "verdict")
}

// parties returns the list of parties.
func (n *testNode) parties(query string) []*fastjson.Value {
	n.t.Helper()
	return answer(n.t, n.do("reviewer", "GET", "/v1/parties?limit=500&"+query, ""), 200).GetArray("data")
}

func (n *testNode) inbox(who, query string) *fastjson.Value {
	n.t.Helper()
	return answer(n.t, n.do(who, "GET", "/v1/inbox?limit=500&"+query, ""), 200)
}

// TestOneCaseOfParty: payments of two agents to one listed person are one party, before and after any of
// them, with another spelling found by likeness; one decision closes its open reviews, each by itself.
func TestOneCaseOfParty(t *testing.T) {
	n := partyNode(t)
	_, first := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1000}`)
	_, second := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1000}`)
	early, verdict := n.payTo(first, 100, "Miroslav Vorontzak", "")
	require.Equal(t, "REVIEW", verdict)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+early, `{"disposition":"APPROVED","reviewedBy":"Carla","notes":"not he"}`), 200)
	mine, _ := n.payTo(first, 900, "Miroslav Vorontzak", `,"cpDateOfBirth":"1976-10-05","cpCountry":"RU"`)
	over, _ := n.payTo(second, 1600, "miroslav VORONTZAK", "")
	late, _ := n.payTo(second, 60, "Vorontzak, Miroslav", "")
	_, verdict = n.payTo(second, 5, "Corner Bakery", "")
	require.Equal(t, "PROCEED", verdict)

	all := n.parties("")
	require.Len(t, all, 1, "%s", all)
	one := all[0]
	require.Equal(t, "900001", textOf(one, "entry", "uid"))
	require.Equal(t, 3, one.GetInt("open"))
	require.Equal(t, "1", one.Get("sums", "wentAhead", "count").String())
	require.Equal(t, "100", one.Get("sums", "wentAhead", "amountUSDC").String())
	require.Equal(t, "2560", one.Get("sums", "waits", "amountUSDC").String())
	require.Len(t, n.parties("state=all"), 2)

	id := textOf(one, "partyId")
	page := answer(t, n.do("reviewer", "GET", "/v1/parties/"+id, ""), 200)
	require.True(t, page.GetBool("complete"), page.String())
	require.Equal(t, []string{late, over, mine, early}, txnsOf(page, "payments"))
	require.ElementsMatch(t, []string{late, over, mine}, txnsOf(page, "reviews"))
	require.Equal(t, mine, textOf(page, "reviews", "0", "txnId"), "what agrees of the identity ranks first")
	require.Equal(t, `[{"kind":"date of birth","asked":"1976-10-05","listed":"05 Oct 1976","agrees":true},{"kind":"nationality","asked":"RU","listed":"Russia","agrees":true}]`, page.Get("identity").String())
	require.Equal(t, "not he", textOf(page, "acts", "0", "reason"))
	require.Equal(t, "R10_SINGLE_TX_LIMIT", textOf(page, "payments", "1", "rules", "0"))
	require.Equal(t, "R21_POSSIBLE_NAME_MATCH", textOf(page, "payments", "1", "rules", "1"))

	key := []string{"Idempotency-Key", "one-decision"}
	body := `{"disposition":"REJECTED","reviewedBy":"Carla","notes":"the same man"}`
	done := answer(t, n.do("reviewer", "POST", "/v1/parties/"+id+"/decide", body, key...), 200)
	require.Equal(t, []string{mine, over, late}, txnsOf(done, "results"))
	for i := range 3 {
		require.Equal(t, "REJECTED", textOf(done, "results", strconv.Itoa(i), "disposition"), done.String())
	}
	again := answer(t, n.do("reviewer", "POST", "/v1/parties/"+id+"/decide", body, key...), 200)
	require.Equal(t, []string{mine, over, late}, txnsOf(again, "results"), "a call that is sent again is answered as the first time")
	require.True(t, again.GetBool("results", "0", "replayed"))
	require.Empty(t, n.parties(""))
	require.Empty(t, n.inbox("reviewer", "").GetArray("data"))
	page = answer(t, n.do("reviewer", "GET", "/v1/parties/"+id, ""), 200)
	require.Equal(t, "2560", page.Get("sums", "rejected", "amountUSDC").String())
}

func txnsOf(v *fastjson.Value, list string) (txns []string) {
	for _, one := range v.GetArray(list) {
		txns = append(txns, textOf(one, "txnId"))
	}
	return txns
}

// TestPaidUnderAnotherSpelling: what was paid before the list named the man, under other spellings, by
// wallet and by words in any order, is never "nothing here".
func TestPaidUnderAnotherSpelling(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	wallet := "0x1111111111111111111111111111111111111111"
	before, verdict := n.payTo(token, 10, "Miroslav Vorontzak", `,"chain":"ETH","cpWallet":"`+wallet+`"`)
	require.Equal(t, "PROCEED", verdict)
	other, _ := n.payTo(token, 11, "Achmat Trading House", `,"chain":"ETH","cpWallet":"`+wallet+`"`)
	n.payTo(token, 12, "Corner Bakery", `,"cpIdentifiers":[{"type":"tax_id","value":"7707083893","country":"RU"}]`)
	n.activate(append(sample.Entities(), listing(900001, "VORONTSAK, Miroslav Petrovich", "05 Oct 1976", "Russia")), sample.Meta())

	search := func(text string) *fastjson.Value {
		t.Helper()
		return answer(t, n.do("reviewer", "POST", "/v1/search", `{"q":"`+text+`"}`), 200)
	}
	for _, text := range []string{"Miroslav Vorontzak", "vorontzak miroslav", "Vorontzak", "Vorontsak Miroslav", "voron", "MIROSLAV"} {
		found := search(text)
		require.NotEmpty(t, found.GetArray("parties"), text)
		require.Equal(t, "Miroslav Vorontzak", textOf(found, "parties", "0", "name"), text)
		require.NotEmpty(t, textOf(found, "parties", "0", "why"))
	}
	require.Len(t, search(wallet).GetArray("parties"), 2)
	require.Equal(t, wallet, textOf(search("0x11111"), "wallets", "0", "wallet"))
	require.Equal(t, "Corner Bakery", textOf(search("7707083893"), "identifiers", "0", "names", "0"))
	require.Equal(t, "Corner Bakery", textOf(search("tax_id:7707083893"), "parties", "0", "name"))
	require.Equal(t, before, textOf(search(before), "transactions", "0", "txnId"))
	require.Equal(t, "Bot", textOf(search("bot"), "agents", "0", "agentName"))
	require.Empty(t, search("Nobody Whatsoever").GetArray("parties"))

	after, verdict := n.payTo(token, 13, "Miroslav Vorontsak", "")
	require.Equal(t, "REVIEW", verdict)
	party := n.parties("")[0]
	page := answer(t, n.do("reviewer", "GET", "/v1/parties/"+textOf(party, "partyId"), ""), 200)
	require.Equal(t, []string{after, before}, txnsOf(page, "payments"), page.String())
	require.Contains(t, textOf(page, "payments", "1", "alike", "why"), "Vorontsak")
	require.Equal(t, "10", page.Get("sums", "wentAhead", "amountUSDC").String())
	require.Equal(t, "0", page.Get("ownSums", "wentAhead", "amountUSDC").String())

	was := textOf(page, "payments", "1", "partyId")
	page = answer(t, n.do("reviewer", "GET", "/v1/parties/"+was, ""), 200)
	require.True(t, page.GetBool("listedSince"), "the payee has been listed since: %s", page)
	require.Equal(t, "900001", textOf(page, "listedToday", "uid"))
	require.Contains(t, txnsOf(page, "payments"), other, "by the same wallet")
}

// TestWeekOfParties: 65 open reviews of 33 parties in a generated week become 33 cases.
func TestWeekOfParties(t *testing.T) {
	n := newTestNode(t)
	random := rand.New(rand.NewPCG(28, 2))
	entities := sample.Entities()
	names := make([]string, 33)
	for i := range names {
		names[i] = personOf(i)
		family, given, _ := strings.Cut(names[i], " ")
		entities = append(entities, listing(910000+uint32(i), strings.ToUpper(given)+", "+family, "1970", "Syria"))
	}
	n.activate(entities, sample.Meta())
	tokens := make([]string, 4)
	for i := range tokens {
		_, tokens[i] = n.registered("")
	}
	open := map[string]int{}
	for i := range 65 {
		name := names[i%33]
		spelled := respelled(name)
		switch random.IntN(3) {
		case 0:
			spelled = strings.ToUpper(spelled)
		case 1:
			spelled = " " + spelled + " "
		}
		_, verdict := n.payTo(tokens[random.IntN(4)], 1+random.IntN(400), spelled, "")
		require.Equal(t, "REVIEW", verdict, spelled)
		open[name]++
		n.payTo(tokens[random.IntN(4)], 1+random.IntN(90), "Corner Bakery", "")
		n.advance(engine.Time(random.IntN(150)) * engine.Minute)
	}
	require.Equal(t, 65, n.inbox("reviewer", "").GetInt("counts", "review"))
	all := n.parties("")
	require.Len(t, all, 33)
	for _, one := range all {
		uid, err := strconv.Atoi(textOf(one, "entry", "uid"))
		require.NoError(t, err)
		require.Equal(t, open[names[uid-910000]], one.GetInt("open"), one.String())
	}
}

// personOf makes a name that resembles no other.
func personOf(i int) string {
	given := []string{"Bartholomew", "Theophilus", "Hildegard", "Wolfgang", "Fitzgerald", "Guinevere"}
	family := []string{"Zwickelmann", "Ostrovanek", "Quiddingham", "Brzezicki", "Papadrakis", "Vanderkloof"}
	return given[i%6] + " " + family[i/6]
}

// respelled writes a name so that it is a possible match and not the listed name itself.
func respelled(name string) string { return name[:len(name)-1] + "h" }

// TestPartiesOfNobody: payments that hit nothing are cases of their own, alike by payee: a decision names
// them; and a payment that names nobody belongs to no party.
func TestPartiesOfNobody(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	first, _ := n.payTo(token, 20, "Corner Bakery", "")
	second, _ := n.payTo(token, 30, "corner  BAKERY", "")
	answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":40}`), 200)
	all := n.parties("")
	require.Len(t, all, 1)
	require.Equal(t, 2, all[0].GetInt("open"))
	require.Equal(t, fastjson.TypeNull, all[0].Get("entry").Type())
	id := textOf(all[0], "partyId")
	decide := "/v1/parties/" + id + "/decide"
	refused := answer(t, n.do("reviewer", "POST", decide, `{"disposition":"APPROVED","reviewedBy":"Carla"}`), 422)
	require.Equal(t, "missing_field", textOf(refused, "code"))
	answer(t, n.do("reviewer", "POST", decide, `{"disposition":"APPROVED","reviewedBy":"Carla","only":["`+first+`","txn_00000000"]}`), 422)
	done := answer(t, n.do("reviewer", "POST", decide, `{"disposition":"APPROVED","reviewedBy":"Carla","only":["`+first+`"]}`), 200)
	require.Equal(t, []string{first}, txnsOf(done, "results"))
	items := n.inbox("reviewer", "").GetArray("data")
	require.Len(t, items, 2)
	require.Equal(t, second, textOf(items[0], "txnId"))
	require.Equal(t, fastjson.TypeNull, items[1].Get("partyId").Type(), "it names nobody")
	answer(t, n.do("reviewer", "GET", "/v1/parties/pty_"+strings.Repeat("0", 24), ""), 404)
	answer(t, n.do("reviewer", "GET", "/v1/parties/nonsense", ""), 404)
}

// TestPartyNeedsTwoPersons: under four eyes one decision about a party proposes each, a colleague finds
// them by "waits for my signature", and the same decision of his closes them.
func TestPartyNeedsTwoPersons(t *testing.T) {
	n := partyNode(t)
	for _, name := range []string{"rosa", "ron"} {
		n.addKey(wire.APIKey{ID: "key_" + name, Name: name, Roles: wire.RoleReviewer, Person: name, PersonKey: name}, testSecret(name))
	}
	n.advance(2 * engine.DayLength)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"fourEyes":{"rules":["R21"]}}}`), 200)
	_, token := n.registered("")
	first, _ := n.payTo(token, 100, "Miroslav Vorontzak", "")
	second, _ := n.payTo(token, 200, "Miroslav Vorontzak", "")
	decide := "/v1/parties/" + textOf(n.parties("")[0], "partyId") + "/decide"
	done := answer(t, n.do("rosa", "POST", decide, `{"disposition":"REJECTED","reviewedBy":"Rosa","notes":"the same man"}`), 200)
	require.Equal(t, []string{first, second}, txnsOf(done, "results"))
	require.Equal(t, "Rosa", textOf(done, "results", "0", "proposed", "by"), done.String())
	require.Len(t, n.parties(""), 1, "nothing is closed yet")
	require.Empty(t, n.inbox("rosa", "waitsForMe=true").GetArray("data"), "one does not sign one's own")
	mine := n.inbox("ron", "waitsForMe=true").GetArray("data")
	require.Len(t, mine, 2)
	require.Equal(t, "the same man", textOf(mine[0], "proposed", "notes"), "the second person reads the first one's reasons")
	done = answer(t, n.do("ron", "POST", decide, `{"disposition":"REJECTED","reviewedBy":"Ron","notes":"I agree"}`), 200)
	require.Equal(t, "REJECTED", textOf(done, "results", "1", "disposition"), done.String())
	require.Empty(t, n.parties(""))
}

// TestInboxHasAllKinds: a review, a sanctions case, an alert and a report stand in one list by rank, with
// parts that add up to it, and pages of one continue each other.
func TestInboxHasAllKinds(t *testing.T) {
	n := partyNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1000}`)
	n.payTo(token, 2000, "Corner Bakery", "")
	n.payTo(token, 7, "Lazarus Group", "")
	escalated, _ := n.payTo(token, 300, "Miroslav Vorontzak", "")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+escalated, `{"disposition":"ESCALATE_SAR","reviewedBy":"Carla","notes":"n"}`), 200)
	n.payTo(token, 60, "Miroslav Vorontzak", `,"underlyingModel":"x"`)
	answer(t, n.do("admin", "POST", "/v1/transactions/"+escalated+"/settle", `{"amount":300}`), 200)
	v := n.inbox("reviewer", "")
	var kinds []string
	last := 1 << 30
	for _, item := range v.GetArray("data") {
		kinds = append(kinds, textOf(item, "kind"))
		sum := 0
		for _, part := range item.GetArray("rankParts") {
			sum += part.GetInt("points")
		}
		require.Equal(t, item.GetInt("rank"), sum, item.String())
		require.LessOrEqual(t, sum, last)
		last = sum
	}
	require.Equal(t, []string{"alert", "review", "block", "report", "review"}, kinds, v.String())
	require.True(t, v.GetBool("data", "0", "moneyGone"), "it was settled although it was stopped")
	require.Equal(t, "R10_SINGLE_TX_LIMIT", textOf(v, "data", "4", "rule"))
	require.Len(t, n.inbox("reviewer", "rule=R21").GetArray("data"), 3)
	require.Len(t, n.inbox("reviewer", "kind=block").GetArray("data"), 1)
	require.Len(t, n.inbox("reviewer", "q=bakery").GetArray("data"), 1)
	for i, kind := range kinds {
		id := textOf(v, "data", strconv.Itoa(i), "itemId")
		answer(t, n.do("reviewer", "POST", "/v1/inbox/"+id+"/claim", `{"assignee":"Carla"}`), 200)
		require.Len(t, n.inbox("reviewer", "assignee=Carla").GetArray("data"), i+1, kind)
	}
	whole, cursor := txnsOf(v, "data"), ""
	var paged []string
	for range whole {
		page := answer(t, n.do("reviewer", "GET", "/v1/inbox?limit=1"+cursor, ""), 200)
		paged = append(paged, txnsOf(page, "data")...)
		cursor = "&cursor=" + textOf(page, "nextCursor")
	}
	require.Equal(t, whole, paged)
	page := answer(t, n.do("reviewer", "GET", "/v1/parties/"+textOf(v, "data", "1", "partyId"), ""), 200)
	require.Len(t, page.GetArray("alerts"), 1)
	require.Len(t, page.GetArray("reports"), 1)
	require.Equal(t, "300", page.Get("sums", "wentAhead", "amountUSDC").String())
}

// TestPartiesAreTheInstitutions: neither an operator nor a caller learns of parties, of the inbox, or by
// search, and an auditor decides nothing.
func TestPartiesAreTheInstitutions(t *testing.T) {
	n := partyNode(t)
	_, token := n.registered("")
	n.payTo(token, 100, "Miroslav Vorontzak", "")
	id := textOf(n.parties("")[0], "partyId")
	n.addKey(wire.APIKey{ID: "key_tenant", Name: "tenant", Roles: wire.RoleViewer, Owner: "Acme Inc"}, testSecret("tenant"))
	for _, path := range []string{"/v1/parties", "/v1/parties/" + id, "/v1/inbox", "/v1/search?q=vorontzak"} {
		answer(t, n.do("tenant", "GET", path, ""), 403)
		answer(t, n.do("screener", "GET", path, ""), 403)
		answer(t, n.do("auditor", "GET", path, ""), 200)
	}
	answer(t, n.do("tenant", "POST", "/v1/search", `{"q":"vorontzak"}`), 403)
	for _, who := range []string{"tenant", "auditor"} {
		answer(t, n.do(who, "POST", "/v1/parties/"+id+"/decide", `{"disposition":"APPROVED","reviewedBy":"x"}`), 403)
	}
}

// TestClearingTakenBackStays: a clearing that was taken back stays on the page of its party, with who
// took it back and why.
func TestClearingTakenBackStays(t *testing.T) {
	n := partyNode(t)
	_, token := n.registered("")
	n.payTo(token, 100, "Miroslav Vorontzak", "")
	made := answer(t, n.do("reviewer", "POST", "/v1/cleared", `{"name":"Miroslav Vorontzak","uid":"900001","reason":"a baker","nameOnly":true,"expiresAt":"2026-12-01"}`), 201)
	paid, verdict := n.payTo(token, 50, "Miroslav Vorontzak", "")
	require.Equal(t, "PROCEED", verdict)
	page := func() *fastjson.Value {
		return answer(t, n.do("reviewer", "GET", "/v1/parties/"+textOf(n.parties("state=all")[0], "partyId"), ""), 200)
	}
	require.Equal(t, paid, textOf(page(), "payments", "0", "txnId"), "a payment that a clearing let pass is the party's")
	require.True(t, page().GetBool("cleared", "0", "inForce"))
	answer(t, n.do("reviewer", "DELETE", "/v1/cleared/"+textOf(made, "clearedId"), `{"reason":"his passport says so","actor":"Carla"}`), 200)
	cleared := page().GetArray("cleared")
	require.Len(t, cleared, 1)
	require.Equal(t, "taken_back", textOf(cleared[0], "void"))
	require.Equal(t, "his passport says so", textOf(cleared[0], "endReason"))
	require.Equal(t, "Carla", textOf(cleared[0], "endedBy"))
	require.Equal(t, "a baker", textOf(cleared[0], "reason"))
}

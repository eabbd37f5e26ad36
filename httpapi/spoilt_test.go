package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/contract"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
	"railguard/ofac/further"
)

// A member that no handler reads could hold anything. These tests call every operation that has a
// JSON body. First the body has all possible members. Then one member after the other gets a
// value of a type that the document does not allow; such a call must be refused and change
// nothing.

// spoiltBodies are valid bodies of every operation; together they have all of its members.
// Words with $ are replaced by spoiltWords and spoiltWorld.
var spoiltBodies = map[string][]string{
	"POST /v1/screen": {`{"token":"$token","amount":1,"chain":"BASE","rail":"USDC","cpWallet":"0x1111111111111111111111111111111111111111","cpName":"Paper Shop",` +
		`"cpType":"business","cpCountry":"DE","cpDateOfBirth":"1970-01-01","cpAddress":"Main St","protocol":"x","underlyingModel":"m","travelRuleRef":"t",` +
		`"hold":{"ttlSeconds":60},"paymentRef":"ref-1"}`, `{"token":"$token","amount":1,"model":"m","userToken":"$userToken"}`},
	"POST /v1/screen/dry-run": {`{"token":"$token","amount":1,"cpName":"Paper Shop","cpCountry":"DE","paymentRef":"ref-1"}`},
	"POST /v1/match":          {`{"name":"Paper Shop","wallet":"0x1111111111111111111111111111111111111111","cpType":"business","cpCountry":"DE","cpDateOfBirth":"1970-01-01","cpAddress":"Main St","explain":true}`, `{"name":"Paper Shop","snapshotId":"$snapshot"}`},
	"POST /v1/audit/search": {`{"from":"2026-03-01","to":"2026-04-01","agentId":"$agent","operator":"Acme Inc","verdict":"REVIEW","rule":"R10_SINGLE_TX_LIMIT",` +
		`"wallet":"0x1111111111111111111111111111111111111111","name":"Paper Shop","identifier":"bic:DEUTDEFF","disposition":"none","limit":5,"order":"asc"}`},
	"POST /v1/transactions/{txnId}/settle":  {`{"amount":1,"railRef":"wire-1"}`},
	"POST /v1/transactions/{txnId}/release": {`{"reason":"payment_failed"}`},
	"POST /v1/transactions/{txnId}/confirm": {`{"permit":{"ttlSeconds":60,"aud":"https://shop.example"},"redeem":false}`, `{"token":"$token"}`},
	"POST /v1/permits/redeem":               {`{"permit":"$permit","pay":{"amount":"5","currency":"USD","name":"Paper Shop"}}`},

	"POST /v1/agents/register": {`{"agentName":"Bot","agentType":"supervised","operatorId":"$operator","operatorLegalName":"Acme Inc","purpose":"p","underlyingModel":"m","agentFramework":"f",` +
		`"operatorWallet":"0x1111111111111111111111111111111111111111","operatorEIN":"12-3456789","fleetId":"$fleet","metadata":{"a":1},$key,$settings,$spend}`},
	"POST /v1/delegates/create": {`{"parentAgentId":"$agent","agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","underlyingModel":"m",` +
		`"agentFramework":"f","expiresAt":"2026-04-22","metadata":{"a":1},$key,$settings,$spend}`, `{"parentToken":"$token","agentName":"Bot"}`},
	"PATCH /v1/agents/{id}":                            {`{$settings,$why}`},
	"POST /v1/agents/{id}/attest":                      {`{"attestedBy":"Ann","note":"n"}`},
	"POST /v1/agents/{id}/model":                       {`{"underlyingModel":"m",$why}`, `{"model":"m"}`},
	"POST /v1/agents/{id}/reissue":                     {`{"agentName":"Bot","operatorId":"$operator","operatorLegalName":"Acme Inc","operatorWallet":"0x1111111111111111111111111111111111111111","operatorEIN":"12-3456789","purpose":"p","underlyingModel":"m","agentFramework":"f","overlapHours":2,$key,$spend,$why}`},
	"POST /v1/agents/{id}/ownership-transfer":          {`{"newOperatorId":"$operator","newOperatorLegalName":"Acme Inc","effectiveAt":"2026-04-22","note":"n","actor":"Ann"}`},
	"DELETE /v1/agents/{id}/ownership-transfer":        {`{$why}`},
	"POST /v1/agents/{id}/suspend":                     {`{$why}`},
	"POST /v1/agents/{id}/reinstate":                   {`{$why}`},
	"POST /v1/agents/{id}/revoke":                      {`{$why,"reasonCode":"OTHER"}`},
	"POST /v1/users/register":                          {`{"legalName":"Ann Lee","email":"a@example.com","agentIds":["$agent"],"agentType":"supervised","operatorId":"$operator","operatorLegalName":"Acme Inc"}`, `{"userName":"Ann Lee"}`},
	"POST /v1/users/{id}/reissue":                      {`{"overlapHours":2,$why}`},
	"POST /v1/users/{id}/suspend":                      {`{$why}`},
	"POST /v1/users/{id}/reinstate":                    {`{$why}`},
	"POST /v1/users/{id}/revoke":                       {`{$why,"reasonCode":"OTHER"}`},
	"POST /v1/operators/suspend":                       {`{"operatorId":"$operator","operatorLegalName":"Acme Inc",$why}`},
	"POST /v1/operators/reinstate":                     {`{"operatorId":"$operator","operatorLegalName":"Acme Inc",$why}`},
	"POST /v1/operators/limit":                         {`{"operatorId":"$operator","operatorLegalName":"Acme Inc","dailyLimitUSDC":10,$why}`},
	"POST /v1/fleets/create":                           {`{"fleetName":"F","operatorId":"$operator","operatorLegalName":"Acme Inc","dailyLimitUSDC":10,$hours,$velocity,$list}`},
	"PATCH /v1/fleets/{id}":                            {`{"fleetName":"F","dailyLimitUSDC":10,$hours,$velocity,$why}`},
	"POST /v1/fleets/{id}/agents":                      {`{"agentId":"$agent"}`, `{"agentIds":["$agent"]}`},
	"PUT /v1/agents/{id}/whitelist":                    {`{$entries,$why}`},
	"PUT /v1/fleets/{id}/whitelist":                    {`{$entries,$why}`},
	"PUT /v1/whitelist":                                {`{$entries,$why}`},
	"POST /v1/agents/{id}/whitelist/entries":           {`{"wallet":"0x2222222222222222222222222222222222222222",$entry,$why}`, `{"name":"New Shop"}`},
	"POST /v1/fleets/{id}/whitelist/entries":           {`{"wallet":"0x2222222222222222222222222222222222222222",$entry,$why}`, `{"name":"New Shop"}`},
	"POST /v1/whitelist/entries":                       {`{"wallet":"0x2222222222222222222222222222222222222222",$entry,$why}`, `{"name":"New Shop"}`},
	"DELETE /v1/agents/{id}/whitelist/entries/{entry}": {`{$why}`},
	"DELETE /v1/fleets/{id}/whitelist/entries/{entry}": {`{$why}`},
	"DELETE /v1/whitelist/entries/{entry}":             {`{$why}`},

	"POST /v1/ofac/sync":          {`{$why}`},
	"POST /v1/ofac/{id}/activate": {`{"force":true,$why}`},
	"POST /v1/ofac/{id}/rollback": {`{"force":true,$why}`},
	"POST /v1/lists/{id}/entries": {`{"add":[{"id":"e1","kind":"individual","name":"Doe, Jane","aliases":["J. D."],"wallets":["0x1"],"identifiers":[{"type":"passport","value":"T1","country":"IR"}],"countries":["DE"],"reason":"r","until":"2027-01-31"}],"end":["e2"],"replace":true,$why}`},
	"POST /v1/ofac/rollback":      {`{"force":true,$why}`},
	"POST /v1/ofac/retro":         {`{"days":1,"listSnapshotId":"$snapshot","against":"$older"}`},
	"POST /v1/cleared": {`{"name":"Lazarus Groupe","uid":"100","reason":"r","nameOnly":true,"expiresAt":"2026-04-22","clearedBy":"Ann"}`,
		`{"name":"Lazarus Groupe","uid":"100","reason":"r","expiresAt":"2026-04-22","grounds":{"dateOfBirth":"1974","country":"JO","address":"Rainbow Street","identifiers":[{"type":"passport","value":"X998877","country":"JO"}],"operatorId":"$operator","agentId":"$agent"}}`},
	"DELETE /v1/cleared/{id}": {`{$why}`},
	"POST /v1/backtests":      {`{"policy":{},"from":"2026-03-21","to":"2026-03-22"}`, `{"listSnapshotId":"$snapshot","from":"2026-03-21"}`},
	"POST /v1/policy/shadow":  {`{"policy":{},"days":1}`, `{"listSnapshotId":"$snapshot"}`},

	"POST /v1/policy/shadow/{id}/promote":     {`{$why}`},
	"POST /v1/reviews/{txnId}":                {`{"disposition":"APPROVED","reviewedBy":"Ann","notes":"n"}`},
	"POST /v1/reviews/{txnId}/withdraw":       {`{"reviewedBy":"Ann","reason":"r"}`},
	"POST /v1/sanctions/cases/{id}/move":      {`{"to":"TRUE_MATCH","by":"Ann","reason":"r","notes":"n","kind":"blocked_property","property":{"party":"P","description":"d","location":"l","authority":"a","action":"b","valueUSD":1}}`},
	"POST /v1/sar":                            {`{"txnId":"$paid","by":"Ann","reason":"r"}`},
	"PUT /v1/sar/{txnId}/narrative":           {`{"by":"Ann","narrative":"n","replaces":"0000000000000000000000000000000000000000000000000000000000000000"}`},
	"POST /v1/sanctions/cases":                {`{"txnId":"$paid","by":"Ann","reason":"r","uid":"100"}`, `{"txnId":"$paid","by":"Ann","reason":"r","place":"IR"}`},
	"POST /v1/sar/{txnId}/move":               {`{"to":"FILED","by":"Ann","reason":"r","bsaId":"31000000000001"}`},
	"POST /v1/alerts/acknowledge":             {`{"alertIds":["$alert"],"by":"Ann","reason":"r"}`},
	"POST /v1/alerts/{id}/acknowledge":        {`{"by":"Ann","reason":"r"}`},
	"POST /v1/queue/bulk":                     {`{"txnIds":["$review"],"disposition":"REJECTED","reviewedBy":"Ann","notes":"n"}`},
	"POST /v1/inbox/{itemId}/claim":           {`{"assignee":"Ann"}`, `{"by":"Ann"}`, `{"reviewedBy":"Ann"}`},
	"POST /v1/inbox/{itemId}/release":         {`{"by":"Ann","force":true}`, `{"assignee":"Ann","force":true}`, `{"reviewedBy":"Ann","force":true}`},
	"POST /v1/inbox/{itemId}/assign":          {`{"assignee":"Ann","by":"Bob"}`, `{"assignee":"Ann","reviewedBy":"Bob"}`},
	"POST /v1/inbox/{itemId}/comment":         {`{"comment":"c","by":"Bob"}`, `{"comment":"c","assignee":"Bob"}`, `{"comment":"c","reviewedBy":"Bob"}`},
	"PUT /v1/drafts/{name}":                   {`{"text":"t","fields":{"notes":"n"}}`},
	"POST /v1/parties/{partyId}/decide":       {`{"disposition":"REJECTED","reviewedBy":"Ann","notes":"n","only":["$held"]}`},
	"POST /v1/search":                         {`{"q":"Paper"}`},
	"POST /v1/queue/{txnId}/claim":            {`{"assignee":"Ann"}`, `{"by":"Ann"}`, `{"reviewedBy":"Ann"}`},
	"POST /v1/queue/{txnId}/release":          {`{"by":"Ann","force":true}`, `{"assignee":"Ann","force":true}`, `{"reviewedBy":"Ann","force":true}`},
	"POST /v1/queue/{txnId}/assign":           {`{"assignee":"Ann","by":"Bob"}`, `{"assignee":"Ann","reviewedBy":"Bob"}`},
	"POST /v1/queue/{txnId}/comment":          {`{"comment":"c","by":"Bob"}`, `{"comment":"c","assignee":"Bob"}`, `{"comment":"c","reviewedBy":"Bob"}`},
	"POST /v1/learning/second-looks/{lookId}": {`{"disposition":"REJECTED","reviewedBy":"Ann","reason":"r"}`},
	"POST /v1/queue/next": {`{"assignee":"Ann","filter":{"state":"open","rule":"R10","agentId":"$agent","operator":"Acme Inc","minAmount":1,"maxAmount":1000,` +
		`"from":"2026-03-01","to":"2026-04-01","q":"Acme","slaBreached":false,"sort":"age","payeeOf":"$held"}}`, `{"by":"Ann","filter":{"state":"claimed","assignee":"Zoe"}}`, `{"reviewedBy":"Ann","skip":["txn_00000000"]}`},

	"POST /v1/webhooks":                    {`{"name":"n","url":"https://example.com/h","types":["screen.block"],"sarAllowed":false,"off":true,"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}`},
	"PATCH /v1/webhooks/{id}":              {`{"name":"n","url":"https://example.com/h","types":["screen.block"],"sarAllowed":true,"off":true,"reason":"r"}`},
	"DELETE /v1/webhooks/{id}":             {`{"reason":"r"}`},
	"POST /v1/webhooks/{id}/rotate-secret": {`{"overlapSeconds":60,"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=","reason":"r"}`},
	"POST /v1/webhooks/{id}/redeliver":     {`{"all":true}`},

	"POST /v1/cluster/admit":           {`{"id":"n9","addr":"10.0.0.9:7000","key":"aa",$why}`},
	"POST /v1/cluster/promote":         {`{"id":"n2",$why}`},
	"POST /v1/cluster/demote":          {`{"id":"n2","force":true,$why}`},
	"POST /v1/cluster/remove":          {`{"id":"n2","force":true,$why}`},
	"POST /v1/cluster/transfer-leader": {`{"to":"n2"}`},
	"POST /v1/cluster/drain":           {`{"drain":false}`},
	"POST /v1/cluster/matcher":         {`{"to":1,$why}`},
	"POST /v1/cluster/format":          {`{"to":1,$why}`},
	"POST /v1/cluster/backups":         {`{"folder":"/mnt/b","full":"24h","increment":"1h","tail":"10s","drill":"24h","keep":7,$why}`, `{"off":true,$why}`},
	"POST /v1/cluster/confirm-time":    {`{"notAfter":"2030-01-01",$why}`},
	"POST /v1/test/clock":              {`{"advance":"1s"}`},
}

// spoiltWords replace the $ words that several bodies share.
var spoiltWords = []string{
	"$settings", `$hours,$velocity,"allowedCounterpartyTypes":["business"],"possession":"review",$list`,
	"$key", `"publicKey":{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`,
	"$hours", `"operatingHours":{"timezone":"UTC","windows":[{"days":["SUN"],"from":"00:00","to":"24:00"}],"holidays":["2026-12-25"]}`,
	"$velocity", `"velocity":{"maxPerMinute":10,"maxPerHour":100,"burstFactor":3}`,
	"$list", `"whitelist":{$entries}`,
	"$entries", `"mode":"enforce","kinds":["wallet","name"],"entries":[{"id":"e1","wallet":"0x1111111111111111111111111111111111111111",$entry},{"name":"Paper Shop"}]`,
	"$entry", `"label":"l","expiresAt":"2026-04-22","addedBy":"Ann"`,
	"$spend", `"spendPolicy":{"maxSingleTxUSDC":10,"dailyLimitUSDC":100,"allowedChains":["BASE"],"allowedRails":["USDC"],"counterpartyScreening":"OFAC","noMixerProtocols":true}`,
	"$why", `"reason":"r","actor":"Ann"`,
}

// spoiltBefore lists the calls to make before an operation can succeed.
var spoiltBefore = map[string]string{
	"DELETE /v1/agents/{id}/ownership-transfer": `admin POST /v1/agents/$agent/ownership-transfer {"newOperatorLegalName":"Other Inc"}`,
	"POST /v1/agents/{id}/reinstate":            `admin POST /v1/agents/$agent/suspend {"reason":"r"}`,
	"POST /v1/users/{id}/reinstate":             `admin POST /v1/users/$user/suspend {"reason":"r"}`,
	"POST /v1/operators/reinstate":              `admin POST /v1/operators/suspend {"operatorLegalName":"Acme Inc","reason":"r"}`,
	"POST /v1/reviews/{txnId}/withdraw":         `admin PUT /v1/policy {"review":{"fourEyes":{}}}` + "\n" + `reviewer POST /v1/reviews/$review {"disposition":"REJECTED","reviewedBy":"Bob"}`,
	"PUT /v1/sar/{txnId}/narrative":             `admin POST /v1/reviews/$review {"disposition":"ESCALATE_SAR","reviewedBy":"Bob"}`,
	"POST /v1/sar/{txnId}/move": `admin POST /v1/reviews/$review {"disposition":"ESCALATE_SAR","reviewedBy":"Bob"}` + "\n" + `admin PUT /v1/sar/$review/narrative {"by":"Ann","narrative":"what was seen"}` + "\n" +
		`admin POST /v1/sar/$review/move {"to":"READY","by":"Ann"}`,
	"POST /v1/policy/shadow/{id}/promote": `admin POST /v1/policy/shadow {"policy":{"requireCounterparty":"all"}}`,
}

// spoiltNot are members that no body here has, each with the reason.
var spoiltNot = map[string]string{
	"POST /v1/transactions/{txnId}/confirm proof": "TestConfirmTakesProofs", "POST /v1/permits/redeem pay.asset": "TestRedeemOnce", "POST /v1/permits/redeem pay.chain": "TestRedeemOnce", "POST /v1/permits/redeem pay.nonce": "TestRedeemOnce",
	"POST /v1/permits/redeem pay.payee": "TestRedeemOnce", "POST /v1/permits/redeem pay.payeeIds": "TestRedeemOnce", "POST /v1/permits/redeem pay.payer": "TestRedeemOnce",
	"POST /v1/permits/redeem pay.rail": "TestRedeemOnce", "POST /v1/permits/redeem pay.ref": "TestRedeemOnce", "POST /v1/permits/redeem pay.units": "TestRedeemOnce",
	"POST /v1/permits/redeem pay.identifiers": "TestRedeemOnce",

	"POST /v1/cleared txnId": "TestClearingsSayWhatTheyRestOn", "POST /v1/match txnId": "TestTheWorkbenchHoldsClearingsAgainstWhatIsAsked",
	"POST /v1/proposals/{id}/confirm reason":       "needs what another person proposed: TestTwoPersonsOverHTTP",
	"POST /v1/proposals/{id}/withdraw reason":      "needs what another person proposed: TestTwoPersonsOverHTTP",
	"POST /v1/webhooks/{id}/redeliver eventId":     "needs an event that a webhook is told of: TestWebhooksOverHTTP",
	"POST /v1/sanctions/cases/{id}/move reference": "needs a case that is a true match: TestAnOfficersWalk",
	"POST /v1/audit/search cursor":                 "needs a cursor that a page gave: TestNamesAreAskedByBody",
	"POST /v1/cluster/drain grace":                 "the node would answer nothing any more: TestDrainOverHTTP",
}

// joinNothing reads the entries of a change, and leaves the list in force as it is.
func joinNothing(active *ofac.Index, held *wire.ListInfo, change rulebook.ListChange) ([]byte, wire.ListInfo, error) {
	for i, raw := range change.Add {
		if _, err := further.ReadRow(i+1, raw); err != nil {
			return nil, wire.ListInfo{}, err
		}
	}
	data, err := ofac.EncodeEntities(active.Entities(), active.Meta())
	return data, *held, err
}

// spoiltWorld makes a node with one thing of each kind, and a replacer from $ words to
// their ids.
func spoiltWorld(t *testing.T) (*testNode, *strings.Replacer) {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) {
		d.LoadList, d.JoinList, d.Sync, d.Webhooks = testLoader, joinNothing, &testSyncer{started: true}, n.deps.Webhooks
	})
	id := func(member, path, body string) string {
		w := n.do("admin", "POST", path, body)
		require.Less(t, w.Code, 300, "%s %s: %s", path, body, w.Body)
		return textOf(answer(t, w, w.Code), strings.Split(member, ".")...)
	}
	lists := map[string]string{}
	for _, day := range []string{"01", "02", "03", "04"} {
		lists[day] = n.upload("SDN.CSV", "2026-03-"+day+";LAZARUS GROUP;"+manyNames(40))
		if day != "04" {
			answer(t, n.do("policy", "POST", "/v1/ofac/"+lists[day]+"/activate", ""), 200)
		}
	}
	autonomous := id("agentId", "/v1/agents/register", `{"agentName":"Bot","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p"}`)
	agent, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	operator := textOf(answer(t, n.do("admin", "GET", "/v1/agents/"+agent, ""), 200), "operatorId")
	fleet := id("fleetId", "/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":100}`)
	for _, owner := range []string{"", "/agents/" + agent, "/fleets/" + fleet} {
		id("", "/v1"+owner+"/whitelist/entries", `{"name":"Old Shop"}`)
	}
	user := answer(t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"Ann Lee","agentIds":["`+agent+`"]}`), 201)
	screened := func(amount string) string {
		return id("txnId", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`}`)
	}
	review, refused := screened("60"), screened("70")
	held := id("txnId", "/v1/screen", `{"token":"`+token+`","amount":80,"cpName":"Paper Mill"}`)
	parties := answer(t, n.do("reviewer", "GET", "/v1/parties?q=Paper+Mill", ""), 200)
	id("", "/v1/transactions/"+refused+"/settle", `{}`)
	cleared := id("clearedId", "/v1/cleared", `{"name":"Lazarus Groupe","uid":"100","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`)
	id("txnId", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"Lazarus Group"}`)
	cases := answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200)
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	n.advance(engine.Second) // Else the rate limits would answer.
	return n, strings.NewReplacer("$token", token, "$userToken", textOf(user, "token"), "$autonomous", autonomous, "$agent", agent, "$user", textOf(user, "userId"), "$review", review, "$held", held, "$party", textOf(parties, "data", "0", "partyId"),
		"$paid", textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"Paper Shop"}`), 200), "txnId"), "$permit", textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"Paper Shop","permit":{}}`), 200), "permit"), "$alert", textOf(alerts, "data", "0", "alertId"), "$case", textOf(cases, "data", "0", "caseId"), "$older", lists["01"], "$snapshot", lists["02"], "$staged", lists["04"],
		"$fleet", fleet, "$operator", operator, "$cleared", cleared, "$webhook", id("webhookId", "/v1/webhooks", `{"url":"https://example.com/h","off":true}`))
}

// spoiltPath returns the path at which an operation is called.
func spoiltPath(path string) string {
	first := ""
	if parts := strings.Split(path, "/"); len(parts) > 2 {
		first = "$" + strings.TrimSuffix(parts[2], "s")
	}
	switch {
	case strings.HasSuffix(path, "/attest"):
		first = "$autonomous"
	case strings.HasPrefix(path, "/v1/transactions/"):
		first = "$paid"
	case strings.Contains(path, "{txnId}"):
		first = "$review"
	case strings.HasPrefix(path, "/v1/policy/shadow"):
		first = "$job"
	case strings.HasSuffix(path, "/activate"):
		first = "$staged"
	case strings.HasPrefix(path, "/v1/ofac/"):
		first = "$older"
	case strings.HasPrefix(path, "/v1/sanctions/"):
		first = "$case"
	case strings.HasPrefix(path, "/v1/lists/"):
		first = "house"
	case strings.HasPrefix(path, "/v1/cleared/"):
		first = "$cleared"
	}
	return strings.NewReplacer("{entry}", "1", "{itemId}", "$alert", "{partyId}", "$party", "{name}", "case", "{id}", first, "{txnId}", first).Replace(path)
}

// spoil calls found for each member of value, at every depth, with values of every type in
// turn.
func spoil(value any, path string, found func(path string)) {
	put := func(path string, old any, set func(any)) {
		for _, other := range []any{map[string]any{"zz": true}, "zz", true} {
			set(other)
			found(path)
		}
		set(old)
		spoil(old, path, found)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			put(strings.TrimPrefix(path+"."+name, "."), v[name], func(other any) { v[name] = other })
		}
	case []any:
		for i := range v {
			put(path, v[i], func(other any) { v[i] = other })
		}
	}
}

// Every member of every body is read: with a wrong type it is refused, and nothing changes.
func TestEveryMemberIsRead(t *testing.T) {
	for _, o := range held.Operations {
		name := o.Method + " " + o.Path
		if o.Guest != "" || o.Body.Schema == "" || len(held.Members(o.Body.Schema)) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, body := range spoiltBodies[name] {
				requireRead(t, o, body, seen)
			}
			for _, member := range held.Members(o.Body.Schema) {
				require.True(t, seen[member] || spoiltNot[name+" "+member] != "", "no body of spoiltBodies has %s", member)
			}
		})
	}
	for name := range spoiltBodies {
		method, path, _ := strings.Cut(name, " ")
		require.True(t, slices.ContainsFunc(held.Operations, func(o *contract.Operation) bool { return o.Method == method && o.Path == path }), name)
	}
}

func requireRead(t *testing.T, o *contract.Operation, body string, seen map[string]bool) {
	n, words := spoiltWorld(t)
	key := "admin"
	if strings.HasPrefix(o.Path, "/v1/transactions/") && !strings.HasSuffix(o.Path, "/confirm") { // An admin is no settler.
		n.addSettler()
		key = "settler"
	}
	for range 4 { // Words may contain other words.
		body = strings.NewReplacer(spoiltWords...).Replace(body)
	}
	job := ""
	for _, line := range strings.Split(spoiltBefore[o.Method+" "+o.Path], "\n") {
		if call := strings.SplitN(words.Replace(line), " ", 4); len(call) == 4 {
			w := n.do(call[0], call[1], call[2], call[3])
			require.Less(t, w.Code, 300, line)
			job = textOf(answer(t, w, w.Code), "id")
		}
	}
	path := strings.ReplaceAll(words.Replace(spoiltPath(o.Path)), "$job", job)
	if before, after, named := strings.Cut(path, "{lookId}"); named {
		path = before + n.lookInHand(words.Replace("$review")) + after
	}
	decoder := json.NewDecoder(strings.NewReader(words.Replace(body)))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), "%s", body)
	require.NoError(t, held.Valid(o.Body.Schema, value))
	spoil(value, "", func(member string) {
		seen[member] = true
		if held.Valid(o.Body.Schema, value) == nil {
			return
		}
		spoilt, err := json.Marshal(value)
		require.NoError(t, err)
		size := n.store.Size()
		w := n.do(key, o.Method, path, string(spoilt))
		require.Contains(t, []int{400, 422}, w.Code, "%s was not read: %s\n%s", member, spoilt, w.Body)
		require.Equal(t, size, n.store.Size())
	})
	sound, err := json.Marshal(value)
	require.NoError(t, err)
	w := n.do(key, o.Method, path, string(sound))
	require.Less(t, w.Code, 300, "what is not spoilt: %s %s\n%s", path, sound, w.Body)
}

// spoiltQueries are values that no parameter accepts, except one that takes any text.
var spoiltQueries = []string{"zz%20zz", "-1", "1e", "99999999999999999999", "9999-99-99", "%C3%A9,%2C"}

// anyText are parameters that accept any text: a text that matches nothing finds nothing.
var anyText = []string{"by", "operator", "agentId", "wallet", "name", "assignee", "q", "noleader", "leader", "sync", "exclude",
	"cpCountry", "cpDateOfBirth", "cpAddress", "reason", "time"} // For "time" no list is found, whatever its value.

// Every query parameter is read: a value that it cannot have is refused.
func TestEveryParameterIsRead(t *testing.T) {
	n, words := spoiltWorld(t)
	known := map[string]string{"/v1/match": "name=abc&"} // Parameters that a call needs in addition.
	for _, o := range held.Operations {
		path := words.Replace(strings.Replace(spoiltPath(o.Path), "{list}", "1", 1))
		if o.Guest != "" || o.Method != "GET" || strings.Contains(path, "{") {
			continue
		}
		for _, p := range o.Query {
			if slices.Contains(anyText, p.Name) {
				continue
			}
			for _, value := range spoiltQueries {
				query := path + "?" + known[path] + p.Name + "=" + value
				w := n.do("admin", "GET", query, "")
				if w.Code == 429 { // Walks count as many calls: the burst of the key is used up.
					time.Sleep(time.Second)
					w = n.do("admin", "GET", query, "")
				}
				byName := slices.Contains([]string{"fleetId", "against", "paymentRef", "txnId", "snapshotId"}, p.Name) || strings.HasPrefix(path, "/v1/ofac/retro/") || path == "/v1/audit/export"
				require.True(t, w.Code == 400 || byName && w.Code == 404, "%s: %d %s", query, w.Code, w.Body)
			}
		}
	}
	for query, param := range map[string]string{"cpType=zz&type=business": "cpType", "cpType=individual&type=business": "type", "type=zz": "type"} {
		v := answer(t, n.do("policy", "GET", "/v1/match?name=abc&"+query, ""), 400)
		require.Equal(t, param, textOf(v, "param"), query)
	}
	answer(t, n.do("policy", "GET", "/v1/match?name=abc&type=business&cpType=business", ""), 200)
}

// Answer and history name the person who removes a cleared pair.
func TestWhoTookAClearedPairBack(t *testing.T) {
	n, words := spoiltWorld(t)
	v := answer(t, n.do("reviewer", "DELETE", words.Replace("/v1/cleared/$cleared"), `{"reason":"no longer","actor":"Zoe"}`), 200)
	require.Equal(t, "Zoe", textOf(v, "actor"))
	v = answer(t, n.do("auditor", "GET", "/v1/activity?by=zoe", ""), 200)
	require.Equal(t, [2]string{"cleared.removed", "Zoe"}, [2]string{textOf(v, "data", "0", "type"), textOf(v, "data", "0", "actor")}, v.String())
}

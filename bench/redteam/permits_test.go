package redteam

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"railguard/bench/conformance"
)

// forgedPermit: a permit whose claims are right and whose key is the forger's is not redeemed, whatever
// it says of its key and its kind.
func (w *world) forgedPermit(e conformance.Examiner) {
	key := w.a.keys["screener"]
	agent := w.must(e, w.root, "POST", "/v1/agents/register", obj{"agentName": e.Name("payer"), "agentType": "supervised", "operatorLegalName": w.a.name, "purpose": "redteam"})
	paid := w.must(e, key, "POST", "/v1/screen", obj{"token": agent.Text("token"), "amount": 1, "cpName": "Corner Bakery", "permit": obj{}})
	parts := strings.Split(paid.Text("permit"), ".")
	e.Must(len(parts) == 3, "the stage: no permit: %s", paid.Raw)
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	e.Must(err == nil, "the stage: %v", err)
	var header map[string]string
	raw, _ := base64.RawURLEncoding.DecodeString(parts[0])
	e.Must(json.Unmarshal(raw, &header) == nil, "the stage: header %s", raw)
	forger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.Must(err == nil, "the stage: %v", err)
	for _, kid := range []string{header["kid"], "pm-v2", "cc-v1", ""} {
		for _, embedded := range []bool{false, true} {
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: forger, KeyID: kid}}, (&jose.SignerOptions{EmbedJWK: embedded}).WithType("railguard-permit+jwt"))
			e.Must(err == nil, "the stage: %v", err)
			signed, err := signer.Sign(claims)
			e.Must(err == nil, "the stage: %v", err)
			text, err := signed.CompactSerialize()
			e.Must(err == nil, "the stage: %v", err)
			a := w.call(e, key, "POST", "/v1/permits/redeem", obj{"permit": text})
			e.Expect(a.Status == 422 && a.Code == "permit_invalid", "a permit signed by nobody under kid %q: %d %s", kid, a.Status, a.Raw)
		}
	}
	more := strings.Replace(string(claims), `"amount":"1"`, `"amount":"9"`, 1)
	a := w.call(e, key, "POST", "/v1/permits/redeem", obj{"permit": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(more)) + "." + parts[2]})
	e.Expect(more != string(claims) && a.Status == 422, "a permit for another amount: %d %s", a.Status, a.Raw)
	a = w.call(e, key, "POST", "/v1/permits/redeem", obj{"permit": paid.Text("permit")})
	e.Expect(a.Text("state") == "redeemed", "the true one is not redeemed: %s", a.Raw)
}

// toldOfReport: whoever asks for leave does not learn whether an officer has escalated his payment: not
// by bytes, codes or headers, nor by a look at the record.
func (w *world) toldOfReport(e conformance.Examiner) {
	agent := w.must(e, w.root, "POST", "/v1/agents/register", obj{"agentName": e.Name("payer"), "agentType": "supervised", "operatorLegalName": w.a.name, "purpose": "redteam", "spendPolicy": obj{"maxSingleTxUSDC": 100}})
	for _, owner := range []*party{w.a, w.c} {
		paid := w.must(e, owner.keys["screener"], "POST", "/v1/screen", obj{"token": agent.Text("token"), "amount": 150, "cpName": "Corner Bakery"})
		e.Must(paid.Text("verdict") == "REVIEW", "the stage: %s", paid.Raw)
		txn := paid.Text("txnId")
		ask := func() (told []string) {
			for _, body := range []obj{{}, {"redeem": true}, {"permit": obj{}}} {
				for _, role := range []string{"screener", "all"} {
					a := e.Call(conformance.Sent{Method: "POST", Path: "/v1/transactions/" + txn + "/confirm", Key: owner.keys[role], Body: body, Header: map[string]string{"X-Request-Id": "alike"}})
					told = append(told, fmt.Sprintf("%d %s %s", a.Status, a.Raw, a.Header.Get("Retry-After")))
				}
			}
			a := e.Call(conformance.Sent{Method: "GET", Path: "/v1/audit/" + txn, Key: owner.keys["all"]})
			return append(told, string(a.Raw))
		}
		open := ask()
		e.Must(strings.Contains(open[0], `"waiting"`), "the stage: %s", open[0])
		w.must(e, w.root, "POST", "/v1/reviews/"+txn, obj{"disposition": "ESCALATE_SAR", "reviewedBy": "Ann Officer"})
		for i, said := range ask() {
			e.Expect(said == open[i], "after the report his question %d is answered %s, before it %s", i, said, open[i])
		}
	}
}

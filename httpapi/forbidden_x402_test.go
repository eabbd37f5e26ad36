package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"railguard/httpapi/x402"
	"railguard/ofac/sample"
)

// paymentBody is a payment over x402 before it is written. wanted are the terms, and accepted what the
// payer says of them; a payment of version 1 has no accepted.
type paymentBody struct {
	version, number                int
	top, payload, wanted, signed   object
	accepted, resource, ids, extra object
}

const (
	honestPayer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
	honestPayee = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	honestSOL   = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	ownerSOL    = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
)

// newPayment makes an ordinary payment of a version on Base. number makes it another one, of another
// amount: the review of a payment stands for all that are like it but for the nonce.
func newPayment(token string, version, number int) *paymentBody {
	p := &paymentBody{version: version, number: number, top: object{}, resource: object{"url": "https://shop.example.org/pay", "description": "Weather today"}, extra: object{"name": "USDC", "version": "2"}}
	terms := func(amount string) object {
		return object{"scheme": "exact", "network": map[int]string{1: "base", 2: "eip155:8453"}[version], amount: strconv.Itoa(number), "asset": x402.Published[1].Address, "payTo": honestPayee, "maxTimeoutSeconds": 60, "extra": p.extra}
	}
	p.signed = object{"from": honestPayer, "to": honestPayee, "value": strconv.Itoa(number), "validAfter": "1", "validBefore": "2", "nonce": fmt.Sprintf("0x%064x", number)}
	p.ids = object{"railguard": object{"info": object{"token": token}}}
	p.payload = object{"x402Version": version, "payload": object{"signature": "0x00", "authorization": p.signed}, "extensions": p.ids}
	if version == 1 {
		p.wanted = terms("maxAmountRequired")
		p.wanted["resource"], p.wanted["description"] = "https://shop.example.org/pay", "Weather today"
		p.payload["scheme"], p.payload["network"] = "exact", "base"
		p.accepted = p.payload
		return p
	}
	p.wanted, p.accepted = terms("amount"), terms("amount")
	p.payload["accepted"], p.payload["resource"] = p.accepted, p.resource
	return p
}

// onSolana makes it a payment by a transaction of Solana, which the owner of the tokens and the payer of
// the fee sign, and which carries a text.
func (p *paymentBody) onSolana(owner, feePayer, payee, text string) {
	asset := x402.Published[2]
	for _, terms := range []object{p.wanted, p.accepted} {
		terms["network"], terms["asset"], terms["payTo"] = map[int]string{1: "solana", 2: asset.Network}[p.version], asset.Address, payee
	}
	data := append([]byte{2}, make([]byte, 128)...)
	data = append(data, 2, 0, 2, 5)
	for _, key := range []string{feePayer, owner, asset.Address, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"} {
		decoded, _ := base58.Decode(key)
		data = append(data, decoded...)
	}
	data = fmt.Appendf(data, "%032d", p.number) // A recent block.
	data = append(data, 2, 3, 4, 2, 2, 2, 1, 10, 12, 1, 0, 0, 0, 0, 0, 0, 0, 6)
	data = append(append(data, 4, 0, byte(len(text))), text...)
	p.payload["payload"] = object{"transaction": base64.StdEncoding.EncodeToString(data)}
}

func (p *paymentBody) write(t testing.TB) string {
	p.top["x402Version"], p.top["paymentPayload"], p.top["paymentRequirements"] = p.version, p.payload, p.wanted
	data, err := json.Marshal(p.top)
	require.NoError(t, err)
	return string(data)
}

// placeOfX402 is a place of a payment over x402 in which somebody may be told, and what passes there.
type placeOfX402 struct {
	name, passes string
	tell         func(p *paymentBody, value string)
}

// strict are places that say how the payment is made: nothing but its own sort of value is taken.
const strict = "strict"

// passesBeside is what a place holds of which the protocol says nothing, or which is too far behind in
// a text: only a wallet is seen wherever it stands.
func passesBeside() (names string) {
	for _, f := range forbidden {
		if !strings.HasPrefix(f.what, "wallet") {
			names += f.what + ","
		}
	}
	return names
}

func placesOfX402() []placeOfX402 {
	terms := func(name string) func(p *paymentBody, value string) {
		return func(p *paymentBody, value string) {
			if p.wanted[name] = value; p.version == 2 || name == "network" {
				p.accepted[name] = value
			}
		}
	}
	beside := passesBeside()
	return []placeOfX402{
		{"authorization.from", strict, func(p *paymentBody, value string) { p.signed["from"] = value }},
		{"payTo", strict, func(p *paymentBody, value string) { p.signed["to"] = value; terms("payTo")(p, value) }},
		{"network", strict, terms("network")},
		{"asset", strict, terms("asset")},
		{"a member of the signed payload", strict, func(p *paymentBody, value string) { p.signed["spender"] = value }},
		{"a description", passing, func(p *paymentBody, value string) { p.resource["description"] = value; terms("description")(p, value) }},
		{"requirements.description", passing, func(p *paymentBody, value string) { p.wanted["description"] = value }},
		{"payment-identifier", passing, func(p *paymentBody, value string) { p.ids["payment-identifier"] = object{"info": object{"id": value}} }},
		{"resource", passing, func(p *paymentBody, value string) { p.resource["url"], p.wanted["resource"] = value, value }},
		{"owner of the tokens", strict, func(p *paymentBody, value string) { p.onSolana(value, honestSOL, honestSOL, "") }},
		{"payer of the fee", strict, func(p *paymentBody, value string) { p.onSolana(honestSOL, value, honestSOL, "") }},
		{"payTo on Solana", strict, func(p *paymentBody, value string) { p.onSolana(honestSOL, honestSOL, value, "") }},
		{"text of a transaction", passing, func(p *paymentBody, value string) { p.onSolana(honestSOL, ownerSOL, honestSOL, value) }},
		{"behind the 512th sign of a description", beside, func(p *paymentBody, value string) { p.wanted["description"] = strings.Repeat("-", 511) + " " + value }},
		{"path and query of the resource", beside, func(p *paymentBody, value string) {
			p.resource["url"] = "https://shop.example.org/pay/" + value + "?to=" + value
			p.wanted["resource"] = p.resource["url"]
		}},
		{"extra", beside, func(p *paymentBody, value string) { p.extra["feePayer"] = value }},
		{"mimeType", beside, func(p *paymentBody, value string) { p.wanted["mimeType"] = value }},
		{"a member that nobody knows", beside, func(p *paymentBody, value string) { p.top["x"] = object{"y": []string{value}} }},
		{"an extension that nobody knows", beside, func(p *paymentBody, value string) { p.ids["x"] = value }},
		{"interface of the resource", beside + "wallet,wallet of Solana", func(p *paymentBody, value string) { p.wanted["outputSchema"], p.ids["bazaar"] = value, value }},
	}
}

// facilitatorBehind makes every payment that it is asked to make, and counts what it is asked.
type facilitatorBehind struct{ asked int }

func (f *facilitatorBehind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Requirements struct{ Network string } `json:"paymentRequirements"`
	}
	_ = json.NewDecoder(r.Body).Decode(&call)
	f.asked++
	_, _ = io.WriteString(w, `{"isValid":true,"success":true,"transaction":"0x01","network":"`+call.Requirements.Network+`"}`)
}

// facilitator is the product's facilitator in front of the API.
func (n *testNode) facilitator() (http.Handler, *facilitatorBehind) {
	behind := &facilitatorBehind{}
	server := httptest.NewServer(behind)
	n.t.Cleanup(server.Close)
	facilitator, err := x402.New(x402.Config{API: n.api.Handler(), Upstream: server.URL, Now: n.wallClock})
	require.NoError(n.t, err)
	return facilitator, behind
}

// TestForbiddenIsNeverPaidOverX402 is TestForbiddenIsNeverSentOn over the door whose payments have
// members of their own: neither verify nor settle lets a payment through, and nobody behind hears of it.
func TestForbiddenIsNeverPaidOverX402(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	n.activate(append(sample.Entities(), forbiddenParty()), sample.Meta())
	facilitator, behind := n.facilitator()
	number := 0
	sentOn := func(call string, version int, tell func(p *paymentBody)) bool {
		number++
		p := newPayment(token, version, number)
		tell(p)
		before := behind.asked
		w := sendTo(facilitator, "screener", "/x402/"+call, p.write(t))
		require.Equal(t, 200, w.Code, w.Body.String())
		require.NotContains(t, w.Body.String(), "railguard_unavailable")
		through := strings.Contains(w.Body.String(), `"isValid":true`) || strings.Contains(w.Body.String(), `"success":true`)
		require.Equal(t, through, behind.asked > before, w.Body.String())
		return through
	}
	for _, place := range placesOfX402() {
		n.nextHour()
		for _, call := range []string{"verify", "settle"} {
			for version := 1; version <= 2; version++ {
				require.Equal(t, place.passes != strict, sentOn(call, version, func(p *paymentBody) { place.tell(p, "Corner Bakery") }), "%s, %s, version %d: nobody in particular", call, place.name, version)
				for _, f := range forbidden {
					want := slices.Contains(strings.Split(place.passes, ","), f.what)
					require.Equal(t, want, sentOn(call, version, func(p *paymentBody) { place.tell(p, f.value) }), "%s, %s, version %d: %s", call, place.name, version, f.what)
				}
			}
		}
	}
}

package x402

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDollars(t *testing.T) {
	for _, c := range []struct {
		decimals       int
		units, dollars string
	}{
		{6, "0", "0"}, {6, "1", "0.000001"}, {6, "10", "0.00001"}, {6, "1000000", "1"}, {6, "1250001", "1.250001"}, {6, "12000000", "12"},
		{0, "7", "7"}, {2, "5", "0.05"}, {18, "1", "0.000000000000000001"}, {18, "1500000000000000000", "1.5"}, {6, "100000000000000000", "100000000000"},
	} {
		asset := Asset{Decimals: c.decimals}
		require.Equal(t, c.dollars, asset.dollars(c.units))
		require.True(t, json.Valid([]byte(c.dollars)))
	}
}

func TestParseAssets(t *testing.T) {
	good := "eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e/6/BASE"
	assets, err := ParseAssets([]string{good, "solana:x/EPjF/6/SOL"})
	require.NoError(t, err)
	require.Equal(t, &assets[0], findAsset(assets, "eip155:84532", strings.ToLower("0x036CbD53842c5426634e7929541eC2318f3dCF7e")))
	require.Nil(t, findAsset(assets, "solana:x", "epjf"), "the case of letters counts there")
	for _, bad := range []string{"", "a/b/c", "base/0x036CbD53842c5426634e7929541eC2318f3dCF7e/6/BASE", "eip155:1/0x03/6/ETH", "eip155:1/0x036CbD53842c5426634e7929541eC2318f3dCF7e/31/ETH",
		"eip155:1/0x036CbD53842c5426634e7929541eC2318f3dCF7e/-1/ETH", "eip155:1/0x036CbD53842c5426634e7929541eC2318f3dCF7e/6/BTC", "solana:x//6/SOL", ":1/a/6/SOL"} {
		_, err := ParseAssets([]string{bad})
		require.Error(t, err, bad)
	}
	_, err = ParseAssets([]string{good, strings.Replace(good, "CbD", "cbd", 1)})
	require.ErrorContains(t, err, "twice")
	require.NotNil(t, findAsset(Published, "eip155:8453", "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913"[:2]+strings.ToLower("833589FCD6EDB6E08F4C7C32D4F71B54BDA02913")))
}

func TestReadObject(t *testing.T) {
	for text, want := range map[string]error{
		`{}`: nil, ` {"a":[1,{"b":null}],"c":1e400} `: nil,
		``: errJSON, `[]`: errJSON, `7`: errJSON, `{`: errJSON, `{"a"}`: errJSON, `{"a":}`: errJSON, `{} {}`: errJSON, `{"a":[}`: errJSON, `{"a":01}`: errJSON,
		`{"a":1,"a":1}`: errTwice, `{"a":1,"A":1}`: errTwice, `{"x":{"kind":1,"\u212aind":2}}`: errTwice, `{"asset":1,"a\u017f\u017fet":2}`: errTwice,
		`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`: errLarge, `{"a":[` + strings.Repeat("1,", 5000) + `1]}`: errLarge,
	} {
		_, err := readObject([]byte(text))
		require.Equal(t, want, err, "%.60s", text)
	}
	o, err := readObject([]byte(`{"z":"<&>","n":12345678901234567890.10,"w":7,"l":1234567890,"m":-1,"f":1.5}`))
	require.NoError(t, err)
	require.Equal(t, `{"f":1.5,"l":1234567890,"m":-1,"n":12345678901234567890.10,"w":7,"z":"<&>"}`, string(o.encodeObject()), "numbers as they were")
	require.Equal(t, []int{7, -1, -1, -1, -1}, []int{o.wholeNumber("w"), o.wholeNumber("l"), o.wholeNumber("m"), o.wholeNumber("f"), o.wholeNumber("z")})
}

// Every reader reads the forwarded body as the payment that was judged, and it holds no
// credential.
func FuzzReadPayment(f *testing.F) {
	const good = `{"x402Version":2,"paymentPayload":{"x402Version":2,"accepted":{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60},"payload":{"authorization":{"from":"0x857b06519E91e3A54538791bDbb0E22373e36b66","to":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","value":"1","nonce":"0x1111111111111111111111111111111111111111111111111111111111111111"}},"extensions":{"railguard":{"info":{"token":"secret"}}}},"paymentRequirements":{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60}}`
	p, err := readPayment([]byte(good), Published, "")
	require.NoError(f, err)
	require.Equal(f, "secret", p.token)
	require.NotContains(f, string(p.forward), "secret")
	f.Add([]byte(good))
	f.Add([]byte(strings.ReplaceAll(good, "exact", "upto")))
	f.Add([]byte(permit2Body(nil)))
	f.Add([]byte(strings.Replace(good, `"value"`, `"Value":"9","value"`, 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := readPayment(body, Published, "")
		if err != nil {
			return
		}
		again, err := readPayment(p.forward, Published, "")
		require.NoError(t, err)
		require.Empty(t, again.token)
		again.token, again.userToken = p.token, p.userToken
		require.Equal(t, p.bindingHash(), again.bindingHash())
		require.Equal(t, string(p.forward), string(again.forward))
	})
}

// A change of any value that a payment binds together makes it another payment.
func TestBound(t *testing.T) {
	base := payment{asset: &Published[1], units: "1", payer: "0xAB", payee: "0xCD", nonce: "0xEF", token: "t"}
	seen := map[string]bool{base.bindingHash(): true}
	for _, change := range []func(*payment){
		func(p *payment) { p.asset = &Published[0] }, func(p *payment) { p.units = "2" }, func(p *payment) { p.payer = "0xAC" },
		func(p *payment) { p.payee = "0xCE" }, func(p *payment) { p.nonce = "0xEE" }, func(p *payment) { p.token = "u" }, func(p *payment) { p.userToken = "u" },
	} {
		other := base
		change(&other)
		require.False(t, seen[other.bindingHash()])
		seen[other.bindingHash()] = true
	}
	same := base
	same.payer, same.payee, same.nonce = "0xab", "0xcd", "0xef"
	require.Equal(t, base.bindingHash(), same.bindingHash(), "letter case is no difference there")
	require.LessOrEqual(t, len(base.settleReference()), 128)
	require.LessOrEqual(t, len(base.callID()), 128, "the API takes no longer request id")

	// A chain makes one payment of one payer, token and nonce: it has one settlement, whatever else is changed.
	for _, c := range []struct {
		change func(*payment)
		same   bool
	}{
		{func(p *payment) { p.asset = &Published[0] }, false}, {func(p *payment) { p.payer = "0xAC" }, false}, {func(p *payment) { p.nonce = "0xEE" }, false},
		{func(p *payment) { p.units = "2" }, true}, {func(p *payment) { p.payee = "0xCE" }, true}, {func(p *payment) { p.token = "u" }, true}, {func(p *payment) { p.userToken = "u" }, true},
		{func(p *payment) { p.resource, p.travelRule = "https://a.example", "id" }, true},
	} {
		other := base
		c.change(&other)
		require.Equal(t, c.same, base.settleReference() == other.settleReference())
		claim := record{RequestID: other.callID()}
		require.Equal(t, base.bindingHash() == other.bindingHash(), claim.isOf(&base))
	}
}

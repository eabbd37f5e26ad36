package clients

import (
	"encoding/asn1"
	"math/big"
	"strings"

	"crypto/elliptic"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

const x402Asset = "eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

func (m *permitMaker) addPays() {
	add := func(name string, told paying, pay *client.PayStatement) {
		one := payCase{Name: name, JTI: "txn_test", Paying: &told, Pay: pay}
		if pay != nil {
			pay.Currency, one.PayHash = "USD", digest(canonical(m.t, func() *client.PayStatement { pay.Currency = "USD"; return pay }()))
		}
		m.book.Pays = append(m.book.Pays, one)
	}
	lower := strings.ToLower
	add("all that is told of a payment over a chain", *m.mine, &client.PayStatement{
		Amount: "25", Chain: "BASE", Rail: "USDC", Payee: lower(evmPayee), Payer: lower(evmPayer), Ref: "inv-2026-0007",
	})
	add("a wallet alone", paying{Amount: "0.10", Payee: evmPayee}, &client.PayStatement{Amount: "0.1", Payee: lower(evmPayee)})
	for told, recorded := range map[string]string{
		"0": "0", "0.0000001": "0.000001", "1.0000001e2": "100.00001", "1e3": "1000", "999999999999.999999": "999999999999.999999",
		"1000000000000": "1000000000000", "0.9999991": "1", "12.3456789": "12.345679", "1e-6": "0.000001",
	} {
		add("amount "+told, paying{Amount: told, Payee: "x"}, &client.PayStatement{Amount: recorded, Payee: "x"})
	}
	for _, wrong := range []string{"", "-1", "+1", "1,5", "01", ".5", "1.", "1000000000000.0000001", "0x10", "1 "} {
		add("no amount: "+wrong, paying{Amount: wrong, Payee: "x"}, nil)
	}
	add("base58 as written, text that JSON escapes", paying{Amount: "3.5", Chain: "sol", Payee: "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5", Ref: `a "b" \c </d>&`},
		&client.PayStatement{Amount: "3.5", Chain: "SOL", Payee: "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5", Ref: `a "b" \c </d>&`})
	add("bech32 in capitals", paying{Amount: "1", Payee: "BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ"}, &client.PayStatement{Amount: "1", Payee: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"})
	add("nearly an EVM address", paying{Amount: "1", Payee: evmPayee + "A"}, &client.PayStatement{Amount: "1", Payee: evmPayee + "A"})
	add("letters beyond ASCII keep their case", paying{Amount: "1", Chain: "straße", Payee: "x"}, &client.PayStatement{Amount: "1", Chain: "STRAßE", Payee: "x"})
	nonce := "0x" + strings.Repeat("aB", 32)
	add("x402", paying{Amount: "0.01", Chain: "BASE", Rail: "USDC", Payee: evmPayee, Payer: evmPayer, Asset: x402Asset, Units: "10000", Nonce: nonce}, &client.PayStatement{
		Amount: "0.01", Chain: "BASE", Rail: "USDC", Payee: lower(evmPayee), Payer: lower(evmPayer), Asset: lower(x402Asset), Units: "10000", Nonce: lower(nonce),
	})
	solana := "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/token:EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	add("x402 on Solana", paying{Amount: "0.01", Payee: "x", Asset: solana, Units: "0", Nonce: "Ab"}, &client.PayStatement{Amount: "0.01", Payee: "x", Asset: solana, Units: "0", Nonce: "Ab"})
	for _, wrong := range []string{"1.0", "01", "-1", "1e3"} {
		add("no units: "+wrong, paying{Amount: "1", Payee: "x", Units: wrong}, nil)
	}
	add("a wallet makes the name uncounted", paying{Amount: "1", Payee: "x", Name: "Acme"}, &client.PayStatement{Amount: "1", Payee: "x"})
	add("no payee", paying{Amount: "1", Payer: evmPayer}, nil)
	add("a blank name", paying{Amount: "1", Name: " \u3000 "}, nil)
	names := map[string]string{
		"  Acme Ltd ": "Acme Ltd", "\u0085\u00a0Müller & Söhne\u2028\u3000": "Müller & Söhne", "Mu\u0308ller": "M\u00fcller", "\ufeffx": "\ufeffx", "\x1cx": "\x1cx",
		"e\u0323\u0302": "\u1ec7", "e\u0302\u0323": "\u1ec7", "\u1112\u1161\u11ab": "\ud55c", "\u212b\u2126": "\u00c5\u03a9", "\u0958": "\u0915\u093c", "ﬁ Ⅷ": "ﬁ Ⅷ",
	}
	for told, hashed := range names {
		add("name "+told, paying{Amount: "1", Name: told}, &client.PayStatement{Amount: "1", PayeeIDs: []string{digest("txn_test\nname\n" + hashed)}})
	}
	m.addIdentifiers(add)
	sortPays(m.book.Pays)
}

func (m *permitMaker) addIdentifiers(add func(name string, told paying, pay *client.PayStatement)) {
	forms := [][3]string{
		{"iban", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000"}, {"iban", "iban: de89370400440532013000", "DE89370400440532013000"}, {"iban", "IBAN", "IBAN"},
		{"bic", "cobadeff", "COBADEFFXXX"}, {"bic", "COBADEFFXXX", "COBADEFFXXX"}, {"bic", "COBADEFFA123", "COBADEFF123"}, {"bic", "COBADEFF123", "COBADEFF123"},
		{"lei", "LEI 5493001KJTIIGC8Y1R12", "5493001KJTIIGC8Y1R12"}, {"imo", "IMO No. 9074729", "9074729"}, {"imo", "IMO 9074729", "9074729"}, {"mmsi", "MMSI 211331640", "211331640"},
		{"duns", "15-048-3782", "150483782"}, {"tax_id", "12-3456789", "123456789"}, {"registration", "HRB 1234 b", "HRB1234B"}, {"national_id", "a.1", "A1"}, {"passport", "c01x00t47", "C01X00T47"},
		{"aircraft_tail", "N-123ab", "N123AB"}, {"account", "00-12 34", "001234"},
		{"email", "Some Body <Some.Body+x@GoogleMail.com>, ", "some.body+x@gmail.com"}, {"email", "mailto:A@www.B.Example.?subject=x", "a@b.example"}, {"email", "a@b@c.example", "a@b@c.example"},
		{"website", "https://user:pw@WWW.Shop.example:8443/a?b#c", "shop.example"}, {"website", "shop[.]example.", "shop.example"}, {"website", "www.example", "www.example"}, {"website", `http:\\x.example\y`, "x.example"},
		{"phone", "+49 (0) 30 123456 ext. 7", "4930123456"}, {"phone", "0049 30 1234567", "49301234567"}, {"phone", "(0)30 123456x7", "030123456"},
	}
	for _, one := range forms {
		add(one[0]+" "+one[1], paying{Amount: "1", Identifiers: []client.Identifier{{Type: one[0], Value: one[1]}}},
			&client.PayStatement{Amount: "1", PayeeIDs: []string{digest("txn_test\n" + one[0] + "\n" + one[2])}})
	}
	for _, one := range [][2]string{{"iban", "---"}, {"ibans", "DE89"}, {"name", "Acme"}, {"email", "nobody"}, {"email", "@x"}, {"phone", "none"}, {"passport", "Ж1"}, {"website", ""}} {
		add("no identifier: "+one[0]+" "+one[1], paying{Amount: "1", Identifiers: []client.Identifier{{Type: one[0], Value: one[1]}}}, nil)
	}
	hashes := []string{digest("txn_test\nname\nAcme Ltd"), digest("txn_test\niban\nDE89370400440532013000"), digest("txn_test\nbic\nCOBADEFFXXX")}
	add("a name and identifiers, sorted", paying{
		Amount: "1500", Chain: "swift", Rail: "iban", Name: "Acme Ltd", Identifiers: []client.Identifier{{Type: "iban", Value: "DE89370400440532013000", Country: "DE"}, {Type: "bic", Value: "COBADEFF"}},
	}, &client.PayStatement{Amount: "1500", Chain: "SWIFT", Rail: "IBAN", PayeeIDs: sorted(hashes)})
}

func (m *permitMaker) addGood() {
	pm, header := m.permit, permitHeader("pm-v1")
	good := m.sign(pm, header, m.claims(nil))
	m.stock("good", "a permit", good, nil)
	m.stock("good", "its payment as a statement", good, func(c *permitCase) { c.Pay = m.pay })
	m.stock("good", "with all that a permit says", m.sign(pm, header, m.claims(map[string]any{
		"aml": []string{"ofac", "sanc"}, "policy": 41, "rules": "2026.1", "pop": "jws", "cnf": map[string]any{"jkt": segment(make([]byte, 32))},
		"log":   map[string]any{"origin": "guard.example.com/railguard", "leaf": 81234, "hash": segment(make([]byte, 32))},
		"lists": map[string]any{"v": 812, "digest": strings.Repeat("5f", 32), "of": []any{map[string]any{"id": "OFAC", "asOf": "2026-11-19"}}, "age": 12600, "maxAge": 604800},
	})), nil)
	m.stock("good", "another permit of the payment, an hour later", m.sign(pm, header, m.claims(map[string]any{"iat": permitsAt + 3600, "exp": permitsAt + 3660})), func(c *permitCase) { c.Now += 3600 })
	m.add("good", "iat is 60 seconds ahead", m.sign(pm, header, m.claims(map[string]any{"iat": permitsAt + 60, "exp": permitsAt + 360})), nil)
	m.stock("good", "its last second", good, func(c *permitCase) { c.Now += 119 })
	m.stock("good", "lasts 300 seconds", m.sign(pm, header, m.claims(map[string]any{"exp": permitsAt + 300})), nil)
	m.add("good", "a list as old as it may be", m.sign(pm, header, m.claims(map[string]any{"lists": map[string]any{"age": 604800, "maxAge": 604800}})), nil)
	m.add("good", "a list as old as I allow", good, func(c *permitCase) { c.MaxListAge = 12600 })
	m.add("good", "claims of later versions", m.sign(pm, header, m.claims(map[string]any{"new": []any{1.5, nil, true, map[string]any{"a": "é"}}, "EXP": 1})), nil)
	m.add("good", "blanks in its JSON", m.sign(pm, "{ \"typ\":\"railguard-permit+jwt\" ,\n\"kid\" : \"pm-v1\",\"alg\":\"ES256\" }", " "+strings.ReplaceAll(m.claims(nil), ",", "\t,\r\n")), nil)
	m.add("good", "a kid with zeros", m.sign(scalar(m.t, m.book.Texts["pm-v007"]), permitHeader("pm-v007"), m.claims(nil)), nil)
	m.add("good", "of a sandbox, asked for", m.sign(m.sandbox, permitHeader("sandbox-pm-v1"), m.claims(nil)), func(c *permitCase) { c.Sandbox = true })
	m.add("good", "16 levels deep", m.sign(pm, header, m.claims(map[string]any{"x": nest(15)})), nil)
	last := &m.book.Pays[len(m.book.Pays)-1]
	for i := range m.book.Pays {
		if m.book.Pays[i].Name == "a name and identifiers, sorted" || m.book.Pays[i].Name == "x402" {
			last = &m.book.Pays[i]
			m.stock("good", "of "+last.Name, m.sign(pm, header, m.claims(bound(m.t, last.Pay))), func(c *permitCase) { c.Paying = last.Paying })
		}
	}
	fill := strings.Repeat("x", 4096)
	for size := len(good); size != 4096; {
		fill = fill[:len(fill)-1]
		long := m.sign(pm, header, m.claims(map[string]any{"x": fill}))
		if size = len(long); size == 4096 {
			m.stock("good", "4,096 bytes", long, nil)
			m.add("malformed", "4,097 bytes or more", m.sign(pm, header, m.claims(map[string]any{"x": fill + "x"})), nil)
		}
		require.Greater(m.t, size, 4000)
	}
}

// nest returns lists inside each other.
func nest(depth int) any {
	inner := []any{}
	for range depth - 1 {
		inner = []any{inner}
	}
	return inner
}

func (m *permitMaker) addForms() {
	pm, header := m.permit, permitHeader("pm-v1")
	good := m.sign(pm, header, m.claims(nil))
	parts := strings.Split(good, ".")
	m.add("malformed", "empty", "", nil)
	m.stock("malformed", "two segments", parts[0]+"."+parts[1], nil)
	m.stock("malformed", "four segments", good+".AA", nil)
	m.add("malformed", "padding", good+"==", nil)
	m.add("malformed", "a line feed behind it", good+"\n", nil)
	m.add("malformed", "a line feed in it", parts[0]+"."+parts[1][:9]+"\n"+parts[1][9:]+"."+parts[2], nil)
	m.add("malformed", "a blank before it", " "+good, nil)
	m.add("malformed", "stray bits behind the signature", good[:len(good)-1]+string(good[len(good)-1]+1), nil)
	m.add("malformed", "the other alphabet of base64", m.sign(pm, header, m.claims(map[string]any{"x": "~~~???"}))[:len(parts[0])]+"."+strings.Repeat("a/+b", 9)+"."+parts[2], nil)
	m.add("malformed", "a letter beyond ASCII", parts[0]+"."+parts[1]+"é."+parts[2], nil)
	claims := m.claims(nil)
	for name, text := range map[string]string{
		"claims that are a list": "[" + claims + "]", "claims that are no JSON": claims[:len(claims)-1], "something behind the claims": claims + "{}", "no claims": "",
		"a claim twice": `{"verdict":"BLOCK",` + claims[1:], "a claim twice, once escaped": `{"\u0065xp":9999999999,` + claims[1:],
		"a member twice inside": strings.Replace(claims, `"age":12600`, `"age":99999999,"age":12600`, 1), "a member of pay twice": strings.Replace(claims, `"amount":`, `"amount":"1","amount":`, 1),
		"bytes that are no text": strings.Replace(claims, "agt_test", "agt_\xff", 1), "a mark of the order of bytes": "\ufeff" + claims,
		"half a character": strings.Replace(claims, "agt_test", `agt_\ud800`, 1), "NaN": strings.Replace(claims, "12600", "NaN", 1), "Infinity": strings.Replace(claims, "41", "Infinity", 1),
		"a number with a zero before it": strings.Replace(claims, "41", "041", 1), "a comma too many": strings.Replace(claims, "}", ",}", 1), "a line feed in a text": strings.Replace(claims, "agt_test", "agt_\n", 1),
		"exp with a fraction": strings.Replace(claims, `"exp":1795437120`, `"exp":1795437120.0`, 1), "exp with an exponent": strings.Replace(claims, `"exp":1795437120`, `"exp":179543712e1`, 1),
		"exp that is too long": strings.Replace(claims, `"exp":1795437120`, `"exp":1795437120000000`, 1), "iat below zero": strings.Replace(claims, `"iat":1795437000`, `"iat":-1`, 1),
		"iat is minus zero": strings.Replace(claims, `"iat":1795437000`, `"iat":-0`, 1),
	} {
		m.add("malformed", name, m.sign(pm, header, text), nil)
	}
	m.claimed("malformed", "17 levels deep", map[string]any{"x": nest(16)})
	m.add("malformed", "hundreds of levels deep", m.sign(pm, header, `{"x":`+strings.Repeat("[", 1400)+strings.Repeat("]", 1400)+"}"), nil)
	for _, missing := range []string{"iat", "exp", "jti"} {
		m.claimed("malformed", "no "+missing, map[string]any{missing: nil})
		m.claimed("malformed", missing+" is a list", map[string]any{missing: []any{}})
		m.claimed("malformed", missing+" in capitals", map[string]any{missing: nil, strings.ToUpper(missing): 1795437100})
	}
	m.claimed("malformed", "exp is a text", map[string]any{"exp": "1795437120"})
	m.claimed("malformed", "exp is true", map[string]any{"exp": true})
	m.claimed("malformed", "jti is empty", map[string]any{"jti": ""})
	m.claimed("malformed", "jti is a number", map[string]any{"jti": 7})
	sortCases(m.book.Cases)
}

func (m *permitMaker) addHeaders() {
	headers := map[string][]string{
		"malformed": {
			`["ES256"]`, `ES256`, "", `{"alg":"ES256","alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt"}`, `{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","crit":["rg"],"rg":1}`,
			`{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","cty":"JWT"}`, `{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","b64":false}`,
		},
		"algorithm": {
			`{"alg":"es256","kid":"pm-v1","typ":"railguard-permit+jwt"}`, `{"alg":"ES384","kid":"pm-v1","typ":"railguard-permit+jwt"}`, `{"kid":"pm-v1","typ":"railguard-permit+jwt"}`,
			`{"ALG":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt"}`, `{"alg":["ES256"],"kid":"pm-v1","typ":"railguard-permit+jwt"}`, `{"alg":"none","kid":"x","typ":"JWT"}`,
		},
		"type": {
			`{"alg":"ES256","kid":"pm-v1","typ":"JWT"}`, `{"alg":"ES256","kid":"pm-v1"}`, `{"alg":"ES256","kid":"pm-v1","typ":"RAILGUARD-PERMIT+JWT"}`,
			`{"alg":"ES256","kid":"pm-v1","typ":"application/railguard-permit+jwt"}`, `{"alg":"ES256","kid":"pm-v1","Typ":"railguard-permit+jwt"}`, `{"alg":"ES256","kid":"x","typ":1}`,
		},
		"key": {
			permitHeader("pm-v9"), permitHeader("pm-v"), permitHeader(`pm-v1\n`), permitHeader("xpm-v1"), permitHeader("PM-v1"), permitHeader("pm-v１"), permitHeader("pm-v1.1"), permitHeader("sandbox-pm-v1"),
			permitHeader("pm-v3"), permitHeader("pm-v4"), permitHeader(""), `{"alg":"ES256","typ":"railguard-permit+jwt"}`, `{"alg":"ES256","kid":1,"typ":"railguard-permit+jwt"}`,
			`{"alg":"ES256","KID":"pm-v1","typ":"railguard-permit+jwt"}`, `{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","jwk":{"kty":"EC"}}`,
			`{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","jku":"https://evil.example/jwks.json"}`, `{"alg":"ES256","kid":"pm-v1","typ":"railguard-permit+jwt","x5c":[]}`,
		},
	}
	for _, want := range []string{"malformed", "algorithm", "type", "key"} {
		for _, header := range headers[want] {
			m.add(want, "header "+header, m.sign(m.permit, header, m.claims(nil)), nil)
		}
	}
	unsigned := segment([]byte(`{"alg":"none","kid":"pm-v1","typ":"railguard-permit+jwt"}`)) + "." + segment([]byte(m.claims(nil))) + "."
	m.stock("algorithm", "none", unsigned, nil)
	m.stock("algorithm", "HS256", m.sign(m.permit, `{"alg":"HS256","kid":"pm-v1","typ":"railguard-permit+jwt"}`, m.claims(nil)), nil)
	m.stock("type", "a credential", m.sign(m.credential, header("cc-v1"), m.claims(map[string]any{"iss": "did:kya:railguard"})), nil)
	m.stock("key", "signed by the credentials' key", m.sign(m.credential, permitHeader("cc-v1"), m.claims(nil)), nil)
	m.stock("key", "not published", m.sign(m.stranger, permitHeader("pm-v9"), m.claims(nil)), nil)
	m.add("key", "of a sandbox", m.sign(m.sandbox, permitHeader("sandbox-pm-v1"), m.claims(nil)), nil)
}

func (m *permitMaker) addSignatures() {
	good := m.sign(m.permit, permitHeader("pm-v1"), m.claims(nil))
	parts := strings.Split(good, ".")
	m.stock("signature", "of another key", m.sign(m.stranger, permitHeader("pm-v1"), m.claims(nil)), nil)
	m.stock("signature", "of the credentials' key", m.sign(m.credential, permitHeader("pm-v1"), m.claims(nil)), nil)
	m.stock("signature", "of the sandbox's key", m.sign(m.sandbox, permitHeader("pm-v1"), m.claims(nil)), nil)
	m.stock("signature", "claims changed", parts[0]+"."+segment([]byte(m.claims(map[string]any{"aud": permitsAudience + "x"})))+"."+parts[2], nil)
	m.stock("signature", "another header that says the same", segment([]byte(`{"kid":"pm-v1","alg":"ES256","typ":"railguard-permit+jwt"}`))+"."+parts[1]+"."+parts[2], nil)
	m.add("signature", "none at all", parts[0]+"."+parts[1]+".", nil)
	order, zero, one := elliptic.P256().Params().N, new(big.Int), big.NewInt(1)
	for name, change := range map[string]func(r, s *big.Int) []byte{
		"r is 0": func(_, s *big.Int) []byte { return pair(zero, s) }, "s is 0": func(r, _ *big.Int) []byte { return pair(r, zero) }, "both 0": func(_, _ *big.Int) []byte { return pair(zero, zero) },
		"both 1": func(_, _ *big.Int) []byte { return pair(one, one) }, "r is the order": func(_, s *big.Int) []byte { return pair(order, s) }, "s is the order": func(r, _ *big.Int) []byte { return pair(r, order) },
		"a byte more": func(r, s *big.Int) []byte { return append(pair(r, s), 0) }, "a byte less": func(r, s *big.Int) []byte { return pair(r, s)[:63] },
		"turned round": func(r, s *big.Int) []byte { return pair(s, r) },
		"DER": func(r, s *big.Int) []byte {
			raw, err := asn1.Marshal([]*big.Int{r, s})
			require.NoError(m.t, err)
			return raw
		},
	} {
		m.add("signature", name, spoil(m.t, good, change), nil)
	}
	m.add("good", "its twin", spoil(m.t, good, func(r, s *big.Int) []byte { return pair(r, new(big.Int).Sub(order, s)) }), nil)
	sortCases(m.book.Cases)
}

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/audit/watch"
	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
	"railguard/httpapi/cosigning"
)

const (
	testIssuer   = "https://guard.example.org"
	testAudience = "https://shop.example.com"
	testPaying   = `{"amount":"25.00","chain":"base","rail":"usdc","payee":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","payer":"0x857B06519E91E3A54538791BDBB0E22373E36B66","ref":"inv-7"}`
)

// permitDesk makes permits with a key of its own, and checks them with this binary.
type permitDesk struct {
	t       *testing.T
	dir     string
	key     *ecdsa.PrivateKey
	keys    string // File with the key set.
	now     engine.Time
	printed []string // All that the verb printed and said.
	tokens  []string
	pays    int
}

func newPermitDesk(t *testing.T) *permitDesk {
	scalar := sha256.Sum256([]byte("permits of these tests"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	require.NoError(t, err)
	d := &permitDesk{t: t, dir: t.TempDir(), key: key, now: 1_795_437_000 * engine.Second}
	d.keys = d.write("jwks.json", d.keySet("cc-v1", "pm-v1", "sandbox-pm-v1"))
	t.Cleanup(func() {
		for _, said := range d.printed {
			for _, token := range d.tokens {
				require.NotContains(t, said, token[strings.LastIndexByte(token, '.')+1:], "a permit is never printed")
			}
		}
	})
	return d
}

func (d *permitDesk) write(name, content string) string {
	path := filepath.Join(d.dir, name)
	require.NoError(d.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// keySet returns a key set that has the desk's key under each kid.
func (d *permitDesk) keySet(kids ...string) string {
	point, err := jws.PublicPoint(&d.key.PublicKey)
	require.NoError(d.t, err)
	var keys []jws.PublicKey
	for _, kid := range kids {
		keys = append(keys, jws.PublicKey{ID: kid, Point: point})
	}
	set, err := jws.NewKeySet(keys)
	require.NoError(d.t, err)
	return string(jws.AppendJWKS(nil, set))
}

// sign writes a file with a permit that the change has altered.
func (d *permitDesk) sign(kid string, change func(*permit.Permit)) string {
	p := &permit.Permit{
		Issuer: testIssuer, Subject: "agt_8f3k2m9q7t1x", Audience: testAudience, TxnID: "txn_7Kq2mZ9a",
		IssuedAt: d.now, Expires: d.now + permit.LifetimeUsual,
		Pay: permit.Pay{
			Amount: 25 * engine.Dollar, Chain: "BASE", Rail: "USDC", Ref: "inv-7",
			Payee: "0x209693bc6afc0c5328ba36faf03c514ef312287c", Payer: "0x857b06519e91e3a54538791bdbb0e22373e36b66",
		},
		Lists: permit.Lists{Version: 1, Of: []permit.Publication{{List: "OFAC", AsOf: "2026-11-19"}}, Age: engine.Hour, AgeMost: 2 * engine.Hour},
		Rules: "2026.1", Log: permit.Log{Origin: "guard.example.org/log", Leaf: 7, Hash: sha256.Sum256([]byte("leaf"))},
	}
	if change != nil {
		change(p)
	}
	token, err := permit.Sign(p, d.key, kid)
	require.NoError(d.t, err)
	return d.token(token)
}

func (d *permitDesk) token(token string) string {
	d.tokens = append(d.tokens, token)
	return d.write(fmt.Sprintf("permit%d", len(d.tokens)), token+"\n")
}

func (d *permitDesk) verify(file string, args ...string) (string, int, error) {
	out, code, err := run(d.t, append([]string{"permit", "verify", file, "--issuer", testIssuer}, args...)...)
	d.printed = append(d.printed, out)
	if err != nil {
		d.printed = append(d.printed, err.Error())
	}
	return out, code, err
}

// offline are the flags of a complete check as at a time after the permit was made.
func (d *permitDesk) offline(after engine.Time, pay string) []string {
	d.pays++
	return []string{"--keys", d.keys, "--aud", testAudience, "--at", (d.now + after).String(), "--pay", d.write(fmt.Sprintf("pay%d.json", d.pays), pay)}
}

// A merchant with a key file asks nobody, and learns what was shown and what was not.
func TestPermitIsVerifiedOffline(t *testing.T) {
	d := newPermitDesk(t)
	good := d.sign("pm-v1", nil)
	out, code, err := d.verify(good, d.offline(engine.Second, testPaying)...)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "GOOD: permit of txn_7Kq2mZ9a, until 2026-11-23T12:32:00.000Z; used before: not shown\n")
	require.Contains(t, out, "shown:      it is for "+testAudience+"\n")
	require.Contains(t, out, "shown:      it is for the payment that you stated: ")
	require.Contains(t, out, "NOT shown:  that it was not used before: accept the jti txn_7Kq2mZ9a once, and keep it at least until 2026-11-23T12:33:00.000Z\n")
	require.Contains(t, out, "NOT shown:  that the log holds the record of the judgement (--log)\n")

	for missing, flag := range map[string]string{"--aud": "that it is for you (--aud)", "--pay": "that it is for your payment (--pay)"} {
		args := d.offline(engine.Second, testPaying)
		for i := range args {
			if args[i] == missing {
				args = append(args[:i:i], args[i+2:]...)
				break
			}
		}
		out, code, err = d.verify(good, args...)
		require.Equal(t, exitWarn, code, "%v", err)
		require.EqualError(t, err, "not shown: "+flag)
		require.Contains(t, out, "SIGNED AND IN TIME, NOT COMPARED: permit of txn_7Kq2mZ9a")
		require.Contains(t, out, "NOT shown:  "+flag+"\n")
		said, _, _ := d.verify(good, append(args, "--json")...)
		require.Contains(t, said, `{"good":false,"txnId":"txn_7Kq2mZ9a"`)
	}
	bound := d.sign("pm-v1", func(p *permit.Permit) { p.Thumbprint = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U" })
	said, code, err := d.verify(bound, append(d.offline(engine.Second, testPaying), "--json")...)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	var report permitReport
	require.NoError(t, json.Unmarshal([]byte(said), &report))
	require.True(t, report.Good)
	require.Equal(t, []any{"pm-v1", int64(3600), "2026-11-23T12:30:00.000Z"}, []any{report.KeyID, report.ListAge, report.IssuedAt})
	require.Contains(t, report.NotShown, "that whoever shows it has the agent's key "+report.Thumbprint)

	standardInput := newRoot()
	standardInput.SetIn(strings.NewReader(d.tokens[0] + "\n"))
	standardInput.SetOut(&bytes.Buffer{})
	standardInput.SetArgs(append([]string{"permit", "verify", "-", "--issuer", testIssuer}, d.offline(0, testPaying)...))
	require.NoError(t, standardInput.ExecuteContext(t.Context()))
}

// Each fault has its word and the exit code of what is not proven.
func TestPermitIsRefused(t *testing.T) {
	d := newPermitDesk(t)
	good := d.sign("pm-v1", nil)
	parts := strings.Split(d.tokens[0], ".")
	headed := func(header string) string {
		return d.token(base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "." + parts[2])
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	block, err := jws.Sign(bytes.Replace(payload, []byte("PROCEED"), []byte("BLOCK"), 1), d.key, "pm-v1", permit.Type)
	require.NoError(t, err)
	now := d.offline(engine.Second, testPaying)
	for _, test := range []struct {
		reason, file string
		args         []string
	}{
		{"malformed", d.write("words", "no permit at all"), now},
		{"malformed", d.write("long", strings.Repeat("a", 3*permit.BytesMax)), now},
		{"algorithm", headed(`{"alg":"HS256","kid":"pm-v1","typ":"railguard-permit+jwt"}`), now},
		{"type", headed(`{"alg":"ES256","kid":"pm-v1","typ":"JWT"}`), now},
		{"key", headed(`{"alg":"ES256","kid":"cc-v1","typ":"railguard-permit+jwt"}`), now},
		{"key", headed(`{"alg":"ES256","kid":"pm-v9","typ":"railguard-permit+jwt"}`), now},
		{"key", d.sign("sandbox-pm-v1", nil), now},
		{"signature", d.token(parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))), now},
		{"issuer", d.sign("pm-v1", func(p *permit.Permit) { p.Issuer += "/" }), now},
		{"audience", d.sign("pm-v1", func(p *permit.Permit) { p.Audience = "https://other.example.com" }), now},
		{"expired", good, d.offline(permit.LifetimeUsual, testPaying)},
		{"early", good, d.offline(-61*engine.Second, testPaying)},
		{"lifetime", d.sign("pm-v1", func(p *permit.Permit) { p.Expires = p.IssuedAt + permit.LifetimeMost + engine.Second }), now},
		{"verdict", d.token(block), now},
		{"payment", good, d.offline(engine.Second, strings.Replace(testPaying, "25.00", "2500", 1))},
		{"list", d.sign("pm-v1", func(p *permit.Permit) { p.Lists.Age = 3 * engine.Hour }), now},
		{"payment", d.sign("pm-v1", func(p *permit.Permit) { p.Lists.Age = 3 * engine.Hour }), d.offline(engine.Second, strings.Replace(testPaying, "25.00", "2500", 1))},
		{"list", good, append(d.offline(engine.Second, testPaying), "--max-list-age", "59m")},
	} {
		out, code, err := d.verify(test.file, test.args...)
		require.ErrorContains(t, err, "REFUSED: "+test.reason+": ", test.reason)
		require.Equal(t, exitFailed, code, test.reason)
		require.Empty(t, out)
		out, code, _ = d.verify(test.file, append(slices.Clone(test.args), "--json")...)
		require.Equal(t, exitFailed, code)
		require.Contains(t, out, `{"good":false,"reason":"`+test.reason+`"`)
	}
	_, code, err := d.verify(d.sign("sandbox-pm-v1", nil), append(now, "--sandbox")...)
	require.NoError(t, err, "a sandbox's, where it is asked for")
	require.Equal(t, exitOK, code)
}

// Every member of another payment is told by its name. Wallets, chain and rail may be written in any
// case, and a payee without a wallet is told as in a screening call.
func TestPermitIsForOnePayment(t *testing.T) {
	d := newPermitDesk(t)
	good := d.sign("pm-v1", nil)
	for param, pay := range map[string]string{
		"amount": strings.Replace(testPaying, "25.00", "25.000001", 1),
		"chain":  strings.Replace(testPaying, `"chain":"base",`, "", 1),
		"rail":   strings.Replace(testPaying, "usdc", "usdt", 1),
		"payee":  strings.Replace(testPaying, "0x2096", "0x3096", 1),
		"payer":  strings.Replace(testPaying, "0x857B", "0x957B", 1),
		"ref":    strings.Replace(testPaying, "inv-7", "inv-8", 1),
		"asset":  strings.Replace(testPaying, "{", `{"asset":"eip155:8453/erc20:0x1",`, 1),
		"units":  strings.Replace(testPaying, "{", `{"units":"25000000",`, 1),
		"nonce":  strings.Replace(testPaying, "{", `{"nonce":"0x1",`, 1),
	} {
		out, code, err := d.verify(good, append(d.offline(engine.Second, pay), "--json")...)
		require.ErrorContains(t, err, "payment: it is for another payment: "+param+" differs")
		require.Equal(t, exitFailed, code)
		require.Contains(t, out, `"reason":"payment","param":"`+param+`"`)
	}
	name := permit.PayeeID("txn_7Kq2mZ9a", permit.KindName, "Müller & Co")
	iban := permit.PayeeID("txn_7Kq2mZ9a", "iban", "DE89370400440532013000")
	named := d.sign("pm-v1", func(p *permit.Permit) {
		p.Pay = permit.Pay{Amount: engine.Dollar, PayeeIDs: []string{min(name, iban), max(name, iban)}}
	})
	for pay, good := range map[string]bool{
		`{"amount":1,"name":" Müller & Co","identifiers":[{"type":"iban","value":"DE89 3704 0044 0532 0130 00"}]}`: true,
		`{"amount":"1","currency":"USD","payeeIds":["` + name + `","` + iban + `"]}`:                               true,
		`{"amount":"1","payeeIds":["` + iban + `","` + name + `"]}`:                                                true,
		`{"amount":1,"name":"Müller & Co"}`:                                                                        false,
		`{"amount":1,"name":"Muller & Co","identifiers":[{"type":"iban","value":"DE89370400440532013000"}]}`:       false,
	} {
		_, code, err := d.verify(named, d.offline(engine.Second, pay)...)
		if good {
			require.NoError(t, err, pay)
			continue
		}
		require.ErrorContains(t, err, "REFUSED: payment: it is for another payment: payeeIds differs")
		require.Equal(t, exitFailed, code)
	}
	for says, pay := range map[string]string{
		"amount is missing":         `{"name":"A"}`,
		"the payee is missing":      `{"amount":1}`,
		`"amuont" is no member`:     `{"amuont":1,"name":"A"}`,
		`"chain" is no member`:      `{"amount":1,"name":"A","chain":8453}`,
		"currency is USD":           `{"amount":1,"name":"A","currency":"EUR"}`,
		"in place of payee":         `{"amount":1,"name":"A","payeeIds":["x"]}`,
		"identifiers":               `{"amount":1,"identifiers":[{"type":"shoe","value":"44"}]}`,
		"two members":               `{"amount":1,"amount":2,"name":"A"}`,
		"--pay: not a JSON object":  `25`,
		"payeeIds are texts":        `{"amount":1,"payeeIds":[1]}`,
		"--pay: amount: ":           `{"amount":"25 USD","name":"A"}`,
		"more than one JSON value":  testPaying + testPaying,
		"nested":                    `{"amount":[[[[[[[[[[1]]]]]]]]]],"name":"A"}`,
		`"name" is no member of a `: `{"amount":1,"name":null}`,
	} {
		_, code, err := d.verify(good, d.offline(engine.Second, pay)...)
		require.ErrorContains(t, err, says)
		require.Equal(t, exitUsage, code, pay)
	}
}

// Without a key file the keys come from the issuer: by https, or from this machine, and nowhere else.
func TestPermitKeysComeFromTheIssuer(t *testing.T) {
	d := newPermitDesk(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/.well-known/jwks.json" || status != http.StatusOK {
			w.Header().Set("Location", "/v1/.well-known/jwks.json")
			w.WriteHeader(max(status, http.StatusFound))
			return
		}
		_, _ = w.Write([]byte(d.keySet("pm-v1")))
	}))
	t.Cleanup(server.Close)
	file := d.sign("pm-v1", func(p *permit.Permit) { p.Issuer = server.URL })
	args := append(d.offline(engine.Second, testPaying)[2:], "--issuer", server.URL)
	out, _, err := d.verify(file, args...)
	require.NoError(t, err)
	require.Contains(t, out, "with the key pm-v1, that it publishes now")
	for _, status = range []int{http.StatusFound, http.StatusInternalServerError} {
		_, code, err := d.verify(file, args...)
		require.ErrorContains(t, err, fmt.Sprintf("it answers %d", status))
		require.Equal(t, exitAway, code)
	}
	server.Close()
	_, code, err := d.verify(file, args...)
	require.ErrorContains(t, err, "the issuer's keys")
	require.Equal(t, exitAway, code)

	pay := d.write("pay.json", testPaying)
	for says, args := range map[string][]string{
		"by https alone":            {"--issuer", "http://guard.example.org"},
		"--issuer is required":      {"--issuer", ""},
		"--keys: ":                  {"--keys", d.write("none", "vkey")},
		"no list of keys":           {"--keys", d.write("other", `{"key":[]}`)},
		"no such file":              {"--keys", filepath.Join(d.dir, "nothing")},
		"--output":                  {"--output", "xml"},
		"--at must be a time":       {"--at", "noon"},
		"--max-list-age":            {"--max-list-age", "0s"},
		"--timeout":                 {"--timeout", "0s"},
		"go with --log":             {"--policy", pay},
		"--log needs --log-keys":    {"--log", "https://guard.example.org"},
		"no scheme":                 {"--log", "guard.example.org", "--log-keys", pay},
		"--log-keys: ":              {"--log", "https://guard.example.org", "--log-keys", pay},
		"the permit itself is neve": {"--keys", d.keys, "--pay", pay},
	} {
		at := file
		if strings.HasPrefix(says, "the permit itself") {
			at = d.tokens[0]
		}
		_, code, err := d.verify(at, args...)
		require.ErrorContains(t, err, says)
		require.Equal(t, exitUsage, code, says)
	}
}

// permitOf has a real node judge a payment, and returns the file with its permit and the leaf's index
// and hash.
func (d *permitDesk) permitOf(o *outsider, token string) (file string, leaf permit.Log) {
	answer := o.node.must(d.t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":25,"chain":"base","rail":"usdc","cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",`+
		`"payerWallet":"0x857B06519E91E3A54538791BDBB0E22373E36B66","permit":{"ttlSeconds":300,"aud":"`+testAudience+`"}}`)
	require.IsType(d.t, "", answer["permit"], "%v", answer)
	text := answer["permit"].(string)
	var claims struct {
		Log struct {
			Leaf uint64
			Hash string
		}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	require.NoError(d.t, err)
	require.NoError(d.t, json.Unmarshal(payload, &claims))
	raw, err := base64.RawURLEncoding.DecodeString(claims.Log.Hash)
	require.NoError(d.t, err)
	return d.token(text), permit.Log{Leaf: claims.Log.Leaf, Hash: [32]byte(raw)}
}

// The log of a real node holds the record that a permit names. It is not taken for shown if another
// log's keys are trusted, if another record stands there, or if too few witnesses signed.
func TestPermitIsInTheLog(t *testing.T) {
	d := newPermitDesk(t)
	cosigner, err := note.NewCosigner("witness.example.org/1", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	late := &lateWitness{cosigner: cosigner}
	server := httptest.NewServer(late)
	t.Cleanup(server.Close)
	o := newOutsider(t, cosigning.Witness{URL: server.URL, Keys: cosigner.VerifierKeys()})
	pay := d.write("real.json", strings.Replace(testPaying, `,"ref":"inv-7"`, "", 1))
	real := []string{"--issuer", "https://pay.example.com", "--keys", d.write("real-keys", o.get("/v1/.well-known/jwks.json")), "--aud", testAudience, "--pay", pay, "--sandbox"}
	token := o.node.token(t)
	file, leaf := d.permitOf(o, token)
	logged := append(real, "--log", o.server.URL, "--log-keys", o.keys)
	out, _, err := d.verify(file, logged...)
	require.NoError(t, err)
	require.Contains(t, out, fmt.Sprintf("shown:      the record of the judgement is leaf %d of the log pay.example.com/", leaf.Leaf))
	require.Contains(t, out, "no witness was demanded (--policy)")

	strangers := append(real, "--log", o.server.URL, "--log-keys", o.write("strangers", stranger(t).VerifierKeys()))
	said, code, err := d.verify(file, append(strangers, "--json")...)
	require.ErrorContains(t, err, "REFUSED: log: its checkpoint: ")
	require.Equal(t, exitFailed, code)
	require.Contains(t, said, `"reason":"log"`)

	d.now = engine.Time(time.Now().UnixNano())
	forged := append(d.offline(0, testPaying), "--log", o.server.URL, "--log-keys", o.keys, "--patience", "10ms")
	_, _, err = d.verify(d.sign("pm-v1", func(p *permit.Permit) { p.Log = leaf }), forged...)
	require.NoError(t, err)
	_, code, err = d.verify(d.sign("pm-v1", func(p *permit.Permit) { p.Log = leaf; p.Log.Leaf-- }), forged...)
	require.ErrorContains(t, err, fmt.Sprintf("REFUSED: log: leaf %d of it is another record", leaf.Leaf-1))
	require.Equal(t, exitFailed, code)
	_, code, err = d.verify(d.sign("pm-v1", func(p *permit.Permit) { p.Log = leaf; p.Log.Leaf += 1000 }), forged...)
	require.ErrorContains(t, err, "REFUSED: log: it has no checkpoint that covers leaf")
	require.Equal(t, exitFailed, code)

	d.demandWitnesses(o, file, logged, late)

	ends := engine.Time(time.Now().Add(2*time.Second).Unix()) * engine.Second
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Until(time.Unix(0, int64(ends))))
		o.node.api.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	short := d.sign("pm-v1", func(p *permit.Permit) { p.Log, p.Expires = leaf, ends })
	_, code, err = d.verify(short, "--keys", d.keys, "--log", slow.URL, "--log-keys", o.keys)
	require.ErrorContains(t, err, "REFUSED: expired", "it ended while the log was asked")
	require.Equal(t, exitFailed, code)

	status, _ := o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`)
	require.Equal(t, 201, status)
	again, _ := d.permitOf(o, token)
	_, _, err = d.verify(again, logged...)
	require.NoError(t, err, "the first keys endorse those of today")
	o.server.Close()
	_, code, err = d.verify(file, logged...)
	require.Equal(t, exitAway, code, "%v", err)
}

// demandWitnesses shows that a reader's policy is met when its witnesses have signed, and that a
// refusal names those that have not.
func (d *permitDesk) demandWitnesses(o *outsider, file string, logged []string, late *lateWitness) {
	policy := "witness w " + late.cosigner.VerifierKey() + "\nquorum w\n"
	watched := append(logged, "--policy", o.write("policy", policy))
	said, code, err := d.verify(file, append(watched, "--patience", "10ms", "--json")...)
	require.ErrorContains(d.t, err, "REFUSED: quorum: the quorum of witnesses is not met: signed by none")
	require.Equal(d.t, exitFailed, code)
	require.Contains(d.t, said, `"quorum":{"have":[],"need":"witness.example.org/1","missing":["witness.example.org/1"]}`)
	state, err := watch.OpenState(d.t.TempDir(), o.get("/log/keys"))
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = state.Close() })
	late.begin(state)
	o.node.api.Witnesses().Start()
	d.t.Cleanup(o.node.api.Witnesses().Stop)
	out, _, err := d.verify(file, append(watched, "--patience", "30s")...)
	require.NoError(d.t, err)
	require.Contains(d.t, out, "shown:      the quorum of witnesses that you demand signed that tree head: witness.example.org/1\n")

	other, err := note.NewCosigner("witness.example.org/2", bytes.Repeat([]byte{2}, note.SeedSize))
	require.NoError(d.t, err)
	both := strings.Replace(policy, "quorum w", "witness x "+other.VerifierKey()+"\ngroup both all w x\nquorum both", 1)
	said, code, err = d.verify(file, append(logged, "--policy", o.write("both", both), "--patience", "10ms", "--json")...)
	require.ErrorContains(d.t, err, "REFUSED: quorum: ")
	require.Equal(d.t, exitFailed, code)
	require.Contains(d.t, said, `"have":["witness.example.org/1"],"need":"2 of both (witness.example.org/1, witness.example.org/2)","missing":["witness.example.org/2"]}`)
}

package clients

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"flag"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

var flagPermits = flag.Bool("permits", false, "make testdata/permits.json anew")

const permitsFile = "testdata/permits.json"

// permitBook is testdata/permits.json: payments with their statements, and permits with what must
// come of each. Its keys are those of tests: a private scalar is SHA-256 of a text that stands in it.
type permitBook struct {
	About    string            `json:"about"`
	Texts    map[string]string `json:"keyTexts"` // By kid.
	Standard permitCase        `json:"standard"` // What a case has that says nothing else.
	Keys     client.JWKS       `json:"jwks"`
	Pays     []payCase         `json:"pays"`
	Cases    []permitCase      `json:"cases"`
}

// paying is what is about to be paid, as Python and TypeScript take it.
type paying struct {
	Amount      string              `json:"amount"`
	Chain       string              `json:"chain,omitempty"`
	Rail        string              `json:"rail,omitempty"`
	Payee       string              `json:"payee,omitempty"`
	Payer       string              `json:"payer,omitempty"`
	Name        string              `json:"name,omitempty"`
	Identifiers []client.Identifier `json:"identifiers,omitempty"`
	Ref         string              `json:"ref,omitempty"`
	Asset       string              `json:"asset,omitempty"`
	Units       string              `json:"units,omitempty"`
	Nonce       string              `json:"nonce,omitempty"`
}

type payCase struct {
	Name    string               `json:"name"`
	JTI     string               `json:"jti"`
	Paying  *paying              `json:"paying"`
	Pay     *client.PayStatement `json:"pay"` // null: the payment is refused.
	PayHash string               `json:"pay_hash,omitempty"`
}

type permitCase struct {
	Name       string               `json:"name,omitempty"`
	Want       string               `json:"want,omitempty"`  // good, the reason, or error: what the caller says is wrong.
	Stock      bool                 `json:"stock,omitempty"` // Libraries that know no permits give the same answer, by five lines.
	Permit     string               `json:"permit"`
	Issuer     string               `json:"issuer,omitempty"`
	Audience   string               `json:"audience,omitempty"`
	Now        int64                `json:"now,omitempty"`
	Pay        *client.PayStatement `json:"pay,omitempty"`
	Paying     *paying              `json:"paying,omitempty"`
	MaxListAge int64                `json:"maxListAge,omitempty"`
	Sandbox    bool                 `json:"sandbox,omitempty"`
	Lacks      string               `json:"lacks,omitempty"` // What the caller leaves out, or has twice: issuer, audience, payment, both.
}

// fill gives a case what the standard says.
func (c *permitCase) fill(standard *permitCase) {
	c.Issuer, c.Audience, c.Now = cmp.Or(c.Issuer, standard.Issuer), cmp.Or(c.Audience, standard.Audience), cmp.Or(c.Now, standard.Now)
	if c.Pay == nil {
		c.Paying = cmp.Or(c.Paying, standard.Paying)
	}
	switch c.Lacks {
	case "issuer":
		c.Issuer = ""
	case "audience":
		c.Audience = ""
	case "payment":
		c.Paying = nil
	case "both":
		c.Paying = standard.Paying
	}
}

const (
	permitsAt       = 1_795_437_000
	permitsIssuer   = "https://guard.example.com"
	permitsAudience = "https://shop.example.com"
	evmPayee        = "0x2222222222222222222222222222222222222ABC"
	evmPayer        = "0x333333333333333333333333333333333333dEF0"
)

// readPermits returns the book, which must be what its maker makes, to the byte.
func readPermits(t *testing.T) *permitBook {
	made, err := json.MarshalIndent(makePermits(t), "", " ")
	require.NoError(t, err)
	made = append(made, '\n')
	if *flagPermits {
		require.NoError(t, os.WriteFile(permitsFile, made, 0o644))
	}
	raw, err := os.ReadFile(permitsFile)
	require.NoError(t, err)
	require.True(t, string(made) == string(raw), "%s is not what is made: go test ./clients -run 'TestPermits$' -args -permits, and read the difference", permitsFile)
	book := new(permitBook)
	require.NoError(t, json.Unmarshal(raw, book))
	for i := range book.Cases {
		book.Cases[i].fill(&book.Standard)
	}
	return book
}

// permitMaker makes permits, good and bad.
type permitMaker struct {
	t    *testing.T
	book *permitBook
	mine *paying
	pay  *client.PayStatement

	permit, credential, sandbox, stranger *ecdsa.PrivateKey
}

func newPermitMaker(t *testing.T) *permitMaker {
	m := &permitMaker{t: t, book: &permitBook{
		About: "What the three clients must agree on. Signatures are ES256 by RFC 6979; the private scalar of a key is SHA-256 of its text.",
		Texts: map[string]string{},
	}}
	m.credential, m.permit, m.sandbox = m.key("cc-v1"), m.key("pm-v1"), m.key("sandbox-pm-v1")
	m.key("pm-v007")
	off := m.book.Keys.Keys[1]
	off.KeyID, off.Y = "pm-v3", off.X // This is not a point of the curve.
	other := m.book.Keys.Keys[1]
	other.KeyID, other.KeyType = "pm-v4", "OKP"
	m.book.Keys.Keys = append(m.book.Keys.Keys, off, other)
	m.stranger = scalar(t, "a key that is not published")
	m.mine = &paying{Amount: "25.00", Chain: "base", Rail: "usdc", Payee: evmPayee, Payer: evmPayer, Ref: "inv-2026-0007"}
	m.book.Standard = permitCase{Issuer: permitsIssuer, Audience: permitsAudience, Now: permitsAt, Paying: m.mine}
	m.pay = &client.PayStatement{
		Amount: "25", Currency: "USD", Chain: "BASE", Rail: "USDC", Payee: strings.ToLower(evmPayee), Payer: strings.ToLower(evmPayer), Ref: "inv-2026-0007",
	}
	return m
}

func scalar(t *testing.T, text string) *ecdsa.PrivateKey {
	sum := sha256.Sum256([]byte(text))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
	require.NoError(t, err)
	return key
}

// key publishes a key.
func (m *permitMaker) key(kid string) *ecdsa.PrivateKey {
	m.book.Texts[kid] = "permits.json of the clients' tests: " + kid
	key := scalar(m.t, m.book.Texts[kid])
	m.book.Keys.Keys = append(m.book.Keys.Keys, (&signer{m.t, kid, key}).public())
	return key
}

func permitHeader(kid string) string {
	return `{"alg":"ES256","kid":"` + kid + `","typ":"railguard-permit+jwt"}`
}

// sign makes a compact JWS. The same key, header and claims make the same bytes.
func (m *permitMaker) sign(key *ecdsa.PrivateKey, header, claims string) string {
	input := segment([]byte(header)) + "." + segment([]byte(claims))
	sum := sha256.Sum256([]byte(input))
	raw, err := key.Sign(nil, sum[:], crypto.SHA256)
	require.NoError(m.t, err)
	var numbers struct{ R, S *big.Int }
	_, err = asn1.Unmarshal(raw, &numbers)
	require.NoError(m.t, err)
	return input + "." + segment(pair(numbers.R, numbers.S))
}

// claims returns good claims with some of them changed. A claim that changes to nil is left out.
func (m *permitMaker) claims(change map[string]any) string {
	claims := map[string]any{
		"iss": permitsIssuer, "sub": "agt_test", "aud": permitsAudience, "jti": "txn_test", "iat": permitsAt, "exp": permitsAt + 120,
		"verdict": "PROCEED", "pay": m.pay, "pay_hash": digest(canonical(m.t, m.pay)), "lists": map[string]any{"v": 41, "age": 12600, "maxAge": 604800},
	}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return string(encode(m.t, claims))
}

// bound are claims of a payment.
func bound(t *testing.T, pay any) map[string]any {
	return map[string]any{"pay": pay, "pay_hash": digest(canonical(t, pay))}
}

// canonical writes a statement as RFC 8785 does, if it has no characters that encoding/json escapes.
func canonical(t *testing.T, pay any) string {
	raw, err := json.Marshal(pay)
	require.NoError(t, err)
	members := map[string]any{}
	require.NoError(t, json.Unmarshal(raw, &members))
	var text strings.Builder
	writer := json.NewEncoder(&text)
	writer.SetEscapeHTML(false)
	require.NoError(t, writer.Encode(members))
	return strings.TrimSuffix(text.String(), "\n")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return segment(sum[:])
}

func payloadOf(t *testing.T, permit string) map[string]any {
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(permit, ".")[1])
	require.NoError(t, err)
	claims := map[string]any{}
	require.NoError(t, json.Unmarshal(raw, &claims))
	return claims
}

func jtiOf(t *testing.T, permit string) string { return payloadOf(t, permit)["jti"].(string) }

func payOf(t *testing.T, permit string) *client.PayStatement {
	pay := new(client.PayStatement)
	require.NoError(t, json.Unmarshal(encode(t, payloadOf(t, permit)["pay"]), pay))
	return pay
}

// add adds a permit that is checked as it should be, but for what change changes.
func (m *permitMaker) add(want, name, permit string, change func(*permitCase)) {
	one := permitCase{Name: name, Want: want, Permit: permit, Now: permitsAt}
	if change != nil {
		change(&one)
	}
	if one.Now == permitsAt {
		one.Now = 0
	}
	m.book.Cases = append(m.book.Cases, one)
}

// stock adds a permit on which libraries that know no permits agree.
func (m *permitMaker) stock(want, name, permit string, change func(*permitCase)) {
	m.add(want, name, permit, change)
	m.book.Cases[len(m.book.Cases)-1].Stock = true
}

// claimed adds a permit that says something else than a good one.
func (m *permitMaker) claimed(want, name string, change map[string]any) {
	m.add(want, name, m.sign(m.permit, permitHeader("pm-v1"), m.claims(change)), nil)
}

func makePermits(t *testing.T) *permitBook {
	m := newPermitMaker(t)
	m.addPays()
	m.addGood()
	m.addForms()
	m.addHeaders()
	m.addSignatures()
	m.addClaims()
	m.addPayments()
	m.addMistakes()
	return m.book
}

package possession

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// sent is a request with its headers as a list that a test changes.
type sent struct {
	Message
	pairs []string
}

func (s *sent) set(name, value string) {
	for i := 0; i < len(s.pairs); i += 2 {
		if s.pairs[i] == name {
			s.pairs[i+1] = value
			return
		}
	}
	s.pairs = append(s.pairs, name, value)
}

func (s *sent) remove(name string) {
	for i := 0; i < len(s.pairs); i += 2 {
		if s.pairs[i] == name {
			s.pairs = append(s.pairs[:i:i], s.pairs[i+2:]...)
			return
		}
	}
}

func (s *sent) verify(key *Key) (*Proof, error) {
	s.Header = headers(s.pairs...)
	return VerifyMessage(&s.Message, key, Window{Now: testNow})
}

func testSent() *sent {
	s := &sent{Message: Message{
		Method: "POST", Scheme: "https", Authorities: []string{"guard.example.org", "guard.internal:8443"}, Host: "guard.example.org",
		Path: "/v1/screen", Body: testRequest,
	}}
	s.pairs = []string{"content-type", "application/json", "content-digest", ContentDigest(testRequest), "idempotency-key", testID}
	return s
}

const (
	usualComponents = `("@method" "@authority" "@path" "content-digest" "idempotency-key")`
	usualTimes      = `;created=1795437000;expires=1795437120`
)

// sign signs the request as it stands, with any input but the label, for an authority.
func (s *sent) sign(t testing.TB, private crypto.Signer, input, authority string) {
	input = strings.ReplaceAll(input, "KEY", publicKey(t, private).Thumbprint())
	s.Header = headers(s.pairs...)
	inputs, err := readInputs("sig1=" + input)
	require.NoError(t, err, input)
	base, _ := s.appendBase(nil, &inputs[0], authority)
	signature, err := sign(base, private)
	require.NoError(t, err)
	s.set("signature-input", "sig1="+input)
	s.set("signature", "sig1=:"+base64.StdEncoding.EncodeToString(signature)+":")
}

func TestMessage(t *testing.T) {
	for alg, private := range both(t, "agent A") {
		s, key := testSent(), publicKey(t, private)
		s.Header = headers(s.pairs...)
		input, signature, err := SignMessage(&s.Message, private, testNow, testNow+AgeUsual)
		require.NoError(t, err)
		s.set("signature-input", input)
		s.set("signature", signature)
		proof, err := s.verify(key)
		require.NoError(t, err, alg)
		require.Equal(t, FormMessage, proof.Form)
		require.Equal(t, testID, proof.ID)
		require.Equal(t, testNow, proof.IssuedAt)
		inputs, err := readInputs(input)
		require.NoError(t, err)
		base, _ := s.appendBase(nil, &inputs[0], "guard.example.org")
		raw, err := readBytes(signature, "sig1")
		require.NoError(t, err)
		require.Equal(t, sha256.Sum256(append(base, raw...)), proof.Digest)
	}
}

// messageCases are inputs that are signed, and what is then changed.
var messageCases = []struct {
	name, input string
	change      func(*sent)
	reason      Reason
}{
	{"as it should be", usualInput, none, ""},
	{"more than it must", as(`("@method"`, `("content-type" "@scheme" "@request-target" "@query" "@method"`), none, ""},
	{"a nonce and alg", usualInput + `;nonce="abc";alg="ed25519"`, none, ""},
	{"without a tag", as(`;tag="railguard"`, ``), none, ""},
	{"with another tag", as(`railguard`, `web-bot-auth`), none, ""},
	{"target-uri alone", as(`"@authority" "@path"`, `"@target-uri"`), none, ""},
	{"Host in other letters", usualInput, func(s *sent) { s.Host = "GUARD.example.org:443" }, ""},
	{"Host of a proxy", usualInput, func(s *sent) { s.Host = "10.0.0.7:8080" }, ""},
	{"no Host", usualInput, func(s *sent) { s.Host = "" }, ""},
	{"white space around values", usualInput, func(s *sent) { s.set("idempotency-key", " "+testID+"\t") }, ""},

	{"no signature", usualInput, func(s *sent) { s.remove("signature-input") }, Missing},
	{"neither", usualInput, func(s *sent) { s.remove("signature-input"); s.remove("signature") }, Missing},
	{"short and without a tag", as(` "content-digest"`, ``)[:len(usualInput)-len(` "content-digest"`)-len(`;tag="railguard"`)], none, Missing},
	{"short and with another tag", strings.Replace(as(` "content-digest"`, ``), "railguard", "web-bot-auth", 1), none, Missing},
	{"keyid of another", as("KEY", "other"), none, Missing},
	{"no keyid", as(`;keyid="KEY"`, ``), none, Missing},
	{"keyid is a token", as(`"KEY"`, `aKEY`), none, Missing},

	{"no method", as(`"@method" `, ``), none, Component},
	{"no authority", as(`"@authority" `, ``), none, Component},
	{"no path", as(`"@path" `, ``), none, Component},
	{"no digest", as(` "content-digest"`, ``), none, Component},
	{"no idempotency key", as(` "idempotency-key"`, ``), none, Component},
	{"a query that is not covered", usualInput, func(s *sent) { s.Query = "?a=1" }, Component},
	{"a header that is not there", as(`("@method"`, `("x-more" "@method"`), none, Component},
	{"two idempotency keys", usualInput, func(s *sent) { s.pairs = append(s.pairs, "idempotency-key", "b") }, WrongKey},
	{"a digest of another kind", usualInput, none, Component}, // See below, for the next two as well.
	{"two idempotency keys, signed", usualInput, none, Component},
	{"a header beyond ASCII", usualInput, none, Component},

	{"a component with a parameter", as(`"content-digest"`, `"content-digest" "content-type";sf`), none, Malformed},
	{"a component of a parameter alone", as(`"content-digest"`, `"content-digest";sf`), none, Malformed},
	{"a component twice", as(`("@method"`, `("@method" "@method"`), none, Malformed},
	{"a component of answers", as(`("@method"`, `("@status" "@method"`), none, Malformed},
	{"a header in capitals", as(`("@method"`, `("Content-Type" "@method"`), none, Malformed},
	{"an empty name", as(`("@method"`, `("" "@method"`), none, Malformed},
	{"a parameter of its own", usualInput + `;x=1`, none, Malformed},
	{"created is a text", as(`=1795437000`, `="1795437000"`), none, Malformed},
	{"created is a fraction", as(`=1795437000`, `=1795437000.5`), none, Malformed},
	{"tag is a token", as(`"railguard"`, `railguard`), none, Malformed},
	{"no bytes for the label", usualInput, func(s *sent) { s.set("signature", "sig2=:AAAA:") }, Malformed},
	{"no Signature", usualInput, func(s *sent) { s.remove("signature") }, Malformed},
	{"a signature of 63 bytes", usualInput, func(s *sent) { s.set("signature", "sig1=:"+strings.Repeat("AAAA", 21)+":") }, Malformed},
	{"no base64", usualInput, func(s *sent) { s.set("signature", "sig1=:A:") }, Malformed},
	{"a text", usualInput, func(s *sent) { s.set("signature", `sig1="A"`) }, Malformed},
	{"unreadable, of ours by its key", usualInput, func(s *sent) { s.set("signature-input", "sig1="+s.pairs[7][5:]+";") }, Malformed},
	{"unreadable, of ours by its tag", usualInput, func(s *sent) { s.set("signature-input", `sig1=();tag="railguard";`) }, Malformed},
	{"unreadable, of others", usualInput, func(s *sent) { s.set("signature-input", `keyId="a",algorithm="b"`) }, Missing},
	{"too long, with one of ours", usualInput, func(s *sent) { s.set("signature-input", s.pairs[7]+`, b=();x="`+strings.Repeat("a", fieldMax)+`"`) }, Malformed},
	{"unreadable, too long", usualInput, func(s *sent) { s.set("signature-input", `sig1=();x="`+strings.Repeat("a", fieldMax)+`"`) }, Missing},

	{"alg of another key", usualInput + `;alg="ecdsa-p256-sha256"`, none, Algorithm},
	{"alg in other letters", usualInput + `;alg="Ed25519"`, none, Algorithm},
	{"another method", usualInput, func(s *sent) { s.Method = "PUT" }, WrongKey},
	{"another path", usualInput, func(s *sent) { s.Path = "/v1/screen/dry-run" }, WrongKey},
	{"another digest", usualInput, func(s *sent) { s.set("content-digest", ContentDigest(nil)) }, WrongKey},
	{"another idempotency key", usualInput, func(s *sent) { s.set("idempotency-key", "other") }, WrongKey},
	{"another parameter", usualInput, func(s *sent) { s.set("signature-input", strings.Replace(s.pairs[7], "1795437120", "1795437121", 1)) }, WrongKey},
	{"another body", usualInput, func(s *sent) { s.Body = append([]byte(" "), s.Body...) }, Request},

	{"no created", as(`;created=1795437000`, ``), none, Lifetime},
	{"no expires", as(`;expires=1795437120`, ``), none, Lifetime},
	{"expires at once", as(`7120`, `7000`), none, Lifetime},
	{"negative", as(`=1795437000`, `=-1795437000`), none, Lifetime},
	{"beyond all times", as(`=1795437120`, `=8589934592`), none, Lifetime},
	{"121 seconds ago", as(`=1795437000`, `=1795436879`), none, Old},
	{"120 seconds ago", as(`=1795437000`, `=1795436880`), none, ""},
	{"61 seconds ahead", as(`=1795437000`, `=1795437061`), none, Early},
	{"60 seconds ahead", as(`=1795437000`, `=1795437060`), none, ""},
	{"expired", strings.Replace(as(`=1795437000`, `=1795436940`), `=1795437120`, `=1795437000`, 1), none, Expired},
}

const usualInput = usualComponents + usualTimes + `;keyid="KEY";tag="railguard"`

// as is the usual input with a change.
func as(old, new string) string { return strings.Replace(usualInput, old, new, 1) }

func none(*sent) {}

func TestMessageOutcomes(t *testing.T) {
	edwards, p256 := testKeys(t, "agent A")
	thief, _ := testKeys(t, "agent B")
	for _, c := range messageCases {
		s := testSent()
		switch c.name {
		case "a digest of another kind":
			s.set("content-digest", "sha-512=:AAAA:")
		case "two idempotency keys, signed":
			s.pairs = append(s.pairs, "idempotency-key", "b")
		case "a header beyond ASCII":
			s.set("idempotency-key", "ü")
		}
		s.sign(t, edwards, c.input, "guard.example.org")
		c.change(s)
		_, err := s.verify(publicKey(t, edwards))
		require.Equal(t, c.reason, reasonOf(err), "%s: %v", c.name, err)

		_, err = s.verify(publicKey(t, p256))
		if c.reason == "" {
			require.Equal(t, Missing, reasonOf(err), "%s, for another key", c.name)
		}
	}
	s := testSent()
	s.sign(t, thief, strings.Replace(usualInput, "KEY", publicKey(t, edwards).Thumbprint(), 1), "guard.example.org")
	_, err := s.verify(publicKey(t, edwards))
	require.Equal(t, WrongKey, reasonOf(err), "keyid of the credential's key, signed by a thief")
	s.sign(t, edwards, usualInput, "guard.example.org")
	signature, err := readBytes(s.pairs[9], "sig1")
	require.NoError(t, err)
	for bit := range 8 * len(signature) {
		signature[bit/8] ^= 1 << (bit % 8)
		s.set("signature", "sig1=:"+base64.StdEncoding.EncodeToString(signature)+":")
		_, err := s.verify(publicKey(t, edwards))
		require.Equal(t, WrongKey, reasonOf(err))
		signature[bit/8] ^= 1 << (bit % 8)
	}
}

// TestAuthority: one of the service's own is signed, whatever Host says.
func TestAuthority(t *testing.T) {
	edwards, _ := testKeys(t, "agent A")
	key := publicKey(t, edwards)
	for _, components := range []string{usualComponents, strings.Replace(usualComponents, `"@authority" "@path"`, `"@target-uri"`, 1)} {
		for _, c := range []struct {
			signed, host string
			reason       Reason
		}{
			{"guard.example.org", "guard.example.org", ""},
			{"guard.example.org", "guard.internal:8443", ""},
			{"guard.internal:8443", "guard.example.org", ""},
			{"guard.internal:8443", "evil.example", ""},
			{"evil.example", "evil.example", Audience},
			{"evil.example", "EVIL.example:443", Audience},
			{"evil.example", "guard.example.org", WrongKey},
			{"evil.example", "", WrongKey},
		} {
			s := testSent()
			s.Host = c.host
			s.sign(t, edwards, components+usualTimes+`;keyid="KEY";tag="railguard"`, c.signed)
			_, err := s.verify(key)
			require.Equal(t, c.reason, reasonOf(err), "%s to %s: %v", c.signed, c.host, err)
		}
	}
	for count, reason := range map[int]Reason{AuthoritiesMax - 1: "", AuthoritiesMax: WrongKey} { // How many stand before it.
		s := testSent()
		s.Host, s.Authorities = "", nil
		for i := range count {
			s.Authorities = append(s.Authorities, fmt.Sprint(i, ".example"))
		}
		s.Authorities = append(s.Authorities, "last.example")
		s.sign(t, edwards, usualInput, "last.example")
		_, err := s.verify(key)
		require.Equal(t, reason, reasonOf(err))
	}
	require.Equal(t, "a:80", NormalAuthority("A:80", "https"))
	require.Equal(t, "a", NormalAuthority("A:80", "http"))
	require.Equal(t, "a:443", NormalAuthority("A:443", "http"))
}

func TestQueryIsCovered(t *testing.T) {
	edwards, _ := testKeys(t, "agent A")
	for _, components := range []string{
		strings.Replace(usualComponents, `"@path"`, `"@path" "@query"`, 1), strings.Replace(usualComponents, `"@authority" "@path"`, `"@target-uri"`, 1),
	} {
		s := testSent()
		s.Query = "?a=1&b=%20"
		s.sign(t, edwards, components+usualTimes+`;keyid="KEY"`, "guard.example.org")
		_, err := s.verify(publicKey(t, edwards))
		require.NoError(t, err)
		s.Query = "?a=2"
		_, err = s.verify(publicKey(t, edwards))
		require.Equal(t, WrongKey, reasonOf(err))
	}
}

// TestSeveralSignatures: proofs stand among signatures of others, in one line or several.
func TestSeveralSignatures(t *testing.T) {
	edwards, _ := testKeys(t, "agent A")
	key := publicKey(t, edwards)
	s := testSent()
	s.sign(t, edwards, usualComponents+usualTimes+`;keyid="KEY";tag="railguard"`, "guard.example.org")
	input, signature := s.pairs[7], s.pairs[9]
	foreign := `bot=("@authority" "signature-agent";key="bot");created=1;keyid="x";tag="web-bot-auth"`
	bad := `bad=` + input[len("sig1="):]
	var many, manyBytes strings.Builder
	for i := range signaturesMax - 1 {
		fmt.Fprintf(&many, `s%d=();keyid="x", `, i)
		fmt.Fprintf(&manyBytes, "s%d=:AAAA:, ", i)
	}
	zeros := "bad=:" + base64.StdEncoding.EncodeToString(make([]byte, 64)) + ":"
	for _, c := range []struct {
		inputs, signatures string
		reason             Reason
	}{
		{foreign + ", " + input, "bot=:AAAA:, " + signature, ""},
		{input + "," + foreign, signature + ",bot=:AAAA:", ""},
		{input + " ,\t" + foreign, signature, ""}, // Others' signatures are others' business.
		{foreign, "bot=:AAAA:", Missing},
		{foreign, "", Missing},
		{bad + ", " + input, zeros + ", " + signature, ""}, // One good one is enough.
		{input + ", " + bad, signature + ", " + zeros, ""},
		{bad, zeros, WrongKey},
		{bad + `, c=();keyid="` + key.Thumbprint() + `";tag="railguard"`, zeros + ", c" + zeros[3:], WrongKey}, // The first one's reason.
		{`c=();keyid="` + key.Thumbprint() + `";tag="railguard", ` + bad, zeros + ", c" + zeros[3:], Component},
		{bad + ", " + strings.Replace(bad, "bad", "bad2", 1), zeros + ", bad2" + zeros[3:], WrongKey},
		{bad + ", " + strings.Replace(bad, "bad", "bad2", 1) + ", " + input, zeros + ", bad2" + zeros[3:] + ", " + signature, Malformed}, // A bound on work.
		{input + ", " + input, signature, Malformed},
		{input, signature + ", " + signature, Malformed},
		{many.String() + input, manyBytes.String() + signature, ""},
		{many.String() + "more=()," + input, manyBytes.String() + signature, Malformed},
		{input + ",", signature, Malformed},
	} {
		s.set("signature-input", c.inputs)
		s.set("signature", c.signatures)
		_, err := s.verify(key)
		require.Equal(t, c.reason, reasonOf(err), "%s %s: %v", c.inputs, c.signatures, err)
	}
	s.set("signature-input", foreign)
	s.set("signature", "bot=:AAAA:")
	s.pairs = append(s.pairs, "signature-input", input, "signature", signature)
	_, err := s.verify(key)
	require.NoError(t, err, "two lines of one header")
}

func TestFields(t *testing.T) {
	for text, want := range map[string]string{
		`a=()`:   `()`,
		`a=( )`:  `()`,
		` a=() `: `()`,
		`*a.b-_=("x"  "y" );p;q=?1;r=?0; s=tok/en:*;t=1;u=-1.5;v=:AAA=:;w="\"\\";x=*`: `("x" "y");p;q;r=?0;s=tok/en:*;t=1;u=-1.5;v=:AAA=:;w="\"\\";x=*`,
		`a=("x";key="b";sf);created=999999999999999`:                                  `("x";key="b";sf);created=999999999999999`,
	} {
		inputs, err := readInputs(text)
		require.NoError(t, err, text)
		require.Equal(t, want, inputs[0].text)
	}
	for _, text := range []string{
		``, `a`, `a=`, `a=1`, `a="x"`, `a=(`, `a=("x"`, `a=("x""y")`, `a=(x)`, `a=(1)`, "a=(\"x\"\t\"y\")", `A=()`, `1=()`, `a =()`, `a= ()`, `a=();`, `a=();P`, `a=();p=`,
		`a=();p="`, `a=();p="\x"`, `a=();p="` + "\x7f" + `"`, `a=();p="ü"`, `a=();p=?`, `a=();p=?2`, `a=();p=:AA`, `a=();p=:*:`, `a=();p=01`, `a=();p=-0`, `a=();p=1.`, `a=();p=1.0000`,
		`a=();p=1.50`, `a=();p=1234567890123456`, `a=();p=1234567890123.5`, `a=();p=-`, `a=();p=@1`, `a=();p=1;p=2`, `a=(),`, `a=(), a=()`, `a=() b=()`, `,a=()`, `a=()x`,
		`a=(` + strings.Repeat(` "x"`, componentsMax+1) + `)`, strings.Repeat("a", nameMax+1) + `=()`, `a=()` + strings.Repeat(";a", 1) + func() (all string) {
			for i := range parametersMax {
				all += fmt.Sprintf(";p%d", i)
			}
			return all
		}(),
	} {
		_, err := readInputs(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{`a=:AA:`, `a=:AB==:`, `a=:AAAA:;p`, `a=AAAA`, `a`, `a=:AAAA:, a=:AAAA:`, `a=:AAAA:, b=1`} {
		_, err := readBytes(text, "a")
		require.Error(t, err, text)
	}
	found, err := readBytes(`b=:AAAA:, a=:AAEC:`, "a")
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1, 2}, found)
	found, err = readBytes(`b=:AAAA:`, "a")
	require.NoError(t, err)
	require.Nil(t, found)
}

// FuzzFields: what is read here, a library of structured fields reads too, and it writes the same text.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`sig1=("@method" "@authority";x=1);created=1;keyid="a\"b";alg=tok;b=:AAAA:;c=?0;d=-1.5, s2=()`, `a=();p;q=?1;r`, `*=( "x" )`, `a=:AAAA:`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = readBytes(text, "a")
		inputs, err := readInputs(text)
		if err != nil {
			return
		}
		dictionary, err := httpsfv.UnmarshalDictionary([]string{text})
		require.NoError(t, err, "%q", text)
		require.Len(t, dictionary.Names(), len(inputs))
		for i := range inputs {
			member, ok := dictionary.Get(inputs[i].label)
			require.True(t, ok)
			one := httpsfv.NewDictionary()
			one.Add("a", member)
			written, err := httpsfv.Marshal(one)
			require.NoError(t, err)
			require.Equal(t, "a="+inputs[i].text, written, "%q", text)
		}
	})
}

// FuzzVerifyMessage: any headers get one outcome, and only the signed request is good.
func FuzzVerifyMessage(f *testing.F) {
	edwards, _ := testKeys(f, "agent A")
	key := publicKey(f, edwards)
	s := testSent()
	s.sign(f, edwards, usualComponents+usualTimes+`;keyid="KEY";tag="railguard"`, "guard.example.org")
	input, signature := s.pairs[7], s.pairs[9]
	digest := ContentDigest(testRequest)
	f.Add(input, signature, digest, testID)
	f.Add(strings.Replace(input, "created", "nonce", 1), signature, digest, testID)
	f.Add(input+`, b=();tag="railguard"`, signature, "sha-512=:AAAA:, "+digest, " ")
	inputs, err := readInputs(input)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, input, signature, digest, id string) {
		m := testSent().Message
		m.Header = headers("signature-input", input, "signature", signature, "content-digest", digest, "idempotency-key", id)
		proof, err := VerifyMessage(&m, key, Window{Now: testNow, AgeMost: engine.Minute})
		require.True(t, (proof == nil) != (reasonOf(err) == ""))
		if proof != nil {
			require.Equal(t, testID, proof.ID)
			require.Contains(t, input, inputs[0].text[len(inputs[0].text)-20:])
		}
	})
}

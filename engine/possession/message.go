package possession

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
)

// Tag is the tag of a signature that is meant as a proof: it then says so when a component is
// missing. Without it such a signature is somebody else's business.
const Tag = "railguard"

// AuthoritiesMax is how many authorities one service may have: a bad signature is tried with each. Those
// beyond are not tried, so whoever takes them from the operator refuses more.
const AuthoritiesMax = 4

// judgedMax is how many signatures of the credential's key are judged, of those in one request.
const judgedMax = 2

// Message is a request as it came.
type Message struct {
	Method string
	Scheme string // "https", or "http".
	// Authorities are those under which this service is known, in lower case and without the
	// scheme's own port (RFC 9421, 2.2.3). One of them must be signed, whatever Host says.
	Authorities []string
	Host        string // As the caller told it.
	Path        string // As it was sent, escaped.
	Query       string // With its question mark, as it was sent; "": none.
	// Header returns the lines of a header by its name in lower case. Those that a server keeps
	// elsewhere, such as host and content-length, count too.
	Header func(name string) []string
	Body   []byte
}

// required are the components that every proof covers, beside those that say where the request goes.
var required = [...]string{"@method", "content-digest", "idempotency-key"}

// VerifyMessage judges the message signatures of a request (RFC 9421): form, covered components,
// algorithm, key, then service and body, then time. Signatures of another keyid are none of ours, nor
// are those that lack a component and do not bear our tag. Of several proofs one good one is enough.
// Its errors are *Error; Missing when there is no proof.
func VerifyMessage(message *Message, key *Key, window Window) (*Proof, error) {
	lines := message.Header("signature-input")
	if len(lines) == 0 {
		return nil, refuse(Missing, "there is none")
	}
	text := strings.Join(lines, ", ")
	inputs, err := readInputs(text)
	if err != nil {
		// Whose it is cannot be read. It is a bad proof if it speaks of us.
		if strings.Contains(text, key.thumbprint) || strings.Contains(text, `"`+Tag+`"`) {
			return nil, refuse(Malformed, "Signature-Input cannot be read")
		}
		return nil, refuse(Missing, "there is none of ours")
	}
	refusal := refuse(Missing, "there is none of ours")
	judged := 0
	for i := range inputs {
		input := &inputs[i]
		if input.parameter("keyid", 's') != key.thumbprint || !message.covered(input) && input.parameter("tag", 's') != Tag {
			continue
		}
		if judged++; judged > judgedMax {
			return nil, refuse(Malformed, "more than %d proofs in one request", judgedMax)
		}
		proof, err := message.judge(input, key, window)
		if err == nil {
			return proof, nil
		}
		if refusal.Reason == Missing {
			refusal = err
		}
	}
	return nil, refusal
}

// covered reports whether a signature covers all that a proof must. A query must be covered too:
// it is a part of the request.
func (m *Message) covered(input *signatureInput) bool {
	for _, name := range required {
		if !input.covers(name) {
			return false
		}
	}
	if input.covers("@target-uri") {
		return true
	}
	return input.covers("@authority") && input.covers("@path") && (m.Query == "" || input.covers("@query"))
}

// parameterKinds are the parameters that a proof may have.
var parameterKinds = map[string]byte{"created": 'i', "expires": 'i', "keyid": 's', "alg": 's', "tag": 's', "nonce": 's'}

func (m *Message) judge(input *signatureInput, key *Key, window Window) (*Proof, *Error) {
	if err := checkInput(input); err != nil {
		return nil, err
	}
	signature, err := readBytes(strings.Join(m.Header("signature"), ", "), input.label)
	if err != nil || len(signature) != signatureSize {
		return nil, refuse(Malformed, "Signature has no 64 bytes for this label")
	}
	if !m.covered(input) {
		return nil, refuse(Component, "it must cover @method, @authority and @path (and @query) or @target-uri, content-digest, idempotency-key")
	}
	if alg := input.parameter("alg", 's'); alg != "" && alg != key.messageAlgorithm() {
		return nil, refuse(Algorithm, "alg is not that of the credential's key")
	}
	base, refusal := m.findBase(input, key, signature)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := m.checkDigest(); refusal != nil {
		return nil, refusal
	}
	made, refusal := checkTimes(input, window)
	if refusal != nil {
		return nil, refusal
	}
	return &Proof{
		Form: FormMessage, ID: fieldValue(m.Header("idempotency-key")), IssuedAt: made,
		Digest: sha256.Sum256(append(base, signature...)),
	}, nil
}

// checkInput judges the form of a proof's components and parameters.
func checkInput(input *signatureInput) *Error {
	for i, covered := range input.components {
		if !covered.bare {
			return refuse(Malformed, "components with parameters are not read here")
		}
		if !validComponent(covered.name) || slices.Contains(input.components[:i], covered) {
			return refuse(Malformed, "a component is not known here, or stands twice")
		}
	}
	for i := range input.parameters {
		if parameterKinds[input.parameters[i].name] != input.parameters[i].value.kind {
			return refuse(Malformed, "a parameter is not known here, or of another type")
		}
	}
	return nil
}

// derived are the components that are not headers (RFC 9421, 2.2).
var derived = []string{"@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query"}

// validComponent reports whether a name is that of a header in lower case, or of a derived component.
func validComponent(name string) bool {
	if name == "" || name[0] == '@' {
		return slices.Contains(derived, name)
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; !isLower(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}

// findBase returns the signature base that was signed. The authority is one of ours; Host only says
// which to try first, and whether the signature is sound but for another service.
func (m *Message) findBase(input *signatureInput, key *Key, signature []byte) ([]byte, *Error) {
	authorities := m.Authorities[:min(len(m.Authorities), AuthoritiesMax)]
	host := NormalAuthority(m.Host, m.Scheme)
	ours := slices.Contains(authorities, host)
	tried := func(authority string) ([]byte, *Error) {
		base, refusal := m.appendBase(nil, input, authority)
		if refusal != nil || key.signed(base, signature) {
			return base, refusal
		}
		return nil, nil
	}
	if ours {
		if base, refusal := tried(host); base != nil || refusal != nil {
			return base, refusal
		}
	}
	for _, authority := range authorities {
		if authority == host {
			continue
		}
		if base, refusal := tried(authority); base != nil || refusal != nil {
			return base, refusal
		}
	}
	if !ours && host != "" {
		if base, refusal := tried(host); base != nil || refusal != nil {
			return nil, refuse(Audience, "it is for another service")
		}
	}
	return nil, refuse(WrongKey, "the credential's key did not sign this request")
}

// NormalAuthority brings a Host into the form in which it is signed: in lower case, without the scheme's own
// port (RFC 9421, 2.2.3).
func NormalAuthority(host, scheme string) string {
	host = strings.ToLower(host)
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// appendBase appends the signature base (RFC 9421, 2.5).
func (m *Message) appendBase(dst []byte, input *signatureInput, authority string) ([]byte, *Error) {
	for i := range input.components {
		name := input.components[i].name
		dst = append(append(append(dst, '"'), name...), `": `...)
		if strings.HasPrefix(name, "@") {
			dst = append(m.appendDerived(dst, name, authority), '\n')
			continue
		}
		lines := m.Header(name)
		value := fieldValue(lines)
		if len(lines) == 0 || !printable(value) {
			return nil, refuse(Component, "it covers a header that the request has not")
		}
		dst = append(append(dst, value...), '\n')
	}
	dst = append(dst, `"@signature-params": `...)
	return append(dst, input.text...), nil
}

func (m *Message) appendDerived(dst []byte, name, authority string) []byte {
	path := m.Path
	if path == "" {
		path = "/"
	}
	switch name {
	case "@method":
		return append(dst, m.Method...)
	case "@authority":
		return append(dst, authority...)
	case "@scheme":
		return append(dst, m.Scheme...)
	case "@path":
		return append(dst, path...)
	case "@query":
		if m.Query == "" {
			return append(dst, '?')
		}
		return append(dst, m.Query...)
	case "@target-uri":
		dst = append(append(append(dst, m.Scheme...), "://"...), authority...)
	}
	return append(append(dst, path...), m.Query...) // Of @request-target too.
}

// fieldValue joins the lines of a header (RFC 9421, 2.1).
func fieldValue(lines []string) string {
	if len(lines) == 1 {
		return strings.Trim(lines[0], " \t")
	}
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		trimmed[i] = strings.Trim(line, " \t")
	}
	return strings.Join(trimmed, ", ")
}

// printable reports whether a value can stand in a signature base, which is ASCII of one line each.
func printable(value string) bool {
	for i := 0; i < len(value); i++ {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

// checkDigest compares the body with the Content-Digest (RFC 9530), and judges that one idempotency
// key stands there. Both are signed.
func (m *Message) checkDigest() *Error {
	if key := m.Header("idempotency-key"); len(key) != 1 || fieldValue(key) == "" {
		return refuse(Component, "there must be one Idempotency-Key")
	}
	digest, err := readBytes(fieldValue(m.Header("content-digest")), "sha-256")
	if err != nil || digest == nil {
		return refuse(Component, "Content-Digest has no sha-256")
	}
	if sum := sha256.Sum256(m.Body); string(digest) != string(sum[:]) {
		return refuse(Request, "Content-Digest is not that of the body")
	}
	return nil
}

// checkTimes judges created and expires. Both must be there.
func checkTimes(input *signatureInput, window Window) (engine.Time, *Error) {
	created, sound := signatureTime(input, "created")
	expires, ends := signatureTime(input, "expires")
	if !sound || !ends || expires <= created {
		return 0, refuse(Lifetime, "it must have created and, after it, expires")
	}
	if err := window.check(created); err != nil {
		return 0, err
	}
	if expires <= window.Now {
		return 0, refuse(Expired, "it has expired")
	}
	return created, nil
}

func signatureTime(input *signatureInput, name string) (engine.Time, bool) {
	seconds, err := strconv.ParseUint(input.parameter(name, 'i'), 10, 64)
	return engine.Time(seconds) * engine.Second, err == nil && seconds < secondsMax
}

// SignMessage signs a request, as an agent would: for tests, benches and tools. It returns the values
// of Signature-Input and Signature. The request must have its Content-Digest and Idempotency-Key; the
// first authority is signed. Errors: *KeyError, *Error.
func SignMessage(message *Message, key crypto.Signer, created, expires engine.Time) (input, signature string, err error) {
	public, err := KeyFrom(key.Public())
	if err != nil {
		return "", "", err
	}
	const label = "sig1"
	covered := `("@method" "@target-uri" "content-digest" "idempotency-key")`
	covered += ";created=" + strconv.FormatInt(int64(created/engine.Second), 10) + ";expires=" + strconv.FormatInt(int64(expires/engine.Second), 10)
	input = label + "=" + covered + `;keyid="` + public.thumbprint + `";tag="` + Tag + `"`
	inputs, err := readInputs(input)
	if err != nil {
		return "", "", err
	}
	base, refusal := message.appendBase(nil, &inputs[0], message.Authorities[0])
	if refusal != nil {
		return "", "", refusal
	}
	signed, err := sign(base, key)
	if err != nil {
		return "", "", err
	}
	return input, label + "=:" + base64.StdEncoding.EncodeToString(signed) + ":", nil
}

// ContentDigest returns the value of Content-Digest of a body (RFC 9530).
func ContentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

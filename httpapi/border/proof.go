package border

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine/possession"
	"railguard/httpapi/guest"
)

// TakeSignatures shows the judge the request as its message signatures have signed it (RFC 9421). Most
// requests have none. A proof that a guest took from its own caller is shown likewise.
func (c *Request) TakeSignatures() {
	if proof := guest.ProofOf(c.r.Context()); proof != nil {
		c.Asked.Proof = &edge.Proof{Text: proof.Text, Act: proof.Act, Request: proof.Request}
	}
	if len(c.r.Header["Signature-Input"]) == 0 {
		return
	}
	scheme, authorities := c.border.authorities()
	message := &possession.Message{
		Method: c.r.Method, Scheme: scheme, Authorities: authorities, Host: c.r.Host, Path: c.r.URL.EscapedPath(),
		Header: headerLines(c.r), Body: c.Asked.Body,
	}
	if c.r.URL.RawQuery != "" || c.r.URL.ForceQuery {
		message.Query = "?" + c.r.URL.RawQuery
	}
	c.Asked.Message = message
}

// headerLines returns the lines of a request's headers by their names in lower case. The server keeps two of them
// apart.
func headerLines(r *http.Request) func(name string) []string {
	return func(name string) []string {
		switch {
		case name == "host" && r.Host != "":
			return []string{r.Host}
		case name == "content-length" && r.ContentLength >= 0:
			return []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		return r.Header[textproto.CanonicalMIMEHeaderKey(name)]
	}
}

// authorities returns the scheme of the public address, and the authorities under which this service
// is known, whatever Host says: that of the public address, and those that its operator named.
func (b *Border) authorities() (scheme string, authorities []string) {
	public, err := url.Parse(b.judges.Now().PublicURL())
	if err != nil || public.Host == "" {
		return "https", b.deps.Authorities
	}
	own := NormalAuthority(public.Host, public.Scheme)
	if slices.Contains(b.deps.Authorities, own) {
		return public.Scheme, b.deps.Authorities
	}
	return public.Scheme, append([]string{own}, b.deps.Authorities...)
}

// NormalAuthority brings an authority into the form in which it is signed: in lower case, without the
// scheme's own port (RFC 9421, 2.2.3).
func NormalAuthority(authority, scheme string) string {
	authority = strings.ToLower(authority)
	if scheme == "http" {
		return strings.TrimSuffix(authority, ":80")
	}
	return strings.TrimSuffix(authority, ":443")
}

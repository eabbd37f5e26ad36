package border

import (
	"net/http"
	"net/textproto"
	"strconv"

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
	message := &possession.Message{
		Method: c.r.Method, Host: c.r.Host, Path: c.r.URL.EscapedPath(),
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

package border

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"railguard/engine"
)

// compressFrom is the smallest body that is compressed. What is smaller costs more time than it saves:
// no answer to a screening call is that large.
const compressFrom = 8 * engine.KiB

var packers = sync.Pool{New: func() any {
	packer, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return packer
}}

// takesGzip reports whether the answer may be compressed: the caller accepts gzip (RFC 9110, section
// 12.5.3), the body is text, and it is not the admin listener's, whose console has cookies that somebody
// else could use to guess what a compressed page holds.
func (c *Request) takesGzip(contentType []string) bool {
	if c.route == nil || c.route.admin || len(contentType) == 0 || !isText(contentType[0]) {
		return false
	}
	h := c.w.Header()
	h.Add("Vary", "Accept-Encoding")
	for _, value := range c.r.Header["Accept-Encoding"] {
		for coding := range strings.SplitSeq(value, ",") {
			name, parameters, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return !isRefused(parameters)
			}
		}
	}
	return false
}

// isText reports whether bodies of a media type are worth to be compressed. A stream of events is not:
// each has to go out at once.
func isText(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "application/json", "application/problem+json", "application/x-ndjson", "application/yaml", "application/xml":
		return true
	case "text/event-stream":
		return false
	}
	return strings.HasPrefix(kind, "text/")
}

// isRefused reports whether the parameters of a word in an Accept header have the weight 0.
func isRefused(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight == 0
		}
	}
	return false
}

// packHeaders says that the body is compressed. The version of what is sent is the same, its bytes are
// not, so its ETag is a weak one.
func (c *Request) packHeaders() {
	h := c.w.Header()
	h.Set("Content-Encoding", "gzip")
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		h.Set("ETag", "W/"+tag)
	}
}

// writePacked writes a compressed body.
func (c *Request) writePacked(a *Answer) {
	c.packHeaders()
	c.writeHead(a.status, a.contentType, -1)
	if c.r.Method == http.MethodHead {
		return
	}
	packer := packers.Get().(*gzip.Writer)
	packer.Reset(c.w)
	_, err := packer.Write(a.body)
	if err == nil {
		_ = packer.Close() // A caller that went away is not our fault.
	}
	keepPacker(packer)
}

// keepPacker gives a packer back. It forgets the connection that it wrote to.
func keepPacker(packer *gzip.Writer) {
	packer.Reset(io.Discard)
	packers.Put(packer)
}

// refuseEncoded is the 415 for a body that is compressed: it is read as it comes.
func (c *Request) refuseEncoded() error {
	for _, coding := range c.r.Header["Content-Encoding"] {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return NewError(http.StatusUnsupportedMediaType, "unsupported_encoding", "send the body without Content-Encoding: it is read as it comes")
		}
	}
	return nil
}

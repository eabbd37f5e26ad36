package conformance

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// statusListChecks are about the IETF Token Status List, which tells a verifier without an
// API key the status of a credential.
var statusListChecks = []Check{
	{ID: "X-STL-1", Title: "a credential names its list and entry, and the list is a good token of its own type", Source: Ruling, run: checkStatusList},
	{ID: "X-STL-2", Title: "every version of a credential has an entry of its own", Source: Ruling, run: checkStatusEntries},
	{ID: "X-STL-3", Title: "a status list is cacheable, needs no key, and its past is 501", Source: Ruling, run: checkStatusListCache},
	{ID: "X-STL-4", Title: "all nodes give the same list of a minute", Source: Ruling, Needs: NeedTwoNodes, run: checkStatusListNodes},
}

// entryOf returns the status list and the index that a token names.
func (p *probe) entryOf(token string) (path, uri string, index int) {
	claims := p.token(token).claims
	found, _ := at(claims, "status.status_list.uri")
	uri, _ = found.(string)
	parsed, err := url.Parse(uri)
	p.must(err == nil && parsed.IsAbs() && strings.Contains(parsed.Path, "/status-lists/"), "status.status_list.uri is %q", uri)
	number, ok := at(claims, "status.status_list.idx")
	p.must(ok, "no status.status_list.idx")
	raw, err := json.Marshal(number)
	p.must(err == nil && json.Unmarshal(raw, &index) == nil && index >= 0, "status.status_list.idx is %v", number)
	return parsed.Path[strings.LastIndex(parsed.Path, "/status-lists/"):], uri, index
}

func checkStatusList(p *probe) {
	path, uri, index := p.entryOf(p.register().token)
	a := p.status(p.get(path, anonymous), 200)
	p.expect(a.header.Get("Content-Type") == "application/statuslist+jwt", "Content-Type is %q", a.header.Get("Content-Type"))
	signed, err := jose.ParseSignedCompact(string(a.raw), []jose.SignatureAlgorithm{jose.ES256})
	p.must(err == nil, "no compact ES256 token: %v", err)
	header := signed.Signatures[0].Header
	p.expect(header.ExtraHeaders[jose.HeaderType] == "statuslist+jwt", "typ is %v", header.ExtraHeaders[jose.HeaderType])
	keys := p.jwks(0).Key(header.KeyID)
	p.must(len(keys) == 1, "the JWKS has no single key %q", header.KeyID)
	payload, err := signed.Verify(keys[0])
	p.must(err == nil, "the signature: %v", err)
	var list struct {
		Subject  string `json:"sub"`
		IssuedAt int64  `json:"iat"`
		End      int64  `json:"exp"`
		TTL      int64  `json:"ttl"`
		List     struct {
			Bits int    `json:"bits"`
			List string `json:"lst"`
		} `json:"status_list"`
	}
	p.must(json.Unmarshal(payload, &list) == nil, "the claims are not those of a status list: %s", payload)
	p.expect(list.Subject == uri, "sub is %q, the credential says %q", list.Subject, uri)
	p.expect(list.IssuedAt%60 == 0 && list.TTL == 60 && list.End == list.IssuedAt+120, "iat %d, ttl %d, exp %d", list.IssuedAt, list.TTL, list.End)
	packed, err := strictBase64(list.List.List)
	p.must(err == nil, "lst: %v", err)
	reader, err := zlib.NewReader(bytes.NewReader(packed))
	p.must(err == nil, "lst: %v", err)
	bits, err := io.ReadAll(io.LimitReader(reader, 1<<20))
	p.must(err == nil && list.List.Bits == 2 && index < len(bits)*4, "%d bits, %d bytes, entry %d: %v", list.List.Bits, len(bits), index, err)
	value := bits[index/4] >> (index % 4 * 2) & 3
	p.expect(value == 0, "a new credential reads %d", value)
}

func checkStatusEntries(p *probe) {
	g := p.register()
	path, _, index := p.entryOf(g.token)
	again := p.success(p.post("/v1/agents/"+g.id+"/reissue", obj{"reason": "r"}))
	otherPath, _, other := p.entryOf(again.text("token"))
	p.expect(path != otherPath || index != other, "two versions share entry %d of %s", index, path)
	thirdPath, _, third := p.entryOf(p.register().token)
	p.expect(path != thirdPath || index != third && third != other, "two agents share entry %d of %s", index, path)
}

func checkStatusListCache(p *probe) {
	path, _, _ := p.entryOf(p.register().token)
	a := p.status(p.get(path, anonymous), 200)
	p.expect(strings.Contains(a.header.Get("Cache-Control"), "public, max-age="), "Cache-Control is %q", a.header.Get("Cache-Control"))
	p.expect(a.header.Get("Access-Control-Allow-Origin") == "*", "no CORS")
	again := p.get(path, anonymous, header("If-None-Match", a.header.Get("ETag")))
	fresh := p.get(path, anonymous) // A new minute may have begun.
	p.expect(again.status == 304 || fresh.header.Get("ETag") != a.header.Get("ETag"), "If-None-Match with the same ETag: status %d, want 304", again.status)
	p.status(p.get(path+"?time=1774150380", anonymous), 501)
	p.status(p.get("/status-lists/999999", anonymous), 404)
}

func checkStatusListNodes(p *probe) {
	path, _, _ := p.entryOf(p.register().token)
	for end := time.Now().Add(statusPatience); ; time.Sleep(100 * time.Millisecond) {
		first, other := p.get(path, anonymous), p.get(path, anonymous, node(1))
		if first.status == 200 && string(first.raw) == string(other.raw) {
			return
		}
		p.must(time.Now().Before(end), "two nodes never gave the same list: %d, %d", first.status, other.status)
	}
}

// statusPatience allows for a minute that begins between two requests.
const statusPatience = 10 * time.Second

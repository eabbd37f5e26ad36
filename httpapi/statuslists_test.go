package httpapi

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// listToken is a status list token as a standard library reads it.
type listToken struct {
	Subject string `json:"sub"`
	At      int64  `json:"iat"`
	Expires int64  `json:"exp"`
	TTL     int64  `json:"ttl"`
	List    struct {
		Bits int    `json:"bits"`
		List string `json:"lst"`
	} `json:"status_list"`
}

// statusClaim says where a credential's status is found.
type statusClaim struct {
	Status struct {
		List struct {
			Index int    `json:"idx"`
			URI   string `json:"uri"`
		} `json:"status_list"`
	} `json:"status"`
}

func claimed(t *testing.T, token string) statusClaim {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	var claim statusClaim
	require.NoError(t, json.Unmarshal(payload, &claim))
	return claim
}

// entry fetches a credential's status list and returns the value of its entry.
func (n *testNode) entry(token string) byte {
	n.t.Helper()
	t := n.t.(*testing.T)
	claim := claimed(t, token).Status.List
	path, ours := strings.CutPrefix(claim.URI, "https://pay.example.com")
	require.True(t, ours, claim.URI)
	list := n.statusList(path)
	require.Equal(t, claim.URI, list.Subject)
	packed, err := base64.RawURLEncoding.DecodeString(list.List.List)
	require.NoError(t, err)
	reader, err := zlib.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	bits, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Len(t, bits, 65_536)
	return bits[claim.Index/4] >> (claim.Index % 4 * 2) & 3
}

func (n *testNode) statusList(path string) listToken {
	n.t.Helper()
	w := n.do("", "GET", path, "")
	require.Equal(n.t, 200, w.Code, w.Body)
	require.Equal(n.t, "application/statuslist+jwt", w.Header().Get("Content-Type"))
	var keys jose.JSONWebKeySet
	require.NoError(n.t, json.Unmarshal(n.do("", "GET", "/v1/.well-known/jwks.json", "").Body.Bytes(), &keys))
	signed, err := jose.ParseSignedCompact(w.Body.String(), []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(n.t, err)
	header := signed.Signatures[0].Header
	require.Equal(n.t, "statuslist+jwt", header.ExtraHeaders[jose.HeaderType])
	require.Len(n.t, keys.Key(header.KeyID), 1)
	payload, err := signed.Verify(keys.Key(header.KeyID)[0])
	require.NoError(n.t, err)
	var list listToken
	require.NoError(n.t, json.Unmarshal(payload, &list))
	return list
}

func (n *testNode) Statuses() *fsm.Statuses {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.statuses
}

func TestStatusListOverHTTP(t *testing.T) {
	n := newTestNode(t)
	id, token := n.register("")
	require.Equal(t, byte(0), n.entry(token), "good at once, though its minute began before it")
	require.Equal(t, 200, n.do("operator", "POST", "/v1/agents/"+id+"/suspend", `{"reason":"r","actor":"a"}`).Code)
	require.Equal(t, byte(0), n.entry(token), "the values are those at iat")
	n.advance(engine.Minute)
	require.Equal(t, byte(2), n.entry(token))
	require.Equal(t, 200, n.do("operator", "POST", "/v1/agents/"+id+"/reinstate", `{"reason":"r","actor":"a"}`).Code)
	n.advance(engine.Minute)
	require.Equal(t, byte(0), n.entry(token))
	v := answer(t, n.do("operator", "POST", "/v1/agents/"+id+"/reissue", `{"reason":"r","actor":"a","overlapHours":0}`), 201)
	n.advance(engine.Minute)
	require.Equal(t, byte(1), n.entry(token), "superseded")
	require.Equal(t, byte(0), n.entry(textOf(v, "token")))
	require.NotEqual(t, claimed(t, token), claimed(t, textOf(v, "token")))
	shown := answer(t, n.do("operator", "GET", "/v1/agents/"+id, ""), 200)
	require.Equal(t, textOf(v, "token"), textOf(shown, "token"), "from the registry as from its leaf")

	list := n.statusList("/status-lists/1")
	now := int64(n.LogTime() / engine.Second)
	require.Equal(t, now/60*60, list.At)
	require.Equal(t, list.At+120, list.Expires)
	require.EqualValues(t, 60, list.TTL)
	require.Equal(t, 2, list.List.Bits)
}

func TestStatusListIsCacheable(t *testing.T) {
	n := newTestNode(t)
	get := func(headers ...string) (int, string, http.Header) {
		w := n.do("", "GET", "/status-lists/1", "", headers...)
		return w.Code, w.Body.String(), w.Header()
	}
	status, text, header := get()
	require.Equal(t, 200, status, text)
	left := 60 - int64(n.LogTime()/engine.Second)%60
	age, _ := strings.CutPrefix(header.Get("Cache-Control"), "public, max-age=")
	seconds, err := strconv.ParseInt(age, 10, 64)
	require.NoError(t, err)
	require.InDelta(t, left, seconds, 1)
	require.Equal(t, "*", header.Get("Access-Control-Allow-Origin"))
	status, again, _ := get("If-None-Match", header.Get("ETag"))
	require.Equal(t, 304, status)
	require.Empty(t, again)
	_, same, _ := get()
	require.Equal(t, text, same)
	n.advance(engine.Minute)
	status, later, _ := get("If-None-Match", header.Get("ETag"))
	require.Equal(t, 200, status)
	require.NotEqual(t, text, later, "another iat")

	for path, want := range map[string]int{
		"/status-lists/2": 404, "/status-lists/0": 404, "/status-lists/01": 404, "/status-lists/x": 404, "/status-lists/1?time=1774150380": 501,
		"/status-lists/99999999999999999999": 404, "/status-lists": 404, "/status-lists/1?x=1": 400,
	} {
		require.Equal(t, want, n.do("", "GET", path, "").Code, path)
	}
	require.Equal(t, 405, n.do("", "POST", "/status-lists/1", "{}").Code)
	n.statuses = nil
	w := n.do("", "GET", "/status-lists/1", "")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
}

// A key that was revoked in an emergency signs no list, not even that of the current
// minute.
func TestStatusListAndARevokedKey(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.statusList("/status-lists/1")
	require.Equal(t, 201, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"revoke":"cc-v1","reason":"stolen"}`).Code)
	n.statusList("/status-lists/1")
	n.advance(engine.Minute)
	require.Equal(t, byte(1), n.entry(token))
}

// A credential whose subject matched the sanctions list at issuance is suspended from the
// first minute on.
func TestStatusOfAMatchedOperator(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.must(wire.KindStatus, &wire.Status{Target: wire.TargetOperator, Slot: 1, To: engine.Suspended})
	n.advance(engine.Minute)
	require.Equal(t, byte(2), n.entry(token))
}

package httpapi

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/border"
)

// discard is an answer that nobody reads.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Flush()                      {}

// body is a request body that can be read again and again.
type body struct{ bytes.Reader }

func (b *body) Close() error { return nil }

// benchmarkScreen measures the whole handler: border, key, JSON, token, rules,
// record, state machine, audit append and answer, without HTTP itself.
func benchmarkScreen(b *testing.B, fields string) {
	n := newTestNode(b)
	n.settings.Keys[0].Rate = -1
	n.reopen(nil)
	_, token := n.register("")
	data := []byte(`{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"` + fields + `}`)
	var source body
	r := httptest.NewRequest("POST", "/v1/screen", &source)
	r.Header.Set("Authorization", "Bearer "+testAdminSecret)
	r.ContentLength = int64(len(data))
	w := &discard{header: http.Header{}}
	handler := n.api.Handler()
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(data)
		r.Body = io.NopCloser(&source)
		clear(w.header)
		handler.ServeHTTP(w, r)
		if w.status != 200 {
			b.Fatal(w.status)
		}
	}
}

func BenchmarkScreen(b *testing.B)     { benchmarkScreen(b, "") }
func BenchmarkScreenName(b *testing.B) { benchmarkScreen(b, `,"cpName":"Paper and Ink Trading"`) }

// BenchmarkScreenServed makes calls over one connection. Besides what BenchmarkScreen
// measures, it includes net/http, the kernel's sockets and a little of the client.
func BenchmarkScreenServed(b *testing.B) {
	n := unlimitedNode(b)
	_, token := n.register("")
	body := `{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"}`
	request := []byte("POST /v1/screen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + testAdminSecret +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := border.NewServer(n.api.Handler(), border.ServerLimits{})
	go server.Serve(listener)
	defer server.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(b, err)
	defer conn.Close()
	answer := make([]byte, 8<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		size, err := conn.Read(answer) // net/http writes it at once.
		if err != nil || !bytes.HasPrefix(answer[:size], []byte("HTTP/1.1 200")) || !bytes.HasSuffix(answer[:size], []byte("}")) {
			b.Fatal(string(answer[:size]), err)
		}
	}
}

// BenchmarkScreenEdge is the edge's own part: everything before the proposal.
func BenchmarkScreenEdge(b *testing.B) {
	n := newTestNode(b)
	_, token := n.register("")
	data := []byte(`{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"}`)
	c := n.api.Begin(&discard{header: http.Header{}}, httptest.NewRequest("POST", "/v1/screen", nil), &border.Route{})
	c.Key = n.api.KeysNow().ByID["key_screener"]
	c.Asked.Caller = &c.Key.Caller
	c.Asked.Body = data
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, c.Asked.Document.Read(data, engine.ScreenValuesMax))
		if c.Judge.Read() != nil {
			b.Fatal("body")
		}
		if _, err := c.Judge.Screen(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuditGet(b *testing.B) {
	n := newTestNode(b)
	n.settings.Keys[0].Rate = -1
	n.reopen(nil)
	_, token := n.register("")
	txn := member(b, n.screen(token, "").Body.Bytes(), "txnId")
	r := httptest.NewRequest("GET", "/v1/audit/"+txn, nil)
	r.Header.Set("Authorization", "Bearer "+testAdminSecret)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		n.api.Handler().ServeHTTP(w, r)
		if w.status != 200 {
			b.Fatal(w.status)
		}
	}
}

// BenchmarkAuditPage: a page of records is the most expensive usual call, and verdicts wait
// for the garbage collection that it causes.
func BenchmarkAuditPage(b *testing.B) {
	n := unlimitedNode(b)
	_, token := n.register("")
	for range 500 {
		require.Equal(b, 200, n.screen(token, "").Code)
	}
	r := httptest.NewRequest("GET", "/v1/audit?limit=500", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+testAdminSecret)
	w := &discard{header: http.Header{}}
	handler := n.api.Handler()
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		if handler.ServeHTTP(w, r); w.status != 200 {
			b.Fatal(w.status)
		}
	}
}

func BenchmarkFindKey(b *testing.B) {
	n := newTestNode(b)
	for i := range 100 {
		n.addKey(testKey("k"+strconv.Itoa(i)), "rg_live_k"+strconv.Itoa(i))
	}
	table := n.api.KeysNow()
	from := n.api.ClientAddress(httptest.NewRequest("GET", "/", nil))
	b.ReportAllocs()
	for b.Loop() {
		if table.Find("rg_live_k50", engine.Time(1), from) == nil {
			b.Fatal("key")
		}
	}
}

// BenchmarkCachedToken measures a verified token that comes again: its prefix is stripped
// and its text is looked up.
func BenchmarkCachedToken(b *testing.B) {
	n := newTestNode(b)
	_, token := n.register("")
	j := &edge.Judge{}
	j.Begin(context.Background(), n.api.Judges(), new(edge.Call))
	sent := "Bearer " + token
	b.SetBytes(int64(len(token)))
	b.ReportAllocs()
	for b.Loop() {
		if _, state, _ := j.Claims(sent); state != engine.TokenGood {
			b.Fatal(state)
		}
	}
}

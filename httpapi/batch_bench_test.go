package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkScreenBatch is BenchmarkScreen for 100 payments in one call. Its figures are per
// call: divide them by 100 for one payment.
func BenchmarkScreenBatch(b *testing.B) {
	n := newTestNode(b)
	n.settings.Keys[0].Rate = -1
	n.reopen(nil)
	_, token := n.register("")
	item := `{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"}`
	data := []byte(`{"payments":[` + strings.Repeat(item+",", 99) + item + `]}`)
	var source body
	r := httptest.NewRequest("POST", "/v1/screen/batch", &source)
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

package console_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// between stands between a browser and the nodes, as a balancer does, and misbehaves on demand.
type between struct {
	*httptest.Server
	mutex sync.Mutex
	cut   int                                   // How many answers of writes are still cut after the node did what was asked.
	only  string                                // What the path of a cut write has in it.
	alter func(path string, body []byte) []byte // Changes answers on their way.
}

// stand starts a balancer before a node.
func stand(t *testing.T, node string) *between {
	b := &between{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: node})
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: b.change,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	b.Server = httptest.NewServer(proxy)
	t.Cleanup(b.Close)
	return b
}

// change cuts or alters an answer.
func (b *between) change(response *http.Response) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	path := response.Request.URL.Path
	if writes := response.Request.Method != http.MethodGet; writes && b.cut > 0 && strings.Contains(path, b.only) {
		b.cut--
		return http.ErrAbortHandler
	}
	if b.alter == nil {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	body = b.alter(path, body)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return nil
}

// cuts lets the answers of the next writes to a path get lost.
func (b *between) cuts(only string, times int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.only, b.cut = only, times
}

// alters changes answers from now on; nil: no more.
func (b *between) alters(change func(path string, body []byte) []byte) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.alter = change
}

// behind opens a window at a balancer.
func (s *site) behind(b *between) *tab {
	w := s.window(0)
	w.before, w.origin = w.origin, b.URL
	return w
}

package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/border"
)

// serveNode puts a node behind a real server on loopback.
func serveNode(t *testing.T, limits border.ServerLimits) (*testNode, string) {
	n := newTestNode(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := border.NewServer(n.api.Handler(), limits)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return n, listener.Addr().String()
}

// raw sends bytes unchanged and reads one answer.
func raw(t *testing.T, addr, request string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// Requests that two parties could read differently are refused (decision 61, no. 18).
func TestSmuggling(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{})
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	host := "Host: x\r\n"
	body := `{"token":"x","amount":1}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"plain":                    {"POST /v1/screen HTTP/1.1\r\n" + host + key + length + "\r\n" + body, 200},
		"chunked":                  {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n18\r\n" + body + "\r\n0\r\n\r\n", 200},
		"chunked and length":       {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n" + body + "\r\n0\r\n\r\n", 200},
		"chunked, too much":        {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n" + chunked(engine.ScreenBodyMax+1), 413},
		"chunked, up to the bound": {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n" + chunked(engine.ScreenBodyMax), 200},
		"chunked, not so":          {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"chunked, with extension":  {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n18;a=b\r\n" + body + "\r\n0\r\n\r\n", 200},
		"chunked, LF behind size":  {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n18\n" + body + "\r\n0\r\n\r\n", 400},
		"chunked, LF and more":     {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n18;\n" + body + "\r\n0\r\n\r\n", 400},
		"chunked, wrong end":       {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n18\r\n" + body + "XX0\r\n\r\n", 400},
		"chunked, oversized":       {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\n\r\n10000000000000018\r\n" + body + "\r\n0\r\n\r\n", 400},
		"two codings":              {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 501},
		"space before the colon":   {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
		"key in a trailer":         {"POST /v1/screen HTTP/1.1\r\n" + host + "Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n" + body + "\r\n0\r\n" + key + "\r\n", 401},
		"CR within a header":       {"GET /v1/health HTTP/1.1\r\n" + host + "X: a\rTransfer-Encoding: chunked\r\n\r\n", 400},
		"gzip":                     {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Transfer-Encoding: gzip\r\n\r\n", 501},
		"two keys":                 {"POST /v1/screen HTTP/1.1\r\n" + host + key + key + length + "\r\n" + body, 400},
		"two content types":        {"POST /v1/screen HTTP/1.1\r\n" + host + key + "Content-Type: a/b\r\nContent-Type: c/d\r\n" + length + "\r\n" + body, 400},
		"two hosts":                {"GET /v1/health HTTP/1.1\r\n" + host + host + "\r\n", 400},
		"two lengths":              {"POST /v1/screen HTTP/1.1\r\n" + host + key + length + "Content-Length: 1\r\n\r\n" + body, 400},
		"absolute form":            {"GET http://other/v1/health HTTP/1.1\r\n" + host + "\r\n", 400},
		"connect":                  {"CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n", 400},
		"trace":                    {"TRACE /v1/health HTTP/1.1\r\n" + host + "\r\n", 405},
		"options *":                {"OPTIONS * HTTP/1.1\r\n" + host + "Content-Length: 0\r\nConnection: close\r\n\r\n", 400},
		"method override":          {"POST /v1/health HTTP/1.1\r\n" + host + "X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n", 405},
		"head of a get":            {"HEAD /livez HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", 200},
		"no body":                  {"POST /v1/screen HTTP/1.1\r\n" + host + key + "\r\n", 400},
		"body longer than allowed": {"POST /v1/screen HTTP/1.1\r\n" + host + key + fmt.Sprintf("Content-Length: %d\r\n\r\n{", engine.ScreenBodyMax+1), 413},
		"headers too large":        {"GET /v1/health HTTP/1.1\r\n" + host + "X-Fill: " + strings.Repeat("a", engine.HeaderMax) + "\r\n\r\n", 431},
		"headers far too large":    {"GET /v1/health HTTP/1.1\r\n" + host + "X-Fill: " + strings.Repeat("a", 4*border.HeaderBytesHard) + "\r\n\r\n", 431},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "head of a get" {
				conn, err := net.Dial("tcp", addr)
				require.NoError(t, err)
				defer conn.Close()
				_, _ = io.WriteString(conn, c.request)
				answer, err := io.ReadAll(conn)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200"))
				require.True(t, strings.HasSuffix(string(answer), "\r\n\r\n"), "no body")
				return
			}
			status, answer := raw(t, addr, c.request)
			require.Equal(t, c.status, status, answer)
		})
	}
}

// chunked makes a screening body of size bytes, in chunks.
func chunked(size int) string {
	body := `{"token":"x","amount":1}`
	body += strings.Repeat(" ", size-len(body))
	var sent strings.Builder
	for len(body) > 0 {
		piece := body[:min(len(body), 5000)]
		fmt.Fprintf(&sent, "%x\r\n%s\r\n", len(piece), piece)
		body = body[len(piece):]
	}
	return sent.String() + "0\r\n\r\n"
}

// After a refused request nothing more is read from its connection: the next bytes may be a
// request hidden in its body.
func TestNoSecondAnswer(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{})
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	hidden := "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, headers := range map[string]string{
		"CL and TE":     "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
		"TE with a tab": "Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n",
		"two keys":      key + "Content-Length: 5\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\n"+key+headers+"\r\n0\r\n\r\n"+hidden)
			require.NoError(t, err)
			answer, _ := io.ReadAll(conn) // A reset after the answer counts as its end.
			require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 "), "%s", answer)
		})
	}
}

// A body that ends early is never taken for a whole one.
func TestTruncatedBody(t *testing.T) {
	n, addr := serveNode(t, border.ServerLimits{})
	size := n.store.Size()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	body := `{"token":"x","amount":1}`
	_, err = fmt.Fprintf(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", testSecret("screener"), len(body)+10, body)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "400 Bad Request")
	require.Equal(t, size, n.store.Size())
}

// When all connections are in use, an idle one is closed for a new caller.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{Connections: 4})
	for range 12 {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
	}
	status, _ := raw(t, addr, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, 200, status)
}

func TestExactPath(t *testing.T) {
	n := newTestNode(t)
	for _, path := range []string{"/v1/health/", "//v1/health", "/v1//health", "/v1/./health", "/v1/x/../health", "/v1/healt%68", "/v1/health%2f",
		"/v1/health;x", "/V1/health", "/v1/audit/", "/v1/audit/a/b/c", "/"} {
		w := n.do("admin", "GET", path, "")
		require.Equal(t, 404, w.Code, path)
		require.Equal(t, "not_found", member(t, w.Body.Bytes(), "code"))
	}
}

func TestRequestID(t *testing.T) {
	n := newTestNode(t)
	for name, c := range map[string]struct{ sent, want string }{
		"echoed":    {"abc-123", `^abc-123$`},
		"too long":  {strings.Repeat("a", border.RequestIDMax+1), `^req_[0-9A-HJKMNP-TV-Z]{26}$`},
		"not plain": {"a\tb", `^req_`},
		"none":      {"", `^req_`},
	} {
		w := n.do("", "GET", "/livez", "", "X-Request-Id", c.sent)
		require.Regexp(t, c.want, w.Header().Get(border.HeaderRequest), name)
		require.Equal(t, "n1", w.Header().Get(border.HeaderNode))
		require.Equal(t, "leader", w.Header().Get(border.HeaderRole))
		require.NotEmpty(t, w.Header().Get(border.HeaderIndex))
	}
}

// When more calls come at once than the node takes, it refuses the surplus, but no reviews
// and no health checks.
func TestOverload(t *testing.T) {
	n := newTestNode(t)
	n.api.InFlight.Store(border.InFlightMax)
	w := n.screen("x", "")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "overloaded", member(t, w.Body.Bytes(), "code"))
	require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
	require.Equal(t, 200, n.do("", "GET", "/v1/health", "").Code)
	require.Equal(t, 404, n.do("reviewer", "POST", "/v1/reviews/txn_zzzzzzzz", `{}`).Code)
	require.Equal(t, int64(border.InFlightMax), n.api.Running())
}

package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/border"
)

func TestEntrance(t *testing.T) {
	e := border.NewEntrance("1.2.3")
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	require.Equal(t, 200, ask("GET", "/livez").Code)
	w := ask("GET", "/readyz")
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "[-]node starting")
	w = ask("POST", "/v1/screen")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
	require.Equal(t, "no_leader", member(t, w.Body.Bytes(), "code"))
	require.Equal(t, "1.2.3", member(t, ask("GET", "/v1/health").Body.Bytes(), "version"))
	e.Open(http.NotFoundHandler())
	require.Equal(t, 404, ask("GET", "/livez").Code)
}

// half opens a connection and sends a whole header and half a body.
func half(t *testing.T, addr, headers string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\n"+headers+"Content-Length: 1000\r\n\r\n{")
	require.NoError(t, err)
	return conn
}

// answers reads everything until the other side closes. It fails if the server waits for
// the body, which net/http's own timeout of ten seconds would end.
func answers(t *testing.T, conn net.Conn) string {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(border.ReadTimeout/2)))
	data, err := io.ReadAll(conn)
	if err != nil {
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is held: %s", data)
	}
	return string(data)
}

// someAnswered waits until count of the connections are closed, with or without an answer. The
// server may have begun them in any order, so it does not matter which of them are closed.
func someAnswered(t *testing.T, conns []net.Conn, count int) {
	t.Helper()
	closed := make(chan struct{}, len(conns))
	for _, conn := range conns {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(border.ReadTimeout/2)))
		go func() {
			if _, err := io.Copy(io.Discard, conn); !errors.Is(err, os.ErrDeadlineExceeded) {
				closed <- struct{}{}
			}
		}()
	}
	for at := range count {
		select {
		case <-closed:
		case <-time.After(border.ReadTimeout/2 + time.Second):
			require.Fail(t, "held", "%d of %d connections were closed", at, count)
		}
	}
}

// A caller that was answered before its body was read cannot hold its connection by never
// sending the rest.
func TestRefusedBeforeItsBodyIsClosed(t *testing.T) {
	t.Parallel()
	_, addr := serveNode(t, border.ServerLimits{})
	for name, c := range map[string]struct{ headers, want string }{
		"no key":     {"", "401 Unauthorized"},
		"wrong role": {"Authorization: Bearer " + testSecret("auditor") + "\r\n", "403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, answers(t, half(t, addr, c.headers)), c.want)
		})
	}
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /v1/health HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	require.NoError(t, err)
	require.Contains(t, answers(t, conn), "200 OK")
}

// A caller that is answered in the middle of its body may send the rest. The connection
// ends afterwards, and no reset loses the answer.
func TestRefusedWhileItSendsReadsItsAnswer(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{})
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	piece := strings.Repeat("a", 100<<10)
	for name, c := range map[string]struct {
		headers, begin, end string
		want                int
	}{
		"too large":          {key + "Content-Length: 204800\r\n", "", "", 413},
		"too large, chunked": {key + "Transfer-Encoding: chunked\r\n", "32000\r\n", "\r\n0\r\n\r\n", 413},
		"no key":             {"Content-Length: 204800\r\n", "", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, conn.SetDeadline(time.Now().Add(border.ReadTimeout/2)))
			_, err = io.WriteString(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\n"+c.headers+"\r\n"+c.begin+piece)
			require.NoError(t, err)
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil) // The answer comes before the body is complete.
			require.NoError(t, err)
			require.Equal(t, c.want, response.StatusCode)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			for _, rest := range []string{piece[1:], piece[:1], c.end} {
				_, err = io.WriteString(conn, rest)
				require.NoError(t, err)
			}
			_, err = reader.ReadByte()
			require.ErrorIs(t, err, io.EOF)
		})
	}
}

// A refused call whose body has arrived keeps its connection: a caller that is told to slow
// down need not open another.
func TestRefusedCallKeepsItsConnection(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{})
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range 3 {
		_, err = io.WriteString(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		require.NoError(t, err)
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		require.Equal(t, 401, response.StatusCode)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
	}
}

// A refusal does not affect later calls on the same connection: the server does not take
// their caller for gone.
func TestCallsAfterARefusedOneAreNotCancelled(t *testing.T) {
	handler := newTestNode(t).api.Handler()
	var cancelled atomic.Int32
	server := border.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Err() != nil {
			cancelled.Add(1)
		}
		handler.ServeHTTP(w, r)
	}), border.ServerLimits{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	const body = `{"token":"x","amount":1}`
	calls := func() error {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		reader := bufio.NewReader(conn)
		for range 150 {
			for key, want := range map[string]int{"": 401, "Authorization: Bearer " + testSecret("screener") + "\r\n": 200} {
				fmt.Fprintf(conn, "POST /v1/screen HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", key, len(body), body)
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					return err
				}
				if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != want {
					return fmt.Errorf("%s: %s, %w", response.Status, text, err)
				}
			}
		}
		return nil
	}
	ended := make(chan error, 8)
	for range cap(ended) {
		go func() { ended <- calls() }()
	}
	for range cap(ended) {
		require.NoError(t, <-ended)
	}
	require.Zero(t, cancelled.Load())
}

// Half-sent bodies hold no place among the node's calls.
func TestHalfABodyIsNoCall(t *testing.T) {
	n, addr := serveNode(t, border.ServerLimits{})
	for range 4 {
		half(t, addr, "Authorization: Bearer "+testSecret("screener")+"\r\n")
	}
	status, _ := raw(t, addr, "POST /v1/screen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+testSecret("screener")+"\r\nContent-Length: 24\r\n\r\n{\"token\":\"x\",\"amount\":1}")
	require.Equal(t, 200, status)
	require.Zero(t, n.api.Running())
}

// Unfinished requests are bounded per address: the oldest is cut off for the newest, and a
// whole request still passes.
func TestUnfinishedRequestsOfOneAddress(t *testing.T) {
	t.Parallel()
	_, addr := serveNode(t, border.ServerLimits{UnfinishedPerAddress: 4})
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	var held []net.Conn
	for range 12 {
		held = append(held, half(t, addr, key))
	}
	status, _ := raw(t, addr, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, 200, status)
	someAnswered(t, held, 7)
}

// Connections are bounded per address, without effect on another's. A trusted proxy's
// connections are not counted; the bodies that it forwards count for their client.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	_, addr := serveNode(t, border.ServerLimits{PerAddress: 3})
	dial := func(from string) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	other := dial("127.0.0.2")
	closed := 0
	var held []net.Conn
	for range 8 {
		held = append(held, dial("127.0.0.1"))
	}
	_, err := io.WriteString(other, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(other), nil)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	for _, conn := range held {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(border.ReadHeaderTimeout/6)))
		if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			closed++
		}
	}
	require.Equal(t, 5, closed)
}

func TestConnectionsBehindAProxy(t *testing.T) {
	t.Parallel()
	proxy := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	_, addr := serveNode(t, border.ServerLimits{PerAddress: 1, UnfinishedPerAddress: 2, TrustedProxies: proxy})
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	var flood []net.Conn
	for range 5 {
		flood = append(flood, half(t, addr, key+"X-Forwarded-For: 192.0.2.1\r\n"))
	}
	someAnswered(t, flood, 3)
	quiet := half(t, addr, key+"X-Forwarded-For: 192.0.2.2\r\n")
	_, err := io.WriteString(quiet, strings.Repeat(" ", 998)+"}")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(quiet), nil)
	require.NoError(t, err)
	require.Equal(t, 400, response.StatusCode, "it is whole, and its own client's")
}

// The error of a body that ends early says nothing of JSON that was never read.
func TestBodyThatNeverComes(t *testing.T) {
	n := newTestNode(t)
	for _, c := range []struct {
		err  error
		want string
	}{{os.ErrDeadlineExceeded, "did not come in time"}, {io.ErrUnexpectedEOF, "ended before it was whole"}} {
		r := httptest.NewRequest("POST", "/v1/screen", io.MultiReader(strings.NewReader("{"), broken{c.err}))
		r.Header.Set("Authorization", "Bearer "+testSecret("screener"))
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r)
		v := answer(t, w, 400)
		require.Equal(t, "bad_request", textOf(v, "code"))
		require.Contains(t, textOf(v, "message"), c.want)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// A caller that is refused while it is still writing gets its answer, not a reset.
func TestRefusedWhileWritingStillReads(t *testing.T) {
	_, addr := serveNode(t, border.ServerLimits{UnfinishedPerAddress: 10})
	for range 5 {
		body := strings.NewReader(strings.Repeat(" ", engine.BodyMax+1))
		r, err := http.NewRequest("POST", "http://"+addr+"/v1/agents/register", body)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+testSecret("operator"))
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, 413, response.StatusCode)
		require.NoError(t, response.Body.Close())
	}
}

// Every answer has its length and is not sent in chunks: short or long, whoever wrote it,
// whether the call's body was read or not.
func TestAnswersTellTheirLength(t *testing.T) {
	n, addr := serveNode(t, border.ServerLimits{})
	_, token := n.register("")
	key := "Authorization: Bearer " + testSecret("screener") + "\r\n"
	post := func(path, headers, body string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	payment := `{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"}`
	for name, test := range map[string]struct {
		request string
		status  int
		long    bool
	}{
		"a verdict":  {post("/v1/screen", key, payment), 200, false},
		"a batch":    {post("/v1/screen/batch", key, `{"payments":[`+strings.Repeat(payment+",", 9)+payment+`]}`), 200, true},
		"wrong body": {post("/v1/screen", key, `{"token":1}`), 400, false},
		"body left":  {post("/v1/screen", "", payment), 401, false},
		"no body":    {"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n", 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, test.request)
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, test.status, response.StatusCode, string(body))
			require.Empty(t, response.TransferEncoding)
			require.Equal(t, []string{strconv.Itoa(len(body))}, response.Header["Content-Length"])
			require.Equal(t, test.long, len(body) > border.LengthByServer, len(body))
		})
	}
}

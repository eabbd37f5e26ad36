package border

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Handlers in front of the API obey the same rule: after a body in chunks, which may also
// have carried a length, nothing more is read from the connection.
func TestNoSecondAnswerOfGuests(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), ServerLimits{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	for _, headers := range []string{"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: x\r\n"+headers+"\r\n2\r\n{}\r\n0\r\n\r\nGET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		answer, _ := io.ReadAll(conn)
		require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 "), "%s", answer)
		require.Contains(t, string(answer), "Connection: close")
	}
}

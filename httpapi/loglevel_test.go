package httpapi

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each call logs one line, with its ids and the caller's trace id, without the parties'
// data. A successful call is logged at debug only; the level can change while the node
// runs.
func TestLogLevelAndRequestLine(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, 404, n.doAdmin("GET", "/admin/log-level", "").Code, "nobody gave it a level to change")
	var said bytes.Buffer
	level := new(slog.LevelVar)
	n.reopen(func(d *Deps) {
		d.Logger, d.LogLevel = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: level})), level
	})
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	screen := func() string {
		said.Reset()
		r := httptest.NewRequest("POST", "/v1/screen", strings.NewReader(`{"token":"`+token+`","amount":777.25,"cpName":"Zebulon Quist"}`))
		r.Header.Set("Authorization", "Bearer "+testSecret("screener"))
		r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r)
		require.Equal(t, 200, w.Code, w.Body)
		return said.String()
	}
	require.Empty(t, screen())

	for body, code := range map[string]int{`{}`: 422, `{"level":"loud"}`: 422, `{"level":"INFO"}`: 422, `{"level":"debug","x":1}`: 422, `{"level":7}`: 422} {
		require.Equal(t, code, n.doAdmin("POST", "/admin/log-level", body).Code, body)
		require.Equal(t, slog.LevelInfo, level.Level(), body)
	}
	v := answer(t, n.doAdmin("POST", "/admin/log-level", `{"level":"debug"}`), 200)
	require.Equal(t, "debug", string(v.GetStringBytes("level")))
	v = answer(t, n.doAdmin("GET", "/admin/log-level", ""), 200)
	require.Equal(t, "debug", string(v.GetStringBytes("level")))

	line := screen()
	require.Equal(t, 1, strings.Count(line, "\n"), line)
	require.Contains(t, line, "traceId="+trace)
	require.Contains(t, line, "requestId=req_")
	require.Contains(t, line, "txnId=txn_")
	for _, private := range []string{"Zebulon", "Quist", "777.25", token, testSecret("screener")} {
		require.False(t, strings.Contains(line, private), "%s in %s", private, line)
	}
}

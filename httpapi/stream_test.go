package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// lineCaller is a caller of a stream: it sends lines and reads answers at the same time.
type lineCaller struct {
	t      *testing.T
	body   *io.PipeWriter
	answer *http.Response
	lines  *bufio.Scanner
}

// openLines opens a stream at a node that listens, over HTTP/1.1 or, if twice is set, HTTP/2.
func openLines(t *testing.T, server *httptest.Server, role string, header http.Header) *lineCaller {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/screen/stream", reader)
	require.NoError(t, err)
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer "+testSecret(role))
	r.Header.Set("Content-Type", border.LinesType[0])
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = writer.Close(), answer.Body.Close() })
	return &lineCaller{t: t, body: writer, answer: answer, lines: bufio.NewScanner(answer.Body)}
}

// serveStreams serves a node as its program does, with its timeouts.
func serveStreams(t *testing.T, n *testNode, twice bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = border.NewServer(n.api.Handler(), border.ServerLimits{})
	if twice {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

func (l *lineCaller) send(lines string) {
	l.t.Helper()
	_, err := io.WriteString(l.body, lines)
	require.NoError(l.t, err)
}

// next returns the next line that is not empty; nil at the end of the answer.
func (l *lineCaller) next() *fastjson.Value {
	l.t.Helper()
	for l.lines.Scan() {
		if len(l.lines.Bytes()) > 0 {
			return fastjson.MustParseBytes(slices.Clone(l.lines.Bytes()))
		}
	}
	return nil
}

// rest reads to the end. It returns the answers by their lines, and the last line.
func (l *lineCaller) rest() (answers map[int]*fastjson.Value, end *fastjson.Value) {
	l.t.Helper()
	answers = make(map[int]*fastjson.Value)
	for {
		line := l.next()
		require.NotNil(l.t, line, "the stream broke off: %v", l.lines.Err())
		if end = line.Get("end"); end != nil {
			require.Nil(l.t, l.next(), "nothing comes after the end")
			return answers, end
		}
		number := line.GetInt("line")
		require.NotContains(l.t, answers, number, "answered twice")
		answers[number] = line
	}
}

// Each line is answered while the stream is open, and what is wrong with one is its own.
func TestStreamAnswersEachLineAsItComes(t *testing.T) {
	for name, twice := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newTestNode(t)
			_, token := n.register("")
			s := openLines(t, serveStreams(t, n, twice), "screener", nil)
			require.Equal(t, name == "HTTP/2", s.answer.ProtoMajor == 2)
			for number, c := range []struct {
				line   string
				status int
				want   string
			}{
				{payment(token, `,"idempotencyKey":"a"`), 200, "PROCEED"},
				{payment(token, `,"idempotencyKey":"a"`), 200, "PROCEED"},
				{payment("x", ""), 200, "UNKNOWN"},
				{"\n\r\n" + payment(token, "") + "\r", 200, "PROCEED"},
				{`{"token":"x",`, 400, "invalid_json"},
				{`[1]`, 400, "invalid_json"},
				{payment(token, "") + payment(token, ""), 400, "invalid_json"},
				{`{"token":"x"}`, 400, "missing_amount"},
				{payment(token, `,"idempotencyKey":7`), 400, "invalid_field"},
				{payment(token, `,"cpName":"`+strings.Repeat("x", engine.ScreenBodyMax)+`"`), 413, "payload_too_large"},
				{payment(token, `,"cpName":"`+strings.Repeat("x", 1<<20)+`"`), 413, "payload_too_large"},
				{payment(token, ""), 200, "PROCEED"},
			} {
				s.send(c.line + "\n")
				got := s.next()
				want := number + 1
				if number >= 3 {
					want += 2 // Two empty lines.
				}
				require.Equal(t, want, got.GetInt("line"))
				require.Equal(t, c.status, got.GetInt("status"), "%.200s: %s", c.line, got)
				require.Equal(t, c.want, string(got.GetStringBytes("verdict"))+string(got.GetStringBytes("code")))
				require.Equal(t, number == 1, got.GetBool("replayed"))
			}
			s.send(payment(token, "")) // The last line needs no line feed.
			require.NoError(t, s.body.Close())
			answers, end := s.rest()
			require.Len(t, answers, 1)
			require.Equal(t, "PROCEED", string(answers[15].GetStringBytes("verdict")))
			require.Equal(t, `{"lines":15,"code":"complete"}`, end.String())
			require.Zero(t, n.api.Large.Held.Load())
			require.Zero(t, n.api.InFlight.Load())
			require.Empty(t, n.api.Idempotent.Running)
		})
	}
}

// A body that is there at once is answered, too, and each line gets what a call of its own gets.
func TestStreamOfAFile(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	items := []string{payment(token, ""), payment("x", ""), `{}`, `{"token":7,"amount":1}`, payment(token, `,"cp_name":"x"`), payment(token, `,"strange":{"a":1}`)}
	w := n.do("screener", "POST", "/v1/screen/stream", strings.Join(items, "\n"))
	require.Equal(t, 200, w.Code, w.Body)
	require.Equal(t, border.LinesType[0], w.Header().Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	require.Len(t, lines, len(items)+1)
	for _, line := range lines[:len(items)] {
		got := fastjson.MustParse(line)
		item := items[got.GetInt("line")-1]
		single := n.do("screener", "POST", "/v1/screen", item)
		want := fastjson.MustParseBytes(single.Body.Bytes())
		require.Equal(t, single.Code, got.GetInt("status"))
		for _, name := range []string{"code", "message", "param", "verdict", "rule", "reason", "agentName", "warnings", "didYouMean"} {
			require.Equal(t, fmt.Sprint(want.Get(name)), fmt.Sprint(got.Get(name)), item)
		}
	}
	require.Equal(t, `{"end":{"lines":6,"code":"complete"}}`, lines[len(items)])
}

// Streams that run at once cannot spend more than the limit, and every line is answered once.
func TestStreamsKeepTheLimit(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"dailyLimitUSDC":500}`)
	server := serveStreams(t, n, false)
	const streams, each = 4, 400
	var mutex sync.Mutex
	verdicts := make(map[string]int)
	var all sync.WaitGroup
	for stream := range streams {
		all.Go(func() {
			var left []int
			for i := range each {
				left = append(left, stream*each+i)
			}
			for round := 0; len(left) > 0 && round < 50; round++ { // What a slow machine refuses comes again, with its key.
				s := openLines(t, server, "screener", nil)
				sent := left
				go func() {
					for _, i := range sent {
						_, _ = io.WriteString(s.body, payment(token, `,"idempotencyKey":"`+strconv.Itoa(i)+`"`)+"\n")
					}
					_ = s.body.Close()
				}()
				answers, end := s.rest()
				left = nil
				mutex.Lock()
				if string(end.GetStringBytes("code")) == "complete" && len(answers) != len(sent) {
					verdicts["missing"]++
				}
				for line, i := range sent {
					answer := answers[line+1]
					if status := answer.GetInt("status"); answer == nil || status == 429 || status == 503 {
						left = append(left, i)
						continue
					}
					verdicts[string(answer.GetStringBytes("verdict"))]++
				}
				mutex.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{"PROCEED": 500, "REVIEW": streams*each - 500}, verdicts)
}

// A line that had not come whole when the connection broke is nothing.
func TestStreamThatBreaksMakesNoHalfPayment(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	_, token := n.register("")
	s := openLines(t, serveStreams(t, n, false), "screener", nil)
	s.send(payment(token, "") + "\n")
	require.Equal(t, 1, s.next().GetInt("line"))
	made := n.Applied()
	s.send(payment(token, "")) // Whole JSON, but its line has no end.
	s.body.CloseWithError(io.ErrUnexpectedEOF)
	require.Eventually(t, func() bool { return n.api.InFlight.Load() == 0 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, made, n.Applied())
}

// A stream ends, with its reason, when the node leaves and when its key ends; what was read before has
// its answer.
func TestStreamIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(n *testNode)
		code string
	}{
		"leaving": {func(n *testNode) { n.api.SetLeaving() }, "shutting_down"},
		"revoked": {func(n *testNode) {
			n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_gone"}})
		}, "unauthorized"},
	} {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprint(name, twice), func(t *testing.T) {
				t.Parallel()
				n := newTestNode(t)
				n.addKey(wire.APIKey{ID: "key_gone", Roles: wire.RoleScreener}, testSecret("gone"))
				s := openLines(t, serveStreams(t, n, twice), "gone", nil)
				s.send(payment("x", "") + "\n")
				require.Equal(t, "UNKNOWN", string(s.next().GetStringBytes("verdict")))
				s.send(payment("x", "")) // Whole JSON, but its line has no end: it may have been cut.
				c.end(n)
				answers, end := s.rest()
				require.Empty(t, answers)
				require.Equal(t, c.code, string(end.GetStringBytes("code")))
				require.Equal(t, 1, end.GetInt("lines"))
			})
		}
	}
}

// No line is judged with a key that the log knows to have ended.
func TestStreamKeyRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_gone", Roles: wire.RoleScreener}, testSecret("gone"))
	s := openLines(t, serveStreams(t, n, false), "gone", nil)
	n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_gone"}})
	made := n.Applied()
	s.send(payment("x", "") + "\n")
	got := s.next()
	require.Equal(t, 401, got.GetInt("status"), got)
	require.Equal(t, made, n.Applied())
}

// The rate of the key slows a stream down and refuses nothing that comes in time.
func TestStreamWaitsForTheRate(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	key := testKey("slow")
	key.Rate, key.Roles = 40, wire.RoleScreener
	n.addKey(key, testSecret("slow"))
	s := openLines(t, serveStreams(t, n, false), "slow", nil)
	began := time.Now()
	s.send(strings.Repeat(payment("x", "")+"\n", 160)) // 80 are the burst; 5 have paid for the opening.
	require.NoError(t, s.body.Close())
	answers, _ := s.rest()
	require.Len(t, answers, 160)
	for _, answer := range answers {
		require.Equal(t, 200, answer.GetInt("status"), answer)
	}
	require.Greater(t, time.Since(began), 1900*time.Millisecond, "they came faster than the key allows")
}

// A line says of itself what is known: the log may have it, or surely not.
func TestStreamOutcomes(t *testing.T) {
	n := newTestNode(t)
	fails := error(nil)
	n.many = func(bodies [][]byte) ([]wire.Result, []error) {
		n.readError = wire.ErrNoLeader
		return make([]wire.Result, len(bodies)), slices.Repeat([]error{fails}, len(bodies))
	}
	for err, want := range map[error]string{wire.ErrUnknown: "unknown", wire.ErrOverloaded: "none", wire.ErrNoQuorum: "none"} {
		fails, n.readError = err, nil
		w := n.do("screener", "POST", "/v1/screen/stream", payment("x", ""))
		line, _, _ := strings.Cut(w.Body.String(), "\n")
		require.Equal(t, want, string(fastjson.MustParse(line).GetStringBytes("outcome")), line)
	}
}

// A panic breaks the stream, so that no line looks answered, and the node lives.
func TestStreamThatPanics(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	n.before = func(wire.Kind) { panic("of the tests") }
	s := openLines(t, serveStreams(t, n, false), "screener", nil)
	s.send(payment("x", "") + "\n")
	require.Nil(t, s.next())
	require.Error(t, s.lines.Err())
	require.Eventually(t, func() bool { return n.api.InFlight.Load() == 0 }, 10*time.Second, 5*time.Millisecond)
	n.before = nil
	require.Equal(t, 200, n.do("screener", "POST", "/v1/screen", payment("x", "")).Code)
}

// The streams of one key, and the memory of all, are bounded.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	server := serveStreams(t, n, true)
	for range border.DuplexesOfOneKey {
		require.Equal(t, 200, openLines(t, server, "screener", nil).answer.StatusCode)
	}
	more := openLines(t, server, "screener", nil)
	require.Equal(t, 503, more.answer.StatusCode)
	n.api.Large.Held.Add(border.BatchBytesMax)
	require.Equal(t, 503, openLines(t, server, "admin", nil).answer.StatusCode)
	n.api.Large.Held.Add(-border.BatchBytesMax)
	require.Equal(t, 415, openLines(t, server, "admin", http.Header{"Content-Encoding": {"gzip"}}).answer.StatusCode)
	require.Equal(t, 400, openLines(t, server, "admin", http.Header{"Idempotency-Key": {"a"}}).answer.StatusCode)
	require.Equal(t, 403, openLines(t, server, "auditor", nil).answer.StatusCode)
	require.Equal(t, 400, openLines(t, server, "admin", http.Header{"X-Railguard-Strict": {"maybe"}}).answer.StatusCode)
}

package clients

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/cluster/testcluster"
)

// streamJob is what drive.py and drive.ts are told to stream.
type streamJob struct {
	URLs      []string `json:"urls"`
	Key       string   `json:"key"`
	Token     string   `json:"token"`
	Prefix    string   `json:"prefix"`
	Payments  int      `json:"payments"`
	Attempts  int      `json:"attempts"`
	Window    int      `json:"window"`
	StopAfter int      `json:"stopAfter"`
	Alive     bool     `json:"alive"` // Be fast with the line that keeps a stream open.
	Fail      bool     `json:"fail"`  // The source throws behind its last payment.
}

// streamed is what they tell.
type streamed struct {
	Rows []struct {
		N                         int
		Told, Outcome, Key, TxnID string
		Attempts                  int
	}
	Read, Ahead, Left int // Payments read, the most that were read and not yielded, what was left running.
	Failed            string
}

// lineServer is a server of streams that misbehaves as a case says.
type lineServer struct {
	serve func(s *served)

	mu    sync.Mutex
	opens int
	lines map[string][]string // What came for each payment, by its number.
	gone  atomic.Bool         // A caller closed its connection while it was served.
}

// served is one stream under way.
type served struct {
	server  *lineServer
	open    int    // The number of the connection, from 1.
	address string // The part of its path that names the address.
	w       http.ResponseWriter
	r       *http.Request
	body    *bufio.Scanner
	line    int
}

func (l *lineServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.opens++
	s := &served{server: l, open: l.opens, address: strings.Split(r.URL.Path, "/")[1], w: w, r: r, body: bufio.NewScanner(r.Body)}
	l.mu.Unlock()
	_ = http.NewResponseController(w).EnableFullDuplex()
	l.serve(s)
}

// begin sends the head.
func (s *served) begin() { s.say("") }

func (s *served) say(format string, words ...any) {
	_, _ = fmt.Fprintf(s.w, format, words...)
	_ = http.NewResponseController(s.w).Flush()
}

// breakOff closes the connection, and does not wait for the end of the body as net/http does by itself.
func (s *served) breakOff() {
	_ = http.NewResponseController(s.w).SetReadDeadline(time.Now())
	panic(http.ErrAbortHandler)
}

// next reads the next payment, and returns its line and its number; 0 at the end.
func (s *served) next() (line, number int) {
	for s.body.Scan() {
		s.line++
		if s.body.Text() == "" {
			continue
		}
		var payment struct{ CPName string }
		if json.Unmarshal(s.body.Bytes(), &payment) != nil {
			panic(http.ErrAbortHandler)
		}
		s.server.mu.Lock()
		s.server.lines[payment.CPName] = append(s.server.lines[payment.CPName], s.body.Text())
		s.server.mu.Unlock()
		number, _ = strconv.Atoi(payment.CPName)
		return s.line, number
	}
	return 0, 0
}

func (s *served) verdict(line, number int) {
	s.say(`{"line":%d,"status":200,"verdict":"PROCEED","txnId":"txn_%d"}`+"\n", line, number)
}

// refuse answers a line with an error, which has the outcome none unless its status is 500.
func (s *served) refuse(line, status int, code string) {
	s.say(`{"line":%d,"status":%d,"code":%q,"outcome":"none"}`+"\n", line, status, code)
}

// rest answers everything that comes, and ends as the service does.
func (s *served) rest() {
	for line, number := s.next(); line > 0; line, number = s.next() {
		s.verdict(line, number)
	}
	s.end(s.line, "complete")
}

func (s *served) end(lines int, code string) {
	s.say(`{"end":{"lines":%d,"code":%q}}`+"\n", lines, code)
}

// some answers that many payments.
func (s *served) some(count int) {
	for range count {
		s.verdict(s.next())
	}
}

func unauthorized(s *served) {
	s.w.WriteHeader(http.StatusUnauthorized)
	s.say(`{"code":"unauthorized","message":"no"}`)
}

// streamCase is one way of a server to behave. told says what comes of a payment, if not a verdict.
type streamCase struct {
	serve     func(s *served)
	told      map[int]string // Code and outcome.
	all       string         // The same of all of them.
	addresses int            // 0: one. Below 0: that many, and before them one that nobody listens on.
	payments  int            // 0: 20.
	stopAfter int
	alive     bool
	fail      bool
	twice     []int // Payments that are sent twice; no other is.
	opens     int   // Connections; 0: not counted.
}

const streamAhead = 8

var streamCases = map[string]streamCase{
	"answers all":   {serve: func(s *served) { s.begin(); s.rest() }, opens: 1},
	"takes none":    {serve: unauthorized, payments: -1},
	"out of order":  {serve: backwards, opens: 1},
	"breaks":        {serve: breaks, twice: []int{3, 4}, opens: 2},
	"shuts down":    {serve: shutsDown, addresses: 2, twice: []int{3, 4}, opens: 2},
	"answers again": {serve: answersAgain, told: map[int]string{4: "no_rail unknown", 5: "bad_field none"}, twice: []int{2, 4}, opens: 1},
	"never takes one": {serve: func(s *served) {
		s.begin()
		for line, number := s.next(); line > 0; line, number = s.next() {
			if number == 1 {
				s.refuse(line, 503, "overloaded")
			} else {
				s.verdict(line, number)
			}
		}
		s.end(s.line, "complete")
	}, told: map[int]string{1: "overloaded none"}},
	"refuses":     {serve: unauthorized, all: "unauthorized none", opens: 1},
	"is away":     {serve: func(s *served) { s.breakOff() }, all: "no_answer none", opens: 3},
	"nobody":      {addresses: -1, all: "unreachable none"},
	"the second":  {serve: func(s *served) { s.begin(); s.rest() }, addresses: -2, opens: 1},
	"breaks once": {serve: breaksAndRefuses, all: "unauthorized none", told: map[int]string{0: "unauthorized unknown", 1: "unauthorized unknown"}, opens: 2},
	"speaks nonsense": {serve: func(s *served) {
		s.begin()
		if s.open == 1 {
			s.some(2)
			s.next()
			s.verdict(99, 0)
		}
		s.rest()
	}},
	"is left": {serve: func(s *served) {
		s.begin()
		s.some(4)
		for s.body.Scan() { // Until the connection ends.
		}
		s.server.gone.Store(true)
	}, stopAfter: 2, opens: 1},
	"is quiet": {serve: func(s *served) {
		s.begin()
		for range 3 {
			s.next()
		}
		if s.body.Scan() && s.body.Text() == "" { // The line that keeps the stream open.
			for line := range 3 {
				s.verdict(line+1, line)
			}
			s.line++
			s.rest()
		}
	}, payments: 3, alive: true, opens: 1},
	"has a bad source": {serve: func(s *served) { s.begin(); s.rest() }, fail: true, opens: 1},
}

// backwards answers four lines at a time, the last one first, and empty lines between them.
func backwards(s *served) {
	s.begin()
	var held [][2]int
	for line, number := s.next(); line > 0; line, number = s.next() {
		if held = append(held, [2]int{line, number}); len(held) == 4 {
			for _, one := range slices.Backward(held) {
				s.say("\n")
				s.verdict(one[0], one[1])
			}
			held = nil
		}
	}
	s.end(s.line, "complete")
}

// breaks leaves two lines without an answer, and their caller without the last line.
func breaks(s *served) {
	s.begin()
	if s.open == 1 {
		s.some(3)
		s.next()
		s.next()
		s.breakOff()
	}
	s.rest()
}

// shutsDown reads five lines, takes three, and says so. The other address takes the rest.
func shutsDown(s *served) {
	s.begin()
	switch {
	case s.open == 1:
		s.some(3)
		s.next()
		s.next()
		s.end(3, "shutting_down")
	case s.address == "b":
		s.rest()
	}
}

// answersAgain takes one payment at the second attempt, and refuses another one after an outcome that is unknown.
func answersAgain(s *served) {
	s.begin()
	times := map[int]int{}
	for line, number := s.next(); line > 0; line, number = s.next() {
		times[number]++
		switch {
		case number == 2 && times[2] == 1:
			s.refuse(line, 503, "overloaded")
		case number == 4 && times[4] == 1:
			s.refuse(line, 500, "internal_error")
		case number == 4:
			s.refuse(line, 422, "no_rail")
		case number == 5:
			s.refuse(line, 400, "bad_field")
		default:
			s.verdict(line, number)
		}
	}
	s.end(s.line, "complete")
}

// breaksAndRefuses reads two lines, breaks, and knows its caller no more.
func breaksAndRefuses(s *served) {
	if s.open > 1 {
		unauthorized(s)
		return
	}
	s.begin()
	s.next()
	s.next()
	s.breakOff()
}

// TestStreamOfEachLanguage: whatever becomes of the connections, each payment that was read is yielded once, with
// what is known of it, and is sent with the same bytes whenever it is sent.
func TestStreamOfEachLanguage(t *testing.T) {
	for _, l := range languages[1:] { // Go's stream has its tests beside it.
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			names := slices.Sorted(maps.Keys(streamCases))
			servers := make([]*lineServer, len(names))
			var jobs []streamJob
			for i, name := range names {
				c := streamCases[name]
				servers[i] = &lineServer{serve: c.serve, lines: map[string][]string{}}
				listening := httptest.NewServer(servers[i])
				t.Cleanup(listening.Close)
				job := streamJob{URLs: c.urls(t, listening.URL), Key: "rg_test", Token: "t", Prefix: "k", Attempts: 3, Window: streamAhead, StopAfter: c.stopAfter, Alive: c.alive, Fail: c.fail}
				job.Payments = max(0, c.payments)
				if c.payments == 0 {
					job.Payments = 20
				}
				jobs = append(jobs, job)
			}
			told := l.stream(t, jobs)
			for i, name := range names {
				t.Run(name, func(t *testing.T) {
					c := streamCases[name]
					c.require(t, servers[i], &jobs[i], &told[i])
				})
			}
		})
	}
}

// stream has a program of the language make streams, one after the other.
func (l *language) stream(t *testing.T, jobs []streamJob) (told []streamed) {
	work := struct {
		Do   string      `json:"do"`
		Jobs []streamJob `json:"jobs"`
	}{"stream", jobs}
	require.NoError(t, run(t.Context(), l.command(t, "drive"), work, &told))
	require.Len(t, told, len(jobs))
	return told
}

func (c *streamCase) urls(t *testing.T, url string) (urls []string) {
	count := max(c.addresses, 1)
	if c.addresses < 0 {
		away, err := testcluster.FreePorts(1)
		require.NoError(t, err)
		urls, count = []string{"http://" + away[0]}, -c.addresses-1
	}
	for i := range count {
		urls = append(urls, url+"/"+string(rune('a'+i)))
	}
	return urls
}

func (c *streamCase) require(t *testing.T, server *lineServer, job *streamJob, told *streamed) {
	require.LessOrEqual(t, told.Ahead, streamAhead, "the source was read further than the window")
	require.Zero(t, told.Left, "something still runs")
	require.Equal(t, c.fail, told.Failed == "source")
	if c.opens > 0 {
		require.Equal(t, c.opens, server.opens)
	}
	if c.stopAfter > 0 {
		require.Len(t, told.Rows, c.stopAfter)
		require.Eventually(t, server.gone.Load, 10*time.Second, time.Millisecond, "the connection stays open")
		return
	}
	if c.all != "" {
		require.LessOrEqual(t, told.Read, streamAhead+1, "the source was read after the end")
		require.NotEmpty(t, told.Rows)
	} else {
		require.Len(t, told.Rows, job.Payments)
	}
	seen := map[int]bool{}
	for _, row := range told.Rows {
		require.False(t, seen[row.N], "%d is yielded twice", row.N)
		seen[row.N] = true
		got := strings.TrimSpace(row.Told + " " + row.Outcome)
		switch want := c.told[row.N]; {
		case want != "":
			require.Equal(t, want, got, row.N)
		case c.all != "" && c.told != nil: // It was perhaps sent with the others.
			require.Contains(t, []string{c.all, strings.Replace(c.all, "none", "unknown", 1)}, got)
		case c.all != "":
			require.Equal(t, c.all, got)
		default:
			require.Equal(t, "PROCEED txn_"+strconv.Itoa(row.N), got+" "+row.TxnID)
		}
		require.NotEmpty(t, row.Key)
		lines := server.lines[strconv.Itoa(row.N)]
		require.Len(t, slices.Compact(slices.Clone(lines)), min(len(lines), 1), "another line with the same key")
		for _, line := range lines {
			require.Contains(t, line, `"idempotencyKey":"`+row.Key+`"`)
		}
		if c.twice != nil {
			require.Equal(t, slices.Contains(c.twice, row.N), len(lines) > 1, "%d was sent %d times", row.N, len(lines))
		}
	}
}

// cutter is a proxy that cuts each of the first connections after some bytes of the answer.
func cutter(t *testing.T, address string, cuts int64) (url string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	var connections atomic.Int64
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer caller.Close()
				node, err := net.Dial("tcp", address)
				if err != nil {
					return
				}
				defer node.Close()
				go func() { _, _ = io.Copy(node, caller) }()
				var answer io.Reader = node
				if connections.Add(1) <= cuts {
					answer = io.LimitReader(node, 8<<10)
				}
				_, _ = io.Copy(caller, answer)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

const streamPayments = 200

// TestStreamsOfEachLanguage: at a real node, whose connections break again and again, each payment is made once.
func TestStreamsOfEachLanguage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	servers := startCluster(t, 1)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	for _, l := range languages[1:] {
		t.Run(l.name, func(t *testing.T) {
			agent, err := rail.Register(t.Context(), &client.Agent{AgentName: l.name, AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "streams"})
			require.NoError(t, err)
			job := streamJob{
				URLs: []string{cutter(t, servers.Nodes[0].HTTP, 5)}, Key: servers.Key, Token: agent.Token, Prefix: l.name,
				Payments: streamPayments, Attempts: 8, Window: 32,
			}
			told := l.stream(t, []streamJob{job})[0]
			require.Len(t, told.Rows, streamPayments)
			made := map[string]bool{}
			for _, row := range told.Rows {
				require.Equal(t, "PROCEED", row.Told, row)
				made[row.TxnID] = true
			}
			require.Len(t, made, streamPayments)
			limits := new(client.Limits)
			require.NoError(t, rail.Call(t.Context(), http.MethodGet, "/v1/agents/"+agent.AgentID+"/limits?consistency=leader", nil, "", limits))
			require.Equal(t, client.USD(streamPayments*100_000), limits.SpentUSDC)
		})
	}
}

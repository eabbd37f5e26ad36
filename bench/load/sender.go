package load

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const (
	pagesRate    = 1000 // The most expensive calls a second on another key, five times as many as its rate allows.
	namesRate    = 1000 // Screening calls with dear names a second of another tenant.
	floodCallers = 64
	orderMax     = 1 << 20
)

// floodOrder says what a sender sends. The secrets come in a body, because everybody on the
// machine may read a command line.
type floodOrder struct {
	Kind  string   `json:"kind"` // "dear": pages and searches; "names" and "plain": screening calls with dear and with ordinary names.
	Homes []string `json:"homes"`
	Key   string   `json:"key"`
	Token string   `json:"token"` // The credential that pays, for names.
}

// floodResult is what became of the calls of one flood.
type floodResult struct {
	Answered int64   `json:"answered"`
	Limited  int64   `json:"limited"`    // 429: the key is above its share.
	Busy     int64   `json:"busy"`       // 503: too much work of its owner waits.
	Failed   int64   `json:"failed"`     // Anything else.
	Seconds  float64 `json:"seconds"`    // How long the flood lasted.
	CPU      float64 `json:"cpuSeconds"` // What the sender itself used of the machine's processors.
}

// ServeFloods sends floods when it is told to, until the context ends. It is a process of its own:
// in the process that measures, a flood's callers would delay the goroutines whose times are
// taken, and its garbage would be collected beside them.
func ServeFloods(ctx context.Context, listen string) error {
	var s sender
	server := &http.Server{ReadHeaderTimeout: childPatient, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = struct{}{}
		var err error
		switch r.URL.Path {
		case "/begin":
			var order floodOrder
			if err = json.NewDecoder(http.MaxBytesReader(w, r.Body, orderMax)).Decode(&order); err == nil {
				err = s.begin(ctx, &order)
			}
		case "/end":
			answer, err = s.end()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(answer) // A caller that is gone needs no answer.
	})}
	return serveUntil(ctx, server, listen)
}

// sender sends one flood at a time.
type sender struct {
	mutex sync.Mutex
	now   *flood // nil: it is idle.
}

// flood is a load under way.
type flood struct {
	run                     *running
	stop                    context.CancelFunc
	over                    chan struct{}
	before                  usage
	answered, limited, busy atomic.Int64
}

var (
	errSending = errors.New("a flood is under way already")
	errIdle    = errors.New("no flood is under way")
	errKind    = errors.New("there is no such flood")
)

// begin begins a flood, when its callers are connected.
func (s *sender) begin(ctx context.Context, order *floodOrder) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.now != nil {
		return errSending
	}
	l := load{name: order.Kind, callers: floodCallers, span: time.Hour, greet: true}
	switch order.Kind {
	case "dear":
		l.rate, l.make = pagesRate, dearPages(order.Key)
	case "names":
		l.rate, l.make = namesRate, freshNames(order.Key, order.Token, appendDearName)
	case "plain":
		l.rate, l.make = namesRate, freshNames(order.Key, order.Token, appendName)
	default:
		return errKind
	}
	for _, text := range order.Homes {
		home, err := parseEndpoint(text)
		if err != nil {
			return err
		}
		l.homes = append(l.homes, home)
	}
	if len(l.homes) == 0 {
		return errKind
	}
	f := &flood{over: make(chan struct{})}
	l.accept = f.count
	var during context.Context
	during, f.stop = context.WithCancel(ctx)
	f.before, _ = processUsage(os.Getpid()) // Where the system does not tell it, it is nothing.
	f.run = new(bench).gather(&l)
	f.run.begins()
	go func() {
		defer close(f.over)
		_ = f.run.open(during) // It ends with its context alone.
	}()
	s.now = f
	return nil
}

// count counts an answer. A refusal is what a flood is to get.
func (f *flood) count(got reply) string {
	switch got.status {
	case http.StatusOK:
		f.answered.Add(1)
		return ""
	case http.StatusTooManyRequests:
		f.limited.Add(1)
		return ""
	case http.StatusServiceUnavailable:
		f.busy.Add(1)
		return ""
	}
	return acceptOK(got)
}

// end ends the flood and returns what became of it.
func (s *sender) end() (*floodResult, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	f := s.now
	if f == nil {
		return nil, errIdle
	}
	s.now = nil
	f.stop()
	<-f.over
	for _, c := range f.run.callers {
		c.link.close()
	}
	result := &floodResult{
		Answered: f.answered.Load(), Limited: f.limited.Load(), Busy: f.busy.Load(), Failed: f.run.failed.Load(),
		Seconds: time.Since(f.run.begin).Seconds(),
	}
	if after, err := processUsage(os.Getpid()); err == nil {
		result.CPU = after.since(f.before).cpu.Seconds()
	}
	return result, nil
}

// dearPages makes the most expensive calls that a key may make: pages and searches.
func dearPages(key string) maker {
	dear := []string{"/v1/agents?limit=500", "/v1/audit?limit=500", "/v1/agents?limit=500&status=SUSPENDED"}
	return func(_ *caller, serial uint64, out []byte) []byte {
		out = append(append(out, "GET "...), dear[serial%uint64(len(dear))]...)
		return append(append(append(out, " HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer "...), key...), "\r\n\r\n"...)
	}
}

// freshNames makes screening calls, each with a name of its own.
func freshNames(key, token string, appendOne func(out []byte, number uint64) []byte) maker {
	head := "POST /v1/screen HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/json\r\nContent-Length: "
	return func(_ *caller, serial uint64, out []byte) []byte {
		name := appendOne(nil, serial)
		size := len(`{"token":"","amount":1,"cpName":""}`) + len(token) + len(name)
		out = strconv.AppendInt(append(out, head...), int64(size), 10)
		out = append(append(append(out, "\r\n\r\n{\"token\":\""...), token...), `","amount":1,"cpName":"`...)
		return append(append(out, name...), `"}`...)
	}
}

// appendDearName writes one of the names that cost most: of 64 and of 500 Han characters without
// a blank, and of many words.
func appendDearName(out []byte, serial uint64) []byte {
	switch serial % 3 {
	case 0:
		return appendHan(out, serial, 64)
	case 1:
		return appendHan(out, serial, 500)
	}
	for i := range uint64(40) {
		out = append(appendName(out, serial*40+i), ' ')
	}
	return out[:min(len(out)-1, 500)]
}

func appendHan(out []byte, serial uint64, characters int) []byte {
	for i := range characters {
		serial = serial*6364136223846793005 + 1442695040888963407
		out = utf8.AppendRune(out, rune(0x4E00+(serial>>33+uint64(i))%20_000))
	}
	return out
}

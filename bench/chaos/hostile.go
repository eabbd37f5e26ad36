package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// hostileCallers is C18: some callers send huge bodies, some send a byte now and then, and some
// hold thousands of idle connections. Other callers do not notice.
func hostileCallers(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, load{clients: 8, pause: loadPause, calm: true})
	defer storm.stop()
	calm, elections := s.history.now(), s.cluster.elections()
	pause(ctx, s.span(1500*time.Millisecond, 15*time.Second))
	attacked := s.history.now()
	victim := s.cluster.nodes[0]
	address := strings.TrimPrefix(victim.api, "http://")
	idle, err := connections(address, s.times(1000, 10_000))
	defer closeAll(idle)
	if err != nil {
		return err
	}
	slow, err := connections(address, s.times(100, 2000))
	defer closeAll(slow)
	if err != nil {
		return err
	}
	until := time.Now().Add(s.span(2*time.Second, time.Minute))
	for step := 0; time.Now().Before(until) && ctx.Err() == nil; step++ {
		drip(slow, step)
		s.hugeBody(ctx, victim)
		pause(ctx, 100*time.Millisecond)
	}
	end := s.history.now()
	storm.stop()
	if hurt, _, example := s.history.errorsSince(calm); hurt > 0 {
		if elected := s.cluster.elections() - elections; elected == 0 {
			s.findings.add("%d calls of others met an error, such as %s", hurt, example)
		}
		s.figure("calls of others that met an error", hurt)
	}
	s.figure("idle connections", len(idle))
	s.figure("slow connections", len(slow))
	s.figure("calls of others, in peace:", s.latencies(calm, attacked))
	s.figure("under attack:", s.latencies(attacked, end))
	return nil
}

// drip sends the next byte of a request whose headers never end. The node may have closed the
// connection meanwhile, which is right.
func drip(slow []net.Conn, step int) {
	const head = "POST /v1/screen HTTP/1.1\r\nHost: x\r\nX-Slow: "
	next := []byte("a")
	if step < len(head) {
		next = []byte(head[step : step+1])
	}
	for _, conn := range slow {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(next)
	}
}

func connections(address string, count int) ([]net.Conn, error) {
	var open []net.Conn
	for range count {
		conn, err := net.DialTimeout("tcp", address, answerPatience)
		if err != nil {
			return open, skipped(fmt.Sprintf("only %d connections can be opened here: %v", len(open), err))
		}
		open = append(open, conn)
	}
	return open, nil
}

func closeAll(open []net.Conn) {
	for _, conn := range open {
		_ = conn.Close()
	}
}

// hugeBody sends a body of 4 MiB. The node must refuse it, with a 413 or by closing the
// connection.
func (s *stage) hugeBody(ctx context.Context, n *node) {
	raw := append([]byte(`{"token":"`), bytes.Repeat([]byte("x"), 4<<20)...)
	a, err := s.caller.post(ctx, n.api+"/v1/screen", "", append(raw, `","amount":1}`...))
	if err == nil && a.status != http.StatusRequestEntityTooLarge {
		s.findings.add("a body of 4 MiB is answered with %d, not 413", a.status)
	}
}

// latencies returns the latencies of the screening calls that began in a window.
func (s *stage) latencies(from, to time.Duration) string {
	h := hdr.New(1, sampleMax.Microseconds(), 3)
	s.history.eachVerdict(func(o *operation) {
		if o.invoke >= from && o.invoke < to {
			_ = h.RecordValue((o.back - o.invoke).Microseconds()) // Bounded by the client's patience.
		}
	})
	text := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond }
	return fmt.Sprintf("p50 %v p99 %v (%d)", text(50), text(99), h.TotalCount())
}

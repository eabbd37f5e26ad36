package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const (
	quietRate    = 200 // Screening calls a second of the key that is disturbed.
	quietCallers = 32
	dearRate     = 1000 // The most expensive calls a second on another key, five times as many as its rate allows.
	namesRate    = 1000 // Screening calls with dear names a second of another tenant.
	dearCallers  = 64
	halfSentRate = 500 // Connections a second from one address.
	halfSentKept = 2000
)

// runFlood sends far more calls than can be served: the excess must be refused at once,
// and the rest served. Then it disturbs one key's screening by others' floods.
func runFlood(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	o, err := t.drive(ctx, t.screening("flood", t.homes, 8*b.callers(), 0, b.span(5*time.Second)))
	if err != nil {
		return err
	}
	b.set("flood.rate", "/s", more, o.perSecond(), o.rates())
	b.set("flood.p99", "ms", less, o.quantile(99), o.quantiles(99))
	b.set("flood.failed", "", less, float64(o.failed), nil)
	return t.disturb(ctx)
}

// disturb compares one key's screening in four situations that take turns: nothing else happens,
// another key makes the most expensive calls that it may, another tenant screens the names that
// cost most, or one address without a key leaves requests half sent.
func (t *target) disturb(ctx context.Context) error {
	if t.group == nil {
		return errors.New("a key for the flood is made on a cluster of our own alone")
	}
	b := t.bench
	flood, err := t.floodKey(ctx)
	if err != nil {
		return err
	}
	tenant, err := t.floodingTenant(ctx)
	if err != nil {
		return err
	}
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("flood: %d screening calls a second of one key, calm; beside %d/s of pages and searches on another key with the rate a key has unless told; beside %d/s of dear names of another tenant; beside %d connections a second from one address that send half a header",
		quietRate, dearRate, namesRate, halfSentRate))
	for round := range b.times(3) {
		dear, names := t.dearCalls(flood), t.dearNames(tenant)
		for _, part := range []struct {
			key, name string
			beside    func(context.Context) error
		}{
			{"flood.calm", "a quiet key, calm", nil},
			{"flood.dear", "a quiet key, another one floods", dear},
			{"flood.names", "a quiet key, another tenant screens dear names", names},
			{"flood.half", "a quiet key, requests half sent", t.halfSent},
		} {
			l := t.screening(fmt.Sprintf("%s, round %d", part.name, round+1), t.homes, quietCallers, quietRate, b.span(4*time.Second))
			o, err := t.beside(ctx, l, part.beside)
			if err != nil {
				return err
			}
			b.add(part.key+".p50", "ms", less, o.quantile(50))
			b.add(part.key+".p99", "ms", less, o.quantile(99))
			b.add(part.key+".failed", "", less, float64(o.failed))
			if o.err == nil {
				b.add(part.key+".cores", "", less, o.used.cpu.Seconds()/o.took.Seconds())
			}
		}
	}
	return nil
}

// floodKey makes a key with the default rate that may make the dear calls.
func (t *target) floodKey(ctx context.Context) (string, error) {
	var key struct {
		Key string `json:"key"`
	}
	err := t.api.ask(ctx, http.MethodPost, t.group.nodes[0].admin+"/admin/keys", map[string]any{"name": "flood", "roles": []string{"screener", "auditor"}}, &key)
	if err != nil {
		return "", err
	}
	flooding := newAPI(key.Key)
	defer flooding.client.CloseIdleConnections()
	for _, home := range t.homes {
		var last error
		err := until(ctx, readyPatience, func() bool {
			last = flooding.ask(ctx, http.MethodGet, home.url+"/v1/policy", nil, nil)
			return last == nil
		})
		if err != nil {
			return "", errors.Join(err, last)
		}
	}
	return key.Key, nil
}

// beside runs a load, warm-up included, while something else goes on.
func (t *target) beside(ctx context.Context, l load, other func(context.Context) error) (*measured, error) {
	if other == nil {
		return t.drive(ctx, l)
	}
	during, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() { failed <- other(during) }()
	o, err := t.drive(ctx, l)
	stop()
	if ended := <-failed; ended != nil && !errors.Is(ended, context.Canceled) {
		err = errors.Join(err, ended)
	}
	return o, err
}

// dearCalls makes expensive calls (pages and searches) until ctx ends. A refusal counts as a
// success.
func (t *target) dearCalls(key string) func(ctx context.Context) error {
	dear := []string{"/v1/agents?limit=500", "/v1/audit?limit=500", "/v1/agents?limit=500&status=suspended"}
	return t.flood(&load{
		name: "dear calls", callers: dearCallers, rate: dearRate,
		make: func(_ *caller, serial uint64, out []byte) []byte {
			out = append(append(out, "GET "...), dear[serial%uint64(len(dear))]...)
			return append(append(append(out, " HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer "...), key...), "\r\n\r\n"...)
		},
	}, "flood.dear.answered")
}

// tenant is an operator's key, and the credential of an agent of that operator.
type tenant struct{ key, token string }

// floodingTenant makes an operator's key and registers an agent with it.
func (t *target) floodingTenant(ctx context.Context) (*tenant, error) {
	const operator = "Floodgate Names LLC"
	var key struct {
		Key string `json:"key"`
	}
	of := map[string]any{"name": "flood of names", "roles": []string{"screener", "operator"}, "operator": operator}
	if err := t.api.ask(ctx, http.MethodPost, t.group.nodes[0].admin+"/admin/keys", of, &key); err != nil {
		return nil, err
	}
	flooding := newAPI(key.Key)
	defer flooding.client.CloseIdleConnections()
	var agent struct {
		Token string `json:"token"`
	}
	body := map[string]any{"agentName": "flood", "agentType": "supervised", "operatorLegalName": operator, "purpose": "bench"}
	var last error
	err := until(ctx, readyPatience, func() bool {
		last = flooding.ask(ctx, http.MethodPost, t.homes[0].url+"/v1/agents/register", body, &agent)
		return last == nil
	})
	return &tenant{key.Key, agent.Token}, errors.Join(err, last)
}

// dearNames screens, for another tenant, the names that cost most until ctx ends: no two alike, of
// 64 and of 500 Han characters without a blank, and of many words.
func (t *target) dearNames(of *tenant) func(ctx context.Context) error {
	head := "POST /v1/screen HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer " + of.key + "\r\nContent-Type: application/json\r\nContent-Length: "
	return t.flood(&load{
		name: "dear names", callers: dearCallers, rate: namesRate,
		make: func(_ *caller, serial uint64, out []byte) []byte {
			name := appendDearName(nil, serial)
			size := len(`{"token":"","amount":1,"cpName":""}`) + len(of.token) + len(name)
			out = strconv.AppendInt(append(out, head...), int64(size), 10)
			out = append(append(append(out, "\r\n\r\n{\"token\":\""...), of.token...), `","amount":1,"cpName":"`...)
			return append(append(out, name...), `"}`...)
		},
	}, "flood.names.answered")
}

// appendDearName writes the name with a number.
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

// flood drives a load until ctx ends. A refusal counts as a success; gauge is the name of how many
// calls a second were answered.
func (t *target) flood(l *load, gauge string) func(ctx context.Context) error {
	var answered atomic.Int64
	l.homes, l.span, l.greet = t.homes, time.Hour, true
	l.accept = func(got reply) string {
		switch got.status {
		case http.StatusOK:
			answered.Add(1)
			return ""
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return ""
		}
		return acceptOK(got)
	}
	run := t.bench.gather(l)
	return func(ctx context.Context) error {
		defer func() {
			for _, c := range run.callers {
				c.link.close()
			}
		}()
		run.begins()
		_ = run.open(ctx) // Ends with ctx alone.
		t.bench.add(gauge, "/s", more, float64(answered.Load())/time.Since(run.begin).Seconds())
		if failed, done := run.failed.Load(), run.done.Load(); failed > done {
			return fmt.Errorf("of the %s %d failed, %d were answered", l.name, failed, done)
		}
		return nil
	}
}

// halfSent opens connections from one address and leaves each with half a header, until
// ctx ends. Where the system allows it, the address is not the quiet key's.
func (t *target) halfSent(ctx context.Context) error {
	kept := make([]net.Conn, halfSentKept)
	defer func() {
		for _, conn := range kept {
			if conn != nil {
				_ = conn.Close() // A failed close loses nothing.
			}
		}
	}()
	own := &net.Dialer{Timeout: dialPatience}
	other := &net.Dialer{Timeout: dialPatience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}}
	tick := time.NewTicker(time.Second / halfSentRate)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		address := t.homes[i%len(t.homes)].addr
		conn, err := other.DialContext(ctx, "tcp", address)
		if err != nil {
			if conn, err = own.DialContext(ctx, "tcp", address); err != nil {
				continue // Refused, as it should be.
			}
		}
		_, _ = conn.Write([]byte("POST /v1/screen HTTP/1.1\r\nHost: railguard\r\nContent-Le"))
		at := &kept[i%len(kept)]
		if *at != nil {
			_ = (*at).Close()
		}
		*at = conn
	}
}

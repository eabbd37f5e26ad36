package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	quietRate    = 200 // Screening calls a second of the key that is disturbed.
	quietCallers = 32
	halfSentRate = 500 // Connections a second from one address.
	halfSentKept = 2000
	floodRounds  = 5
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

// disturb compares one key's screening in situations that take turns: nothing else happens,
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
	greedy, err := t.newGreedyTenant(ctx)
	if err != nil {
		return err
	}
	sender, err := b.floodSender(ctx)
	if err != nil {
		return err
	}
	defer sender.close()
	b.report.Notes = append(b.report.Notes, fmt.Sprintf("flood: %d screening calls a second of one key, calm; beside %d/s of pages and searches on another key with the rate a key has unless told; beside %d/s of dear names of another tenant; beside %d connections a second from one address that send half a header; beside a tenant that writes long whitelists until it has ten times its share of them; both floods of calls come from a process of their own, which is idle in the calm",
		quietRate, pagesRate, namesRate, halfSentRate))
	for round := range b.times(floodRounds) {
		for _, part := range []struct {
			key, name string
			beside    func(context.Context) error
		}{
			{"flood.calm", "a quiet key, calm", nil},
			{"flood.names", "a quiet key, another tenant screens dear names", t.flood(sender, &floodOrder{Kind: "names", Key: tenant.key, Token: tenant.token})},
			{"flood.plain", "a quiet key, another tenant screens ordinary names", t.flood(sender, &floodOrder{Kind: "plain", Key: tenant.key, Token: tenant.token})},
			{"flood.dear", "a quiet key, another one floods", t.flood(sender, &floodOrder{Kind: "dear", Key: flood})},
			{"flood.half", "a quiet key, requests half sent", t.halfSent},
			{"flood.share", "a quiet key, a tenant at ten times its share", t.fill(greedy)},
		} {
			busy := machineBusy()
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
				if len(b.hosts) == 0 { // Else the loader's machine tells nothing of the nodes.
					b.add(part.key+".allCores", "", less, (machineBusy()-busy).Seconds()/(o.took+l.warm).Seconds())
				}
			}
		}
		if err := t.askCalm(ctx, round); err != nil {
			return err
		}
	}
	return t.measureShare(ctx)
}

// floodSender starts the process that sends floods, where the loader is.
func (b *bench) floodSender(ctx context.Context) (*helper, error) {
	addresses, err := b.here.addresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	return launchHelper(ctx, b.here, &task{Kind: taskFloods, Name: "floods", Addresses: addresses})
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

// flood makes the sender flood until ctx ends, and adds what became of it under a key.
func (t *target) flood(sender *helper, order *floodOrder) func(ctx context.Context) error {
	for _, home := range t.homes {
		order.Homes = append(order.Homes, home.url)
	}
	key := "flood." + order.Kind
	return func(ctx context.Context) error {
		plain := newAPI("")
		defer plain.client.CloseIdleConnections()
		if err := plain.ask(ctx, http.MethodPost, sender.url+"/begin", order, nil); err != nil {
			return err
		}
		<-ctx.Done()
		var result floodResult
		if err := plain.ask(context.WithoutCancel(ctx), http.MethodPost, sender.url+"/end", nil, &result); err != nil {
			return err
		}
		t.bench.add(key+".answered", "/s", more, float64(result.Answered)/result.Seconds)
		t.bench.add(key+".limited", "/s", more, float64(result.Limited)/result.Seconds)
		t.bench.add(key+".busy", "/s", more, float64(result.Busy)/result.Seconds)
		t.bench.add(key+".senderCores", "", less, result.CPU/result.Seconds)
		if result.Failed > result.Answered+result.Limited+result.Busy {
			return fmt.Errorf("of the flood of %s %d calls failed, %d were answered", order.Kind, result.Failed, result.Answered)
		}
		return nil
	}
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

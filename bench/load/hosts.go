package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	secretBytesMin = 16
	leaseSpan      = 20 * time.Second // An attendant ends everything when it has not heard of its loader for so long.
	beatsOfLease   = 6                // Beats in that time.
	hostPatience   = 2 * time.Minute  // The longest order is to stop a node.
)

func (o *Options) checkHosts() error {
	if len(o.Hosts) > nodesMax {
		return fmt.Errorf("%d hosts: want 1 to %d", len(o.Hosts), nodesMax)
	}
	for i, address := range o.Hosts {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return fmt.Errorf("host %q: want ADDRESS:PORT of its attendant", address)
		}
		if slices.Contains(o.Hosts[:i], address) {
			return fmt.Errorf("host %s is named twice", address)
		}
	}
	if len(o.Hosts) > 0 {
		return checkSecret(o.Secret)
	}
	return nil
}

func checkSecret(secret string) error {
	if len(secret) < secretBytesMin {
		return fmt.Errorf("attendants and their loader need the same secret of at least %d bytes: in RAILGUARD_BENCH_SECRET or --secret-file", secretBytesMin)
	}
	return nil
}

// host is a place with an attendant, which this loader has for itself.
type host struct {
	address string
	facts   hostFacts
	api     *api
	beats   sync.WaitGroup
	stop    context.CancelFunc
}

// hostFacts is what an attendant tells a loader that gets it.
type hostFacts struct {
	Session string        `json:"session"`
	Lease   time.Duration `json:"lease"`
	Address string        `json:"address"` // Where it listens.
	Machine Machine       `json:"machine"`
	Boot    string        `json:"boot"`
	Version string        `json:"version"` // Of its railguard, as is Build.
	Build   string        `json:"build"`
}

// Orders to an attendant.
type (
	claimOrder     struct{}
	beatOrder      struct{}
	releaseOrder   struct{}
	addressesOrder struct {
		Count int `json:"count"`
	}
	processOrder struct {
		Name string `json:"name"`
	}
	syncOrder struct {
		Span time.Duration `json:"span"`
	}
	reachOrder struct {
		Address string `json:"address"`
	}
)

// claimHost gets an attendant for this loader alone, until close.
func claimHost(ctx context.Context, address string, o Options) (*host, error) {
	h := &host{address: address, api: newAPI(o.Secret)}
	h.api.client.Timeout = hostPatience
	if err := h.api.ask(ctx, http.MethodPost, "http://"+address+"/claim", claimOrder{}, &h.facts); err != nil {
		return nil, fmt.Errorf("host %s: %w", address, err)
	}
	beating, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.beats.Go(func() { h.beat(beating) })
	return h, nil
}

// beat tells the attendant that its loader is there, until ctx ends. If that fails for too long,
// the attendant ends the processes, and the suite that needs them says so.
func (h *host) beat(ctx context.Context) {
	tick := time.NewTicker(h.facts.Lease / beatsOfLease)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			within, cancel := context.WithTimeout(ctx, h.facts.Lease/beatsOfLease)
			_ = h.ask(within, "beat", beatOrder{}, nil)
			cancel()
		}
	}
}

// close lets the attendant end everything and remove its folder.
func (h *host) close() {
	h.stop()
	h.beats.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = h.ask(ctx, "release", releaseOrder{}, nil) // An attendant that did not hear it ends everything with the lease.
	h.api.client.CloseIdleConnections()
}

func (h *host) ask(ctx context.Context, verb string, order, into any) error {
	err := h.api.ask(ctx, http.MethodPost, "http://"+h.address+"/"+h.facts.Session+"/"+verb, order, into)
	if err != nil {
		return fmt.Errorf("host %s: %w", h.address, err)
	}
	return nil
}

func (h *host) addresses(ctx context.Context, count int) (all []string, err error) {
	err = h.ask(ctx, "addresses", &addressesOrder{count}, &all)
	return all, err
}

func (h *host) launch(ctx context.Context, t *task) (process, error) {
	return &distant{h, processOrder{t.Name}}, h.ask(ctx, "launch", t, nil)
}

// distant is a process at a host.
type distant struct {
	host *host
	name processOrder
}

func (d *distant) start(ctx context.Context) error  { return d.host.ask(ctx, "start", d.name, nil) }
func (d *distant) stop(ctx context.Context) error   { return d.host.ask(ctx, "stop", d.name, nil) }
func (d *distant) kill(ctx context.Context) error   { return d.host.ask(ctx, "kill", d.name, nil) }
func (d *distant) forget(ctx context.Context) error { return d.host.ask(ctx, "forget", d.name, nil) }

func (d *distant) look(ctx context.Context) (seen sight, err error) {
	err = d.host.ask(ctx, "look", d.name, &seen)
	return seen, err
}

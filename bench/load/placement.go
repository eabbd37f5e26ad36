package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	placementHere  = "one machine: the nodes and the loader share it"
	placementNamed = "a named cluster: what its nodes share is not known"

	reachTries = 100
	reachSpan  = 2 * time.Second
	reachMin   = 5
)

// ErrHosts: the hosts of a run are not at its disposal.
var ErrHosts = errors.New("hosts")

// HostReport is one host of a run.
type HostReport struct {
	Address string  `json:"address"` // Of its attendant.
	Machine Machine `json:"machine"`
	Fsync   string  `json:"fsync"`
}

// RoundTrip is how long a connection of TCP takes to be made between two machines of a run, which
// is one way there and one back, in ms.
type RoundTrip struct {
	From string  `json:"from"` // Address of an attendant, or "loader".
	To   string  `json:"to"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// settlePlaces settles where the nodes of a run live, and notes it.
func (b *bench) settlePlaces(ctx context.Context) error {
	b.places = []place{b.here}
	if len(b.options.Hosts) == 0 {
		b.report.Placement, b.report.Build = placementHere, buildID(b.options.Binary)
		if len(b.options.Targets) > 0 {
			b.report.Placement = placementNamed
		}
		return nil
	}
	b.options.Spawn = len(b.options.Hosts)
	b.places = nil
	for _, address := range b.options.Hosts {
		h, err := claimHost(ctx, address, b.options)
		if err != nil {
			return err
		}
		b.hosts, b.places = append(b.hosts, h), append(b.places, h)
		first := b.hosts[0].facts
		if h.facts.Build != first.Build {
			return fmt.Errorf("host %s has another railguard (%s %s) than %s (%s %s)", address, h.facts.Version, h.facts.Build, b.hosts[0].address, first.Version, first.Build)
		}
		b.report.Hosts = append(b.report.Hosts, HostReport{Address: address, Machine: h.facts.Machine})
	}
	b.report.Version, b.report.Build = b.hosts[0].facts.Version, b.hosts[0].facts.Build
	boots := []string{bootID()}
	for _, h := range b.hosts {
		boots = append(boots, h.facts.Boot)
	}
	b.report.Placement = placementOf(boots)
	return b.measureWays(ctx)
}

// placementOf says on how many machines a run is, from what each started kernel calls itself: the
// loader's first.
func placementOf(boots []string) string {
	name := fmt.Sprintf("hosts: %d+1", len(boots)-1)
	if slices.Contains(boots, "") {
		return name + ", whether some share a machine is not known"
	}
	slices.Sort(boots)
	if machines := len(slices.Compact(slices.Clone(boots))); machines < len(boots) {
		return fmt.Sprintf("%s, but on %d machine(s): nodes or the loader share one", name, machines)
	}
	return name
}

// measureWays measures the round trips between the loader and the hosts, and among hosts.
func (b *bench) measureWays(ctx context.Context) error {
	for _, to := range b.hosts {
		way, err := reach(ctx, to.facts.Address)
		if err != nil {
			return fmt.Errorf("from the loader to %s: %w", to.address, err)
		}
		way.From, way.To = "loader", to.address
		b.report.RoundTrips = append(b.report.RoundTrips, way)
		b.add("rtt.loader.p50", "ms", less, way.P50)
	}
	for _, from := range b.hosts {
		for _, to := range b.hosts {
			if from == to {
				continue
			}
			var way RoundTrip
			if err := from.ask(ctx, "reach", &reachOrder{Address: to.facts.Address}, &way); err != nil {
				return fmt.Errorf("from %s to %s: %w", from.address, to.address, err)
			}
			way.From, way.To = from.address, to.address
			b.report.RoundTrips = append(b.report.RoundTrips, way)
			b.add("rtt.hosts.p50", "ms", less, way.P50)
		}
	}
	return nil
}

// reach connects to an address again and again, and takes the time of each connection.
func reach(ctx context.Context, address string) (RoundTrip, error) {
	var took []float64
	dialer := &net.Dialer{Timeout: dialPatience}
	for begin := time.Now(); len(took) < reachMin || len(took) < reachTries && time.Since(begin) < reachSpan; {
		at := time.Now()
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return RoundTrip{}, err
		}
		took = append(took, micros(time.Since(at))/1000)
		_ = conn.Close() // A failed close loses nothing.
	}
	slices.Sort(took)
	return RoundTrip{P50: median(took), P99: took[len(took)*99/100]}, nil
}

// bootID is what the running kernel calls itself until it is started again. Containers and network
// namespaces of one machine have the same; "" is not known.
func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

// Places says, a line each, on what the run was made.
func (r *Report) Places() []string {
	if len(r.Hosts) == 0 {
		lines := []string{r.Machine.String(), r.Fsync}
		if r.Placement != "" { // An older report does not tell it.
			lines = append([]string{r.Placement}, lines...)
		}
		return lines
	}
	lines := []string{r.Placement, "loader: " + r.Machine.String()}
	for _, h := range r.Hosts {
		lines = append(lines, fmt.Sprintf("host %s: %s; %s", h.Address, h.Machine, h.Fsync))
	}
	for _, way := range r.RoundTrips {
		lines = append(lines, fmt.Sprintf("round trip from %s to %s: p50 %s ms, p99 %s ms", way.From, way.To, number(way.P50), number(way.P99)))
	}
	return lines
}

// OtherPlacement is a warning that two reports are of different placements; "": they are not.
func OtherPlacement(before, after *Report) string {
	if before.Placement == after.Placement {
		return ""
	}
	told := func(r *Report) string {
		if r.Placement == "" {
			return "not told"
		}
		return r.Placement
	}
	return fmt.Sprintf("warning: the two runs are of different placements, so their figures differ for that reason alone:\n  before: %s\n  after:  %s", told(before), told(after))
}

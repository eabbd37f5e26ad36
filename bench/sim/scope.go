package sim

import (
	"context"
	"sync"
	"time"
)

// scope says to how many hosts a fault is done at once.
type scope int

const (
	toOne  scope = iota
	toSome       // At least two, and not all.
	toAll
)

var scopes = []scope{toOne, toSome, toAll}

func (s scope) String() string { return [...]string{"of one", "of some", "of all"}[s] }

// drawScope chooses a scope, and hosts for it. Every second fault is of one host.
func (w *World) drawScope() (scope, []*Host) {
	s := []scope{toOne, toOne, toSome, toAll}[w.Random.IntN(4)]
	hosts := append([]*Host(nil), w.hosts...)
	w.Random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	switch s {
	case toOne:
		hosts = hosts[:1]
	case toSome:
		hosts = hosts[:2+w.Random.IntN(len(hosts)-2)]
	}
	return s, hosts
}

// strike makes one fault, and counts it under its name and scope.
func (w *World) strike(f fault) {
	name := f.name
	do := func() { f.do(w) }
	if f.at != nil {
		s, hosts := w.drawScope()
		name += " " + s.String()
		do = func() { f.at(w, hosts) }
	}
	w.trace(name)
	w.count(name, 1)
	do()
}

// names returns the names under which a fault is counted.
func (f fault) names() (names []string) {
	if f.at == nil {
		return []string{f.name}
	}
	for _, s := range scopes {
		names = append(names, f.name+" "+s.String())
	}
	return names
}

// isWhole reports whether these are all hosts.
func (w *World) isWhole(hosts []*Host) bool { return len(hosts) == len(w.hosts) }

// isolate cuts each of the hosts off from every other one.
func (w *World) isolate(hosts []*Host) {
	for _, host := range hosts {
		w.Net.Isolate(host.ID, w.IDs()...)
	}
}

// breakLinks breaks the connections of each of the hosts to another one.
func (w *World) breakLinks(hosts []*Host) {
	for _, host := range hosts {
		if other := w.one(); other != host {
			w.Net.Break(host.ID, other.ID)
		}
	}
}

func (w *World) crash(hosts []*Host) {
	w.powerOff(hosts)
	if w.Random.IntN(3) > 0 || w.isWhole(hosts) { // Otherwise they stay down during the next faults.
		w.pause(1000)
		for _, host := range hosts {
			host.Start()
		}
	}
}

// powerOff cuts the power of hosts at the same moment. Then the nodes end concurrently, which only
// cleans up their goroutines.
func (w *World) powerOff(hosts []*Host) {
	for _, host := range hosts {
		host.PowerOff(w.loss())
	}
	var ending sync.WaitGroup
	for _, host := range hosts {
		ending.Go(host.reap)
	}
	ending.Wait()
}

// restart ends nodes in an orderly way, all at the same time, and starts them again.
func (w *World) restart(hosts []*Host) {
	var ending sync.WaitGroup
	for _, host := range hosts {
		ending.Go(host.Stop)
	}
	ending.Wait()
	w.pause(300)
	for _, host := range hosts {
		if host.Node() == nil {
			host.Start()
		}
	}
}

func (w *World) snapshot(hosts []*Host) {
	for _, host := range hosts {
		if node := host.Node(); node != nil && !host.isDoomed() { // A node that ends of its disk in the midst of a snapshot answers nobody any more.
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, _ = node.Snapshot(ctx)
			cancel()
		}
	}
}

var (
	// Leaps of one clock, against which the others stand.
	leapsOfOne = []time.Duration{24 * time.Hour, -24 * time.Hour, time.Hour, -5 * time.Minute, 700 * time.Millisecond}
	// Leaps of clocks that agree with one another: further than is credible, or back.
	leapsTogether = []time.Duration{100 * 24 * time.Hour, 9 * time.Hour, 2 * time.Hour, -24 * time.Hour}
)

// clock makes clocks wrong, those of several hosts together, as one source of time does. Meanwhile
// the power goes away, or the leader changes, or nothing else happens. Clocks that were wrong before
// are right again, and those that leap together are right at the end: otherwise log time would
// have to follow them.
func (w *World) clock(hosts []*Host) {
	leaps := leapsTogether
	if len(hosts) == 1 {
		leaps = leapsOfOne
	}
	by := leaps[w.Random.IntN(len(leaps))]
	w.rightClocks()
	leap := func() {
		for _, host := range hosts {
			host.Clock.Jump(by)
		}
	}
	switch {
	case len(hosts) == 1:
		leap()
		w.pause(1000)
		return
	case w.Random.IntN(2) == 0:
		w.powerOff(w.hosts)
		w.pause(1000)
		leap()
		for _, host := range w.hosts {
			host.Start()
		}
	default:
		leap()
		w.transfer()
	}
	w.pause(4000)
	w.rightClocks()
}

func (w *World) rightClocks() {
	for _, host := range w.hosts {
		host.Clock.Right()
	}
}

// breakDisks makes every append on the disks fail, which ends the nodes. Their supervisors start
// them with disks that work.
func (w *World) breakDisks(hosts []*Host) {
	for _, host := range hosts {
		if life := host.Doom(); life != nil {
			life.Break()
		}
	}
	w.pause(800)
}

func (w *World) slow(hosts []*Host) {
	by := time.Duration(5+w.Random.IntN(300)) * time.Millisecond
	for _, life := range w.disksOf(hosts) {
		life.Slow(by)
	}
	w.pause(1500)
	for _, life := range w.disksOf(hosts) {
		life.Slow(0)
	}
}

// disksOf returns the disks of those hosts whose node runs and was not given up.
func (w *World) disksOf(hosts []*Host) (disks []*disk) {
	for _, host := range hosts {
		host.mu.Lock()
		if host.node != nil && !host.doomed {
			disks = append(disks, host.disk)
		}
		host.mu.Unlock()
	}
	return disks
}

// hang makes disks hang. One hangs until it is mended. Several hang together, as one storage under
// them does, and go on; if they are those of all nodes, no process may end.
func (w *World) hang(hosts []*Host) {
	hung := w.disksOf(hosts)
	if len(hung) < len(w.hosts) { // Disks that a fault before was made to are left alone.
		for _, host := range hosts {
			host.Doom()
		}
	}
	for _, life := range hung {
		life.Hang()
	}
	if len(hosts) == 1 {
		w.pause(2500)
		return
	}
	time.Sleep(time.Duration(1000+w.Random.IntN(59_000)) * time.Millisecond)
	for _, life := range hung {
		life.Heal()
	}
}

// hangAll makes the disks of all hosts hang together for so long.
func (w *World) hangAll(lasts time.Duration) {
	hung := w.disksOf(w.hosts)
	for _, life := range hung {
		life.Hang()
	}
	time.Sleep(lasts)
	for _, life := range hung {
		life.Heal()
	}
}

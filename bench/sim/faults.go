package sim

import (
	"context"
	"sync"
	"time"

	"railguard/audit/audittest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// fault is one thing that is done to the world. It may take time. mend or a later fault mends
// what it leaves broken.
type fault struct {
	name   string
	weight int
	do     func(w *World)                // nil: the fault has a scope.
	at     func(w *World, hosts []*Host) // Is done to so many hosts at once as the scope says.
}

// bytesOfTheDead is the count of killed processes whose bytes were still on their way.
const bytesOfTheDead = "late bytes of a killed process"

// faults are those that a schedule may draw.
var faults = []fault{
	{name: "isolate the leader", weight: 4, do: func(w *World) { w.Net.Isolate(w.leading().ID, w.IDs()...); w.pause(1500) }},
	{name: "cut one way", weight: 3, do: func(w *World) { one, other := w.two(); w.Net.Cut(one.ID, other.ID); w.pause(1500) }},
	{name: "cut some directions", weight: 3, do: func(w *World) { w.cutSome(); w.pause(1500) }},
	{name: "cut off the leader's answers", weight: 2, do: func(w *World) { w.deafen(w.leading()); w.pause(1500) }},
	{name: "partition", weight: 3, do: func(w *World) { w.partition(); w.pause(1500) }},
	{name: "late bytes of the dead", weight: 4, do: func(w *World) { w.lateBytes() }},
	{name: "bad weather", weight: 4, do: func(w *World) {
		w.Net.Weather(time.Duration(w.Random.IntN(80))*time.Millisecond, w.Random.IntN(30))
		w.pause(2000)
	}},
	{name: "crash the leader", weight: 4, do: func(w *World) { w.crash([]*Host{w.leading()}) }},
	{name: "transfer", weight: 4, do: func(w *World) { w.transfer() }},
	{name: "wipe", weight: 1, do: func(w *World) { w.wipe(w.one()) }},
	{name: "list", weight: 5, do: func(w *World) { w.list() }},
	{name: "backup", weight: 3, do: func(w *World) { w.backUp(w.one()) }},
	{name: "replace a member", weight: 1, do: func(w *World) { w.replace(w.one()) }},
	{name: "demote and promote", weight: 1, do: func(w *World) { w.demote(w.one()) }},
	{name: "one more member", weight: 1, do: func(w *World) { w.grow() }},
	{name: "older log put back", weight: 1, do: func(w *World) { w.putBack(w.one(), w.Random.IntN(2) == 0) }},
	{name: "disk that lied", weight: 1, do: func(w *World) { w.lose(w.one()) }},

	{name: "isolate", weight: 5, at: func(w *World, hosts []*Host) { w.isolate(hosts); w.pause(1500) }},
	{name: "break connections", weight: 4, at: func(w *World, hosts []*Host) { w.breakLinks(hosts) }},
	{name: "crash", weight: 9, at: func(w *World, hosts []*Host) { w.crash(hosts) }},
	{name: "restart", weight: 3, at: func(w *World, hosts []*Host) { w.restart(hosts) }},
	{name: "snapshot", weight: 5, at: func(w *World, hosts []*Host) { w.snapshot(hosts) }},
	{name: "clock", weight: 6, at: func(w *World, hosts []*Host) { w.clock(hosts) }},
	{name: "disk error", weight: 3, at: func(w *World, hosts []*Host) { w.breakDisks(hosts) }},
	{name: "lying disk", weight: 3, at: func(w *World, hosts []*Host) { w.lie(hosts) }},
	{name: "slow disk", weight: 5, at: func(w *World, hosts []*Host) { w.slow(hosts) }},
	{name: "hanging disk", weight: 4, at: func(w *World, hosts []*Host) { w.hang(hosts) }},
}

var faultWeights = func() (sum int) {
	for _, f := range faults {
		sum += f.weight
	}
	return sum
}()

// drawFault chooses a fault at random. Its chance is proportional to its weight.
func (w *World) drawFault() fault {
	at := w.Random.IntN(faultWeights)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return faults[0]
}

func (w *World) one() *Host { return w.hosts[w.Random.IntN(len(w.hosts))] }

// two returns two different hosts.
func (w *World) two() (one, other *Host) {
	at := w.Random.IntN(len(w.hosts))
	return w.hosts[at], w.hosts[(at+1+w.Random.IntN(len(w.hosts)-1))%len(w.hosts)]
}

// cutSome cuts some links. For each direction between two hosts it draws separately whether to
// cut it.
func (w *World) cutSome() {
	for _, from := range w.hosts {
		for _, to := range w.hosts {
			if from != to && w.Random.IntN(3) == 0 {
				w.Net.Cut(from.ID, to.ID)
			}
		}
	}
}

// lateBytes delays the bytes from a follower to the leader until the follower has given up the
// connection, or was killed and started again.
func (w *World) lateBytes() {
	leads := w.leading()
	one, other := w.two()
	if one == leads {
		one = other
	}
	w.Net.Late(one.ID, leads.ID, time.Duration(200+w.Random.IntN(1500))*time.Millisecond)
	w.pause(100)
	w.Net.Late(one.ID, leads.ID, 0)
	w.Net.Forsake(one.ID, leads.ID)
	w.pause(100)
	if w.Random.IntN(2) == 0 {
		w.count(bytesOfTheDead, 1)
		one.Crash(audittest.LoseNone)
		one.Start()
	}
}

func (w *World) pause(millisMax int) {
	time.Sleep(time.Duration(50+w.Random.IntN(millisMax)) * time.Millisecond)
}

// leading returns a host that believes that it leads, or else any host, which it draws in any case: what
// a schedule draws must not depend on what the nodes have come to.
func (w *World) leading() *Host { return w.leadingOr(w.one()) }

func (w *World) leadingOr(other *Host) *Host {
	for _, host := range w.hosts {
		if node := host.Node(); node != nil && node.Role() == "leader" {
			return host
		}
	}
	return other
}

// deafen cuts the links to a host, which can still send.
func (w *World) deafen(host *Host) {
	for _, other := range w.IDs() {
		if other != host.ID {
			w.Net.Cut(other, host.ID)
		}
	}
}

// partition parts the hosts in two groups.
func (w *World) partition() {
	ids := w.IDs()
	w.Random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	at := 1 + w.Random.IntN(len(ids)-1)
	for _, one := range ids[:at] {
		for _, other := range ids[at:] {
			w.Net.Cut(one, other)
			w.Net.Cut(other, one)
		}
	}
}

func (w *World) loss() audittest.Loss {
	return []audittest.Loss{audittest.LoseAll, audittest.LoseNone, audittest.LoseSome}[w.Random.IntN(3)]
}

// transfer hands over the leadership. After a transfer that failed it makes no other in the same
// term, because raft can then hang for ever (guard G5, which has tests of its own).
func (w *World) transfer() {
	from, to := w.leading(), w.one()
	node := from.Node()
	from.mu.Lock()
	doomed := from.doomed // If raft shuts down while a transfer is queued, it never answers the transfer.
	from.mu.Unlock()
	if node == nil || doomed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	term := node.Status(ctx).Term
	if term <= w.noTransferUpTo {
		return
	}
	w.noTransferUpTo = term
	_ = node.TransferLeader(ctx, to.ID)
}

// wipe gives a host a new disk and waits until the host has its vote again. It does so only while
// all other hosts are up and have everything that was acknowledged, because no group survives the
// loss of more than a minority of its disks.
func (w *World) wipe(host *Host) {
	w.awaitCalm()
	host.Wipe()
	w.pause(1000)
	host.Start()
	w.awaitVotes()
}

// mend ends all faults.
func (w *World) mend() {
	w.Net.Heal()
	for _, host := range w.hosts {
		host.Clock.Right()
		host.mu.Lock()
		dead, doomed := host.node == nil, host.doomed
		host.mu.Unlock()
		switch {
		case doomed && !dead: // The disk is broken, so the host gets a new one with the content of the old.
			host.Crash(audittest.LoseNone)
			host.Start()
		case dead:
			host.Start()
		default:
			host.Supervise()
		}
	}
}

// lists are two lists of entities, made once for all worlds.
var lists = sync.OnceValue(func() (encoded [2][]byte) {
	for i, name := range []string{"Ivan Example", "Acme Paper Shells"} {
		data, err := ofac.EncodeEntities([]ofac.Entity{{
			UID: uint32(i + 1), Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
			Names: []ofac.Name{{Full: name, Primary: true, AliasType: "Name", Script: "Latin"}},
		}}, ofac.Meta{Source: "sim"})
		if err != nil {
			panic("BUG: " + err.Error())
		}
		encoded[i] = data
	}
	return encoded
})

// list activates another list while other things go on.
func (w *World) list() {
	node, data := w.one().Node(), lists()[w.Random.IntN(2)]
	if node == nil {
		return
	}
	w.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		info := wire.ListInfo{Source: "sim", PublishedAt: engine.Time(time.Now().UnixNano()), Entries: 1}
		if _, err := node.Stage(ctx, data, info, false, wire.Common{}); err == nil {
			_, _ = node.Propose(ctx, wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: ofac.Digest(data), Force: true}))
		}
	})
}

package chaos

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"railguard/cluster/testcluster"
)

// fabric is the network between nodes that live in network namespaces of their own. The only way
// out of a namespace is one device whose other end is here: every packet between two nodes passes
// through carry, which drops, delays or delivers it. The TCP is the operating system's own.
//
// Namespaces and devices belong to this process: however it ends, the system then removes them.
type fabric struct {
	mu     sync.Mutex
	rules  map[link]rule
	cells  []*cell
	queues map[link]chan packet
	closed chan struct{}
	once   sync.Once
	done   sync.WaitGroup
}

// cell is one node's namespace.
type cell struct {
	node    string
	address netip.Addr
	thread  *testcluster.Spawner // The thread in this namespace that starts processes.
	device  io.ReadWriteCloser   // Reads the IP packets that leave the namespace, and writes those that enter it.
}

// packet is an IP packet on its way.
type packet struct {
	bytes []byte
	due   time.Time
}

const (
	packetMax   = 64 << 10
	packetsHeld = 4096 // Packets that the queue of one link holds. More are lost, as in any queue.
	headerIPv4  = 20   // Bytes of an IPv4 header without options (RFC 791, 3.1).
)

func newFabric() *fabric {
	return &fabric{rules: make(map[link]rule), queues: make(map[link]chan packet), closed: make(chan struct{})}
}

// enter makes a namespace for a node. If the system does not permit that, the error makes the
// scenario be skipped.
func (f *fabric) enter(node string) (*cell, error) {
	f.mu.Lock()
	number := len(f.cells) + 1
	f.mu.Unlock()
	c, err := newCell(node, netip.AddrFrom4([4]byte{10, 77, 0, byte(number)}))
	if err != nil {
		return nil, err
	}
	f.join(c)
	return c, nil
}

// join begins to carry a cell's packets.
func (f *fabric) join(c *cell) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cells = append(f.cells, c)
	f.done.Add(1)
	go func() {
		defer f.done.Done()
		buffer := make([]byte, packetMax)
		for {
			n, err := c.device.Read(buffer)
			if err != nil {
				return
			}
			f.carry(c, buffer[:n])
		}
	}()
}

// carry takes a packet that came out of a cell.
func (f *fabric) carry(from *cell, bytes []byte) {
	if len(bytes) < headerIPv4 || bytes[0]>>4 != 4 {
		return // It is not IPv4: the system sends it of its own accord.
	}
	to := netip.AddrFrom4([4]byte(bytes[16:20]))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.cells {
		if c.address != to || c == from {
			continue
		}
		way := link{from.node, c.node}
		r := f.rules[way]
		if r.cut || r.refuse || r.loss > 0 && rand.IntN(100) < r.loss {
			return
		}
		select {
		case f.queue(way, c) <- packet{append([]byte(nil), bytes...), time.Now().Add(r.delay)}:
		default:
		}
		return
	}
}

// queue returns the queue of a link. It keeps the packets of that link in order. The caller holds
// mu.
func (f *fabric) queue(way link, to *cell) chan packet {
	if q := f.queues[way]; q != nil {
		return q
	}
	q := make(chan packet, packetsHeld)
	f.queues[way] = q
	f.done.Add(1)
	go func() {
		defer f.done.Done()
		for {
			select {
			case <-f.closed:
				return
			case p := <-q:
				if wait := time.Until(p.due); wait > 0 {
					time.Sleep(wait)
				}
				_, _ = to.device.Write(p.bytes) // A device that is gone loses packets.
			}
		}
	}()
	return q
}

func (f *fabric) set(r rule, ways ...link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, way := range ways {
		f.rules[way] = r
	}
}

func (f *fabric) isolate(r rule, node string) {
	var ways []link
	f.mu.Lock()
	for _, c := range f.cells {
		if c.node != node {
			ways = append(ways, link{node, c.node}, link{c.node, node})
		}
	}
	f.mu.Unlock()
	f.set(r, ways...)
}

func (f *fabric) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.rules)
}

func (f *fabric) knows() bool { return true }

// close closes the devices, and with them the namespaces end.
func (f *fabric) close() {
	f.once.Do(func() { close(f.closed) })
	f.mu.Lock()
	cells := f.cells
	f.mu.Unlock()
	for _, c := range cells {
		_ = c.device.Close()
		c.thread.Close()
	}
	f.done.Wait()
}

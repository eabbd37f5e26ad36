package chaos

import (
	"context"
	"net"
	"sync"

	"railguard/cluster/testcluster"
)

// network is the network between the nodes of one cluster, in which faults can be made. It has
// relays on the machine's loopback (wires) or links between network namespaces (fabric).
type network interface {
	// set changes the rule of some links at once.
	set(r rule, ways ...link)
	// isolate applies a rule to everything between one node and the others.
	isolate(r rule, node string)
	// heal lets everything pass.
	heal()
	// knows reports whether it can tell which node sends on a link. Without that no link can be
	// broken.
	knows() bool
	close()
}

// homes has, by the address of a node, the thread in that node's network namespace. The node's
// API is on the namespace's loopback, which can be dialled only from there.
var homes sync.Map // string to *testcluster.Spawner

// dialHome dials an address from the network namespace in which it exists.
func dialHome(ctx context.Context, kind, address string) (conn net.Conn, err error) {
	dialer := net.Dialer{Timeout: answerPatience}
	home, away := homes.Load(address)
	if !away {
		return dialer.DialContext(ctx, kind, address)
	}
	err = home.(*testcluster.Spawner).Do(func() error {
		conn, err = dialer.DialContext(ctx, kind, address)
		return err
	})
	return conn, err
}

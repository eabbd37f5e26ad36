package chaos

import (
	"context"
	"net"
	"sync"

	"railguard/cluster/testcluster"
)

// network is what lies between the nodes of one cluster and can be broken: relays
// on one machine's loopback (wires), or links between network namespaces (fabric).
type network interface {
	// set changes the rule of some links at once.
	set(r rule, ways ...link)
	// isolate applies a rule to everything between one node and the others.
	isolate(r rule, node string)
	// heal lets everything pass.
	heal()
	// knows reports whether links can be told apart, so that they can be broken.
	knows() bool
	close()
}

// homes are the threads that live in another network namespace, by the address of
// the node there: its API is on that namespace's loopback, and can be dialled from
// there alone.
var homes sync.Map // string to *testcluster.Spawner

// dialHome dials from where the address is at home.
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

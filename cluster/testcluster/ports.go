package testcluster

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	portLow   = 18_000 // Below the range that systems give to outgoing connections.
	portHigh  = 30_000
	portTries = 2_000
)

// reserved has the ports that this process reserved: number to the lock that holds it.
var reserved sync.Map

// FreePorts reserves ports on which nobody listens and which nobody else reserved. They are
// below the range from which systems take ports for outgoing connections, so that a node that
// is down for a while finds its own free again. They stay reserved until this process ends or
// releases them.
func FreePorts(count int) ([]string, error) {
	addresses := make([]string, 0, count)
	for range portTries {
		if port := anyPort(); claim(port) {
			if addresses = append(addresses, address(port)); len(addresses) == count {
				return addresses, nil
			}
		}
	}
	ReleasePorts(addresses...)
	return nil, fmt.Errorf("no %d free ports between %d and %d", count, portLow, portHigh)
}

// FreeBase finds the base port of a development cluster. As many ports as it has nodes, and as
// many 100 and 200 above, are as free as those of FreePorts.
func FreeBase(nodes int) (int, error) {
	for range portTries {
		base := anyPort()
		var got []string
		for _, above := range []int{0, 100, 200} {
			for i := range nodes {
				if port := base + above + i; claim(port) {
					got = append(got, address(port))
				}
			}
		}
		if len(got) == 3*nodes {
			return base, nil
		}
		ReleasePorts(got...)
	}
	return 0, fmt.Errorf("no free ports for %d nodes between %d and %d", nodes, portLow, portHigh)
}

// ReleasePorts releases ports that this process reserved and no longer uses.
func ReleasePorts(addresses ...string) {
	for _, address := range addresses {
		_, text, _ := net.SplitHostPort(address)
		port, _ := strconv.Atoi(text)
		release(port)
	}
}

func anyPort() int { return portLow + rand.IntN(portHigh-portLow) }

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// claim reserves a port, unless another process has it or somebody listens on it.
func claim(port int) bool {
	if !reserve(port) {
		return false
	}
	listener, err := net.Listen("tcp", address(port))
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		release(port)
	}
	return err == nil
}

// reserve reserves a port for this process. It returns false if the port is reserved already.
func reserve(port int) bool {
	if _, own := reserved.Load(port); own {
		return false
	}
	file, free := hold(port)
	if !free {
		return false
	}
	_, own := reserved.LoadOrStore(port, file)
	if own {
		_ = file.Close()
	}
	return !own
}

// release gives a port back, so that anyone may reserve it.
func release(port int) {
	if file, own := reserved.LoadAndDelete(port); own {
		_ = file.(io.Closer).Close()
	}
}

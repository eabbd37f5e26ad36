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

// reserved are this process's ports, which no other is given: number to what holds it.
var reserved sync.Map

// FreePorts finds ports that nobody listens on and nobody else was given. They lie below the range from
// which systems take ports for outgoing connections, so that a node that is down
// for a while finds its own again. They stay this process's until it ends or gives them back.
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

// FreeBase finds the port from which a development cluster counts: as many ports as
// it has nodes, and as many 100 and 200 above, are as free as those of FreePorts.
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

// ReleasePorts gives back what this process was given and no longer uses.
func ReleasePorts(addresses ...string) {
	for _, address := range addresses {
		_, text, _ := net.SplitHostPort(address)
		port, _ := strconv.Atoi(text)
		release(port)
	}
}

func anyPort() int { return portLow + rand.IntN(portHigh-portLow) }

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// claim takes a port for this process, unless it is another's or somebody listens there.
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

// reserve notes a port as this process's. False: it is given already.
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

// release gives a port back, which then is anyone's.
func release(port int) {
	if file, own := reserved.LoadAndDelete(port); own {
		_ = file.(io.Closer).Close()
	}
}

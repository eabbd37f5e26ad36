package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	portLow   = 18_000 // Below the range that systems give to outgoing connections.
	portHigh  = 30_000
	portTries = 2_000
)

// FreePorts finds ports that nobody listens on. They lie below the range from
// which systems take ports for outgoing connections, so that a node that is down
// for a while finds its own again.
func FreePorts(count int) ([]string, error) {
	addresses := make([]string, 0, count)
	taken := make(map[int]bool)
	for range portTries {
		port := portLow + rand.IntN(portHigh-portLow)
		if taken[port] {
			continue
		}
		taken[port] = true
		address := "127.0.0.1:" + strconv.Itoa(port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			continue
		}
		if addresses = append(addresses, address); len(addresses) == count {
			return addresses, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", count, portLow, portHigh)
}

package process

import (
	"fmt"
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

// reserved are this process's ports, which no other is given: number to open file.
var reserved sync.Map

// FreePorts finds ports that nobody listens on and nobody else was given. They lie below the range from
// which systems take ports for outgoing connections, so that a node that is down
// for a while finds its own again.
func FreePorts(count int) ([]string, error) {
	addresses := make([]string, 0, count)
	taken := make(map[int]bool)
	for range portTries {
		port := portLow + rand.IntN(portHigh-portLow)
		if _, own := reserved.Load(port); own || taken[port] || !reserve(port) {
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

package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// memberAddress is what raft's configuration keeps as a server's address, and so
// what the group agrees on about a member: where it listens, which incarnation of
// its data folder it is, and whether an operator holds it without a vote.
//
//	10.0.0.1:7000/6f1d0c55e2a94b17
//	10.0.0.1:7000/6f1d0c55e2a94b17/hold
//
// The incarnation keeps a wiped node out: it has another one, so nobody who knows
// the configuration talks raft with it until it has joined anew.
type memberAddress struct {
	host        string
	incarnation string
	hold        bool
}

const (
	incarnationShown = 16
	holdMark         = "hold"
)

func (a memberAddress) String() string {
	text := a.host + "/" + a.incarnation
	if a.hold {
		text += "/" + holdMark
	}
	return text
}

func parseAddress(text string) (memberAddress, error) {
	parts := strings.Split(text, "/")
	a := memberAddress{host: parts[0]}
	switch {
	case len(parts) == 2, len(parts) == 3 && parts[2] == holdMark:
		a.incarnation, a.hold = parts[1], len(parts) == 3
	default:
		return a, fmt.Errorf("cluster: member address %q", text)
	}
	if a.host == "" || a.incarnation == "" {
		return a, fmt.Errorf("cluster: member address %q", text)
	}
	return a, nil
}

// hostOf is the part of a member's address that people want to see.
func hostOf(text string) string {
	host, _, _ := strings.Cut(text, "/")
	return host
}

// loopback reports whether an address names this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var errInsecure = errors.New("cluster: insecure mode is for loopback addresses only")

// checkInsecure refuses plain connections that could leave this machine.
func (c *Config) checkInsecure() error {
	for _, address := range append([]string{c.ListenCluster, c.Advertise}, c.Join...) {
		if address != "" && !loopback(address) {
			return fmt.Errorf("%w, not %s", errInsecure, address)
		}
	}
	return nil
}

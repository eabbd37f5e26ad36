package port

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// Address is a server's address in raft's configuration. So the group agrees on where a member
// listens, which incarnation its data folder has, and whether an operator keeps it without a
// vote.
//
//	10.0.0.1:7000/6f1d0c55e2a94b17c0a84b10d3f5e296
//	10.0.0.1:7000/6f1d0c55e2a94b17c0a84b10d3f5e296/hold
//
// The incarnation is the digest of the node's key. It keeps everybody else out: another folder
// has another key, so nobody who knows the configuration speaks raft with its node until that
// has joined anew.
type Address struct {
	Host        string
	Incarnation string
	Hold        bool
}

const holdMark = "hold"

func (a Address) String() string {
	text := a.Host + "/" + a.Incarnation
	if a.Hold {
		text += "/" + holdMark
	}
	return text
}

func ParseAddress(text string) (Address, error) {
	parts := strings.Split(text, "/")
	a := Address{Host: parts[0]}
	switch {
	case len(parts) == 2, len(parts) == 3 && parts[2] == holdMark:
		a.Incarnation, a.Hold = parts[1], len(parts) == 3
	default:
		return a, fmt.Errorf("cluster: member address %q", text)
	}
	if a.Host == "" || a.Incarnation == "" {
		return a, fmt.Errorf("cluster: member address %q", text)
	}
	return a, nil
}

// HostOf returns the host and port of a member's address, which people want to see.
func HostOf(text string) string {
	host, _, _ := strings.Cut(text, "/")
	return host
}

// Loopback reports whether an address names this machine only.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var ErrInsecure = errors.New("cluster: insecure mode is for loopback addresses only")

// MembersMax bounds the members of a group.
const MembersMax = 9

// IDMax bounds a node's id.
const IDMax = 64

// ValidID refuses an invalid node id. A valid one has 1 to 64 of a-z, A-Z, 0-9, '-', '_', '.'.
func ValidID(id string) error {
	if id == "" || len(id) > IDMax {
		return fmt.Errorf("cluster: node id must have 1 to %d characters", IDMax)
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return fmt.Errorf("cluster: node id %q: only letters, digits, '-', '_' and '.'", id)
		}
	}
	return nil
}

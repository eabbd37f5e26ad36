//go:build !linux

package chaos

import "net/netip"

func newCell(string, netip.Addr) (*cell, error) {
	return nil, skipped("network namespaces are Linux's")
}

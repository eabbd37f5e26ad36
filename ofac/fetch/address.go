package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// ErrAddress says that a host name resolves to an address that is neither public nor among
// Source.Allowed.
var ErrAddress = errors.New("address is not public")

// notPublic are the address ranges from which no list is ever fetched: the IANA
// special-purpose registries (RFC 6890 and its successors), and the ranges that embed an
// IPv4 address and so could hide a private one.
var notPublic = parsePrefixes(
	"0.0.0.0/8",       // This network.
	"10.0.0.0/8",      // Private.
	"100.64.0.0/10",   // Shared, carrier-grade NAT.
	"127.0.0.0/8",     // Loopback.
	"169.254.0.0/16",  // Link-local, with the metadata services of clouds.
	"172.16.0.0/12",   // Private.
	"192.0.0.0/24",    // IETF protocol assignments.
	"192.0.2.0/24",    // Documentation.
	"192.88.99.0/24",  // 6to4 relays.
	"192.168.0.0/16",  // Private.
	"198.18.0.0/15",   // Benchmarking.
	"198.51.100.0/24", // Documentation.
	"203.0.113.0/24",  // Documentation.
	"224.0.0.0/4",     // Multicast.
	"240.0.0.0/4",     // Reserved, and broadcast.
	"::/96",           // Unspecified, loopback, IPv4-compatible.
	"64:ff9b::/96",    // NAT64.
	"64:ff9b:1::/48",  // NAT64, local.
	"100::/64",        // Discard.
	"2001::/23",       // IETF protocol assignments, Teredo.
	"2001:db8::/32",   // Documentation.
	"2002::/16",       // 6to4.
	"3fff::/20",       // Documentation.
	"5f00::/16",       // Segment routing.
	"fc00::/7",        // Unique local.
	"fe80::/10",       // Link-local.
	"fec0::/10",       // Site-local, deprecated.
	"ff00::/8",        // Multicast.
)

// private are the ranges of notPublic in which an operator's mirror may be.
var private = parsePrefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8",
	"::1/128", "fc00::/7",
)

func parsePrefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// isPermitted says whether an address may be dialled: a public one, or an allowed one.
func isPermitted(address netip.Addr, allowed []netip.Prefix) bool {
	address = address.Unmap().WithZone("")
	if isWithin(address, allowed) {
		return true
	}
	return address.IsValid() && !isWithin(address, notPublic)
}

func isWithin(address netip.Addr, list []netip.Prefix) bool {
	for _, prefix := range list {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// guard dials only the addresses that it has checked. So a name server cannot give one
// answer to the check and another to the dial.
type guard struct {
	allowed []netip.Prefix
	private map[string]bool // Hosts, with port, that may have private addresses.
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// dialPermitted is http.Transport's DialContext.
func (g guard) dialPermitted(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addresses, err := g.resolveHost(ctx, host, g.private[hostPort])
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	var failures error
	for _, address := range addresses[:min(len(addresses), AddressesMax)] {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(address.String(), port))
		if err == nil {
			return conn, nil
		}
		failures = errors.Join(failures, err)
	}
	return nil, failures
}

// resolveHost resolves a host. It refuses the host when one of its addresses is not
// permitted: no public name should resolve to a private address.
func (g guard) resolveHost(ctx context.Context, host string, mayBePrivate bool) ([]netip.Addr, error) {
	var addresses []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{literal}
	} else if addresses, err = g.resolve(ctx, host); err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("resolve %s: no address", host)
	}
	for i, address := range addresses {
		if !isPermitted(address, g.allowed) && !(mayBePrivate && isWithin(address.Unmap().WithZone(""), private)) {
			return nil, fmt.Errorf("%s is at %v: %w", host, address, ErrAddress)
		}
		addresses[i] = address.Unmap()
	}
	return addresses, nil
}

func systemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

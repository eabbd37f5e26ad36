package chaos

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socketOwner finds which of some processes holds the far end of a connection
// between two addresses of this machine; 0 when none of them does. TLS hides who
// dials a relay, so the system is asked.
func socketOwner(dialler, relay netip.AddrPort, pids []int) int {
	inode := socketInode(dialler, relay)
	if inode == "" {
		return 0
	}
	wanted := "socket:[" + inode + "]"
	for _, pid := range pids {
		folder := filepath.Join("/proc", strconv.Itoa(pid), "fd")
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if target, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && target == wanted {
				return pid
			}
		}
	}
	return 0
}

// tableReads is how often the system's table is read for one socket: it is handed
// out piece by piece, and lines go missing while others come and go.
const tableReads = 20

// socketInode looks the socket up in the system's table of IPv4 connections.
func socketInode(local, remote netip.AddrPort) string {
	want := tableAddress(local) + " " + tableAddress(remote)
	for range tableReads {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			return ""
		}
		if inode := inodeIn(table, want); inode != "" {
			return inode
		}
	}
	return ""
}

func inodeIn(table []byte, want string) string {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) > 9 && fields[1]+" "+fields[2] == want {
			return fields[9]
		}
	}
	return ""
}

// tableAddress writes an address as the table has it: bytes in the machine's order
// (little-endian on all machines this runs on), then the port, in hexadecimal.
func tableAddress(address netip.AddrPort) string {
	ip := address.Addr().As4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], address.Port())
}

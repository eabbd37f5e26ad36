package chaos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// socketOwner finds out which of the given processes holds the far end of a connection between
// two addresses of this machine; 0: none of them does. TLS hides which node dials a relay, so the
// operating system is asked.
func socketOwner(dialler, relay netip.AddrPort, pids []int) int {
	inode := socketInode(dialler, relay)
	if inode == 0 {
		return 0
	}
	wanted := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
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

// The operating system can be asked about one socket (sock_diag(7)). That is better than to read
// the table in /proc, which comes piece by piece and may lack lines while sockets come and go.
const (
	diagByFamily  = 20 // The constant SOCK_DIAG_BY_FAMILY of Linux.
	diagRequest   = 56 // Bytes of an inet_diag_req_v2.
	diagAnswer    = 72 // Bytes of an inet_diag_msg.
	diagEnds      = 36 // Bytes of the two ports and addresses, in the request and in the answer.
	diagInode     = 68 // Offset of the inode in an inet_diag_msg.
	diagAllStates = ^uint32(0)
	diagWait      = 2 // Seconds. Usually the system answers at once.
)

// socketInode returns the inode of the IPv4 socket with these two ends; 0: there is none.
func socketInode(local, remote netip.AddrPort) uint32 {
	if inode, answered := askedInode(local, remote); answered {
		return inode
	}
	return listedInode(local, remote) // This system has no sock_diag.
}

// askedInode asks sock_diag for the inode. answered is false if that failed.
func askedInode(local, remote netip.AddrPort) (inode uint32, answered bool) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false
	}
	defer func() { _ = syscall.Close(fd) }()
	if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: diagWait}) != nil {
		return 0, false
	}
	question := diagQuestion(local, remote)
	if syscall.Sendto(fd, question, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}) != nil {
		return 0, false
	}
	answer := make([]byte, os.Getpagesize())
	count, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, false
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:count])
	if err != nil || len(messages) == 0 {
		return 0, false
	}
	switch at := messages[0]; {
	case at.Header.Type == syscall.NLMSG_ERROR && len(at.Data) >= 4:
		return 0, -int32(binary.NativeEndian.Uint32(at.Data)) == int32(syscall.ENOENT)
	case at.Header.Type != diagByFamily || len(at.Data) < diagAnswer:
		return 0, false
	}
	asked, told := question[syscall.NLMSG_HDRLEN+8:][:diagEnds], messages[0].Data[4:][:diagEnds]
	if !bytes.Equal(asked, told) { // If there is no such connection, the system answers with the socket that listens on the port.
		return 0, true
	}
	return binary.NativeEndian.Uint32(messages[0].Data[diagInode:]), true
}

// diagQuestion returns the request. Its numbers are in the byte order of the machine, its ports
// and addresses in that of the network.
func diagQuestion(local, remote netip.AddrPort) (q []byte) {
	order := binary.NativeEndian
	q = order.AppendUint32(q, syscall.NLMSG_HDRLEN+diagRequest)
	q = order.AppendUint16(q, diagByFamily)
	q = order.AppendUint16(q, syscall.NLM_F_REQUEST)
	q = append(q, make([]byte, 8)...) // The sequence number and the sender.
	q = append(q, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	q = order.AppendUint32(q, diagAllStates)
	q = binary.BigEndian.AppendUint16(q, local.Port())
	q = binary.BigEndian.AppendUint16(q, remote.Port())
	for _, end := range []netip.AddrPort{local, remote} {
		ip := end.Addr().As4()
		q = append(append(q, ip[:]...), make([]byte, 12)...) // The rest of the space for an IPv6 address.
	}
	q = order.AppendUint32(q, 0)                             // This means any interface.
	return append(q, 255, 255, 255, 255, 255, 255, 255, 255) // This means a socket with any cookie.
}

// tableReads is how often the table in /proc is read for one socket.
const tableReads = 20

func listedInode(local, remote netip.AddrPort) uint32 {
	want := tableAddress(local) + " " + tableAddress(remote)
	for range tableReads {
		table, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			return 0
		}
		if inode := inodeIn(table, want); inode != 0 {
			return inode
		}
	}
	return 0
}

func inodeIn(table []byte, want string) uint32 {
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if len(fields) > 9 && fields[1]+" "+fields[2] == want {
			inode, _ := strconv.ParseUint(fields[9], 10, 32)
			return uint32(inode)
		}
	}
	return 0
}

// tableAddress writes an address as the table has it, in hexadecimal: the bytes in the machine's
// order (this runs only on little-endian machines), then the port.
func tableAddress(address netip.AddrPort) string {
	ip := address.Addr().As4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], address.Port())
}

package chaos

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"railguard/cluster/testcluster"
)

// newCell makes a network namespace with one device, tun0, whose packets this process reads. The
// namespace has no name, so it ends when the last process in it and this process have ended.
func newCell(node string, address netip.Addr) (*cell, error) {
	c := &cell{node: node, address: address, thread: testcluster.NewSpawner()}
	err := c.thread.Do(func() error {
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			return fmt.Errorf("a network namespace: %w", err)
		}
		device, err := openTunnel("tun0")
		if err != nil {
			return err
		}
		c.device = device
		for _, words := range [][]string{
			{"link", "set", "lo", "up"},
			{"addr", "add", address.String() + "/24", "dev", "tun0"},
			{"link", "set", "tun0", "up"},
		} {
			if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %v: %w %s", words, err, out)
			}
		}
		return nil
	})
	if err != nil {
		if c.device != nil {
			_ = c.device.Close()
		}
		c.thread.Close()
		return nil, skipped(fmt.Sprintf("no network namespaces here (they need root, iproute2 and /dev/net/tun): %v", err))
	}
	return c, nil
}

// Values of linux/if_tun.h. With them the system adds no header of its own to a packet.
const (
	tunSetInterface = 0x400454ca
	tunPackets      = 0x0001
	tunNoHeader     = 0x1000
)

// openTunnel makes a device in the namespace of the calling thread.
func openTunnel(name string) (io.ReadWriteCloser, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	var request struct { // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = tunPackets | tunNoHeader
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), tunSetInterface, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil, errors.Join(fmt.Errorf("device %s: %w", name, errno), syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

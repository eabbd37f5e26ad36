package chaos

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSocketOwner(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	far, near := addrPort(accepted.RemoteAddr()), addrPort(accepted.LocalAddr())
	require.Equal(t, os.Getpid(), socketOwner(far, near, []int{1, os.Getpid()}))
	require.Zero(t, socketOwner(far, near, []int{os.Getppid()}), "a process that does not hold the connection")
	require.Zero(t, socketOwner(near, addrPort(listener.Addr()), []int{os.Getpid()}), "no such connection")

	if inode, answered := askedInode(far, near); answered {
		require.Contains(t, []uint32{inode, 0}, listedInode(far, near), "the table that is read otherwise may miss a line")
	}
}

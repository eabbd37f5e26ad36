package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
	"railguard/httpapi/border"
)

// overseerSocket is a service manager's socket. What is told comes out of the channel.
func overseerSocket(t *testing.T) (path string, told <-chan string) {
	folder, err := os.MkdirTemp("", "notify") // The path of a socket must be short.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path = filepath.Join(folder, "socket")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	lines := make(chan string, 1000)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := socket.Read(buffer)
			if err != nil {
				return
			}
			lines <- string(buffer[:n])
		}
	}()
	return path, lines
}

// awaitTold returns the next message that begins with a word.
func awaitTold(t *testing.T, told <-chan string, word string) string {
	t.Helper()
	for {
		select {
		case message := <-told:
			if strings.HasPrefix(message, word) {
				return message
			}
		case <-time.After(slowPatience):
			require.Fail(t, "the service manager was not told "+word)
		}
	}
}

func TestOverseerIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		environment map[string]string
		want        overseer
	}{
		"nobody asks":               {nil, overseer{}},
		"without signs":             {map[string]string{"NOTIFY_SOCKET": "/run/s"}, overseer{socket: "/run/s"}},
		"with signs":                {map[string]string{"NOTIFY_SOCKET": "@s", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "17"}, overseer{"@s", time.Minute}},
		"without a process":         {map[string]string{"NOTIFY_SOCKET": "@s", "WATCHDOG_USEC": "1"}, overseer{"@s", time.Microsecond}},
		"signs of another process":  {map[string]string{"NOTIFY_SOCKET": "@s", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "16"}, overseer{socket: "@s"}},
		"a span that is no number":  {map[string]string{"NOTIFY_SOCKET": "@s", "WATCHDOG_USEC": "a minute"}, overseer{socket: "@s"}},
		"a span that is not a span": {map[string]string{"NOTIFY_SOCKET": "@s", "WATCHDOG_USEC": "-1"}, overseer{socket: "@s"}},
	} {
		require.Equal(t, c.want, findOverseer(func(name string) string { return c.environment[name] }, 17), name)
	}
	none := overseer{}
	require.NoError(t, none.tell("READY=1"))
	gone := overseer{socket: filepath.Join(t.TempDir(), "gone")}
	require.ErrorContains(t, gone.tell("READY=1"), "the service manager's socket")
}

// TestSignsEndWithLife: a process that does not answer gives no sign, so that it is ended and
// started again.
func TestSignsEndWithLife(t *testing.T) {
	path, told := overseerSocket(t)
	o := overseer{socket: path, signs: 20 * time.Millisecond}
	stop, ended := make(chan struct{}), make(chan struct{})
	var lives atomic.Bool
	lives.Store(true)
	asked := make(chan struct{}, 1000)
	go func() {
		o.giveSigns(stop, func() bool { asked <- struct{}{}; return lives.Load() })
		close(ended)
	}()
	require.Equal(t, "WATCHDOG=1", awaitTold(t, told, ""))
	lives.Store(false)
	for range 3 {
		<-asked
	}
	for len(told) > 0 {
		<-told
	}
	for range 5 {
		<-asked
	}
	require.Empty(t, told)
	close(stop)
	<-ended

	s := &server{publicDoor: border.NewEntrance("test")}
	require.True(t, s.answersLivez(), "a node that reads its state lives")
	s.publicDoor.Open(http.NotFoundHandler())
	require.False(t, s.answersLivez())
}

// TestServiceManagerIsTold: a node of three whose others are not there yet tells that it serves,
// gives signs of life, and tells that it stops. Its process has the name of its file.
func TestServiceManagerIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	path, told := overseerSocket(t)
	p := newPark(t, 3)
	m := p.machines[0]
	m.env = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=400000"}
	p.start(m, "--bootstrap-expect", "3", "--public-url", "https://guard.example.org")
	require.Equal(t, "STATUS=reads its state", awaitTold(t, told, ""))
	require.Contains(t, awaitTold(t, told, ""), "READY=1\n", "the first message after that, although no group is formed")
	awaitTold(t, told, "WATCHDOG=1")
	if name, err := os.ReadFile("/proc/" + strconv.Itoa(m.child.Command.Process.Pid) + "/comm"); err == nil {
		require.Equal(t, "railguard", strings.TrimSpace(string(name)))
	}
	require.NoError(t, m.child.Command.Process.Signal(testcluster.SignalEnd))
	require.Contains(t, awaitTold(t, told, "STOPPING=1"), "leaves")
	require.NoError(t, m.child.Wait(slowPatience))
	m.child = nil
}

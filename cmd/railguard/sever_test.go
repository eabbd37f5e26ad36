package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSever: callers of a process that ends are reset at once, those who wait for an answer and
// those who wait to be asked, over TLS as well, and no new one is taken.
func TestSever(t *testing.T) {
	for _, secure := range []bool{false, true} {
		hang := make(chan struct{})
		release := sync.OnceFunc(func() { close(hang) })
		t.Cleanup(release)
		called := make(chan struct{}, 1)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			called <- struct{}{}
			<-hang // As a handler that waits for the disk.
		}))
		c := newCallers(server.Listener)
		c.follow(server.Config)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		answered := make(chan error, 1)
		go func() {
			response, err := server.Client().Get(server.URL)
			if err == nil {
				_ = response.Body.Close()
			}
			answered <- err
		}()
		<-called
		idle, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		require.Eventually(t, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.open) == 2 }, 5*time.Second, time.Millisecond)

		began := time.Now()
		c.sever()
		select {
		case err := <-answered:
			require.Error(t, err)
		case <-time.After(5 * time.Second):
			require.Fail(t, "who waits for an answer is reset as well")
		}
		_ = idle.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err = io.ReadAll(idle)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the idle one is reset as well")
		require.Less(t, time.Since(began), 2*time.Second)
		_, err = net.DialTimeout("tcp", server.Listener.Addr().String(), time.Second)
		require.Error(t, err)
		release()
		server.CloseClientConnections()
	}
}

package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
)

// With many idle and many busy connections, every call of the busy ones is answered, and
// the idle ones work again afterwards. With TLS many calls share one HTTP/2 connection.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	const idle, busy, calls = 200, 50, 5
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			server := httptest.NewUnstartedServer(nil)
			server.Config = border.NewServer(n.api.Handler(), border.ServerLimits{})
			if server.EnableHTTP2 = secure; secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = idle + busy
			protocols := sync.Map{}
			try := func() (refused bool) {
				r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/screen", strings.NewReader(`{"token":"x","amount":1}`))
				if err != nil {
					t.Error(err)
					return false
				}
				r.Header.Set("Authorization", "Bearer "+testSecret("screener"))
				answer, err := server.Client().Do(r)
				if err != nil {
					t.Error(err)
					return false
				}
				defer answer.Body.Close()
				_, _ = io.Copy(io.Discard, answer.Body)
				protocols.Store(answer.Proto, true)
				if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
					t.Error(answer.Status)
				}
				return answer.StatusCode == http.StatusServiceUnavailable
			}
			screen := func() { // On a slow machine so many at once are an overload, and a caller comes again.
				for tries := 0; try(); tries++ {
					if time.Sleep(20 * time.Millisecond); tries == 500 {
						t.Error("refused for ten seconds")
						return
					}
				}
			}
			together := func(callers, each int) {
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for range each {
							screen()
						}
					})
				}
				all.Wait()
			}
			together(idle, 1) // Opens the idle connections, and keeps them.
			together(busy, calls)
			together(idle, 1)
			_, second := protocols.Load("HTTP/2.0")
			require.Equal(t, secure, second, "HTTP/2 where TLS is on, and only there")
		})
	}
}

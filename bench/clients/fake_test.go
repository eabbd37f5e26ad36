package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// step is what the fake server does with one call of a case.
type step struct {
	Status     int             `json:"status"`
	Body       json.RawMessage `json:"body"`
	Raw        *string         `json:"raw"`
	Outcome    string          `json:"outcome"`
	RetryAfter string          `json:"retryAfter"`
	Location   string          `json:"location"`
	Close      bool            `json:"close"` // Reads the call and breaks the connection.
	Short      bool            `json:"short"` // Promises more bytes than it sends.
	Hang       bool            `json:"hang"`  // Answers only when the caller has gone.
}

// sent is one call that arrived.
type sent struct {
	at                   int // Index of the address.
	key, body, authority string
	method, path         string // The path begins with /v1.
	query                url.Values
}

// fake plays the scripts of cases. Its paths are /LANGUAGE/CASE/ADDRESS/v1/...
type fake struct {
	scripts [][]step
	mu      sync.Mutex
	calls   map[string][]sent // Calls by "LANGUAGE/CASE".
	failed  []string
	url     string
	refused string // An address that nobody listens on.
}

func newFake(t *testing.T, scripts [][]step) *fake {
	f := &fake{scripts: scripts, calls: make(map[string][]sent)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	away, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	f.refused = "http://" + away[0]
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(r.URL.Path, "/", 5)
	if len(parts) != 5 {
		http.NotFound(w, r)
		return
	}
	number, errCase := strconv.Atoi(parts[2])
	at, errAddress := strconv.Atoi(parts[3])
	body, errBody := io.ReadAll(r.Body)
	if errCase != nil || errAddress != nil || errBody != nil || number >= len(f.scripts) {
		http.NotFound(w, r)
		return
	}
	name := parts[1] + "/" + parts[2]
	f.mu.Lock()
	turn := len(f.calls[name])
	f.calls[name] = append(f.calls[name], sent{
		at: at, key: r.Header.Get("Idempotency-Key"), body: string(body), authority: r.Header.Get("Authorization"), method: r.Method, path: "/" + parts[4], query: r.URL.Query(),
	})
	f.mu.Unlock()
	if turn >= len(f.scripts[number]) {
		f.mu.Lock()
		f.failed = append(f.failed, name+": one call too many")
		f.mu.Unlock()
		http.Error(w, "the script has ended", http.StatusTeapot)
		return
	}
	f.scripts[number][turn].play(w, r)
}

func (s *step) play(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.Hang:
		<-r.Context().Done()
		return
	case s.Close:
		panic(http.ErrAbortHandler)
	}
	body := []byte(s.Body)
	if s.Raw != nil {
		body = []byte(*s.Raw)
	}
	for name, value := range map[string]string{"X-Railguard-Outcome": s.Outcome, "Retry-After": s.RetryAfter, "Location": s.Location} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", "application/json")
	length := len(body)
	if s.Short {
		length += 100
	}
	w.Header().Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(s.Status)
	_, _ = w.Write(body)
	if s.Short {
		panic(http.ErrAbortHandler)
	}
}

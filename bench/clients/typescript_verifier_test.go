package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// typescriptProgram makes a command of a program in testdata/typescript.
func typescriptProgram(t *testing.T, name string) *exec.Cmd {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the TypeScript client is NOT tested")
	}
	out := filepath.Join(t.TempDir(), name+".mjs")
	strip(t, filepath.Join("testdata", "typescript", name+".ts"), out)
	return exec.Command(node, out)
}

// hanging serves keys and one list, and hangs from its second mood on.
type hanging struct {
	mutex sync.Mutex
	mood  int
	keys  client.JWKS
	list  string
	asked map[string]int
}

func (h *hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mutex.Lock()
	if r.URL.Path == "/next" {
		h.mood++
		h.mutex.Unlock()
		return
	}
	h.asked[r.URL.Path]++
	mood := h.mood
	h.mutex.Unlock()
	if mood > 1 {
		<-r.Context().Done()
		return
	}
	if r.URL.Path == "/status-lists/1" {
		_, _ = io.WriteString(w, h.list)
		return
	}
	_ = json.NewEncoder(w).Encode(&h.keys)
}

// TestTypescriptVerifierInACrowd: one reading of keys and list serves all callers. What is known serves while
// the service hangs, and nothing serves behind the list's end. No caller waits longer than it said, although
// all wait for the same reading.
func TestTypescriptVerifierInACrowd(t *testing.T) {
	program := typescriptProgram(t, "crowd")
	key := newSigner(t, "cc-test")
	server := &hanging{asked: map[string]int{}, keys: client.JWKS{Keys: []client.JWK{key.public()}}, list: key.sign(listHeader("cc-test"), key.list(nil))}
	host := httptest.NewServer(server)
	defer host.Close()
	defer host.CloseClientConnections()
	const callers, patienceMs = 20, 300
	job := map[string]any{
		"url": host.URL, "issuer": "did:kya:railguard", "callers": callers, "patienceMs": patienceMs,
		"token": key.sign(header("cc-test"), key.payload(entryClaim(0, listURL))),
		"times": []int64{validFrom + 1, validFrom + 61, validFrom + 119, validFrom + 120},
	}
	var rounds []struct {
		Told []string
		MS   float64
	}
	require.NoError(t, run(t.Context(), program, job, &rounds))
	require.Len(t, rounds, 4)
	for i, told := range []string{"valid", "valid", "valid", "status_unknown"} {
		require.Equal(t, []string{told}, rounds[i].Told, "round %d", i)
	}
	for i, most := range []float64{5000, 1000, 1000, patienceMs + 2000} {
		require.Less(t, rounds[i].MS, most, "round %d", i)
	}
	server.mutex.Lock()
	defer server.mutex.Unlock()
	require.Equal(t, map[string]int{"/v1/.well-known/jwks.json": 1, "/status-lists/1": 2}, server.asked)
}

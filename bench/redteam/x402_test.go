package redteam

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// facilitator stands behind the product's x402 and pays each nonce once.
type facilitator struct {
	*httptest.Server
	mutex  sync.Mutex
	paid   map[string]string // Transactions by nonce.
	bodies []string          // What was asked of it.
}

func newFacilitator(t *testing.T) *facilitator {
	f := &facilitator{paid: map[string]string{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Payload struct {
			Payload struct{ Authorization struct{ From, Nonce string } }
		} `json:"paymentPayload"`
		Requirements struct{ Network string } `json:"paymentRequirements"`
	}
	_ = json.Unmarshal(body, &call) // What is no payment has an empty nonce.
	f.mutex.Lock()
	f.bodies = append(f.bodies, string(body))
	nonce := call.Payload.Payload.Authorization.Nonce
	if r.URL.Path == "/settle" && f.paid[nonce] == "" {
		f.paid[nonce] = fmt.Sprintf("0x%064x", len(f.paid)+1)
	}
	transaction := f.paid[nonce]
	f.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/supported" {
		_, _ = io.WriteString(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}],"extensions":[],"signers":{}}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"isValid":true,"payer":%q,"transaction":%q,"network":%q}`,
		call.Payload.Payload.Authorization.From, transaction, call.Requirements.Network)
}

// sent counts how often the facilitator was asked about a nonce.
func (f *facilitator) sent(nonce, word string) (count int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, body := range f.bodies {
		if strings.Contains(body, nonce) && strings.Contains(body, word) {
			count++
		}
	}
	return count
}

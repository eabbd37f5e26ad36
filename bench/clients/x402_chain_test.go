package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// movingChain is a facilitator that moves money at every settle, also of one that it had before, and then
// answers as mode says.
type movingChain struct {
	mutex sync.Mutex
	mode  string
	moved []string // Units of each payment that was moved.
	to    []string // Who got them.
	sent  []string // Bodies of settle.
}

// x402Signed is what a payer signed, by either method.
type x402Signed struct {
	Authorization struct{ From, To, Value string }
	Permit2       struct {
		From      string
		Permitted struct{ Amount string }
		Witness   struct{ To string }
	} `json:"permit2Authorization"`
}

func (c *movingChain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Payment struct {
			X402Version int
			Payload     x402Signed
		} `json:"paymentPayload"`
	}
	_ = json.Unmarshal(body, &call)
	w.Header().Set("Content-Type", "application/json")
	signed := &call.Payment.Payload
	payer, payee, units, network := signed.Authorization.From, signed.Authorization.To, signed.Authorization.Value, "eip155:8453"
	if payer == "" {
		payer, payee, units = signed.Permit2.From, signed.Permit2.Witness.To, signed.Permit2.Permitted.Amount
	}
	if call.Payment.X402Version == 1 {
		network = "base"
	}
	switch r.URL.Path {
	case "/supported":
		_, _ = io.WriteString(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"},{"x402Version":1,"scheme":"exact","network":"base"}],"extensions":[],"signers":{}}`)
		return
	case "/verify":
		fmt.Fprintf(w, `{"isValid":true,"payer":%q}`, payer)
		return
	}
	c.mutex.Lock()
	c.moved, c.to, c.sent = append(c.moved, units), append(c.to, payee), append(c.sent, string(body))
	mode, transaction := c.mode, fmt.Sprintf("0x%04x", len(c.moved))
	c.mutex.Unlock()
	misbehaviours[mode](w, r, fmt.Sprintf(`{"success":true,"payer":%q,"transaction":%q,"network":%q,"amount":%q}`, payer, transaction, network, units))
}

// misbehaviours are what a facilitator may do after it moved the money; good is the answer that is true.
var misbehaviours = map[string]func(w http.ResponseWriter, r *http.Request, good string){
	"": func(w http.ResponseWriter, _ *http.Request, good string) { _, _ = io.WriteString(w, good) },
	"cuts the connection": func(http.ResponseWriter, *http.Request, string) {
		panic(http.ErrAbortHandler)
	},
	"cuts its answer": func(w http.ResponseWriter, _ *http.Request, good string) {
		w.Header().Set("Content-Length", fmt.Sprint(len(good)))
		_, _ = io.WriteString(w, good[:len(good)/2])
	},
	"hangs": func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
	"fails": func(w http.ResponseWriter, _ *http.Request, good string) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:8453"}`)
	},
	"answers twice":       func(w http.ResponseWriter, _ *http.Request, good string) { _, _ = io.WriteString(w, good+good) },
	"talks of something":  func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = io.WriteString(w, "<html>") },
	"contradicts itself":  change(`"success":true`, `"success":true,"Success":false`),
	"names another payer": change(`"payer":"0x`, `"payer":"0x9999999999999999999999999999999999999999","was":"0x`),
	"names another sum":   change(`"amount":"`, `"amount":"1`),
	"names another chain": change(`"eip155:8453"`, `"eip155:1"`),
	"names no transfer":   change(`"transaction":"0x`, `"transaction":"","was":"0x`),
	"fails and names one": change(`"success":true`, `"success":false,"errorReason":"insufficient_funds"`),
	"is not sure":         change(`"success":true`, `"success":false,"errorReason":"settlement_pending"`),
}

func change(old, now string) func(w http.ResponseWriter, _ *http.Request, good string) {
	return func(w http.ResponseWriter, _ *http.Request, good string) {
		_, _ = io.WriteString(w, strings.Replace(good, old, now, 1))
	}
}

// says sets what the facilitator does from now on.
func (c *movingChain) says(mode string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.mode = mode
}

// since returns what was moved after the first so many payments.
func (c *movingChain) since(count int) []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.moved[count:])
}

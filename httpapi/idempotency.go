package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"railguard/engine"
	"railguard/fsm/wire"
)

// inFlight is the set of keyed calls this node is answering now. A second call
// with the same key meanwhile gets 409; on another node the log decides.
type inFlight struct {
	mutex   sync.Mutex
	running map[[16]byte]struct{}
}

// begin claims the key; false when a call with it is running.
func (f *inFlight) begin(key [16]byte) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, running := f.running[key]; running {
		return false
	}
	f.running[key] = struct{}{}
	return true
}

func (f *inFlight) end(key [16]byte) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.running, key)
}

// beginIdempotent reads the Idempotency-Key of a POST (decision 31, "Idempotency"): scope
// owner and path, the body compared by hash. Role and scope of the key were judged
// before: a replay is rendered with the rights of who asks now.
func (c *call) beginIdempotent() error {
	if c.r.Method != http.MethodPost || c.key == nil {
		return nil
	}
	values := c.r.Header["Idempotency-Key"]
	if len(values) == 0 {
		return nil
	}
	value := values[0]
	if len(values) > 1 || value == "" || len(value) > engine.IdempotencyKeyMax || !visible(value) {
		return invalidField("Idempotency-Key", "must be 1 to 255 printable characters")
	}
	owner := "institution" // A retry may come with a newer key of the same owner.
	if c.key.Owner() != "" {
		owner = "operator " + c.key.Owner()
	}
	scope := sha256.New()
	for _, part := range []string{"railguard idempotency", owner, c.r.URL.Path, value} {
		scope.Write([]byte(part))
		scope.Write([]byte{0})
	}
	key := scope.Sum(nil)
	body := sha256.Sum256(c.asked.Body)
	idem := &wire.Idem{Key: [16]byte(key[:16]), Body: [16]byte(body[:16])}
	if !c.api.idempotent.begin(idem.Key) {
		return &Error{
			Status: http.StatusConflict, Code: "idempotency_in_flight", Retry: 1,
			Message: "a call with this Idempotency-Key is still running",
		}
	}
	c.asked.Idem, c.asked.IdemHash = idem, hex.EncodeToString(idem.Key[:])
	return nil
}

func (c *call) endIdempotent() {
	if c.asked.Idem != nil {
		c.api.idempotent.end(c.asked.Idem.Key)
		c.asked.Idem = nil
	}
}

// visible allows printable ASCII and inner spaces.
func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

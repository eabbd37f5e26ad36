package border

import (
	"net/http"
	"strings"
	"sync"

	"github.com/dunglas/httpsfv"

	"railguard/engine"
)

// inFlight is the set of idempotency keys that this node is answering now. A second call
// with the same key gets 409 meanwhile; on another node the log decides.
type inFlight struct {
	mutex   sync.Mutex
	Running map[[16]byte]struct{}
}

// beginKey claims the key; false when a call with it is running.
func (f *inFlight) beginKey(key [16]byte) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, running := f.Running[key]; running {
		return false
	}
	f.Running[key] = struct{}{}
	return true
}

func (f *inFlight) endKey(key [16]byte) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.Running, key)
}

// beginIdempotent reads the Idempotency-Key of a POST.
func (c *Request) beginIdempotent() error {
	if c.r.Method != http.MethodPost {
		return nil
	}
	return c.BeginIdempotent()
}

// BeginIdempotent reads the Idempotency-Key of a call whose body was read (decision 31,
// "Idempotency"). The key's owner and the path scope it, and the body is compared by hash. The
// caller's role and scope were checked before: a replay is rendered with its current rights. The
// handler of a PUT that takes such a key calls it.
func (c *Request) BeginIdempotent() error {
	if c.Key == nil {
		return nil
	}
	values := c.r.Header["Idempotency-Key"]
	if len(values) == 0 {
		return nil
	}
	if c.route.Body == BodyBatch || c.route.charge.Bound == boundDuplex {
		e := NewError(http.StatusBadRequest, "bad_request", "a batch or stream has no Idempotency-Key: give each payment an idempotencyKey of its own")
		e.Param = "Idempotency-Key"
		return e
	}
	value, sound := keyOfHeader(values[0])
	if len(values) > 1 || !sound || !KeyText(value) {
		return InvalidField("Idempotency-Key", "must be 1 to 255 printable characters")
	}
	idem := c.Key.Idempotency(c.r.URL.Path, value, c.Asked.Body)
	if !c.border.Idempotent.beginKey(idem.Key) {
		return KeyInFlight("Idempotency-Key")
	}
	c.Asked.Idem, c.Asked.Hashed, c.Asked.KeyText = &idem.Idem, &idem.Body, value
	c.claimed, c.claims = idem.Key, true
	return nil
}

// keyOfHeader returns the key that the header holds: the bare text, or what stands in quotes as a string of
// structured fields (RFC 9651, and the IETF's draft of the header).
func keyOfHeader(value string) (key string, sound bool) {
	if !strings.HasPrefix(value, `"`) {
		return value, true
	}
	item, err := httpsfv.UnmarshalItem([]string{value})
	if err != nil {
		return "", false
	}
	key, sound = item.Value.(string)
	return key, sound && len(item.Params.Names()) == 0
}

// KeyText tells whether a text may be an idempotency key.
func KeyText(value string) bool {
	return value != "" && len(value) <= engine.IdempotencyKeyMax && isVisible(value)
}

// KeyInFlight is the 409 for an idempotency key that another call has claimed.
func KeyInFlight(name string) *Error {
	return &Error{
		Status: http.StatusConflict, Code: "idempotency_in_flight", Retry: 1,
		Message: "a call with this " + name + " is still running",
	}
}

func (c *Request) endIdempotent() {
	if c.claims { // Not Asked.Idem: a proof replaces that.
		c.border.Idempotent.endKey(c.claimed)
		c.claims = false
	}
	c.Asked.Idem = nil
}

// isVisible allows printable ASCII and inner spaces.
func isVisible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

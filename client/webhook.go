package client

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The reasons why a message of a webhook is not good.
var (
	ErrWebhookSecret    = errors.New("bad_secret") // Neither whsec_ nor whpk_: a mistake of the receiver.
	ErrWebhookMalformed = errors.New("malformed")
	ErrWebhookTime      = errors.New("too_old") // More than five minutes old, or as far in the future.
	ErrWebhookSignature = errors.New("bad_signature")
)

const webhookTolerance = 5 * time.Minute

// Event is one event: a message of a webhook, or an element of EventList.
type Event struct {
	ID       string          `json:"id"` // The id is the same at every attempt, so drop a message whose id you have seen.
	Seq      uint64          `json:"seq"`
	Type     string          `json:"type"`
	Time     time.Time       `json:"time"`
	Tenant   string          `json:"tenant"`
	Data     json.RawMessage `json:"data"`
	LeafHash string          `json:"leafHash"`
}

// VerifyWebhook checks a message as Standard Webhooks says and returns its event. body is the
// message as received, before any parsing. The secret is the shared one (whsec_…) or the public
// key (whpk_…). It returns the errors above.
func VerifyWebhook(secret string, header http.Header, body []byte, now time.Time) (*Event, error) {
	id, at, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if id == "" || err != nil || strconv.FormatInt(seconds, 10) != at || signatures == "" {
		return nil, ErrWebhookMalformed
	}
	signed := append([]byte(id+"."+at+"."), body...)
	good, err := webhookVerifier(secret, signed)
	if err != nil {
		return nil, err
	}
	found := false
	for _, signature := range strings.Fields(signatures) {
		version, encoded, _ := strings.Cut(signature, ",")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		found = err == nil && good(version, raw) || found
	}
	if !found {
		return nil, ErrWebhookSignature
	}
	if away := now.Sub(time.Unix(seconds, 0)); away > webhookTolerance || away < -webhookTolerance {
		return nil, ErrWebhookTime
	}
	event := new(Event)
	if err := json.Unmarshal(body, event); err != nil {
		return nil, ErrWebhookMalformed
	}
	return event, nil
}

func webhookVerifier(secret string, signed []byte) (func(version string, signature []byte) bool, error) {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		shared, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(shared) == 0 {
			return nil, ErrWebhookSecret
		}
		mac := hmac.New(sha256.New, shared)
		mac.Write(signed)
		sum := mac.Sum(nil)
		return func(version string, signature []byte) bool {
			return version == "v1" && subtle.ConstantTimeCompare(sum, signature) == 1
		}, nil
	}
	encoded, ok := strings.CutPrefix(secret, "whpk_")
	public, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(public) != ed25519.PublicKeySize {
		return nil, ErrWebhookSecret
	}
	return func(version string, signature []byte) bool {
		return version == "v1a" && len(signature) == ed25519.SignatureSize && ed25519.Verify(public, signed, signature)
	}, nil
}

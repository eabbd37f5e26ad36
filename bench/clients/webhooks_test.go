package clients

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/seal"
)

// message is one message of a webhook and what each client must say of it.
type message struct {
	Name    string            `json:"name"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     int64             `json:"now"`
	Want    string            `json:"want"` // The event's id, or the error's code.
}

// webhookMessages returns Standard Webhooks' own example and messages signed as the
// service does, good and spoilt; keys are new each time.
func webhookMessages(t *testing.T) []message {
	const at, id = 1_795_000_000, "evt_4711_0"
	body := `{"id":"` + id + `","seq":4711,"type":"screen.block","time":"2026-11-22T00:00:00Z","tenant":null,"data":{"é":1},"leafHash":"x"}`
	all := []message{{
		Name: "the standard's", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Now: 1614265330, Body: `{"test": 2432232314}`,
		Headers: map[string]string{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}}
	key, err := seal.NewWebhookKey("")
	require.NoError(t, err)
	other, err := seal.NewWebhookKey("")
	require.NoError(t, err)
	good := key.Sign(id, at, []byte(body))
	v1, v1a, _ := strings.Cut(good, " ")
	add := func(name, secret, signature, want string, change func(*message)) {
		m := message{Name: name, Secret: secret, Body: body, Now: at, Want: want,
			Headers: map[string]string{"webhook-id": id, "webhook-timestamp": fmt.Sprint(at), "webhook-signature": signature}}
		if change != nil {
			change(&m)
		}
		all = append(all, m)
	}
	for kind, secret := range map[string]string{"shared": key.Secret(), "public": key.Public()} {
		add(kind, secret, good, id, nil)
		add(kind+", rotated", secret, other.Sign(id, at, []byte(body))+" "+good, id, nil)
		add(kind+", capitals", secret, good, id, func(m *message) {
			m.Headers = map[string]string{"Webhook-Id": id, "Webhook-Timestamp": fmt.Sprint(at), "Webhook-Signature": good}
		})
		add(kind+", another's", secret, other.Sign(id, at, []byte(body)), "bad_signature", nil)
		add(kind+", nothing known", secret, "v2,AAAA v1 v1a v1, v1a,!", "bad_signature", nil)
		add(kind+", body changed", secret, good, "bad_signature", func(m *message) { m.Body = strings.Replace(body, "4711", "4712", 1) })
		add(kind+", id changed", secret, good, "bad_signature", func(m *message) { m.Headers["webhook-id"] = "evt_4712_0" })
		add(kind+", time changed", secret, good, "bad_signature", func(m *message) { m.Headers["webhook-timestamp"] = fmt.Sprint(at + 1) })
		add(kind+", just in time", secret, good, id, func(m *message) { m.Now = at + 300 })
		add(kind+", too old", secret, good, "too_old", func(m *message) { m.Now = at + 301 })
		add(kind+", from the future", secret, good, "too_old", func(m *message) { m.Now = at - 301 })
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			add(kind+", without "+name, secret, good, "malformed", func(m *message) { delete(m.Headers, name) })
		}
		for _, text := range []string{"soon", "1795000000.0", "+1795000000", "01795000000"} {
			add(kind+", at "+text, secret, good, "malformed", func(m *message) { m.Headers["webhook-timestamp"] = text })
		}
		for name, text := range map[string]string{"no JSON": "{", "a list": "[]", "a text": `"x"`} {
			add(kind+", "+name, secret, key.Sign(id, at, []byte(text)), "malformed", func(m *message) { m.Body = text })
		}
	}
	add("v1 alone", key.Secret(), v1, id, nil)
	add("v1a alone", key.Public(), v1a, id, nil)
	add("v1 for a public key", key.Public(), v1, "bad_signature", nil)
	add("v1a for a shared secret", key.Secret(), v1a, "bad_signature", nil)
	for _, secret := range []string{"", "x", "whsec_", "whpk_", "whsec_!", "whpk_AAAA", "whsk_" + strings.TrimPrefix(key.Secret(), "whsec_")} {
		add("secret "+secret, secret, good, "bad_secret", nil)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v1a, "v1a,"))
	require.NoError(t, err)
	for bit := 0; bit < len(raw)*8; bit += 29 {
		spoilt := append([]byte(nil), raw...)
		spoilt[bit/8] ^= 1 << (bit % 8)
		add(fmt.Sprint("bit ", bit), key.Public(), "v1a,"+base64.StdEncoding.EncodeToString(spoilt), "bad_signature", nil)
	}
	for i := range 20 { // Keys and messages of all kinds.
		one, err := seal.NewWebhookKey("")
		require.NoError(t, err)
		text := fmt.Sprintf(`{"id":"%d","x":"%s"}`, i, strings.Repeat("y", i*7))
		add(fmt.Sprint("key ", i), one.Public(), one.Sign(id, at, []byte(text)), fmt.Sprint(i), func(m *message) { m.Body = text })
	}
	return all
}

// foreignMessage is a message that others' code verifies.
type foreignMessage struct {
	Secret  string            `json:"secret"`
	Public  string            `json:"public"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// TestWebhooksByOthers: the published package of Standard Webhooks (v1) and Node's Ed25519
// (v1a) accept what the service signs, and refuse it spoilt. Our client accepts what the
// package signs.
func TestWebhooksByOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("installs a package")
	}
	node, module := npmModule(t, "standardwebhooks", "1.1.1", "dist/index.js")
	key, err := seal.NewWebhookKey("")
	require.NoError(t, err)
	older, err := seal.NewWebhookKey("")
	require.NoError(t, err)
	at := time.Now().Unix()
	var messages []foreignMessage
	var want []string
	add := func(verdict string, change func(*foreignMessage)) {
		for i, body := range []string{`{}`, `{"id":"evt_1_0","data":{"é":"\u2028 \"quoted\""}}`, `{"x":"` + strings.Repeat("y", 5000) + `"}`} {
			id := fmt.Sprintf("evt_%d_0", i)
			m := foreignMessage{Secret: key.Secret(), Public: key.Public(), Body: body, Headers: map[string]string{
				"webhook-id": id, "webhook-timestamp": fmt.Sprint(at), "webhook-signature": key.Sign(id, at, []byte(body)),
			}}
			if change != nil {
				change(&m)
			}
			messages, want = append(messages, m), append(want, verdict)
		}
	}
	add("good", nil)
	add("good", func(m *foreignMessage) { // The signatures of this message are those made while a secret is rotated.
		m.Headers["webhook-signature"] = older.Sign(m.Headers["webhook-id"], at, []byte(m.Body)) + " " + m.Headers["webhook-signature"]
	})
	add("bad", func(m *foreignMessage) { m.Body += " " })
	add("bad", func(m *foreignMessage) { m.Headers["webhook-id"] += "0" })
	add("bad", func(m *foreignMessage) { m.Headers["webhook-timestamp"] = fmt.Sprint(at - 1) })
	add("bad", func(m *foreignMessage) { m.Secret, m.Public = older.Secret(), older.Public() })
	script, err := filepath.Abs("testdata/webhooks.mjs")
	require.NoError(t, err)
	command := exec.Command(node, script)
	command.Env = []string{"SDK=" + module}
	var told []struct{ Shared, Public, Signed string }
	require.NoError(t, run(t.Context(), command, messages, &told))
	require.Len(t, told, len(messages))
	for i := range messages {
		shared := want[i]
		if shared == "bad" {
			shared = "WebhookVerificationError"
		}
		require.Equal(t, []string{shared, want[i]}, []string{told[i].Shared, told[i].Public}, "%d", i)
		header := http.Header{}
		for name, value := range messages[i].Headers {
			header.Set(name, value)
		}
		header.Set("webhook-signature", told[i].Signed)
		_, err := client.VerifyWebhook(messages[i].Secret, header, []byte(messages[i].Body), time.Unix(at, 0))
		require.NoError(t, err, "what the package signs")
	}
}

func driveWebhook(one *message) string {
	header := http.Header{}
	for name, value := range one.Headers {
		header.Set(name, value)
	}
	event, err := client.VerifyWebhook(one.Secret, header, []byte(one.Body), time.Unix(one.Now, 0))
	if err == nil {
		return event.ID
	}
	for _, known := range []error{client.ErrWebhookSecret, client.ErrWebhookMalformed, client.ErrWebhookTime, client.ErrWebhookSignature} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "another error: " + err.Error()
}

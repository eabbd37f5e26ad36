package seal

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The values are the example in the document of Standard Webhooks.
func TestWebhookVector(t *testing.T) {
	k, err := NewWebhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	require.Equal(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", k.Secret())
	signatures := strings.Fields(k.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`)))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signatures[0])
	public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(k.Public(), "whpk_"))
	require.NoError(t, err)
	signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signatures[1], "v1a,"))
	require.NoError(t, err)
	require.True(t, ed25519.Verify(public, []byte(`msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}`), signature))
}

func TestWebhookKeySealed(t *testing.T) {
	secrets := NewSecrets([]byte("a cluster secret"))
	k, err := NewWebhookKey("")
	require.NoError(t, err)
	require.Len(t, k.shared, 32)
	sealed, err := secrets.SealWebhookKey(k)
	require.NoError(t, err)
	again, err := secrets.OpenWebhookKey(sealed)
	require.NoError(t, err)
	require.Equal(t, k, again)
	_, err = NewSecrets([]byte("another cluster secret")).OpenWebhookKey(sealed)
	require.Error(t, err)
	short, err := secrets.Seal(LabelWebhook, make([]byte, 40))
	require.NoError(t, err)
	_, err = secrets.OpenWebhookKey(short)
	require.Error(t, err)
	for _, bad := range []string{"whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_!", "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))} {
		_, err := NewWebhookKey(bad)
		require.ErrorIs(t, err, ErrWebhookSecret, bad)
	}
}

package seal

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecrets(t *testing.T) {
	s := NewSecrets([]byte("a cluster secret"))
	sealed, err := s.Seal("one", []byte("plain"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "plain")
	again, err := s.Seal("one", []byte("plain"))
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "a nonce is never used twice")
	plain, err := s.Open("one", sealed)
	require.NoError(t, err)
	require.Equal(t, "plain", string(plain))
	_, err = s.Open("two", sealed)
	require.ErrorIs(t, err, errSealed)
	_, err = NewSecrets([]byte("another cluster secret")).Open("one", sealed)
	require.ErrorIs(t, err, errSealed)
	for i := range sealed {
		changed := append([]byte(nil), sealed...)
		changed[i] ^= 1
		_, err = s.Open("one", changed)
		require.ErrorIs(t, err, errSealed)
	}
	_, err = s.Open("one", sealed[:5])
	require.ErrorIs(t, err, errSealed)
}

func TestNewGenesis(t *testing.T) {
	secrets := NewSecrets([]byte("0123456789abcdef"))
	secret := NewAPISecret()
	g, err := NewGenesis(GenesisOptions{Secrets: secrets, PublicURL: "https://pay.example.com/", APISecret: secret})
	require.NoError(t, err)
	require.NoError(t, secrets.Check(g.SecretCheck))
	require.Error(t, NewSecrets([]byte("fedcba9876543210")).Check(g.SecretCheck))
	require.Equal(t, "https://pay.example.com", g.PublicURL)
	require.Equal(t, "did:kya:railguard", g.Issuer)
	require.Equal(t, FirstKID, g.SigningKey.KID)
	require.Len(t, g.SigningKey.Public, 64)
	key, err := secrets.OpenSigningKey(&g.SigningKey)
	require.NoError(t, err)
	require.NotNil(t, key)
	require.NotEmpty(t, g.LogKeys)
	require.True(t, strings.HasPrefix(g.LogKeys, "pay.example.com/"+g.ClusterID+"+"), g.LogKeys)
	require.Equal(t, [][]byte{HashAPISecret(secret)}, g.APIKey.Hashes)
	require.Equal(t, secret[:16], g.APIKey.Prefix)
	other, err := NewGenesis(GenesisOptions{Secrets: secrets, PublicURL: "https://pay.example.com"})
	require.NoError(t, err)
	require.NotEqual(t, g.IDKey, other.IDKey)
	require.NotEqual(t, g.SaltKey, other.SaltKey)
	require.NotEqual(t, g.ClusterID, other.ClusterID)
	require.Nil(t, other.APIKey)
	for name, options := range map[string]GenesisOptions{
		"short secret": {Secrets: NewSecrets([]byte("short")), PublicURL: "https://x"},
		"no secrets":   {PublicURL: "https://x"},
		"no URL":       {Secrets: secrets},
		"no scheme":    {Secrets: secrets, PublicURL: "pay.example.com"},
		"no did":       {Secrets: secrets, PublicURL: "https://x", Issuer: "railguard"},
	} {
		_, err := NewGenesis(options)
		require.Error(t, err, name)
	}
}

func TestNewAPISecret(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret := NewAPISecret()
		require.Regexp(t, `^rg_live_[0-9A-Za-z]{28}$`, secret)
		require.False(t, seen[secret])
		seen[secret] = true
	}
	require.Regexp(t, `^key_[a-z2-7]{12}$`, NewKeyID())
}

// A value that an older secret sealed opens as long as that secret is given. New values are
// sealed by the cluster secret.
func TestOlderSecretsOpen(t *testing.T) {
	old, fresh := []byte("a cluster secret"), []byte("the one after it")
	sealed, err := NewSecrets(old).Seal("one", []byte("text"))
	require.NoError(t, err)
	both := NewSecrets(fresh, []byte("an older one yet"), old)
	plain, err := both.Open("one", sealed)
	require.NoError(t, err)
	require.Equal(t, "text", string(plain))
	_, err = both.Open("two", sealed)
	require.Error(t, err, "of another label")
	_, err = NewSecrets(fresh).Open("one", sealed)
	require.Error(t, err)
	sealed, err = both.Seal("one", []byte("text"))
	require.NoError(t, err)
	_, err = NewSecrets(old).Open("one", sealed)
	require.Error(t, err)
	_, err = NewSecrets(fresh).Open("one", sealed)
	require.NoError(t, err)
}

// SealedByOlder recognises a value that an older secret sealed. Sealed again, the value opens
// without that secret.
func TestSealedAnew(t *testing.T) {
	old, fresh := []byte("the secret of before, long enough"), []byte("the secret of today, long enough")
	before, err := NewSecrets(old).Seal("one", []byte("text"))
	require.NoError(t, err)
	both := NewSecrets(fresh, []byte("one more that had its day"), old)
	require.Equal(t, 2, both.OlderCount())
	older, err := both.SealedByOlder("one", before)
	require.NoError(t, err)
	require.True(t, older)
	_, err = both.SealedByOlder("another", before)
	require.ErrorIs(t, err, errSealed)
	_, err = both.Reseal("another", before)
	require.ErrorIs(t, err, errSealed)
	again, err := both.Reseal("one", before)
	require.NoError(t, err)
	require.Len(t, again, len(before))
	older, err = both.SealedByOlder("one", again)
	require.NoError(t, err)
	require.False(t, older)
	plain, err := NewSecrets(fresh).Open("one", again)
	require.NoError(t, err)
	require.Equal(t, "text", string(plain))
	_, err = NewSecrets(old).Open("one", again)
	require.ErrorIs(t, err, errSealed)
}

// A cluster secret is 32 bytes in hex, and nothing that somebody made up.
func TestClusterSecretsAreRandom(t *testing.T) {
	one, other := NewClusterSecret(), NewClusterSecret()
	require.True(t, IsClusterSecret(one))
	require.True(t, IsClusterSecret(other))
	require.NotEqual(t, one, other)
	for _, bad := range []string{
		"", "correct horse battery staple", "a-phrase-of-twenty-bytes", one[:62], one + "00", one + "\n", " " + one[1:],
		strings.Repeat("0", 64), strings.Repeat("deadbeef", 8), strings.Repeat("0123456789abcdef", 4), strings.Repeat("x", 64),
		hex.EncodeToString([]byte("aaaa bbbb aaaa bbbb aaaa bbbb aa")),
	} {
		require.False(t, IsClusterSecret(bad), bad)
	}
}

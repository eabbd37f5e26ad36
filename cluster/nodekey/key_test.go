package nodekey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKeyIsReadAgain(t *testing.T) {
	key, err := Draw()
	require.NoError(t, err)
	data, err := key.Encode()
	require.NoError(t, err)
	again, err := Parse(data)
	require.NoError(t, err)
	require.Equal(t, key, again)
	require.Equal(t, key.Private().Public(), key.Public())
	require.Len(t, key.Digest(), 32)
	require.Equal(t, key.Digest(), DigestOf(again.Public()))
	other, err := Draw()
	require.NoError(t, err)
	require.NotEqual(t, key.Digest(), other.Digest())

	for _, bad := range [][]byte{nil, []byte("text"), data[:len(data)/2], append(data[:len(data):len(data)], data...)} {
		_, err := Parse(bad)
		require.Error(t, err, string(bad))
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(curve)
	require.NoError(t, err)
	_, err = Parse(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
	require.ErrorContains(t, err, "Ed25519")
	_, err = Parse(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: []byte("x")}))
	require.Error(t, err)
}

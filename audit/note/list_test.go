package note

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A checkpoint names the list in force under the log's signature, and a witness's cosignature
// covers the name.
func TestCheckpointNamesTheList(t *testing.T) {
	signer, err := NewSigner("log.example.org/cl_1", make([]byte, SeedSize))
	require.NoError(t, err)
	list := List{Version: 3, Digest: Hash{1, 2}}
	signed := signer.Sign(7, Hash{9}, 1_800_000_000_000_000_000, list.Line())
	point, err := Verify(signed, signer.VerifierKeys())
	require.NoError(t, err)
	found, named := point.InForce()
	require.True(t, named)
	require.Equal(t, list, found)

	other := List{Version: 3, Digest: Hash{1, 3}}
	_, err = Verify(bytes.Replace(signed, []byte(list.Line()), []byte(other.Line()), 1), signer.VerifierKeys())
	require.ErrorIs(t, err, ErrUnverified, "another list under the same signature")

	witness, err := NewCosigner("witness.example.org/w1", make([]byte, SeedSize))
	require.NoError(t, err)
	cosigned := WithLines(signed, string(witness.Cosign(&point, 1_800_000_000)))
	valid, err := Cosignatures(cosigned, witness.VerifierKey())
	require.NoError(t, err)
	require.Len(t, valid, 1)
	valid, err = Cosignatures(bytes.Replace(cosigned, []byte(list.Line()), []byte(other.Line()), 1), witness.VerifierKey())
	require.NoError(t, err)
	require.Empty(t, valid)

	for _, line := range []string{"", "railguard.list/v1 3", "railguard.list/v1 03 " + list.Line()[20:], "another extension", list.Line() + " "} {
		c := Checkpoint{Extensions: []string{line}}
		_, named := c.InForce()
		require.False(t, named, line)
	}
}
